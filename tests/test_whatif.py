"""Replays under another policy: worked by hand, and against a replay over single attempts written here anew."""

from __future__ import annotations

import json
import random
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dashboard import whatif
from dashboard.cli import _run
from dashboard.filters import Filters
from dashboard.snapshot import Snapshot
from dashboard.whatif import ANYTHING, TRIGGERS, Breaker, Policy, Rules, statement
from tests import warehouses
from tests.loaded import Event, at, attempt, opened, postback
from tests.test_pages import check_inert, run, words

pytestmark = pytest.mark.slow

Row = dict[str, Any]

KINDS: dict[str, dict[str, Any]] = {
    "connect_error": {"http_status": None, "error_type": "connection refused"},
    "timeout": {"http_status": None, "error_type": "timeout"},
    "cancelled": {"http_status": None, "error_type": "cancelled"},
    "rate_limited": {"http_status": 429},
    "server_error": {"http_status": 503},
    "no_bid": {"http_status": 204},
    "bid": {"http_status": 200, "bids": 1, "price": 2},
    "answered_unknown": {"http_status": 200},
    "not_sent_breaker": {"http_status": None, "not_sent": "breaker"},
}
ANSWERED = ("no_bid", "bid", "answered_unknown")


def sent(auction: str, second: float, outcome: str, partner: str = "p", **more: Any) -> Event:
    """An attempt with an outcome, `second` after 11:00."""
    given_time = at(int(second), round(second % 1 * 1_000_000))
    return attempt(given_time, auction, partner, **(KINDS[outcome] | more))


def win(
    auction: str, second: int, price: str | None, currency: str = "USD", imp: str = "1", partner: str = "p"
) -> Event:
    told = {"event": "win", "ts": at(second), "auction_id": auction, "partner": partner, "imp_id": imp}
    return told | ({} if price is None else {"price": price, "currency": currency})


def only(*triggers: str, most: int | None = None, guard: bool = False, breaker: Breaker | None = None) -> Policy:
    return Policy(Rules(frozenset(triggers), most, guard, breaker))


def totals(snapshot: Snapshot, policy: Policy, filters: Filters | None = None) -> Row:
    return whatif.replay(snapshot, policy, filters or Filters()).totals


# By hand


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """A bid on the second retry that won in two currencies; a bid repeated; no retry; a cancelled original."""
    events = [
        sent("A", 0.0, "connect_error", latency_ms=10),
        sent("A", 0.1, "server_error", latency_ms=20),
        sent("A", 0.2, "bid", latency_ms=30.5),
        win("A", 5, "1.5"),
        win("A", 6, "1.5"),
        win("A", 5, "2", "EUR", imp="2"),
        win("A", 5, None, imp="3"),
        sent("B", 1.0, "bid", latency_ms=40),
        sent("B", 1.1, "bid"),
        win("B", 5, "3"),
        sent("C", 2.0, "no_bid", latency_ms=5),
        sent("D", 3.0, "cancelled"),
        sent("D", 3.1, "no_bid", latency_ms=7),
    ]
    return opened(tmp_path_factory.mktemp("worked"), events)


def test_the_first_retry_that_is_not_allowed_ends_its_call(worked: Snapshot) -> None:
    found = totals(worked, only("connect_error", "bid", "cancelled"))
    assert (found["attempts_before"], found["attempts_after"], found["attempts_saved"]) == (8, 7, 1)
    found = totals(worked, only("server_error", "bid", "cancelled"))
    assert (found["attempts_saved"], found["calls_cut"]) == (2, 1)
    assert found["ms_saved"] == 50.5


def test_money_of_a_lost_win_is_told_once_and_by_currency(worked: Snapshot) -> None:
    found = totals(worked, only("server_error", "bid", "cancelled"))
    assert (found["bids_lost"], found["wins_lost"]) == (1, 1)
    assert found["revenue_lost"] == {"EUR": Decimal("0.002"), "USD": Decimal("0.0015")}


def test_a_bid_that_is_still_sent_is_not_lost(worked: Snapshot) -> None:
    found = totals(worked, only("connect_error", "server_error", "cancelled"))
    assert (found["attempts_saved"], found["bids_lost"], found["wins_lost"], found["revenue_lost"]) == (1, 0, 0, {})
    assert found["ms_saved"] is None


