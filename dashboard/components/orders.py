"""Whether conversions arrive once and only once: the ledger of orders, the lost ones by name, and the faults."""

from collections.abc import Mapping
from dataclasses import replace

import streamlit as st

from dashboard.charts import orders as charts
from dashboard.charts import style
from dashboard.charts.breakers import duration
from dashboard.components import choices, data, grid, links, panel
from dashboard.components.compare import Amount
from dashboard.components.data import Result, Row
from dashboard.components.shapes import Only, Sum
from dashboard.components.tiles import Tile
from dashboard.components.view import View
from dashboard.filters import Filters
from dashboard.tables.context import equals
from dashboard.text import scalar
from dashboard.texts import in_every_language, say, table, tell, title

LOST, BEYOND, UNKNOWN = "lost", "beyond_day", "unknown"
GROUPS = (LOST, BEYOND, UNKNOWN, "pending", "accepted_after_retry", "accepted_earlier", "accepted_first")
"""Which orders the ledger can show: a state, or those retried after more than 24 h."""

MOST_LISTED = 500
COLUMNS = (
    "open_order",
    "tenant",
    "event_type",
    "external_order_id",
    "first_request",
    "requests",
    "last_outcome",
    "paid",
    "retries_beyond_day",
    "key",
)
BY_FAULT = Sum(("fault",), (("faults", "count(*)::bigint"),))
FAULTY = Sum(
    (),
    (
        (
            "orders",
            "count(distinct (tenant, event_type, external_order_id)) filter (external_order_id is not null)::bigint",
        ),
    ),
)


def headline(view: View, filters: Filters) -> list[Tile]:
    """Lost orders, and orders with a fault."""
    result = data.table(view.snapshot, "order_states", filters)
    found = counts(result)
    whole = result.total("orders")
    faulty = data.table(view.snapshot, "order_faults", filters, shape=FAULTY)
    judged = whole - found.get(UNKNOWN, 0) if carries(view)["faults"] else 0
    faults = faulty.total("orders")
    lost, pending = None if found.get(UNKNOWN) else found.get(LOST, 0), found.get("pending", 0)
    return [
        lost_so_far(counted("lost", lost, whole - pending, "orders.lost", tell("unit.settled")), pending),
        counted("faulty", faults, whole if faults > judged else judged, "order_faults.orders", tell("unit.orders")),
    ]


def lost_so_far(tile: Tile, pending: int) -> Tile:
    """While orders are pending more may be lost yet: they are told, and no fall since an earlier period is."""
    if not pending or not tile.note:
        return tile
    note = f"{tile.note}, {tell('tile.pending', n=pending)}"
    return replace(tile, note=note, amount=Amount("count", None, events=True))


def carries(view: View) -> Row:
    """Whether the logs carry what `faults` and `duplicates` are judged by."""
    [columns] = data.table(view.snapshot, "order_columns", Filters()).rows
    return columns


def counted(text: str, part: int | None, whole: int, metric: str, unit: str) -> Tile:
    """A tile for a count with its share of all; without any order it is unknown."""
    share = style.ratio(part, whole)
    return Tile(
        text,
        style.unknown() if share is None else style.count(part),
        metric=metric,
        n=whole,
        unit=unit,
        note="" if share is None else tell("tile.share_of", share=style.percent(share), n=whole),
        amount=Amount("count", None if share is None else part, events=True),
    )


def counts(result: Result) -> dict[str, int]:
    """How many orders each group of the ledger has."""
    found = {row["state"] or UNKNOWN: row["orders"] for row in result.rows}
    return found | {BEYOND: result.total("orders_beyond_day")}


def ledger(view: View, filters: Filters) -> None:
    """Orders by name, the lost ones first; a click on one opens its postbacks."""
    states = data.table(view.snapshot, "order_states", filters)
    found = counts(states)
    group = choose(found) if states.rows else LOST
    condition = "retries_beyond_day > 0" if group == BEYOND else equals("state", None if group == UNKNOWN else group)
    result = data.table(view.snapshot, "order_ledger", filters, shape=Only(condition))
    listed = result.rows[:MOST_LISTED]
    chosen: list[int] = []
    panel.table(
        view,
        "order_ledger",
        result,
        lambda: [order(row, address) for row, address in zip(listed, links.orders(view, listed), strict=True)],
        columns=[name for name in COLUMNS if name != "retries_beyond_day" or group == BEYOND],
        metrics=("orders.state", "orders.requests", "orders.amount"),
        note=ledger_note(group, found, len(listed), bool(states.rows)),
        on_select=chosen.append,
    )
    if chosen:
        postbacks(view, result.rows[chosen[0]])


def choose(found: Mapping[str, int]) -> str:
    """The orders to list; the choice stays in the address, by its title."""
    offered = [name for name in GROUPS if name == LOST or found.get(name)]
    titles = {name: title("order", name) for name in offered}
    chosen = st.segmented_control(
        tell("orders.choose"),
        offered,
        default=LOST,
        format_func=lambda name: titles.get(name, name),
        key=choices.recall("orders", titles, lambda name: in_every_language(f"order.{name}")),
        bind="query-params",
        required=True,
        label_visibility="collapsed",
    )
    return chosen or LOST


