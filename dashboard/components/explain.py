"""What a number is, told where it stands: definition, numerator, denominator, n, interval, and of when it is."""

from collections.abc import Mapping
from math import sqrt
from typing import Any

from dashboard.charts import style
from dashboard.components.view import View, clock
from dashboard.escape import markdown
from dashboard.texts import counted, say
from dashboard.texts import metric as translated

LONGEST = 2_000


def metric(texts: Mapping[str, Mapping[str, Any]], name: str, n: float | None = None, unit: str = "") -> str:
    """Help text of a metric of the dictionary; `n` is the denominator that was measured."""
    parts = []
    if name in texts:
        row = translated(texts[name])
        parts.append(f"**{markdown(row['title'], LONGEST)}**: {markdown(row['definition'], LONGEST)}")
        if row["numerator"]:
            parts.append(say("explain.numerator") + " " + markdown(row["numerator"], LONGEST))
        if row["denominator"]:
            parts.append(say("explain.denominator") + " " + markdown(row["denominator"], LONGEST))
    if n is not None:
        parts.append(say("explain.n", n=style.count(n), unit=counted(unit, n)))
    return "\n\n".join(parts)


def made(part: float | None, whole: float | None, z: float | None = None) -> str:
    """What a quotient is made of, and for a share its interval of `z` standard deviations; nothing where unknown."""
    if part is None or not whole:
        return ""
    told = say("explain.made", made=style.of(style.count(part), style.count(whole)))
    if z is None or not 0 <= part <= whole:
        return told
    low, high = (style.percent(end) for end in wilson(part, whole, z))
    return f"{told} {say('explain.interval', level=style.within(z), low=low, high=high)}"


def wilson(part: float, whole: float, z: float) -> tuple[float, float]:
    """The ends of Wilson's interval of part / whole, `z` standard deviations to either side."""
    share, z2 = part / whole, z * z
    middle = share + z2 / (2 * whole)
    reach = z * sqrt(share * (1 - share) / whole + z2 / (4 * whole * whole))
    scale = 1 + z2 / whole
    return max((middle - reach) / scale, 0.0), min((middle + reach) / scale, 1.0)


def when(view: View, *, ranged: bool = True) -> str:
    """The range, and how new the newest event is; for what no range bounds, the latter alone."""
    newest = view.snapshot.span("all").newest_us
    if newest is None:
        return ""
    fresh = say("explain.newest", newest=clock(view.local(newest)), zone=view.filters.zone)
    if not ranged or view.start_us is None or view.end_us is None:
        return fresh
    start, end = (clock(view.local(moment)) for moment in (view.start_us, view.end_us))
    return f"{say('explain.range', start=start, end=end, zone=view.filters.zone)} {fresh}"
