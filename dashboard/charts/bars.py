"""Horizontal bars: one row a name, its number written beside it."""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from dashboard.charts import style
from dashboard.charts.timeline import COLOURS, pattern
from dashboard.escape import plotly

LABEL_ABOVE = 40
"""Characters of a name above its row."""

SHORT_BAR = 0.1
"""Up to this share of the longest bar a text never fits inside; the text of a bar without length would be lost."""


def counts(
    names: Sequence[str],
    values: Sequence[int | None],
    notes: Sequence[str],
    *,
    colours: Sequence[str] | str = style.BLUE,
    width: int = style.LABEL_WIDTH,
) -> go.Figure:
    """One bar a name with its count and a note; an unknown count is a word, and no bar."""
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
                (plotly(name), style.count(v), plotly(note)) for name, v, note in zip(names, values, notes, strict=True)
            ],
            hovertemplate="%{customdata[0]}<br>%{customdata[1]} %{customdata[2]}<extra></extra>",
        )
    )
    style.frame(figure, style.rows_height(len(names), legend=False), legend=False)
    style.category_rows(figure, names, width)
    figure.update_xaxes(visible=False, range=[0, longest * 1.55])
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
    for row, (name, total) in enumerate(zip(style.labels(names, LABEL_ABOVE), totals, strict=True)):
        figure.add_annotation(
            x=0, y=row - 0.24, text=name, xanchor="left", yanchor="bottom", showarrow=False, font={"size": 12}
        )
        figure.add_annotation(
            x=1,
            y=row - 0.24,
            text=f"n {style.short(total)}",
            xanchor="right",
            yanchor="bottom",
            showarrow=False,
            font={"size": 11},
        )
    style.frame(figure, style.rows_height(len(names), row=46) + 18)
    figure.update_layout(barmode="stack", bargap=0.56)
    style.category_rows(figure, names)
    figure.update_yaxes(showticklabels=False, range=[len(names) - 0.6, -0.85])
    figure.update_xaxes(range=[0, 1.001], tickvals=[0, 0.5, 1], ticktext=["0%", "50%", "100%"])
    return figure
