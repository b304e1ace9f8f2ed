"""What a number is, told where it stands: definition, numerator, denominator, n."""

from collections.abc import Mapping
from typing import Any

from dashboard.charts import style
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
