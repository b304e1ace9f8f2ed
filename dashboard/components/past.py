"""Time charts of the earlier period, moved onto the range that they are compared with."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from dashboard.charts.timeline import Past
from dashboard.components import buckets, compare
from dashboard.components.buckets import Series
from dashboard.components.data import Row
from dashboard.components.shapes import Shape
from dashboard.components.view import View, clock
from dashboard.filters import Filters
from dashboard.texts import tell


def series(view: View, name: str, *, filters: Filters | None = None, shape: Shape | None = None) -> Series | None:
    """As `buckets.series`, of the period before; None where there is none, or the data begin later."""
    past = view.before
    if past is None or compare.is_empty(past):
        return None
    return buckets.series(past, name, filters=past.within(filters or view.filters), shape=shape)


def total(view: View, found: Series | None, column: str) -> Past | None:
    """The sum of a count over all rows of each bucket; None before the data begin, 0 where nothing came since."""
    if found is None:
        return None
    begin = compare.begin_of_data(view) or 0
    known = found.column(lambda _: "", column).get("", [None] * len(found.starts))
    values = [
        None if start < begin and value is None else value or 0
        for start, value in zip(found.starts, known, strict=True)
    ]
    return Past(name(view), times(view, found), moments(found), totals=values)


def lines(
    view: View, found: Series | None, label: Callable[[Row], str], part: str, whole: str, names: Mapping[str, object]
) -> Past | None:
    """Numerators and denominators of the same names."""
    if found is None:
        return None
    wholes = found.column(label, whole)
    kept = [one for one in names if one in wholes]
    return Past(name(view), times(view, found), moments(found), lines=found.rates(label, part, whole, names=kept))


def name(view: View) -> str:
    """What the earlier period is called."""
    return tell(f"compare.line_{view.compare}")


def times(view: View, found: Series) -> list[datetime]:
    """Where the buckets stand on the axis of the range."""
    past = view.before
    shift = 0 if past is None else (view.filters.frm_us or 0) - (past.filters.frm_us or 0)
    return [view.local(start + shift) for start in found.starts]


def moments(found: Series) -> Sequence[str]:
    """When the buckets began."""
    return [clock(moment) for moment in found.times]
