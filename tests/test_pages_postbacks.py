"""What the page of rate limits and postbacks says on given lines: orders, waits, windows, signatures, back-off."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from dashboard import texts
from dashboard.charts import orders, senders, throttles, windows
from dashboard.components import grid, panel
from dashboard.components import orders as ledger
from dashboard.components import senders as sender_words
from tests.conftest import REPOSITORY
from tests.loaded import Event, attempt, load, postback
from tests.test_tables_postbacks import DAY, PATH, REFUSED, at, order, refusal, sent, signed

APP = REPOSITORY / "dashboard" / "app.py"
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

Rows = list[dict[str, Any]]


class Shown:
    """What a page shows: rows of each table and of what is behind each chart, by panel.

    The first row of the panels in `picked` is chosen.
    """

    def __init__(self) -> None:
        self.tables: dict[str, Rows] = {}
        self.charts: dict[str, Rows] = {}
        self.picked: tuple[str, ...] = ()


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Shown:
    found = Shown()
    show, chart = grid.show, panel.chart

    def noted_table(rows: Rows, zone: Any, *, key: str, on_select: Any = None, **more: Any) -> None:
        show(rows, zone, key=key, on_select=on_select, **more)
        if key.startswith("grid"):
            name = re.sub(r"^grid_(.*?)_[0-9a-f]{10}(_.*)?$", r"\1", key)
            found.tables[name] = list(rows)
            if on_select is not None and name in found.picked:
                on_select(0)

    def noted_chart(view: Any, name: str, result: Any, draw: Any, **more: Any) -> None:
        found.charts[name] = result.rows
        chart(view, name, result, draw, **more)

    monkeypatch.setattr(grid, "show", noted_table)
    monkeypatch.setattr(panel, "chart", noted_chart)
    return found


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Loads events and runs the page on them."""

    def page(events: Iterable[Event] = (), **query: str) -> AppTest:
        warehouse = load(tmp_path, events) if events else tmp_path / "warehouse"
        monkeypatch.setenv("RETRYLENS_WAREHOUSE", str(warehouse))
        test = AppTest.from_file(str(APP), default_timeout=120)
        test.switch_page("app_pages/limits.py")
        for key, value in ({"range": "All"} | query).items():
            test.query_params[key] = value
        test.run()
        assert not test.exception, [error.value for error in test.exception]
        return test

    return page


def said(test: AppTest) -> str:
    """All running text of the page, without the marks that keep it inert."""
    return "\n".join(one.value for one in [*test.main.markdown, *test.main.caption]).replace("\\", "")


def tiles(test: AppTest) -> dict[str, str]:
    return {tile.label: f"{tile.value} | {tile.delta}".replace("\\", "") for tile in test.metric}


ORDERS = [
    order(0, "gone", tenant="t", amount="12.50", currency="EUR", http_status=429, retry_after="10"),
    order(4, "gone", tenant="t", **REFUSED),
    order(5, "late", **REFUSED),
    order(5 + DAY + 1, "late", conversion_id="1"),
    order(6, "quick", conversion_id="2"),
    order(7, "twice", conversion_id="3", **{"tenant": "t"}),
    order(8, "twice", conversion_id="4", **{"tenant": "t"}),
    order(DAY + 10, "open", **REFUSED),
]


def test_lost_conversions_are_named_first(run: Any, shown: Shown) -> None:
    shown.picked = ("order_ledger",)
    test = run(ORDERS)
    [row] = shown.tables["order_ledger"]
    assert [row[name] for name in ("tenant", "event_type", "external_order_id", "key", "requests", "paid")] == [
        "t", "sale", "gone", "k", 2, "EUR 12.5",
    ]  # fmt: skip
    assert row["last_outcome"] == texts.title("postback", "server_error")
    assert tiles(test)["Lost conversions"] == "1 | 25.0% of 4, pending: 1"
    assert tiles(test)["Orders with a fault"] == "1 | 20.0% of 5"
    first, second = shown.tables["order_postbacks"]
    assert (first["pause_s"], second["pause_s"], second["told_s"]) == (None, 4, 10)


@pytest.mark.parametrize(("pending", "compared"), [(0, 2), (1, None)])
def test_lost_conversions_do_not_seem_to_fall_while_more_may_be_lost_yet(pending: int, compared: int | None) -> None:
    tile = ledger.lost_so_far(ledger.counted("lost", 2, 4, "orders.lost", "orders settled"), pending)
    assert (tile.value, tile.amount and tile.amount.value) == ("2", compared)


