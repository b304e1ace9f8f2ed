"""Tables whose rows depend on all that came before, against a second reading: logs that open breakers."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.reference import Limits
from tests.reference.compare import Run, check, hard, runs

EASY = {None: Limits(min_attempts=3), "q": Limits(window_s=2, min_attempts=2, failure_share=0.75, open_s=1)}
NAMES = ("breakers", "audit", "retry_after", "outcomes")


@pytest.mark.slow
@hard(15)
@given(runs(postbacks=False, storm=20))
def test_breakers_equal_the_reference(run: Run) -> None:
    check(run, names=NAMES)


@pytest.mark.slow
@hard(15)
@given(runs(postbacks=False, storm=3))
def test_breakers_with_other_settings_equal_the_reference(run: Run) -> None:
    check(run, EASY, NAMES)
