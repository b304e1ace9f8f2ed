"""`python -m tests.benchmarks.backoff [--senders N]`: how often the rule of a simulated sender is found.

Senders of each kind with random numbers retry orders that may succeed at any time; what is measured is their delay
with the network's share and a few outliers. Prints a confusion table for several numbers of delays. Written from what
senders do; it shares nothing with the inference.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

import duckdb
import pyarrow

from dashboard.backoff import Sample, Verdict, infer
from dashboard.backoff.synchronised import Timing, is_synchronised
from dashboard.tables import get_table

RULES = (
    ("immediate", "none"),
    ("fixed", "none"),
    ("linear", "none"),
    ("exponential", "none"),
    ("exponential", "full"),
    ("exponential", "half"),
)
"""What the product is to tell apart, first of all."""

MORE_RULES = (("fixed", "full"), ("fixed", "half"), ("linear", "full"), ("linear", "half"))
CHANCE = ("poisson", "lognormal", "two senders", "tripling", "growing by half", "equal jitter", "poisson growing")
"""Senders that follow none of the rules: these must be called unclear."""

Delays = list[tuple[int, float]]


class Outcome(NamedTuple):
    """What was asked and answered: `base_error` is the relative error of a right answer's base."""

    asked: str
    answered: str
    base_error: float | None
    cap_error: float | None


@dataclass(frozen=True)
class Sender:
    """A sender: `wait` gives the delay in ms that it means to keep before a retry."""

    kind: str
    jitter: str | None
    base: float
    cap: float | None
    wait: Callable[[Random, int], float]
    retries: int
    noise: Callable[[Random], float]
    success: float

    def delays(self, rng: Random, count: int) -> Delays:
        """What a log shows of its first `count` retries."""
        found: Delays = []
        while len(found) < count:
            for number in range(1, self.retries + 1):
                delay = self.wait(rng, number) + self.noise(rng)
                if rng.random() < 0.02:
                    delay = rng.choice((delay * rng.uniform(3, 50), rng.uniform(0, 60_000), 0.0))
                found.append((number, round(max(delay, 0.0), 3)))
                if rng.random() < self.success:
                    break
        return found[:count]


def log_uniform(rng: Random, low: float, high: float) -> float:
    """Alike likely on each scale."""
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def random_noise(rng: Random) -> Callable[[Random], float]:
    """What the network adds: 1 to 50 ms on average, in one of several shapes."""
    size = log_uniform(rng, 1, 50)
    shapes: tuple[Callable[[Random], float], ...] = (
        lambda r: r.expovariate(1 / size),
        lambda r: abs(r.gauss(0, 1.25 * size)),
        lambda r: r.lognormvariate(math.log(size), 0.5),
        lambda r: r.uniform(0, 2 * size),
        lambda r: max(0.0, r.gauss(size, size / 4)),
    )
    return rng.choice(shapes)


def random_sender(rng: Random, kind: str, jitter: str) -> Sender:
    """A sender of that rule, with base, cap, retries and noise drawn at random."""
    # A fixed delay with jitter below that is within what networks take: nobody could tell it from an immediate retry.
    base = log_uniform(rng, 300 if (kind, jitter) in MORE_RULES[:2] else 10, 5_000)
    cap = base * log_uniform(rng, 2, 200) if kind == "exponential" and rng.random() < 0.7 else None

    def wait(r: Random, number: int) -> float:
        if kind == "immediate":
            return 0.0
        meant = base * {"fixed": 1, "linear": number, "exponential": 2 ** (number - 1)}[kind]
        meant = meant if cap is None else min(meant, cap)
        return meant * {"none": 1.0, "full": r.random(), "half": r.uniform(0.5, 1.5)}[jitter]

    noise = random_noise(rng)
    return Sender(kind, jitter, base, cap, wait, rng.randint(3, 10), noise, rng.uniform(0.1, 0.5))


