"""Which rule the delays of one sender follow: the likeliest one, or `unclear` where another would do as well."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dashboard.backoff import rivals
from dashboard.backoff.fit import Fit, Search
from dashboard.backoff.rules import JITTERS, Rule
from dashboard.backoff.sample import MOST_NUMBERS, Floats, Sample

LEAST_DELAYS = 30
"""With fewer delays the rule is unclear."""

MARGIN = 3.0
"""How much likelier (as a logarithm) the chosen rule must be than any other, and than chance."""

NOISY_MARGIN = 8.0
"""The same where the noise is larger than the base, and its shape may pass for another rule."""

AT_ONCE = 24
"""Senders that are searched together; those of about as many delays, for the shorter ones are filled up."""

_AT_ONCE_MS = 10.0
_SOON_MS = 60.0
_FELT_MS = 10.0
_LEAST_SPREAD_MS = 150.0
_ROUNDS = ((1.0, 60.0), (0.3, 25.0), (0.1, 15.0))
_LUCK = 15.0
_PACE_PRICE = 1.5
_MOST_OUTLIERS = 0.12
_MOST_MISFIT = 1.9
_FAR = np.arange(1.0, MOST_NUMBERS + 1.0)
_RULES = [
    Rule(kind, jitter, capped)
    for kind, capped in (
        ("fixed", False),
        ("linear", False),
        ("exponential", False),
        ("exponential", True),
        ("linear", True),
    )
    for jitter in JITTERS
]


@dataclass(frozen=True)
class Verdict:
    """The rule; base and cap in ms (None: unknown, or no cap was ever reached); jitter is None where it is unclear."""

    kind: str = "unclear"
    base_ms: float | None = None
    cap_ms: float | None = None
    jitter: str | None = None


def infer(sample: Sample) -> Verdict:
    """The rule behind the delays. With first retries only, it is `immediate` or `unclear`: growth cannot be seen."""
    [verdict] = infer_each([sample])
    return verdict


def infer_each(samples: Sequence[Sample]) -> list[Verdict]:
    """The verdict on each of many senders, which costs much less than one by one."""
    verdicts = [_plain(sample) for sample in samples]
    open_ones = [place for place, verdict in enumerate(verdicts) if verdict is None]
    open_ones.sort(key=lambda place: len(samples[place].x))
    for some in range(0, len(open_ones), AT_ONCE):
        places = open_ones[some : some + AT_ONCE]
        for place, fits in zip(places, _fits([samples[place] for place in places]), strict=True):
            verdicts[place] = _judged(samples[place], fits)
    return [verdict for verdict in verdicts if verdict is not None]


def _plain(sample: Sample) -> Verdict | None:
    """The verdict on few delays, or on such as hardly are any; None where rules have to be tried."""
    if sample.total < LEAST_DELAYS or not len(sample.x):
        return Verdict()
    if sample.quantile(0.5) <= _AT_ONCE_MS and sample.quantile(0.9) <= 2 * _AT_ONCE_MS:
        return Verdict("immediate", 0.0, None, "none")
    return None


def _judged(sample: Sample, fits: list[Fit]) -> Verdict:
    """The verdict on a sender, by what is likely of its delays."""
    best = _simplest(sample, fits)
    if best.score - _best(fits, flat=True) < MARGIN and not _is_crisp(best):
        small = _small(sample, fits)
        if small is not None:
            return small
    close = [fit for fit in fits if _answer(fit) != _answer(best) and not _told_by(sample, best, fit)]
    if not _believable(sample, best):
        return Verdict()
    if close:
        return _partly(best, close)
    cap = best.base * best.ratio if best.rule.capped else None
    return Verdict(best.rule.kind, best.base, cap, best.rule.jitter)


def _fits(samples: Sequence[Sample]) -> list[list[Fit]]:
    """Rules of each sender with their likeliest numbers, best first; what falls far behind is not followed up."""
    search = Search([(rule, sample) for sample in samples for rule in _RULES])
    thetas, scores = search.begin()
    by_sender = scores.reshape(len(samples), len(_RULES))  # a view
    for part, behind in _ROUNDS:
        near = np.flatnonzero(by_sender >= by_sender.max(axis=1, keepdims=True) - behind)
        thetas[near], scores[near] = search.improve(near, thetas[near], part)
    found: list[list[Fit]] = []
    for sender in np.arange(len(scores)).reshape(by_sender.shape).tolist():
        known = [place for place in sender if scores[place] > -np.inf]
        fits = [search.fit(place, thetas[place], float(scores[place])) for place in known]
        found.append(sorted(fits, key=lambda fit: -fit.score))
    return found


def _is_flat(fit: Fit) -> bool:
    """Whether the delays of the rule do not grow, or hardly."""
    first, _, third = fit.expected(_FAR[:3])
    return bool(third <= 1.15 * first)


def _best(fits: list[Fit], *, flat: bool) -> float:
    return max((fit.score for fit in fits if _is_flat(fit) == flat), default=-np.inf)


def _is_crisp(fit: Fit) -> bool:
    """Whether delays lie from half to one and a half of a base, with edges too clean for a network."""
    rest = max(fit.noise.shift, fit.noise.late)
    return _answer(fit) == ("fixed", "half") and rest <= 0.05 * fit.base


def _small(sample: Sample, fits: list[Fit]) -> Verdict | None:
    """Where delays do not grow and networks may make them what they are: how they begin tells what they mean.

    Those that begin near 0 are `immediate`, those that keep a distance from it are `fixed`, others unclear. None for
    delays that are too long for this or too widely spread.
    """
    first, middle, last = (sample.quantile(share) for share in (0.02, 0.5, 0.9))
    grows = _best(fits, flat=True) - _best(fits, flat=False) < MARGIN
    if not grows and first > 0.62 * middle and last - first <= _LEAST_SPREAD_MS:
        bases = [fit.base for fit in fits if _answer(fit) == ("fixed", "none")]
        return Verdict("fixed", bases[0], None, "none")
    if middle > _SOON_MS or last > 4 * _SOON_MS:
        return None
    if first < (0.45 if first < _FELT_MS else 0.2) * middle:
        return Verdict("immediate", 0.0, None, "none")
    return Verdict()


def _answer(fit: Fit) -> tuple[str, str]:
    return fit.rule.kind, fit.rule.jitter


def _simplest(sample: Sample, fits: list[Fit]) -> Fit:
    """The likeliest rule, in its simplest words: without a cap where that says the same of the retries there are."""
    best = fits[0]
    same = [fit for fit in fits if _same(best, fit, _FAR) or _is_luck(sample, fit, best)]
    return min(same, key=lambda fit: _RULES.index(fit.rule))


def _is_luck(sample: Sample, simple: Fit, capped: Fit) -> bool:
    """Whether a cap only happens to make of a rule what a simpler one says of the retries there are."""
    if simple.rule.capped or not capped.rule.capped or simple.rule.jitter != "none" or len(sample.numbers) < 3:
        return False
    return capped.score - simple.score < _LUCK and _same(simple, capped, sample.numbers)


def _told_by(sample: Sample, best: Fit, fit: Fit) -> bool:
    """Whether `best` makes the other rule superfluous: it says the same, or is much likelier."""
    if _is_crisp(best) and _answer(fit) == ("fixed", "full") and fit.noise.shift > 0.3 * fit.base:
        return True
    margin = MARGIN if best.noise.early + best.noise.late + best.noise.shift < best.base else NOISY_MARGIN
    return best.score - fit.score >= margin or _same(best, fit, _FAR) or _is_luck(sample, best, fit)


def _same(one: Fit, other: Fit, numbers: Floats) -> bool:
    """Whether two rules say the same of every retry, be it in other words (a cap below the base is a fixed delay)."""
    if one.rule.jitter != other.rule.jitter:
        return False
    return bool(np.allclose(one.typical(numbers), other.typical(numbers), rtol=0.05))


def _believable(sample: Sample, fit: Fit) -> bool:
    growths = [Rule(kind, "none").growth(sample.k) for kind in ("fixed", "linear", "exponential")]
    growths.append(fit.rule.growth(sample.k, fit.ratio))
    chance = max(rivals.chance_score(sample, growth) for growth in growths)
    if fit.score < max(chance, rivals.clustered_score(sample)) + MARGIN:
        return False
    if rivals.own_pace_gain(sample, fit) > _PACE_PRICE * len(sample.numbers) + 5:
        return False
    if rivals.outlier_share(sample, fit) > _MOST_OUTLIERS:
        return False
    if fit.rule.jitter == "none":
        return _is_sharp(sample, fit)
    low, high = JITTERS[fit.rule.jitter]
    if fit.rule.kind == "fixed" and fit.base * (high - low) < _LEAST_SPREAD_MS and not _is_crisp(fit):
        return False
    return rivals.misfit(sample, fit) <= _MOST_MISFIT and rivals.other_jitter_gain(sample, fit) <= MARGIN


def _is_sharp(sample: Sample, fit: Fit) -> bool:
    """Whether the noise of a rule without jitter is small beside what the rule says of the longest delays."""
    longest = float(fit.expected(sample.numbers).max())
    if fit.noise.early > 15.0 + 0.05 * longest:
        return False
    return fit.noise.relative <= 0.1 and fit.noise.early + fit.noise.late <= 0.6 * longest


def _partly(best: Fit, close: list[Fit]) -> Verdict:
    """Unclear, with the first delay where all rules that may be meant agree on it."""
    agreed = all(fit.rule.jitter == best.rule.jitter and abs(fit.base / best.base - 1) < 0.1 for fit in close)
    return Verdict(base_ms=best.base if agreed else None)
