"""One auction: the id asked for, what the data hold of it, and who was called, when, on what budget."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import streamlit as st

from dashboard.charts import waterfall
from dashboard.components import attempt_times, choices, data, moments
from dashboard.components.attempt_times import Times
from dashboard.components.data import Result, Row
from dashboard.components.shapes import Only
from dashboard.components.view import View
from dashboard.escape import markdown
from dashboard.filters import Filters
from dashboard.languages import ENGLISH, LANGUAGES
from dashboard.tables.context import equals
from dashboard.text import scalar
from dashboard.texts import say, tell


@dataclass(frozen=True)
class Auction:
    """What the data hold of an auction id: `rows` are the attempts looked at, `times` theirs, `others` left out.

    `span_us` bounds the auction that is looked at, where the id was used more than once.
    """

    id: str
    result: Result
    rows: Sequence[Row]
    times: Sequence[Times]
    others: Sequence[Row]
    event: Row | None
    span_us: tuple[int, int] | None


def choose() -> str | None:
    """The auction to look at, kept in the address."""
    hint = tell("auction.id_hint")
    return st.text_input(tell("auction.id"), key="auction", bind="query-params", placeholder=hint) or None


def find(view: View, wanted: str) -> Auction | None:
    """The attempts and the event of an auction; None where the data hold nothing of it."""
    [span] = data.table(view.snapshot, "auction_span", Filters(auction=wanted)).rows
    events = data.table(view.snapshot, "auction_events", Filters(), shape=Only(equals("auction_id", wanted)))
    if not span["attempts"]:
        return Auction(wanted, events, [], [], [], events.rows[0], None) if events.rows else None
    bounds = Filters(auction=wanted, frm_us=span["first_us"], to_us=span["last_us"] + 1, zone=view.filters.zone)
    result = data.table(view.snapshot, "auction_attempts", bounds)
    span_us = round(float(view.snapshot.settings["call_span_s"]) * 1_000_000)
    rows = which(view, attempt_times.uses(result.rows, span_us))
    kept = [row for row in rows if not view.filters.partners or row["partner"] in view.filters.partners]
    kept = by_partner(kept)
    first, last = min(row["call_us"] for row in rows), max(row["call_us"] for row in rows) + span_us
    return Auction(
        wanted,
        result,
        kept,
        attempt_times.of(kept),
        [row for row in rows if row not in kept],
        nearest(events.rows, rows[0]["ts"]),
        (first, last),
    )


def which(view: View, uses: Sequence[Sequence[Row]]) -> Sequence[Row]:
    """The auction to look at, where several had the id: at first the newest."""
    if len(uses) == 1:
        return uses[0]
    st.markdown(say("auction.used", times=len(uses)))
    begins = {moments.told(view, use[0]["ts"], ENGLISH): use for use in uses}
    written = {
        begin: {moments.told(view, use[0]["ts"], language) for language in LANGUAGES.values()}
        for begin, use in begins.items()
    }
    titles = {begin: moments.told(view, use[0]["ts"]) for begin, use in begins.items()}
    chosen = st.selectbox(
        tell("auction.use", zone=view.filters.zone),
        list(begins),
        len(begins) - 1,
        format_func=lambda begin: titles.get(begin, begin),
        key=choices.recall("began", titles, written.__getitem__),
        bind="query-params",
    )
    return begins.get(chosen or "", uses[-1])


def by_partner(rows: Sequence[Row]) -> list[Row]:
    """Attempts of a partner together, partners in the order in which they were called."""
    order = list(dict.fromkeys(row["partner"] for row in rows))
    return sorted(rows, key=lambda row: (order.index(row["partner"]), row["call_us"], row["position"]))


def nearest(events: Sequence[Row], moment: datetime) -> Row | None:
    """The event that is closest to a moment."""
    return min(events, key=lambda event: abs(event["ts"] - moment), default=None)


def headline(view: View, auction: Auction) -> None:
    """When it was, what it was about, who was called and who won."""
    parts = [began(view, auction), *budget(view, auction.rows), *counted(auction.rows), *ended(auction.event)]
    st.markdown(" · ".join(parts))
    st.caption(say("auction.no_compare"))
    if auction.others:
        partners = len({row["partner"] for row in auction.others})
        st.caption(f":material/filter_alt: {say('auction.left_out', attempts=len(auction.others), partners=partners)}")


def began(view: View, auction: Auction) -> str:
    """The begin of the auction, in the chosen zone."""
    rows = [*auction.rows, *auction.others]
    start = attempt_times.begin(rows) if rows else auction.event["ts"] if auction.event else None
    if start is None:
        return say("auction.begin_unknown")
    return say("auction.began", moment=moments.told(view, start), zone=view.filters.zone)


def budget(view: View, rows: Sequence[Row]) -> list[str]:
    """The budget and the reserve that is kept of it."""
    if not rows:
        return []
    reserve = waterfall.ms(float(view.snapshot.settings["reserve_ms"]))
    budgets = sorted({row["budget_ms"] for row in rows if row["budget_ms"] is not None})
    if not budgets:
        return [say("auction.budget_unknown", reserve=reserve)]
    text = tell("auction.to").join(waterfall.ms(float(value)) for value in dict.fromkeys((budgets[0], budgets[-1])))
    return [say("auction.budget", budget=text, reserve=reserve)]


def counted(rows: Sequence[Row]) -> list[str]:
    """How many attempts were sent to how many partners, and how many were not sent."""
    sent = [row for row in rows if row["sent"]]
    hidden = any(row["hidden"] for row in rows)
    text = "auction.sent_shown" if hidden else "auction.sent"
    told = [say(text, attempts=len(sent), partners=len({row["partner"] for row in sent}))] if rows else []
    return [*told, say("auction.not_sent", attempts=len(rows) - len(sent))] if len(sent) < len(rows) else told


def ended(event: Row | None) -> list[str]:
    """What the exchange itself tells of the auction."""
    if event is None:
        return [say("auction.no_event")]
    parts = [say(f"auction.{name}", value=event[name]) for name in ("source", "placement") if event[name] is not None]
    if event["winner"] is None:
        return [*parts, say("auction.no_winner")]
    price = " ".join(part for part in (event["currency"], scalar(event["price"])) if part) if event["price"] else None
    return [*parts, say("auction.winner", winner=event["winner"], price=price)]


def unknown(wanted: str) -> None:
    """Says that the data hold nothing of an id."""
    st.markdown(f":material/search_off: {say('auction.unknown')} **{markdown(wanted)}**.")
    st.caption(say("auction.unknown_hint"))
