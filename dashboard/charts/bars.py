"""Horizontal bars: one row a name, its number written beside it."""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from dashboard.charts import style
from dashboard.charts.timeline import COLOURS, pattern
from dashboard.escape import plotly

SHORT_BAR = 0.1
"""Up to this share of the longest bar a text never fits inside; the text of a bar without length would be lost."""


def counts(
    names: Sequence[str],
    values: Sequence[int | None],
    notes: Sequence[str],
    *,
    colours: Sequence[str] | str = style.BLUE,
    above: bool = False,
) -> go.Figure:
    """One bar a name with its count and a note; an unknown count is a word, and no bar.

    Short names stand beside their bars, long ones `above` them, so that neither is cut on a phone.
    """
    texts = [f"{style.short(v)}{' · ' + plotly(note) if note else ''}" for v, note in zip(values, notes, strict=True)]
    known = [value or 0 for value in values]
    longest = max([*known, 1])
    fills = [colours] * len(names) if isinstance(colours, str) else list(colours)
    figure = go.Figure(
        go.Bar(
            x=known,
            y=list(range(len(names))),
            orientation="h",
            marker={"color": fills, "line": {"width": 0}},
            text=texts,
            textposition=["outside" if value <= SHORT_BAR * longest else "auto" for value in known],
            insidetextfont={"color": [style.ink(fill) for fill in fills]},
            insidetextanchor="end",
            textangle=0,
            cliponaxis=False,
            customdata=[
                (plotly(name), style.count(v), plotly(note) if note else "")
                for name, v, note in zip(names, values, notes, strict=True)
            ],
            hovertemplate="%{customdata[0]}<br>%{customdata[1]} %{customdata[2]}<extra></extra>",
        )
    )
    if above:
        style.frame(figure, style.named_height(len(names), legend=False), legend=False)
        style.name_rows(figure, names)
    else:
        style.frame(figure, style.rows_height(len(names), legend=False), legend=False)
        style.category_rows(figure, names)
    figure.update_xaxes(visible=False, range=[0, longest * (1.8 if above else 1.55)])
    return figure


def measured(
    names: Sequence[str],
    values: Sequence[float],
    texts: Sequence[str],
    *,
    colours: Sequence[str],
    told: Sequence[Sequence[str]],
    least: float,
) -> go.Figure:
    """One bar a name, the name above it at the left and what it measures at the right; the axis reaches `least`.

    `told` are the lines of each bar's hover text below the name: sentences of our own.
    """
    figure = go.Figure(
        go.Bar(
            x=list(values),
            y=list(range(len(names))),
            orientation="h",
            marker={"color": list(colours), "line": {"width": 0}},
            customdata=[
                "<br>".join([plotly(name), *(plotly(line, style.LONGEST_LINE) for line in lines)])
                for name, lines in zip(names, told, strict=True)
            ],
            hovertemplate="%{customdata}<extra></extra>",
        )
    )
    style.frame(figure, style.named_height(len(names), legend=False), legend=False)
    style.name_rows(figure, names, texts)
    figure.update_xaxes(visible=False, range=[0, max([*values, least]) * 1.01])
    return figure


def shares(
    names: Sequence[str],
    parts: Mapping[str, Sequence[int]],
    *,
    colours: Mapping[str, str],
    patterns: Mapping[str, str],
    unit: str,
) -> go.Figure:
    """Each name's count split into parts that fill the row; name and n stand above it, so that the row is as wide as
    the screen. A name with n = 0 has no bar.
    """
    totals = [sum(values) for values in zip(*parts.values(), strict=True)]
    figure = go.Figure()
    for index, (part, values) in enumerate(parts.items()):
        rates = [style.ratio(v, n) for v, n in zip(values, totals, strict=True)]
        figure.add_bar(
            x=rates,
            y=list(range(len(names))),
            orientation="h",
            name=plotly(part),
            marker={
                "color": colours.get(part, COLOURS[index % len(COLOURS)]),
                "line": {"width": 0},
                "pattern": pattern(patterns.get(part, "")),
            },
            customdata=[
                (plotly(name), plotly(part), style.percent(r), style.count(v), style.count(n))
                for name, r, v, n in zip(names, rates, values, totals, strict=True)
            ],
            hovertemplate=(
                "%{customdata[0]}<br>%{customdata[1]}: %{customdata[2]}, "
                f"{style.of('%{customdata[3]}', '%{customdata[4]}')} {unit}<extra></extra>"
            ),
        )
    style.frame(figure, style.named_height(len(names), legend=True) + style.legend_room(parts))
    style.name_rows(figure, names, [f"n {style.short(total)}" for total in totals])
    figure.update_layout(barmode="stack", margin={"r": 22})
    figure.update_xaxes(range=[0, 1.001], tickvals=[0, 0.5, 1], ticktext=["0%", "50%", "100%"])
    return figure
