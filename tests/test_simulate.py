"""The simulator alone: the same bytes for a seed, a truth that adds up, and characters that behave as described."""

import gzip
import json
import re
from collections import Counter
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import zstandard

import ingest.simulate
from ingest.errors import InputError
from ingest.simulate import SCENARIOS, simulate
from ingest.simulate.records import Attempt, Auction, Call, Postback, Sender
from ingest.simulate.stats import Z_ONE_SIDED, Z_TWO_SIDED, iso, nearest_rank, wilson
from ingest.simulate.truth import Truth
from ingest.simulate.truth.expected import ReferenceBreaker
from ingest.simulate.truth.flags import verdict
from ingest.simulate.truth.throttles import verdict as throttle_verdict

OUTCOMES = {
    "not_sent_breaker",
    "not_sent_limit",
    "connect_error",
    "tls_error",
    "timeout",
    "cancelled",
    "reset",
    "rate_limited",
    "server_error",
    "client_error",
    "unexpected_status",
    "unknown_error",
    "invalid_response",
    "bid",
    "no_bid",
    "answered_unknown",
}
NOT_SENT = {"not_sent_breaker", "not_sent_limit"}
PARTNERS_WITH_BREAKERS = ("northbid", "stormgate", "colmark", "blinkbid", "latefuse", "nofuse")
BAD_LINES, BLANK_LINES = 14, 3

Truths = dict[str, Any]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Truths]:
    """A run of the default scenario."""
    out = tmp_path_factory.mktemp("simulated") / "logs"
    return out, simulate(out, 1, 4, 10, bad_lines=BAD_LINES, blank_lines=BLANK_LINES)


def raw_lines(out: Path) -> list[str]:
    """All lines of all logs, without their line ends."""
    return [line for path in sorted(out.glob("*.jsonl")) for line in path.read_text().removesuffix("\n").split("\n")]


def events(out: Path, kind: str) -> list[dict[str, Any]]:
    """The whole events of one kind in order of time."""
    found = []
    for line in raw_lines(out):
        try:
            event = json.loads(line)
        except json.JSONDecodeError:
            continue
        if isinstance(event, dict) and event.get("event") == kind:
            found.append(event)
    return sorted(found, key=lambda event: str(event["ts"]))


def contents(out: Path) -> dict[str, bytes]:
    """All files of a folder."""
    return {path.name: path.read_bytes() for path in out.iterdir()}


def moment(event: dict[str, Any]) -> float:
    """The event's own time in seconds."""
    return datetime.fromisoformat(event["ts"]).timestamp()


def test_the_truth_knows_nothing_of_the_product() -> None:
    """What counts the truth must not read the definitions that it is to prove."""
    for path in Path(ingest.simulate.__file__).parent.rglob("*.py"):
        imported = re.findall(r"^\s*(?:from|import) ((?:ingest|dashboard)[\w.]*)", path.read_text(), re.MULTILINE)
        assert all(name == "ingest.errors" or name.startswith("ingest.simulate") for name in imported), path


def test_same_seed_same_bytes(tmp_path: Path) -> None:
    truths = [simulate(tmp_path / name, 3, 1, 8) for name in ("one", "two")]
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert truths[0] == truths[1] == json.loads((tmp_path / "one" / "truth.json").read_text())


def test_another_seed_other_bytes(tmp_path: Path) -> None:
    simulate(tmp_path / "one", 3, 1, 4)
    simulate(tmp_path / "two", 4, 1, 4)
    assert contents(tmp_path / "one") != contents(tmp_path / "two")


@pytest.mark.parametrize("compress, suffix", [("gz", ".gz"), ("zst", ".zst")])
def test_compression_changes_no_line(tmp_path: Path, compress: str, suffix: str) -> None:
    plain = simulate(tmp_path / "plain", 5, 1, 4)
    packed = simulate(tmp_path / "packed", 5, 1, 4, compress=compress)
    assert packed == plain
    for path in (tmp_path / "plain").glob("*.jsonl"):
        data = (tmp_path / "packed" / (path.name + suffix)).read_bytes()
        decoded = (
            gzip.decompress(data) if compress == "gz" else zstandard.ZstdDecompressor().decompressobj().decompress(data)
        )
        assert decoded == path.read_bytes()


