"""Every result table, against a second reading: logs that hide earlier attempts, answers to postbacks, and keys."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.reference.compare import Run, check, hard, runs


@pytest.mark.slow
@hard(15)
@given(runs(postbacks=False, shown=True))
def test_exchange_tables_of_logs_that_hide_attempts_equal_the_reference(run: Run) -> None:
    check(run, shown=True)


@pytest.mark.slow
@hard(15)
@given(runs(exchange=False, shown=True))
def test_postback_tables_of_logs_that_hide_answers_equal_the_reference(run: Run) -> None:
    check(run, shown=True)
