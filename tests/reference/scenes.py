"""Strategies of several events that belong together: what single random events would too seldom make."""

from hypothesis import strategies as st

from .events import (
    ATTEMPT,
    AUCTIONS,
    FAILURES,
    KEYS,
    OFFERS,
    PARTNERS,
    POSTBACK,
    REPLIES,
    SHAPES,
    WAITS,
    Values,
    attempt,
    attempts,
    offsets,
    one,
    postback,
    postback_events,
)
from .lines import DAY, Row

SECOND = 1_000_000


@st.composite
def bursts(draw: st.DrawFn, exchange: bool, postbacks: bool) -> list[Row]:
    """Several attempts of one call or postbacks of one order, sometimes so many that a flag is raised."""
    is_call = exchange and (not postbacks or draw(st.booleans()))
    first = draw(attempts() if is_call else postback_events())
    if not is_call:
        first |= {"event_type": "sale", "external_order_id": draw(one("o1", "o2"))}
    step = draw(one(0, 1_000, 40_000, 100_000, 100_001))
    if draw(st.integers(0, 9)) == 9:
        return [{**first, "at": first["at"] + place * 1_000} for place in range(draw(one(11, 12, 53)))]
    kept = {key: first[key] for key in first if key in ("event", "auction_id", "partner", "node", "key_id", "tenant")}
    burst = [first]
    for place in range(1, draw(st.integers(2, 5) if is_call else st.integers(2, 8))):
        columns = draw(st.fixed_dictionaries({}, optional=ATTEMPT if is_call else POSTBACK))
        shape = draw(SHAPES if is_call else REPLIES)
        order = {} if is_call else {key: first[key] for key in ("event_type", "external_order_id")}
        burst.append({**columns, **shape, **kept, **order, "at": first["at"] + place * step})
    if is_call and draw(st.booleans()):
        burst.append({**kept, "at": first["at"] + 200_000, "not_sent": draw(one("no_time", "limit"))})
    return burst


@st.composite
def journeys(draw: st.DrawFn, postbacks: bool) -> list[Row]:
    """One call that bids, at once or on a retry, and what may follow: notices, a click, its conversion."""
    start, auction, partner = draw(offsets()), draw(one(*AUCTIONS)), draw(one(*PARTNERS))
    shapes = [*draw(st.lists(FAILURES, max_size=2)), draw(OFFERS)]
    columns = [draw(st.fixed_dictionaries({}, optional=ATTEMPT)) for _ in shapes]
    journey = [
        attempt(start + place * 40_000, auction, partner, some, shape)
        for place, (some, shape) in enumerate(zip(columns, shapes, strict=True))
    ]
    for place, kind in enumerate(("win", "billing", "impression", "click")[: draw(st.integers(0, 4))]):
        notice = {"event": kind, "at": start + (place + 1) * 1_000_000, "auction_id": auction, "imp_id": "1"}
        told = {"partner": partner} if draw(st.booleans()) else {}
        notice |= told | {"price": draw(one(1.25, "2.5", "${AUCTION_PRICE}")), "click_id": draw(one("c1", "c2"))}
        journey.append(notice)
    if postbacks and draw(st.booleans()):
        journey.append(draw(postback_events()) | {"click_id": draw(one("c1", "c2")), "external_order_id": "o1"})
    return journey


@st.composite
def storms(draw: st.DrawFn, least: int) -> list[Row]:
    """Attempts of one partner, dense and failing enough to open a breaker that wants `least`, and what comes after."""
    start, partner = draw(offsets()) - draw(one(0, 1, 10)) * SECOND, draw(one(*PARTNERS))
    step = draw(one(0, 1_000, SECOND, 3 * SECOND))
    failed = draw(st.lists(one(True, True, False), min_size=least - 1, max_size=least + 6))
    ends = [step * len(failed) + by for by in (0, 1, SECOND, 29 * SECOND)]
    opened = 30 * SECOND + step * (least - 1)
    ends += [opened - 1, opened, opened + 1, *(opened + place * SECOND for place in range(1, 5)), 2 * opened]
    later = sorted(draw(st.lists(st.sampled_from(ends), max_size=8)))
    places = [step * place for place in range(len(failed))] + later
    failed += draw(st.lists(st.booleans(), min_size=len(later), max_size=len(later)))
    shapes: list[Values] = [one({"http_status": 204}, {"http_status": 200, "bids": 1}), one({"http_status": 503}, {})]
    storm = []
    for number, (place, is_failed) in enumerate(zip(places, failed, strict=True)):
        columns = {"node": draw(one("n1", "n2"))} if draw(st.integers(0, 3)) == 3 else {}
        shape = draw(one({"error_type": "cancelled"}) if draw(st.integers(0, 19)) == 19 else shapes[is_failed])
        storm.append(attempt(start + place, f"w{number // draw(one(1, 2))}", partner, columns, shape))
    if draw(st.booleans()):
        storm.append(attempt(start + opened + draw(one(-1, 0)), "elsewhere", "r", {}, {"http_status": 204}))
    return storm


@st.composite
def queues(draw: st.DrawFn) -> list[Row]:
    """Auctions of one placement in a row, most of them without a bid, within or beyond a second of each other."""
    at, place = draw(offsets()), {"source": draw(one("s1", "s2")), "placement": "x"}
    queue: list[Row] = []
    for number in range(draw(st.integers(4, 7))):
        told = draw(one("event", "event", "attempt", "both"))
        if told != "attempt":
            queue.append({"event": "auction", "at": at, "auction_id": f"e{number}", **place})
            queue[-1] |= draw(one({}, {}, {}, {}, {"winner": "p"}))
        if told != "event":
            shape = draw(one(*[{"http_status": 204}, {"http_status": 503}] * 2, {"http_status": 200, "bids": 1}))
            columns = place if told == "attempt" else {}
            queue.append(attempt(at, f"e{number}", draw(one(*PARTNERS)), columns, shape))
        at += draw(one(0, 400_000, SECOND, SECOND, SECOND + 1))
    return queue