def test_days_and_nodes_have_their_own_files(tmp_path: Path) -> None:
    simulate(tmp_path, 2, 1, 4, days=2, start=datetime(2026, 11, 30, 8, tzinfo=UTC))
    assert sorted(path.name for path in tmp_path.glob("*.jsonl")) == [
        f"{stream}-2026-{day}.jsonl"
        for stream in ("exchange-ex-a", "exchange-ex-b", "postback")
        for day in ("11-30", "12-01")
    ]


def test_every_outcome_occurs(run: tuple[Path, Truths]) -> None:
    assert {row["outcome"] for row in run[1]["outcomes"]} == OUTCOMES


def test_every_line_is_accounted_for(run: tuple[Path, Truths]) -> None:
    out, truth = run
    lines = raw_lines(out)
    counted = truth["_lines"]
    assert counted["lines"] == len(lines) == counted["facts"] + counted["rejects"] + counted["blank"]
    assert counted["blank"] == sum(not line.strip() for line in lines) == BLANK_LINES
    unknown = sum('"latency_ms":NaN' in line for line in lines)
    assert unknown == truth["_mended"]["latency_ms"] == BAD_LINES // 4
    assert counted["rejects"] == BAD_LINES - unknown
    macros = sum("${AUCTION_PRICE}" in line for line in lines)
    assert macros == truth["_mended"]["price"] > 0


def test_attempt_lines_equal_outcomes_and_calls(run: tuple[Path, Truths]) -> None:
    out, truth = run
    rejected = {"", "cut-1", "lost-1", "when-1", "when-2"}
    lines = Counter(
        event["partner"]
        for event in events(out, "attempt")
        if event.get("auction_id") not in rejected and event.get("partner")
    )
    by_outcome: Counter[str] = Counter()
    for row in truth["outcomes"]:
        by_outcome[row["partner"]] += row["attempts"]
    calls = {row["partner"]: row for row in truth["calls"] if row["stream"] == "exchange"}
    assert lines == by_outcome
    assert lines == {name: row["attempts_sent"] + row["not_sent"] for name, row in calls.items()}


def test_notice_lines_equal_deliveries(run: tuple[Path, Truths]) -> None:
    out, truth = run
    for kind in ("win", "billing", "impression", "click", "loss"):
        deliveries = sum(row["deliveries"] for row in truth["notices"] if row["kind"] == kind)
        lines = [event for event in events(out, kind) if event["auction_id"] != "list-1"]
        assert deliveries == len(lines) > 0
    assert any(row["orphans"] for row in truth["notices"])
    assert any(row["duplicates"] for row in truth["notices"])


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_losses_add_up(tmp_path: Path, scenario: str) -> None:
    truth = simulate(tmp_path, 6, 2, 6, scenario)
    lost: Counter[tuple[str, str]] = Counter()
    for row in truth["losses"]:
        lost[row["funnel"], row["stage"]] += row["count"]
    before: dict[str, int | None] = {}
    for row in truth["funnel"]:
        if row["position"] > 1 and row["count"] is not None:
            earlier = before[row["funnel"]]
            assert earlier is not None
            assert earlier - row["count"] == lost[row["funnel"], row["stage"]] >= 0
        before[row["funnel"]] = row["count"]


def test_what_has_no_evidence_is_null(tmp_path: Path) -> None:
    healthy = simulate(tmp_path / "healthy", 8, 3, 8, "healthy")
    counts = {(row["funnel"], row["stage"]): row["count"] for row in healthy["funnel"]}
    assert "billing" not in {row["kind"] for row in healthy["notices"]}
    assert counts["call", "billed"] > 0
    assert counts["auction", "converted"] is None
    assert counts["postback", "received"] is None
    postbacks = simulate(tmp_path / "postbacks", 8, 3, 8, "postbacks")
    counts = {(row["funnel"], row["stage"]): row["count"] for row in postbacks["funnel"]}
    assert counts["call", "considered"] is None
    assert counts["postback", "unique"] > 0


