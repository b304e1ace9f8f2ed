"""What would have been under another policy: what it saves and costs, and what it might add."""

from collections.abc import Mapping
from decimal import Decimal

import streamlit as st

from dashboard import whatif
from dashboard.charts import style
from dashboard.charts import whatif as charts
from dashboard.charts.breakers import duration
from dashboard.components import call_tiles, data, hidden, links, panel, tiles
from dashboard.components.buckets import Trend
from dashboard.components.data import Result, Row
from dashboard.components.retries import money
from dashboard.components.shapes import Only
from dashboard.components.tiles import Tile
from dashboard.components.view import View
from dashboard.escape import markdown
from dashboard.filters import Filters
from dashboard.snapshot import Snapshot
from dashboard.texts import say, tell
from dashboard.whatif import Policy, Replay, statement
from dashboard.whatif.policy import policy_text

KEEP_S = 3_600
MOST_REPLAYS = 64
MOST_RESULTS = 3 * MOST_REPLAYS

LOSSES = (
    "partner",
    "attempts_saved",
    "ms_saved",
    "answered_lost",
    "bids_lost",
    "wins_lost",
    "revenue_lost",
    "attempts_before",
    "attempts_after",
    "calls_cut",
    "late_saved",
    "unjudged",
)
BLOCKED = ("blocked", "opened")
TRIGGERS = ("partner", "trigger", "attempts_saved", "retries", "answered_lost", "bids_lost", "wins_lost", "ms_saved")


def replay(view: View, policy: Policy) -> Replay:
    """The range of the view under a policy."""
    with st.spinner(tell("whatif.walking")):
        return _replay(
            view.snapshot,
            policy,
            str(view.snapshot.warehouse),
            view.snapshot.id,
            policy_text(policy.fields()),
            view.filters,
        )


@st.cache_data(ttl=KEEP_S, max_entries=MOST_REPLAYS, show_spinner=False)
def _replay(_snapshot: Snapshot, _policy: Policy, warehouse: str, id: str, text: str, filters: Filters) -> Replay:
    return whatif.replay(_snapshot, _policy, filters)


def result(view: View, name: str, policy: Policy) -> Result:
    """The rows of a statement about the policy, and the statement."""
    whole = str(view.snapshot.warehouse), view.snapshot.id
    known = repr((*whole, name, policy_text(policy.fields()), view.filters))
    return _result(known, view.snapshot, name, policy, view.filters)


@st.cache_resource(ttl=KEEP_S, max_entries=MOST_RESULTS, show_spinner=False)
def _result(known: str, _snapshot: Snapshot, _name: str, _policy: Policy, _filters: Filters) -> Result:
    columns, types, values = statement.fetch(_snapshot, _name, _policy, _filters)
    text = statement.sql(_snapshot, _name, _policy, _filters)
    return Result(f"whatif_{_name}", columns, types, values, text, known=known)


def measured(view: View) -> None:
    """What was under the policy in force, with its change: what the figures of another policy stand beside."""
    st.header(tell("whatif.measured"), anchor=False)
    tiles.compared(view, view.filters, baseline)
    st.header(tell("whatif.would"), anchor=False)


def baseline(view: View, filters: Filters) -> list[Tile]:
    """The tiles of what was measured."""
    only = Only("stream = 'exchange'")
    now, trend = data.table(view.snapshot, "figures", filters, shape=only), Trend(view, "figures", filters, only)
    row = now.rows[0] if now.rows else dict.fromkeys(now.columns)
    return [figure(row, trend) for figure in (call_tiles.calls, call_tiles.effective, call_tiles.amplification)]


def headline(view: View, policy: Policy, found: Replay) -> None:
    """What the policy changes over all partners."""
    totals = found.totals
    shown = [
        saved(totals),
        Tile(
            "whatif_time",
            took(totals["ms_saved"]),
            metric="whatif.ms_saved",
            n=totals["attempts_saved"],
            unit=tell("unit.attempts"),
            note=tell("whatif.known_time"),
        ),
        both(totals, "amplification", "calls_sent_before", tell("unit.calls")),
        both(totals, "effective_success", "calls_sent_before", tell("unit.calls")),
        loss(totals, "answered_lost"),
        loss(totals, "bids_lost"),
        loss(totals, "wins_lost"),
        revenue(totals),
        late(totals),
        loss(totals, "unjudged", "attempts_before"),
    ]
    if totals["blocked"] is not None:
        shown += [loss(totals, name, "attempts_before") for name in ("blocked", "opened")]
    note = say("whatif.no_sql") if policy.breaks else ""
    tiles.show(view, shown, [result(view, name, policy) for name in ("partners", "triggers")], note=note)
    if totals["calls_hidden"]:
        st.caption(left_out(found))


def left_out(found: Replay) -> str:
    """How many calls the replay cannot take in, and whose."""
    names = [row["partner"] for row in found.partners if row["calls_hidden"]]
    return say("hidden.whatif", hidden=found.totals["calls_hidden"]).format(names=hidden.named(names))


def all_hidden(found: Replay) -> None:
    """Says that nothing can be replayed, for no call that was sent shows all its attempts."""
    panel.nothing("hidden.whatif_all")
    st.caption(f":material/visibility_off: {left_out(found)}")


