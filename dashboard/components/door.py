"""The door to what figures come from: each table behind them with its rows, its files and its statement."""

from collections.abc import Sequence

import streamlit as st

from dashboard.components import data, grid, links
from dashboard.components.data import Result
from dashboard.components.view import View
from dashboard.texts import say, tell

HEIGHT = 220
"""Pixels of the table and of the statement behind the door: both in sight at once."""

FILES = ("csv", "parquet")
ICON = ":material/table_view:"


def show(view: View, name: str, results: Sequence[Result]) -> None:
    """A door to several results; all of it is there before it opens, as that of a panel."""
    with st.popover(tell("panel.data"), icon=ICON, type="tertiary", key=f"door_{name}"):
        st.caption(say("panel.behind"))
        for place, result in enumerate(results):
            st.markdown(f"**{titled(result)}**")
            rows(view, f"{name}_{place}", result)
            files(view, result)
            statement(view, result)


def titled(result: Result) -> str:
    """A table by its name, and by what it is split in time."""
    bucket = result.asked.bucket if result.asked else None
    return say(f"panel.by_{bucket}" if bucket else "panel.table", table=result.name)


def rows(view: View, name: str, result: Result) -> None:
    """The rows as they are."""
    if result.rows:
        made = grid.whole(result, view.zone)
        grid.show(result.rows, view.zone, key=f"rows_{name}", height=HEIGHT, made=made)
    else:
        st.caption(say("panel.no_rows"))


def files(view: View, result: Result) -> None:
    """Links to the whole table as CSV and as Parquet."""
    links.to_files(
        {tell(f"panel.{ending}"): data.file_address(view.snapshot, result, ending) for ending in FILES},
        tell("panel.whole"),
    )


def statement(view: View, result: Result) -> None:
    """The SQL, and where it runs."""
    st.caption(say("panel.sql", snapshot=f"snapshots/{view.snapshot.id}.duckdb"))
    with st.container(height=HEIGHT, border=False):
        st.code(result.sql, language="sql", wrap_lines=True)
