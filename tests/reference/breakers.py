"""Breaker states, the expected beside the reported: per partner and node, from events or the marks on attempts."""

from dataclasses import dataclass

from .calls import Model, attempt_order, is_sent
from .expected import expected
from .lines import Row
from .outcomes import FAILURE
from .selection import Selection, ordered
from .values import iso

Transition = tuple[int, str]


@dataclass
class Interval:
    state: str
    start: int
    end: int | None = None

    def holds(self, ts: int) -> bool:
        return self.start <= ts and (self.end is None or ts < self.end)

    def held_before(self, ts: int) -> bool:
        """Whether it held just before an instant: what changes at that instant does not count yet."""
        return self.start < ts and (self.end is None or ts <= self.end)

    def overlaps(self, selection: Selection) -> bool:
        """Whether any of it lies in the range; one that is still so has no end."""
        begins = selection.to is None or self.start < selection.to
        return begins and (selection.frm is None or self.end is None or self.end > selection.frm)


def mark(attempt: Row) -> str | None:
    """The state an attempt tells: of an unmarked one, closed where it was sent."""
    if attempt["breaker"] is not None:
        return str(attempt["breaker"])
    return "closed" if is_sent(attempt) else None


def nodes_of(attempts: list[Row], events: list[Row]) -> set[str | None]:
    nodes = {row["node"] for row in attempts} | {event["node"] for event in events if event["node"] is not None}
    return nodes or {None}


def intervals(first_seen: int | None, state_before: str | None, transitions: list[Transition]) -> list[Interval]:
    """From the first attempt or transition on; equal states in a row are one interval."""
    found: list[Interval] = []
    if first_seen is not None and (not transitions or first_seen < transitions[0][0]):
        found.append(Interval(state_before or "unknown", first_seen))
    for ts, state in transitions:
        if found and found[-1].state == state:
            continue
        if found:
            found[-1].end = ts
        found.append(Interval(state, ts))
    return found


def node_intervals(node: str | None, attempts: list[Row], events: list[Row]) -> list[Interval]:
    """The reported states of one node; `attempts` are its own, `events` are its partner's."""
    first_seen = min((row["ts"] for row in attempts), default=None)
    if not events:
        marks = [(row["ts"], mark(row)) for row in attempts]
        return intervals(first_seen, None, [(ts, state) for ts, state in marks if state is not None])
    own = [event for event in events if node is not None and event["node"] == node]
    own = own or [event for event in events if event["node"] is None]
    before = own[0]["state_from"] if own else None
    return intervals(first_seen, before, [(event["ts"], event["state_to"]) for event in own])


def reported(model: Model) -> dict[tuple[str, str | None], list[Interval]]:
    """The reported states of every partner and node of which anything tells one."""
    facts = model.facts
    found: dict[tuple[str, str | None], list[Interval]] = {}
    for partner in {row["partner"] for row in facts.attempts + facts.breaker_events}:
        attempts = sorted((row for row in facts.attempts if row["partner"] == partner), key=attempt_order)
        events = sorted((row for row in facts.breaker_events if row["partner"] == partner), key=lambda row: row["ts"])
        told = bool(events) or any(row["breaker"] is not None for row in attempts)
        if told:
            for node in nodes_of(attempts, events):
                own = [row for row in attempts if row["node"] == node]
                found[partner, node] = node_intervals(node, own, events)
    return found


def breakers(model: Model, selection: Selection) -> list[Row]:
    """Rows of both kinds; an interval that overlaps the range is kept whole, with all its attempts."""
    rows: list[Row] = []
    for (partner, node), intervals_of_node in reported(model).items():
        if selection.of(partner):
            own = [row for row in model.facts.attempts if (row["partner"], row["node"]) == (partner, node)]
            kept = [interval for interval in intervals_of_node if interval.overlaps(selection)]
            rows += [_row(partner, node, interval, own) for interval in kept]
    for partner in {row["partner"] for row in model.facts.attempts}:
        if selection.of(partner):
            rows += expected(model, selection, partner)
    return ordered(rows, "partner", "node", "kind", "from")


def _row(partner: str, node: str | None, interval: Interval, attempts: list[Row]) -> Row:
    inside = [row for row in attempts if interval.holds(row["ts"])]
    return {
        "partner": partner,
        "node": node,
        "kind": "reported",
        "state": interval.state,
        "from": iso(interval.start),
        "to": iso(interval.end),
        "attempts": sum(is_sent(row) for row in inside),
        "failures": sum(row["outcome"] in FAILURE for row in inside),
        "blocked": sum(row["outcome"] == "not_sent_breaker" for row in inside),
    }
