"""What came of an auction: its calls, the notices that followed, and the rows as the log told them."""

from collections.abc import Mapping

import streamlit as st

from dashboard.components import attempt_times, data, door, grid, links, panel
from dashboard.components.auction import Auction
from dashboard.components.data import Row
from dashboard.components.shapes import Only
from dashboard.components.view import View
from dashboard.escape import plain
from dashboard.filters import Filters
from dashboard.tables.context import equals
from dashboard.text import scalar
from dashboard.texts import say, table, tell, title

NOTICES = ("win", "loss", "billing", "impression", "click")
WON = 4
"""Stage of a call up to which nothing tells that it won."""


def calls(view: View, auction: Auction) -> None:
    """What became of each call."""
    if auction.span_us is None:
        return
    partners = tuple(dict.fromkeys(row["partner"] for row in auction.rows))
    filters = Filters(frm_us=auction.span_us[0], to_us=auction.span_us[1], partners=partners, zone=view.filters.zone)
    result = data.table(view.snapshot, "auction_calls", filters, shape=Only(equals("auction_id", auction.id)))
    titles = data.reason_titles(view.snapshot)
    wins = any(view.snapshot.evidence.get(name, False) for name in ("win", "winner"))
    panel.table(
        view,
        "auction_calls",
        result,
        [call(view, row, titles, wins) for row in result.rows],
        columns=("open_partner", "partner", "attempts_sent", "not_sent", "became", "because", "fate"),
        metrics=("funnel.count", "fate.calls"),
        absent=grid.ABSENT,
    )


def stage(row: Row, wins: bool) -> str:
    """Which text says how deep a call got; without any notice of a win nobody knows who won."""
    if row["stage"] == 2 and row["reason"] == "answered_unknown":
        return "2_unknown"
    return f"{row['stage']}_unknown" if row["stage"] == WON and not wins else str(row["stage"])


def because(row: Row, wins: bool, titles: Mapping[str, str]) -> str | None:
    """Why a call got no further; a number of a lost auction is a loss reason, not a no-bid code."""
    if row["stage"] >= WON and not wins:
        return None
    reason = str(row["reason"])
    return loss(reason) if row["stage"] == WON and reason.isdigit() else titles.get(reason, reason)


def loss(code: str) -> str:
    """A loss reason by its number, and by its name where the standard has one."""
    words = table("loss_reason")
    return tell("call_stage.loss", code=f"{code} · {words.get(code, words['other'])}")


def call(view: View, row: Row, titles: Mapping[str, str], wins: bool) -> Row:
    """A call as it reads best; `wins`: the data tell of wins."""
    recovered = str(row["fate"] or "").removeprefix("recovered_")
    fate = tell("call_fate.recovered", number=recovered) if recovered.isdigit() else title("call_fate", row["fate"])
    return row | {
        "open_partner": links.address(view, "partner", name=plain(row["partner"])),
        "attempts_sent": None if row["uncounted"] else row["attempts_sent"],
        "became": title("call_stage", stage(row, wins)),
        "because": because(row, wins, titles),
        "fate": fate if row["fate"] is not None else tell("call_fate.none"),
    }


def notices(view: View, auction: Auction) -> None:
    """The notices that followed, each delivery a row."""
    result = data.table(view.snapshot, "auction_notices", Filters(), shape=Only(equals("auction_id", auction.id)))
    start = attempt_times.begin([*auction.rows, *auction.others]) if auction.rows or auction.others else None
    orphans = sum(row["orphan"] for row in result.rows)
    panel.table(
        view,
        "auction_notices",
        result,
        [
            row
            | {
                "price": None if row["price"] is None else scalar(row["price"]),
                "again": yes(row["again"]),
                "after_s": None if start is None else attempt_times.milliseconds(start, row["ts"]) / 1000,
            }
            for row in result.rows
        ],
        columns=("ts", "after_s", "kind", "partner", "imp_id", "price", "currency", "loss_reason", "again", "click_id"),
        metrics=("notices.duplicates", "notices.orphans"),
        note=say("auction.orphans", notices=orphans) if orphans else "",
        absent=grid.ABSENT,
        empty="" if told_any(view) else "auction.notices_unknown",
    )


def told_any(view: View) -> bool:
    """Whether the warehouse has any notice."""
    return any(view.snapshot.evidence.get(kind, False) for kind in NOTICES)


def yes(value: object) -> str | None:
    """A word where it is so, nothing where it is not."""
    return tell("attempt.yes") if value else None


def raw(view: View, auction: Auction) -> None:
    """The canonical columns as the log told them: the very rows of the table `attempts`."""
    if auction.span_us is None:
        return
    with st.expander(tell("auction.raw"), icon=":material/data_object:"):
        first, last = auction.span_us
        filters = Filters(auction=auction.id, frm_us=first, to_us=last + 1, zone=view.filters.zone)
        result = data.table(view.snapshot, "attempts", filters)
        grid.show(result.rows, view.zone, key=f"raw_{panel.digest(result.sql)}", absent=grid.ABSENT)
        door.files(view, result)
        links.command(say("auction.raw_command"), "attempts", "--auction", auction.id)
