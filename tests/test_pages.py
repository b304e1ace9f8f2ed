"""Every page, run without a browser: on simulated data, on hostile names, on little and on no data."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import plotly.graph_objects as go
import pytest
import streamlit
from streamlit.testing.v1 import AppTest

from dashboard import texts
from dashboard.charts.retries import MOST_NUMBERS
from dashboard.components import data, panel
from dashboard.escape import plain
from dashboard.snapshot import open_snapshot
from tests import warehouses
from tests.conftest import REPOSITORY
from tests.test_pages_postbacks import CHECKS as POSTBACK_CHECKS
from tests.warehouses import HOSTILE

APP = REPOSITORY / "dashboard" / "app.py"
PAGES = ("overview", "funnel", "no_bids", "retries", "whatif", "breakers", "limits", "partner", "data")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return warehouses.simulated(tmp_path_factory.mktemp("simulated"))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return warehouses.hostile(tmp_path_factory.mktemp("hostile"))


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return warehouses.one_partner(tmp_path_factory.mktemp("calm"))


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return warehouses.empty(tmp_path_factory.mktemp("empty"))


@pytest.fixture(autouse=True)
def leave_environment() -> Iterator[None]:
    before = os.environ.get("RETRYLENS_WAREHOUSE")
    yield
    if before is None:
        os.environ.pop("RETRYLENS_WAREHOUSE", None)
    else:
        os.environ["RETRYLENS_WAREHOUSE"] = before


def run(warehouse: Path, page: str, **query: str) -> AppTest:
    """The page after its first run with these values in the address."""
    os.environ["RETRYLENS_WAREHOUSE"] = str(warehouse)
    test = AppTest.from_file(str(APP), default_timeout=120)
    if page != "overview":
        test.switch_page(f"app_pages/{page}.py")
    for name, value in ({"range": "All"} | query).items():
        test.query_params[name] = value
    test.run()
    assert not test.exception, [error.value for error in test.exception]
    return test


def words(test: AppTest) -> list[str]:
    """Every text of the page that a browser would read as markdown."""
    found: list[str] = []
    for block in (test.main, test.sidebar):
        for element in [*block.markdown, *block.caption, *block.title, *block.header, *block.metric, *block.expander]:
            found += [
                value
                for part in ("value", "label", "help", "delta")
                if isinstance(value := getattr(element, part, None), str)
            ]
        for kind in ("page_link", "popover", "button", "download_button"):
            found += [str(getattr(element.proto, "label", "")) for element in block.get(kind)]
    return found


@pytest.mark.parametrize("page", PAGES)
def test_page_shows_its_title_freshness_and_rejects(simulated: Path, page: str) -> None:
    test = run(simulated, page)
    assert test.title[0].value == texts.tell(f"{page}.title")
    said = " ".join(words(test))
    assert "Newest event 2026" in said.replace("\\", "")
    assert "Rejected lines: 2" in said


@pytest.mark.parametrize("page", PAGES)
def test_page_survives_little_data(calm: Path, page: str) -> None:
    assert run(calm, page).title[0].value


@pytest.mark.parametrize("page", PAGES)
def test_page_survives_no_data(empty: Path, page: str) -> None:
    assert "holds no events yet" in " ".join(words(run(empty, page)))


def test_no_data_is_not_called_healthy(empty: Path) -> None:
    said = " ".join(words(run(empty, "overview")))
    assert "Unknown: the warehouse holds no events yet" in said
    assert "Nothing. No" not in said
    assert "Needs attention (0)" not in said
    assert "healthy" not in " ".join(words(run(empty, "limits")))


def test_nothing_to_attend_to_is_said(calm: Path) -> None:
    assert any("Nothing" in word for word in words(run(calm, "overview")))


def test_no_breaker_state_is_unknown_not_healthy(calm: Path) -> None:
    test = run(calm, "breakers")
    assert "unknown, not healthy" in " ".join(words(test))
    assert {metric.value for metric in test.metric} == {"unknown"}


def test_open_breakers_are_named_with_their_nodes(tmp_path: Path) -> None:
    common = {"auction_id": "A", "partner": "p", "http_status": 204, "event": "attempt"}
    events = [common | {"ts": f"2026-09-14T10:00:0{place}Z", "node": f"n{place}"} for place in (1, 2, 3)]
    opening = {"event": "breaker", "partner": "p", "ts": "2026-09-14T10:00:02Z", "state_from": "closed"}
    events += [opening | {"node": "n1", "state_to": "open"}, opening | {"node": "n2", "state_to": "half_open"}]
    warehouses.command(
        "ingest", warehouses.write(tmp_path / "log.jsonl", events), "--warehouse", tmp_path / "warehouse"
    )
    test = run(tmp_path / "warehouse", "breakers")
    assert "Open now: **p** on 1 of 3 nodes" in words(test)
    assert {tile.label: tile.value for tile in test.metric}["Open now"] == "1"


def test_missing_warehouse_is_one_sentence(tmp_path: Path) -> None:
    test = run(tmp_path / "nowhere", "overview")
    assert test.title[0].value == texts.tell("app.no_data")
    assert "no warehouse here" in test.markdown[0].value.replace("\\", "")


def test_newer_snapshot_is_one_sentence(calm: Path, tmp_path: Path) -> None:
    newer = tmp_path / "newer"
    (newer / "snapshots").mkdir(parents=True)
    with duckdb.connect(str(newer / "snapshots" / "later.duckdb")) as connection:
        connection.execute("create table meta as select 'schema_version' as key, '999' as value")
    (newer / "CURRENT").write_text("later\n")
    assert "newer RetryLens" in run(newer, "overview").markdown[0].value.replace("\\", "")


def test_bogus_filters_fall_back(simulated: Path) -> None:
    usual = [metric.value for metric in run(simulated, "overview", range="24h").metric]
    test = run(simulated, "overview", range="bogus", partner="nobody", zone="Mars/Olympus", **{"from": "soon"})
    assert [metric.value for metric in test.metric] == usual


def test_custom_range_and_partner_narrow_the_figures(simulated: Path) -> None:
    every = run(simulated, "overview").metric[0].value
    some = (
        run(simulated, "overview", range="Custom", **{"from": "2026-09-14T10:00", "to": "2026-09-14T10:10"})
        .metric[0]
        .value
    )
    assert some != every


def retry_figures(folder: Path, second: dict[str, Any]) -> dict[str, str]:
    """Value and note of each tile of the page Retries: a failed original, a first retry in vain, a `second` one."""
    attempts = [{"http_status": 503, "latency_ms": 20}, {"http_status": 503, "latency_ms": 50}, second]
    common = {"event": "attempt", "auction_id": "A", "partner": "p"}
    events = [common | {"ts": f"2026-09-14T10:00:00.{place}Z"} | one for place, one in enumerate(attempts)]
    warehouses.command("ingest", warehouses.write(folder / "log.jsonl", events), "--warehouse", folder / "warehouse")
    tiles = run(folder / "warehouse", "retries").metric
    return {tile.label: f"{tile.value} | {tile.delta}".replace("\\", "") for tile in tiles}


def test_wasted_and_late_retries_are_told_with_what_was_judged(tmp_path: Path) -> None:
    late = {"http_status": 200, "bids": 1, "latency_ms": 100, "elapsed_ms": 200, "budget_ms": 300}
    figures = retry_figures(tmp_path, late)
    assert figures["Wasted retries"] == "1 | of 2, took 50.0 ms"
    assert figures["Late retries"] == "1 | 100.0% of 1 judged"
    assert figures["Retry bid rate"] == "50.0% | n 2 retries"


def test_late_retries_are_unknown_where_none_could_be_judged(tmp_path: Path) -> None:
    figures = retry_figures(tmp_path, {"http_status": 503})
    assert figures["Late retries"] == "unknown | none could be judged"
    assert figures["Wasted retries"] == "2 | of 2, took 50.0 ms"


# Hostile names


@pytest.mark.parametrize("page", PAGES)
def test_hostile_names_stay_text(hostile: Path, page: str) -> None:
    test = run(hostile, page)
    check_inert(test)


@pytest.mark.parametrize("place", range(len(HOSTILE)))
def test_hostile_partner_page_stays_text(hostile: Path, place: int) -> None:
    test = run(hostile, "partner", name=plain(HOSTILE[place]))
    assert HOSTILE[place] in [box.value for box in test.selectbox]
    check_inert(test)


def check_inert(test: AppTest) -> None:
    """No markdown holds an unescaped name, no chart a tag, an endless label or a template of the name's."""
    for text in words(test):
        bare = re.sub(r"\\.", "", text)
        assert not any(name in bare for name in HOSTILE if set(name) & set("<[*$:#|%"))
        assert not re.search(r"<(b|img|script|a)\b|!\[|\]\(http|:red\[|\$x|https?://", bare), text[:300]
        assert "\u202e" not in text
    for chart in test.get("plotly_chart"):
        spec = chart.proto.spec
        assert not re.search(r"<(b|img|script|a)\b|\$x|9{80}", spec)


