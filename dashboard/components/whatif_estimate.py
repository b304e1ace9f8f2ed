"""What retries that were not made might bring under another policy: an estimate, apart from all that is exact."""

import streamlit as st

from dashboard.charts import style
from dashboard.components import data, panel, tiles
from dashboard.components.data import Row
from dashboard.components.tiles import Tile
from dashboard.components.view import View
from dashboard.components.whatif import result
from dashboard.texts import say, tell
from dashboard.whatif import Policy, Replay

ESTIMATE = (
    "partner",
    "trigger",
    "added",
    "unjudged",
    "observed",
    "successes",
    "successes_low",
    "successes_high",
    "bids",
    "bids_low",
    "bids_high",
)


def estimate(view: View, policy: Policy, found: Replay) -> None:
    """What retries that the policy allows and that were not made might bring, apart from all that is exact."""
    told = found.estimate
    st.header(tell("whatif.estimate"), anchor=False, divider="gray")
    st.caption(say("whatif.estimate_about"))
    behind = result(view, "estimate", policy)
    tiles.show(
        view,
        [
            Tile(
                "whatif_added",
                style.short(told["added"]),
                metric="whatif.added",
                n=found.totals["calls"],
                unit=tell("unit.calls"),
            ),
            Tile(
                "whatif_unknown",
                style.short(told["added_unknown"]),
                metric="whatif.added_unknown",
                n=told["added"],
                unit=tell("unit.retries"),
            ),
            expected(told, "successes"),
            expected(told, "bids"),
        ],
        [behind],
    )
    titles = data.reason_titles(view.snapshot)
    panel.table(
        view,
        "whatif_estimate",
        behind,
        [shaped(row) | {"trigger": titles.get(row["trigger"], row["trigger"])} for row in found.estimates],
        columns=ESTIMATE,
        metrics=("whatif.successes", "whatif.bids"),
    )


def expected(told: Row, name: str) -> Tile:
    """An expected number with the interval around it."""
    value = style.unknown()
    note = tell("whatif.not_told" if told["added_known"] else "whatif.never_tried")
    if told[name] is not None:
        value = style.short(told[name])
        low, high = (style.short(told[f"{name}_{end}"]) for end in ("low", "high"))
        note = tell("whatif.interval", low=low, high=high)
    unit = tell("unit.retries")
    return Tile(f"whatif_{name}", value, metric=f"whatif.{name}", n=told["added_known"], unit=unit, note=note)


def shaped(row: Row) -> Row:
    """Expected numbers to one decimal."""
    return {name: round(value, 1) if isinstance(value, float) else value for name, value in row.items()}