def test_success_and_amplification_before_and_after(worked: Snapshot) -> None:
    found = totals(worked, Policy(Rules(max_retries=0)))
    assert found["calls"] == found["calls_sent_before"] == found["calls_sent_after"] == 4
    assert (found["amplification_before"], found["amplification_after"]) == (2, 1)
    assert found["effective_success_before"] == 1
    assert found["answered_lost"] == 2
    # A is lost; D has only its cancelled original left, and is in neither part.
    assert found["effective_success_after"] == pytest.approx(2 / 3)


def test_a_policy_that_allows_everything_changes_nothing(worked: Snapshot) -> None:
    found = totals(worked, ANYTHING)
    assert found["attempts_saved"] == found["ms_saved"] == found["bids_lost"] == found["late_saved"] == 0
    assert found["effective_success_before"] == found["effective_success_after"]
    assert found["blocked"] is None


def test_a_replay_tells_each_retry_by_its_own_trigger(worked: Snapshot) -> None:
    rows = {row["trigger"]: row for row in whatif.replay(worked, only("bid"), Filters()).triggers}
    assert {name: row["attempts_saved"] for name, row in rows.items()} == {
        "bid": 0,
        "cancelled": 1,
        "connect_error": 1,
        "server_error": 1,
    }
    assert rows["server_error"]["wins_lost"] == 1
    assert rows["connect_error"]["wins_lost"] == 0


def test_partners_have_rules_of_their_own(tmp_path: Path) -> None:
    events = [sent(name, second, "timeout", name) for name in ("p", "q", "it's") for second in (0.0, 0.1, 0.2)]
    policy = Policy(Rules(max_retries=0), {"q": Rules(max_retries=1), "it's": Rules()})
    found = whatif.replay(opened(tmp_path, events), policy, Filters())
    assert {row["partner"]: row["attempts_saved"] for row in found.partners} == {"p": 2, "q": 1, "it's": 0}


def budgeted(auction: str, second: float, outcome: str, elapsed: int | None, timeout: int | None = 120) -> Event:
    return sent(auction, second, outcome, budget_ms=300, elapsed_ms=elapsed, timeout_ms=timeout, latency_ms=100)


