"""Personal data at the door: what no column is meant for is in no byte of the warehouse and no word of the output."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ingest.snapshot.current import current_path
from tests.conftest import REPOSITORY
from tests.loaded import at, attempt, postback

#: Keys that logs carry beside the canonical ones.
KEYS = (
    "ip", "ipv6", "client_ip", "remote_addr", "x_forwarded_for", "ifa", "idfa", "gaid", "didsha1", "dpidmd5", "user_id",
    "buyeruid", "uid", "email", "phone", "cookie", "authorization", "token", "referer", "url", "query", "user_agent",
    "geo", "Partner", "Auction_id", "AUCTION_ID", "note",
)  # fmt: skip


class Planted:
    """Values that must not be kept; each is new, so that one found tells where it came from."""

    def __init__(self) -> None:
        self.values: list[str] = []

    def __call__(self, kind: str = "id") -> str:
        number = len(self.values) + 1
        value = {
            "ip": f"203.0.113.{number}",
            "ipv6": f"2001:db8:{number:x}::c0de:{number:x}",
            "email": f"someone{number}@mail{number}.example",
            "token": f"eyJhbGciOi{number:04d}QWxhZGRpbjpvcGVuIHNlc2FtZQPLANTED",
            "uuid": f"{number:08d}-aaaa-4bbb-8ccc-{number:012d}",
            "id": f"PLANTED{number:05d}DEVICE",
        }[kind]
        self.values.append(value)
        return value


KINDS = ("ip", "ipv6", "email", "token", "uuid", "id")


def planted_record(plant: Planted, start: int) -> dict[str, Any]:
    """Every key outside the whitelist with a planted value, plain and nested."""
    found: dict[str, Any] = {key: plant(KINDS[(start + place) % len(KINDS)]) for place, key in enumerate(KEYS)}
    found["device"] = {"ip": plant("ip"), "ifa": plant("uuid"), "geo": {"lat": plant("id")}}
    found["headers"] = [{"name": "Cookie", "value": plant("token")}, plant("email")]
    found["ext"] = {"auction_id": plant("id"), "partner": plant("ip"), "deep": [[{"error_type": plant("id")}]]}
    return found


def body(plant: Planted) -> dict[str, Any]:
    """A bid response with names in it."""
    bid = {"price": 1.5, "adm": f"<img src='https://t.example/p?u={plant()}'>", "nurl": f"https://n.example/{plant()}"}
    return {"id": plant(), "seatbid": [{"bid": [bid], "seat": plant("ip")}], "ext": {"user": plant("email")}}


def good_events(plant: Planted) -> list[dict[str, Any]]:
    query = f"https://dsp.example/bid?ip={plant('ip')}&ifa={plant('uuid')}"
    return [
        attempt(at(0), "A", http_status=200, body=body(plant), **planted_record(plant, 0)),
        attempt(at(1), "B", http_status=200, body=json.dumps(body(plant)), nbr=2, **planted_record(plant, 1)),
        attempt(at(2), "C", http_status=None, error_type=f'Post "{query}": read timed out'),
        postback(at(3), endpoint=f"/v1/conv?email={plant('email')}&t={plant('token')}", client_hash=plant("ip")),
        postback(at(4), client_hash=plant("ipv6"), body=plant(), **planted_record(plant, 2)),
        {"event": "click", "ts": at(5), "auction_id": "A", "partner": "p", "ip": plant("ip"), "url": plant("token")},
    ]


def broken_lines(plant: Planted) -> list[bytes]:
    """Lines that are rejects: parsed ones with a fault, cut ones, ones with text behind them, and no JSON at all."""
    parsed = [
        attempt("never", "D", body=body(plant), **planted_record(plant, 3)),
        attempt(at(6), "") | {"auction_id": {"id": plant()}, "body": json.dumps(body(plant))},
        {"event": "other", "ts": at(6), "auction_id": "E", **planted_record(plant, 4)},
        {"event": "postback", "ts": at(6), "key_id": "k", "endpoint": f"/v1?m={plant('email')}", "body": plant()},
        {"event": "attempt", "ts": at(6), "auction_id": f"F?ip={plant('ip')}", "error_type": f"of {plant('email')}"},
    ]
    lines = [json.dumps(event).encode() for event in parsed]
    whole = json.dumps(attempt(at(7), "G") | {"body": body(plant)} | planted_record(plant, 5)).encode()
    text = json.dumps(attempt(at(7), "H") | {"body": json.dumps(body(plant)), "ip": plant("ip")}).encode()
    for line in (whole, text):
        lines += [line[:-1], line[: len(line) // 2], line[: len(line) * 4 // 5], line + plant().encode()]
        lines += [line.replace(b'"body"', b'"body', 1), b"[" + line + b"]", b'"' + line]
    lines.append(f"{plant('ip')} - - GET /p?user={plant('id')} auction_id={plant('id')}".encode())
    lines.append(f'{{"event":"attempt","ts":"{at(8)}","ip":"{plant("ipv6")}","partner":"\xff'.encode("latin-1"))
    return lines


def as_csv(plant: Planted) -> bytes:
    """A header with foreign columns, good rows, and rows that are too short, too long and never closed."""
    columns = ["event", "ts", "ip", "auction_id", "user_agent", "partner", "http_status", "body"]
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(columns)
    for number in range(4):
        answer = json.dumps(body(plant))
        writer.writerow(["attempt", at(number), plant("ip"), f"V{number}", plant("id"), "p", "200", answer])
    writer.writerow(["attempt", "never", plant("ip"), "V5", plant("id"), "p", "200", json.dumps(body(plant))])
    return text.getvalue().encode()


def as_parquet(plant: Planted) -> bytes:
    rows = [
        {"event": "attempt", "ts": ts, "auction_id": f"W{number}", "partner": "p", "http_status": "200",
         "body": json.dumps(body(plant)), "ip": plant("ip"), "device": {"ifa": plant("uuid")}}
        for number, ts in enumerate([at(0), at(1), "never"])
    ]  # fmt: skip
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), out)
    return out.getvalue()


def command(*args: str) -> bytes:
    done = subprocess.run(
        [sys.executable, "-m", "dashboard.cli", *args], cwd=REPOSITORY, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Planted, bytes]:
    """A warehouse of such logs, what was planted in them, and what the load said."""
    folder, plant = tmp_path_factory.mktemp("privacy"), Planted()
    logs = folder / "logs"
    logs.mkdir()
    lines = [json.dumps(event).encode() for event in good_events(plant)] + broken_lines(plant)
    (logs / "a.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    (logs / "b.csv").write_bytes(as_csv(plant))
    (logs / "c.parquet").write_bytes(as_parquet(plant))
    said = command("ingest", str(logs), "--dedup", "--warehouse", str(folder / "warehouse"))
    return folder / "warehouse", plant, said


def texts(warehouse: Path) -> Iterator[tuple[str, str]]:
    """Where and what: the bytes of every file, and the decoded rows of every Parquet file and of the catalog."""
    for path in sorted(warehouse.rglob("*")):
        if path.is_file():
            yield path.name, path.read_bytes().decode("latin-1")
        if path.suffix == ".parquet":
            yield f"rows of {path.relative_to(warehouse)}", repr(pq.read_table(path).to_pylist())
            yield f"footer of {path.name}", str(pq.read_metadata(path).metadata)
    snapshot = current_path(warehouse)
    with duckdb.connect(str(snapshot), read_only=True) as con:
        for (name,) in con.execute("select table_name from duckdb_tables()").fetchall():
            yield f"table {name}", repr(con.execute(f'select * from "{name}"').fetchall())


def test_the_logs_hold_what_they_should(loaded: tuple[Path, Planted, bytes]) -> None:
    warehouse, plant, said = loaded
    assert len(set(plant.values)) == len(plant.values) >= 200
    with duckdb.connect(str(current_path(warehouse)), read_only=True) as con:
        assert con.execute("select count(*) from attempts").fetchall() == [(9,)]
        assert con.execute("select count(*) from postbacks").fetchall() == [(2,)]
        assert con.execute("select count(*) from rejects").fetchall()[0][0] > 15
    assert b"rejects" in said


def test_no_planted_value_is_in_any_byte_of_the_warehouse(loaded: tuple[Path, Planted, bytes]) -> None:
    warehouse, plant, _ = loaded
    found = [(where, value) for where, text in texts(warehouse) for value in plant.values if value in text]
    assert found == []


def test_the_search_finds_what_is_kept(loaded: tuple[Path, Planted, bytes]) -> None:
    kept = {where for where, text in texts(loaded[0]) if "dsp.example/bid?***" in text}
    assert any("attempts" in where for where in kept)


@pytest.mark.slow
def test_no_planted_value_is_in_what_commands_print(loaded: tuple[Path, Planted, bytes]) -> None:
    warehouse, plant, said = loaded
    place = ["--warehouse", str(warehouse)]
    printed = said + command("status", *place) + command("verify", *place)
    for table in ("rejects", "loads", "outcomes", "no_bids", "rate_limits"):
        printed += command("show", table, "--format", "json", *place)
    printed += command("show", "attempts", "--partner", "p", "--format", "json", *place)
    printed += command("show", "postbacks", "--key", "k", "--format", "json", *place)
    assert b"auction_id" in printed
    assert [value for value in plant.values if value.encode() in printed] == []


def test_a_value_under_a_known_key_stays_readable_in_a_reject(loaded: tuple[Path, Planted, bytes]) -> None:
    out = command("show", "rejects", "--format", "json", "--warehouse", str(loaded[0])).partition(b"]\n")[0] + b"]"
    raws = [row["raw"] for row in json.loads(out)]
    assert any('"ts":"never"' in raw and '"auction_id":"D"' in raw and '"ip":"***"' in raw for raw in raws)
    assert any('"auction_id":"G"' in raw and "bytes)" in raw for raw in raws)


@pytest.mark.slow
@pytest.mark.parametrize("row", ["attempt,{ts},Mozilla (X11, {planted}),A,p,204", "attempt,{ts},A,{planted}"])
def test_a_csv_row_of_other_length_keeps_no_cell_that_may_have_moved(tmp_path: Path, row: str) -> None:
    plant = Planted()
    header = "event,ts,user_agent,auction_id,partner,http_status"
    good = f"attempt,{at(0)},Mozilla,A,p,204"
    log = tmp_path / "a.csv"
    log.write_text(f"{header}\n{good}\n{row.format(ts=at(1), planted=plant())}\n")
    command("ingest", str(log), "--warehouse", str(tmp_path / "w"))
    found = [where for where, text in texts(tmp_path / "w") if plant.values[0] in text]
    assert found == []
