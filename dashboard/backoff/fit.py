"""The most likely base, cap and noise of a rule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dashboard.backoff.rules import (
    JITTERS,
    OUTLIERS,
    Noise,
    Rule,
    log_likelihood,
    mixed,
    outlier_density,
    sharp,
    spread,
)
from dashboard.backoff.sample import Floats, Sample, weighted_quantile
from dashboard.backoff.simplex import Places, downhill

CAP_PRICE = {"none": 8.0, "full": 2.5, "half": 2.5}
"""How much likelier (as a logarithm) the delays must be with a cap before one is believed in.

The sharper the delays, the less a cap that fits them can be luck.
"""

NOISES = ((1.0, 1.0, 2.0), (1.0, 1.0, 10.0), (2.0, 1.0, 40.0), (5.0, 5.0, 5.0), (20.0, 20.0, 20.0))
"""Shift, early and late in ms that a search may begin with."""


#: The least and the most of each number, as logarithms; early and late are a matter of the clock as well.
_LEAST = (-5.0, 0.0, -12.0, -12.0, -12.0, -12.0)
_MOST = (20.0, 10.0, 12.0, 12.0, 12.0, math.log(0.3))

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


class Search:
    """The likeliest numbers of many rules at once, each for the delays of a sender.

    The numbers of a rule are a vector of logarithms: base, ratio of cap to base, shift, early, late, relative. Those
    that are not free in a rule stay as they are, whatever its vector says.
    """

    def __init__(self, cases: Sequence[tuple[Rule, Sample]]) -> None:
        self.cases = cases
        width = max(len(sample.x) for _, sample in cases)
        self._x, self._w, self._growth = np.ones((3, len(cases), width))
        self._w[:] = 0.0
        for place, (rule, sample) in enumerate(cases):
            held = len(sample.x)
            self._x[place, :held], self._w[place, :held] = sample.x, sample.w
            self._growth[place, :held] = rule.growth(sample.k)
        self._anything = OUTLIERS * outlier_density(self._x)
        self._low, self._high = np.array([JITTERS[rule.jitter] for rule, _ in cases]).T[:, :, None]
        self._sharp = np.array([rule.jitter == "none" for rule, _ in cases])
        self._price = np.array([CAP_PRICE[rule.jitter] if rule.capped else 0.0 for rule, _ in cases])
        self.free = np.array([_free(rule) for rule, _ in cases])
        floors = np.array([max(0.3, sample.resolution_ms / 2) for _, sample in cases])
        self._fixed = np.tile([1.0, np.inf, 0.0, 0.0, 0.0, 0.003], (len(cases), 1))
        self._fixed[:, 3] = floors
        self._least, self._most = np.array([_LEAST, _MOST])[:, None].repeat(len(cases), axis=1)
        self._least[:, 3:5] = np.log(floors)[:, None]

    def begin(self) -> tuple[Floats, Floats]:
        """The best of some guesses for each rule, and its score: -inf where retry numbers make no sense of it."""
        guesses = [_starts(rule, sample) for rule, sample in self.cases]
        thetas, found = np.zeros(self._fixed.shape), np.full(len(self.cases), -np.inf)
        for place, starts in enumerate(guesses):
            if len(starts):
                scores = self.scores(np.full(len(starts), place), starts)
                best = int(np.argmax(scores))
                thetas[place], found[place] = starts[best], scores[best]
        return thetas, found

    def improve(self, places: Places, thetas: Floats, part: float) -> tuple[Floats, Floats]:
        """The likeliest numbers of the rules at `places` that a search finds from `thetas`, and their scores.

        It goes in steps that are the smaller the smaller `part` is.
        """
        paces = np.where(self._sharp[places], 0.02, 0.12) * part**2
        sizes = np.full(thetas.shape, 0.8 * part**0.5)
        sizes[:, :2] = paces[:, None]
        best = downhill(lambda owners, vectors: -self.scores(places[owners], vectors), thetas, sizes, self.free[places])
        return best, self.scores(places, best)

    def fit(self, place: int, theta: Floats, score: float) -> Fit:
        """The rule at a place with these numbers."""
        base, ratio, *noise = (float(number[0, 0]) for number in self._numbers(np.array([place]), theta[None]))
        return Fit(self.cases[place][0], base, ratio, Noise(*noise), score)

    def scores(self, places: Places, thetas: Floats) -> Floats:
        """The score of the rule at each place with the numbers of its row."""
        found = np.empty(len(places))
        is_sharp = self._sharp[places]
        for chosen in (np.flatnonzero(is_sharp), np.flatnonzero(~is_sharp)):
            if len(chosen):
                found[chosen] = self._scores(places[chosen], thetas[chosen], is_sharp=bool(is_sharp[chosen[0]]))
        return found

    def _scores(self, places: Places, thetas: Floats, *, is_sharp: bool) -> Floats:
        """Those of rules that are all without jitter, or all with one."""
        base, ratio, shift, early, late, relative = self._numbers(places, thetas)
        unusual = np.where(self.free[places, 2:], (thetas[:, 2:] - _USUAL[:, 0]) / _USUAL[:, 1], 0.0)
        price = (unusual * unusual).sum(axis=1) / 2 + self._price[places]
        expected = base * np.minimum(self._growth[places], ratio)
        x, noise = self._x[places], Noise(shift, early, late, relative)
        if is_sharp:
            followed = sharp(x, expected, noise)
        else:
            price += 10.0 * np.maximum(0.0, shift / base - 0.25)[:, 0]
            followed = spread(x, expected, self._low[places], self._high[places], noise)
        return np.asarray((mixed(followed, self._anything[places]) * self._w[places]).sum(axis=1) - price)

    def _numbers(self, places: Places, thetas: Floats) -> list[Floats]:
        """Base, ratio of cap to base, shift, early, late and relative, each as a column."""
        told = np.exp(np.minimum(np.maximum(thetas, self._least[places]), self._most[places]))
        numbers = np.where(self.free[places], told, self._fixed[places])
        return [numbers[:, place : place + 1] for place in range(numbers.shape[1])]


def _free(rule: Rule) -> list[bool]:
    """Which numbers a search may choose.

    Where the delays do not grow, a shift is part of the base; where they are spread, an early edge hides.
    """
    is_sharp = rule.jitter == "none"
    return [
        True,
        rule.capped,
        rule.kind != "fixed" or not is_sharp,
        is_sharp,
        True,
        is_sharp and rule.kind != "fixed",
    ]


def _starts(rule: Rule, sample: Sample) -> Floats:
    """Guesses to begin with: the base (and cap) that put the middles of the delays in their place."""
    found = [
        (base, ratio, shift, early, late, 0.004)
        for base, ratio in _speeds(rule, sample)
        for shift, early, late in NOISES
    ]
    return np.asarray(np.log(np.array(found)))


def _speeds(rule: Rule, sample: Sample) -> list[tuple[float, float]]:
    """Base, and ratio of cap to base, for each retry number from which on the cap may hold."""
    x, k, w = sample.x, sample.k, sample.w
    if not rule.capped:
        return [(base, 1.0) for base in _bases(rule, x, k, w)]
    middle = sum(JITTERS[rule.jitter]) / 2
    paces = []
    for number in sample.numbers[1:]:
        growing = k < number
        cap = weighted_quantile(x[~growing], w[~growing], 0.47) / middle
        most = float(rule.growth(np.array([number]))[0])
        for base in _bases(rule, x[growing], k[growing], w[growing]):
            paces.append((base, min(max(cap / base, 1.0), most)))
    return paces


def _bases(rule: Rule, x: Floats, k: Floats, w: Floats) -> list[float]:
    """The base as all delays have it, as the later ones do (the noise is small beside them), as the longest do."""
    bases = []
    middle = sum(JITTERS[rule.jitter]) / 2
    for late in (k > 0, k >= k.max() / 2) if rule.kind != "fixed" else (k > 0,):
        scaled = x[late] / rule.growth(k[late])
        bases.append(weighted_quantile(scaled, w[late], 0.47) / middle)
    if rule.jitter != "none":
        scaled = x / rule.growth(k)
        bases.append(weighted_quantile(scaled, w, 0.95) / JITTERS[rule.jitter][1])
    return [max(base, 0.5) for base in bases]
