"""Files that swell when they are unpacked: refused at a ratio and at a size, both settings; the others load."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from ingest.errors import InputError
from ingest.load import ingest
from tests.conftest import REPOSITORY
from tests.loaded import at, attempt

pytestmark = pytest.mark.slow

MB = 1 << 20
PACKERS: dict[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "zst": zstandard.compress}


def lines(number: int, note: int = 0) -> bytes:
    """So many good lines, each with a note of so many equal letters."""
    return b"".join(json.dumps(attempt(at(n), f"A{n}", note="x" * note)).encode() + b"\n" for n in range(number))


def reason(logs: list[Path], warehouse: Path) -> str | None:
    return ingest([str(path) for path in logs], warehouse).files[0].reason


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_bomb_stops_at_the_ratio(tmp_path: Path, suffix: str) -> None:
    bomb, good = tmp_path / f"a.jsonl.{suffix}", tmp_path / "b.jsonl"
    bomb.write_bytes(PACKERS[suffix](lines(1) + lines(100, MB)))
    good.write_bytes(lines(3))
    report = ingest([str(bomb), str(good)], tmp_path / "w")
    assert [(file.status, file.lines) for file in report.files] == [("refused", 0), ("loaded", 3)]
    told = "decodes to more than 300 times its size; where that is right, raise the setting max_ratio"
    assert report.files[0].reason == told


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_raised_ratio_lets_it_in(tmp_path: Path, suffix: str) -> None:
    log = tmp_path / f"a.jsonl.{suffix}"
    log.write_bytes(PACKERS[suffix](lines(1) + lines(70, MB)))
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "retrylens.toml").write_text("max_ratio = 100000\n")
    assert ingest([str(log)], tmp_path / "w").totals()["facts"] == 71


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_compressed_file_stops_at_the_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    log, limit = tmp_path / f"a.jsonl.{suffix}", 100_000
    log.write_bytes(PACKERS[suffix](lines(2000)))
    monkeypatch.setenv("RETRYLENS_MAX_DECODED_BYTES", str(limit))
    told = "decodes to more than 100000 bytes; where that is right, raise the setting max_decoded_bytes"
    assert reason([log], tmp_path / "w") == told
    monkeypatch.delenv("RETRYLENS_MAX_DECODED_BYTES")
    assert reason([log], tmp_path / "w") is None


def test_a_plain_file_has_no_such_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.jsonl").write_bytes(lines(2000))
    monkeypatch.setenv("RETRYLENS_MAX_DECODED_BYTES", "1000")
    assert reason([tmp_path / "a.jsonl"], tmp_path / "w") is None


def test_a_long_line_stops_at_its_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.jsonl").write_bytes(lines(3, 5000))
    monkeypatch.setenv("RETRYLENS_MAX_LINE_BYTES", "4096")
    told = "a line of more than 4096 bytes, at or after line 1; where that is right, raise the setting max_line_bytes"
    assert reason([tmp_path / "a.jsonl"], tmp_path / "w") == told


@pytest.mark.parametrize("name", ["max_ratio", "max_decoded_bytes", "max_line_bytes"])
def test_a_limit_of_nothing_names_the_file_and_the_setting(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.jsonl").write_bytes(lines(1))
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "retrylens.toml").write_text(f"{name} = 0\n")
    with pytest.raises(InputError, match=rf"retrylens.toml: {name} is 0; it takes 1 or more"):
        ingest([str(tmp_path / "a.jsonl")], tmp_path / "w")


def test_a_gigabyte_of_zeros_is_refused_without_holding_it(tmp_path: Path) -> None:
    bomb = tmp_path / "a.jsonl.gz"
    with gzip.open(bomb, "wb", compresslevel=1) as out:
        for _ in range(1024):
            out.write(bytes(MB))
    command = (
        "import resource, sys; from ingest.load import ingest; from pathlib import Path;"
        " print(ingest([sys.argv[1]], Path(sys.argv[2])).files[0].status,"
        " resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    done = subprocess.run(
        [sys.executable, "-c", command, str(bomb), str(tmp_path / "w")],
        capture_output=True, text=True, cwd=REPOSITORY, check=True,
    )  # fmt: skip
    status, kilobytes = done.stdout.split()
    assert status == "refused"
    assert int(kilobytes) < MB
