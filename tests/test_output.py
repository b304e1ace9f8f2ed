"""What the read side writes: exact, safe for terminals and spreadsheets, and readable by machines."""

from __future__ import annotations

import csv
import io
import json
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.output import csv_bytes, json_bytes, render
from dashboard.tables import Result
from dashboard.text import Format, csv_cell, json_text, scalar, visible


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (True, "true"),
        (-5, "-5"),
        (0.1, "0.1"),
        (float("nan"), ""),
        (Decimal("0.001250000"), "0.00125"),
        (Decimal("1E-9"), "0.000000001"),
        (Decimal("100.000000"), "100"),
        (Decimal("0.000000"), "0"),
        (Decimal("10000000000000000000.000000001"), "10000000000000000000.000000001"),
        (datetime(2026, 9, 14, 11), "2026-09-14T11:00:00.000000Z"),
        ({"USD": Decimal("1.200000"), "EUR": Decimal("0.5")}, "USD=1.2;EUR=0.5"),
        (["a", "b"], "a;b"),
        ({}, ""),
    ],
)
def test_values_as_text(value: object, text: str) -> None:
    assert scalar(value) == text


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("+1", "'+1"),
        ("-5", "'-5"),
        ("@a", "'@a"),
        ("\ta", "'\ta"),
        ("\ra", '"\'\ra"'),
        ("a\tb", "a\tb"),
        ("a=b", "a=b"),
        (-5, "-5"),
        (-0.5, "-0.5"),
        (Decimal("-0.50"), "-0.5"),
        ({"=x": 1}, "'=x=1"),
        ('a"b', '"a""b"'),
        ("a,b", '"a,b"'),
        (" a", '" a"'),
        ("", '""'),
        (None, ""),
    ],
)
def test_csv_cells(value: object, cell: str) -> None:
    assert csv_cell(value) == cell


texts = st.text(st.characters(codec="utf-8"))
plain = texts.filter(lambda text: not text.startswith(("=", "+", "-", "@", "\t", "\r")))


@given(st.lists(st.tuples(plain, plain), max_size=5))
def test_csv_comes_back_as_it_was(rows: list[tuple[str, str]]) -> None:
    read = list(csv.reader(io.StringIO(csv_bytes(("a", "b"), rows).decode(), newline="")))
    assert read == [["a", "b"], *map(list, rows)]


@given(
    st.lists(
        st.dictionaries(texts, st.none() | texts | st.integers() | st.floats(allow_nan=False, allow_infinity=False))
    )
)
def test_json_comes_back_as_it_was(rows: list[dict[str, Any]]) -> None:
    assert json.loads(json_bytes(rows)) == rows


def test_json_keeps_every_digit_of_money_and_has_no_nan() -> None:
    assert json_text({"a": Decimal("0.00125000"), "b": float("inf"), "c": {"USD": Decimal("1E-7")}}) == (
        '{"a": 0.00125, "b": null, "c": {"USD": 0.0000001}}'
    )


@given(st.text())
def test_no_text_reaches_a_terminal_with_control_characters(text: str) -> None:
    written = json_text(text) + visible(text)
    written.encode()
    assert not any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in written)
    assert not any(letter in written for letter in "\u202e\u2028\u2066\ud800")


def test_lone_surrogates_do_not_stop_any_format() -> None:
    result = Result(("partner",), ("VARCHAR",), [("a\ud800b",)])
    assert render(result, Format.JSON) == b'[\n  {"partner": "a\\ud800b"}\n]\n'
    assert csv_bytes(result.columns, result.values) == b"partner\na\\ud800b\n"
    assert render(result, Format.TABLE) == b"partner\na\\ud800b\n"


def test_tables_are_aligned_and_never_blank_for_unknowns() -> None:
    result = Result(
        ("partner", "calls", "rate"), ("VARCHAR", "BIGINT", "DOUBLE"), [("a", 12, 0.5), ("long\x1b[2J", 3, None)]
    )
    assert render(result, Format.TABLE).decode().splitlines() == [
        "partner      calls    rate",
        "a               12  0.5000",
        "long\\x1b[2J      3       -",
    ]


def test_no_rows_keep_their_header() -> None:
    result = Result(("a", "b"), ("VARCHAR", "BIGINT"), [])
    assert (render(result, Format.JSON), csv_bytes(result.columns, [])) == (b"[]\n", b"a,b\n")
