"""Random native logs for property tests: few ids, so that events collide, and instants that like edges.

`logs()` draws the lines of one log, `splits(log)` cuts them into files in another order, `filters()` draws what
`table` takes as `frm`, `to` and `partners`. What the definitions leave open does not occur: events whose
order equal instants would leave undecided are moved apart, and equal `event_id`s mean equal lines.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from .events import (
    ATTEMPT,
    KEYS,
    PARTNERS,
    POSTBACK,
    exchange_events,
    hiding,
    offsets,
    postback_events,
    sometimes_spoilt,
)
from .lines import DAY, Row, load, read_event
from .scenes import budgets, bursts, floods, journeys, queues, repeats, storms, waits
from .ties import undecided
from .values import EPOCH, micros, parse_json

BASE = micros(datetime(2026, 9, 14, tzinfo=UTC))
LIMIT = 90
COLUMNS = sorted({*ATTEMPT, *POSTBACK, "source", "placement", "winner", "price", "imp_id", "tenant", "body"})
BROKEN = (
    b'{"event":"attempt","ts":"2026-09-14T00:00:00Z","auction_id":"a1"',
    b'{"event":"attempt","ts":"2026-09-14T00:00:00Z","auction_id":"a1","partner":"p","http_status":204}TRAILER',
    b'{"event":"attempt","ts":"2026-09-14T00:00:00Z","auction_id":"a1","partner":"p","http_status":204,}',
    b'{"event":"attempt","ts":"2026-09-14T00:00:00","auction_id":"a1","partner":"p"}',
    b'{"event":"attempt","ts":"2026-02-30T00:00:00Z","auction_id":"a1","partner":"p"}',
    b'{"event":"attempt","ts":"2016-12-31T23:59:60Z","auction_id":"a1","partner":"p"}',
    b'{"event":"attempt","ts":0,"auction_id":"a1","partner":"p"}',
    b'{"event":"attempt","ts":true,"auction_id":"a1","partner":"p"}',
    b'{"event":"attempt","ts":"2026-09-14T00:00:00Z","auction_id":"","partner":"p"}',
    b'{"event":"attempt","ts":"2026-09-14T00:00:00Z","auction_id":"a1","partner":true}',
    b'{"event":"attempt","ts":"2026-09-14T00:00:00Z","auction_id":{"id":1},"partner":"p"}',
    b'{"event":"attempts","ts":"2026-09-14T00:00:00Z","auction_id":"a1","partner":"p"}',
    b'{"event":"breaker","ts":"2026-09-14T00:00:00Z","partner":"p"}',
    b'{"event":"postback","ts":"2026-09-14T00:00:00Z","key_id":"k1","http_status":0}',
    b'{"event":"postback","ts":"2026-09-14T00:00:00Z","key_id":"k1","http_status":"often"}',
    b'{"event":"postback","ts":"2026-09-14T00:00:00Z","http_status":200}',
    b"[1,2]",
    b"42",
    b"null",
    b"{}",
    b"INFO started",
)
BLANK = (b"", b"  ", b"\t")


def stamp(instant: int, shape: int) -> str | int | float:
    """One of the ways to write an instant, exact to the microsecond."""
    moment = EPOCH + timedelta(microseconds=instant)
    seconds, fraction = moment.strftime("%Y-%m-%dT%H:%M:%S"), f"{instant % 1_000_000:06}"
    east = (moment + timedelta(hours=5, minutes=30)).strftime("%Y-%m-%dT%H:%M:%S")
    west = (moment - timedelta(hours=3)).strftime("%Y-%m-%d %H:%M:%S")
    whole = f"{seconds}Z" if fraction == "000000" else f"{seconds}.{fraction}Z"
    shapes: tuple[str | int | float, ...] = (
        f"{seconds}.{fraction}Z",
        whole,
        whole.lower(),
        f"{seconds}.{fraction}999Z",
        f"{east}.{fraction}+05:30",
        f"{east}.{fraction}+0530",
        f"{west}.{fraction}-03",
        f"{instant // 1_000_000}.{fraction}",
        instant,
        str(instant),
        instant * 1_000 + 999,
        str(instant * 1_000),
        float(f"{instant // 1_000_000}.{fraction}"),
        instant // 1_000 if instant % 1_000 == 0 else f"{instant // 1_000}.{instant % 1_000:03}",
    )
    return shapes[shape % len(shapes)]


def render(event: Row, shape: int = 0) -> bytes:
    """The line of an event, whose `at` is in microseconds from the base."""
    instant = BASE + event["at"]
    known = {"event": event["event"], "ts": stamp(instant, shape)}
    if "skew" in event:
        known["x_timestamp"] = stamp(instant + event["skew"], shape + 7)
    if "retry_at" in event:
        date = EPOCH + timedelta(seconds=instant // 1_000_000 + event["retry_at"])
        known["retry_after"] = date.strftime("%a, %d %b %Y %H:%M:%S GMT")
    others = event.keys() - known.keys() - {"at", "skew", "retry_at"}
    return json.dumps(known | {key: event[key] for key in event if key in others}).encode()


def settle(events: list[Row]) -> list[Row]:
    """The events, moved on by a millisecond for as long as their order beside an earlier one would be open."""
    placed: dict[int, list[Row]] = {}
    settled = []
    for event in events:
        moved = dict(event)
        row = read_event(parse_json(render(moved).decode()))[0]
        while any(undecided(row, other) for other in placed.get(moved["at"], [])):
            moved["at"] += 1_000
            row["ts"] += 1_000
        placed.setdefault(moved["at"], []).append(row)
        settled.append(moved)
    return settled


@st.composite
def logs(
    draw: st.DrawFn,
    exchange: bool = True,
    postbacks: bool = True,
    broken: bool = True,
    storm: int = 0,
    shown: bool = False,
) -> list[bytes]:
    """The lines of a log, without line ends; at least one of them is a fact, and at most some 90.

    With `storm` most of it is attempts that are to open a breaker which wants so many. With `shown` it is of the format
    that may hide a part, and nothing in it is broken.
    """
    single = [exchange_events()] * exchange + [postback_events()] * postbacks
    several = [*[bursts(exchange, postbacks)] * 2, waits(exchange, postbacks)]
    several += [journeys(postbacks), queues(), budgets()] * exchange + [repeats(), floods()] * postbacks
    parts = st.one_of(*[part.map(lambda event: [event]) for part in single * 2], *several)
    least, most = draw(st.sampled_from([(1, 1), (2, 4), *[(6, 24)] * 4]))
    first: list[list[Row]] = []
    if storm:
        first, least, most = draw(st.lists(storms(storm), min_size=1, max_size=2)), 0, 4
    drawn = [event for part in [*first, *draw(st.lists(parts, min_size=least, max_size=most))] for event in part]
    gone = draw(st.sets(st.sampled_from(COLUMNS), max_size=8)) if draw(st.booleans()) else set()
    kept = [{key: value for key, value in event.items() if key not in gone} for event in drawn[:LIMIT]]
    changed = hiding if shown else sometimes_spoilt
    broken = broken and not shown
    events = settle([draw(changed(event)) for event in kept])
    has_ids = draw(st.booleans())
    lines: list[bytes] = []
    for number, event in enumerate(events):
        if has_ids and event["event"] not in ("auction", "breaker") and draw(st.integers(0, 7)) == 7:
            event["event_id"] = f"{event['event']}-{number}" if draw(st.booleans()) else str(number)
        lines.append(render(event, draw(st.integers(0, 13))))
    for line in draw(st.lists(st.sampled_from(lines), max_size=3)):
        lines.insert(draw(st.integers(0, len(lines))), line)
    is_broken = broken and draw(st.integers(0, 2)) == 2
    for line in draw(st.lists(st.sampled_from(BROKEN + BLANK), max_size=4)) if is_broken else []:
        lines.insert(draw(st.integers(0, len(lines))), line)
    return lines


def is_fact(line: bytes) -> bool:
    return load([line + b"\n"]).facts == 1


def _file(lines: list[bytes], end: bytes) -> bytes:
    """A file that begins with a fact, as a guess of its format wants it."""
    first = next(place for place, line in enumerate(lines) if is_fact(line))
    return b"".join(line + end for line in [lines[first], *lines[:first], *lines[first + 1 :]])


@st.composite
def splits(draw: st.DrawFn, lines: list[bytes]) -> list[bytes]:
    """The lines in another order in one to four files, none of which is refused, a copy or a beginning of another."""
    mixed = draw(st.permutations(lines))
    number = draw(st.sampled_from([3, 2, 1, 0]))
    cuts = sorted(draw(st.lists(st.integers(0, len(mixed)), min_size=number, max_size=number)))
    pieces = [mixed[start:end] for start, end in zip([0, *cuts], [*cuts, len(mixed)], strict=True) if start < end]
    ends = [draw(st.sampled_from([b"\n", b"\n", b"\r\n"])) for _ in pieces]
    if all(is_fact(line) for line in mixed):
        files = [_file(piece, end) for piece, end in zip(pieces, ends, strict=True)]
        if not any(one is not other and other.startswith(one) for one in files for other in files):
            return files
    return [_file(mixed, ends[0])]


@st.composite
def filters(draw: st.DrawFn, lines: Sequence[bytes] = ()) -> tuple[int | None, int | None, list[str] | None]:
    """(frm, to, partners) for `table`: edges on, just before and just after events, those of `lines`, or none."""
    facts = load([b"".join(line + b"\n" for line in lines)])
    stored = (facts.attempts, facts.auctions, facts.notices, facts.breaker_events, facts.postbacks)
    instants = [row["ts"] for rows in stored for row in rows]
    places = offsets().map(lambda at: BASE + at) | st.sampled_from(instants or [BASE])
    near = st.builds(int.__add__, places, st.sampled_from([0, 0, 1, 1_000, -1]))
    edge = st.one_of(st.none(), st.none(), near)
    frm, to = draw(edge), draw(edge | st.just(BASE + 8 * DAY))
    if frm is not None and to is not None and frm >= to:
        frm, to = (to, frm) if frm > to else (frm, to + 1)
    some = st.lists(st.sampled_from(PARTNERS + KEYS), min_size=1, max_size=2, unique=True)
    partners = draw(st.one_of(st.none(), st.none(), some))
    return frm, to, partners