def saved(totals: Row) -> Tile:
    """Attempts that are not sent."""
    return Tile(
        "whatif_saved",
        style.short(totals["attempts_saved"]),
        metric="whatif.attempts_saved",
        n=totals["attempts_before"],
        unit=tell("unit.attempts"),
        note=tell(
            "whatif.of", share=percent_of(totals, "attempts_saved", "attempts_before"), n=totals["attempts_before"]
        ),
    )


def both(totals: Row, name: str, whole: str, unit: str) -> Tile:
    """A rate after, with the one before below."""
    write = ratio if name == "amplification" else style.percent
    return Tile(
        f"whatif_{name}",
        write(totals[f"{name}_after"]),
        metric=f"whatif.{name}_after",
        n=totals[whole],
        unit=unit,
        note=tell("whatif.before", value=write(totals[f"{name}_before"])),
    )


def loss(totals: Row, name: str, among: str = "calls") -> Tile:
    """A count among the calls, or attempts, of the range."""
    return Tile(
        f"whatif_{name}",
        style.short(totals[name]),
        metric=f"whatif.{name}",
        n=totals[among],
        unit=tell("unit.calls" if among == "calls" else "unit.attempts"),
    )


def revenue(totals: Row) -> Tile:
    """Money of the first currency, with that of the others below: amounts of two are never added."""
    amounts: Mapping[str, Decimal] | None = totals["revenue_lost"]
    told = [style.unknown()]
    if amounts is not None:
        told = [f"{currency} {rounded(amount)}" for currency, amount in amounts.items()] or [tell("flags.no_money")]
    return Tile(
        "whatif_revenue",
        markdown(told[0]),
        metric="whatif.revenue_lost",
        n=totals["wins_lost"],
        unit=tell("unit.calls"),
        note="; ".join(told[1:]),
    )


def rounded(amount: Decimal) -> str:
    """An amount short enough for a tile; the table below has all its digits."""
    return style.number(float(amount), ",.0f" if amount >= 100 else ".2f" if amount >= 1 else ".3g")


def late(totals: Row) -> Tile:
    """Late retries among those saved."""
    note = tell("whatif.judged", n=totals["late_judged"])
    return Tile(
        "whatif_late",
        style.short(totals["late_saved"]),
        metric="whatif.late_saved",
        n=totals["late_judged"],
        unit=tell("unit.retries"),
        note=note,
    )


def percent_of(row: Row, part: str, whole: str) -> str:
    """A share as text."""
    return style.percent(style.ratio(row[part], row[whole]))


def ratio(value: float | None) -> str:
    """Attempts per call as text."""
    return style.number(value, ".3f")


def took(ms: float | None) -> str:
    """Milliseconds as people say a time span."""
    return style.unknown() if ms is None else duration(float(ms) / 1000)


def partners(view: View, policy: Policy, found: Replay) -> None:
    """Amplification before and after, by partner; what the breaker stops is in the marks, not in the statement."""
    rows = sorted(found.partners, key=lambda row: (-row["attempts_saved"], row["partner"]))
    told = result(view, "partners", policy)
    notes = [panel.cut(len(rows)), say("whatif.no_sql") if policy.breaks else ""]
    panel.chart(
        view,
        "whatif_partners",
        told,
        lambda: charts.amplification(rows),
        metrics=("whatif.amplification_before", "whatif.amplification_after"),
        n=found.totals["calls_sent_before"],
        unit=tell("unit.calls"),
        note=" ".join(note for note in notes if note),
    )


def losses(view: View, policy: Policy, found: Replay) -> None:
    """Every partner's savings and losses; a click opens the partner's page with its attempts."""
    rows = [
        unseen(row | {"revenue_lost": money(row["revenue_lost"]), "ms_saved": whole(row["ms_saved"])})
        for row in sorted(found.partners, key=lambda row: (-row["attempts_saved"], row["partner"]))
    ]

    def open_partner(index: int) -> None:
        st.switch_page(view.page("partner"), query_params=links.query(name=rows[index]["partner"]))

    panel.table(
        view,
        "whatif_losses",
        result(view, "partners", policy),
        rows,
        columns=[*LOSSES, *(BLOCKED if policy.breaks else ())],
        metrics=("whatif.attempts_saved", "whatif.calls_cut", "whatif.bids_lost", "whatif.wins_lost"),
        note=say("whatif.no_sql") if policy.breaks else "",
        on_select=open_partner,
    )


def unseen(row: Row) -> Row:
    """A partner's row; all of it is unknown where nothing but hidden calls was sent."""
    if row["attempts_before"] or not row["calls_hidden"]:
        return row
    return row | dict.fromkeys(name for name in (*LOSSES, *BLOCKED) if name != "partner")


def triggers(view: View, policy: Policy, found: Replay) -> None:
    """The removed retries by what they repeated."""
    titles = data.reason_titles(view.snapshot)
    rows = [
        row | {"trigger": titles.get(row["trigger"], row["trigger"]), "ms_saved": whole(row["ms_saved"])}
        for row in sorted(found.triggers, key=lambda row: (-row["attempts_saved"], row["partner"], row["trigger"]))
    ]
    panel.table(
        view,
        "whatif_triggers",
        result(view, "triggers", policy),
        rows,
        columns=TRIGGERS,
        metrics=("whatif.attempts_saved", "whatif.answered_lost"),
        empty="hidden.retries" if found.totals["calls_hidden"] else "",
    )


def whole(value: float | None) -> float | None:
    """Milliseconds without fractions."""
    return None if value is None else round(float(value))