def test_the_ledger_lists_what_is_asked_for(run: Any, shown: Shown) -> None:
    test = run(ORDERS, orders=texts.title("order", "beyond_day"))
    assert [row["external_order_id"] for row in shown.tables["order_ledger"]] == ["late"]
    assert "Retries more than 24 h after the first request: 1, of 1 order." in said(test)
    run(orders=texts.title("order", "accepted_first"))
    assert [row["external_order_id"] for row in shown.tables["order_ledger"]] == ["twice", "quick"]


def test_orders_are_counted_by_state_and_time(run: Any, shown: Shown) -> None:
    test = run(ORDERS)
    assert {row["state"]: row["orders"] for row in shown.charts["order_states"]} == {
        "lost": 1, "pending": 1, "accepted_after_retry": 1, "accepted_first": 2,
    }  # fmt: skip
    assert [row["orders"] for row in shown.charts["order_times"]] == [0, 0, 0, 0, 0, 0, 0, 0, 1]
    assert "Half of them within 1.0 days" in said(test)


def test_a_fault_opens_the_postbacks_of_its_order(run: Any, shown: Shown) -> None:
    shown.picked = ("order_fault_list",)
    run(ORDERS)
    [row] = shown.tables["order_fault_list"]
    assert (row["fault"], row["external_order_id"]) == (texts.title("fault", "double_count"), "twice")
    assert [row["conversion_id"] for row in shown.tables["order_postbacks"]] == ["3", "4"]


def test_a_fault_without_an_order_opens_the_requests_of_its_idempotency_key(run: Any, shown: Shown) -> None:
    shown.picked = ("order_fault_list",)
    run([sent(second, idempotency_key="I", body_hash=body) for second, body in ((0, "x"), (1, "y"), (2, "x"))])
    assert [row["body_hash"] for row in shown.tables["order_postbacks"]] == ["x", "y", "x"]


def test_no_order_ids_are_unknown_not_healthy(run: Any, shown: Shown) -> None:
    test = run([sent(0)])
    told = said(test)
    assert texts.tell("orders.no_ids") in told
    assert texts.tell("panel.order_states.empty") in told
    assert texts.tell("panel.order_fault_kinds.empty") not in told
    assert tiles(test)["Lost conversions"].startswith("unknown")
    assert tiles(test)["Orders with a fault"].startswith("unknown")


def test_faults_and_duplicates_that_no_log_could_show_are_unknown(run: Any, shown: Shown) -> None:
    bare = {"event": "postback", "key_id": "k", "http_status": 200, "event_type": "sale"}
    test = run([bare | {"ts": at(second), "external_order_id": f"O{second}"} for second in range(5)])
    assert texts.tell("orders.no_faults_told") in said(test)
    assert texts.tell("panel.order_fault_kinds.empty") not in said(test)
    assert tiles(test)["Orders with a fault"].startswith("unknown")
    assert tiles(test)["Duplicates"].startswith("unknown")


def test_no_lost_order_is_said_with_n(run: Any, shown: Shown) -> None:
    told = said(run([order(0, "a", conversion_id="1"), order(1, "b"), order(2 * DAY, "c")]))
    assert "No order of this range was lost (n 3)." in told
    assert texts.tell("panel.order_fault_kinds.empty") in told


def test_waits_are_told_by_key_with_what_was_wasted(run: Any, shown: Shown) -> None:
    shown.picked = ("throttle_keys",)
    dsp = [attempt(at(second), f"A{second}", "dsp", http_status=status, retry_after="10")
           for second, status in ((0, 429), (15, 204))]  # fmt: skip
    test = run([refusal(0), sent(5), sent(4000, "other"), *dsp])
    first, second = shown.tables["throttle_keys"]
    assert (first["key"], first["early"], first["wasted"]) == ("k", 1, 1)
    assert (second["key"], second["on_time"], second["endpoint"]) == ("dsp", 1, None)
    assert tiles(test)["Retry-After ignored"] == "50.0% | n 2 429s judged"
    assert "inside a time to wait, which had to be in vain: 1." in said(test)
    [row] = shown.tables["throttle_recent"]
    assert (row["verdict"], row["retry_after_s"], row["waited_s"]) == (texts.tell("wait.early"), 10, 5)
    found = [(row["from_share"], row["early"], row["on_time"]) for row in shown.charts["throttle_delays"]]
    assert [row for row in found if any(row[1:])] == [(0.5, 1, 0), (1.5, 0, 1)]


