"""Random native logs for property tests: few ids, so that events collide, and instants that like edges.

`logs()` draws the lines of one log, `splits(log)` cuts them into files in another order, `filters()` draws what
`table` takes as `frm`, `to` and `partners`. What the definitions leave open does not occur: events whose
order equal instants would leave undecided are moved apart, and equal `event_id`s mean equal lines.
"""

import json
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from .events import KEYS, PARTNERS, bursts, exchange_events, journeys, offsets, postback_events, spoilt
from .lines import DAY, Row, load, read_event
from .ties import undecided
from .values import EPOCH, micros, parse_json

BASE = micros(datetime(2026, 9, 14, tzinfo=UTC))
LIMIT = 60
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
    known = {"event": event["event"], "ts": stamp(BASE + event["at"], shape)}
    return json.dumps(known | {key: value for key, value in event.items() if key not in known | {"at": 0}}).encode()


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
def logs(draw: st.DrawFn, exchange: bool = True, postbacks: bool = True, broken: bool = True) -> list[bytes]:
    """The lines of a log, without line ends; at least one of them is a fact, and at most some 60."""
    single = [exchange_events()] * exchange + [postback_events()] * postbacks
    several = [bursts(exchange, postbacks)] + [journeys(postbacks)] * exchange
    parts = st.one_of(*[part.map(lambda event: [event]) for part in single], *several)
    least = draw(st.sampled_from([1, 1, 6]))
    drawn = [event for part in draw(st.lists(parts, min_size=least, max_size=24)) for event in part][:LIMIT]
    events = settle([draw(spoilt(event)) if draw(st.integers(0, 9)) == 9 else event for event in drawn])
    lines: list[bytes] = []
    for number, event in enumerate(events):
        if event["event"] not in ("auction", "breaker") and draw(st.integers(0, 7)) == 7:
            event["event_id"] = f"{event['event']}-{number}" if draw(st.booleans()) else str(number)
        lines.append(render(event, draw(st.integers(0, 13))))
    for line in draw(st.lists(st.sampled_from(lines), max_size=3)):
        lines.insert(draw(st.integers(0, len(lines))), line)
    extra = st.lists(st.sampled_from(BROKEN + BLANK), max_size=4) if broken else st.just([])
    for line in draw(extra):
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
    cuts = sorted(draw(st.lists(st.integers(0, len(mixed)), max_size=3)))
    pieces = [mixed[start:end] for start, end in zip([0, *cuts], [*cuts, len(mixed)], strict=True) if start < end]
    ends = [draw(st.sampled_from([b"\n", b"\n", b"\r\n"])) for _ in pieces]
    if all(any(b'"event_id"' not in line and is_fact(line) for line in piece) for piece in pieces):
        files = [_file(piece, end) for piece, end in zip(pieces, ends, strict=True)]
        if not any(one is not other and other.startswith(one) for one in files for other in files):
            return files
    return [_file(mixed, ends[0])]


@st.composite
def filters(draw: st.DrawFn) -> tuple[int | None, int | None, list[str] | None]:
    """(frm, to, partners) for `table`: edges on, just before and just after events, or none."""
    near = st.builds(lambda at, by: BASE + at + by, offsets(), st.sampled_from([0, 0, 1, 1_000, -1]))
    edge = st.one_of(st.none(), st.none(), near)
    frm, to = draw(edge), draw(edge | st.just(BASE + 8 * DAY))
    if frm is not None and to is not None and frm >= to:
        frm, to = (to, frm) if frm > to else (frm, to + 1)
    some = st.lists(st.sampled_from(PARTNERS + KEYS), min_size=1, max_size=2, unique=True)
    partners = draw(st.one_of(st.none(), st.none(), some))
    return frm, to, partners