def chance_sender(rng: Random, name: str) -> Sender:
    """A sender that follows no rule, or one that is none of ours."""
    base = log_uniform(rng, 100, 5_000)
    spread = rng.uniform(0.5, 1.5)
    one, two = (random_sender(rng, *rng.choice(RULES[1:])) for _ in range(2))
    share = rng.uniform(0.3, 0.7)
    waits: dict[str, Callable[[Random, int], float]] = {
        "poisson": lambda r, number: r.expovariate(1 / base),
        "lognormal": lambda r, number: r.lognormvariate(math.log(base), spread),
        "two senders": lambda r, number: (one if r.random() < share else two).wait(r, number),
        "tripling": lambda r, number: base * 3 ** (number - 1),
        "growing by half": lambda r, number: base * 1.5 ** (number - 1),
        "equal jitter": lambda r, number: base * 2 ** (number - 1) * r.uniform(0.5, 1),
        "poisson growing": lambda r, number: r.expovariate(1 / base) * 2 ** (number - 1),
    }
    return Sender(
        "unclear", None, base, None, waits[name], rng.randint(3, 10), random_noise(rng), rng.uniform(0.1, 0.5)
    )


def _answer(verdict: Verdict) -> str:
    return "unclear" if verdict.kind == "unclear" else f"{verdict.kind} {verdict.jitter}"


def trial(rng: Random, rule: tuple[str, str] | str, count: int) -> Outcome:
    """One sender of that rule (or, by name, of none), judged by its first `count` retries."""
    sender = chance_sender(rng, rule) if isinstance(rule, str) else random_sender(rng, *rule)
    verdict = infer(Sample.of(sender.delays(rng, count)))
    asked = rule if isinstance(rule, str) else " ".join(rule)
    right = _answer(verdict) == asked
    base_error = verdict.base_ms / sender.base - 1 if right and verdict.base_ms else None
    cap_error = verdict.cap_ms / sender.cap - 1 if right and verdict.cap_ms and sender.cap else None
    return Outcome(asked, _answer(verdict), base_error, cap_error)


def trials(rules: tuple[tuple[str, str] | str, ...], senders: int, count: int, seed: int = 1) -> Iterator[Outcome]:
    """`senders` of each of the rules."""
    for place, rule in enumerate(rules):
        for number in range(senders):
            yield trial(Random(f"{seed} {place} {number} {count}"), rule, count)


@dataclass(frozen=True)
class Tally:
    """Shares of the answers over senders that follow a rule."""

    right: float
    wrong: float

    @classmethod
    def of(cls, outcomes: list[Outcome]) -> Tally:
        """Anything but the rule itself and `unclear` is wrong."""
        right = sum(one.asked == one.answered for one in outcomes)
        unclear = sum(one.answered == "unclear" for one in outcomes)
        return cls(right / len(outcomes), (len(outcomes) - right - unclear) / len(outcomes))


STEADY = ("poisson", "outages", "fixed second", "page of auctions")
TOGETHER = ("released together", "every second", "every minute", "on the minute")
"""Senders whose retries come all at once."""


