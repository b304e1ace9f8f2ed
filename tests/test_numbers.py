"""Every result table, against a second reading of the specification: logs of both streams together."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.reference.compare import KEYS, Run, check, differences, hard, runs

__all__ = ["KEYS", "differences"]


@pytest.mark.slow
@hard(20)
@given(runs())
def test_all_tables_equal_the_reference(run: Run) -> None:
    check(run)