@st.composite
def waits(draw: st.DrawFn, exchange: bool, postbacks: bool) -> list[Row]:
    """A 429 and the requests after it, about the borders of the wait that it asks for."""
    start, latency = draw(offsets()), draw(one(None, 0, 100, 120.5))
    asked = draw(one(0, 1, 2, 10, 10, 3600))
    since = start + int((latency or 0) * 1_000)
    wait = {"retry_after": draw(one(asked, str(asked)))} if draw(st.booleans()) else {"retry_at": asked}
    wait = {"retry_after": draw(WAITS)} if draw(st.integers(0, 5)) == 5 else wait
    throttle = {"http_status": 429, "latency_ms": latency, **wait}
    edges = [since + place * SECOND for place in (0, asked - 1, asked, 2 * asked, asked + 1)]
    places = draw(st.lists(st.builds(int.__add__, st.sampled_from(edges), one(-1, 0, 0, 1)), max_size=3))
    replies = [one({"http_status": 204}, {"http_status": 503}), one({"http_status": 200}, {"http_status": 500})]
    is_call = exchange and (not postbacks or draw(st.booleans()))
    who, endpoint = draw(one(*(PARTNERS if is_call else KEYS))), draw(one({}, {"endpoint": "/api/v1/postback"}))
    scene: list[Row] = []
    for place in [start, *places]:
        again = draw(st.integers(0, 4)) == 4
        shape = throttle if place == start or again else draw(replies[not is_call])
        if is_call:
            scene.append(attempt(place, draw(one("t1", "t2")), who, {}, shape))
        else:
            order = draw(one({}, {"external_order_id": "o1"}, {"external_order_id": "o2"}))
            scene.append(postback(place, who, "own", endpoint | order, shape))
    if draw(st.booleans()):
        at = draw(st.builds(int.__add__, st.sampled_from(edges), one(0, 0, 1)))
        other = attempt(at, "t3", "r", {}, {}) if is_call else postback(at, "k3", "t2", {}, {"http_status": 200})
        scene.append(other)
    return scene


@st.composite
def budgets(draw: st.DrawFn) -> list[Row]:
    """A call whose retries begin about the border of what its budget leaves them, with about that much as tmax."""
    start, auction, partner = draw(offsets()), draw(one(*AUCTIONS)), draw(one(*PARTNERS))
    calls = [attempt(start, auction, partner, {}, draw(FAILURES))]
    if draw(st.booleans()):
        calls.append({"event": "auction", "at": start, "auction_id": auction, "tmax_ms": 300})
    for place in range(draw(st.integers(1, 3))):
        elapsed, timeout = draw(one(100, 139.5, 140, 140, 140.5, 160)), draw(one(100, 120, 120))
        columns = {"elapsed_ms": elapsed, "timeout_ms": timeout, "tmax_ms": 300 - elapsed + draw(one(-0.5, 0, 0.5))}
        columns |= draw(one({}, {"budget_ms": 300}, {"budget_ms": 301}))
        columns |= draw(one({}, {}, {"latency_ms": timeout}, {"latency_ms": timeout + 0.5}))
        calls.append(attempt(start + (place + 1) * 40_000, auction, partner, columns, draw(SHAPES)))
    return calls


@st.composite
def floods(draw: st.DrawFn) -> list[Row]:
    """Postbacks to one endpoint about the edges of its windows, of which some tell a length or a limit."""
    endpoint, key = draw(POSTBACK["endpoint"]), draw(one(*KEYS))
    flood = []
    for _ in range(draw(st.integers(2, 7))):
        columns = draw(st.fixed_dictionaries({}, optional={name: POSTBACK[name] for name in ("window_s", "limit")}))
        columns |= draw(one({}, {"client_hash": "h1"}, {"client_hash": "h2"}))
        place = draw(one(0, 1, 9_999_999, 10_000_000, 59_999_999, 60_000_000, 3_600_000_000))
        reply = draw(one({"http_status": 200}, {"http_status": 200}, {"http_status": 429}))
        flood.append(postback(place, key, "own", {"endpoint": endpoint} | columns, reply))
    return flood


@st.composite
def repeats(draw: st.DrawFn) -> list[Row]:
    """Postbacks of one key with the same signature, idempotency key or order, about the borders of 600 s and a day."""
    start, key = draw(offsets()), draw(one(*KEYS))
    order = {"external_order_id": "o1", "event_type": "sale"}
    common = draw(one({"signature_hash": "s1"}, {"idempotency_key": "i1"}, order, order))
    accepted = one({"http_status": 200}, {"http_status": 200, "conversion_id": "778"})
    scene = []
    names = ["body_hash", "external_order_id", "amount", "currency", "duplicate", "idempotent_replay", "skew"]
    chosen = {name: POSTBACK[name] for name in draw(st.lists(st.sampled_from(names), max_size=4, unique=True))}
    edge = draw(one(600 * SECOND, DAY))
    for number in range(draw(st.integers(2, 5))):
        place = draw(one(1, SECOND, edge - 1, edge, edge, edge + 1, 2 * edge)) if number else 0
        columns = draw(st.fixed_dictionaries({}, optional=chosen))
        reply = draw(st.one_of(REPLIES, accepted, accepted, one({"http_status": 429}, {"http_status": 500})))
        scene.append(postback(start + place, key, "own", columns | common, reply))
    if draw(st.booleans()):
        scene.append(postback(start + edge, draw(one(*KEYS)), "own", {}, {"http_status": 200}))
    return scene
