"""Every result table, against a second reading of the specification: postbacks of an affiliate platform."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.reference.compare import Run, check, hard, runs


@pytest.mark.slow
@hard(20)
@given(runs(exchange=False))
def test_postback_tables_equal_the_reference(run: Run) -> None:
    check(run)
