"""The most likely base, cap and noise of a rule."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dashboard.backoff.rules import JITTERS, Noise, Rule, log_likelihood
from dashboard.backoff.sample import Floats, Sample, weighted_quantile

CAP_PRICE = {"none": 8.0, "full": 2.5, "half": 2.5}
"""How much likelier (as a logarithm) the delays must be with a cap before one is believed in.

The sharper the delays, the less a cap that fits them can be luck.
"""

NOISES = ((1.0, 1.0, 2.0), (1.0, 1.0, 10.0), (2.0, 1.0, 40.0), (5.0, 5.0, 5.0), (20.0, 20.0, 20.0))
"""Shift, early and late in ms that a search may begin with."""


#: Typical value and spread (both as logarithms) of shift, early, late in ms and of the relative part.
_USUAL = ((np.log(3.0), 1.5), (np.log(2.0), 1.5), (np.log(10.0), 1.5), (np.log(0.003), 1.2))


@dataclass(frozen=True)
class Fit:
    """A rule with its likeliest numbers; `score` is the logarithm of how likely they make the sample."""

    rule: Rule
    base: float
    ratio: float
    noise: Noise
    score: float

    def expected(self, k: Floats) -> Floats:
        """Delay in ms that the rule says for retry `k`, before jitter."""
        return self.base * self.rule.growth(k, self.ratio)

    def typical(self, k: Floats) -> Floats:
        """The delay with what usually comes on top of it."""
        return self.expected(k) + self.noise.shift

    def each(self, sample: Sample) -> Floats:
        """Logarithm of the density of each delay of the sample."""
        low, high = JITTERS[self.rule.jitter]
        return log_likelihood(sample.x, self.expected(sample.k), low, high, self.noise)


class _Search:
    """The numbers of one rule as a vector of logarithms: base, then what else is free."""

    def __init__(self, rule: Rule, sample: Sample) -> None:
        self.rule, self.sample = rule, sample
        self._middle = sum(JITTERS[rule.jitter]) / 2
        self.floor = max(0.3, sample.resolution_ms / 2)
        # Where the delays do not grow, a shift is part of the base; where they are spread, an early edge hides.
        self.free = [
            *([0] if rule.kind != "fixed" or rule.jitter != "none" else []),
            *([1] if rule.jitter == "none" else []),
            2,
            *([3] if rule.jitter == "none" and rule.kind != "fixed" else []),
        ]

    def fit(self, theta: Floats) -> Fit:
        """The rule with these numbers, scored."""
        base = _number(theta[0], -5.0, 20.0)
        ratio = _number(theta[1], 0.0, 10.0) if self.rule.capped else np.inf
        values = [0.0, self.floor, 0.0, 0.003]
        price = CAP_PRICE[self.rule.jitter] if self.rule.capped else 0.0
        for place, number in zip(self.free, theta[2 if self.rule.capped else 1 :], strict=True):
            usual, spread = _USUAL[place]
            price += ((number - usual) / spread) ** 2 / 2
            values[place] = _number(number, -12.0, 12.0)
        noise = Noise(values[0], max(values[1], self.floor), max(values[2], self.floor), min(values[3], 0.3))
        if self.rule.jitter != "none":
            price += 10.0 * max(0.0, noise.shift / base - 0.25)
        low, high = JITTERS[self.rule.jitter]
        expected = base * self.rule.growth(self.sample.k, ratio)
        found = self.sample.w @ log_likelihood(self.sample.x, expected, low, high, noise)
        return Fit(self.rule, base, ratio, noise, float(found) - price)

    def starts(self) -> list[Floats]:
        """Guesses to begin with: the base (and cap) that put the middles of the delays in their place."""
        found = []
        for base, ratio in self._paces():
            cap = [np.log(ratio)] if self.rule.capped else []
            for shift, early, late in NOISES:
                noise = [np.log(shift), np.log(early), np.log(late), np.log(0.004)]
                found.append(np.array([np.log(base), *cap, *(noise[place] for place in self.free)]))
        return found

    def _paces(self) -> list[tuple[float, float]]:
        """Base, and ratio of cap to base, for each retry number from which on the cap may hold."""
        x, k, w = self.sample.x, self.sample.k, self.sample.w
        if not self.rule.capped:
            return [(base, np.inf) for base in self._bases(x, k, w)]
        paces = []
        for number in self.sample.numbers[1:]:
            growing = k < number
            cap = weighted_quantile(x[~growing], w[~growing], 0.47) / self._middle
            most = float(self.rule.growth(np.array([number]))[0])
            for base in self._bases(x[growing], k[growing], w[growing]):
                paces.append((base, min(max(cap / base, 1.0), most)))
        return paces

    def _bases(self, x: Floats, k: Floats, w: Floats) -> list[float]:
        """The base as all delays have it, as the later ones do (the noise is small beside them), as the longest do."""
        bases = []
        for late in (k > 0, k >= k.max() / 2) if self.rule.kind != "fixed" else (k > 0,):
            scaled = x[late] / self.rule.growth(k[late])
            bases.append(weighted_quantile(scaled, w[late], 0.47) / self._middle)
        if self.rule.jitter != "none":
            scaled = x / self.rule.growth(k)
            bases.append(weighted_quantile(scaled, w, 0.95) / JITTERS[self.rule.jitter][1])
        return [max(base, 0.5) for base in bases]

    def steps(self, part: float) -> Floats:
        """How far each number may reasonably be from its guess; less far in later rounds, of a smaller `part`."""
        pace = (0.02 if self.rule.jitter == "none" else 0.12) * part**2
        return np.array([pace] * (2 if self.rule.capped else 1) + [0.8 * part**0.5] * len(self.free))


def _number(log: float, low: float, high: float) -> float:
    return math.exp(min(max(log, low), high))


def first_guess(rule: Rule, sample: Sample) -> tuple[Fit, Floats] | None:
    """The best of some guesses; None where the rule can make no sense of the retry numbers there are."""
    search = _Search(rule, sample)
    guesses = [(search.fit(start), start) for start in search.starts()]
    return max(guesses, key=lambda guess: guess[0].score) if guesses else None


def improve(rule: Rule, sample: Sample, start: Floats, part: float) -> tuple[Fit, Floats]:
    """The likeliest numbers that a search finds from `start`, in steps that are the smaller the smaller `part` is."""
    search = _Search(rule, sample)
    best = _downhill(lambda theta: -search.fit(theta).score, start, search.steps(part))
    return search.fit(best), best


def _downhill(
    cost: Callable[[Floats], float], start: Floats, size: Floats, steps: int = 120, tolerance: float = 0.05
) -> Floats:
    """The simplex search of Nelder and Mead, from `start` and a corner one step away in each direction."""
    points = np.vstack([start, start + np.diag(size)])
    costs = np.array([cost(point) for point in points])
    for _ in range(steps):
        order = np.argsort(costs, kind="stable")
        points, costs = points[order], costs[order]
        if costs[-1] - costs[0] < tolerance:
            break
        centre = points[:-1].mean(axis=0)
        reflected = 2 * centre - points[-1]
        value = cost(reflected)
        if value < costs[0]:
            further = 3 * centre - 2 * points[-1]
            there = cost(further)
            points[-1], costs[-1] = (further, there) if there < value else (reflected, value)
        elif value < costs[-2]:
            points[-1], costs[-1] = reflected, value
        else:
            nearer = (centre + (reflected if value < costs[-1] else points[-1])) / 2
            there = cost(nearer)
            if there < min(value, costs[-1]):
                points[-1], costs[-1] = nearer, there
            else:
                points[1:] = (points[1:] + points[0]) / 2
                costs[1:] = [cost(point) for point in points[1:]]
    return np.asarray(points[np.argmin(costs)])
