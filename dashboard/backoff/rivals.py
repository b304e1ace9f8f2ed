"""What else may make such delays: chance, a mixture, other growth, other jitter. A rule has to beat all of these."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np

from dashboard.backoff.fit import Fit
from dashboard.backoff.rules import JITTERS, OUTLIERS, log_likelihood, outlier_density, reached
from dashboard.backoff.sample import Floats, Sample

_SHAPES = np.array([0.4, 0.55, 0.7, 0.85, 1.0, 1.2, 1.5, 1.8, 2.2])
_SPREADS = np.array([0.35, 0.45, 0.6, 0.8, 1.0, 1.3, 1.7])
_FACTORS = np.exp(np.linspace(-1.0, 1.0, 61))
_BASES = np.array([0.82, 0.87, 0.92, 0.96, 1.0, 1.05, 1.1, 1.17, 1.25, 1.35])
_OTHER_JITTERS = ((0.5, 1.0), (0.8, 1.2), (0.7, 1.3), (0.25, 1.75))


def chance_score(sample: Sample, growth: Floats) -> float:
    """How likely random waits (Weibull or lognormal) make the sample, where they grow as `growth` says."""
    scaled = np.maximum(sample.x / growth, 0.05)
    logs = np.log(scaled)
    extra = np.log(growth)
    best = -np.inf
    for shape in _SHAPES:
        powers = scaled**shape
        scale = _typical(powers, sample.w)
        exact = np.log(shape) + (shape - 1) * logs - np.log(scale) - powers / scale - extra
        best = max(best, _mixed(exact, sample))
    centre = _middle(logs, sample.w)
    for spread in _SPREADS:
        exact = -(((logs - centre) / spread) ** 2) / 2 - np.log(spread * np.sqrt(2 * np.pi)) - np.log(scaled) - extra
        best = max(best, _mixed(exact, sample))
    return best


def _mixed(exact: Floats, sample: Sample) -> float:
    return float(sample.w @ np.log(OUTLIERS * outlier_density(sample.x) + (1 - OUTLIERS) * np.exp(exact)))


def _typical(values: Floats, weights: Floats) -> float:
    """The mean without the largest twentieth, which may be outliers, made good for what that cuts off."""
    order = np.argsort(values, kind="stable")
    kept = np.cumsum(weights[order]) <= 0.95 * weights.sum()
    if not kept.any():
        return float(values.mean())
    # An exponential's mean below its 95 % point is 0.842 of the whole mean.
    return float(np.average(values[order][kept], weights=weights[order][kept]) / 0.842)


def _middle(values: Floats, weights: Floats) -> float:
    order = np.argsort(values, kind="stable")
    reached_weight = np.cumsum(weights[order]) / weights.sum()
    kept = (reached_weight > 0.05) & (reached_weight <= 0.95)
    return float(np.average(values[order][kept], weights=weights[order][kept])) if kept.any() else float(values.mean())


def own_pace_gain(sample: Sample, fit: Fit) -> float:
    """How much likelier the sample gets where every retry number has a delay of its own instead of the rule's."""
    low, high = JITTERS[fit.rule.jitter]
    gain = 0.0
    for number in sample.numbers:
        chosen = sample.k == number
        x, w = sample.x[chosen], sample.w[chosen]
        expected = fit.expected(np.array([number]))
        paces = np.concatenate([expected, expected * _FACTORS])
        each = log_likelihood(x, paces[:, None].repeat(len(x), axis=1), low, high, fit.noise) @ w
        gain += float(each.max() - each[0])
    return gain


def other_jitter_gain(sample: Sample, fit: Fit) -> float:
    """How much likelier the sample gets with the same growth and a jitter that is none of ours."""
    own = float(sample.w @ fit.each(sample))
    expected = fit.expected(sample.k)
    middle = sum(JITTERS[fit.rule.jitter]) / 2
    gain = -np.inf
    noises = (fit.noise, replace(fit.noise, shift=min(fit.noise.shift, 3.0)))
    for (low, high), noise in product(_OTHER_JITTERS, noises):
        bases = expected * _BASES[:, None] * middle / ((low + high) / 2)
        each = log_likelihood(sample.x, bases, low, high, noise) @ sample.w
        gain = max(gain, float(each.max()) - own)
    return gain


def misfit(sample: Sample, fit: Fit) -> float:
    """Kolmogorov's distance between the delays and a rule with jitter, times the root of their number."""
    low, high = JITTERS[fit.rule.jitter]
    expected = fit.expected(sample.k)
    place = _share_below(sample.x, expected, low, high, fit)
    order = np.argsort(place, kind="stable")
    weights = sample.w[order] / sample.weight
    upto = np.cumsum(weights)
    distance = np.maximum(np.abs(upto - place[order]), np.abs(upto - weights - place[order])).max()
    return float(distance * np.sqrt(sample.weight))


def _share_below(x: Floats, expected: Floats, low: float, high: float, fit: Fit) -> Floats:
    """Share of the rule's delays that are at most `x`: the noise averaged over the jitter's range."""
    noise = fit.noise
    early, late = noise.early + noise.relative * expected, noise.late + noise.relative * expected
    steps = (np.arange(24) + 0.5) / 24 * (high - low) + low
    return np.asarray(np.mean([reached(x - expected * step - noise.shift, early, late) for step in steps], axis=0))


def outlier_share(sample: Sample, fit: Fit) -> float:
    """Share of the delays that the rule leaves unexplained."""
    alone = np.log(OUTLIERS * outlier_density(sample.x))
    return float(sample.w @ np.exp(alone - fit.each(sample)) / sample.weight)


def clustered_score(sample: Sample, width: float = 0.2) -> float:
    """How likely the other delays make each one, were it only near some of them: the score of a mixture of senders."""
    logs = np.log(sample.x + 1.0)
    near = np.exp(-(((logs[:, None] - logs[None, :]) / width) ** 2) / 2) / (width * np.sqrt(2 * np.pi))
    np.fill_diagonal(near, 0.0)
    others = near @ sample.w + np.maximum(sample.w - 1, 0) / (width * np.sqrt(2 * np.pi))
    found = others / max(sample.weight - 1, 1) / (sample.x + 1.0)
    return float(sample.w @ np.log(OUTLIERS * outlier_density(sample.x) + (1 - OUTLIERS) * found))