def retry_counts(truth: Truths, partner: str, trigger: str) -> tuple[int, int]:
    """Retries and successes of a partner after one trigger."""
    rows = [row for row in truth["retries"] if (row["partner"], row["trigger"]) == (partner, trigger)]
    return sum(row["retries"] for row in rows), sum(row["successes"] for row in rows)


def test_partners_have_their_characters(run: tuple[Path, Truths]) -> None:
    truth = run[1]
    flaky, recovered = retry_counts(truth, "flakywire", "connect_error")
    assert recovered / flaky > 0.7
    assert retry_counts(truth, "slowriver", "timeout")[0] > 50
    assert retry_counts(truth, "slowriver", "timeout")[1] == 0
    assert retry_counts(truth, "echobid", "no_bid")[1] == 0
    flags = {(row["partner"], row["trigger"]): row["verdict"] for row in truth["flags"]}
    assert flags["slowriver", "timeout"] == "disable"
    assert flags["echobid", "no_bid"] == "never"
    assert flags["flakywire", "connect_error"] == "keep"
    codes = Counter({row["reason"]: row["no_bids"] for row in truth["no_bids"] if row["partner"] == "puregate"})
    assert sum(codes[code] for code in "2345") > codes.total() / 2


def test_breakers_open_as_their_partners_do(run: tuple[Path, Truths]) -> None:
    reported = [row for row in run[1]["breakers"] if row["kind"] == "reported"]
    states = {name: {row["state"] for row in reported if row["partner"] == name} for name in PARTNERS_WITH_BREAKERS}
    everything = {"closed", "open", "half_open"}
    assert states["stormgate"] == states["colmark"] == states["blinkbid"] == states["latefuse"] == everything
    assert states["northbid"] == states["nofuse"] == {"closed"}
    sent_while_open = {row["partner"] for row in reported if row["state"] == "open" and row["attempts"]}
    assert sent_while_open == {"latefuse"}, "one exchange alone sends through an open breaker"
    assert all(row["blocked"] == 0 for row in reported if row["state"] != "open")
    assert {event["partner"] for event in events(run[0], "breaker")} == {"stormgate", "blinkbid", "latefuse"}
    blinks = [row for row in reported if row["partner"] == "blinkbid" and row["state"] == "open"]
    assert blinks
    assert all(moment({"ts": row["to"]}) - moment({"ts": row["from"]}) < 1 for row in blinks)


def test_the_expected_breaker_opens_before_the_late_one_and_where_none_opened(run: tuple[Path, Truths]) -> None:
    opens: dict[tuple[str, str], str] = {}
    for row in run[1]["breakers"]:
        if row["state"] == "open":
            opens.setdefault((row["partner"], row["kind"]), row["from"])
    assert opens["latefuse", "expected"] < opens["latefuse", "reported"]
    assert ("nofuse", "expected") in opens
    wasted = [row for row in run[1]["breakers"] if row["partner"] == "nofuse" and row["kind"] == "expected"]
    assert sum(row["blocked"] for row in wasted) > 20
    assert ("northbid", "expected") not in opens


def test_one_key_waits_and_another_hammers(run: tuple[Path, Truths]) -> None:
    orders: dict[str, list[dict[str, Any]]] = {}
    for event in events(run[0], "postback"):
        if "external_order_id" in event:
            orders.setdefault(event["external_order_id"], []).append(event)
    early, quick = 0, 0
    for requests in orders.values():
        for refused, again in pairwise(requests):
            if refused["http_status"] == 429:
                waited = moment(again) - moment(refused)
                quick += refused["key_id"] == "key-hammer" and waited < 0.9
                asked = str(refused.get("retry_after"))
                early += refused["key_id"] == "key-calm" and asked.isdigit() and waited < int(asked)
    assert early == 0
    assert quick > 50


