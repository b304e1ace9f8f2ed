"""Every result table, against a second reading of the specification: calls of an exchange."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.reference.compare import Run, check, hard, runs


@pytest.mark.slow
@hard(20)
@given(runs(postbacks=False))
def test_exchange_tables_equal_the_reference(run: Run) -> None:
    check(run)
