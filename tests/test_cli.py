"""The command line as scripts meet it: exit codes, one-line errors, streams kept apart, a fast start."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.loaded import at, attempt, load, postback

COMMANDS = (
    "show",
    "flags",
    "report",
    "whatif",
    "policy",
    "status",
    "serve",
    "demo",
    "ingest",
    "simulate",
    "formats",
    "verify",
)


def run(*args: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if name != "RETRYLENS_WAREHOUSE"}
    env |= {"PYTHONPATH": str(REPOSITORY), "NO_COLOR": "1"} | environ
    return subprocess.run(
        [sys.executable, "-m", "dashboard.cli", *args], cwd=cwd, env=env, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose `warehouse` holds a few calls and a postback, one retry of a no-bid among them."""
    folder = tmp_path_factory.mktemp("here")
    events = [attempt(at(second), f"A{second}", "=dsp\x1b[2J") for second in range(3)]
    load(folder, [*events, attempt(at(5), "A0", "=dsp\x1b[2J"), postback(at(0), order="o")])
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_with_an_example(here: Path, command: str) -> None:
    done = run(command, "--help", cwd=here)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Example: retrylens {command}" in done.stdout
    assert command == "simulate" or "--warehouse" in done.stdout


def test_the_help_names_the_commands(here: Path) -> None:
    done = run("--help", cwd=here)
    assert all(f"\n  {command} " in done.stdout for command in COMMANDS)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["show", "nope"], "no table 'nope'; choose one of attempts, "),
        (["show"], "Missing argument 'TABLE'."),
        (["nonsense"], "No such command 'nonsense'."),
        (["show", "calls", "--warehouse", "elsewhere"], "elsewhere: no warehouse here; name one with --warehouse DIR"),
        (["show", "calls", "--from", "soon"], "--from 'soon' is no time; write a date (2026-09-14) or ISO 8601"),
        (["show", "calls", "--zone", "Mars"], "--zone 'Mars' is no time zone"),
        (["show", "calls", "--format", "xml"], "Invalid value for '--format'"),
        (["show", "attempts"], "attempts is long: choose rows with --partner NAME or --auction ID"),
        (["show", "calls", "--format", "csv", "--out", "no/such/file"], "no/such/file: cannot be written"),
        (["report", "--week", "now"], "--week 'now' is no ISO week"),
        (["flags", "--to", "2026-13-01"], "--to '2026-13-01' is no time"),
        (["serve", "--warehouse", "elsewhere"], "elsewhere: no warehouse here"),
        (["serve", "--port", "0"], "Invalid value for '--port'"),
        (["status", "--warehouse", "log.jsonl"], "log.jsonl: "),
    ],
)
def test_wrong_usage_is_one_line_and_code_2(here: Path, args: list[str], message: str) -> None:
    done = run(*args, cwd=here)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"retrylens: {message}")
    assert done.stderr.count("\n") == 1


def test_json_rows_and_filters(here: Path) -> None:
    done = run("show", "--warehouse", "warehouse", "calls", "--to", at(1), "--format", "json", cwd=here)
    assert (done.returncode, done.stderr) == (0, "")
    rows = json.loads(done.stdout)
    assert [(row["stream"], row["calls"], row["retries"]) for row in rows] == [("exchange", 1, 1), ("postback", 1, 0)]


def test_the_warehouse_may_come_from_the_environment(here: Path, tmp_path: Path) -> None:
    done = run("show", "outcomes", "--format", "csv", cwd=tmp_path, RETRYLENS_WAREHOUSE=str(here / "warehouse"))
    assert done.stdout == "partner,outcome,attempts\n'=dsp\x1b[2J,no_bid,4\n"


def test_a_table_holds_no_control_character(here: Path) -> None:
    done = run("show", "outcomes", cwd=here)
    assert "\x1b" not in done.stdout
    assert "=dsp\\x1b[2J" in done.stdout


