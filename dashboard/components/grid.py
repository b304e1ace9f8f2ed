"""Tables on a page: readable columns, unknown values named, times in the chosen zone."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

import pandas as pd
import pyarrow as pa
import streamlit as st
from streamlit.dataframe_util import convert_pandas_df_to_arrow_table

from dashboard import languages
from dashboard.charts import style
from dashboard.components.data import Result
from dashboard.escape import BLANK
from dashboard.texts import table, tell

Row = Mapping[str, Any]
AnyRow = TypeVar("AnyRow", bound=Row)

RATES = {
    "of_previous",
    "of_first",
    "actual_success",
    "effective_success",
    "success_rate",
    "success_low",
    "success_high",
    "upper_bound",
    "rate",
    "share",
    "retry_success",
    "limited_rate",
    "no_reason_share",
    "error_bound",
    "open_share",
    "probe_success",
    "calls_change",
}
FEWEST = (3, 4, 5, 6)
"""Decimals of a fraction, the fewest first."""

RATIOS = {"amplification"}
POINTS = {"effective_change"}
"""Differences of shares, in percentage points."""

LINKS = {"open_auction", "open_order", "open_partner"}
"""Columns of addresses; a click opens one beside this page."""

TELLING = ("ts", "attempt", "retry_no", "from")
"""Columns that tell rows of equal texts apart, and stay as they are when data are added."""

MOMENTS = {"last_success", "raised", "cleared"}
"""Columns of times that are texts, for where there is none a word says why."""

ABSENT = "-"
"""For columns of raw events, most of which have no value in most rows."""

MOST_SHOWN = 5_000
HEIGHT = 420
LETTER, PADDING = 8, 20
"""Pixels of a letter of a cell, and around its text."""

ROW = 38
"""Pixels, a little more than a row takes."""


@dataclass(frozen=True)
class Cells:
    """Rows as a browser gets them, and how each column is written: made once where rows are shown again and again."""

    table: pa.Table
    columns: Mapping[str, Any]


def show(
    rows: Sequence[Row],
    zone: ZoneInfo,
    *,
    key: str,
    columns: Sequence[str] | None = None,
    on_select: Callable[[int], None] | None = None,
    alt: str = "",
    absent: str | None = None,
    height: int = HEIGHT,
    made: Cells | None = None,
    memory: str = "",
) -> None:
    """A table; with `on_select`, a click on a row calls it with the row's place. None reads `absent`, or unknown.

    `made` are the cells of the rows that are shown, where they are at hand, with the same `absent`. A choice is kept
    under `memory`: where newer data, and with them another `key`, move its row, it moves along.
    """
    shown = list(rows)[:MOST_SHOWN]
    if len(rows) > MOST_SHOWN:
        st.caption(tell("grid.cut", shown=MOST_SHOWN, rows=len(rows)))
    cells = written(frame(shown, zone, columns), zone, absent) if made is None else made
    options: dict[str, Any] = {
        "hide_index": True,
        "column_config": cells.columns,
        "placeholder": named(absent),
        "alt": alt or tell("grid.alt", rows=len(rows)),
        "height": "auto" if len(shown) * ROW < height else height,
    }
    if on_select is None:
        st.dataframe(cells.table, key=key, **options)
        return
    chosen = st.dataframe(
        cells.table,
        key=key,
        on_select="rerun",
        selection_mode="single-row",
        selection_default=kept(memory, shown),
        **options,
    )
    picked = [place for place in chosen["selection"]["rows"] if place < len(shown)]
    st.session_state[f"chosen_{memory}"] = identity(shown[picked[0]]) if picked else None
    if picked:
        on_select(picked[0])


def kept(memory: str, rows: Sequence[Row]) -> Any:
    """The selection of the row that was chosen in an earlier table of this name, wherever it stands now."""
    chosen = st.session_state.get(f"chosen_{memory}")
    places = [place for place, row in enumerate(rows) if identity(row) == chosen] if chosen else []
    return {"selection": {"rows": places[:1], "columns": [], "cells": []}} if places else None


def identity(row: Row) -> tuple[tuple[str, str], ...]:
    """By what a row is known again in newer data: its texts, but for links, and when it was."""
    return tuple(
        (name, str(value))
        for name, value in row.items()
        if (isinstance(value, str) and name not in LINKS) or name in TELLING
    )


def listed(
    rows: Sequence[AnyRow], zone: ZoneInfo, columns: Sequence[str] | None = None, absent: str | None = None
) -> tuple[Sequence[AnyRow], Cells]:
    """Rows, and their cells as far as they are shown."""
    return rows, written(frame(rows[:MOST_SHOWN], zone, columns), zone, absent)


def whole(result: Result, zone: ZoneInfo) -> Cells:
    """The cells of a result's rows as far as they are shown; made once for all runs."""
    key = (zone.key, languages.current().code)
    cells: Cells | None = result.cells.get(key)
    if cells is None:
        cells = result.cells[key] = written(frame(result.rows[:MOST_SHOWN], zone), zone)
    return cells