def test_429s_without_retry_after_are_unknown_not_obeyed(run: Any, shown: Shown) -> None:
    test = run([refusal(0, told=None), sent(5)])
    assert said(test).count(texts.tell("throttles.not_told")) == 3
    assert tiles(test)["Retry-After ignored"].startswith("unknown")


def test_nobody_refused_is_healthy(run: Any, shown: Shown) -> None:
    told = said(run([sent(5)]))
    assert texts.tell("panel.throttle_keys.empty") in told
    assert texts.tell("throttles.not_told") not in told


def test_windows_over_their_limit_are_named_and_lead_to_their_requests(run: Any, shown: Shown) -> None:
    shown.picked = ("window_fullest",)
    test = run([sent(0, limit=2), sent(1, limit=2), refusal(2, limit=2), sent(60, limit=2), sent(61, "calm", limit=50)])
    first, *_ = shown.tables["window_fullest"]
    assert [first[name] for name in ("over", "key", "requests", "limited", "limit", "used")] == [
        "over", "k", 3, 1, 2, "150.0%",
    ]  # fmt: skip
    assert "Over their limit: 1 of these 3 windows." in said(test)
    assert tiles(test)["Windows over limit"] == "33.3% | n 3 windows"
    assert len(shown.tables["window_postbacks"]) == 3
    assert {row["key"]: row["utilisation"] for row in shown.charts["window_peaks"]} == {"k": 1.5, "calm": 0.02}
    assert {(row["key"], row["requests"], row["limit"]) for row in shown.charts["window_time"]} >= {("k", 3, 2)}


def test_limits_that_no_log_told_are_said_to_be_the_usual_ones(run: Any, shown: Shown) -> None:
    assert texts.tell("windows.not_logged") in said(run([sent(0)]))


def test_endpoints_without_a_limit_are_not_drawn_as_empty(run: Any, shown: Shown) -> None:
    test = run([postback(at(0), endpoint="/r/1")])
    assert texts.tell("windows.no_limits") in said(test)
    assert tiles(test)["Windows over limit"].startswith("unknown")


def test_a_key_opens_its_stale_and_replayed_requests(run: Any, shown: Shown) -> None:
    shown.picked = ("signatures",)
    events = [signed(1000, 400, signature_hash="s"), sent(1010, signature_hash="s"), signed(1020, 1, key_id="calm")]
    test = run(events)
    assert "Stale: 1. Replayed: 1." in said(test)
    assert [row["key"] for row in shown.tables["signatures"]] == ["k", "calm"]
    found = [(row["stale"], row["replayed"], row["skew_s"]) for row in shown.tables["signature_postbacks"]]
    assert found == [(False, True, None), (True, False, 400)]


def test_signatures_that_no_log_told_are_unknown(run: Any, shown: Shown) -> None:
    told = said(run([sent(0)]))
    for name in ("stale_unknown", "replayed_unknown", "no_times"):
        assert texts.tell(f"signatures.{name}") in told


@pytest.mark.parametrize(
    ("row", "words", "together"),
    [
        ({"kind": "exponential", "base_ms": 200.0, "cap_ms": 10_000.0, "jitter": "full", "synchronised": False},
         "exponential, from 200 ms, at most 10,000 ms, full jitter", "no"),
        ({"kind": "immediate", "base_ms": 0.0, "cap_ms": None, "jitter": "none", "synchronised": True},
         "immediate, no jitter", "yes"),
        ({"kind": "fixed", "base_ms": 1_500.0, "cap_ms": None, "jitter": "half", "synchronised": False},
         "fixed, 1,500 ms each time, jitter of half the delay either way", "no"),
        ({"kind": "unclear", "base_ms": None, "cap_ms": None, "jitter": None, "synchronised": None},
         "unclear", "unknown"),
    ],
)  # fmt: skip
def test_back_off_is_told_in_words(row: dict[str, Any], words: str, together: str) -> None:
    assert sender_words.pattern(row) == words
    assert sender_words.together(row) == texts.tell(f"backoff.together_{together}")