@pytest.fixture(scope="module")
def timed(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """300 ms of budget less 40 of reserve: at 140 a timeout of 120 fits, at 141 it does not."""
    events = [
        budgeted("fits", 0.0, "timeout", 0),
        budgeted("fits", 0.14, "timeout", 140),
        budgeted("late", 1.0, "timeout", 0),
        budgeted("late", 1.141, "timeout", 141),
        budgeted("late", 1.2, "bid", 10),
        budgeted("unknown", 2.0, "timeout", 0),
        budgeted("unknown", 2.1, "bid", None),
    ]
    return opened(tmp_path_factory.mktemp("timed"), events)


def test_the_guard_removes_what_has_no_time_and_counts_what_it_cannot_judge(timed: Snapshot) -> None:
    found = totals(timed, Policy(Rules(budget_guard=True)))
    assert (found["attempts_saved"], found["calls_cut"], found["bids_lost"], found["unjudged"]) == (2, 1, 1, 1)
    assert totals(timed, Policy(Rules(budget_guard=False)))["unjudged"] == 0


def test_late_retries_among_the_removed(timed: Snapshot) -> None:
    found = totals(timed, Policy(Rules(max_retries=0)))
    # 140 + 100 is within 260, 141 + 100 too; nothing was late, and one of four cannot be judged.
    assert (found["late_saved"], found["late_judged"]) == (0, 3)


def test_bids_lost_are_unknown_where_answers_do_not_tell(tmp_path: Path) -> None:
    events = [sent("A", 0, "timeout"), sent("A", 0.1, "answered_unknown"), win("A", 3, "4"), sent("B", 1, "bid", "q")]
    found = whatif.replay(opened(tmp_path, events), only(), Filters())
    blind, other = found.partners
    assert (blind["bids_lost"], other["bids_lost"], found.totals["bids_lost"]) == (None, 0, None)
    assert (blind["wins_lost"], blind["revenue_lost"]) == (1, {"USD": Decimal("0.004")})


# The estimate


def estimated(tmp_path: Path, policy: Policy) -> whatif.Replay:
    """10 calls failed with 503 and were repeated, 4 with a bid; 5 failed and were not; 3 ended in a timeout."""
    events = []
    for number in range(10):
        events += [sent(f"r{number}", number, "server_error")]
        events += [sent(f"r{number}", number + 0.1, "bid" if number < 4 else "no_bid")]
    events += [sent(f"n{number}", 20 + number, "server_error") for number in range(5)]
    events += [sent(f"t{number}", 30 + number, "timeout") for number in range(3)]
    return whatif.replay(opened(tmp_path, events), policy, Filters())


def test_added_retries_are_expected_to_do_as_such_retries_did(tmp_path: Path) -> None:
    found = estimated(tmp_path, ANYTHING)
    told = {row["trigger"]: row for row in found.estimates}
    assert (told["server_error"]["added"], told["server_error"]["observed"]) == (5, 10)
    assert told["server_error"]["successes"] == 5
    assert told["server_error"]["bids"] == pytest.approx(2)
    # Wilson, two-sided 95 %, 10 of 10: from 0.722467; 4 of 10: 0.168180 to 0.687326.
    assert told["server_error"]["successes_low"] == pytest.approx(5 * 0.722467, abs=1e-5)
    assert told["server_error"]["successes_high"] == pytest.approx(5)
    assert told["server_error"]["bids_low"] == pytest.approx(5 * 0.168180, abs=1e-5)
    assert told["server_error"]["bids_high"] == pytest.approx(5 * 0.687326, abs=1e-5)


def test_what_was_never_repeated_is_unknown_and_counted_apart(tmp_path: Path) -> None:
    found = estimated(tmp_path, ANYTHING)
    never = next(row for row in found.estimates if row["trigger"] == "timeout")
    assert (never["added"], never["observed"], never["successes"], never["bids_low"]) == (3, 0, None, None)
    told = found.estimate
    assert (told["label"], told["added"], told["added_known"], told["added_unknown"]) == ("estimate", 8, 5, 3)
    assert told["successes"] == 5


def test_only_what_the_policy_allows_is_added(tmp_path: Path) -> None:
    assert estimated(tmp_path, only("timeout")).estimate["added"] == 3
    assert estimated(tmp_path, Policy(Rules(max_retries=0))).estimate["added"] == 0


def test_a_call_that_the_policy_cuts_gets_nothing_added(tmp_path: Path) -> None:
    events = [sent("A", 0, "no_bid"), sent("A", 0.1, "timeout"), sent("B", 1, "timeout"), sent("B", 1.1, "timeout")]
    snapshot = opened(tmp_path, events)
    assert whatif.replay(snapshot, ANYTHING, Filters()).estimate["added"] == 2
    assert whatif.replay(snapshot, only("timeout"), Filters()).estimate["added"] == 1
    assert whatif.replay(snapshot, only("timeout", most=1), Filters()).estimate["added"] == 0


def test_nothing_is_added_without_the_time_for_it(tmp_path: Path) -> None:
    common = {"budget_ms": 300, "elapsed_ms": 0, "timeout_ms": 120}
    events = [
        sent("fits", 0, "timeout", latency_ms=140, **common),
        sent("late", 1, "timeout", latency_ms=141, **common),
        sent("unknown", 2, "timeout", latency_ms=10),
    ]
    [row] = whatif.replay(opened(tmp_path, events), ANYTHING, Filters()).estimates
    assert (row["added"], row["unjudged"]) == (2, 1)


# The breaker, by hand

TIGHT = Breaker(window_s=10, min_attempts=4, failure_share=0.5, open_s=5)


def test_the_breaker_blocks_until_a_probe_is_answered(tmp_path: Path) -> None:
    events = [sent(f"f{number}", number, "server_error") for number in range(4)]  # the 4th, at 3 s, opens
    events += [sent("b1", 4, "bid", latency_ms=50), win("b1", 6, "1"), sent("b2", 5, "server_error")]
    events += [sent("b2", 8.5, "no_bid")]  # a retry of a blocked original, after the probe: gone too
    events += [sent("probe", 8, "no_bid"), sent("after", 9, "server_error")]
    found = totals(opened(tmp_path, events), Policy(Rules(breaker=TIGHT)))
    assert (found["opened"], found["blocked"], found["attempts_saved"]) == (1, 2, 3)
    assert (found["calls_sent_before"], found["calls_sent_after"]) == (8, 6)
    assert (found["answered_lost"], found["bids_lost"], found["wins_lost"]) == (2, 1, 1)
    assert found["revenue_lost"] == {"USD": Decimal("0.001")}
    assert found["ms_saved"] == 50


def test_a_probe_that_fails_opens_again_and_cancelled_ones_do_not_count(tmp_path: Path) -> None:
    events = [sent(f"f{number}", number, "server_error") for number in range(4)]
    events += [sent("c0", 7, "cancelled"), sent("c1", 8, "cancelled"), sent("probe", 8.5, "timeout")]
    events += [sent("b", 13.4, "bid"), sent("next", 13.5, "bid")]
    found = totals(opened(tmp_path, events), Policy(Rules(breaker=TIGHT)))
    assert (found["opened"], found["blocked"]) == (2, 2)
    assert found["answered_lost"] == 1


def test_retries_that_the_policy_removes_do_not_open_the_breaker(tmp_path: Path) -> None:
    events = [sent("A", second, "server_error") for second in (0.0, 0.1, 0.2, 0.3)] + [sent("B", 1, "bid")]
    snapshot = opened(tmp_path, events)
    assert totals(snapshot, Policy(Rules(breaker=TIGHT)))["blocked"] == 1
    assert totals(snapshot, Policy(Rules(max_retries=0, breaker=TIGHT)))["blocked"] == 0


def test_a_partner_without_a_breaker_knows_nothing_of_one(tmp_path: Path) -> None:
    events = [sent(f"{name}{second}", second, "timeout", name) for name in "pq" for second in range(8)]
    policy = Policy(Rules(breaker=TIGHT), {"q": Rules()})
    found = whatif.replay(opened(tmp_path, events), policy, Filters())
    assert [(row["partner"], row["blocked"]) for row in found.partners] == [("p", 4), ("q", None)]
    assert found.totals["blocked"] == 4


def test_attempts_of_one_instant_meet_the_breaker_in_their_fixed_order(tmp_path: Path) -> None:
    """Of two at one instant the lower attempt number comes first: it is the probe, and decides for the other."""
    events = [sent(f"f{number}", number, "server_error") for number in range(4)]
    events += [sent("x", 8, "bid", attempt=2), sent("y", 8, "timeout", attempt=1), sent("z", 9, "bid")]
    found = totals(opened(tmp_path, events), Policy(Rules(breaker=TIGHT)))
    assert (found["opened"], found["blocked"], found["bids_lost"]) == (2, 2, 2)


def test_a_call_is_blocked_by_what_was_open_before_the_range(tmp_path: Path) -> None:
    events = [sent(f"f{number}", number, "server_error") for number in range(4)] + [sent("b", 4, "bid")]
    found = totals(opened(tmp_path, events), Policy(Rules(breaker=TIGHT)), Filters(frm_us=ORIGIN + 3_500_000))
    assert (found["calls"], found["blocked"], found["opened"]) == (1, 1, 0)


# Against a replay over single attempts


@dataclass
class Call:
    """A call's sent attempts in order: (us, outcome, latency_ms, budget, elapsed, timeout)."""

    partner: str
    attempts: list[tuple[int, str, float | None, float | None, float | None, float | None]] = field(
        default_factory=list
    )
    considered_us: int = 0
    wins: dict[str, Decimal] = field(default_factory=dict)
    won: bool = False


def random_log(seed: int) -> tuple[list[Event], list[Call]]:
    """Two hours of three partners with calm and broken stretches; no two attempts of a partner at one instant."""
    chance = random.Random(seed)
    events: list[Event] = []
    calls: list[Call] = []
    names = ["p", "q's", "*"]
    used: set[tuple[str, int]] = set()
    for number in range(2_000):
        partner = chance.choice(names)
        start = chance.randrange(0, 7_200_000_000)
        bad = (start // 60_000_000 + names.index(partner)) % 9 < 3
        call = Call(partner)
        us = start
        for place in range(chance.choice([1, 1, 1, 2, 2, 3, 5])):
            us += chance.choice([1, 1_000, 100_000, 3_000_000, 40_000_000]) if place else 0
            while (partner, us) in used:
                us += 1
            used.add((partner, us))
            if not place:
                call.considered_us = us
            kinds = (
                ["server_error", "timeout", "connect_error"] * (4 if bad else 1) + list(KINDS) + ["bid", "no_bid"] * 2
            )
            outcome = chance.choice(kinds)
            # As long as its timeout, what has no status is a timeout, also where the caller gave up.
            latency = chance.choice([None, 1.5, 40.0, *([] if outcome == "cancelled" else [130.0])])
            budget, elapsed, timeout = chance.choice([(300.0, 20.0, 100.0), (300.0, 200.0, 100.0), (None, 20.0, 50.0)])
            more = {"latency_ms": latency, "budget_ms": budget, "elapsed_ms": elapsed, "timeout_ms": timeout}
            second, micro = divmod(us, 1_000_000)
            events.append(attempt(at(second, micro), f"a{number}", partner, **(KINDS[outcome] | more)))
            if outcome != "not_sent_breaker":
                call.attempts.append((us, outcome, latency, budget, elapsed, timeout))
        if any(one[1] == "bid" for one in call.attempts) and chance.random() < 0.5:
            call.won = True
            for imp in range(chance.choice([1, 1, 2])):
                currency, price = chance.choice(["USD", "EUR"]), Decimal(chance.randrange(1, 900)) / 100
                call.wins[currency] = call.wins.get(currency, Decimal(0)) + price
                told = win(f"a{number}", 7_300 + imp, str(price), currency, str(imp), partner)
                events += [told] * chance.choice([1, 2])
        calls.append(call)
    chance.shuffle(events)
    return events, calls


def feasible(one: tuple[int, str, float | None, float | None, float | None, float | None]) -> bool | None:
    _, _, _, budget, elapsed, timeout = one
    return None if budget is None or elapsed is None or timeout is None else budget - 40 - elapsed >= timeout


def allowed(call: Call, rules: Rules) -> int:
    """How many attempts of a call the rules for retries let be sent."""
    for place in range(1, len(call.attempts)):
        trigger = call.attempts[place - 1][1]
        if rules.triggers is not None and trigger not in rules.triggers:
            return place
        if rules.max_retries is not None and place > rules.max_retries:
            return place
        if rules.budget_guard and feasible(call.attempts[place]) is False:
            return place
    return len(call.attempts)


def broken(calls: Sequence[Call], left: dict[int, int], breaker: Breaker) -> tuple[int, list[int]]:
    """Lower `left` (attempts sent, by call) as a breaker would; gives the blocked, and when it opened."""
    queue = sorted(
        (one[0], index, place, one[1]) for index, call in enumerate(calls) for place, one in enumerate(call.attempts)
    )
    window: deque[tuple[int, bool]] = deque()
    until: int | None = None
    blocked = 0
    opened_at = []
    for us, index, place, outcome in queue:
        if place >= left[index]:
            continue
        if until is not None and us < until:
            left[index] = place
            blocked += 1
            continue
        if outcome == "cancelled":
            continue
        failed = outcome not in ANSWERED
        if until is not None:
            until = us + breaker.open_us if failed else None
            if failed:
                opened_at.append(us)
            window.clear()
            continue
        window.append((us, failed))
        while window[0][0] <= us - breaker.window_us:
            window.popleft()
        failures = sum(one for _, one in window)
        if len(window) >= breaker.min_attempts and failures / len(window) >= breaker.failure_share:
            until = us + breaker.open_us
            opened_at.append(us)
            window.clear()
    return blocked, opened_at


def brute(calls: Sequence[Call], partner: str, rules: Rules, lo: int, hi: int) -> Row | None:
    """The figures of one partner."""
    own = [call for call in calls if call.partner == partner]
    left = {index: allowed(call, rules) for index, call in enumerate(own)}
    blocked = opens = None
    if rules.breaker is not None:
        before = dict(left)
        _, opened_at = broken(own, left, rules.breaker)
        blocked = sum(left[i] < before[i] for i, call in enumerate(own) if lo <= call.considered_us < hi)
        opens = sum(lo <= us < hi for us in opened_at)
    kept = [(call, left[index]) for index, call in enumerate(own) if lo <= call.considered_us < hi]
    if not kept:
        return None
    gone = [(call, place, call.attempts[place]) for call, most in kept for place in range(most, len(call.attempts))]

    def lost(*outcomes: str) -> list[Call]:
        return [
            call
            for call, most in kept
            if any(one[1] in outcomes for one in call.attempts)
            and not any(one[1] in outcomes for one in call.attempts[:most])
        ]

    judged = [kind for kind in KINDS if kind not in ("cancelled", "not_sent_breaker")]
    revenue: dict[str, Decimal] = defaultdict(Decimal)
    for call in lost("bid"):
        for currency, price in call.wins.items():
            revenue[currency] += price / 1000
    late = [
        one[4] + one[2] > one[3] - 40
        for _, place, one in gone
        if place and one[1] != "cancelled" and None not in (one[2], one[3], one[4])
    ]
    known = [one[2] for _, _, one in gone if one[2] is not None]
    times_sent = sum(len(call.attempts) for call, _ in kept)
    return {
        "partner": partner,
        "calls": len(kept),
        "calls_hidden": 0,
        "calls_sent_before": sum(bool(call.attempts) for call, _ in kept),
        "calls_sent_after": sum(most > 0 for _, most in kept),
        "attempts_before": times_sent,
        "attempts_after": times_sent - len(gone),
        "attempts_saved": len(gone),
        "ms_saved": sum(known) if known or not gone else None,
        "calls_cut": sum(most < len(call.attempts) for call, most in kept),
        "answered_lost": len(lost(*ANSWERED)),
        "judged_lost": len(lost(*judged)),
        "wins_lost": sum(call.won for call in lost("bid")),
        "revenue_lost": dict(sorted(revenue.items())),
        "late_saved": sum(late) if late or not gone else None,
        "late_judged": len(late),
        "blocked": blocked,
        "opened": opens,
        "unjudged": sum(
            feasible(one) is None
            for call, _ in kept
            for place, one in enumerate(call.attempts)
            if rules.budget_guard and 0 < place < allowed(call, rules)
        ),
        "answered_before": sum(any(one[1] in ANSWERED for one in call.attempts) for call, _ in kept),
        "judged_before": sum(any(one[1] in judged for one in call.attempts) for call, _ in kept),
    }


ORIGIN = 1_789_383_600_000_000
SECONDS = st.integers(0, 7_200_000_000)


class Logs:
    """Random logs, each as a warehouse and as calls."""

    def __init__(self, folder: Path) -> None:
        self.made: list[tuple[Snapshot, list[Call]]] = []
        for seed in range(3):
            events, calls = random_log(seed)
            (folder / str(seed)).mkdir()
            self.made.append((opened(folder / str(seed), events), calls))


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Logs:
    return Logs(tmp_path_factory.mktemp("random"))


BREAKERS = st.builds(
    Breaker,
    st.sampled_from([0.5, 7, 30, 61.3, 300]),
    st.sampled_from([1, 3, 8, 20]),
    st.sampled_from([0.1, 0.5, 0.6, 1.0]),
    st.sampled_from([0.01, 5, 30, 400]),
)
RULES = st.builds(
    Rules,
    st.none() | st.frozensets(st.sampled_from(TRIGGERS), min_size=9),
    st.none() | st.integers(0, 4),
    st.booleans(),
    st.none() | BREAKERS,
)


@given(
    seed=st.integers(0, 2),
    policy=st.builds(Policy, RULES, st.dictionaries(st.sampled_from(["p", "q's"]), RULES)),
    bounds=st.none() | st.tuples(SECONDS, SECONDS).map(sorted),
    asked=st.sampled_from([(), ("p",), ("*", "q's")]),
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_replay_is_that_of_single_attempts(
    logs: Logs, seed: int, policy: Policy, bounds: list[int] | None, asked: tuple[str, ...]
) -> None:
    snapshot, calls = logs.made[seed]
    lo, hi = bounds or (0, 10**12)
    filters = Filters(partners=asked) if bounds is None else Filters(ORIGIN + lo, ORIGIN + hi, asked)
    wanted = [
        row
        for partner in sorted(asked or {call.partner for call in calls})
        if (row := brute(calls, partner, policy.of(partner), lo, hi)) is not None
    ]
    found = whatif.replay(snapshot, policy, filters)
    assert [shown(row) for row in found.partners] == [expected(row) for row in wanted]
    if wanted:
        assert found.totals["attempts_saved"] == sum(row["attempts_saved"] for row in wanted)


RATES = ("amplification_before", "amplification_after", "effective_success_before", "effective_success_after")


def shown(row: Row) -> Row:
    """A row of the replay; bids of these partners are unknown, for some of their answers do not tell."""
    told = {name: value for name, value in row.items() if name != "bids_lost"}
    assert row["bids_lost"] == (0 if not row["attempts_saved"] else None)
    return told | {name: rounded(told[name]) for name in (*RATES, "ms_saved")}


def expected(row: Row) -> Row:
    told = {
        name: value for name, value in row.items() if name not in ("judged_lost", "answered_before", "judged_before")
    }
    parts = {
        "amplification_before": (row["attempts_before"], row["calls_sent_before"]),
        "amplification_after": (row["attempts_after"], row["calls_sent_after"]),
        "effective_success_before": (row["answered_before"], row["judged_before"]),
        "effective_success_after": (
            row["answered_before"] - row["answered_lost"],
            row["judged_before"] - row["judged_lost"],
        ),
    }
    rates = {name: rounded(part / whole) if whole else None for name, (part, whole) in parts.items()}
    return told | rates | {"ms_saved": rounded(row["ms_saved"])}


def rounded(value: float | None) -> float | None:
    return None if value is None else round(float(value), 6)


# Where it shows


def test_the_statements_give_the_same_rows_in_any_shell(worked: Snapshot) -> None:
    policy = Policy(Rules(frozenset({"bid"}), 1, True), {"it's /*at*/ from p": Rules()})
    path = worked.warehouse / "snapshots" / f"{worked.id}.duckdb"
    with duckdb.connect(str(path), read_only=True) as shell:
        for name in ("partners", "triggers", "estimate"):
            _, _, values = statement.fetch(worked, name, policy, Filters())
            assert shell.execute(statement.sql(worked, name, policy, Filters())).fetchall() == values


def test_every_figure_of_a_replay_is_in_the_dictionary(tmp_path: Path) -> None:
    snapshot = opened(tmp_path, [sent("A", 0, "timeout"), sent("A", 0.1, "timeout")])
    found = whatif.replay(snapshot, ANYTHING, Filters())
    shown = {*found.totals, *found.estimate, *found.triggers[0], *found.estimates[0]} - {"label", "partner", "trigger"}
    known = {
        row[0].removeprefix("whatif.") for row in snapshot.query("select name from metrics where name ^@ 'whatif.'")
    }
    assert shown == known


def command(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr("sys.argv", ["retrylens", *map(str, arguments)])
    return _run()


@pytest.fixture
def asked(worked: Snapshot, tmp_path: Path) -> Iterable[Any]:
    path = tmp_path / "policy.json"
    path.write_text('{"triggers": ["server_error"], "partners": {"nobody": {}}}')
    return ["whatif", "--policy", path, "--warehouse", worked.warehouse]


def test_the_command_prints_one_object(
    asked: list[Any], monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert command(monkeypatch, *asked, "--format", "json", "--from", "2026-09-14") == 0
    out, said = capsysbinary.readouterr()
    told = json.loads(out)
    assert list(told) == ["policy", "range", "totals", "partners", "triggers", "estimate"]
    assert told["policy"]["triggers"] == ["server_error"]
    assert told["range"] == {"from": "2026-09-14T00:00:00.000000Z", "to": None, "partners": []}
    assert told["totals"]["revenue_lost"] == {"EUR": 0.002, "USD": 0.0015}
    assert told["totals"]["attempts_saved"] == told["partners"][0]["attempts_saved"] == 4
    assert told["estimate"]["label"] == "estimate"
    assert b"nobody" in said


def test_the_command_writes_csv_and_text(
    asked: list[Any], monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert command(monkeypatch, *asked, "--format", "csv") == 0
    lines = capsysbinary.readouterr().out.decode().splitlines()
    assert lines[0].startswith("partner,trigger,calls,")
    assert [line.split(",")[:2] for line in lines[1:3]] == [["*", "*"], ["p", "*"]]
    assert command(monkeypatch, *asked) == 0
    text = capsysbinary.readouterr().out.decode()
    assert ["attempts", "sent", "8", "4"] in [line.split() for line in text.splitlines()]
    assert "estimate" in text
    assert "EUR=0.002;USD=0.0015" in text


def test_parquet_is_refused(
    asked: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(monkeypatch, *asked, "--format", "parquet") == 2
    assert "choose --format table, json or csv" in capsys.readouterr().err


# The page


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page is told its warehouse by the environment: what stood there comes back."""
    monkeypatch.setenv("RETRYLENS_WAREHOUSE", "")


def tiles(test: Any) -> dict[str, str]:
    assert not test.exception, [error.message for error in test.exception]
    return {tile.label: tile.value.replace("\\", "") for tile in test.metric}


@pytest.mark.slow
@pytest.mark.usefixtures("environment")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
class TestPage:
    def test_widgets_make_the_policy(self, worked: Snapshot) -> None:
        test = run(worked.warehouse, "whatif")
        test.button(key="whatif_anything").click().run()
        assert tiles(test)["Attempts saved"] == "0"
        assert tiles(test)["Revenue lost"] == "none"
        test.multiselect(key="whatif_triggers").set_value(["server_error", "bid", "cancelled"]).run()
        shown = tiles(test)
        assert (shown["Attempts saved"], shown["Won calls lost"]) == ("2", "1")
        assert shown["Revenue lost"] == "EUR 0.002"
        [revenue] = [tile.delta.replace("\\", "") for tile in test.metric if tile.label == "Revenue lost"]
        assert revenue == "USD 0.0015"
        assert shown["Time saved"] == "50.5 ms"
        test.number_input(key="whatif_retries").set_value(0).run()
        assert (tiles(test)["Attempts saved"], tiles(test)["Amplification after"]) == ("4", "1.000")

    def test_the_estimate_stands_apart_under_its_name(self, worked: Snapshot) -> None:
        test = run(worked.warehouse, "whatif")
        assert any("Estimate" in head.value for head in [*test.header, *test.subheader])
        assert [label for label in tiles(test) if "estimate" in label] == [
            "Retries added (estimate)",
            "Successes (estimate)",
            "Bids (estimate)",
        ]

    def test_the_breaker_has_settings_and_figures_while_it_is_on(self, worked: Snapshot) -> None:
        test = run(worked.warehouse, "whatif")
        assert "Blocked by the breaker" not in tiles(test)
        test.toggle(key="whatif_breaker").set_value(True).run()
        test.number_input(key="whatif_min_attempts").set_value(1).run()
        assert int(tiles(test)["Blocked by the breaker"]) > 0
        assert any("walking the attempts" in word for word in words(test))

    def test_a_file_brings_rules_for_single_partners_and_they_can_be_dropped(self, worked: Snapshot) -> None:
        test = run(worked.warehouse, "whatif")
        text = b'{"max_retries": 1, "partners": {"p": {"triggers": []}}}'
        test.file_uploader(key="whatif_upload").upload("own.json", text, "application/json").run()
        assert tiles(test)["Attempts saved"] == "4"
        test.button(key="whatif_drop").click().run()
        assert tiles(test)["Attempts saved"] == "1"

    def test_a_mistake_in_a_file_is_told_with_its_line(self, worked: Snapshot) -> None:
        test = run(worked.warehouse, "whatif")
        before = tiles(test)
        text = b'{\n"triggers": ["<b>bold</b>"]}'
        test.file_uploader(key="whatif_upload").upload("![x](y).json", text, "application/json").run()
        [error] = test.error
        said = error.value.replace("\\", "")
        assert "line 2: unknown trigger '<b>bold</b>'" in said
        assert "connect_error, tls_error" in said
        assert "<b>" not in error.value
        assert tiles(test) == before

    def test_hostile_names_stay_text(self, tmp_path: Path) -> None:
        test = run(warehouses.hostile(tmp_path), "whatif")
        assert tiles(test)["Attempts saved"] != "0"
        check_inert(test)
        test.toggle(key="whatif_breaker").set_value(True).run()
        assert not test.exception
        check_inert(test)

    def test_without_calls_there_is_nothing_to_replay(self, tmp_path: Path) -> None:
        test = run(opened(tmp_path, [postback(at(0), order="1")]).warehouse, "whatif")
        assert any("nothing to replay" in word for word in words(test))
        assert tiles(test) == {}
