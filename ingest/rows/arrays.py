"""Arrow arrays from Python values. pyarrow's own way there imports pandas, which costs more than a small load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

#: From so many values on pyarrow's own conversion is worth its import.
LARGE = 20_000
MICRO = 10**6
DECIMAL_BYTES = 16


def array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """`values`, None where there is none: texts, bytes, whole numbers, times as us, doubles, booleans, money."""
    if len(values) >= LARGE:
        return pa.array(values, kind)
    present = [value is not None for value in values]
    valid = None if all(present) else _bits(present)
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return pa.Array.from_buffers(kind, len(values), [valid, *_texts(values)])
    if pa.types.is_boolean(kind):
        return pa.Array.from_buffers(kind, len(values), [valid, _bits(values)])
    if pa.types.is_decimal(kind):
        digits = b"".join(_micros(value).to_bytes(DECIMAL_BYTES, "little", signed=True) for value in values)
        return pa.Array.from_buffers(kind, len(values), [valid, pa.py_buffer(digits)])
    numbers = np.array([value or 0 for value in values], np.float64 if pa.types.is_floating(kind) else np.int64)
    return pa.Array.from_buffers(kind, len(values), [valid, pa.py_buffer(numbers)])


def table(columns: Mapping[str, pa.Array]) -> pa.Table:
    """The arrays as a table; numpy's whole numbers and booleans too."""
    arrays = [column if isinstance(column, pa.Array) else from_numpy(column) for column in columns.values()]
    return pa.Table.from_arrays(arrays, names=list(columns))


def from_numpy(values: NDArray[Any]) -> pa.Array:
    """Whole numbers and booleans."""
    if values.dtype == np.bool_:
        return pa.Array.from_buffers(pa.bool_(), len(values), [None, _bits(values)])
    numbers = np.ascontiguousarray(values, np.int64)
    return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(numbers)])


def _bits(values: Sequence[Any] | NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(np.array(values, np.bool_), bitorder="little"))


def _texts(values: Sequence[str | bytes | None]) -> tuple[pa.Buffer, pa.Buffer]:
    parts = [b"" if value is None else value if isinstance(value, bytes) else value.encode() for value in values]
    offsets = np.zeros(len(parts) + 1, np.int32)
    np.cumsum([len(part) for part in parts], out=offsets[1:])
    return pa.py_buffer(offsets), pa.py_buffer(b"".join(parts))


def _micros(value: Decimal | None) -> int:
    """Money in millionths, as DECIMAL(18,6) holds it."""
    return 0 if value is None else int(value * MICRO)
