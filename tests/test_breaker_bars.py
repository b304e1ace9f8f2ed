"""Intervals of breakers as the bars of a chart: what lies closer than eyes part is one bar, and nothing is lost."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.charts import breakers
from dashboard.charts.breakers import GAP_SHARE, MOST_BARS, Piece, fitting, pieces
from dashboard.components.shapes import Joined
from dashboard.filters import epoch_us

START = datetime(2026, 9, 14)
END = START + timedelta(hours=10)
GAP = (END - START) / GAP_SHARE
NAMES = {"closed": "closed", "half_open": "half open", "open": "open", "unknown": "unknown"}


def interval(state: str, first_s: float, last_s: float | None, **more: object) -> dict[str, object]:
    """An interval of the table `breakers`, in seconds after the start of the range."""
    end = None if last_s is None else START + timedelta(seconds=last_s)
    lane = {"partner": "p", "kind": "reported", "node": "n", "attempts": 1, "blocked": 2}
    return lane | {"state": state, "from": START + timedelta(seconds=first_s), "to": end} | more


def seconds(piece: Piece) -> tuple[float, float]:
    """Begin and end of a bar after the start of the range."""
    return (piece.start - START).total_seconds(), (piece.end - START).total_seconds()


def test_openings_closer_than_a_gap_are_one_bar_and_others_two() -> None:
    rows = [interval("open", 0, 10), interval("open", 81, 91), interval("open", 163, 164)]
    first, second = pieces(rows, START, END, GAP)
    assert (seconds(first), first.count, first.seconds) == ((0, 91), 2, 20)
    assert (first.attempts, first.blocked) == (2, 4)
    assert (seconds(second), second.count) == ((163, 164), 1)


def test_a_bar_says_how_many_intervals_it_is_and_how_long_they_lasted() -> None:
    found = pieces([interval("open", 0, 10), interval("open", 20, 30)], START, END, GAP)
    [bar, marks] = breakers.timeline(found, START, END, NAMES).data
    assert bar.customdata[0][1] == "2 times from 14 Sep 00:00:00 to 14 Sep 00:00:30, 20 s in all"
    assert list(marks.x) == [START]


@pytest.mark.parametrize("change", [{"partner": "q"}, {"node": "m"}, {"node": None}, {"kind": "expected"}])
def test_lanes_are_never_joined(change: dict[str, object]) -> None:
    rows = [interval("open", 0, 10), interval("open", 12, 20, **change)]
    assert [piece.count for piece in pieces(rows, START, END, GAP)] == [1, 1]


def test_what_one_interval_does_not_know_the_bar_does_not() -> None:
    [piece] = pieces([interval("open", 0, 10, attempts=None), interval("open", 12, 20)], START, END, GAP)
    assert (piece.attempts, piece.blocked) == (None, 4)


def test_bars_keep_to_the_range_and_an_open_end_is_that_of_the_range() -> None:
    rows = [interval("closed", -50, 40), interval("open", 40, None), interval("open", 99 * 3_600, None)]
    closed, opened = pieces(rows, START, END, GAP)
    assert seconds(closed) == (0, 40)
    assert seconds(opened) == (40, 36_000)


def test_a_chart_of_too_many_bars_bridges_wider_gaps_and_keeps_all_lanes() -> None:
    lanes = [{"partner": f"p{number}", "node": None} for number in range(20)]
    rows = [interval("open", 150 * n, 150 * n + 1, **lane) for n in range(MOST_BARS // 20 + 1) for lane in lanes]
    rows += [interval("closed", 0, 36_000, partner="calm")]
    found, gap = fitting(rows, START, END)
    assert gap == 4 * GAP, "openings every 150 s"
    assert len(found) == 20 + 1
    assert sum(piece.count for piece in found) == len(rows)
    assert fitting(rows[:5], START, END)[1] == GAP


spans = st.tuples(
    st.sampled_from(["closed", "open", "half_open"]),
    st.sampled_from(["p", "q"]),
    st.integers(0, 35_000),
    st.integers(1, 400),
)


@settings(deadline=None)
@given(st.lists(spans, max_size=60), st.sampled_from([None, 20_000]), st.sampled_from([1, 4]))
def test_bars_of_what_the_engine_joined_are_those_of_single_intervals(
    drawn: list[tuple[str, str, int, int]], cut_s: int | None, wider: int
) -> None:
    rows = [
        interval(state, start, None if start == cut_s else start + lasted, partner=name, attempts=lasted % 7 or None)
        for state, name, start, lasted in drawn
    ]
    names = ("partner", "node", "kind", "state", "from", "to", "attempts", "blocked")
    shape = Joined(
        names[:4],
        names[6:],
        epoch_us(START.replace(tzinfo=UTC)),
        epoch_us(END.replace(tzinfo=UTC)),
        GAP // timedelta(microseconds=1),
    )
    with duckdb.connect() as engine:
        engine.execute(
            'create table given (partner varchar, node varchar, kind varchar, state varchar, "from" timestamp,'
            ' "to" timestamp, attempts bigint, blocked bigint)'
        )
        for row in rows:
            engine.execute("insert into given values (?, ?, ?, ?, ?, ?, ?, ?)", [row[name] for name in names])
        found = engine.execute(shape.over("select * from given"))
        columns = [column[0] for column in found.description]
        joined = [dict(zip(columns, values, strict=True)) for values in found.fetchall()]
    assert sum(row["intervals"] for row in joined) == len(rows)
    assert by_place(pieces(joined, START, END, wider * GAP)) == by_place(pieces(rows, START, END, wider * GAP))


def by_place(found: list[Piece]) -> list[Piece]:
    """Bars in an order that does not depend on that of the intervals."""
    return sorted(found, key=lambda piece: (piece.lane, piece.state, piece.start))


@given(st.lists(spans, max_size=60))
def test_joining_loses_no_interval_and_leaves_wide_gaps(drawn: list[tuple[str, str, int, int]]) -> None:
    rows = [interval(state, start, start + lasted, partner=name) for state, name, start, lasted in drawn]
    found = pieces(rows, START, END, GAP)
    assert sum(piece.count for piece in found) == len(rows)
    assert sum(piece.seconds for piece in found) == sum(lasted for _, _, _, lasted in drawn)
    assert sum(piece.blocked or 0 for piece in found) == 2 * len(rows)
    for lane in {(piece.lane, piece.state) for piece in found}:
        bars = [piece for piece in found if (piece.lane, piece.state) == lane]
        assert all(after.start - before.end >= GAP for before, after in pairwise(bars))