def ledger_note(group: str, found: Mapping[str, int], shown: int, any_orders: bool) -> str:
    """What the listed orders are; that none was lost is said, and that nobody can know."""
    if not any_orders:
        return say("orders.no_ids")
    whole = found.get(group, 0)
    if not whole:
        key = "orders.none_known_lost" if found.get(UNKNOWN) else "orders.none_lost"
        return say(key, unknown=found.get(UNKNOWN, 0), n=sum(found.get(name, 0) for name in GROUPS if name != BEYOND))
    cut = say("orders.cut", shown=shown, rows=whole) if whole > shown else ""
    return f"{say(f'order_about.{group}', n=whole)} {cut}".strip()


def order(row: Row, address: str | None) -> Row:
    """An order as it reads best, with the address of its page."""
    paid = None
    if row["amount"] is not None:
        paid = " ".join(part for part in (row["currency"], scalar(row["amount"])) if part)
    outcome = row["last_outcome"]
    return row | {
        "open_order": address,
        "paid": paid,
        "last_outcome": None if outcome is None else title("postback", outcome),
    }


def states(view: View, filters: Filters) -> None:
    """What became of the orders of the range."""
    result = data.table(view.snapshot, "order_states", filters)
    beyond = result.total("retries_beyond_day")
    unknown = counts(result).get(UNKNOWN, 0)
    notes = [say("orders.beyond", retries=beyond, orders=result.total("orders_beyond_day"))]
    if unknown:
        notes = [*(notes if beyond else ()), say("orders.beyond_unknown", unknown=unknown)]
    panel.chart(
        view,
        "order_states",
        result,
        lambda: charts.states(result.rows, table("order")),
        metrics=("orders.state", "orders.beyond_day"),
        n=result.total("orders"),
        unit=tell("unit.orders"),
        note=" ".join(notes) if result.rows else "",
    )


def times(view: View, filters: Filters) -> None:
    """How long it took until an order that was retried was accepted."""
    result = data.table(view.snapshot, "order_times", filters)
    total = result.total("orders")
    states = data.table(view.snapshot, "order_states", filters)
    known = states.of(state="accepted_after_retry")
    panel.chart(
        view,
        "order_times",
        result,
        lambda: charts.times(result.rows),
        metrics=("orders.seconds_to_accept",),
        n=total,
        unit=tell("unit.orders"),
        note=" ".join(
            say("orders.times", p50=duration(row["accept_p50_s"]), p95=duration(row["accept_p95_s"])) for row in known
        ),
        empty=not total,
        absent="orders.times_unknown" if counts(states).get(UNKNOWN) else "",
    )


def fault_kinds(view: View, filters: Filters) -> None:
    """How many orders have a fault of each kind."""
    result = data.table(view.snapshot, "order_faults", filters, shape=BY_FAULT)
    found = counts(data.table(view.snapshot, "order_states", filters))
    panel.chart(
        view,
        "order_fault_kinds",
        result,
        lambda: charts.faults(sorted(result.rows, key=lambda row: -row["faults"]), table("fault")),
        metrics=("order_faults.fault",),
        n=result.total("faults"),
        unit=tell("unit.faults"),
        absent=no_faults(view, found),
    )


def no_faults(view: View, found: Mapping[str, int]) -> str:
    """Which text stands where no fault is known; empty where there is none."""
    if not any(found.values()):
        return "orders.no_ids"
    if not carries(view)["faults"]:
        return "orders.no_faults_told"
    return "orders.faults_unknown" if found.get(UNKNOWN) else ""


def faults(view: View, filters: Filters) -> None:
    """Each fault with its detail, where there is any; a click on one opens the postbacks behind it."""
    result = data.table(view.snapshot, "order_fault_list", filters)
    if not result.rows:
        return
    chosen: list[int] = []
    panel.table(
        view,
        "order_fault_list",
        result,
        lambda: [
            {"open_order": address} | row | {"fault": title("fault", row["fault"])}
            for address, row in zip(links.orders(view, result.rows), result.rows, strict=True)
        ],
        metrics=("order_faults.fault", "order_faults.detail"),
        on_select=chosen.append,
        absent=grid.ABSENT,
    )
    if chosen:
        behind(view, result.rows[chosen[0]])


def behind(view: View, fault: Row) -> None:
    """The postbacks of a fault's order; without an order those that share an idempotency key with another body."""
    if fault["external_order_id"] is not None:
        postbacks(view, fault)
        return
    result = data.table(
        view.snapshot, "order_reuse_postbacks", Filters(zone=view.filters.zone), shape=Only(same_order(fault))
    )
    panel.table(view, "order_postbacks", result, [told(row) for row in result.rows], absent=grid.ABSENT)


def postbacks(view: View, chosen: Row) -> None:
    """Every postback of an order, each with how long its sender waited, and was told to wait, before it."""
    filters = Filters(order=chosen["external_order_id"], zone=view.filters.zone)
    result = data.table(view.snapshot, "order_postbacks", filters, shape=Only(same_order(chosen)))
    panel.table(
        view,
        "order_postbacks",
        result,
        [told(row) for row in result.rows],
        metrics=("orders.pause",),
        note=say("orders.postbacks_note", order=chosen["external_order_id"], tenant=chosen["tenant"]),
        absent=grid.ABSENT,
    )
    links.to_order(view, chosen)


def told(row: Row) -> Row:
    """A postback as it reads best."""
    return row | {"outcome": title("postback", row["outcome"])}


def same_order(chosen: Row) -> str:
    """SQL condition on the postbacks of one tenant and event type."""
    return f"{equals('tenant', chosen['tenant'])} and {equals('event_type', chosen['event_type'])}"
