"""Wrong input as a person meets it: an exit code, one line that says what, where and what to do, a calm terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from ingest.snapshot.current import current_path
from ingest.snapshot.lock import writer_lock
from tests.conftest import REPOSITORY
from tests.loaded import at, attempt, load
from tests.test_cli import run

#: What tells a reader how to go on: a verb in a clause of its own.
ADVICE = re.compile(
    r"[;:,(] ?(or )?(check|choose|name|give|load|run|wait|write|upgrade|correct|set|restore|see|start|convert|quote)\b"
    r"|known: |one of |it takes |\. See retrylens .*--help"
)


def one_line(done: subprocess.CompletedProcess[str], code: int, *said: str) -> None:
    """Exit code, silence on stdout, and a single line on stderr that says all of this."""
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert done.stderr.startswith("retrylens: ")
    assert done.stderr.count("\n") == 1
    assert done.stderr.endswith("\n")
    assert "Traceback" not in done.stderr
    assert "unexpected" not in done.stderr, "an error that nobody thought of"
    for words in said:
        assert words in done.stderr
    assert ADVICE.search(done.stderr), f"says not what to do: {done.stderr}"


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a log, an empty folder, and warehouses in several states of disrepair."""
    folder = tmp_path_factory.mktemp("bad")
    load(folder, [attempt(at(0), "A")])
    (folder / "nothing").mkdir()
    (folder / "empty.jsonl").touch()
    (folder / "notes.txt").write_text("Dear diary,\n")
    (folder / "broken.toml").write_text("name = \n")
    (folder / "shapeless.toml").write_text("name = 'x'\n")
    for name, breaks in BREAKAGES.items():
        shutil.copytree(folder / "warehouse", folder / name)
        breaks(folder / name)
    return folder


def newer(warehouse: Path) -> None:
    path = current_path(warehouse)
    assert path is not None
    with duckdb.connect(str(path)) as con:
        con.execute("update meta set value = '99' where key = 'schema_version'")


def dangling(warehouse: Path) -> None:
    (warehouse / "CURRENT").write_text("00000099-gone.duckdb\n")


def rotten(warehouse: Path) -> None:
    path = current_path(warehouse)
    assert path is not None
    path.write_bytes(b"no database" * 1000)


def misset(warehouse: Path) -> None:
    (warehouse / "retrylens.toml").write_text("reserve_ms = 'soon'\n")


BREAKAGES: dict[str, Callable[[Path], None]] = {
    "newer": newer, "dangling": dangling, "rotten": rotten, "misset": misset,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["ingest"], ["Missing argument", "PATH"]),
        (["ingest", "gone.jsonl"], ["gone.jsonl", "no such file or folder"]),
        (["ingest", "log.jsonl", "gone.jsonl"], ["gone.jsonl"]),
        (["ingest", "logs/*.gz"], ["logs/*.gz", "no file matches"]),
        (["ingest", "log.jsonl", "--format", "nope"], ["no format 'nope'", "native"]),
        (["ingest", "log.jsonl", "--format", "gone.toml"], ["gone.toml", "native"]),
        (["ingest", "log.jsonl", "--format", "broken.toml"], ["broken.toml"]),
        (["ingest", "log.jsonl", "--format", "shapeless.toml"], ["shapeless.toml", "title"]),
        (["ingest", "log.jsonl", "--zone", "Mars/North"], ["--zone Mars/North"]),
        (["ingest", "log.jsonl", "--zone", "../UTC"], ["--zone ../UTC"]),
        (["ingest", "log.jsonl", "--warehouse", "log.jsonl"], ["log.jsonl", "cannot be written"]),
        (["ingest", "log.jsonl", "--warehouse", "log.jsonl/in"], ["log.jsonl/in", "cannot be written"]),
        (["ingest", "log.jsonl", "--warehouse", "/proc/retrylens"], ["/proc/retrylens", "cannot be written"]),
        (["ingest", "log.jsonl", "--warehouse", "misset"], ["misset/retrylens.toml", "reserve_ms", "'soon'"]),
        (["ingest", "log.jsonl", "--warehouse", "newer"], ["newer", "newer version", "schema 99"]),
        (["ingest", "log.jsonl", "--warehouse", "dangling"], ["00000099-gone.duckdb", "missing"]),
        (["ingest", "log.jsonl", "--warehouse", "rotten"], ["rotten", "cannot be read"]),
        (["show", "calls", "--warehouse", "newer"], ["newer", "layout 99"]),
        (["show", "calls", "--warehouse", "dangling"], ["dangling", "00000099-gone"]),
        (["show", "calls", "--warehouse", "rotten"], ["rotten", "cannot be read"]),
        (["verify", "--warehouse", "newer"], ["newer", "schema 99"]),
        (["flags", "--warehouse", "gone"], ["gone", "no warehouse here"]),
        (["report", "--warehouse", "nothing"], ["nothing", "nothing is published"]),
        (["verify", "--warehouse", "gone"], ["gone", "nothing was loaded"]),
        (["rebuild", "--warehouse", "gone"], ["gone", "nothing was loaded"]),
        (["report", "--week", "2026-W54"], ["--week '2026-W54'"]),
        (["report", "--week", "2026-W38", "--zone", "Kyiv"], ["--zone 'Kyiv'"]),
        (["report", "--week", "2026-W38", "--out", "log.jsonl"], ["log.jsonl", "cannot be written"]),
        (["show", "calls", "--from", "2026-02-30"], ["--from '2026-02-30'"]),
        (["show", "calls", "--limit", "many"], ["--limit"]),
        (["show", "calls", "--form", "csv"], ["--form"]),
        (["simulate", "--out", "logs", "--scenario", "nope"], ["--scenario nope", "default"]),
        (["simulate", "--out", "logs", "--minutes", "0"], ["--minutes"]),
        (["simulate", "--out", "log.jsonl"], ["log.jsonl"]),
    ],
    ids=" ".join,
)  # fmt: skip
def test_wrong_input_is_one_line_and_code_2(here: Path, args: list[str], said: list[str]) -> None:
    one_line(run(*args, cwd=here), 2, *said)
    assert not (here / "gone").exists(), "a wrong name makes no folder"


