"""A thousand planted values, in every place that no column is meant for, and in free text: none is found in any byte of
the warehouse, in temporary files, in exports, or in what commands print; nor after a load that was killed."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.conftest import REPOSITORY
from tests.loaded import at, attempt, postback

pytestmark = pytest.mark.slow

EVENTS: dict[str, Callable[[int], dict[str, Any]]] = {
    "attempt": lambda n: attempt(at(n), f"A{n}", http_status=200),
    "auction": lambda n: {"event": "auction", "ts": at(n), "auction_id": f"A{n}"},
    "win": lambda n: {"event": "win", "ts": at(n), "auction_id": f"A{n}", "price": 1},
    "click": lambda n: {"event": "click", "ts": at(n), "auction_id": f"A{n}"},
    "breaker": lambda n: {"event": "breaker", "ts": at(n), "partner": "p", "state_to": "open"},
    "postback": lambda n: postback(at(n), order=f"O{n}"),
}
KEYS = (
    "ip", "ipv6", "client_ip", "remote_addr", "x-forwarded-for", "ifa", "gaid", "user_id", "buyeruid", "email",
    "cookie", "authorization", "token", "referer", "url", "query", "user_agent", "Partner", "AUCTION_ID", "Ts",
    "dealid", "header",
)  # fmt: skip

MARKS = ("198.51.", "2001:db8:", "user.", "eyJhbGciOiJIUzI1NiIs", "-9dc0-4d2a-8a7e-", "SECRET")
"""What values of a kind have in common, in the order of `Garden.plant`."""


class Garden:
    """Values that must not be kept; each is new, so that one found tells where it came from."""

    def __init__(self, seed: int) -> None:
        self.values: list[str] = []
        self.rng = random.Random(seed)

    def plant(self, kind: str | None = None) -> str:
        """A value of the kind, or of any."""
        n = len(self.values) + 1
        kinds = {
            "ip": f"198.51.{n // 250}.{n % 250 + 1}",
            "ipv6": f"2001:db8:{n:x}:0:0:c0de:{n:x}:1" if n % 2 else f"2001:db8:{n:x}::c0de:{n:x}",
            "email": f"user.{n}@mail{n}.example",
            "token": f"eyJhbGciOiJIUzI1NiIs{n:05}InR5cCI6IkpXVCJ9PLANTED",
            "uuid": f"{n:08x}-9dc0-4d2a-8a7e-{n:012x}",
            "user": f"u{n:06}SECRET{n}",
        }
        value = kinds[kind or self.rng.choice(list(kinds))]
        self.values.append(value)
        return value

    def nested(self, depth: int) -> Any:
        """A value, or something that holds values, names of keys among them, at any depth."""
        if depth == 0:
            return self.plant()
        return self.rng.choice([
            lambda: [self.nested(depth - 1), 1, None],
            lambda: {"partner": self.nested(depth - 1), "auction_id": self.plant()},
            lambda: {self.plant(): self.nested(depth - 1)},
            lambda: json.dumps({"user": {"id": self.nested(depth - 1)}}),
        ])()  # fmt: skip

    def url(self) -> str:
        return f"https://dsp.example/bid?ip={self.plant('ip')}&ifa={self.plant('uuid')}"

    def body(self) -> dict[str, Any]:
        bid = {"price": 1.5, "adm": f"<a href='{self.url()}'>", "nurl": self.url(), "ext": self.nested(2)}
        return {"id": self.plant(), "bidid": self.plant(), "seatbid": [{"bid": [bid], "seat": self.plant()}]}

    def foreign(self) -> dict[str, Any]:
        """Keys outside the whitelist, names that are data among them."""
        keys = self.rng.sample(KEYS, 3)
        return {key: self.nested(self.rng.randrange(4)) for key in keys} | {self.plant(): 1}

    def event(self, number: int) -> dict[str, Any]:
        """A whole event with planted values wherever one may stand."""
        kind = self.rng.choice(list(EVENTS))
        event = EVENTS[kind](number) | self.foreign()
        if kind == "attempt":
            body = self.body()
            event |= self.rng.choice([
                {"body": body}, {"body": json.dumps(body)},
                {"error_type": f'Get "{self.url()}": EOF', "http_status": 0},
                {"error_type": f"dial tcp {self.plant('ip')}:443: refused"},
                {"error_type": f"no {self.plant('email')}"},
                {"error_type": f'upstream timed out, request: "GET /b?u={self.plant("user")} HTTP/1.1"'},
                {"error_type": f"dial tcp [{self.plant('ipv6')}]:443: refused"},
            ])  # fmt: skip
        if kind == "postback":
            path = f"/v1/{number}?email={self.plant('email')}&t={self.plant('token')}"
            event |= self.rng.choice([{"endpoint": path}, {"client_hash": self.plant("ip")}, {"body": self.plant()}])
        return event


def broken(garden: Garden, line: bytes) -> bytes:
    """The line with a fault: as a parser, a cast, or a human breaks one."""
    half = len(line) // 2
    return garden.rng.choice([
        lambda: line[:half], lambda: line[:-1], lambda: line[: half * 3 // 2],
        lambda: line + garden.plant().encode(), lambda: b"[" + line + b"]",
        lambda: line.replace(b'"ts":', b'"ts":"never","t":', 1), lambda: b'"' + line,
        lambda: line.replace(b'"event":', b'"event":"other","e":', 1), lambda: line.replace(b'":', b'" ', 1),
        lambda: line.replace(b'"ts"', b'"%s"' % garden.plant().encode(), 1),
        lambda: line[:half] + b"\xff" + line[half:], lambda: line.replace(b",", b",,", 1),
        lambda: line[:half] + b'"' + line[half:], lambda: line + line,
    ])()  # fmt: skip


def ndjson(garden: Garden, number: int, bad: float) -> bytes:
    lines = [json.dumps(garden.event(n), separators=(",", ":")).encode() for n in range(number)]
    return b"".join((broken(garden, line) if garden.rng.random() < bad else line) + b"\n" for line in lines)


def table(garden: Garden) -> list[dict[str, str]]:
    """Rows for CSV and Parquet; the last ones are rejects."""
    return [
        {"event": "attempt", "ts": at(n) if n < 8 else "never", "auction_id": f"T{n}", "partner": "p",
         "http_status": "200", "body": json.dumps(garden.body()), "ip": garden.plant("ip"),
         "user id": garden.plant("user")}
        for n in range(10)
    ]  # fmt: skip


def write_logs(folder: Path, garden: Garden) -> None:
    """Few lines, many lines (which the engine reads first), CSV and Parquet."""
    folder.mkdir()
    (folder / "few.jsonl").write_bytes(ndjson(garden, 60, bad=0.5))
    (folder / "many.jsonl").write_bytes(ndjson(garden, 900, bad=0.2))
    rows = table(garden)
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    cut = f"attempt,{at(9)},{garden.plant()}\n"
    (folder / "c.csv").write_text(text.getvalue() + cut + f'attempt,"{garden.plant()}\n', newline="")
    pq.write_table(pa.Table.from_pylist(table(garden)), folder / "d.parquet")


def command(*arguments: str, tmp: Path, stdin: bytes | None = None) -> bytes:
    done = subprocess.run(
        [sys.executable, "-m", "dashboard.cli", *arguments],
        cwd=REPOSITORY, env=os.environ | {"TMPDIR": str(tmp)}, input=stdin, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def texts(folder: Path) -> Iterator[tuple[str, str]]:
    """Where and what: the bytes of every file below, and all rows of what is Parquet or a catalog."""
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        yield path.name, path.read_bytes().decode("latin-1")
        if path.suffix == ".parquet":
            yield f"rows of {path.relative_to(folder)}", repr(pq.read_table(path).to_pylist())
            yield f"footer of {path.name}", repr(pq.read_metadata(path).to_dict())
        if path.suffix == ".duckdb":
            with duckdb.connect(str(path), read_only=True) as con:
                for (name,) in con.execute("select table_name from duckdb_tables()").fetchall():
                    yield f"table {name} of {path.name}", repr(con.execute(f'select * from "{name}"').fetchall())


def found(garden: Garden, said: Iterator[tuple[str, str]]) -> list[tuple[str, str]]:
    """Where a value is: looked for, one by one, in texts with the part that all values of its kind share."""
    by_mark = {mark: [value for value in garden.values if mark in value] for mark in MARKS}
    assert set().union(*by_mark.values()) == set(garden.values)
    return [
        (where, value)
        for where, text in said
        for mark, values in by_mark.items()
        if mark in text
        for value in values
        if value in text
    ]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Garden, bytes]:
    """A folder with `warehouse`, `tmp` and `exports`, what was planted, and all that the commands said."""
    folder, garden = tmp_path_factory.mktemp("planted"), Garden(1)
    write_logs(folder / "logs", garden)
    for name in ("tmp", "exports"):
        (folder / name).mkdir()
    place, tmp = ["--warehouse", str(folder / "warehouse")], folder / "tmp"
    said = command("ingest", str(folder / "logs"), "--dedup", *place, tmp=tmp)
    said += command("ingest", "-", *place, tmp=tmp, stdin=ndjson(garden, 600, bad=0.3))
    said += command("rebuild", *place, tmp=tmp)
    for kind in ("csv", "parquet"):
        for name, *needs in (("rejects",), ("loads",), ("attempts", "--partner", "p"), ("postbacks", "--key", "k")):
            out = str(folder / "exports" / f"{name}.{kind}")
            said += command("show", name, *needs, "--format", kind, "--out", out, *place, tmp=tmp)
    said += command("report", "--week", "2026-W38", "--out", str(folder / "exports"), *place, tmp=tmp)
    said += command("status", *place, tmp=tmp) + command("verify", *place, tmp=tmp)
    said += command("show", "rejects", *place, tmp=tmp)
    return folder, garden, said


def test_a_thousand_values_are_planted_in_facts_and_rejects(loaded: tuple[Path, Garden, bytes]) -> None:
    folder, garden, _ = loaded
    assert len(set(garden.values)) == len(garden.values) >= 1000
    logs = b"".join(path.read_bytes() for path in (folder / "logs").glob("*.jsonl"))
    assert sum(value.encode() in logs for value in garden.values) > 1000
    rows = {path.stem: pq.read_metadata(path).num_rows for path in (folder / "exports").glob("*.parquet")}
    assert rows["attempts"] > 150
    assert rows["postbacks"] > 150
    assert rows["rejects"] > 300


def test_no_planted_value_is_in_any_file(loaded: tuple[Path, Garden, bytes]) -> None:
    folder, garden, _ = loaded
    for place in ("warehouse", "tmp", "exports"):
        assert found(garden, texts(folder / place)) == [], place


def test_no_planted_value_is_printed(loaded: tuple[Path, Garden, bytes]) -> None:
    _, garden, said = loaded
    assert found(garden, iter([("output", said.decode("utf-8", "replace"))])) == []


def test_the_search_finds_what_is_kept(loaded: tuple[Path, Garden, bytes]) -> None:
    kept = {where for where, text in texts(loaded[0] / "warehouse") if "dsp.example/bid?***" in text}
    assert any(where.startswith("rows of facts") for where in kept)
    kept = {where for where, text in texts(loaded[0] / "warehouse") if '"***":"***"' in text}
    assert any(where.startswith("rows of rejects") for where in kept)


@pytest.mark.parametrize("moment", ["facts/attempts/*", "snapshots/.*"])
def test_what_a_killed_load_left_is_gone_after_the_next(tmp_path: Path, moment: str) -> None:
    garden = Garden(2)
    logs, warehouse, tmp = tmp_path / "logs", tmp_path / "warehouse", tmp_path / "tmp"
    logs.mkdir()
    tmp.mkdir()
    (logs / "a.jsonl").write_bytes(ndjson(garden, 3000, bad=0.1))
    load = [sys.executable, "-c", "from ingest.cli import main; main()", "ingest"]
    process = subprocess.Popen(
        [*load, str(logs), "--warehouse", str(warehouse)],
        cwd=REPOSITORY, env=os.environ | {"TMPDIR": str(tmp)}, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    until = time.monotonic() + 60
    while not list(warehouse.glob(moment)):
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.0002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    (logs / "b.jsonl").write_bytes(ndjson(garden, 30, bad=0.1))
    command("ingest", str(logs / "b.jsonl"), "--warehouse", str(warehouse), tmp=tmp)
    assert not (warehouse / "tmp").exists()
    assert found(garden, texts(warehouse)) == []
    assert found(garden, texts(tmp)) == []