def test_every_rule_is_broken_and_kept(run: tuple[Path, Truths]) -> None:
    counts: dict[tuple[str, str], list[int]] = {}
    for row in run[1]["audit"]:
        sums = counts.setdefault((row["rule"], row["stream"]), [0, 0])
        sums[0] += row["violations"]
        sums[1] += row["checked"]
    exchange = {f"R{number}" for number in range(1, 13)} - {"R11"}
    assert {rule for rule, stream in counts if stream == "exchange"} == exchange
    assert {rule for rule, stream in counts if stream == "postback"} == {"R4", "R8", "R9", "R10", "R11"}
    assert all(0 < broken < checked for broken, checked in counts.values()), counts
    assert {row["severity"] for row in run[1]["audit"] if row["rule"] == "R1"} == {"harmful", "waste"}


def test_every_answer_to_a_retry_after_occurs(run: tuple[Path, Truths]) -> None:
    rows = run[1]["retry_after"]
    for verdict_name in ("early", "on_time", "late", "never", "pending", "wasted"):
        assert sum(row[verdict_name] for row in rows) > 0, verdict_name
    assert {row["stream"] for row in rows} == {"exchange", "postback"}
    assert any(row["limited"] > row["with_retry_after"] for row in rows)


def test_windows_have_every_kind_of_limit(run: tuple[Path, Truths]) -> None:
    rows = run[1]["windows"]
    clients = {row["key"] for row in rows if row["endpoint"] == "/api/v1/exchange/quote"}
    assert "key-quotes" in clients, "an address that is not told falls back to the key"
    assert any(key.startswith("h-") for key in clients)
    assert {row["limit"] for row in rows if row["endpoint"] == "/api/v1/exchange/quote"} == {20}
    assert {row["utilisation"] for row in rows if row["endpoint"] in ("/r/offer", "/p/pixel")} == {None}
    assert {row["window_s"] for row in rows} == {10, 60}
    assert any(row["utilisation"] and row["utilisation"] > 1 for row in rows)


@pytest.mark.slow
def test_orders_end_in_every_state_and_have_every_fault(tmp_path: Path) -> None:
    truth = simulate(tmp_path, 4, 4, 8, days=2)
    assert {row["state"] for row in truth["orders"]} == {
        "accepted_first",
        "accepted_after_retry",
        "accepted_earlier",
        "lost",
        "pending",
    }
    faults = {"double_count", "reused_id", "unmarked_duplicate", "key_reuse"}
    assert {row["fault"] for row in truth["order_faults"]} == faults
    assert {fault for row in truth["orders"] for fault in row["faults"]} == faults
    assert any(row["duplicates"] and not row["faults"] for row in truth["orders"]), "a marked duplicate is health"


def test_signatures_are_stale_and_replayed_in_some_keys(run: tuple[Path, Truths]) -> None:
    rows = {row["key"]: row for row in run[1]["signatures"]}
    assert rows["key-skewed"]["stale"] > 0
    assert rows["key-skewed"]["replayed"] > 0
    assert rows["key-twice"]["stale"] == rows["key-twice"]["replayed"] == 0
    assert rows["key-clicks"]["skew_p50_s"] is None, "it signs nothing"


def test_every_kind_of_sender_is_known(tmp_path: Path) -> None:
    truth = simulate(tmp_path, 4, 5, 8)
    rows = {(row["stream"], row["key"]): row for row in truth["backoff"]}
    assert {stream for stream, _ in rows} == {"postback", "exchange", "notice", "auction"}
    assert {(row["kind"], row["jitter"]) for (stream, _), row in rows.items() if stream == "postback"} == {
        ("immediate", "none"),
        ("fixed", "none"),
        ("linear", "none"),
        ("exponential", "none"),
        ("exponential", "full"),
        ("exponential", "half"),
    }
    full = rows["postback", "key-full"]
    assert (full["base_ms"], full["cap_ms"]) == (200, 10_000)
    assert {key for (_, key), row in rows.items() if row["synchronised"]} == {"key-cron"}


def test_the_synchronised_sender_retries_on_the_edge_of_ten_seconds(run: tuple[Path, Truths]) -> None:
    requests = [event for event in events(run[0], "postback") if event.get("key_id") == "key-cron"]
    assert len(requests) > 30
    assert all(moment(event) % 10 < 0.001 for event in requests)


