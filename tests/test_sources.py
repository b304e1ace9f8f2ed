"""Which bytes are new: every line of every file comes out once, whatever happens to the files in between."""

import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ingest.sources.read as read_module
from ingest.errors import InputError, Refused
from ingest.sources import (
    COLUMNS,
    Found,
    Known,
    Limits,
    Reading,
    Segment,
    discover,
    growth,
    is_whole_json,
    last_line_end,
    marks,
)

SMALL = Limits(segment_bytes=200)
CODECS: dict[str, Callable[[bytes], bytes]] = {
    "": lambda data: data,
    ".gz": gzip.compress,
    ".zst": lambda data: zstandard.ZstdCompressor().compress(data),
}


def found(path: Path) -> Found:
    return Found(str(path), path)


def lines(first: int, count: int, pad: int = 0, end: bytes = b"\n") -> bytes:
    return b"".join(json.dumps({"id": n, "pad": "x" * pad}).encode() + end for n in range(first, first + count))


def reload(known: Known) -> Known:
    """As it comes back from a snapshot."""
    return Known.from_rows(known.rows())


class Load:
    """One file loaded as the job does: whole JSON counts, an unfinished tail waits or is a reject."""

    def __init__(self, known: Known, path: Path, limits: Limits = SMALL) -> None:
        self.lines: list[tuple[int, int, bytes]] = []
        self.waits = self.rejected = b""
        with Reading(found(path), known, limits) as reading:
            self.first = reading.first_line, reading.first_offset
            tail = "taken"
            for segment in reading.segments():
                if segment.tail and not is_whole_json(segment.data):
                    tail = "rejected" if reading.final else "waits"
                    if reading.final:
                        self.rejected = segment.data
                    else:
                        self.waits = segment.data
                    continue
                self._take(segment)
            self.status = reading.commit(tail)

    def _take(self, segment: Segment) -> None:
        assert segment.line_ends == segment.data.count(b"\n")
        assert segment.tail or segment.data.endswith(b"\n")
        line, offset = segment.first_line, segment.offset
        for data in segment.data.splitlines(keepends=True):
            self.lines.append((line, offset, data.rstrip(b"\r\n")))
            line, offset = line + 1, offset + len(data)

    @property
    def ids(self) -> list[int]:
        return [json.loads(data)["id"] for _, _, data in self.lines if data]

    @property
    def numbers(self) -> list[int]:
        return [number for number, _, _ in self.lines]


@pytest.fixture
def known() -> Known:
    return Known()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "app.jsonl"


def write(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


# Paths


def test_discover_walks_folders_in_order_and_names_each_file_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("d/b.jsonl", "d/a.jsonl", "d/sub/c.gz", "d/.hidden", "d/.git/x", "d/copy.part", "d/wh/CURRENT", "e/z"):
        write(Path(name), b"1\n")
    Path("d/link.jsonl").symlink_to("a.jsonl")
    got = discover(["-", "d", "d/a.jsonl", "./d/../d/b.jsonl", "e/*", "-"], outside=[Path("d/wh")])
    assert [one.name for one in got] == ["-", "d/a.jsonl", "d/b.jsonl", "d/sub/c.gz", "e/z"]
    assert got[0].path is None
    assert got[1].path == Path("d/a.jsonl")


def test_a_name_with_glob_signs_is_taken_literally_when_it_exists(tmp_path: Path) -> None:
    odd = write(tmp_path / "a[1].jsonl", b"x\n")
    write(tmp_path / "a1.jsonl", b"y\n")
    assert [one.path for one in discover([str(odd)])] == [odd]
    assert [one.path for one in discover([str(tmp_path / "a?.jsonl")])] == [tmp_path / "a1.jsonl"]


def test_an_explicit_unfinished_name_is_taken_and_an_empty_folder_is_fine(tmp_path: Path) -> None:
    part = write(tmp_path / "x.part", b"x\n")
    (tmp_path / "empty").mkdir()
    assert [one.path for one in discover([str(part)])] == [part]
    assert discover([str(tmp_path / "empty")]) == []


@pytest.mark.parametrize("path", ["no-such-file.jsonl", "no-such-dir/*.jsonl", "", "nul\0byte"])
def test_a_path_that_names_nothing_is_wrong_input(path: str) -> None:
    with pytest.raises(InputError) as error:
        discover([path])
    assert path in str(error.value)
    assert error.value.exit_code == 2


# Contents decide


@pytest.mark.parametrize("codec", CODECS)
def test_contents_decide_what_a_file_is(known: Known, tmp_path: Path, codec: str) -> None:
    load = Load(known, write(tmp_path / "x.jsonl.gz", CODECS[codec](lines(0, 50))))
    assert load.ids == list(range(50))
    assert load.numbers == list(range(1, 51))
    assert [offset for _, offset, _ in load.lines][:2] == [0, len(lines(0, 1))]
    assert load.status == "new"


def packed(data: bytes) -> bytes:
    """gzip's bytes with no time in them: what parametrises tests must be the same in every worker."""
    return gzip.compress(data, mtime=0)


@pytest.mark.parametrize(
    "data",
    [
        b"".join(packed(lines(n, 1)) for n in range(3)),
        packed(lines(0, 1)) + bytes(1000) + packed(lines(1, 2)),
        packed(lines(0, 3)) + bytes(70_000),
        packed(lines(0, 3)) + packed(b""),
        b"".join(zstandard.ZstdCompressor(write_checksum=True).compress(lines(n, 1)) for n in range(3)),
        b"\x50\x2a\x4d\x18\x04\0\0\0abcd" + zstandard.ZstdCompressor().compress(lines(0, 3)) + bytes(9),
    ],
    ids=["members", "padded members", "zero padding", "empty member", "frames", "skippable frame"],
)
def test_all_members_and_frames_count(known: Known, log: Path, data: bytes) -> None:
    assert Load(known, write(log, data)).ids == [0, 1, 2]


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :]