def written(data: pd.DataFrame, zone: ZoneInfo, absent: str | None = None) -> Cells:
    """The cells of a frame, and its columns as they are written in the language of the page."""
    placeholder = named(absent)
    columns = {name: column(name, data[name], placeholder, zone.key) for name in data.columns}
    return Cells(convert_pandas_df_to_arrow_table(data), columns)


def named(absent: str | None) -> str:
    """What stands where there is no value."""
    return style.unknown() if absent is None else absent


def frame(rows: Sequence[Row], zone: ZoneInfo, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Rows as a data frame whose cells a browser can show: local times, lists and objects as text."""
    names = list(columns or (rows[0].keys() if rows else ()))
    made = pd.DataFrame({name: [cell(row.get(name), zone) for row in rows] for name in names})
    for name in RATES.intersection(names):
        if pd.api.types.is_float_dtype(made[name]):
            made[name] = made[name].round(places(made[name]))  # a browser cuts what it has no decimals for
    return made


def places(shares: "pd.Series[Any]") -> int:
    """Decimals of a column of fractions: per cent with one, as in texts, or with as many as tell each from 0 and 1."""
    known = shares.dropna()
    apart = known[(known != 0) & (known != 1)]
    return next((digits for digits in FEWEST if not apart.round(digits).isin((0, 1)).any()), FEWEST[-1])


def cell(value: object, zone: ZoneInfo) -> object:
    """One value as a table shows it."""
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        return moment.astimezone(zone).replace(tzinfo=None)
    if isinstance(value, dict):
        return "; ".join(f"{name} {part}" for name, part in value.items())
    if isinstance(value, list | tuple):
        return "; ".join(str(part) for part in value)
    if type(value).__name__ == "Decimal":
        return float(str(value))
    if isinstance(value, str) and value and not value.strip():
        return BLANK
    return value if value is None or isinstance(value, str | int | float | bool) else json.dumps(value, default=str)


def fixed(digits: int) -> str:
    """A column's format with so many decimals; where these follow a comma it is the browser that writes the number."""
    return f"%.{digits}f" if languages.current() is languages.ENGLISH else "localized"


def column(name: str, values: "pd.Series[Any]", placeholder: str = "", zone: str = "") -> Any:
    """How a column is written, by its name and what is in it; wide enough for the word of what is not known.

    Columns of times name the zone.
    """
    options = by_name(name, values, zone)
    if squeezes(str(options["label"]), values, placeholder):
        options["width"] = PADDING + LETTER * len(placeholder)
    return options


def squeezes(label: str, values: "pd.Series[Any]", placeholder: str) -> bool:
    """Whether the browser, which measures heading and numbers alone, would cut the placeholder off."""
    if not pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values):
        return False
    if len(label) >= len(placeholder) or not values.isna().any():
        return False
    return max((len(f"{value:.1f}") for value in values.dropna()), default=0) < len(placeholder)


def by_name(name: str, values: "pd.Series[Any]", zone: str = "") -> Any:
    """How a column is written, but for its width."""
    label = table("column").get(name, name.replace("_", " "))
    if name in MOMENTS or pd.api.types.is_datetime64_any_dtype(values):
        label = ", ".join(part for part in (label, zone) if part)
    if name in LINKS:
        return st.column_config.LinkColumn(label, display_text=tell("links.open"), width="small")
    if name in RATES:
        return st.column_config.NumberColumn(label, format="percent", step=10 ** -places(values))
    if name in POINTS or (name.endswith("_ms") and pd.api.types.is_float_dtype(values)):
        return st.column_config.NumberColumn(label, format=fixed(1))
    if name in ("remedy", "definition"):
        return st.column_config.TextColumn(label, width="large")
    if name in RATIOS:
        return st.column_config.NumberColumn(label, format=fixed(3))
    if pd.api.types.is_datetime64_any_dtype(values):
        return st.column_config.DatetimeColumn(label, format=languages.current().grid_time)
    if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values):
        return st.column_config.NumberColumn(label, format="localized")
    return st.column_config.Column(label)
