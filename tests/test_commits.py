"""Two hundred loads of one line each: no reader sees half of one, and a late one costs no more than an early one."""

from __future__ import annotations

import json
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from dashboard.snapshot import current_name, open_snapshot
from ingest.load import ingest
from ingest.snapshot.current import read_state
from tests.loaded import attempt
from tests.polling import await_publish

pytestmark = pytest.mark.slow

COMMITS = 200


@dataclass
class Commits:
    """What the loads wrote, and what a reader saw meanwhile: (facts, sums of calls, sums of hours) at each look."""

    warehouse: Path
    files: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    most_parts: int = 0
    seen: list[tuple[int, int, int]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    def poll(self) -> None:
        """Read facts, calls and the hour roll-up of one snapshot, over and over."""
        while not self.ended.is_set():
            try:
                name = current_name(self.warehouse)
                snapshot = open_snapshot(self.warehouse)
                row = snapshot.query(
                    "select (select count(*) from attempts), (select coalesce(sum(attempts_sent), 0) from calls),"
                    " (select coalesce(sum(attempts), 0) from hour_attempts)"
                )[0]
                snapshot.close()
                self.seen.append((int(row[0]), int(row[1]), int(row[2])))
                await_publish(self.warehouse, name)
            except Exception as error:  # any failure of a reader is what this looks for
                self.errors.append(repr(error))

    def load(self, log: Path) -> None:
        """Add a line an hour's fiftieth at a time, and load it; notes the parts that are new each time."""
        known = {part.path for part in read_state(self.warehouse).parts}
        for number in range(1, COMMITS + 1):
            append(log, number)
            ingest([str(log)], self.warehouse)
            parts = read_state(self.warehouse).parts
            new = [part for part in parts if part.path not in known]
            known.update(part.path for part in new)
            self.files.append(len(new))
            self.sizes.append(sum(part.size for part in new))
            self.most_parts = max(self.most_parts, *Counter(part.relation for part in parts).values())


def append(log: Path, number: int) -> None:
    """The attempt `number` of a log that writes fifty an hour."""
    hour, second = divmod(number, 50)
    with log.open("a", encoding="utf-8") as file:
        file.write(json.dumps(attempt(f"2026-09-14T{hour:02}:00:{second:02}Z", f"a{number}")) + "\n")


@pytest.fixture(scope="module")
def commits(tmp_path_factory: pytest.TempPathFactory) -> Commits:
    """A first load, and the 200 after it under a polling reader."""
    folder = tmp_path_factory.mktemp("commits")
    done = Commits(folder / "warehouse")
    append(folder / "live.jsonl", 0)
    ingest([str(folder / "live.jsonl")], done.warehouse)
    (done.warehouse / "retrylens.toml").write_text("snapshot_grace_s = 5\n")
    reader = threading.Thread(target=done.poll)
    reader.start()
    try:
        done.load(folder / "live.jsonl")
    finally:
        done.ended.set()
        reader.join()
    return done


def test_200_commits_under_a_polling_reader(commits: Commits) -> None:
    torn = [row for row in commits.seen if len(set(row)) != 1]
    assert commits.errors == []
    assert torn == []
    assert len({row[0] for row in commits.seen}) > COMMITS // 2, "the reader saw too few of the commits"
    snapshot = open_snapshot(commits.warehouse)
    assert snapshot.meta["snapshot_id"] == "201"
    assert snapshot.query("select count(*), count(distinct auction_id) from attempts") == [(201, 201)]
    assert len(list((commits.warehouse / "snapshots").iterdir())) < 100, "old snapshots are not swept"


def test_200_loads_of_one_line_stay_quick(commits: Commits) -> None:
    assert sum(commits.files[-50:]) <= 1.2 * sum(commits.files[:50])
    assert sum(commits.sizes[-50:]) <= 2 * sum(commits.sizes[:50])
    assert commits.most_parts < 40
