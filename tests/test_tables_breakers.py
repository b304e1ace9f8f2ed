"""Expected breaker states beside the reported ones, and the differences between the two."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dashboard import tables
from dashboard.filters import Filters, make_filters
from dashboard.snapshot import Snapshot
from tests.loaded import Event, at, attempt, opened

pytestmark = pytest.mark.slow


def sent(second: int, *, failed: bool = False, partner: str = "p", node: str | None = None, **values: Any) -> Event:
    status = {"http_status": 503} if failed else {}
    return attempt(at(second), f"A{second}{partner}{node}", partner, node=node, **status | values)


def outage(**values: Any) -> list[Event]:
    """Ten answers and ten failures in 20 s, which opens the reference at 19; five more; an answered probe at 49."""
    events = [sent(second, failed=second >= 10, **values) for second in range(20)]
    events += [sent(second, failed=True, **values) for second in (20, 25, 30, 40, 48)]
    return [*events, sent(49, **values), sent(60, **values)]


def change(second: int, before: str, after: str, node: str | None = None, partner: str = "p") -> Event:
    event = {"event": "breaker", "ts": at(second), "partner": partner, "state_from": before, "state_to": after}
    return event if node is None else event | {"node": node}


def seconds(moment: Any) -> float | None:
    """Seconds after 11:00 UTC."""
    return None if moment is None else (moment.hour - 11) * 3600 + moment.minute * 60 + moment.second


def expected(snapshot: Snapshot, filters: Filters | None = None) -> list[tuple[Any, ...]]:
    """State, begin and end in seconds, attempts, failures, blocked of each expected interval."""
    return [
        (row["state"], seconds(row["from"]), seconds(row["to"]), row["attempts"], row["failures"], row["blocked"])
        for row in tables.rows(snapshot, "breakers", filters or Filters())
        if row["kind"] == "expected"
    ]


def gaps(snapshot: Snapshot, filters: Filters | None = None) -> list[dict[str, Any]]:
    return tables.rows(snapshot, "breaker_gaps", filters or Filters())


OUTAGE = [
    ("closed", 0, 19, 20, 10, 0),
    ("open", 19, 49, 5, 5, 5),
    ("half_open", 49, 49, 1, 0, 0),
    ("closed", 49, None, 1, 0, 0),
]


def test_the_reference_opens_counts_what_is_sent_meanwhile_and_probes(tmp_path: Path) -> None:
    assert expected(opened(tmp_path, outage())) == OUTAGE


def test_it_takes_all_nodes_together(tmp_path: Path) -> None:
    events = [event | {"node": f"n{place % 3}"} for place, event in enumerate(outage())]
    snapshot = opened(tmp_path, events)
    assert expected(snapshot) == OUTAGE
    assert {row["node"] for row in tables.rows(snapshot, "breakers") if row["kind"] == "expected"} == {None}


def test_an_open_that_the_data_outlive_is_followed_by_half_open(tmp_path: Path) -> None:
    events = [*outage()[:25], sent(49, partner="other")]
    assert expected(opened(tmp_path, events), make_filters(partners=["p"])) == [
        ("closed", 0, 19, 20, 10, 0),
        ("open", 19, 49, 5, 5, 5),
        ("half_open", 49, None, 0, 0, 0),
    ]


def test_an_open_that_the_data_do_not_outlive_has_no_end(tmp_path: Path) -> None:
    assert expected(opened(tmp_path, outage()[:25]))[1:] == [("open", 19, None, 5, 5, 5)]


def test_intervals_that_touch_the_range_are_kept_whole(tmp_path: Path) -> None:
    snapshot = opened(tmp_path, outage())
    assert expected(snapshot, make_filters(frm=at(20), to=at(21))) == [OUTAGE[1]]
    assert expected(snapshot, make_filters(frm=at(49), to=at(50))) == OUTAGE[2:]
    assert expected(snapshot, make_filters(frm=at(19), to=at(49))) == [OUTAGE[1]]


def test_reported_comes_before_expected_and_nodes_in_order(tmp_path: Path) -> None:
    events = [event | {"node": f"n{place % 2}"} for place, event in enumerate(outage())]
    rows = tables.rows(opened(tmp_path, [*events, change(30, "closed", "open", "n1")]), "breakers")
    lanes = list(dict.fromkeys((row["kind"], row["node"]) for row in rows))
    assert lanes == [("reported", "n0"), ("reported", "n1"), ("expected", None)]


def test_a_breaker_that_should_have_opened_and_did_not(tmp_path: Path) -> None:
    events = [*outage(node="n1"), change(5, "half_open", "closed", "n1")]
    [row] = gaps(opened(tmp_path, events))
    assert (row["verdict"], seconds(row["from"]), seconds(row["to"])) == ("missed", 19, 49)
    assert (row["wasted"], row["openings"], row["open_nodes"], row["nodes"], row["seconds"]) == (5, 1, 0, 1, 30)


def test_a_breaker_that_opened_late_on_one_of_two_nodes(tmp_path: Path) -> None:
    events = [event | {"node": f"n{place % 2}"} for place, event in enumerate(outage())]
    events += [change(33, "closed", "open", "n1"), change(5, "half_open", "closed", "n0")]
    [row] = gaps(opened(tmp_path, events))
    assert (row["verdict"], row["lag_s"], row["open_nodes"], row["nodes"]) == ("late", 14, 1, 2)


def test_a_breaker_that_opened_as_it_should(tmp_path: Path) -> None:
    for place, second in enumerate((15, 20)):
        folder = tmp_path / str(place)
        folder.mkdir()
        [row] = gaps(opened(folder, [*outage(), change(second, "closed", "open"), change(50, "open", "closed")]))
        assert row["verdict"] == "met"


def test_where_no_state_is_told_it_is_unknown_whether_it_opened(tmp_path: Path) -> None:
    [row] = gaps(opened(tmp_path, outage()))
    assert (row["verdict"], row["wasted"], row["lag_s"], row["nodes"]) == ("untold", 5, None, None)


def test_an_opening_for_which_the_reference_sees_no_need(tmp_path: Path) -> None:
    events = [sent(second) for second in range(10)]
    events += [change(10, "closed", "open"), change(40, "open", "half_open"), change(41, "half_open", "open")]
    events += [change(70, "open", "closed"), sent(80)]
    events += [sent(20, not_sent="breaker"), sent(50, not_sent="breaker")]
    snapshot = opened(tmp_path, events)
    [row] = gaps(snapshot)
    assert (row["verdict"], seconds(row["from"]), seconds(row["to"])) == ("needless", 10, 70)
    assert (row["openings"], row["blocked"], row["wasted"]) == (2, 2, None)
    assert gaps(snapshot, make_filters(frm=at(71))) == []
    assert gaps(snapshot, make_filters(partners=["q"])) == []


def test_failed_probes_make_one_outage_and_the_costliest_comes_first(tmp_path: Path) -> None:
    small = outage(partner="small")
    large = [sent(second, failed=True, partner="large") for second in range(100)]
    rows = gaps(opened(tmp_path, small + large))
    assert [(row["partner"], row["openings"], row["wasted"], row["to"] is None) for row in rows] == [
        ("large", 3, 78, True),
        ("small", 1, 5, False),
    ]


def test_settings_of_a_single_partner(tmp_path: Path) -> None:
    folder = tmp_path / "warehouse"
    folder.mkdir()
    (folder / "retrylens.toml").write_text('[breaker_partners."p"]\nmin_attempts = 10\nopen_s = 5\n', encoding="utf-8")
    found = expected(opened(tmp_path, [sent(second, failed=second >= 5) for second in range(12)]))
    assert found == [("closed", 0, 9, 10, 5, 0), ("open", 9, None, 2, 2, 2)]