def test_a_sender_opens_its_postbacks(run: Any, shown: Shown) -> None:
    shown.picked = ("backoff",)
    run([order(second, f"O{place}", **REFUSED) for place in range(40) for second in (60 * place, 60 * place + 1)])
    [row] = [row for row in shown.tables["backoff"] if row["stream"] == texts.title("sender", "postback")]
    assert (row["key"], row["delays"]) == ("k", 40)
    assert len(shown.tables["postbacks"]) == 80


# Charts


def test_steps_of_time_are_named_in_their_units() -> None:
    steps = [(0, 1), (15, 60), (1800, 7200), (86400, None)]
    assert [orders.step({"from_s": low, "to_s": high}) for low, high in steps] == [
        "0-1 s", "15 s-1 min", "30 min-2 h", "24+ h",
    ]  # fmt: skip


def test_a_window_over_its_limit_says_so_beside_its_colour() -> None:
    row = {"key": "k", "endpoint": PATH, "requests": 3, "limit": 2, "utilisation": 1.5, "windows": 1}
    figure = windows.peaks([row, row | {"requests": 2, "utilisation": 1.0}])
    [bar] = figure.data
    assert [note.text for note in figure.layout.annotations if note.x == 1 and note.yref != "paper"] == [
        "3 of 2, over",
        "2 of 2",
    ]
    assert bar.marker.color[0] != bar.marker.color[1]


def test_a_skew_of_nothing_is_drawn_at_the_edge_and_told_as_it_is() -> None:
    median, _ = senders.skews([{"key": "k", "skew_p50_s": 0.0, "skew_p99_s": 2.0}]).data
    assert list(median.x) == [senders.LEAST_S]
    assert median.customdata[0][1] == "0.0 s"


def test_waits_are_stacked_by_what_came_of_them() -> None:
    rows = [{"from_share": 0.0, "to_share": 0.25, "early": 3, "on_time": 1, "late": 0}]
    figure = throttles.delays(rows, texts.table("wait"))
    assert [list(trace.y) for trace in figure.data] == [[3], [1], [0]]


# What the charts draw, beside the rows they are drawn from


def drawn(figure: Any, axis: str, kind: str = "bar") -> list[float]:
    """The values of all traces of a kind, without gaps."""
    return [float(value) for trace in figure.data if trace.type == kind for value in trace[axis] if value is not None]


def adds_up(axis: str, *columns: str) -> Any:
    """All bars together are the columns' sum."""

    def check(rows: Rows, figure: Any) -> None:
        assert sum(drawn(figure, axis)) == sum(row[name] for row in rows for name in columns)

    return check


def each_key_whole(rows: Rows, figure: Any) -> None:
    """The n of all parts is the number of 429s that told a time to wait."""
    counted = sum(int(point[3].replace(",", "")) for trace in figure.data for point in trace.customdata)
    assert counted == sum(row["with_retry_after"] for row in rows)


def fullest_keys(rows: Rows, figure: Any) -> None:
    """The highest utilisations."""
    known = sorted((row["utilisation"] for row in rows if row["utilisation"] is not None), reverse=True)
    assert drawn(figure, "x") == known[: windows.MOST]


def points_of_rows(rows: Rows, figure: Any) -> None:
    """Every point is a row's utilisation; incidents stand on an axis of their own."""
    known = {round(row["requests"] / row["limit"], 9) for row in rows}
    points = [value for trace in figure.data if trace.yaxis != "y2" for value in trace.y if value is not None]
    assert points
    assert {round(value, 9) for value in points} <= known


def marks_of_keys(rows: Rows, figure: Any) -> None:
    """Two marks a key, at its skews or at the edge."""
    found = drawn(figure, "x", "scatter")
    known = [row for row in rows if row["skew_p50_s"] is not None]
    assert len(found) == 2 * min(len(known), senders.MOST)
    wanted = {max(row[name], senders.LEAST_S) for row in known for name in ("skew_p50_s", "skew_p99_s")}
    assert set(found) <= wanted


CHECKS = {
    "order_fault_kinds": adds_up("x", "faults"),
    "order_states": adds_up("x", "orders"),
    "order_times": adds_up("y", "orders"),
    "retry_after": each_key_whole,
    "throttle_delays": adds_up("y", "early", "on_time", "late"),
    "window_peaks": fullest_keys,
    "window_time": points_of_rows,
    "signature_skew": marks_of_keys,
}
"""By panel; the statement beside a chart gives the rows."""
