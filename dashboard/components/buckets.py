"""Time series for charts: a bucket that fits the range, and a grid in which missing buckets are seen as missing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from dashboard.charts.timeline import Parts
from dashboard.components import data
from dashboard.components.data import Result, Row
from dashboard.components.shapes import Shape, Sum
from dashboard.components.view import View
from dashboard.filters import Filters, epoch_us
from dashboard.tables.context import BUCKETS

MOST_BUCKETS = 200
MOST_LINES = 6
"""Lines on one chart; the table beside the chart has all."""


def fitting(view: View) -> str:
    """The smallest bucket with which the range has not too many."""
    span = (view.end_us or 0) - (view.start_us or 0)
    return next((name for name, size in BUCKETS.items() if span <= MOST_BUCKETS * size), "day")


@dataclass(frozen=True)
class Series:
    """A result by time, and the buckets that the range touches."""

    result: Result
    starts: Sequence[int]
    times: Sequence[datetime]

    @cached_property
    def _places(self) -> list[int | None]:
        """In which bucket each row is."""
        place = {start: index for index, start in enumerate(self.starts)}
        places = {at: place.get(epoch_us(at.replace(tzinfo=UTC))) for at in {row["at"] for row in self.result.rows}}
        return [places[row["at"]] for row in self.result.rows]

    def column(self, name: Callable[[Row], str], column: str) -> dict[str, list[int | None]]:
        """For each name the sum of a column in each bucket: None where there is no row at all."""
        found: dict[str, list[int | None]] = {}
        for index, row in zip(self._places, self.result.rows, strict=True):
            if index is not None and row[column] is not None:
                values = found.setdefault(name(row), [None] * len(self.starts))
                values[index] = (values[index] or 0) + row[column]
        return found

    def rates(
        self, name: Callable[[Row], str], part: str, whole: str, names: Sequence[str] | None = None
    ) -> dict[str, Parts]:
        """For each name numerator and denominator of each bucket; the busiest, unless `names` chooses."""
        parts, wholes = self.column(name, part), self.column(name, whole)
        none: list[int | None] = [None] * len(self.starts)
        return {
            key: list(zip(parts.get(key, none), wholes[key], strict=True))
            for key in (busiest(wholes)[:MOST_LINES] if names is None else names)
        }

    def highest(self, name: Callable[[Row], str], part: str, whole: str) -> list[str]:
        """All names with a ratio, that of the range as far as known, highest first; of equals the busier first."""
        parts, wholes = self.column(name, part), self.column(name, whole)
        known = {
            key: [(p, w) for p, w in zip(parts[key], values, strict=True) if p is not None and w]
            for key, values in wholes.items()
            if key in parts
        }
        sums = {key: (sum(p for p, _ in pairs), sum(w for _, w in pairs)) for key, pairs in known.items()}
        ratios = {key: (p / w, w) for key, (p, w) in sums.items() if w}
        return sorted(ratios, key=lambda key: (-ratios[key][0], -ratios[key][1], key))

    def line(self, part: str, whole: str | None = None) -> list[float]:
        """One ratio or count over all rows for a sparkline; buckets without a value are left out."""
        wholes = self.column(lambda _: "", whole or part).get("", [])
        parts = self.column(lambda _: "", part).get("", [None] * len(wholes))
        if whole is None:
            return [float(value or 0) for value in parts]
        return [p / w for p, w in zip(parts, wholes, strict=True) if p is not None and w]


def series(view: View, name: str, *, filters: Filters | None = None, shape: Shape | None = None) -> Series:
    """A result table by time over the view's range."""
    bucket = fitting(view)
    size = BUCKETS[bucket]
    if isinstance(shape, Sum):
        shape = Sum(("at", *shape.by), shape.sums, shape.where)
    result = data.table(view.snapshot, name, filters or view.filters, bucket=bucket, shape=shape)
    starts = range(0)
    if view.start_us is not None and view.end_us is not None:
        starts = range(view.start_us // size * size, view.end_us, size)
    return Series(result, starts, [view.local(start) for start in starts])


@dataclass(frozen=True)
class Trend:
    """A series that is asked for only when a sparkline is drawn."""

    view: View
    name: str
    filters: Filters | None = None
    shape: Shape | None = None

    @cached_property
    def _series(self) -> Series:
        return series(self.view, self.name, filters=self.filters, shape=self.shape)

    def line(self, part: str, whole: str | None = None) -> Callable[[], list[float]]:
        """What gives `Series.line`."""
        return lambda: self._series.line(part, whole)


def filled(series: Mapping[str, Sequence[int | None]]) -> dict[str, list[int]]:
    """Counts for bars, where no row and 0 look alike anyway."""
    return {name: [value or 0 for value in values] for name, values in series.items()}


def busiest(series: Mapping[str, Sequence[int | None]]) -> list[str]:
    """The names with the largest sums first."""
    return sorted(series, key=lambda name: (-total(series[name]), name))


def total(values: Sequence[int | None]) -> int:
    """The sum of what is known."""
    return sum(value or 0 for value in values)
