"""Orders, their retries and faults, replayed signatures, reused idempotency keys: given these lines, those rows."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from dashboard.snapshot import Snapshot, open_snapshot
from ingest.load import ingest
from tests.loaded import Event, at, opened, postback

pytestmark = pytest.mark.slow

US0 = 1_789_383_600_000_000
HOUR = 3600
DAY = 24 * HOUR
CODES = {400: "BAD", 409: "POSTBACK_REPLAY"}


def us(seconds: float) -> int:
    """Epoch microseconds, seconds after 2026-09-14 11:00 UTC."""
    return US0 + round(seconds * 1_000_000)


def sent(second: float, status: int = 200, order: str | None = "O", **values: Any) -> Event:
    """A postback at 11:00 and `second` of an order of the tenant `t`; refused ones carry a code."""
    days, rest = divmod(second, DAY)
    whole = int(rest)
    ts = at(whole % HOUR, round((rest - whole) * 1_000_000))
    hour = 11 + whole // HOUR
    ts = f"2026-09-{14 + int(days) + hour // 24:02d}T{hour % 24:02d}{ts[13:]}"
    code = {"error_code": CODES[status]} if status in CODES else {}
    return postback(ts, order=order, http_status=status, tenant="t", event_type="sale") | code | values


#: Lines of the parametrised cases, each with keys and order ids of its own, so that one load holds them all.
GIVEN: list[list[Event]] = []


def given(*events: Event) -> int:
    """The number of a case in which these postbacks came."""
    case = len(GIVEN)
    GIVEN.append(
        [
            event
            | {"key_id": f"{case}:{event['key_id']}"}
            | {"external_order_id": f"{case}:{event['external_order_id']}" if event["external_order_id"] else None}
            for event in events
        ]
    )
    return case


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return opened(tmp_path_factory.mktemp("cases"), [event for events in GIVEN for event in events])


def found(cases: Snapshot, case: int, columns: str, relation: str) -> list[tuple[Any, ...]]:
    """Columns of the rows that a case gave."""
    key = "partner" if relation in ("orders", "order_retries") else "key_id"
    return cases.query(f"select {columns} from {relation} where {key} like '{case}:%' order by all")


def rows(folder: Path, events: Iterable[Event], columns: str, relation: str) -> list[tuple[Any, ...]]:
    return opened(folder, events).query(f"select {columns} from {relation} order by all")


# ---------------------------------------------------------------------------------------------------------------------
# The ledger of an order


LEDGER = "accepted, earlier, duplicates, requests, attempts_sent, accepted_us"


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (given(sent(0)), (1, 0, 0, 1, 1, us(0))),
        (given(sent(0, 500), sent(7)), (1, 0, 0, 2, 2, us(7))),
        (given(sent(0), sent(7, duplicate=True), sent(8, duplicate=True)), (1, 0, 2, 3, 1, us(0))),
        (given(sent(0, duplicate=True), sent(7)), (1, 1, 1, 2, 1, us(0))),
        (given(sent(0, 500), sent(7, duplicate=True)), (1, 1, 1, 2, 2, us(7))),
        (given(sent(0, 500), sent(7, 429)), (0, 0, 0, 2, 2, None)),
        (given(sent(0, 500, duplicate=True)), (0, 0, 0, 1, 1, None)),
        (given(sent(0, accepted=False), sent(1)), (1, 0, 0, 2, 2, us(1))),
    ],
    ids=[
        "first",
        "after a retry",
        "duplicates",
        "earlier",
        "earlier after a retry",
        "never",
        "refused",
        "not accepted",
    ],
)
def test_what_became_of_an_order(cases: Snapshot, case: int, expected: tuple[Any, ...]) -> None:
    assert found(cases, case, LEDGER, "orders") == [expected]


def test_conversion_ids_are_those_of_accepted_replies_once_each_and_sorted(tmp_path: Path) -> None:
    events = [
        sent(0, 500, conversion_id="0"),
        sent(1, conversion_id="9"),
        sent(2, conversion_id="10", duplicate=True),
        sent(3, conversion_id="9", duplicate=True),
        sent(4, order="without"),
    ]
    snapshot = opened(tmp_path, events)
    assert snapshot.query("select external_order_id, conversion_ids from orders order by all") == [
        ("O", ["10", "9"]),
        ("without", None),
    ]


def test_orders_are_apart_by_tenant_event_type_and_id(tmp_path: Path) -> None:
    events = [sent(0), sent(1, tenant="u"), sent(2, event_type="lead"), sent(3, event_type=None), sent(4, tenant=None)]
    for event in events:
        event["conversion_id"] = event["ts"]
    snapshot = opened(tmp_path, events)
    assert snapshot.query("select count(*), sum(requests), sum(len(conversion_ids)) from orders") == [(5, 5, 5)]
    assert snapshot.query("select count(*) from orders where double_count is not null") == [(0,)]


def test_retries_more_than_a_day_after_the_first_request_are_counted(tmp_path: Path) -> None:
    events = [sent(0, 500), sent(DAY, 500), sent(DAY + 0.000001, 500), sent(2 * DAY), sent(3 * DAY)]
    assert rows(tmp_path, events, "beyond_day, retries", "orders") == [(2, 3)]


# ---------------------------------------------------------------------------------------------------------------------
# Faults


FAULTS = "double_count, reused_id, unmarked_duplicate"


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (given(sent(0, conversion_id=778), sent(1, conversion_id=779)), "conversions 778 and 779"),
        (given(sent(0, conversion_id=778), sent(1, conversion_id=779, duplicate=True)), "conversions 778 and 779"),
        (given(*(sent(n, conversion_id=n) for n in (7, 5, 6, 8))), "conversions 5, 8 and 2 more"),
        (given(sent(0, 500, conversion_id=778), sent(1, conversion_id=779)), None),
        (given(sent(0, conversion_id=778), sent(1)), None),
        (given(sent(0, conversion_id=778), sent(1, conversion_id=778, duplicate=True)), None),
    ],
)
def test_two_conversions_of_one_order_are_counted_twice(cases: Snapshot, case: int, expected: str | None) -> None:
    assert found(cases, case, "double_count", "orders") == [(expected,)]


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (
            given(sent(0, amount=12, currency="USD"), sent(1, amount="10.00", currency="USD")),
            "amounts 10.00 USD and 12.00 USD",
        ),
        (
            given(sent(0, amount=10, currency="USD"), sent(1, amount=10, currency="EUR")),
            "amounts 10.00 EUR and 10.00 USD",
        ),
        (given(sent(0, amount=10, currency="USD"), sent(1, amount=10.001)), "amounts 10.00 USD and 10.001000"),
        (given(sent(0, 500, amount=10), sent(1, amount=12)), "amounts 10.00 and 12.00"),
        (given(sent(0, amount=10, currency="USD"), sent(1, amount=10)), None),
        (given(sent(0, amount=10, currency="USD"), sent(1, currency="EUR")), None),
        (given(sent(0, body_hash="a"), sent(1, body_hash="b")), "2 bodies under one order id"),
        (
            given(sent(0, body_hash="a"), sent(1, body_hash="b"), sent(2, 429, body_hash="c")),
            "3 bodies under one order id",
        ),
        (given(sent(0, body_hash="a"), sent(1), sent(2, body_hash="a")), None),
        (given(sent(0, body_hash="a", amount=10), sent(1, body_hash="b")), None),
    ],
)
def test_two_amounts_or_bodies_reuse_an_order_id(cases: Snapshot, case: int, expected: str | None) -> None:
    assert found(cases, case, "reused_id", "orders") == [(expected,)]


ONCE = {"conversion_id": "778"}


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (given(sent(0, **ONCE), sent(1, **ONCE)), "conversion 778 accepted twice, not marked"),
        (given(sent(0, **ONCE), sent(1, **ONCE, duplicate=False)), "conversion 778 accepted twice, not marked"),
        (given(sent(0, duplicate=True, **ONCE), sent(1, **ONCE)), "conversion 778 accepted twice, not marked"),
        (
            given(sent(0, **ONCE), sent(1, duplicate=True, **ONCE), sent(2, **ONCE)),
            "conversion 778 accepted 3 times, 1 not marked",
        ),
        (given(sent(0, **ONCE), sent(1, duplicate=True, **ONCE)), None),
        (given(sent(0, **ONCE), sent(1, idempotent_replay=True, **ONCE)), None),
        (given(sent(0, **ONCE), sent(1, 500, **ONCE)), None),
        (given(sent(0), sent(1)), None),
        (given(sent(0, conversion_id="1"), sent(1, conversion_id="2")), None),
    ],
)
def test_an_accepted_repetition_is_marked_or_at_fault(cases: Snapshot, case: int, expected: str | None) -> None:
    assert found(cases, case, "unmarked_duplicate", "orders") == [(expected,)]


def test_one_order_may_have_every_fault_and_long_values_are_cut(tmp_path: Path) -> None:
    long = "9" * 5000
    events = [sent(n, conversion_id=f"{n // 2}{long}", amount=n, currency=long) for n in range(4)]
    ((double, reused, unmarked),) = rows(tmp_path, events, FAULTS, "orders")
    starts = [text[:16] for text in (double, reused, unmarked)]
    assert starts == ["conversions 0999", "amounts 0.00 999", "conversion 09999"]
    assert max(map(len, (double, reused, unmarked))) < 200


# ---------------------------------------------------------------------------------------------------------------------
# Retries of an order


def test_a_retry_waits_from_the_answer_to_its_trigger(tmp_path: Path) -> None:
    events = [
        sent(0, 429, retry_after="23", latency_ms=40, endpoint="/a"),
        sent(24, 500, endpoint="/b"),
        sent(24.5, 500, latency_ms=700),
        sent(25, endpoint="/a"),
        sent(30, endpoint="/a"),
    ]
    columns = "retry_no, trigger, delay_ms, told, endpoint, success"
    assert rows(tmp_path, events, columns, "order_retries") == [
        (1, "rate_limited", 23960.0, 1, "/b", 0),
        (2, "server_error", 500.0, 0, None, 0),
        (3, "server_error", 0.0, 0, "/a", 1),
    ]


def test_verdicts_on_the_retries_of_an_order(tmp_path: Path) -> None:
    events = [
        sent(0, 400),
        sent(0.1, 500),
        sent(0.200001, 500),
        sent(1, 409),
        sent(2, 400),
        sent(3, 500),
        sent(4, 500),
        sent(4),
        sent(4.05, 500),
    ]
    assert rows(tmp_path, events, "retry_no, r8, r9", "order_retries") == [
        (1, 1, 1),  # a 4xx repeated, 100 ms later
        (2, 0, 0),  # 100.001 ms later
        (3, 0, 0),
        (4, 0, 0),  # a replay may be signed anew and repeated
        (5, 1, 0),
        (6, 0, 0),
        (7, 0, 1),  # the same instant
    ]
    assert open_snapshot(tmp_path / "warehouse").query("select retries, r4, r8, r9 from orders") == [(7, 2, 2, 2)]


def test_a_retry_needs_a_signature_of_its_own(tmp_path: Path) -> None:
    stale = {"error_code": "POSTBACK_STALE_TIMESTAMP"}
    events = [
        sent(0, 500),
        sent(1, 500, signature_hash="a"),
        sent(2, 500, signature_hash="b"),
        sent(3, 500, signature_hash="a"),
        sent(4, 500),
        sent(5, 400, **stale),
        sent(6, 429, signature_hash="c", error_code="POSTBACK_REPLAY"),
        sent(7, 200, signature_hash="d"),
        sent(8, 200, signature_hash="d"),
    ]
    assert rows(tmp_path, events, "retry_no, r11", "order_retries") == [
        (1, None),  # no signature before it is known
        (2, 0),
        (3, 1),
        (4, None),  # its own is unknown
        (5, 1),
        (6, 1),
        (7, 0),
    ]
    assert open_snapshot(tmp_path / "warehouse").query("select r11, r11_checked from orders") == [(3, 5)]


def test_signatures_of_other_orders_are_none_of_its_own(tmp_path: Path) -> None:
    events = [
        sent(0, 500, signature_hash="a"),
        sent(1, 500, order="P", signature_hash="a"),
        sent(2, signature_hash="b"),
    ]
    assert rows(tmp_path, events, "external_order_id, r11", "order_retries") == [("O", 0)]


# ---------------------------------------------------------------------------------------------------------------------
# Replayed signatures


def signed(second: float, status: int = 200, **values: Any) -> Event:
    return sent(second, status, None, **{"signature_hash": "s"} | values)


REPLAY = "key_id, signature_hash, us, first_us"


@pytest.mark.parametrize(
    ("case", "at_s"),
    [
        (given(signed(0), signed(600), signed(600.000001)), [600]),
        (given(signed(0, 429), signed(1), signed(2)), [2]),
        (given(signed(0, 429), signed(1, 429)), []),
        (given(signed(0), signed(1, 429)), [1]),
        (given(signed(0, 500), signed(1)), [1]),
        (given(signed(0), signed(1, 409), signed(2)), [2]),
        (given(signed(0, key_id="a"), signed(1, key_id="b")), []),
        (given(signed(0), signed(1, signature_hash="S")), []),
        (given(signed(0), signed(700), signed(800)), []),
        (given(signed(0), signed(0)), [0]),
    ],
    ids=[
        "to the microsecond",
        "a 429 is no use",
        "never used",
        "a 429 after it",
        "a failure is one",
        "those that say so are left out",
        "by key",
        "to the letter",
        "from the first use",
        "the same instant",
    ],
)
def test_a_signature_used_again_within_ten_minutes(cases: Snapshot, case: int, at_s: list[float]) -> None:
    assert [row[0] for row in found(cases, case, "us", "replays")] == [us(second) for second in at_s]


def test_a_replay_names_its_first_use_and_its_order(tmp_path: Path) -> None:
    events = [signed(0, tenant=None), signed(9, external_order_id="O"), signed(10, tenant=None, event_type=None)]
    columns = f"{REPLAY}, hour_us, tenant, event_type, external_order_id"
    assert rows(tmp_path, events, columns, "replays") == [
        ("k", "s", us(9), us(0), us(0), "t", "sale", "O"),
        ("k", "s", us(10), us(0), us(0), "k", None, None),
    ]


# ---------------------------------------------------------------------------------------------------------------------
# Reused idempotency keys


def keyed(second: float, body: str | None, order: str | None = "O", **values: Any) -> Event:
    return sent(second, 200, order, **{"idempotency_key": "i", "body_hash": body} | values)


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (given(keyed(0, "a"), keyed(1, "b"), keyed(2, "c")), [("a", "b", us(1), "O")]),
        (given(keyed(0, "b", "P"), keyed(1, "a", "Q"), keyed(2, "b", "R")), [("b", "a", us(1), "Q")]),
        (given(keyed(0, None), keyed(1, "a"), keyed(2, None), keyed(3, "b", None)), [("a", "b", us(3), None)]),
        (given(keyed(0, "a"), keyed(1, "a", idempotent_replay=True)), []),
        (given(keyed(0, "a"), keyed(1, None)), []),
        (given(keyed(0, "a", key_id="k1"), keyed(1, "b", key_id="k2")), []),
        (given(keyed(0, "a"), keyed(1, "b", idempotency_key="j")), []),
        (given(keyed(0, "a", idempotency_key=None), keyed(1, "b", idempotency_key=None)), []),
    ],
)
def test_an_idempotency_key_used_with_another_body(cases: Snapshot, case: int, expected: list[tuple[Any, ...]]) -> None:
    columns = "first_body_hash, body_hash, us, split_part(external_order_id, ':', 2)"
    assert found(cases, case, columns, "key_reuses") == expected


def test_a_reuse_belongs_to_the_tenant_of_the_differing_request(tmp_path: Path) -> None:
    events = [keyed(0, "a"), keyed(1, "b", tenant=None, event_type=None), keyed(2, "c", idempotency_key="j")]
    assert rows(tmp_path, events, "key_id, idempotency_key, tenant, event_type, hour_us", "key_reuses") == [
        ("k", "i", "k", None, us(0))
    ]


# ---------------------------------------------------------------------------------------------------------------------
# Whatever the order of the lines and the loads


def mixed(seed: int) -> list[Event]:
    """Postbacks that share orders, signatures, idempotency keys and instants."""
    random = Random(seed)

    def maybe(*values: Any) -> Any:
        return random.choice((None, *values))

    return [
        sent(
            random.choice((0, 1, 1.05, 599, 601, HOUR, DAY + 2)),
            random.choice((200, 200, 400, 409, 429, 500)),
            maybe("O", "P"),
            key_id=random.choice("kl"),
            tenant=maybe("t"),
            conversion_id=maybe("1", "2"),
            duplicate=maybe(True, False),
            idempotent_replay=maybe(True),
            amount=maybe("1.5", "2"),
            currency=maybe("USD", "EUR"),
            body_hash=maybe("a", "b"),
            signature_hash=maybe("s", "z"),
            idempotency_key=maybe("i"),
            latency_ms=maybe(20),
        )
        for _ in range(40)
    ]


@pytest.mark.parametrize("seed", range(6))
def test_any_order_and_any_split_of_the_lines_give_the_same_rows(tmp_path: Path, seed: int) -> None:
    events = mixed(seed)
    whole = opened(tmp_path, events)
    Random(seed + 100).shuffle(events)
    for number, start in enumerate(range(0, len(events), 13)):
        log = tmp_path / f"part-{number}.jsonl"
        log.write_text("".join(json.dumps(event) + "\n" for event in events[start : start + 13]), encoding="utf-8")
        ingest([str(log)], tmp_path / "apart")
    apart = open_snapshot(tmp_path / "apart")
    for relation in ("orders", "order_retries", "replays", "key_reuses"):
        kept = whole.query(f"select * from {relation} order by all")
        assert kept, f"the lines say nothing about {relation}"
        assert apart.query(f"select * from {relation} order by all") == kept