# Charts, their numbers and their SQL


class Drawn:
    """What panels drew: name, result and figure."""

    def __init__(self) -> None:
        self.charts: list[tuple[str, data.Result, go.Figure]] = []


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Drawn:
    streamlit.cache_resource.clear()
    noted = Drawn()
    real = panel.chart

    def chart(view: Any, name: str, result: data.Result, draw: Any, **more: Any) -> None:
        def keep() -> go.Figure:
            figure = draw()
            noted.charts.append((name, result, figure))
            return figure

        real(view, name, result, keep, **more)

    monkeypatch.setattr(panel, "chart", chart)
    return noted


@pytest.mark.parametrize("query", [{}, {"stream": "postback", "name": "key-hammer"}], ids=["exchange", "postback"])
@pytest.mark.parametrize("page", [page for page in PAGES if page != "data"])
def test_shown_sql_gives_the_numbers_of_the_chart(
    simulated: Path, drawn: Drawn, page: str, query: dict[str, str]
) -> None:
    test = run(simulated, page, **query)
    shown = {code.value for code in test.code}
    assert drawn.charts
    snapshot = open_snapshot(simulated)
    with duckdb.connect(str(simulated / "snapshots" / f"{snapshot.id}.duckdb"), read_only=True) as shell:
        for name, result, figure in drawn.charts:
            assert result.sql in shown, name
            found = shell.execute(result.sql)
            columns = [column[0] for column in found.description]
            values = found.fetchall()
            assert values == result.values, name
            CHECKS[name]([dict(zip(columns, row, strict=True)) for row in values], figure)
    snapshot.close()