def moments(rng: Random, name: str, retries: int) -> list[tuple[int, int]]:
    """Microseconds of about so many retries, each with the number of its order; `name` says how they come about."""
    day, second = 86_400_000_000, 1_000_000
    # What happens once a minute can be seen over many minutes only.
    rate = log_uniform(rng, 0.02, retries / 900 if "minute" in name else 300)
    span = min(day, int(retries / rate * second) + second)
    noise = random_noise(rng)
    found: list[tuple[int, int]] = []
    for origin in range(retries):
        failed = rng.randrange(span)
        if name == "outages" and rng.random() < 0.7:
            failed = Random(span + failed % 5).randrange(span) + rng.randrange(3 * second)
        again = failed + int(1_000 * (noise(rng) + 200))
        if name == "fixed second":
            again = failed + second + int(1_000 * noise(rng))
            found += [(again + second, origin), (again + 2 * second, origin)]
        elif name == "page of auctions":
            found += [(again, retries + 4 * origin + slot) for slot in range(rng.randrange(3))]
        elif name == "released together":
            every = max(second, int(20 / rate * second))
            again = (failed // every + 1) * every + Random(failed // every).randrange(second) + rng.randrange(1_500)
        elif name in ("every second", "every minute"):
            every = second if name == "every second" else 60 * second
            again = (failed // every + 1) * every + rng.randrange(30_000)
        elif name == "on the minute":
            again = (failed // (60 * second) + 1) * 60 * second + rng.randrange(second // 2)
        found.append((again, origin))
    return found


def told_synchronised(senders: Sequence[Sequence[tuple[int, int]]]) -> list[bool | None]:
    """What the table says of senders, given the moments of their retries."""
    columns: dict[str, list[Any]] = {"key": [], "us": [], "origin": []}
    for key, sender in enumerate(senders):
        columns["key"] += [f"{key:06}"] * len(sender)
        columns["us"] += [us for us, _ in sender]
        columns["origin"] += [origin for _, origin in sender]
    with duckdb.connect() as con:
        con.register("moments_of_senders", pyarrow.table(columns))
        con.execute("create macro x_idiv(a, b) as a // b; create view kept_facts as select true as whole")
        con.execute(
            "create table backoff_delays as select 'postback' as stream, key, 1::bigint as retry_no,"
            " 1000::double as delay_ms, us, us - 1000007 as call_us, hash(origin) as origin from moments_of_senders"
        )
        found = con.execute(get_table("backoff").body)
        names = [column[0] for column in found.description]
        rows = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
    return [is_synchronised(Timing(**{name: row[name] for name in Timing._fields})) for row in rows]


def alarms(name: str, senders: int, retries: int, seed: int = 1) -> float:
    """Share of such senders that are said to be synchronised."""
    told = told_synchronised([moments(Random(f"{seed} {name} {n}"), name, retries) for n in range(senders)])
    return sum(each is True for each in told) / senders


def _show(title: str, outcomes: list[Outcome]) -> None:
    by_asked: dict[str, Counter[str]] = defaultdict(Counter)
    for one in outcomes:
        by_asked[one.asked][one.answered] += 1
    print(f"\n{title}")
    for asked, answers in by_asked.items():
        total = sum(answers.values())
        print(f"  {asked:20}", ", ".join(f"{name} {n / total:.1%}" for name, n in answers.most_common()))
    for name in ("base_error", "cap_error"):
        errors = sorted(abs(error) for one in outcomes if (error := getattr(one, name)) is not None)
        if errors:
            at = [errors[int(share * (len(errors) - 1))] for share in (0.5, 0.95)]
            print(f"  {name.replace('_', ' ')}: median {at[0]:.1%}, 95th percentile {at[1]:.1%}")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--senders", type=int, default=200, help="senders of each rule")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    for count in (30, 60, 200, 1000):
        outcomes = list(trials(RULES, given.senders, count, given.seed))
        tally = Tally.of(outcomes)
        _show(f"{count} delays: right {tally.right:.1%}, wrong {tally.wrong:.2%}", outcomes)
        _show(f"{count} delays, further rules", list(trials(MORE_RULES, given.senders // 2, count, given.seed)))
        chance = list(trials(CHANCE, given.senders // 2, count, given.seed))
        unclear = sum(one.answered == "unclear" for one in chance) / len(chance)
        _show(f"{count} delays, senders without a rule: unclear {unclear:.1%}", chance)
        for title, names in (("steady", STEADY), ("together", TOGETHER)):
            shares = ", ".join(f"{name} {alarms(name, given.senders, count, given.seed):.1%}" for name in names)
            print(f"\n{count} retries, {title}, said to be synchronised: {shares}")


if __name__ == "__main__":
    main()
