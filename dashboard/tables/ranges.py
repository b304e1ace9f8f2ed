"""A time range over a cube, exact to the microsecond and cheap: whole hours, then whole minutes, then single rows.

A cube is a count that may be added up: `hour_NAME` and `minute_NAME` hold it ready-made, and the model that made it,
run over the rows of the two broken minutes, gives the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

HOUR = 3_600_000_000
MINUTE = 60_000_000

#: An open side of a range is None.
Range = tuple[int | None, int | None]

#: Name a relation as SQL reads it, told the range of its rows that matters.
Source = Callable[[str, Range], str]


@dataclass(frozen=True)
class Cube:
    """`bases` are the relations below it, each with the column that places its rows.

    `ts` is a timestamp, any other placing column holds epoch microseconds. `partner` is the cube's partner column (""
    for none). `near`: a row lies within the hour of what places it, so that files can be chosen by it. `grains` name
    the ready-made counts.
    """

    name: str
    bases: tuple[tuple[str, str], ...]
    partner: str = "partner"
    near: bool = True
    grains: tuple[str, ...] = ("hour", "minute")

    @property
    def model(self) -> str:
        """Name of the model that counts single rows."""
        return f"{self.grains[-1]}_{self.name}"


CUBES = {
    cube.name: cube
    for cube in (
        Cube("attempts", (("attempts", "ts"),)),
        Cube("calls", (("calls", "call_us"), ("orders", "call_us"))),
        Cube("retries", (("retries", "call_us"), ("order_retries", "call_us"))),
        Cube("budgets", (("retries", "call_us"),)),
        Cube("rescues", (("deliveries", "call_us"),), near=False),
        Cube("notices", (("deliveries", "us"),)),
        Cube("auctions", (("auction_stages", "us"),), partner=""),
        Cube("converted", (("converted", "us"),), partner=""),
        Cube("postbacks", (("postback_results", "us"),), partner="key_id"),
        Cube("audit", (("calls", "call_us"), ("orders", "call_us"), ("repeats", "us"))),
        Cube("chains", (("chain_steps", "call_us"),)),
        Cube("ends", (("chain_ends", "call_us"),)),
        Cube("waits", (("throttles", "us"),), partner="key"),
        Cube("wasted", (("wasted_requests", "us"),), partner="key"),
        Cube("latency", (("attempts", "ts"),), grains=("hour",)),
    )
}


@dataclass(frozen=True)
class Split:
    """A range cut into whole hours, whole minutes at its edges, and what is left of two minutes."""

    hours: tuple[Range, ...]
    minutes: tuple[Range, ...]
    rest: tuple[Range, ...]


def split(span: Range, coarsest: int = HOUR) -> Split:
    """Cut `span`; with `coarsest` MINUTE, no hours are used. Empty pieces are left out."""
    lo, hi = span
    if lo is not None and hi is not None and lo >= hi:
        return Split((), (), ())
    if coarsest == MINUTE:
        minutes, rest = _core(span, MINUTE)
        return Split((), minutes, rest)
    hours, edges = _core(span, HOUR)
    pieces = [_core(edge, MINUTE) for edge in edges]
    return Split(hours, tuple(m for piece in pieces for m in piece[0]), tuple(r for piece in pieces for r in piece[1]))


def _core(span: Range, unit: int) -> tuple[tuple[Range, ...], tuple[Range, ...]]:
    """The whole units within `span`, and what is left on its two sides."""
    lo, hi = span
    first = None if lo is None else -(-lo // unit) * unit
    last = None if hi is None else hi // unit * unit
    if first is not None and last is not None and first >= last:
        if first > last:
            return (), (span,)
        return (), tuple(side for side in ((lo, first), (last, hi)) if side[0] != side[1])
    sides = ((lo, first), (last, hi))
    return ((first, last),), tuple(side for side in sides if side[0] != side[1])


def within(column: str, spans: tuple[Range, ...]) -> str:
    """SQL condition: `column` lies in one of `spans`. A column `ts` is a timestamp, others are microseconds."""
    return " or ".join(_one(column, span) for span in spans) or "false"


def _one(column: str, span: Range) -> str:
    lo, hi = span
    parts = []
    if lo is not None:
        parts.append(f"{column} >= {literal(column, lo)}")
    if hi is not None:
        parts.append(f"{column} < {literal(column, hi)}")
    return " and ".join(parts) or "true"


def literal(column: str, moment_us: int) -> str:
    """`moment_us` as SQL text of the type of `column`."""
    return f"make_timestamp({moment_us})" if column.rpartition(".")[2] == "ts" else str(moment_us)


def hull(spans: tuple[Range, ...], slack_us: int = HOUR) -> Range:
    """The smallest range around `spans`, widened by `slack_us` on both sides."""
    if not spans:
        return (0, 0)
    lows, highs = [lo for lo, _ in spans], [hi for _, hi in spans]
    lo = None if None in lows else min(low for low in lows if low is not None) - slack_us
    hi = None if None in highs else max(high for high in highs if high is not None) + slack_us
    return lo, hi


def cube_sql(cube: Cube, span: Range, model: str, source: Source, bucket_us: int | None = None) -> str:
    """SELECT of the rows of `cube` in `span`, to be added up; with `bucket_us` each has its bucket's start as `at`."""
    cut = split(span, MINUTE if bucket_us is not None and bucket_us < HOUR else HOUR)
    if "minute" not in cube.grains:
        cut = Split(cut.hours, (), tuple(sorted(cut.minutes + cut.rest, key=lambda side: side[0] or 0)))
    pieces = []
    if cut.hours or not (cut.minutes or cut.rest):
        pieces.append(_ready(cube, "hour", cut.hours, source, bucket_us))
    if cut.minutes:
        pieces.append(_ready(cube, "minute", cut.minutes, source, bucket_us))
    if cut.rest:
        pieces.append(_counted(cube, cut.rest, model, source, bucket_us))
    return "\nunion all by name\n".join(pieces)


def _ready(cube: Cube, unit: str, spans: tuple[Range, ...], source: Source, bucket_us: int | None) -> str:
    relation = source(f"{unit}_{cube.name}", hull(spans))
    return f"{_select(f'{unit}_us', bucket_us)}\nfrom {relation}\nwhere {within(f'{unit}_us', spans)}"


def _counted(cube: Cube, spans: tuple[Range, ...], model: str, source: Source, bucket_us: int | None) -> str:
    around = hull(spans) if cube.near else (None, None)
    bases = ",\n".join(
        f"{name} as (\n    select * from {source(f'main.{name}', around)} where {within(column, spans)}\n)"
        for name, column in cube.bases
    )
    return (
        f"-- what is left of the range, counted from single rows by the model {cube.model}\n"
        f"{_select(f'{cube.grains[-1]}_us', bucket_us)}\n"
        f"from (\nwith {bases}\nselect * from (\n{model.strip().rstrip(';')}\n)\n)"
    )


def _select(column: str, bucket_us: int | None) -> str:
    if bucket_us is None:
        return f"select * exclude ({column})"
    return f'select make_timestamp(x_idiv({column}, {bucket_us}) * {bucket_us}) as "at", * exclude ({column})'