def test_parquet_by_pipe_and_by_name_are_the_same_rows(here: Path, tmp_path: Path) -> None:
    import duckdb

    named = tmp_path / "named.parquet"
    assert run("show", "calls", "--format", "parquet", "--out", str(named), cwd=here).returncode == 0
    piped = tmp_path / "piped.parquet"
    with piped.open("wb") as out:
        command = [sys.executable, "-m", "dashboard.cli", "show", "calls", "--format", "parquet"]
        subprocess.run(command, cwd=here, env=os.environ | {"PYTHONPATH": str(REPOSITORY)}, stdout=out, check=True)
    rows = [duckdb.execute("from read_parquet(?)", [str(path)]).fetchall() for path in (named, piped)]
    assert rows[0] == rows[1]
    assert len(rows[0]) == 2


def test_a_cut_and_an_idle_filter_are_said_on_stderr(here: Path) -> None:
    done = run("show", "postbacks", "--key", "k", "--limit", "1", cwd=here)
    assert (done.returncode, done.stderr) == (0, "")
    done = run("show", "attempts", "--auction", "A0", "--limit", "1", cwd=here)
    assert done.stderr == "cut at 1 rows; ask for more with --limit N\n"
    done = run("show", "loads", "--partner", "p", cwd=here)
    assert done.stderr == "the table loads has no partner: that filter changes nothing\n"


def test_flags_fail_on_request_only(here: Path) -> None:
    assert run("flags", cwd=here).returncode == 0
    done = run("flags", "--fail", "--format", "json", cwd=here)
    assert done.returncode == 1
    assert done.stderr == "1 flag says disable or never\n"
    assert [row["verdict"] for row in json.loads(done.stdout)].count("never") == 1
    assert run("flags", "--fail", "--partner", "nobody", cwd=here).returncode == 0


def test_report_writes_what_the_download_gives(here: Path, tmp_path: Path) -> None:
    from dashboard.report import report_files
    from dashboard.snapshot import open_snapshot

    done = run("report", "--week", "2026-W38", "--out", str(tmp_path / "out"), cwd=here)
    assert (done.returncode, done.stderr) == (0, "week 2026-W38 in UTC\n")
    files = report_files(open_snapshot(here / "warehouse"), "2026-W38", "UTC")
    assert {path: Path(path).read_bytes() for path in done.stdout.split()} == {
        str(tmp_path / "out" / name): data for name, data in files.items()
    }


def test_status_counts_what_was_loaded(here: Path) -> None:
    figures = json.loads(run("status", "--json", cwd=here).stdout)
    assert (figures["lines"], figures["facts"], figures["rejects"], figures["attempts"]) == (5, 5, 0, 4)
    assert figures["newest_exchange"] == at(5)
    assert "newest_exchange" in run("status", cwd=here).stdout


def test_a_reader_that_goes_away_is_no_error(here: Path) -> None:
    shell = f"{sys.executable} -m dashboard.cli show metrics --format json | head -c 1; echo ${{PIPESTATUS[0]}}"
    env = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(["bash", "-c", shell], cwd=here, env=env, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[0\n", "")


def test_a_taken_port_is_named(here: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run("serve", "--port", str(port), cwd=here)
    assert done.returncode == 2
    assert done.stderr == f"retrylens: port {port} of 127.0.0.1 is taken; choose another with --port\n"


def test_the_demo_never_deletes_a_warehouse_that_is_not_its_own(here: Path) -> None:
    done = run("demo", "--no-serve", "--warehouse", "warehouse", cwd=here)
    assert done.returncode == 2
    assert (here / "warehouse" / "CURRENT").exists()


HEAVY = ("streamlit", "plotly", "pandas", "pyarrow", "rich")


@pytest.mark.parametrize(
    ("args", "unwanted"),
    [
        (["--help"], (*HEAVY, "duckdb", "numpy")),
        (["show", "--help"], (*HEAVY, "duckdb", "numpy")),
        (["show", "calls"], HEAVY),
        (["flags", "--format", "json"], HEAVY),
        (["report"], HEAVY),
    ],
)
def test_a_command_imports_only_what_it_needs(here: Path, args: list[str], unwanted: tuple[str, ...]) -> None:
    probe = f"import sys\nsys.argv = ['retrylens', *{args!r}]\nfrom dashboard.cli import _run\n_run()\n"
    probe += f"print([name for name in {unwanted!r} if name in sys.modules], file=sys.stderr)"
    env = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run([sys.executable, "-c", probe], cwd=here, env=env, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[]"
