"""Counts and rates over time: a bucket without a measurement is a gap, a measured zero lies on the axis."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import plotly.graph_objects as go

from dashboard import languages
from dashboard.charts import style
from dashboard.escape import plotly

Parts = Sequence[tuple[float | None, float | None]]
"""Numerator and denominator of each bucket."""

DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
MARKS = ("circle", "square", "diamond", "triangle-up", "x", "star")
COLOURS = (style.BLUE, style.ORANGE, style.GREEN, style.PURPLE, style.SKY, style.RED, style.GREY, style.YELLOW)


MOST_FAINT = 3
"""Lines of an earlier period on one chart, those of the first names."""


@dataclass(frozen=True)
class Past:
    """An earlier period drawn under this one. `times` are where its buckets stand, `moments` when they were.

    `totals` is for bars, `lines` for rates by the same names.
    """

    name: str
    times: Sequence[datetime]
    moments: Sequence[str]
    totals: Sequence[int | None] = ()
    lines: Mapping[str, Parts] | None = None


def stacked(
    buckets: Sequence[datetime],
    series: Mapping[str, Sequence[int]],
    *,
    colours: Mapping[str, str],
    patterns: Mapping[str, str],
    unit: str,
    height: int = 280,
    past: Past | None = None,
) -> go.Figure:
    """Counts as stacked bars, the first series at the bottom; hover tells the bucket's total as n. `past`: a line."""
    totals = [sum(values) for values in zip(*series.values(), strict=True)] if series else []
    figure = go.Figure()
    for index, (name, values) in enumerate(series.items()):
        colour = colours.get(name, COLOURS[index % len(COLOURS)])
        figure.add_bar(
            x=list(buckets),
            y=list(values),
            name=plotly(name),
            customdata=[
                (style.count(v), style.count(n), style.percent(style.ratio(v, n)))
                for v, n in zip(values, totals, strict=True)
            ],
            marker={"color": colour, "line": {"width": 0}, "pattern": pattern(patterns.get(name, ""))},
            hovertemplate=f"%{{x}}<br>{style.of('%{customdata[0]}', '%{customdata[1]}')} {unit} (%{{customdata[2]}})",
        )
    highest = max([*totals, *(_faint_total(figure, past, unit) if past else ())], default=0)
    style.frame(figure, height + style.legend_room([*series, *([past.name] if past else ())]))
    figure.update_layout(barmode="stack", bargap=0.08)
    figure.update_yaxes(rangemode="tozero", **whole_ticks(highest))
    return span(figure, buckets)


def rates(
    buckets: Sequence[datetime],
    series: Mapping[str, Parts],
    *,
    unit: str,
    as_percent: bool = True,
    budgets: Mapping[str, float] | None = None,
    floor: float = 0.0,
    height: int = 280,
    past: Past | None = None,
) -> go.Figure:
    """Ratios as lines, each its own dash and mark; `budgets` are labelled horizontal lines, `past` faint ones."""
    figure = go.Figure()
    lone = len(buckets) < 60
    for index, (name, parts) in enumerate(series.items()):
        values = [style.ratio(part, whole) for part, whole in parts]
        shown = [_shown(v, as_percent) for v in values]
        figure.add_scatter(
            x=list(buckets),
            y=values,
            name=plotly(name),
            mode="lines+markers" if lone or alone(values) else "lines",
            connectgaps=False,
            customdata=[
                (text, style.count(part), style.count(whole)) for text, (part, whole) in zip(shown, parts, strict=True)
            ],
            line={"color": COLOURS[index % len(COLOURS)], "width": 2, "dash": DASHES[index % len(DASHES)]},
            marker={"symbol": MARKS[index % len(MARKS)], "size": 5},
            hovertemplate=f"%{{customdata[0]}}: {style.of('%{customdata[1]}', '%{customdata[2]}')} {unit}<br>%{{x}}",
        )
    earlier = _faint_rates(figure, past, list(series), unit, as_percent) if past else []
    highest = max((budgets or {}).values(), default=0.0)
    for text, value in (budgets or {}).items():
        figure.add_hline(
            y=value,
            line={"color": style.RED, "width": 1, "dash": "dot"},
            annotation={"text": plotly(text), "font": {"size": 11}, "xanchor": "right"},
            annotation_position="top right" if value == highest else "bottom right",
        )
    style.frame(figure, height)
    known = [v for parts in series.values() for part, n in parts if (v := style.ratio(part, n)) is not None]
    top = max([*known, *earlier, *(budgets or {}).values(), floor + 0.01])
    tight = as_percent and top < 0.05
    figure.update_yaxes(
        range=[floor, floor + (top - floor) * 1.12],
        tickformat=(".1%" if tight else ".0%") if as_percent else ".2f",
        nticks=5,
    )
    return span(figure, buckets)


