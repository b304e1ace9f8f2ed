"""One auction on its time budget: when each attempt ran, how it ended, and where the deadline lay."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import plotly.graph_objects as go

from dashboard.charts import style
from dashboard.charts.outcomes import OUTCOMES
from dashboard.charts.timeline import pattern
from dashboard.escape import brief, plotly
from dashboard.texts import tell

ROW = 26
RESERVE = "rgba(213, 94, 0, 0.14)"
BAR_WIDTH = 0.62
BELOW = 0.4
"""Where the time that an attempt was given is drawn: under its bar."""

LABEL_WIDTH = 32
SHORT = 16
"""Characters of a name that stands beside its budget."""


@dataclass(frozen=True)
class Bar:
    """One attempt; times in ms since the auction began.

    `took_ms` None: not told, and it ended before `at_most_ms`, or at a time unknown (None as well). `allowed_ms` is the
    time it was given. `label` and `title` say what it was and how it ended.
    """

    group: str
    label: str
    outcome: str
    title: str
    start_ms: float
    took_ms: float | None
    at_most_ms: float | None
    allowed_ms: float | None
    budget_ms: float | None
    sent: bool

    @property
    def end_ms(self) -> float:
        """The last moment of it that is known."""
        return self.start_ms + (self.took_ms if self.took_ms is not None else self.at_most_ms or 0.0)


Line = Bar | str
"""A row of the chart: an attempt, or the name of those whose attempts follow."""


def waterfall(bars: Sequence[Bar], reserve_ms: float, words: Mapping[str, str]) -> go.Figure:
    """Bars of one group stand together, in the order given.

    `words`: budget, no_budget, reserve, allowed, at_most, unknown.
    """
    lines: list[Line] = []
    for group, members in groupby(bars, key=lambda bar: bar.group):
        lines += [group, *members]
    figure = go.Figure()
    _allowed(figure, lines, words)
    for outcome in OUTCOMES:
        _outcome(figure, lines, outcome, words)
    _points(figure, lines, words)
    style.frame(figure, style.rows_height(len(lines), legend=False, row=ROW) + 14, legend=False)
    names = ["" if isinstance(line, str) else f"{line.label} · {line.title}" for line in lines]
    style.category_rows(figure, names, LABEL_WIDTH)
    several = len({bar.budget_ms for bar in bars}) > 1
    style.write(
        figure,
        [
            _name(place, line, lines[place + 1] if several else None, words)
            for place, line in enumerate(lines)
            if isinstance(line, str)
        ],
    )
    _budgets(figure, lines, reserve_ms, words)
    figure.update_layout(barmode="overlay", margin={"t": 26})
    end = max([1.0, *(bar.end_ms for bar in bars), *(bar.budget_ms for bar in bars if bar.budget_ms is not None)])
    figure.update_xaxes(range=[0, end * 1.2], ticksuffix=tell("shape.ms", value=""), nticks=5)
    return figure


def _name(place: int, name: str, first: Line | None, words: Mapping[str, str]) -> style.Item:
    """The name of a group; with `first`, its first attempt, also the budget that it had."""
    text = plotly(name, LABEL_WIDTH)
    if isinstance(first, Bar):
        budget = words["no_budget"] if first.budget_ms is None else ms(first.budget_ms)
        text = f"{plotly(brief(name, SHORT), SHORT)} · {plotly(budget)}"
    return {"x": 0, "xref": "paper", "y": place, "text": text, "font": {"weight": 700}, "xanchor": "left"}


def _outcome(figure: go.Figure, lines: Sequence[Line], outcome: str, words: Mapping[str, str]) -> None:
    """The attempts that ended so; those of which only the latest end is known are pale."""
    for told in (True, False):
        found = [
            (place, bar)
            for place, bar in enumerate(lines)
            if isinstance(bar, Bar) and bar.outcome == outcome and has_length(bar) and (bar.took_ms is not None) is told
        ]
        if not found:
            continue
        colour, shape = OUTCOMES[outcome]
        figure.add_bar(
            base=[bar.start_ms for _, bar in found],
            x=[bar.end_ms - bar.start_ms for _, bar in found],
            y=[place for place, _ in found],
            width=BAR_WIDTH,
            orientation="h",
            name=plotly(found[0][1].title),
            marker={
                "color": colour,
                "line": {"color": colour, "width": 2},
                "pattern": pattern(shape),
                "opacity": 1 if told else 0.45,
            },
            text=[length(bar, words) for _, bar in found],
            textposition="outside",
            cliponaxis=False,
            customdata=[hover(bar, words) for _, bar in found],
            hovertemplate="%{customdata}<extra></extra>",
        )


def _points(figure: go.Figure, lines: Sequence[Line], words: Mapping[str, str]) -> None:
    """Attempts without a length: those not sent, and those that ended at a time unknown."""
    found = [(place, bar) for place, bar in enumerate(lines) if isinstance(bar, Bar) and not has_length(bar)]
    if not found:
        return
    figure.add_scatter(
        x=[bar.start_ms for _, bar in found],
        y=[place for place, _ in found],
        mode="markers+text",
        marker={
            "symbol": ["triangle-right" if bar.sent else "x" for _, bar in found],
            "size": 11,
            "color": [OUTCOMES.get(bar.outcome, (style.GREY, ""))[0] for _, bar in found],
        },
        text=[f" {length(bar, words)}" if bar.sent else "" for _, bar in found],
        textposition="middle right",
        cliponaxis=False,
        customdata=[hover(bar, words) for _, bar in found],
        hovertemplate="%{customdata}<extra></extra>",
    )


def _allowed(figure: go.Figure, lines: Sequence[Line], words: Mapping[str, str]) -> None:
    """A thin line under each bar: how long the attempt might have taken."""
    found = [
        (place, bar)
        for place, bar in enumerate(lines)
        if isinstance(bar, Bar) and bar.sent and bar.allowed_ms is not None
    ]
    if found:
        figure.add_bar(
            base=[bar.start_ms for _, bar in found],
            x=[bar.allowed_ms for _, bar in found],
            y=[place + BELOW for place, _ in found],
            width=0.1,
            orientation="h",
            name=plotly(words["allowed"]),
            marker={"color": style.GREY, "line": {"width": 0}},
            hoverinfo="skip",
        )


def _budgets(figure: go.Figure, lines: Sequence[Line], reserve_ms: float, words: Mapping[str, str]) -> None:
    """The budget and the begin of the reserve before it, beside the attempts that have them."""
    shapes: list[style.Item] = []
    for place, (budget, first, last) in enumerate(runs(lines)):
        begin = budget - reserve_ms
        span: style.Item = {"y0": first - 0.5, "y1": last + 0.5}
        reserve: style.Item = {"x0": begin, "x1": budget, "fillcolor": RESERVE, "layer": "below", **span}
        edge: style.Item = {"type": "line", "line": {"color": style.RED, "width": 1}, **span}
        shapes += [
            {"type": "rect", "line": {"width": 0}, **reserve},
            {**edge, "x0": begin, "x1": begin, "line": {"color": style.RED, "width": 1, "dash": "dot"}},
            {**edge, "x0": budget, "x1": budget},
        ]
        if place == 0 and first == 0:
            text = f"{plotly(words['reserve'])} {style.number(begin)} · {plotly(words['budget'])} {ms(budget)}"
            figure.add_annotation(
                x=budget, y=-0.5, text=text, showarrow=False, xanchor="right", yanchor="bottom", font={"size": 11}
            )
    style.outline(figure, shapes)


def runs(lines: Sequence[Line]) -> list[tuple[float, int, int]]:
    """Each known budget with the first and the last of the rows in a row that have it; a name goes with what follows.

    Plain numbers in, plain numbers out: 300.0, 0, 4.
    """
    found: list[tuple[float, int, int]] = []
    for place, line in enumerate(lines):
        if isinstance(line, str) or line.budget_ms is None:
            continue
        first = place - 1 if isinstance(lines[place - 1], str) and place else place
        if found and found[-1][0] == line.budget_ms and found[-1][2] == first - 1:
            found[-1] = (line.budget_ms, found[-1][1], place)
        else:
            found.append((line.budget_ms, first, place))
    return found


def has_length(bar: Bar) -> bool:
    """Whether its end is known, or at least bounded."""
    return bar.sent and (bar.took_ms is not None or bar.at_most_ms is not None)


def length(bar: Bar, words: Mapping[str, str]) -> str:
    """How long it took, in words."""
    if bar.took_ms is not None:
        return ms(bar.took_ms)
    return plotly(words["unknown"]) if bar.at_most_ms is None else f"{plotly(words['at_most'])} {ms(bar.at_most_ms)}"


def hover(bar: Bar, words: Mapping[str, str]) -> str:
    """What the pointer tells of an attempt."""
    head = f"{plotly(bar.group)}<br>{plotly(bar.label)} · {plotly(bar.title)}"
    lasted = f"<br>{length(bar, words)}" if bar.sent else ""
    allowed = "" if bar.allowed_ms is None else f"<br>{plotly(words['allowed'])} {ms(bar.allowed_ms)}"
    return f"{head}<br>{ms(bar.start_ms)} →{lasted}{allowed}"


def ms(value: float) -> str:
    """Milliseconds; fractions only where they say something."""
    return tell("shape.ms", value=style.number(value, ",.1f" if 0 < value < 10 else ",.0f"))
