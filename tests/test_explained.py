"""Every number explains itself, on every page: what it is, what it is made of, when it is, and where it comes from."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import plotly.graph_objects as go
import pytest
from streamlit.testing.v1 import AppTest

from dashboard.components import explain, grid
from dashboard.snapshot import open_snapshot
from ingest.settings import Settings
from tests import warehouses
from tests.test_pages import PAGES, leave_environment, run

__all__ = ["leave_environment"]
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

STREAMS = pytest.mark.parametrize(
    "query", [{}, {"stream": "postback", "name": "key-hammer"}], ids=["exchange", "postback"]
)
EVERY_PAGE = pytest.mark.parametrize("page", [*PAGES, "auction", "order"])
UNRANGED = {"Open now", "Newest attempt", "Newest postback", "Lines read", "Rejected lines", "Refused files"}
"""Figures of all data, whatever the range."""

ZONE = "Europe/Kyiv"


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return warehouses.simulated(tmp_path_factory.mktemp("simulated"))


@pytest.fixture(scope="module")
def named(simulated: Path) -> dict[str, str]:
    """What the pages of one thing are asked for: the auction with most attempts, the order with most postbacks."""
    snapshot = open_snapshot(simulated)
    [[auction]] = snapshot.query("select mode(auction_id) from attempts")
    [[order]] = snapshot.query("select mode(external_order_id) from postbacks")
    snapshot.close()
    return {"auction": auction, "order": order}


def leaves(block: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """Every element of a page with the blocks that it stands in, outermost first."""
    for child in block.children.values():
        if hasattr(child, "children"):
            yield from leaves(child, (*above, child))
        else:
            yield child, above


FIGURES = "The tables from which these figures are taken"


def doors(test: AppTest, said: str = "") -> list[Any]:
    """The doors of a page, those that say this."""
    return [door for door in test.get("popover") if any(said in one.value for one in (*door.caption, *door.markdown))]


def dates(figure: go.Figure) -> bool:
    return any(trace.x is not None and len(trace.x) and str(trace.x[0])[:4] == "2026" for trace in figure.data)


@STREAMS
@EVERY_PAGE
def test_every_figure_tells_definition_parts_n_range_and_freshness(
    simulated: Path, named: dict[str, str], page: str, query: dict[str, str]
) -> None:
    test = run(simulated, page, **named, **query, zone=ZONE)
    assert bool(test.metric) is (page not in ("funnel", "auction", "order"))
    for tile in test.metric:
        told = tile.help.replace("\\", "")
        for part in ("**: ", "Numerator: ", "Denominator: ", "n = ", "Newest event: 2026-09-14 "):
            assert part in told, (tile.label, told)
        assert ("Range: 2026-09-14 " in told) is (tile.label not in UNRANGED), tile.label
        assert told.count(f"({ZONE})") >= 1, tile.label
        if "%" in tile.value and tile.label not in ("Time open", "Effective success after"):
            assert "Here: " in told, tile.label
            assert "95% interval (Wilson): " in told, tile.label


@STREAMS
@EVERY_PAGE
def test_the_door_of_figures_has_statements_that_run_as_they_stand(
    simulated: Path, page: str, query: dict[str, str]
) -> None:
    test = run(simulated, page, **query)
    behind = [code.value for door in doors(test, FIGURES) for code in door.code]
    assert bool(behind) is bool(test.metric)
    snapshot = open_snapshot(simulated)
    with duckdb.connect(str(simulated / "snapshots" / f"{snapshot.id}.duckdb"), read_only=True) as shell:
        for text in behind:
            assert shell.execute(text).description
    snapshot.close()


def test_the_door_of_figures_gives_what_the_figures_show(simulated: Path) -> None:
    test = run(simulated, "overview")
    [door] = doors(test, FIGURES)
    snapshot = open_snapshot(simulated)
    with duckdb.connect(str(simulated / "snapshots" / f"{snapshot.id}.duckdb"), read_only=True) as shell:
        [row] = shell.execute(door.code[0].value).df().to_dict("records")
    snapshot.close()
    tiles = {tile.label: tile for tile in test.metric}
    assert tiles["Calls"].value == f"{row['calls']:,}"
    assert f"Here: {row['answered_calls']:,} of {row['judged_calls']:,}." in tiles["Effective success"].help.replace(
        "\\", ""
    )


@STREAMS
@EVERY_PAGE
def test_every_chart_has_words_a_table_and_names_the_zone_of_its_times(
    simulated: Path, named: dict[str, str], page: str, query: dict[str, str]
) -> None:
    test = run(simulated, page, **named, **query, zone=ZONE)
    charts = [(one, above) for one, above in leaves(test.main) if one.type == "plotly_chart"]
    assert bool(charts) is (page != "data")
    for chart, above in charts:
        assert len(chart.proto.alt) > 20
        within = [(one, [block.type for block in blocks]) for one, blocks in leaves(above[-1])]
        assert any(one.type == "dataframe" and "popover" in blocks for one, blocks in within)
        assert any(one.type == "code" and "popover" in blocks for one, blocks in within)
        figure = go.Figure(json.loads(chart.proto.spec))
        if dates(figure):
            assert figure.layout.xaxis.title.text == ZONE
            assert f"Times: {ZONE}" in chart.proto.alt


def test_the_partners_table_has_every_table_that_it_is_made_of_behind_its_door(simulated: Path) -> None:
    test = run(simulated, "overview")
    [door] = [one for one in doors(test) if len(one.code) > 1 and one not in doors(test, FIGURES)]
    behind = [one.value.replace("\\", "") for one in door.markdown]
    assert behind == ["**calls**", "**retries**", "**rate_limits**", "**latency**", "**flags**"]
    assert len(door.code) == 5


def blocks(block: Any) -> Iterator[Any]:
    """A block and all blocks in it."""
    yield block
    for child in block.children.values():
        if hasattr(child, "children"):
            yield from blocks(child)


def leads_to_its_data(table: Any, above: tuple[Any, ...]) -> bool:
    """Whether a table stands behind a door or beside one, or beside links to its files, or is what the user gave."""
    beside = list(blocks(above[-1]))
    files = any("download=" in one.proto.body for one, _ in leaves(above[-1]) if one.type == "html")
    return files or any(block.type == "popover" for block in (*above, *beside)) or "max_retries" in table.value


@STREAMS
@EVERY_PAGE
def test_every_table_has_words_a_door_and_names_the_zone_of_its_times(
    simulated: Path, named: dict[str, str], page: str, query: dict[str, str]
) -> None:
    test = run(simulated, page, **named, **query, zone=ZONE)
    for table, above in leaves(test.main):
        if table.type != "dataframe":
            continue
        assert table.proto.alt
        columns = json.loads(table.proto.columns)
        times = [name for name, kind in table.value.dtypes.items() if str(kind).startswith("datetime")]
        for name in times:
            assert columns[name]["label"].endswith(f", {ZONE}"), (table.key, name)
        assert leads_to_its_data(table, above), table.proto.alt


Z = Settings().interval_z


@pytest.mark.parametrize(
    ("part", "whole", "low", "high"), [(10, 10, 0.722467, 1), (4, 10, 0.168180, 0.687326), (0, 10, 0, 0.277533)]
)
def test_the_interval_is_wilsons(part: int, whole: int, low: float, high: float) -> None:
    assert explain.wilson(part, whole, Z) == pytest.approx((low, high), abs=1e-6)


@pytest.mark.parametrize(("z", "level"), [(1.959964, "95%"), (1.644854, "90%"), (3, "99.7%")])
def test_the_interval_is_named_by_the_setting(z: float, level: str) -> None:
    assert f"{level} interval (Wilson)" in explain.made(4, 10, z).replace("\\", "")


def test_a_quotient_tells_its_parts_and_a_share_its_interval() -> None:
    assert explain.made(110, 100) == "Here: 110 of 100."
    assert explain.made(4, 10, Z).replace("\\", "") == "Here: 4 of 10. 95% interval (Wilson): 16.8% - 68.7%."
    assert explain.made(None, 10, Z) == explain.made(0, 0, Z) == ""


@pytest.mark.parametrize(
    ("shares", "digits", "shown"),
    [
        ([0.46071, 1.0, 0.0, None], 3, [0.461, 1.0, 0.0]),
        ([0.5, 0.0004], 4, [0.5, 0.0004]),
        ([0.1, 0.99996], 5, [0.1, 0.99996]),
        ([1.5], 3, [1.5]),
    ],
)
def test_a_column_of_shares_has_one_decimal_or_as_many_as_tell_each_from_none_and_all(
    shares: list[float | None], digits: int, shown: list[float]
) -> None:
    frame = grid.frame([{"rate": share} for share in shares], ZoneInfo("UTC"))
    assert frame["rate"].dropna().tolist() == shown
    assert grid.column("rate", frame["rate"])["type_config"]["step"] == 10**-digits


def test_a_rate_of_nothing_says_of_what_there_is_none(tmp_path: Path) -> None:
    tiles = {tile.label: tile for tile in run(warehouses.one_partner(tmp_path), "overview").metric}
    assert (tiles["Retry success"].value, tiles["Retry success"].delta) == ("unknown", "no retries")


def test_a_file_is_told_by_its_name_and_where_it_lies_apart(simulated: Path) -> None:
    frames = [frame.value for frame in run(simulated, "data").dataframe if "folder" in frame.value]
    assert [list(frame.columns)[-1] for frame in frames] == ["folder", "folder"]
    for frame in frames:
        assert not frame["file"].str.contains("/").any()
        assert (frame["folder"] + frame["file"]).map(Path).map(Path.is_file).all()
