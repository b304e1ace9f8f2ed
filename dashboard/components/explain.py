"""What a number is, told where it stands: definition, numerator, denominator, n."""

from collections.abc import Mapping
from typing import Any

from dashboard.charts import style
from dashboard.escape import markdown
from dashboard.texts import say

LONGEST = 2_000


def metric(texts: Mapping[str, Mapping[str, Any]], name: str, n: float | None = None, unit: str = "") -> str:
    """Help text of a metric of the dictionary; `n` is the denominator that was measured."""
    row = texts.get(name)
    parts = []
    if row is not None:
        parts.append(f"**{markdown(row['title'], LONGEST)}**: {markdown(row['definition'], LONGEST)}")
        if row["numerator"]:
            parts.append(say("explain.numerator") + " " + markdown(row["numerator"], LONGEST))
        if row["denominator"]:
            parts.append(say("explain.denominator") + " " + markdown(row["denominator"], LONGEST))
    if n is not None:
        parts.append(say("explain.n", n=style.count(n), unit=unit))
    return "\n\n".join(parts)
