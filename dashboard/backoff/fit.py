"""The most likely base, cap and noise of a rule."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dashboard.backoff.rules import JITTERS, OUTLIERS, Noise, Rule, density, log_likelihood, mixed, outlier_density
from dashboard.backoff.sample import Floats, Sample, weighted_quantile

CAP_PRICE = {"none": 8.0, "full": 2.5, "half": 2.5}
"""How much likelier (as a logarithm) the delays must be with a cap before one is believed in.

The sharper the delays, the less a cap that fits them can be luck.
"""

NOISES = ((1.0, 1.0, 2.0), (1.0, 1.0, 10.0), (2.0, 1.0, 40.0), (5.0, 5.0, 5.0), (20.0, 20.0, 20.0))
"""Shift, early and late in ms that a search may begin with."""


#: Typical value and spread (both as logarithms) of shift, early, late in ms and of the relative part.
_USUAL = np.array([(np.log(3.0), 1.5), (np.log(2.0), 1.5), (np.log(10.0), 1.5), (np.log(0.003), 1.2)])


@dataclass(frozen=True)
class Fit:
    """A rule with its likeliest numbers; `score` is the logarithm of how likely they make the sample."""

    rule: Rule
    base: float
    ratio: float
    noise: Noise[float]
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
    """The numbers of one rule as a vector of logarithms: base, then what else is free.

    Many vectors, as rows of a matrix, are scored at once.
    """

    def __init__(self, rule: Rule, sample: Sample) -> None:
        self.rule, self.sample = rule, sample
        self._low, self._high = JITTERS[rule.jitter]
        self._middle = (self._low + self._high) / 2
        self._growth = rule.growth(sample.k)
        self._anything = OUTLIERS * outlier_density(sample.x)
        self.floor = max(0.3, sample.resolution_ms / 2)
        # Where the delays do not grow, a shift is part of the base; where they are spread, an early edge hides.
        self.free = [
            *([0] if rule.kind != "fixed" or rule.jitter != "none" else []),
            *([1] if rule.jitter == "none" else []),
            2,
            *([3] if rule.jitter == "none" and rule.kind != "fixed" else []),
        ]
        self._usual, self._spread = _USUAL[self.free].T
        self._paces = 2 if rule.capped else 1
        self._fixed = np.array([[1.0, np.inf, 0.0, self.floor, 0.0, 0.003]])
        self._places = [0, 1][: self._paces] + [2 + place for place in self.free]
        log_floor = math.log(self.floor)
        limits = [(-5, 20), (0, 10), (-12, 12), (log_floor, 12), (log_floor, 12), (-12, math.log(0.3))]
        self._least, self._most = np.array(limits, float)[self._places].T

    def fit(self, theta: Floats) -> Fit:
        """The rule with these numbers, scored."""
        base, ratio, *noise = (float(number[0, 0]) for number in self._numbers(theta[None]))
        return Fit(self.rule, base, ratio, Noise(*noise), float(self.scores(theta[None])[0]))

    def scores(self, thetas: Floats) -> Floats:
        """The score of the rule with the numbers of each row."""
        base, ratio, shift, early, late, relative = self._numbers(thetas)
        unusual = (thetas[:, self._paces :] - self._usual) / self._spread
        price = (unusual * unusual).sum(axis=1) / 2
        growth = self._growth
        if self.rule.capped:
            price += CAP_PRICE[self.rule.jitter]
            growth = np.minimum(growth, ratio)
        if self.rule.jitter != "none":
            price += 10.0 * np.maximum(0.0, shift / base - 0.25)[:, 0]
        noise = Noise(shift, early, late, relative)
        found = mixed(density(self.sample.x, base * growth, self._low, self._high, noise), self._anything)
        return np.asarray(found @ self.sample.w - price)

    def _numbers(self, thetas: Floats) -> list[Floats]:
        """Base, ratio of cap to base, shift, early, late and relative, each as a column."""
        numbers = self._fixed.repeat(len(thetas), axis=0)
        numbers[:, self._places] = np.exp(np.minimum(np.maximum(thetas, self._least), self._most))
        return [numbers[:, place : place + 1] for place in range(6)]

    def starts(self) -> list[Floats]:
        """Guesses to begin with: the base (and cap) that put the middles of the delays in their place."""
        found = []
        for base, ratio in self._speeds():
            cap = [np.log(ratio)] if self.rule.capped else []
            for shift, early, late in NOISES:
                noise = [np.log(shift), np.log(early), np.log(late), np.log(0.004)]
                found.append(np.array([np.log(base), *cap, *(noise[place] for place in self.free)]))
        return found

    def _speeds(self) -> list[tuple[float, float]]:
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


def first_guess(rule: Rule, sample: Sample) -> tuple[Fit, Floats] | None:
    """The best of some guesses; None where the rule can make no sense of the retry numbers there are."""
    search = _Search(rule, sample)
    starts = search.starts()
    if not starts:
        return None
    best = starts[int(np.argmax(search.scores(np.array(starts))))]
    return search.fit(best), best


def improve(rule: Rule, sample: Sample, start: Floats, part: float) -> tuple[Fit, Floats]:
    """The likeliest numbers that a search finds from `start`, in steps that are the smaller the smaller `part` is."""
    search = _Search(rule, sample)
    best = _downhill(lambda thetas: -search.scores(thetas), start, search.steps(part))
    return search.fit(best), best


def _downhill(
    cost: Callable[[Floats], Floats], start: Floats, size: Floats, steps: int = 120, tolerance: float = 0.05
) -> Floats:
    """The simplex search of Nelder and Mead, from `start` and a corner one step away in each direction."""
    points = np.vstack([start, start + np.diag(size)])
    costs = cost(points)
    for _ in range(steps):
        order = np.argsort(costs, kind="stable")
        points, costs = points[order], costs[order]
        if costs[-1] - costs[0] < tolerance:
            break
        centre = points[:-1].mean(axis=0)
        reflected = 2 * centre - points[-1]
        [value] = cost(reflected[None])
        if value < costs[0]:
            further = 3 * centre - 2 * points[-1]
            [there] = cost(further[None])
            points[-1], costs[-1] = (further, there) if there < value else (reflected, value)
        elif value < costs[-2]:
            points[-1], costs[-1] = reflected, value
        else:
            nearer = (centre + (reflected if value < costs[-1] else points[-1])) / 2
            [there] = cost(nearer[None])
            if there < min(value, costs[-1]):
                points[-1], costs[-1] = nearer, there
            else:
                points[1:] = (points[1:] + points[0]) / 2
                costs[1:] = cost(points[1:])
    return np.asarray(points[np.argmin(costs)])
