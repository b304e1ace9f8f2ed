"""Colours of charts: told apart with any colour vision, or by a pattern or mark as well; readable on both themes."""

from itertools import combinations

import pytest

from dashboard.charts import breakers, budget, latency, no_bids, outcomes, retries, senders, style, throttles, timeline
from dashboard.components import limits as postbacks
from dashboard.components import outcomes as groups

# Machado, Oliveira and Fernandes (2009), severity 1.0, on linear RGB.
VISION = {
    "usual": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
APART = 9.0
"""CIE76 difference from which two areas side by side are told apart at a glance; 2.3 is just noticeable."""

BACKGROUNDS = ("#FCFDFD", "#12181E")


def linear(colour: str) -> list[float]:
    """#RRGGBB in linear light."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def seen(colour: str, vision: str) -> tuple[float, float, float]:
    """L*a*b* of a colour as eyes of that kind see it."""
    light = linear(colour)
    red, green, blue = (min(max(sum(w * c for w, c in zip(row, light, strict=True)), 0), 1) for row in VISION[vision])
    x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505
    y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089
    fx, fy, fz = (c ** (1 / 3) if c > 0.008856 else 7.787 * c + 16 / 116 for c in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def distance(one: str, other: str, vision: str) -> float:
    """How far two colours lie apart for eyes of that kind."""
    return sum((a - b) ** 2 for a, b in zip(seen(one, vision), seen(other, vision), strict=True)) ** 0.5


def contrast(one: str, other: str) -> float:
    """WCAG's contrast ratio."""
    bright, dark = sorted(
        (sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear(x), strict=True)) for x in (one, other)),
        reverse=True,
    )
    return (bright + 0.05) / (dark + 0.05)


def fates() -> dict[str, tuple[str, str]]:
    """Colour and pattern of each fate."""
    kinds = (*retries.RECOVERED, retries.RECOVERED_LATER, *retries.FATES)
    return {kind: (retries.fate_colour(kind), retries.FATES.get(kind, ("", ""))[1]) for kind in kinds}


SCHEMES = {
    "outcomes": outcomes.OUTCOMES,
    "ends": groups.GROUPS,
    "no-bids": no_bids.CLASSES,
    "fates": fates(),
    "breakers": {state: (colour, shape) for state, (colour, shape, _) in breakers.STATES.items()},
    "budget": budget.PARTS,
    "waits": throttles.VERDICTS,
    "postbacks": postbacks.OUTCOMES,
    "latency": {name: (colour, mark) for name, _, colour, mark in latency.QUANTILES},
    "clocks": {name: (colour, mark) for name, _, colour, mark in senders.MARKS},
    "lines": {dash: (colour, dash) for dash, colour in zip(timeline.DASHES, timeline.COLOURS, strict=False)},
}


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_parts_of_a_chart_are_told_apart_with_any_colour_vision(scheme: str, vision: str) -> None:
    alike = [
        (one, other, round(distance(first, second, vision), 1))
        for (one, (first, shape)), (other, (second, form)) in combinations(SCHEMES[scheme].items(), 2)
        if shape == form and distance(first, second, vision) < APART
    ]
    assert alike == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_colours_stand_out_from_both_backgrounds(scheme: str) -> None:
    pale = [
        (part, ground, round(contrast(colour, ground), 2))
        for part, (colour, _) in SCHEMES[scheme].items()
        for ground in BACKGROUNDS
        if contrast(colour, ground) < 1.5
    ]
    assert pale == []


def test_the_measure_tells_red_from_green_only_with_usual_vision() -> None:
    assert distance("#C00000", "#7A7A00", "usual") > 40
    assert distance("#C00000", "#7A7A00", "protanopia") < distance("#C00000", "#7A7A00", "usual") / 2
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)


def test_text_on_coloured_bars_reads() -> None:
    for colour in (style.BLUE, style.SKY, style.GREEN, style.ORANGE, style.RED, style.PURPLE, style.YELLOW, style.GREY):
        assert contrast(style.ink(colour), colour) >= 4.5
