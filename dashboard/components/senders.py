"""How those who retry wait before each retry, read from their delays."""

from dataclasses import replace

import streamlit as st

from dashboard.charts import style
from dashboard.components import data, grid, hidden, links, panel
from dashboard.components.data import Row
from dashboard.components.view import View
from dashboard.filters import Filters
from dashboard.texts import say, tell, title

COLUMNS = ("stream", "key", "pattern", "delays", "together")


def backoff(view: View, filters: Filters) -> None:
    """One row a sender, its back-off in words; a click on one opens what it sent."""
    result = data.table(view.snapshot, "backoff", filters)
    rows = sorted(
        result.rows, key=lambda row: (not row["synchronised"], row["kind"] == "unclear", -(row["delays"] or 0))
    )
    chosen: list[int] = []
    panel.table(
        view,
        "backoff",
        result,
        [row | {"stream": title("sender", row["stream"]), "pattern": pattern(row), "together": together(row)}
         for row in rows],
        columns=COLUMNS,
        metrics=("backoff.kind", "backoff.base_ms", "backoff.cap_ms", "backoff.jitter", "backoff.delays",
                 "backoff.synchronised"),
        note=say("backoff.synchronised", n=sum(bool(row["synchronised"]) for row in rows)) if rows else "",
        on_select=chosen.append,
        empty="hidden.backoff" if hidden.any_stream(view, filters) else "",
    )  # fmt: skip
    if chosen:
        behind(view, rows[chosen[0]])


def pattern(row: Row) -> str:
    """exponential from 200 ms, at most 10,000 ms, full jitter."""
    parts = [title("backoff_kind", row["kind"])]
    if row["base_ms"]:
        base = "backoff.every" if row["kind"] == "fixed" else "backoff.base"
        parts.append(tell(base, ms=style.number(row["base_ms"])))
    if row["cap_ms"] is not None:
        parts.append(tell("backoff.cap", ms=style.number(row["cap_ms"])))
    if row["jitter"] is not None:
        parts.append(title("jitter", row["jitter"]))
    return ", ".join(parts)


def together(row: Row) -> str:
    """Whether many retries come at the same moment."""
    name = {True: "yes", False: "no", None: "unknown"}[row["synchronised"]]
    return tell(f"backoff.together_{name}")


def behind(view: View, row: Row) -> None:
    """The newest postbacks of a key; of a partner the way to its attempts."""
    if row["key"] is None:
        return
    if row["stream"] == "postback":
        result = data.table(view.snapshot, "recent_postbacks", replace(view.filters, partners=(), key=row["key"]))
        rows = [one | {"outcome": title("postback", one["outcome"])} for one in result.rows]
        panel.table(view, "postbacks", result, rows, absent=grid.ABSENT)
    elif row["stream"] != "auction":
        st.page_link(
            view.page("partner"),
            label=say("backoff.link", partner=row["key"]),
            icon=":material/arrow_forward:",
            query_params=links.query(name=row["key"]),
        )