def test_a_held_warehouse_is_code_1_and_names_the_holder(here: Path) -> None:
    with writer_lock(here / "warehouse"):
        for args in (["ingest", "log.jsonl"], ["rebuild"]):
            one_line(run(*args, cwd=here), 1, "warehouse", f"process {os.getpid()} on ", "since 20")
        shown = run("show", "calls", cwd=here)
    assert shown.returncode == 0, "readers do not wait"


@pytest.mark.parametrize("command", ["rebuild"])
def test_the_help_of_a_command_has_an_example(here: Path, command: str) -> None:
    done = run(command, "--help", cwd=here)
    assert done.returncode == 0
    assert f"Example: retrylens {command}" in done.stdout


def test_every_command_is_among_those_whose_help_is_tested() -> None:
    from dashboard.cli import app
    from tests.test_cli import COMMANDS

    groups = [app, *(group.typer_instance for group in app.registered_groups)]
    commands = [command for group in groups for command in group.registered_commands]
    named = {command.name or command.callback.__name__ for command in commands}
    assert named == {*COMMANDS, "rebuild"}


def test_nothing_to_load_is_said_and_no_fault(here: Path) -> None:
    done = run("ingest", "nothing", "--json", cwd=here)
    assert done.returncode == 0
    assert done.stderr == "nothing: nothing to load there; name files, or folders that hold some\n"
    assert json.loads(done.stdout)["files"] == []


def test_an_empty_file_is_no_fault(here: Path) -> None:
    done = run("ingest", "empty.jsonl", "--json", cwd=here)
    assert (done.returncode, done.stderr) == (0, "")
    (file,) = json.loads(done.stdout)["files"]
    assert (file["status"], file["lines"], file["facts"]) == ("loaded", 0, 0)


@pytest.mark.parametrize("as_json", [False, True])
def test_a_refused_file_is_one_line_and_code_1(here: Path, as_json: bool) -> None:
    done = run("ingest", "notes.txt", "log.jsonl", *(["--json"] if as_json else []), cwd=here)
    assert done.returncode == 1
    assert re.fullmatch(r"notes\.txt: refused: fits no known format; .*native.*\n", done.stderr)
    assert "Traceback" not in done.stdout
    if as_json:
        assert [file["status"] for file in json.loads(done.stdout)["files"]] == ["refused", "unchanged"]


# ---------------------------------------------------------------------------------------------------------------------
# What a terminal would obey

