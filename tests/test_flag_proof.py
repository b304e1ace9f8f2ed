"""The rule for retries to disable, against 200 seeds of senders whose true success rate is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.flags import FEWEST_HOPELESS, HOPELESS, WORTH, measure, senders

SEEDS = range(200)


def test_the_senders_are_of_the_two_sorts() -> None:
    for seed in SEEDS:
        worthy, hopeless = senders(seed)
        assert worthy.rate > WORTH
        assert hopeless.rate <= HOPELESS
        assert len(hopeless.results) >= FEWEST_HOPELESS


@pytest.mark.slow
def test_few_false_alarms_and_few_misses(tmp_path: Path) -> None:
    proof = measure(SEEDS, tmp_path)
    assert proof.worthy == proof.hopeless == len(SEEDS)
    assert proof.false_alarm_rate <= 0.05
    assert proof.recall >= 0.95
