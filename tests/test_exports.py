"""Files of pages and of the command line: whole, the same bytes, and each only for who asked for it."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard import exports, tables
from dashboard.components import data
from dashboard.components.audit import Cases
from dashboard.errors import UserError
from dashboard.filters import Filters
from dashboard.output import csv_bytes
from dashboard.report import bundle, report_files
from dashboard.snapshot import Snapshot, open_snapshot
from dashboard.tables import TABLES
from dashboard.tables.write import csv_chunks, csv_lines, stored
from tests import warehouses
from tests.conftest import REPOSITORY
from tests.loaded import at, attempt, opened

KEYED = {"attempts": {"partners": ("flakywire",)}, "postbacks": {"key": "key-hammer"}}


def wanted(name: str) -> Filters:
    """The filters that a table asks for."""
    return Filters(**KEYED.get(name, {}))


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snapshot]:
    made = open_snapshot(warehouses.simulated(tmp_path_factory.mktemp("simulated")))
    yield made
    made.close()


def printed(warehouse: Path, *arguments: str) -> bytes:
    """What the command line writes to a pipe."""
    command = [sys.executable, "-m", "dashboard.cli", *arguments, "--warehouse", str(warehouse)]
    return subprocess.run(command, cwd=REPOSITORY, stdout=subprocess.PIPE, check=True).stdout


def taken(address: str) -> bytes:
    """What a browser gets at an address of a page."""
    _, token, name = address.split("/")
    with exports.make(token, name) as file:
        return b"".join(exports.pieces(file))


def offered(snapshot: Snapshot, asked: data.Asked, ending: str = "csv") -> bytes:
    """The file of what a page asks."""
    limit = asked.source.limit
    result = data.Result(asked.name, (), (), [], asked.text(snapshot, limit, pruned=False), asked)
    return taken(data.file_address(snapshot, result, ending))


TEXT = st.text(st.characters(codec="utf-8")) | st.sampled_from(['=1+"1"', "-2", "@a", "\ta", "\r", " a ", "a,b", "\n"])
CELLS = {
    "VARCHAR": TEXT,
    "BIGINT": st.integers(-(2**63), 2**63 - 1),
    "HUGEINT": st.integers(-(2**100), 2**100),
    "BOOLEAN": st.booleans(),
    "DOUBLE": st.floats(),
    "DECIMAL(34,9)": st.decimals(min_value=-(10**20), max_value=10**20, places=9),
    "TIMESTAMP": st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1)),
    "VARCHAR[]": st.lists(st.none() | TEXT, max_size=3),
    "MAP(VARCHAR, BIGINT)": st.dictionaries(TEXT.filter(bool), st.none() | st.integers(0, 9), max_size=3),
    "MAP(VARCHAR, DECIMAL(34,9))": st.dictionaries(TEXT.filter(bool), st.just(Decimal("1.250000000")), max_size=3),
}


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(st.tuples(*(st.none() | cell for cell in CELLS.values())), max_size=6))
def test_the_engine_writes_cells_as_the_reports_do(rows: Sequence[tuple[Any, ...]]) -> None:
    columns = {f"a {place}": kind for place, kind in enumerate(CELLS)}
    with duckdb.connect() as cursor:
        written = b"".join(csv_chunks(csv_lines(cursor, stored(cursor, columns, rows))))
    assert written == csv_bytes(list(columns), rows)


def test_a_type_without_a_form_is_refused() -> None:
    with duckdb.connect() as cursor, pytest.raises(TypeError, match="no CSV form of"):
        list(csv_lines(cursor, "select interval 1 day as a"))


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_pages_give_the_bytes_of_the_command_line(snapshot: Snapshot, name: str) -> None:
    filters = wanted(name)
    most = None if TABLES[name].limit is None else 1_000_000
    rows = tables.fetch(snapshot, name, replace(filters, limit=most))
    file = offered(snapshot, data.Asked(name, filters))
    assert file == csv_bytes(rows.columns, rows.values)
    assert file == b"".join(csv_chunks(iter(tables.Lines(snapshot, name, replace(filters, limit=most)))))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("name", ["attempts", "backoff"])
def test_a_pipe_gets_what_a_browser_gets(snapshot: Snapshot, name: str, kind: str) -> None:
    options = ["--partner", "flakywire", "--limit", "1000000"] if name == "attempts" else []
    piped = printed(snapshot.warehouse, "show", name, "--format", kind, *options)
    assert offered(snapshot, data.Asked(name, wanted(name)), kind) == piped


def test_a_table_that_is_cut_says_so_and_its_file_is_whole(snapshot: Snapshot) -> None:
    filters = wanted("attempts")
    lines = tables.Lines(snapshot, "attempts", replace(filters, limit=3))
    assert len(list(lines)) == 4
    assert lines.cut == 3
    every = tables.Lines(snapshot, "attempts", replace(filters, limit=1_000_000))
    assert offered(snapshot, data.Asked("recent_attempts", filters)) == b"".join(csv_chunks(iter(every)))
    assert every.cut is None


def test_the_file_of_cases_has_more_than_the_page(snapshot: Snapshot) -> None:
    few = Cases("true", keys=("partner",), most=2)
    asked = data.Asked("audit_calls", Filters(), shape=few)
    shown = snapshot.query(asked.text(snapshot, None, pruned=True))
    assert len(shown) == 2
    assert offered(snapshot, asked).count(b"\n") > 3


def test_values_of_a_page_make_the_same_files(snapshot: Snapshot) -> None:
    columns, types, values = ("a", "n"), ("VARCHAR", "BIGINT"), [("=x", 1), (None, None)]
    result = data.Result("whatif_partners", columns, types, values, "select 1")
    assert taken(data.file_address(snapshot, result, "csv")) == b"a,n\n'=x,1\n,\n"
    table = taken(data.file_address(snapshot, result, "parquet"))
    assert table[:4] == table[-4:] == b"PAR1"


def test_who_asks_for_another_name_or_token_gets_nothing(snapshot: Snapshot) -> None:
    result = data.Result("calls", (), (), [], "calls", data.Asked("calls", Filters()))
    _, token, name = data.file_address(snapshot, result, "csv").split("/")
    for asked in ((token, "other.csv"), (token, name.replace(".csv", ".exe")), ("0" * 32, name), (token, f"../{name}")):
        with pytest.raises(UserError, match="not on offer"):
            exports.make(*asked)


def test_other_rows_have_another_address(snapshot: Snapshot) -> None:
    def address(asked: data.Asked) -> str:
        text = asked.text(snapshot, None, pruned=False)
        return data.file_address(snapshot, data.Result(asked.name, (), (), [], text, asked), "csv")

    one, other = (data.Asked("calls", Filters(partners=(name,))) for name in ("flakywire", "calm"))
    assert address(one) == address(data.Asked("calls", Filters(partners=("flakywire",))))
    assert address(one) != address(other)


def test_a_file_of_older_data_says_that_they_are_gone(tmp_path: Path) -> None:
    old = opened(tmp_path, [attempt(at(0), "A")])
    result = data.Result("calls", (), (), [], "calls", data.Asked("calls", Filters()))
    address = data.file_address(old, result, "csv")
    old.close()
    (tmp_path / "warehouse" / "snapshots" / f"{old.id}.duckdb").unlink()
    with pytest.raises(UserError, match="is gone; newer data"):
        taken(address)


def test_nothing_is_left_on_the_disk(snapshot: Snapshot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports.tempfile, "tempdir", str(tmp_path))
    assert offered(snapshot, data.Asked("calls", Filters())).startswith(b"stream,")
    assert list(tmp_path.iterdir()) == []


def test_the_zip_of_a_week_is_its_files_and_the_same_everywhere(snapshot: Snapshot, tmp_path: Path) -> None:
    files = report_files(snapshot, "2026-W38", "UTC")
    printed(snapshot.warehouse, "report", "--week", "2026-W38", "--zip", str(tmp_path / "new" / "week.zip"))
    whole = (tmp_path / "new" / "week.zip").read_bytes()
    week = exports.Week(snapshot.warehouse, snapshot.id, "2026-W38", "UTC")
    assert taken(exports.offer("retrylens-2026-W38", ("week",), week, "zip")) == whole == bundle(files)
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        assert archive.namelist() == sorted(files)
        assert {name: archive.read(name) for name in files} == files
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    assert bundle(dict(reversed(files.items()))) == whole
