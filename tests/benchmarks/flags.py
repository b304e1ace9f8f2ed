"""`python -m tests.benchmarks.flags [--seeds N]`: how often the rule for retries to disable is right, and wrong.

Each seed gives two senders whose true success rate is known: one that is worth its retries (above 10 %), and one that
is not (at most 1 %, with 300 retries and more). Their logs are loaded, and the product's own table `flags` is asked.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from dashboard import tables
from dashboard.snapshot import open_snapshot
from ingest.load import ingest

BEGIN = datetime(2026, 9, 14, tzinfo=UTC)
WEEK_S = 6 * 24 * 3600
WORTH, HOPELESS = 0.10, 0.01
FEWEST_HOPELESS = 300


@dataclass(frozen=True)
class Sender:
    """One sender with independent retries of a known success rate, and how many of them succeeded."""

    stream: str
    name: str
    rate: float
    results: tuple[bool, ...]

    @property
    def trigger(self) -> str:
        """What it retries."""
        return "connect_error" if self.stream == "exchange" else "server_error"


@dataclass(frozen=True)
class Proof:
    """Counts over all senders of each sort."""

    worthy: int
    false_alarms: int
    hopeless: int
    caught: int

    @property
    def false_alarm_rate(self) -> float:
        """Flagged though worth it / worth it."""
        return self.false_alarms / self.worthy

    @property
    def recall(self) -> float:
        """Flagged and hopeless / hopeless."""
        return self.caught / self.hopeless


def senders(seed: int) -> Iterator[Sender]:
    """The two senders of a seed; every other worthy one is close to the border."""
    rng = Random(f"flags {seed}")
    stream = "exchange" if seed % 2 else "postback"
    rate = rng.uniform(WORTH, 0.2 if rng.random() < 0.5 else 0.9)
    few = int(math.exp(rng.uniform(math.log(20), math.log(400))))
    yield _sender(rng, stream, f"worthy-{seed}", rate, few)
    many = rng.randrange(FEWEST_HOPELESS, 2 * FEWEST_HOPELESS)
    yield _sender(rng, stream, f"hopeless-{seed}", rng.uniform(0, HOPELESS), many)


def _sender(rng: Random, stream: str, name: str, rate: float, retries: int) -> Sender:
    return Sender(stream, name, rate, tuple(rng.random() < rate for _ in range(retries)))


def lines(sender: Sender) -> Iterator[str]:
    """A failed request and its retry for each result, spread over six days."""
    for number, success in enumerate(sender.results):
        first = BEGIN + timedelta(seconds=WEEK_S * (number + 0.5) / len(sender.results))
        again = first + timedelta(milliseconds=40)
        if sender.stream == "exchange":
            head = f'"event":"attempt","auction_id":"{sender.name}-{number}","partner":"{sender.name}"'
            failed, answered = '"error_type":"connection_refused"', '"http_status":204'
        else:
            head = f'"event":"postback","external_order_id":"{sender.name}-{number}","key_id":"{sender.name}"'
            failed, answered = '"http_status":503', '"http_status":200'
        yield f'{{{head},"ts":"{first.isoformat()}",{failed}}}'
        yield f'{{{head},"ts":"{again.isoformat()}",{answered if success else failed}}}'


def measure(seeds: Iterable[int], folder: Path) -> Proof:
    """Load the logs of all seeds into one warehouse below `folder`, and count what its flags say.

    Raises AssertionError where the table counts other retries or successes than were written.
    """
    made = [sender for seed in seeds for sender in senders(seed)]
    log = folder / "retries.jsonl"
    with log.open("w", encoding="utf-8") as out:
        out.writelines(f"{line}\n" for sender in made for line in lines(sender))
    ingest([str(log)], folder / "warehouse")
    rows = tables.rows(open_snapshot(folder / "warehouse"), "flags")
    flags = {(row["stream"], row["partner"], row["trigger"]): row for row in rows}
    flagged: dict[bool, list[bool]] = {True: [], False: []}
    for sender in made:
        row = flags[sender.stream, sender.name, sender.trigger]
        assert (row["retries"], row["successes"]) == (len(sender.results), sum(sender.results)), sender.name
        flagged[sender.rate > WORTH].append(row["verdict"] == "disable")
    return Proof(len(flagged[True]), sum(flagged[True]), len(flagged[False]), sum(flagged[False]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=200)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        proof = measure(range(chosen.seeds), Path(name))
    print(f"false alarms: {proof.false_alarms} of {proof.worthy} senders above 10 % ({proof.false_alarm_rate:.1%})")
    print(f"recall: {proof.caught} of {proof.hopeless} hopeless senders ({proof.recall:.1%})")


if __name__ == "__main__":
    main()
