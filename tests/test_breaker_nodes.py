"""Figures of reported breakers by node, from given events: time in states, probes, recovery, open nodes, ranges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dashboard import tables
from dashboard.filters import Filters, make_filters
from dashboard.snapshot import Snapshot
from tests.loaded import Event, at, attempt, opened

pytestmark = pytest.mark.slow


def change(second: int, before: str, after: str, node: str | None = "n1", partner: str = "p") -> Event:
    event = {"event": "breaker", "ts": at(second), "partner": partner, "state_from": before, "state_to": after}
    return event if node is None else event | {"node": node}


def sent(second: int, node: str | None = "n1", status: int = 204, **values: Any) -> Event:
    return attempt(at(second), f"A{second}{node}", node=node, http_status=status, **values)


def nodes(snapshot: Snapshot, filters: Filters | None = None) -> dict[str | None, dict[str, Any]]:
    return {row["node"]: row for row in tables.rows(snapshot, "breaker_nodes", filters or Filters())}


OUTAGE = [
    sent(0),
    sent(10, status=503),
    change(20, "closed", "open"),
    sent(25, not_sent="breaker", breaker="open"),
    change(50, "open", "half_open"),
    sent(51, status=503),
    change(52, "half_open", "open"),
    change(80, "open", "half_open"),
    sent(81),
    sent(82, status=0, error_type="cancelled"),
    change(90, "half_open", "closed"),
    sent(100),
]
"""One outage of 70 s, 20 to 90, in which a probe failed before one was answered."""


def test_time_in_each_state_probes_and_one_recovery_for_an_outage(tmp_path: Path) -> None:
    row = nodes(opened(tmp_path, OUTAGE))["n1"]
    assert [row[f"{state}_s"] for state in ("open", "half_open", "closed", "unknown")] == [58, 12, 30, 0]
    assert row["open_share"] == 0.58
    assert (row["opens"], row["recoveries"], row["recover_p50_s"]) == (2, 1, 70)
    assert (row["probes"], row["probes_judged"], row["probes_answered"], row["probe_success"]) == (3, 2, 1, 0.5)
    assert (row["attempts"], row["failures"], row["blocked"]) == (6, 2, 1)
    assert row["state_now"] == "closed"


def test_a_range_cuts_times_and_keeps_outages_that_began_in_it(tmp_path: Path) -> None:
    snapshot = opened(tmp_path, OUTAGE)
    early = nodes(snapshot, make_filters(frm=at(15), to=at(60)))["n1"]
    assert (early["closed_s"], early["open_s"], early["half_open_s"]) == (5, 38, 2)
    assert (early["opens"], early["recoveries"], early["recover_p50_s"]) == (2, 1, 70)
    assert (early["probes"], early["probe_success"], early["blocked"]) == (1, 0, 1)
    assert early["state_now"] == "closed"
    late = nodes(snapshot, make_filters(frm=at(60)))["n1"]
    assert (late["opens"], late["recoveries"], late["recover_p50_s"]) == (0, 0, None)
    assert (late["open_s"], late["probes"], late["probe_success"]) == (20, 2, 1)


def test_time_to_recover_is_the_nearest_rank_median(tmp_path: Path) -> None:
    events = [sent(0)]
    for begin, lasts in ((100, 40), (200, 10), (300, 20), (400, 30)):
        events += [change(begin, "closed", "open"), change(begin + lasts, "open", "closed")]
    row = nodes(opened(tmp_path, [*events, sent(500)]))["n1"]
    assert (row["opens"], row["recoveries"], row["recover_p50_s"]) == (4, 4, 20)


def test_what_never_recovered_or_never_probed_is_unknown(tmp_path: Path) -> None:
    row = nodes(opened(tmp_path, [sent(0), change(10, "closed", "open"), sent(40, not_sent="breaker")]))["n1"]
    assert (row["state_now"], row["opens"], row["open_s"]) == ("open", 1, 30)
    assert (row["recoveries"], row["recover_p50_s"], row["probes"], row["probe_success"]) == (0, None, 0, None)


def test_an_outage_whose_opening_was_not_seen_has_no_time_to_recover(tmp_path: Path) -> None:
    row = nodes(opened(tmp_path, [sent(0, not_sent="breaker"), change(30, "open", "closed"), sent(40)]))["n1"]
    assert (row["opens"], row["open_s"], row["recoveries"], row["recover_p50_s"]) == (1, 30, 0, None)


def test_unknown_time_stands_in_no_share(tmp_path: Path) -> None:
    events = [sent(0), {**change(60, "", "open"), "state_from": None}, change(70, "open", "closed"), sent(100)]
    row = nodes(opened(tmp_path, events))["n1"]
    assert (row["unknown_s"], row["open_s"], row["closed_s"], row["open_share"]) == (60, 10, 30, 0.25)
    assert (row["recoveries"], row["recover_p50_s"]) == (1, 10)


def test_open_nodes_are_counted_over_all_nodes_of_the_partner_now(tmp_path: Path) -> None:
    events = [sent(second, node) for second, node in ((0, "n1"), (1, "n2"), (2, "n3"), (90, "n1"))]
    events += [
        change(30, "closed", "open", "n1"),
        change(40, "closed", "open", "n2"),
        change(60, "open", "closed", "n2"),
    ]
    events += [attempt(at(3), "B", "q"), change(5, "closed", "half_open", None, "q")]
    snapshot = opened(tmp_path, events)
    for filters in (Filters(), make_filters(to=at(10)), make_filters(partners=["p"])):
        rows = [row for row in tables.rows(snapshot, "breaker_nodes", filters) if row["partner"] == "p"]
        assert [(row["node"], row["state_now"], row["open_nodes"], row["nodes"]) for row in rows] == [
            ("n1", "open", 1, 3),
            ("n2", "closed", 1, 3),
            ("n3", "unknown", 1, 3),
        ]
    assert [(row["node"], row["open_nodes"], row["nodes"]) for row in tables.rows(snapshot, "breaker_nodes")][3:] == [
        (None, 0, 1)
    ]


def test_states_from_the_column_of_attempts_count_alike(tmp_path: Path) -> None:
    events = [
        sent(0, None, breaker="closed"),
        sent(10, None, breaker="open", not_sent="breaker"),
        sent(30, None, breaker="half_open"),
        sent(40, None, breaker="closed"),
    ]
    row = nodes(opened(tmp_path, events))[None]
    assert (row["open_s"], row["half_open_s"], row["closed_s"]) == (20, 10, 10)
    assert (row["probes"], row["probe_success"], row["recover_p50_s"], row["blocked"]) == (1, 1, 30, 1)
