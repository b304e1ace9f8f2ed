"""What the logs do not show, in words: earlier attempts of calls, answers to postbacks, keys."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from dashboard.components import data
from dashboard.components.data import Row
from dashboard.components.shapes import Only
from dashboard.components.view import View
from dashboard.escape import markdown
from dashboard.filters import Filters
from dashboard.texts import say

MOST_NAMED = 3


@dataclass(frozen=True)
class Hidden:
    """Calls (orders) of a stream that hide a part, of which of all; `names` of the partners, most hidden first."""

    hidden: int
    uncounted: int
    undecided: int
    calls: int
    names: Sequence[str | None]


def find(view: View, filters: Filters, stream: str) -> Hidden | None:
    """What the calls of a range hide; None where they show everything."""
    found = data.table(view.snapshot, "hidden_calls", filters, shape=Only(f"stream = '{stream}'"))
    if not found.rows:
        return None
    return Hidden(
        found.total("hidden"),
        found.total("uncounted"),
        found.total("undecided"),
        data.table(view.snapshot, "calls", filters, shape=Only(f"stream = '{stream}'")).total("calls"),
        [row["partner"] for row in found.rows],
    )


def any_stream(view: View, filters: Filters) -> bool:
    """Whether calls or orders of a range hide a part."""
    return any(find(view, filters, stream) is not None for stream in ("exchange", "postback"))


def text(name: str, stream: str) -> str:
    """The key of a text about calls that hide a part; for orders its own."""
    return f"hidden.{name}" if stream == "exchange" else f"hidden.{name}_postback"


def note(view: View, filters: Filters, *streams: str) -> None:
    """Says of each stream how many calls hide their earlier attempts, and what is unknown for it."""
    for stream in streams:
        found = find(view, filters, stream)
        if found is not None:
            st.caption(f":material/visibility_off: {sentence(found, stream)}")


def sentence(found: Hidden, stream: str) -> str:
    """How many calls hide what, whose they are, and what follows."""
    parts = [say(f"hidden.{stream}", hidden=found.hidden, calls=found.calls).format(names=named(found.names))]
    if found.uncounted:
        parts.append(say(f"hidden.{stream}_uncounted", uncounted=found.uncounted))
    return " ".join(parts)


def named(names: Sequence[str | None]) -> str:
    """The first names and how many more there are, made inert."""
    told = [f"**{markdown(name)}**" for name in names[:MOST_NAMED]]
    more = len(names) - len(told)
    return ", ".join(told) + (f" {say('hidden.more', n=more)}" if more > 0 else "")


def postbacks(view: View, filters: Filters) -> None:
    """Says how many postbacks tell no answer, and how many no key."""
    keys = data.table(view.snapshot, "postback_keys", filters).rows
    untold = [row for row in keys if row["untold"]]
    lines = []
    if untold:
        count, received = total(untold, "untold"), total(keys, "received")
        lines.append(
            say("hidden.answers", untold=count, received=received).format(names=named([r["partner"] for r in untold]))
        )
    if keyless := total([row for row in keys if row["partner"] is None], "received"):
        lines.append(say("hidden.keys", postbacks=keyless))
    for line in lines:
        st.caption(f":material/visibility_off: {line}")


def total(rows: Sequence[Row], column: str) -> int:
    """Sum of a known count."""
    return sum(row[column] for row in rows)