def _shown(value: float | None, as_percent: bool) -> str:
    return style.percent(value) if as_percent else style.number(value, ".3f")


def _faint_total(figure: go.Figure, past: Past, unit: str) -> list[int]:
    """Draws the bars' totals of the earlier period as a line; gives those that are known."""
    known = [value for value in past.totals if value is not None]
    if known:
        figure.add_scatter(
            x=list(past.times),
            y=list(past.totals),
            name=plotly(past.name),
            mode="lines",
            connectgaps=False,
            line={"color": style.GREY, "width": 2, "dash": "dot"},
            customdata=[(moment, style.count(v)) for moment, v in zip(past.moments, past.totals, strict=True)],
            hovertemplate=f"%{{customdata[0]}}<br>%{{customdata[1]}} {unit}",
        )
    return known


def _faint_rates(figure: go.Figure, past: Past, names: Sequence[str], unit: str, as_percent: bool) -> list[float]:
    """Draws the first lines once more as they were in the earlier period; gives the values that are known."""
    found: list[float] = []
    for index, name in enumerate(names[:MOST_FAINT]):
        parts = (past.lines or {}).get(name, ())
        values = [style.ratio(part, whole) for part, whole in parts]
        known = [value for value in values if value is not None]
        if not known:
            continue
        figure.add_scatter(
            x=list(past.times),
            y=values,
            name=plotly(past.name),
            mode="lines",
            connectgaps=False,
            opacity=0.45,
            legendgroup="past",
            showlegend=not found,
            line={"color": COLOURS[index], "width": 1.5, "dash": "dot"},
            customdata=[
                (plotly(name), moment, _shown(v, as_percent), style.count(part), style.count(whole))
                for moment, v, (part, whole) in zip(past.moments, values, parts, strict=True)
            ],
            hovertemplate=(
                "%{customdata[0]}<br>%{customdata[1]}<br>"
                f"%{{customdata[2]}}: {style.of('%{customdata[3]}', '%{customdata[4]}')} {unit}"
            ),
        )
        found += known
    return found


def whole_ticks(top: float) -> dict[str, object]:
    """Axis options with which counts up to `top` have ticks at whole numbers only: half a count is none."""
    if top < 10:
        return {"dtick": 1, "tickformat": ",.0f"}
    return {"tickformat": ",.0f" if top < 1_000 else "~s"}


def alone(values: Sequence[float | None]) -> bool:
    """Whether a value stands between two gaps, where a line alone would draw nothing."""
    padded = [None, *values, None]
    return any(
        b is not None and a is None and c is None for a, b, c in zip(padded, padded[1:], padded[2:], strict=False)
    )


def pattern(shape: str) -> dict[str, object]:
    """A hatch in the background's colour, so that it shows in both themes."""
    return {"shape": shape, "fillmode": "overlay", "fgcolor": "rgba(255,255,255,0.7)", "size": 6, "solidity": 0.25}


def span(figure: go.Figure, buckets: Sequence[datetime]) -> go.Figure:
    """Shows the whole range that was asked for, also where its edges are empty."""
    if len(buckets) > 1:
        half = (buckets[1] - buckets[0]) / 2
        figure.update_xaxes(range=[buckets[0] - half, buckets[-1] + half])
    return dates(figure)


def dates(figure: go.Figure) -> go.Figure:
    """Few, short date labels: the clock, and below it the day where it changes."""
    language = languages.current()
    figure.update_xaxes(
        type="date",
        hoverformat=language.hover,
        showgrid=False,
        nticks=6,
        tickangle=0,
        tickformatstops=[
            {"dtickrange": [None, 59_999], "value": f"%H:%M:%S\n{language.day}"},
            {"dtickrange": [60_000, 86_399_999], "value": f"%H:%M\n{language.day}"},
            {"dtickrange": [86_400_000, None], "value": language.days},
        ],
    )
    return figure