def test_shown_sql_gives_the_figures_of_the_breaker_table(simulated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables: list[tuple[data.Result, Rows]] = []
    real = panel.table

    def table(view: Any, name: str, result: data.Result, rows: Rows, **more: Any) -> None:
        tables.append((result, rows))
        real(view, name, result, rows, **more)

    monkeypatch.setattr(panel, "table", table)
    test = run(simulated, "breakers")
    [(result, rows)] = tables
    assert result.sql in {code.value for code in test.code}
    snapshot = open_snapshot(simulated)
    with duckdb.connect(str(simulated / "snapshots" / f"{snapshot.id}.duckdb"), read_only=True) as shell:
        found = shell.execute(result.sql).fetchall()
    snapshot.close()
    assert found == result.values
    assert sorted((row["partner"], row["node"], row["opens"]) for row in rows) == sorted(
        (row["partner"], row["node"], row["opens"]) for row in result.rows
    )
    assert sum(row["opens"] for row in rows) > 0
    assert {metric.label: metric.value for metric in test.metric}["Openings"] == f"{result.total('opens'):,}"


Rows = list[dict[str, Any]]


def bars(figure: go.Figure, axis: str) -> float:
    return sum(value or 0 for trace in figure.data if trace.type == "bar" for value in trace[axis])


def same_sum(column: str, axis: str = "x") -> Any:
    """All bars together are the column's sum."""

    def check(rows: Rows, figure: go.Figure) -> None:
        assert bars(figure, axis) == sum(row[column] or 0 for row in rows)

    return check


def same_values(column: str, trace: str) -> Any:
    """The known values of a column are the marks of the chart's traces of a type."""

    def check(rows: Rows, figure: go.Figure) -> None:
        kinds = [one for one in figure.data if one.type == trace]
        if trace == "heatmap":
            first = sorted({row["retry_no"] for row in rows})[:MOST_NUMBERS]
            rows = [row for row in rows if row["retry_no"] in first]
        marks = {
            round(float(v), 9) for one in kinds for v in flat(one.z if trace == "heatmap" else one.x) if v is not None
        }
        assert marks >= {round(float(row[column]), 9) for row in rows if row[column] is not None}

    return check


def flat(values: Any) -> list[Any]:
    return [part for value in values for part in (value if isinstance(value, list | tuple) else [value])]


def share_of_each(column: str) -> Any:
    """Each row of shares is whole, and its n is the column's sum for its name."""

    def check(rows: Rows, figure: go.Figure) -> None:
        counted: dict[str, int] = {}
        for trace in figure.data:
            for label, _, _, number, _ in trace.customdata:
                counted[label] = counted.get(label, 0) + int(number.replace(",", ""))
        wanted: dict[str, int] = {}
        for row in rows:
            wanted[row["partner"]] = wanted.get(row["partner"], 0) + row[column]
        assert counted == wanted

    return check


def parts_of_lines(part: str, whole: str) -> Any:
    """Numerators and denominators in the hover of all lines are those of the rows of the drawn partners."""

    def check(rows: Rows, figure: go.Figure) -> None:
        for trace in figure.data:
            if trace.type != "scatter" or trace.yaxis == "y2":
                continue
            wanted = [row for row in rows if row["partner"] == trace.name]
            for place, column in ((1, part), (2, whole)):
                told = sum(
                    int(point[place].replace(",", "")) for point in trace.customdata if point[place] != "unknown"
                )
                assert told == sum(row[column] for row in wanted)

    return check


def spans(rows: Rows, figure: go.Figure) -> None:
    """A bar for each interval that lasts."""
    assert sum(len(trace.x) for trace in figure.data if trace.type == "bar") <= len(rows)
    assert len({trace.name for trace in figure.data if trace.type == "bar"}) == len({row["state"] for row in rows})


def first_losses(rows: Rows, figure: go.Figure) -> None:
    """The largest losses."""
    counts = sorted((row["count"] for row in rows), reverse=True)
    assert list(figure.data[0].x) == counts[: len(figure.data[0].x)]


CHECKS = {
    **dict.fromkeys(("funnel_call", "funnel_auction", "funnel_postback"), same_sum("count")),
    **dict.fromkeys(("losses_call", "losses_auction", "losses_postback"), first_losses),
    **dict.fromkeys(("outcome_groups", "outcome_time"), same_sum("attempts", "y")),
    "no_bid_time": same_sum("no_bids", "y"),
    "no_bid_reasons": same_sum("no_bids"),
    "no_bid_groups": same_sum("no_bids"),
    "no_bid_partners": share_of_each("no_bids"),
    "retry_heatmap": same_values("success_low", "heatmap"),
    "effective_actual": same_values("effective_success", "scatter"),
    "amplification": same_values("amplification", "scatter"),
    "amplification_time": parts_of_lines("attempts_sent", "calls_sent"),
    "fate": share_of_each("calls"),
    "breaker_timeline": spans,
    "limit_rates": same_values("rate", "bar"),
    "limit_time": parts_of_lines("limited", "requests"),
    "postback_time": same_sum("postbacks", "y"),
    "budget_left": same_sum("retries", "y"),
    "whatif_partners": same_values("amplification_after", "scatter"),
    **POSTBACK_CHECKS,
    "latency": same_values("p95_ms", "scatter"),
}


# Texts


def test_every_panel_has_all_its_texts() -> None:
    for name, found in texts.table("panel").items():
        if isinstance(found, dict):
            assert set(found) == {"title", "about", "alt", "empty"}, name


def test_every_text_that_is_asked_for_exists() -> None:
    sources = "".join(path.read_text() for path in (REPOSITORY / "dashboard").rglob("*.py"))
    for key in re.findall(r'\b(?:say|tell)\(\s*"([a-z_.]+)"', sources):
        assert isinstance(texts._walk(key), str), key


def test_every_metric_that_is_named_is_in_the_dictionary(calm: Path) -> None:
    sources = "".join(path.read_text() for path in (REPOSITORY / "dashboard" / "components").rglob("*.py"))
    named = set(re.findall(r'metric="([a-z_0-9.]+)"', sources))
    for group in re.findall(r"metrics=\(([^)]*)\)", sources):
        named |= set(re.findall(r'"([a-z_0-9.]+)"', group))
    snapshot = open_snapshot(calm)
    known = {row[0] for row in snapshot.query("select name from metrics")}
    snapshot.close()
    assert len(named) > 15
    assert named <= known


def test_fate_of_no_calls_is_not_called_healthy(calm: Path) -> None:
    said = " ".join(
        words(run(calm, "retries", **{"range": "Custom", "from": "2026-01-01T00:00", "to": "2026-01-02T00:00"}))
    )
    assert texts.tell("retries.no_calls") in said
    assert texts.tell("panel.fate.empty") not in said


def test_success_panel_counts_what_its_tile_counts(simulated: Path, drawn: Drawn) -> None:
    test = run(simulated, "retries")
    [result] = [result for name, result, _ in drawn.charts if name == "effective_actual"]
    n = texts.say("explain.n", n=result.total("judged_calls"), unit=texts.tell("unit.calls"))
    tile = next(metric for metric in test.metric if metric.label == texts.say("tile.effective"))
    title = next(one for one in test.header if texts.say("panel.effective_actual.title") in one.value)
    assert n in tile.help
    assert n in title.help