GZ = packed(lines(0, 400))
ZST = zstandard.ZstdCompressor(write_checksum=True).compress(lines(0, 400))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (GZ[: len(GZ) // 2], "truncated"),
        (GZ[:-1], "truncated"),
        (GZ[:5], "truncated"),
        (GZ + GZ[:30], "truncated"),
        (flipped(GZ, -7), "damaged"),
        (flipped(GZ, -2), "damaged"),
        (flipped(GZ, 60), "damaged"),
        (GZ + b"garbage\n", "other bytes"),
        (GZ + b"\0\0x", "other bytes"),
        (ZST[: len(ZST) // 2], "truncated"),
        (ZST[:-1], "truncated"),
        (ZST + ZST[:9], "truncated"),
        (flipped(ZST, -1), "damaged"),
        (ZST + b"{}\n", "other bytes"),
        (lines(0, 3).decode().encode("utf-16"), "UTF-16"),
        (lines(0, 3).decode().encode("utf-16-le"), "UTF-16"),
        (lines(0, 3).decode().encode("utf-16-be"), "UTF-16"),
        (packed(lines(0, 3).decode().encode("utf-16")), "UTF-16"),
        (packed(GZ), "inside compressed"),
        (packed(b"PAR1...PAR1"), "inside compressed"),
    ],
)
def test_a_damaged_file_is_refused_and_loads_when_mended(known: Known, log: Path, data: bytes, reason: str) -> None:
    write(log, data)
    with pytest.raises(Refused, match=reason):
        Load(known, log)
    assert known.rows() == []
    assert Load(known, write(log, GZ)).ids == list(range(400))


@pytest.mark.parametrize("codec", [".gz", ".zst"])
def test_a_compression_bomb_stops_at_the_ratio_and_at_the_size(known: Known, log: Path, codec: str) -> None:
    write(log, CODECS[codec](b"a\n" * (8 << 20)))
    with pytest.raises(Refused, match="100 times"):
        Load(known, log, Limits(ratio=100, ratio_from_bytes=1 << 20))
    with pytest.raises(Refused, match="1000000 bytes"):
        Load(known, log, Limits(ratio=10**9, decoded_bytes=10**6))


def test_what_cannot_be_opened_is_refused_with_the_reason(known: Known, tmp_path: Path) -> None:
    for path in (tmp_path / "vanished.jsonl", tmp_path):
        with pytest.raises(Refused, match="cannot be read"):
            Reading(found(path), known)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_without_permission_a_file_or_folder_is_refused(known: Known, tmp_path: Path) -> None:
    secret, folder = write(tmp_path / "logs/a", b"x\n"), tmp_path / "logs/locked"
    folder.mkdir()
    for path in (secret, folder):
        path.chmod(0)
    try:
        for one in discover([str(tmp_path / "logs")]):
            with pytest.raises(Refused, match="ermission"):
                Reading(one, known)
    finally:
        folder.chmod(0o700)


def test_nothing_to_load_is_no_fault(known: Known, tmp_path: Path) -> None:
    for name, data in {"zero.gz": b"", "nothing.gz": gzip.compress(b"")}.items():
        load = Load(known, write(tmp_path / name, data))
        assert (load.lines, load.waits) == ([], b"")


def test_a_nul_block_and_a_byte_order_mark_stay_in_their_lines(known: Known, log: Path) -> None:
    write(log, b"\xef\xbb\xbf" + lines(0, 1) + bytes(500) + b"\n" + lines(1, 1, end=b"\r\n"))
    with Reading(found(log), known) as reading:
        (segment,) = reading.segments()
    assert segment.data == log.read_bytes()
    assert (segment.first_line, segment.offset, segment.line_ends, segment.tail) == (1, 0, 3, False)


# Segments


def test_segments_are_cut_behind_lines_and_grow_with_a_long_one(known: Known, log: Path) -> None:
    write(log, lines(0, 10) + lines(10, 1, pad=5000) + lines(11, 10))
    with Reading(found(log), known, SMALL) as reading:
        segments = list(reading.segments())
    assert b"".join(segment.data for segment in segments) == log.read_bytes()
    assert all(segment.data.endswith(b"\n") for segment in segments)
    assert sorted(len(segment.data) for segment in segments)[-2] <= 200


@pytest.mark.parametrize("pad", [65_400, 65_536, 100_000, 3_000_000])
@pytest.mark.parametrize("before", [0, 1, 40])
@pytest.mark.parametrize("codec", CODECS)
def test_the_head_ends_with_a_whole_line(known: Known, log: Path, pad: int, before: int, codec: str) -> None:
    data = lines(0, before) + lines(before, 1, pad) + lines(before + 1, 5000)
    write(log, CODECS[codec](data))
    with Reading(found(log), known) as reading:
        assert data.startswith(reading.head)
        assert reading.head.endswith(b"\n")
        assert 65_536 <= len(reading.head) < 65_536 + pad + 100
        assert b"".join(segment.data for segment in reading.segments()) == data
    write(log, b"y" * pad)
    with Reading(found(log), known) as reading:
        assert reading.head == b"y" * pad


@pytest.mark.parametrize("segment_bytes", [100, 10_000])
@pytest.mark.parametrize("end", [b"\n", b""])
def test_a_line_beyond_the_limit_refuses_the_file(known: Known, log: Path, segment_bytes: int, end: bytes) -> None:
    write(log, lines(0, 5) + b"y" * 2001 + end)
    with pytest.raises(Refused, match="more than 2000 bytes, at or after line"):
        Load(known, log, Limits(segment_bytes=segment_bytes, line_bytes=2000))
    write(log, lines(0, 5) + b"y" * 2000 + b"\n" + lines(5, 5))
    with Reading(found(log), known, Limits(segment_bytes=segment_bytes, line_bytes=2000)) as reading:
        assert sum(segment.line_ends for segment in reading.segments()) == 11


def even_quotes(data: bytes) -> int:
    """The end of the last record of a CSV whose quoted cells may hold line ends."""
    end = last_line_end(data)
    while data.count(b'"', 0, end) % 2:
        end = last_line_end(data[: end - 1])
    return end


def test_records_may_be_cut_by_another_rule(known: Known, log: Path) -> None:
    write(log, b'h\n"a\nb"\n"c\nd')
    with Reading(found(log), known) as reading:
        data, tail = reading.segments(even_quotes)
        assert (data.data, tail.data, tail.first_line) == (b'h\n"a\nb"\n', b'"c\nd', 4)
        reading.commit("waits")
    write(log, b'h\n"a\nb"\n"c\nd"\n')
    with Reading(found(log), known) as reading:
        (data,) = reading.segments(even_quotes)
    assert (data.data, data.first_line, reading.head[:2]) == (b'"c\nd"\n', 4, b"h\n")


def test_only_what_was_handed_out_whole_can_be_committed(known: Known, log: Path) -> None:
    write(log, lines(0, 100))
    with Reading(found(log), known, SMALL) as reading:
        next(reading.segments())
        with pytest.raises(RuntimeError):
            reading.commit()
    assert Load(known, log).ids == list(range(100))


# Sameness


@pytest.mark.parametrize("count", [1, 4, 100, 3000, 20_000])
@pytest.mark.parametrize("codec", CODECS)
def test_an_equal_whole_is_unchanged_under_any_name_and_compression(
    known: Known, log: Path, count: int, codec: str
) -> None:
    data = lines(0, count)
    Load(known, write(log, data), Limits())
    for path in (log, write(log.with_name("copy" + codec), CODECS[codec](data))):
        load = Load(reload(known), path, Limits())
        assert (load.status, load.lines) == ("unchanged", [])


@pytest.mark.parametrize(("first", "more"), [(2, 3), (60, 1), (3000, 200), (12_000, 5)])
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("name", ["app.jsonl", "other.jsonl"])
def test_a_grown_file_gives_its_new_lines(
    known: Known, log: Path, first: int, more: int, codec: str, name: str
) -> None:
    Load(known, write(log, lines(0, first)))
    load = Load(known := reload(known), write(log.with_name(name), CODECS[codec](lines(0, first + more))))
    if first == 2 and name == "other.jsonl":
        assert (load.status, load.ids) == ("new", [0, 1, 2, 3, 4])
        return
    assert (load.status, load.ids) == ("grown", list(range(first, first + more)))
    assert load.first == (first + 1, len(lines(0, first)))
    assert load.numbers[0] == first + 1
    assert Load(known, log.with_name(name)).status == "unchanged"


@pytest.mark.parametrize("size", [60, 1024, 1500, 3000, 70_001, 300_000, 600_001])
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("name", ["app.jsonl", "other.jsonl"])
def test_a_shorter_copy_is_unchanged(known: Known, log: Path, size: int, codec: str, name: str) -> None:
    data = lines(0, 30_000)
    Load(known, write(log, data), Limits())
    load = Load(known, write(log.with_name(name), CODECS[codec](data[:size])))
    recognised = size >= 1024 or name == "app.jsonl"
    assert load.status == ("unchanged" if recognised else "new")
    assert load.ids == ([] if recognised else [0, 1])
    assert not (recognised and load.rejected)


@pytest.mark.parametrize("cut", [1, 2])
def test_a_copy_that_lacks_only_the_last_line_end_is_a_shorter_copy(known: Known, log: Path, cut: int) -> None:
    data = lines(0, 5, end=b"\r\n")
    Load(known, write(log, data))
    assert Load(known, write(log, lines(0, 3, end=b"\r\n")[:-cut])).status == "unchanged"


def test_small_files_do_not_go_on_trust(known: Known, log: Path) -> None:
    """Same name, same first lines, but shorter and with another last line."""
    header = json.dumps({"header": "h" * 2000}).encode() + b"\n"
    Load(known, write(log, header + lines(0, 5)))
    for tail in (lines(70, 1), lines(71, 1)[:-1]):
        load = Load(known, write(log, header + tail))
        assert (load.status, len(load.lines)) == ("new", 2)


def test_what_parts_from_a_known_content_is_new_as_a_whole(known: Known, log: Path) -> None:
    shared = lines(0, 12_000)
    Load(known, write(log, shared + lines(20_000, 12_000)), Limits())
    load = Load(known, write(log, shared + lines(40_000, 15_000)), Limits())
    assert (load.status, len(load.lines), load.numbers[0]) == ("new", 27_000, 1)


@pytest.mark.parametrize("size", [1100, 3000, 300_100, 600_100])
def test_a_growth_is_compared_to_the_last_byte(known: Known, log: Path, size: int) -> None:
    """Behind the last whole chunk, too."""
    data = lines(0, 30_000)[: size - 30] + b"\n"
    Load(known, write(log, data + lines(90_000, 1)), Limits())
    load = Load(known, write(log, data + lines(90_001, 3)), Limits())
    assert (load.status, load.numbers[0], load.numbers[-1]) == ("new", 1, data.count(b"\n") + 3)


def test_of_two_known_beginnings_the_longer_counts(known: Known, tmp_path: Path) -> None:
    start, rest = lines(0, 200, pad=1000), lines(200, 500, pad=1000)
    Load(known, write(tmp_path / "other", start + lines(5000, 900, pad=1000)), Limits())
    Load(known, write(tmp_path / "a", start + rest), Limits())
    Load(known, write(tmp_path / "b", start + rest + lines(700, 1)), Limits())
    load = Load(reload(known), write(tmp_path / "c", start + rest + lines(700, 3)), Limits())
    assert load.ids == [701, 702]


def test_rotation_by_rename_and_by_copytruncate(known: Known, log: Path) -> None:
    Load(known, write(log, lines(0, 3)))
    log.rename(log.with_name("app.jsonl.1"))
    write(log, lines(10, 1))
    assert Load(known, log).ids == [10]
    assert Load(known, log.with_name("app.jsonl.1")).status == "unchanged"
    shutil.copyfile(log, log.with_name("app.jsonl.2"))
    with log.open("r+b") as file:
        file.truncate(0)
        file.write(lines(20, 1)[:-1])
    assert Load(known, log.with_name("app.jsonl.2")).status == "unchanged"
    assert Load(known, log).ids == [20]


def test_a_copy_of_an_earlier_state_adds_nothing_even_when_small(known: Known, log: Path) -> None:
    Load(known, write(log, lines(0, 2)))
    shutil.copyfile(log, log.with_name("backup"))
    Load(known, write(log, lines(0, 5)))
    assert Load(reload(known), log.with_name("backup")).status == "unchanged"
    assert Load(known, write(log.with_name("backup"), lines(0, 2) + lines(80, 1))).ids == [0, 1, 80]


def test_a_name_given_to_a_known_content_counts_for_its_growth(known: Known, log: Path) -> None:
    Load(known, write(log, lines(0, 2)))
    Load(known, copy := write(log.with_name("copy"), lines(0, 2)))
    assert Load(known, write(copy, lines(0, 4))).ids == [2, 3]


def test_a_content_keeps_all_its_names_when_it_grows(known: Known, log: Path) -> None:
    Load(known, write(log, lines(0, 2)))
    Load(known, copy := write(log.with_name("copy"), lines(0, 2)))
    Load(known, write(log, lines(0, 3)))
    assert Load(reload(known), write(copy, lines(0, 4))).ids == [3]


def test_a_given_up_reading_is_not_remembered(known: Known, log: Path) -> None:
    with Reading(found(write(log, lines(0, 9))), known) as reading:
        list(reading.segments())
    assert (len(known), known.changed) == (0, False)


# The last line


def test_whole_json_without_line_end_loads_now_and_once(known: Known, log: Path) -> None:
    assert Load(known, write(log, lines(0, 3)[:-1])).ids == [0, 1, 2]
    known = reload(known)
    assert Load(known, log).status == "unchanged"
    for end in (b"\r", b"\n"):
        load = Load(known, write(log, lines(0, 3)[:-1] + end))
        assert (load.status, load.lines) == ("unchanged", [])
    load = Load(known, write(log, lines(0, 5)))
    assert (load.status, load.ids, load.numbers) == ("grown", [3, 4], [4, 5])


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_late_line_end_is_no_blank_line(known: Known, log: Path, end: bytes) -> None:
    Load(known, write(log, lines(0, 3, end=end).removesuffix(end)))
    load = Load(known, write(log, lines(0, 4, end=end) + b"\n"))
    assert [(number, bool(data)) for number, _, data in load.lines] == [(4, True), (5, False)]


def test_a_taken_line_that_goes_on_otherwise_is_not_lost(known: Known, log: Path) -> None:
    Load(known, write(log, lines(0, 2)[:-1]))
    load = Load(known, write(log, lines(0, 2)[:-1] + b" trailing\n" + lines(2, 1)))
    assert [(number, data) for number, _, data in load.lines] == [(2, b" trailing"), (3, lines(2, 1)[:-1])]
    assert Load(known, log).status == "unchanged"


def test_an_unfinished_line_waits_until_it_is_whole(known: Known, log: Path) -> None:
    data = lines(0, 3)
    load = Load(known, write(log, data[:-5]))
    assert (load.status, load.ids, bool(load.waits)) == ("new", [0, 1], True)
    load = Load(known := reload(known), write(log, data[:-3]))
    assert (load.status, load.ids, bool(load.waits)) == ("unchanged", [], True)
    load = Load(known, write(log, data))
    assert (load.status, load.ids, load.numbers) == ("grown", [2], [3])


def test_a_waiting_line_is_a_reject_once_the_file_is_compressed(known: Known, log: Path) -> None:
    Load(known, write(log, lines(0, 3)[:-5]))
    packed = write(log.with_name("app.jsonl.1.gz"), gzip.compress(log.read_bytes()))
    load = Load(known, packed)
    assert (load.ids, bool(load.rejected)) == ([], True)
    load = Load(known := reload(known), packed)
    assert (load.status, load.rejected) == ("unchanged", b"")


@pytest.mark.parametrize("pad", [0, 500, 100_000])
def test_a_rejected_tail_comes_again_with_its_whole_line(known: Known, log: Path, pad: int) -> None:
    data = lines(0, 5, pad)
    load = Load(known, write(log.with_name("cut.gz"), gzip.compress(data[:-6])))
    assert (load.ids, bool(load.rejected)) == ([0, 1, 2, 3], True)
    known = reload(known)
    assert Load(known, log.with_name("cut.gz")).status == "unchanged"
    load = Load(known, write(log.with_name("cut.gz"), gzip.compress(data)))
    assert (load.ids, load.numbers) == ([4], [5])


# A growth without reading the file from its start

MB = 1 << 20
BIG = lines(0, 20_000, pad=1000)
"""20 MB of lines."""


def bytes_read() -> int:
    """What this process has read from files until now."""
    return int(Path("/proc/self/io").read_text().split()[1])


def grown(known: Known, path: Path, data: bytes) -> Load:
    with path.open("ab") as file:
        file.write(data)
    return Load(known, path, Limits())


def test_a_growth_costs_its_own_bytes_and_some_of_the_old_ones(known: Known, log: Path) -> None:
    Load(known, write(log, BIG), Limits())
    for number in range(20_000, 20_300, 100):
        known = reload(known)
        before = bytes_read()
        load = grown(known, log, lines(number, 100))
        assert bytes_read() - before < 8 * MB
        assert (load.status, load.ids, load.numbers[0]) == ("grown", list(range(number, number + 100)), number + 1)
    copy = write(log.with_name("copy.gz"), gzip.compress(log.read_bytes(), 1))
    assert Load(reload(known), copy, Limits()).status == "unchanged", "its marks are those of a whole reading"
    with Reading(found(log), Known()) as reading:
        list(reading.segments())
        reading.commit()
        (whole,) = reading._known.rows()
    (taken_up,) = known.rows()
    assert taken_up[1:7] == whole[1:7]
    assert taken_up[8:10] == whole[8:10]
    assert taken_up[-1] == whole[-1]


def test_a_log_that_stands_still_is_looked_at_once_more(known: Known, log: Path) -> None:
    Load(known, write(log, BIG), Limits())
    before = bytes_read()
    assert Load(known, log, Limits()).status == "unchanged"
    assert bytes_read() - before < 8 * MB


def test_a_waiting_line_of_a_grown_log_waits_on(known: Known, log: Path) -> None:
    Load(known, write(log, BIG), Limits())
    new = lines(20_000, 2)
    load = grown(known, log, new[:-5])
    assert (load.ids, bool(load.waits)) == ([20_000], True)
    before = bytes_read()
    load = grown(reload(known), log, b"")
    assert (load.status, load.ids, bool(load.waits)) == ("unchanged", [], True)
    assert bytes_read() - before < 8 * MB
    assert grown(known, log, new[-5:]).ids == [20_001]


def test_the_end_of_an_open_line_is_no_line_in_a_grown_log(known: Known, log: Path) -> None:
    Load(known, write(log, BIG[:-1]), Limits())
    load = grown(known, log, b"\n" + lines(20_000, 1))
    assert (load.ids, load.numbers) == ([20_000], [20_001])


@pytest.mark.parametrize(
    "change",
    [
        lambda data: lines(50_000, 30_000, pad=1000),
        lambda data: bytes(len(data)) + lines(50_000, 10),
        lambda data: data[: 5 * MB] + lines(50_000, 1) + data[5 * MB :],
        lambda data: data[: -4 * MB] + lines(50_000, 6_000, pad=1000),
        lambda data: data[:-30] + b"y" * 29 + b"\n" + lines(50_000, 1),
        lambda data: data[: 2 * MB] + data[2 * MB : -2 * MB].replace(b"x", b"y") + data[-2 * MB :] + lines(50_000, 1),
        lambda data: b"X" + data[1:] + lines(50_000, 1),
        lambda data: data[:-7000].replace(b"\n", b"\r\n", 1) + data[-7000:] + lines(50_000, 1),
    ],
    ids=["all", "behind a hole", "line put in", "end", "last line", "middle", "first byte", "byte put in"],
)
def test_a_log_that_was_emptied_and_filled_again_is_new(
    known: Known, log: Path, change: Callable[[bytes], bytes]
) -> None:
    """The file has its old inode, and is longer than what is known of it."""
    Load(known, write(log, BIG), Limits())
    state = log.stat()
    data = change(BIG)
    with log.open("r+b") as file:
        file.truncate(0)
        file.write(data)
    assert log.stat().st_ino == state.st_ino
    load = Load(reload(known), log, Limits())
    assert (load.status, len(load.lines), load.numbers[0]) == ("new", data.count(b"\n"), 1)


def test_another_file_of_the_name_is_compared_whole(known: Known, log: Path) -> None:
    Load(known, write(log, BIG), Limits())
    data = BIG[: 10 * MB] + b"y" + BIG[10 * MB + 1 :] + lines(20_000, 1)
    os.replace(write(log.with_name("next"), data), log)
    assert Load(known, log, Limits()).status == "new"


def test_a_longer_known_beginning_counts_for_a_grown_log_too(known: Known, log: Path) -> None:
    Load(known, write(log, BIG), Limits())
    Load(apart := Known(), write(log.with_name("copy"), BIG + lines(20_000, 50)), Limits())
    both = Known.from_rows([*known.rows(), *apart.rows()])
    assert grown(both, log, lines(20_000, 60)).ids == list(range(20_050, 20_060))


def test_the_chunks_that_are_looked_at_lie_all_over_and_differ_as_the_log_grows(known: Known, log: Path) -> None:
    Load(known, write(log, BIG), Limits())
    drawn = set()
    for number in range(20_000, 20_030):
        (content,) = known.named(os.path.realpath(log), "lines")
        chunks = growth._sampled(content, content.resume // marks.CHUNK - 1)
        assert len(chunks) == growth.SAMPLES
        assert chunks == sorted(set(chunks))
        drawn.update(chunks)
        grown(known, log, lines(number, 1))
    assert drawn == set(range(1, len(BIG) // marks.CHUNK - 1))


def as_first_layouts(data: bytes, name: str) -> tuple[object, ...]:
    """What warehouses of the first layouts keep of a log: one running hash, its marks."""
    running, chunks, at = hashlib.sha256(), b"", 0
    while at < len(data):
        size = 1024 if at < 256 << 10 else 256 << 10
        running.update(data[at : at + size])
        at += size
        if at <= len(data):
            chunks += running.copy().digest()[:8]
    whole = hashlib.sha256(data).digest()
    ends = data.count(b"\n")
    fine = marks.line_marks(data[: 64 << 10])
    return "lines", len(data), whole, len(data), whole, ends, False, b"", fine, chunks, json.dumps({name: None}), 1, b""


@pytest.mark.parametrize("size", [20_000, 200_000, 262_144, 262_200, 3_000_000])
@pytest.mark.parametrize("name", ["app.jsonl", "other.jsonl"])
def test_what_earlier_layouts_knew_is_known(log: Path, size: int, name: str) -> None:
    data = BIG[:size][: BIG[:size].rfind(b"\n") + 1]
    count = data.count(b"\n")
    path = log.with_name(name)
    known = Known.from_rows([as_first_layouts(data, str(log))])
    assert Load(known, write(path, data), Limits()).status == "unchanged"
    assert Load(known, write(path, data[: size * 3 // 4]), Limits()).status == "unchanged"
    known = reload(known)
    load = Load(known, write(path, data + lines(count, 3)), Limits())
    assert (load.status, load.ids) == ("grown", [count, count + 1, count + 2])
    assert not known.has_plain, "its growth is known in the scheme of today"
    other = data[: size // 2] + b"#" + data[size // 2 + 1 :]
    assert Load(known, write(path, other), Limits()).status == "new"


# Without reading, pipes, Parquet, storage


def test_a_file_that_was_not_touched_is_not_read_again(
    known: Known, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Load(known, write(log, lines(0, 3)))
    assert not is_trusted(known, log), "written a moment ago"
    monkeypatch.setattr(read_module, "SETTLED_NS", -(10**12))
    Load(known, log)
    known = reload(known)
    assert is_trusted(known, log)
    assert Load(known, log).status == "unchanged"
    before = log.stat()
    write(log, lines(5, 3))
    os.utime(log, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert not is_trusted(known, log), "same size and mtime, but another ctime"
    assert Load(known, log).ids == [5, 6, 7]


def is_trusted(known: Known, path: Path) -> bool:
    with Reading(found(path), known) as reading:
        return reading.status == "unchanged" and not reading.head


PIPED = """
import sys
from ingest.sources import Found, Known, Limits, Reading
from pathlib import Path
known = Known()
for found in (Found("a", Path(sys.argv[1])), Found("-", None)):
    with Reading(found, known, Limits(segment_bytes=1 << 20)) as reading:
        data = b"".join(segment.data for segment in reading.segments())
        print(reading.status, reading.final, data.count(b"\\n"), reading.first_line, reading.commit("rejected"))
"""


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(
    ("piped", "expected"),
    [
        (lines(0, 9000), "unchanged True 0 1 unchanged"),
        (lines(0, 8999), "unchanged True 0 1 unchanged"),
        (lines(0, 9010), "grown True 10 9001 grown"),
        (lines(0, 8000) + lines(50_000, 40_000), "new True 48000 1 new"),
        (lines(50_000, 5) + b'{"cut', "new True 5 1 new"),
        (b"", "new True 0 1 new"),
    ],
)
def test_standard_input_follows_the_same_rules(log: Path, piped: bytes, expected: str, codec: str) -> None:
    write(log, lines(0, 9000))
    done = subprocess.run(
        [sys.executable, "-c", PIPED, str(log)], input=CODECS[codec](piped), capture_output=True, check=True
    )
    assert done.stdout.decode().splitlines() == ["new False 9000 1 new", expected]


def test_parquet_is_known_as_a_whole_only(known: Known, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    duckdb.sql("SELECT range AS id FROM range(9000)").write_parquet(str(path))
    for expected in ("new", "unchanged"):
        with Reading(found(path), known) as reading:
            assert (reading.kind, list(reading.segments()), reading.status) == ("parquet", [], expected)
            assert reading.commit() == expected
    copy = write(tmp_path / "copy", path.read_bytes() + b"x")
    with Reading(found(copy), reload(known)) as reading:
        assert reading.commit() == "new"


def test_what_is_known_goes_through_the_engine_and_back(known: Known, tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(b"caf\xe9 \xf0\x9f\x92\xa9.jsonl")
    for path, data in ((odd, lines(0, 40)), (tmp_path / "b", lines(50, 2)[:-1]), (tmp_path / "c.gz", GZ[:0])):
        Load(known, write(path, data))
    with duckdb.connect() as connection:
        columns = ", ".join(f'"{name}" {kind}' for name, kind in COLUMNS.items())
        connection.execute(f"CREATE TABLE known ({columns})")
        connection.executemany(f"INSERT INTO known VALUES ({', '.join('?' * len(COLUMNS))})", known.rows())
        again = Known.from_rows(connection.execute("FROM known").fetchall())
    assert again.rows() == known.rows()
    assert not again.changed
    assert Load(again, write(odd, lines(0, 41))).ids == [40]


def test_what_changed_and_what_goes_make_up_what_is_known(known: Known, tmp_path: Path) -> None:
    for name in "abc":
        Load(known, write(tmp_path / name, lines(ord(name), 50)))
    rows = known.rows()
    known = Known.from_rows(rows)
    assert known.changes() == ([], [])
    grown(known, tmp_path / "b", lines(0, 3))
    Load(known, write(tmp_path / "copy", lines(ord("c"), 50)))
    Load(known, write(tmp_path / "d", lines(1000, 50)))
    fresh, gone = known.changes()
    assert len(gone) == len(set(gone)) == 2
    assert len(fresh) == 3
    assert sorted([*fresh, *(row for place, row in enumerate(rows) if place not in gone)]) == known.rows()


@pytest.mark.parametrize(
    ("line", "whole"),
    [
        (b'{"a": 1}', True),
        (b'\xef\xbb\xbf{"a": "\xff"} \r', True),
        (b'{"a": ' + b"9" * 5000 + b"}", True),
        (b'{"a": NaN}', True),
        (b'{"a": {"b": 1}', False),
        (b'{"a": 1} x}', False),
        (b"[1]", False),
        (b"", False),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, False),
    ],
)
def test_whole_json(line: bytes, whole: bool) -> None:
    assert is_whole_json(line) is whole


# Every line exactly once, whatever was done to the files between the loads


class World:
    """A writer, its log, and people who rotate, copy and compress; every line has its own number."""

    def __init__(self, folder: Path, first_pad: int) -> None:
        self.folder, self.first_pad = folder, first_pad
        self.written = self.files = 0
        self.unfinished = b""
        self.log = folder / "app.jsonl"
        self.facts: Counter[int] = Counter()
        self.known = Known()

    def line(self, pad: int, end: bytes) -> bytes:
        self.written += 1
        pad = pad if self.log.exists() and self.log.stat().st_size else max(pad, self.first_pad)
        return lines(self.written - 1, 1, pad, end)

    def write(self, data: bytes) -> None:
        with self.log.open("ab") as file:
            file.write(data)

    def append(self, pads: list[int], end: bytes, cut: int) -> None:
        """Lines, of which the last one is still being written for `cut` bytes."""
        self.finish()
        for pad in pads:
            self.finish()
            data = self.line(pad, end)
            self.unfinished = data[len(data) - min(cut, len(data) - 1) :]
            self.write(data[: len(data) - len(self.unfinished)])

    def finish(self) -> None:
        self.write(self.unfinished)
        self.unfinished = b""

    def place(self, codec: str, data: bytes) -> None:
        self.files += 1
        (self.folder / f"app.jsonl.{self.files}{codec}").write_bytes(CODECS[codec](data))

    def rotate(self, codec: str) -> None:
        self.finish()
        self.files += 1
        if codec:
            self.place(codec, self.log.read_bytes())
            self.log.unlink()
        else:
            self.log.rename(self.folder / f"app.jsonl.{self.files}")

    def copytruncate(self, codec: str) -> None:
        self.finish()
        self.place(codec, self.log.read_bytes())
        os.truncate(self.log, 0)

    def copy(self, codec: str, share: float) -> None:
        """A copy, whole or the beginning of it, of at least what is recognised under another name."""
        if not self.log.exists():
            return
        data = self.log.read_bytes()
        least = min(len(data), max(1024, self.first_pad + 60))
        self.place(codec, data[: max(least, int(len(data) * share))])

    def load(self) -> None:
        self.known = reload(self.known)
        for one in discover([str(self.folder)]):
            assert one.path is not None
            self.facts.update(Load(self.known, one.path).ids)


codecs = st.sampled_from(list(CODECS))
pads = st.sampled_from([0, 0, 7, 300, 1100, 40_000, 300_000])
acts = st.lists(
    st.one_of(
        st.tuples(
            st.just("append"),
            st.lists(pads, min_size=1, max_size=5),
            st.sampled_from([b"\n", b"\r\n"]),
            st.sampled_from([0, 0, 1, 2, 3, 30, 500]),
        ),
        st.tuples(st.just("load")),
        st.tuples(st.just("load")),
        st.tuples(st.just("finish")),
        st.tuples(st.just("rotate"), codecs),
        st.tuples(st.just("copytruncate"), codecs),
        st.tuples(st.just("copy"), codecs, st.floats(0, 1)),
    ),
    max_size=14,
)


@pytest.fixture(scope="module")
def scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def play(scratch: Path, history: list[tuple], first_pad: int, left_out: tuple[str, ...] = ()) -> World:
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        world = World(Path(folder), first_pad)
        world.finish()
        for name, *arguments in history:
            if name not in left_out:
                if name in ("rotate", "copytruncate") and not world.log.exists():
                    continue
                getattr(world, name)(*arguments)
        world.finish()
        world.load()
        once = dict(world.facts)
        world.load()
        assert world.facts == once, "a second load of the same adds nothing"
        return world


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(acts)
def test_every_line_counts_exactly_once(scratch: Path, history: list[tuple]) -> None:
    """Files that begin with more than the 1 KiB by which a content is recognised under another name."""
    world = play(scratch, history, first_pad=1100)
    assert world.facts == Counter(range(world.written))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(acts)
def test_every_line_counts_exactly_once_in_small_files_that_keep_their_name(
    scratch: Path, history: list[tuple]
) -> None:
    world = play(scratch, history, first_pad=0, left_out=("rotate", "copytruncate", "copy"))
    assert world.facts == Counter(range(world.written))