def test_a_placement_hammers_after_empty_auctions(run: tuple[Path, Truths]) -> None:
    asked = [moment(event) for event in events(run[0], "auction") if event["placement"] == "rewarded"]
    again = [later - earlier for earlier, later in pairwise(asked)]
    assert sum(0.299 < wait < 0.301 for wait in again) > 20


def test_retries_stand_above_originals_sometimes(run: tuple[Path, Truths]) -> None:
    moments: dict[tuple[str, str], list[str]] = {}
    for line in raw_lines(run[0]):
        if line.startswith('{"event":"attempt"') and line.endswith("}"):
            event = json.loads(line)
            moments.setdefault((event.get("auction_id"), event.get("partner")), []).append(event["ts"])
    assert any(sorted(stamps) != stamps for stamps in moments.values())


@pytest.mark.parametrize(
    "change, says",
    [
        ({"scenario": "none such"}, "default"),
        ({"minutes": 0}, "minutes"),
        ({"auctions_per_second": 0}, "auctions per second"),
        ({"auctions_per_second": float("nan")}, "auctions per second"),
        ({"compress": "rar"}, "zst"),
        ({"days": 0}, "days"),
        ({"bad_lines": -1}, "bad"),
        ({"days": 2, "minutes": 1441}, "1440"),
        ({"start": datetime(2026, 9, 14)}, "zone"),
    ],
)
def test_bad_arguments(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    arguments: dict[str, Any] = {"seed": 1, "minutes": 1, "auctions_per_second": 1.0} | change
    with pytest.raises(InputError, match=says):
        simulate(tmp_path / "out", **arguments)
    assert not (tmp_path / "out").exists()


def test_no_second_run_into_the_same_folder(tmp_path: Path) -> None:
    simulate(tmp_path, 1, 1, 1)
    with pytest.raises(InputError, match="already holds logs"):
        simulate(tmp_path, 2, 1, 1)


@pytest.mark.parametrize(
    "successes, n, bound, expected",
    [
        (0, 51, 0.0504, "watch"),
        (0, 52, 0.0495, "disable"),
        (1, 100, 0.0436, "disable"),
        (2, 400, 0.0150, "disable"),
        (30, 1000, 0.0402, "disable"),
        (10, 100, 0.1604, "keep"),
        (0, 30, 0.0827, "watch"),
        (0, 9, 0.2311, "too_few"),
    ],
)
def test_upper_bounds_and_verdicts(successes: int, n: int, bound: float, expected: str) -> None:
    upper = wilson(successes, n, Z_ONE_SIDED)[1]
    assert upper == pytest.approx(bound, abs=5e-5)
    assert verdict(n, successes, upper, forbidden=False) == expected


def test_quantiles_bounds_and_times() -> None:
    assert [nearest_rank([10, 20, 30, 40], rank) for rank in (500, 950, 990)] == [20, 40, 40]
    assert nearest_rank([7], 500) == 7
    low, high = wilson(5, 10, Z_TWO_SIDED)
    assert low == pytest.approx(0.2366, abs=5e-5)
    assert high == pytest.approx(0.7634, abs=5e-5)
    assert iso(1_789_383_600_000_001) == "2026-09-14T11:00:00.000001Z"


def auction_of(*attempts: Attempt, **proofs: Any) -> Auction:
    """An auction with one call to the partner `p`."""
    call = Call("p", list(attempts), **proofs)
    return Auction(attempts[0].ts, "a", "", "", "", "", 300, True, False, False, 1, [call])


def test_truth_of_single_calls() -> None:
    truth = Truth(())
    truth.notices.notice("billing", "p", 1, "USD", 10_000, False)
    truth.notices.notice("click", "p", 1, None, 0, False)
    for auction in (
        auction_of(Attempt(1, "not_sent_breaker")),
        auction_of(Attempt(1, "server_error")),
        auction_of(Attempt(1, "no_bid", reason="2")),
        auction_of(Attempt(1, "bid", reject="below_floor")),
        auction_of(Attempt(1, "bid", late=True)),
        auction_of(Attempt(1, "bid", late=False)),
        auction_of(Attempt(1, "bid"), loss_reason="102"),
        auction_of(Attempt(1, "bid"), won=True),
        auction_of(Attempt(1, "bid"), billing=True),
        auction_of(Attempt(1, "answered_unknown"), click=True),
    ):
        truth.auction(auction)
    tables = truth.tables()
    assert [row["count"] for row in tables["funnel"] if row["funnel"] == "call"] == [10, 9, 8, 7, 5, 3, 2, 1]
    assert [(row["stage"], row["reason"]) for row in tables["losses"] if row["funnel"] == "call"] == [
        ("sent", "not_sent_breaker"),
        ("answered", "server_error"),
        ("bid", "2"),
        ("in_auction", "below_floor"),
        ("in_auction", "late"),
        ("won", "102"),
        ("won", "no_win"),
        ("billed", "no_billed"),
        ("clicked", "no_clicked"),
    ]


def test_truth_of_retries() -> None:
    truth = Truth(())
    for auction in (
        auction_of(Attempt(1, "connect_error", 50), Attempt(9, "timeout", 1200), Attempt(30, "bid", 300, late=True)),
        auction_of(Attempt(1, "timeout", 1200), Attempt(30, "reset", 10), Attempt(60, "cancelled")),
        auction_of(Attempt(1, "bid", 200), Attempt(20, "bid", 200, late=False)),
        auction_of(Attempt(1, "server_error", 10), Attempt(9, "not_sent_limit", stopped_by="no_time")),
        auction_of(Attempt(1, "server_error", 10), Attempt(9, "not_sent_breaker")),
        auction_of(Attempt(1, "cancelled")),
    ):
        truth.auction(auction)
    tables = truth.tables()
    (calls,) = tables["calls"]
    assert calls | {"amplification": None} == {
        "stream": "exchange",
        "partner": "p",
        "calls": 6,
        "calls_sent": 6,
        "attempts_sent": 11,
        "not_sent": 2,
        "retries": 5,
        "actual_success": 3 / 9,
        "effective_success": 2 / 5,
        "amplification": None,
        "retried": 3,
        "recovered": 1,
        "late_retries": 1,
        "late_checked": 2,
    }
    assert [
        tuple(row[key] for key in ("trigger", "retry_no", "retries", "successes", "bids")) for row in tables["retries"]
    ] == [
        ("bid", 1, 1, 0, 1),
        ("connect_error", 1, 1, 0, 0),
        ("timeout", 1, 1, 0, 0),
        ("timeout", 2, 1, 1, 1),
    ]
    assert {row["fate"]: row["calls"] for row in tables["fate"]} == {
        "recovered_2": 1,
        "exhausted": 1,
        "no_time": 1,
        "stopped": 1,
    }


def test_truth_of_an_order_ends_at_its_first_acceptance() -> None:
    truth = Truth(())
    requests = [
        Postback(1_000, "rate_limited", 10),
        Postback(9_000, "accepted", 30),
        Postback(20_000, "accepted", 20, duplicate=True),
        Postback(30_000, "replay", 20),
    ]
    truth.postbacks(Sender("k", "/api/v1/postback", order_id="o"), requests, None)
    tables = truth.tables()
    assert [row["count"] for row in tables["funnel"] if row["funnel"] == "postback"] == [4, 3, 2, 2, 1]
    assert [(row["calls"], row["attempts_sent"], row["recovered"]) for row in tables["calls"]] == [(1, 2, 1)]
    (flag, *_) = [row for row in tables["flags"] if row["partner"] == "k" and row["trigger"] == "rate_limited"]
    assert (flag["retries"], flag["successes"], flag["ms_saved_per_day"], flag["bids_at_risk"]) == (1, 1, 3.0, None)
    assert flag["last_success"] == "1970-01-01T00:00:00.009000Z"
    assert [(row["requests"], row["limited"]) for row in tables["rate_limits"]] == [(4, 1)]


def test_flags_look_back_seven_days_from_the_newest_attempt() -> None:
    truth = Truth(())
    day = 86_400_000_000
    for start in (0, 1, 8 * day):
        truth.auction(auction_of(Attempt(start, "timeout", 10), Attempt(start + day, "bid", 10)))
    flags = {(row["partner"], row["trigger"]): row for row in truth.tables()["flags"]}
    assert flags["p", "timeout"]["retries"] == 1
    assert set(flags) == {("p", "timeout"), ("p", "*"), ("*", "timeout"), ("*", "*")}


@pytest.mark.parametrize(
    "next_s, newest_s, expected",
    [
        (8.999_999, 100, "early"),
        (9.0, 100, "on_time"),
        (20.0, 100, "on_time"),
        (20.000_001, 100, "late"),
        (None, 20.000_001, "never"),
        (None, 20.0, "pending"),
    ],
)
def test_verdicts_on_a_wait_of_ten_seconds(next_s: float | None, newest_s: float, expected: str) -> None:
    moments = [0, *([] if next_s is None else [round(next_s * 1e6)])]
    assert throttle_verdict(moments, 0, 10_000_000, round(newest_s * 1e6)) == expected


def test_the_reference_breaker_opens_at_half_of_twenty_and_probes_once() -> None:
    second = 1_000_000
    breaker = ReferenceBreaker(0)
    for number in range(20):
        breaker.attempt(number * second, number % 2 == 1)
    for number in range(5):
        breaker.attempt((25 + number) * second, True)
    breaker.attempt(49 * second, False)
    breaker.attempt(50 * second, True)
    spans = [
        (span.state, span.start // second, span.end and span.end // second, span.attempts, span.failures, span.blocked)
        for span in breaker.finish(60 * second)
    ]
    assert spans == [
        ("closed", 0, 19, 20, 10, 0),
        ("open", 19, 49, 5, 5, 5),
        ("half_open", 49, 49, 1, 0, 0),
        ("closed", 49, None, 1, 1, 0),
    ]


def test_an_open_breaker_waits_for_its_probe_at_the_end_of_the_data() -> None:
    breaker = ReferenceBreaker(0)
    for ts in range(20):
        breaker.attempt(ts, True)
    assert [(span.state, span.end) for span in breaker.finish(40_000_000)] == [
        ("closed", 19),
        ("open", 30_000_019),
        ("half_open", None),
    ]


def accepted(ts: int, conversion_id: str, amount: int = 100, **values: Any) -> Postback:
    """An accepted postback of a sale."""
    return Postback(
        ts, "accepted", 10, conversion_id=conversion_id, amount=amount, currency="USD", body_hash="b1", **values
    )


def test_truth_of_faulty_orders() -> None:
    truth = Truth(())
    first = accepted(0, "7", idempotency_key="i")
    for order_id, later in (
        ("marked", accepted(9, "7", marked=True)),
        ("unmarked", accepted(9, "7")),
        ("twice", accepted(9, "8")),
        ("swallowed", accepted(9, "7", amount=200, marked=True)),
    ):
        truth.postbacks(Sender("k", None, "t", "sale", order_id), [first, later], None)
    other_body = Postback(20, "client_error", 10, idempotency_key="i", body_hash="b2")
    truth.postbacks(Sender("k", None, "t", "sale", "reused"), [other_body], None)
    tables = truth.tables()
    assert {row["external_order_id"]: (row["state"], row["faults"]) for row in tables["orders"]} == {
        "marked": ("accepted_first", []),
        "unmarked": ("accepted_first", ["unmarked_duplicate"]),
        "twice": ("accepted_first", ["double_count"]),
        "swallowed": ("accepted_first", ["reused_id"]),
        "reused": ("pending", ["key_reuse"]),
    }
    assert len(tables["order_faults"]) == 4


def test_truth_of_replays_within_ten_minutes_of_the_first_use() -> None:
    truth = Truth(())
    minute = 60_000_000
    uses = [
        Postback(0, "rate_limited", 10, signature="s"),
        Postback(minute, "accepted", 10, signature="s"),
        Postback(11 * minute, "accepted", 10, signature="s"),
        Postback(11 * minute + 1, "accepted", 10, signature="s"),
    ]
    truth.postbacks(Sender("k", None), uses, None)
    (row,) = truth.tables()["signatures"]
    assert (row["requests"], row["stale"], row["replayed"]) == (4, 0, 1)