HOSTILE = ("\x1b[2J", "\x07", "\x9b31m", "\u202e", "\u2066", "\r", "\x08", "\x7f", "\x1b]0;owned\x07")
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
NAME = "".join(HOSTILE)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose logs, and what stands in them, carry control characters wherever text may stand."""
    folder = tmp_path_factory.mktemp("hostile")
    events = [
        attempt(at(0), f"A{NAME}", f"p{NAME}", node=NAME, region=NAME, error_type=NAME, not_sent=NAME),
        attempt(at(1), f"A{NAME}", f"p{NAME}", source=NAME, reject_reason=NAME, http_status=200, bids=1),
        {"event": "win", "ts": at(2), "auction_id": f"A{NAME}", "partner": f"p{NAME}", "price": 1, "currency": NAME},
        {"event": "breaker", "ts": at(2), "partner": f"p{NAME}", "state_to": "open", "node": NAME, "reason": NAME},
        {"event": "postback", "ts": at(3), "key_id": f"k{NAME}", "http_status": 503, "endpoint": NAME,
         "error_code": NAME, "external_order_id": NAME, "event_type": NAME},
        {"event": NAME, "ts": at(4)},
        {"event": "attempt", "ts": NAME, "auction_id": NAME, "partner": NAME, NAME: NAME},
    ]  # fmt: skip
    raw = b'{"event":"attempt","ts":"\x1b[2J\x07\xc2\x9b","partner":"\xe2\x80\xae\n'
    text = "".join(json.dumps(event, ensure_ascii=False) + "\n" for event in events)
    (folder / f"log{NAME}.jsonl").write_bytes(text.encode() + raw)
    (folder / f"bad{NAME}.txt").write_text(NAME)
    return folder


@pytest.fixture(scope="module")
def loaded(hostile: Path) -> tuple[Path, subprocess.CompletedProcess[str]]:
    return hostile, run("ingest", ".", cwd=hostile)


def test_ingest_says_names_and_reasons_without_control_characters(
    loaded: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    _, done = loaded
    assert done.returncode == 1
    assert "8 lines = 5 facts + 3 rejects" in done.stdout
    assert "refused" in done.stderr
    assert not OBEYED.search(done.stdout + done.stderr)
    assert r"\x1b[2J" in done.stdout


@pytest.mark.parametrize(
    "args",
    [
        *(["show", name] for name in ("rejects", "loads", "calls", "losses", "breakers", "rate_limits", "notices")),
        ["show", "attempts", "--auction", f"A{NAME}"],
        ["show", "postbacks", "--key", f"k{NAME}"],
        ["show", "funnel", "--partner", f"p{NAME}"],
        ["status"],
        ["verify"],
        ["flags"],
    ],
    ids=lambda args: " ".join(args).partition("\x1b")[0],
)  # fmt: skip
def test_what_is_printed_holds_no_control_character(
    loaded: tuple[Path, subprocess.CompletedProcess[str]], args: list[str]
) -> None:
    done = run(*args, cwd=loaded[0])
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert not OBEYED.search(done.stdout + done.stderr)


@pytest.mark.parametrize(
    "args",
    [
        ["show", NAME],
        ["show", "calls", "--from", NAME],
        ["show", "calls", "--warehouse", NAME],
        ["show", "calls", "--zone", NAME],
        ["show", "calls", "--format", NAME],
        ["ingest", f"{NAME}.jsonl"],
        ["ingest", ".", "--format", NAME],
        ["ingest", ".", "--zone", NAME],
        ["verify", "--warehouse", NAME],
        [NAME],
    ],
    ids=lambda args: " ".join(args).replace(NAME, "NAME"),
)
def test_errors_repeat_what_was_typed_without_control_characters(hostile: Path, args: list[str]) -> None:
    done = run(*args, cwd=hostile)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert not OBEYED.search(done.stderr)


@pytest.mark.parametrize("kind", ["table", "json", "csv"])
def test_a_terminal_gets_no_control_character_in_any_format(
    loaded: tuple[Path, subprocess.CompletedProcess[str]], kind: str
) -> None:
    ours, theirs = pty.openpty()
    env = os.environ | {"PYTHONPATH": str(REPOSITORY), "TERM": "dumb", "NO_COLOR": "1", "COLUMNS": "200"}
    command = [sys.executable, "-m", "dashboard.cli", "show", "outcomes", "--format", kind]
    child = subprocess.Popen(command, cwd=loaded[0], env=env, stdout=theirs)
    os.close(theirs)
    shown = b""
    try:
        while block := os.read(ours, 65536):
            shown += block
    except OSError:
        pass  # the other end was closed
    finally:
        os.close(ours)
        assert child.wait() == 0
    text = shown.decode().replace("\r\n", "\n")
    assert "not_sent_limit" in text
    assert not OBEYED.search(text)


def test_a_name_that_is_no_unicode_is_loaded_or_refused_in_one_line(tmp_path: Path) -> None:
    load(tmp_path, [attempt(at(0), "A")])
    name = os.fsencode(tmp_path) + b"/odd\xff\xfe.jsonl"
    with open(name, "wb") as file:
        file.write(json.dumps(attempt(at(1), "B")).encode() + b"\n")
    env = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, "-m", "dashboard.cli", "ingest", name, "--json"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["totals"]["facts"] == 1
    shown = run("show", "loads", cwd=tmp_path)
    assert shown.returncode == 0
    assert "odd" in shown.stdout


def test_rejects_are_shown_masked(tmp_path: Path) -> None:
    events = [
        attempt(at(0), "A"),
        attempt("never", "B", ip="192.0.2.7", body={"id": "device-77"}, headers={"x": "y@mail.example"}),
    ]
    load(tmp_path, events)
    (row,) = json.loads(run("show", "rejects", "--format", "json", cwd=tmp_path).stdout)
    assert "auction_id" in row["raw"]
    assert "never" in row["raw"]
    for secret in ("192.0.2.7", "device-77", "y@mail.example"):
        assert secret not in row["raw"]
