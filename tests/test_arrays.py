"""Arrow arrays made from Python values are what pyarrow itself would make of them."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.rows.arrays import array

KINDS = {
    pa.string(): st.text(max_size=20),
    pa.binary(): st.binary(max_size=20),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float64(): st.floats(allow_nan=False),
    pa.bool_(): st.booleans(),
    pa.timestamp("us"): st.integers(0, 2**52),
    pa.decimal128(18, 6): st.integers(-(10**18) + 1, 10**18 - 1).map(lambda units: Decimal(units).scaleb(-6)),
}


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_arrays_are_those_of_pyarrow(kind: pa.DataType) -> None:
    @settings(deadline=None)
    @given(st.lists(st.none() | KINDS[kind], max_size=70))
    def agree(values: list[object]) -> None:
        made = array(values, kind)
        made.validate(full=True)
        assert made.equals(pa.array(values, kind))

    agree()
