"""Back-off inference: given the delays of a sender, which rule it follows, and when nobody can know."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import numpy as np
import pytest

from dashboard import tables
from dashboard.backoff import Sample, Verdict, infer, step
from dashboard.backoff.infer import infer_each
from dashboard.backoff.sample import Floats
from dashboard.backoff.simplex import Places, downhill
from dashboard.backoff.synchronised import at_least
from dashboard.filters import Filters
from tests.benchmarks import backoff as proof
from tests.loaded import at, attempt, opened, postback

Wait = Callable[[Random, int], float]


def delays(wait: Wait, count: int = 200, retries: int = 5) -> Sample:
    """So many delays of a sender, its retries numbered from 1 to `retries`, each with up to 8 ms of network."""
    rng = Random(7)
    numbers = [1 + place % retries for place in range(count)]
    return Sample.of((number, wait(rng, number) + rng.uniform(0, 8)) for number in numbers)


@pytest.mark.parametrize(
    ("wait", "kind", "jitter", "base", "cap"),
    [
        (lambda r, n: 0, "immediate", "none", 0, None),
        (lambda r, n: 1_000, "fixed", "none", 1_000, None),
        (lambda r, n: 250 * n, "linear", "none", 250, None),
        (lambda r, n: 100 * 2 ** (n - 1), "exponential", "none", 100, None),
        (lambda r, n: min(2_000, 500 * 2 ** (n - 1)), "exponential", "none", 500, 2_000),
        (lambda r, n: r.uniform(0, min(10_000, 200 * 2 ** (n - 1))), "exponential", "full", 200, None),
        (lambda r, n: r.uniform(0, min(10_000, 1_600 * 2 ** (n - 1))), "exponential", "full", 1_600, 10_000),
        (lambda r, n: 500 * 2 ** (n - 1) * r.uniform(0.5, 1.5), "exponential", "half", 500, None),
        (lambda r, n: r.uniform(0, 2_000), "fixed", "full", 2_000, None),
        (lambda r, n: 800 * n * r.uniform(0.5, 1.5), "linear", "half", 800, None),
    ],
)
def test_each_rule_is_found(wait: Wait, kind: str, jitter: str, base: float, cap: float | None) -> None:
    found = infer(delays(wait))
    assert (found.kind, found.jitter) == (kind, jitter)
    assert found.base_ms == pytest.approx(base, rel=0.12)
    assert found.cap_ms == (None if cap is None else pytest.approx(cap, rel=0.12))


def test_senders_together_get_the_verdict_of_each_alone() -> None:
    waits: list[Wait] = [
        lambda r, n: 0,
        lambda r, n: 1_000,
        lambda r, n: 250 * n,
        lambda r, n: min(2_000, 500 * 2 ** (n - 1)),
        lambda r, n: r.uniform(0, min(10_000, 200 * 2 ** (n - 1))),
        lambda r, n: 500 * 2 ** (n - 1) * r.uniform(0.5, 1.5),
        lambda r, n: r.expovariate(1 / 800),
    ]
    samples = [
        delays(wait, count, retries) for wait in waits for count, retries in ((20, 3), (60, 2), (150, 4), (400, 9))
    ]
    alone = [infer(sample) for sample in samples]
    together = infer_each(samples)
    assert [(one.kind, one.jitter) for one in together] == [(one.kind, one.jitter) for one in alone]
    for one, other in zip(together, alone, strict=True):
        assert one.base_ms == (None if other.base_ms is None else pytest.approx(other.base_ms, rel=1e-2))
        assert one.cap_ms == (None if other.cap_ms is None else pytest.approx(other.cap_ms, rel=1e-2))
    assert infer_each([]) == []


def test_a_search_ends_in_the_lowest_point_whatever_is_searched_beside() -> None:
    """Bowls of one to three directions, each with its own middle and steepness."""
    middles = np.array([[3.0, 9.0, 9.0], [-2.0, 5.0, 9.0], [1.0, -4.0, 0.5]])
    free = np.array([[True, False, False], [True, True, False], [True, True, True]])
    asked: list[int] = []

    def cost(places: Places, vectors: Floats) -> Floats:
        asked.append(len(places))
        gone = np.where(free[places], vectors - middles[places], 0.0)
        return np.asarray((gone**2 * [1.0, 3.0, 10.0]).sum(axis=1))

    found = downhill(cost, np.zeros((3, 3)), np.ones((3, 3)), free, steps=400, tolerance=1e-9)
    assert np.where(free, found, middles) == pytest.approx(middles, abs=1e-3)
    assert (found[~free] == 0).all()
    assert asked[0] == 2 + 3 + 4


@pytest.mark.parametrize(
    "wait",
    [
        lambda r, n: r.expovariate(1 / 800),
        lambda r, n: r.lognormvariate(6, 1),
        lambda r, n: 1_000 if r.random() < 0.5 else 4_000 * r.random(),
        lambda r, n: 200 * 3 ** (n - 1),
        lambda r, n: 200 * 2 ** (n - 1) * r.uniform(0.5, 1),
    ],
    ids=["poisson", "lognormal", "two senders", "tripling", "equal jitter"],
)
def test_what_follows_no_rule_is_unclear(wait: Wait) -> None:
    assert infer(delays(wait)) == Verdict("unclear", None, None, None)


def test_fewer_than_30_delays_are_unclear() -> None:
    assert infer(delays(lambda r, n: 1_000, count=29)).kind == "unclear"
    assert infer(delays(lambda r, n: 1_000, count=30)).kind == "fixed"


def test_of_first_retries_only_the_base_is_known() -> None:
    assert infer(delays(lambda r, n: 0, retries=1)).kind == "immediate"
    found = infer(delays(lambda r, n: 1_000, retries=1))
    assert (found.kind, found.jitter, found.cap_ms) == ("unclear", None, None)
    assert found.base_ms == pytest.approx(1_000, rel=0.02)


def test_two_retries_do_not_tell_linear_from_exponential() -> None:
    assert infer(delays(lambda r, n: 1_000 * n, retries=2)).kind == "unclear"
    assert infer(delays(lambda r, n: 1_000, retries=2)).kind == "fixed"


def test_outliers_do_not_hide_the_rule() -> None:
    rng = Random(3)
    spoiled = [(n, 60_000 * rng.random()) if rng.random() < 0.04 else (n, 300.0 * n) for n in (1, 2, 3, 4) * 50]
    found = infer(Sample.of(spoiled))
    assert (found.kind, found.jitter) == ("linear", "none")


@pytest.mark.slow
def test_senders_drawn_at_random() -> None:
    outcomes = list(proof.trials(proof.RULES, 12, 200, seed=5))
    tally = proof.Tally.of(outcomes)
    assert tally.right >= 0.85
    assert tally.wrong <= 0.03


@pytest.mark.slow
@pytest.mark.parametrize(("senders", "count", "right", "wrong"), [(100, 200, 0.95, 0.01), (40, 30, 0.7, 0.04)])
def test_senders_drawn_at_random_in_numbers(senders: int, count: int, right: float, wrong: float) -> None:
    tally = proof.Tally.of(list(proof.trials(proof.RULES, senders, count, seed=9)))
    assert tally.right >= right
    assert tally.wrong <= wrong


@pytest.mark.slow
def test_senders_without_a_rule_in_numbers() -> None:
    outcomes = list(proof.trials(proof.CHANCE, 40, 200, seed=9))
    assert sum(one.answered != "unclear" for one in outcomes) <= 0.02 * len(outcomes)


@pytest.mark.parametrize("name", proof.STEADY)
def test_steady_senders_raise_no_alarm(name: str) -> None:
    assert proof.alarms(name, 200, 200) <= 0.01


@pytest.mark.parametrize("name", proof.TOGETHER)
def test_retries_that_come_together_are_seen(name: str) -> None:
    assert proof.alarms(name, 100, 400) >= 0.95


def test_binomial_tail() -> None:
    assert at_least(0, 5, 0.5) == 1
    assert at_least(1, 2, 0.5) == pytest.approx(0.75)
    assert at_least(3, 3, 0.1) == pytest.approx(0.001)


def order(key: str, number: int, start: float, waits: list[float], **values: Any) -> list[dict[str, Any]]:
    """Postbacks of one order: each answered in 20 ms with a 503, the next so many ms after the answer before."""
    events, now = [], start * 1_000_000
    for wait in [None, *waits]:
        now += 0 if wait is None else 20_000 + wait * 1_000
        second, micro = divmod(round(now), 1_000_000)
        refused = {"http_status": 503, "latency_ms": 20}
        events.append(postback(at(second, micro), key, f"o{number}", **(refused | values)))
    return events


def row(snapshot: Any, stream: str, key: str, filters: Filters | None = None) -> dict[str, Any] | None:
    """The row of that stream and key."""
    found = [
        r for r in tables.rows(snapshot, "backoff", filters or Filters()) if (r["stream"], r["key"]) == (stream, key)
    ]
    return found[0] if found else None


def test_postbacks_by_order(tmp_path: Path) -> None:
    events = [e for n in range(20) for e in order("key-a", n, 3.137 * n + 0.001 * n * n, [500, 1_000, 2_000])]
    events += [e for n in range(9) for e in order("key-b", 100 + n, 7.3 * n, [500, 500, 500])]
    snapshot = opened(tmp_path, events)
    assert row(snapshot, "postback", "key-a") == {
        "stream": "postback", "key": "key-a", "kind": "exponential", "base_ms": 500.0, "cap_ms": None,
        "jitter": "none", "delays": 60, "synchronised": False,
    }  # fmt: skip
    assert row(snapshot, "postback", "key-b") == {
        "stream": "postback", "key": "key-b", "kind": "unclear", "base_ms": None, "cap_ms": None,
        "jitter": None, "delays": 27, "synchronised": None,
    }  # fmt: skip


def test_delays_that_a_retry_after_told_are_left_out(tmp_path: Path) -> None:
    told = {"http_status": 429, "retry_after": "2"}
    events = [e for n in range(20) for e in order("key-a", n, 9.71 * n, [2_000, 2_000], **told)]
    assert row(opened(tmp_path, events), "postback", "key-a") is None


def test_exchange_retries_by_partner(tmp_path: Path) -> None:
    events = []
    for number in range(40):
        for place, ms in enumerate((0, 15, 31)):
            moment = at(5 * number, 1_000 * ms + 100 * (number % 7) * place)
            events.append(attempt(moment, f"a{number}", "dsp", http_status=503, latency_ms=14))
    found = row(opened(tmp_path, events), "exchange", "dsp")
    assert found is not None
    assert (found["kind"], found["base_ms"], found["delays"]) == ("immediate", 0.0, 80)


def test_notices_by_repeated_delivery(tmp_path: Path) -> None:
    events = []
    for number in range(15):
        events.append(attempt(at(100 * number), f"a{number}", "dsp"))
        for place in range(4):
            moment = at(100 * number + 10 * place + 1, 1_000 * ((number * 7 + place * 3) % 11))
            events.append(
                {"event": "billing", "ts": moment, "auction_id": f"a{number}", "partner": "dsp", "imp_id": "1"}
            )
    found = row(opened(tmp_path, events), "notice", "dsp")
    assert found is not None
    assert (found["kind"], found["delays"]) == ("fixed", 45)
    assert found["base_ms"] == pytest.approx(10_000, rel=0.01)


def test_auctions_by_source_and_placement(tmp_path: Path) -> None:
    events, second = [], 0
    for _ in range(12):
        for empties in range(5):
            second += (0, 1, 2, 4, 8)[empties] if empties else 100
            winner = "dsp" if empties == 0 else None
            auction = {"event": "auction", "ts": at(second), "auction_id": f"a{len(events)}", "http_status": 200}
            events.append(auction | {"source": "s", "placement": "top", "winner": winner})
    snapshot = opened(tmp_path, events)
    found = row(snapshot, "auction", "s top")
    assert found is not None
    # the first of the empty ones follows a filled one; what follows the last is the next filled one, eleven times
    assert (found["delays"], found["kind"]) == (12 * 3 + 11, "unclear")
    assert row(snapshot, "auction", "s top", Filters(partners=("s top",))) is None


def test_times_in_whole_seconds_tell_nothing_of_milliseconds(tmp_path: Path) -> None:
    events = [e for n in range(40) for e in order("key-a", n, 30 * n, [980, 980], latency_ms=20)]
    found = row(opened(tmp_path, events), "postback", "key-a")
    assert found is not None
    assert found["synchronised"] is None


def test_orders_that_come_back_in_the_same_millisecond(tmp_path: Path) -> None:
    events = []
    for herd in range(4):
        for n in range(10):
            before = 60 * herd + 0.113 * n
            wait = (60 * herd + 20.4 - before) * 1_000 - 20
            events += order("key-a", 100 * herd + n, before, [wait])
    found = row(opened(tmp_path, events), "postback", "key-a")
    assert found is not None
    assert found["synchronised"] is True


def test_the_table_in_every_form(tmp_path: Path) -> None:
    events = [e for n in range(20) for e in order("key-a", n, 3.137 * n, [500, 1_000, 2_000])]
    snapshot = opened(tmp_path, events)
    rows = tables.rows(snapshot, "backoff")
    assert tables.run(snapshot, "backoff").to_pylist() == rows
    tables.save_parquet(snapshot, "backoff", Filters(), tmp_path / "backoff.parquet")
    assert duckdb.read_parquet(str(tmp_path / "backoff.parquet")).fetchall() == [tuple(r.values()) for r in rows]
    assert "by_retry_no" in tables.sql(snapshot, "backoff")
    nobody = tables.fetch(snapshot, "backoff", Filters(partners=("nobody",)))
    assert (nobody.values, nobody.columns) == ([], tuple(rows[0]))
    assert tables.run(snapshot, "backoff", Filters(partners=("nobody",))).column_names == list(rows[0])


def test_only_a_sender_with_other_delays_is_searched_through_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[int] = []

    def counted(samples: Sequence[Sample]) -> list[Verdict]:
        searched.append(len(samples))
        return infer_each(samples)

    monkeypatch.setattr(step, "infer_each", counted)
    monkeypatch.setattr(step, "_kept", {})
    events = [e for n in range(20) for e in order("key-a", n, 3.137 * n, [500, 1_000, 2_000])]
    events += [e for n in range(20) for e in order("key-b", 100 + n, 3.137 * n, [700, 1_400])]
    snapshot = opened(tmp_path, events)
    tables.rows(snapshot, "backoff")
    tables.rows(snapshot, "backoff", Filters(partners=("key-a",)))
    begin = 1_789_383_600_000_000
    tables.rows(snapshot, "backoff", Filters(partners=("key-a",), frm_us=begin, to_us=begin + 30_000_000))
    assert searched == [2, 0, 1]


def test_the_oldest_verdicts_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step, "_kept", {})
    monkeypatch.setattr(step, "KEPT", 3)
    senders = [
        {"by_retry_no": [{"retry_no": 1, "delays": n, "waits_ms": [1.0]}], "resolution_ms": 1.0} for n in range(5)
    ]
    asked = [step._delays(sender) for sender in senders]
    assert step._verdicts(asked) == [Verdict()] * 5
    assert list(step._kept) == asked[2:]


def test_a_range_keeps_retries_by_their_own_time(tmp_path: Path) -> None:
    events = [e for n in range(20) for e in order("key-a", n, 3.137 * n, [500, 1_000, 2_000])]
    begin = 1_789_383_600_000_000
    found = row(opened(tmp_path, events), "postback", "key-a", Filters(frm_us=begin, to_us=begin + 1_600_000))
    assert found is not None
    assert found["delays"] == 2
