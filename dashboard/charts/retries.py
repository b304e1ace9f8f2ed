"""What retries earn: success with its interval, effective against actual success, amplification, fate."""

from collections.abc import Mapping

import plotly.graph_objects as go

from dashboard.charts import style
from dashboard.charts.bars import shares
from dashboard.charts.funnel import readable
from dashboard.charts.style import Row, Rows
from dashboard.escape import name_of, plotly
from dashboard.texts import tell

BUDGETS = {"1.10": 1.10, "1.20": 1.20}
"""Attempts per call: SRE's per-client 10 %, and the 20 % that proxies allow by default."""

RECOVERED = {"recovered_1": style.GREEN, "recovered_2": style.BLUE, "recovered_3": style.SKY}
"""Fates that have a colour of their own."""

FATES = {
    "exhausted": (style.RED, "/"),
    "stopped": (style.ORANGE, "x"),
    "no_time": (style.PURPLE, "."),
    "not_retried": (style.GREY, ""),
    "unknown": (style.GREY, "+"),
}
"""Fates of calls that were not recovered -> colour, pattern."""

RECOVERED_LATER = "recovered_later"
"""Stands for those with more retries: no screen has room for a colour each."""

MOST_NUMBERS = 8
"""Columns of the heatmap; few calls are repeated more often."""

MOST_TOLD = 4
"""Up to so many columns each cell has room for the interval."""

SCALE = [[0.0, "#F4E3D7"], [0.05, "#F0D9A8"], [0.25, "#CFE3EE"], [1.0, "#4FA3D1"]]
"""Success from poor (warm) to good (blue), light enough to carry dark text in both themes."""


TWO_LINES = 22
"""Characters of each line of a label that names a partner and a trigger below it."""

SMALL = "<span style='font-size:9px'>"


def heatmap(rows: Rows, titles: Mapping[str, str]) -> go.Figure:
    """Rows of the table `retries`: a line a partner and trigger, a column a retry number; rate and n in each cell.

    The colour is the interval's lower end: a rate of few retries does not look sure.
    """
    lines: dict[tuple[str | None, str], int] = {}
    for row in rows:
        key = (row["partner"], row["trigger"])
        lines[key] = lines.get(key, 0) + row["retries"]
    busiest = sorted(lines, key=lambda key: -lines[key])[: style.MOST_ROWS]
    shown = sorted(busiest, key=lambda key: (name_of(key[0]), key[1]))
    numbers = sorted({row["retry_no"] for row in rows})[:MOST_NUMBERS]
    cells = {(row["partner"], row["trigger"], row["retry_no"]): row for row in rows}
    grid = [[cells.get((*key, number)) for number in numbers] for key in shown]
    figure = go.Figure(
        go.Heatmap(
            z=[[None if cell is None else cell["success_low"] for cell in line] for line in grid],
            x=list(range(len(numbers))),
            y=list(range(len(shown))),
            text=[[cell_text(cell, len(numbers)) for cell in line] for line in grid],
            texttemplate="%{text}",
            textfont={"color": "#1B2730", "size": 11},
            customdata=[[cell_hover(cell, titles) for cell in line] for line in grid],
            hovertemplate="%{customdata}<extra></extra>",
            hoverongaps=False,
            colorscale=SCALE,
            zmin=0,
            zmax=1,
            showscale=False,
            xgap=3,
            ygap=3,
        )
    )
    style.frame(
        figure,
        style.rows_height(len(shown), legend=False, row=40 if len(numbers) > MOST_TOLD else 50) + 26,
        legend=False,
    )
    names = [(name_of(partner), titles.get(str(trigger), readable(trigger))) for partner, trigger in shown]
    style.category_rows(figure, [partner for partner, _ in names])
    figure.update_yaxes(ticktext=["<br>".join(style.labels(lines, TWO_LINES)) for lines in names])
    figure.update_xaxes(
        side="top",
        tickmode="array",
        tickvals=list(range(len(numbers))),
        ticktext=[
            tell("chart.retry", number=number) if len(numbers) <= MOST_TOLD else str(number) for number in numbers
        ],
        showgrid=False,
    )
    figure.update_layout(margin={"t": 30})
    return figure


def cell_text(cell: Row | None, numbers: int) -> str:
    """Rate, 95 % interval and n, one below the other; with many columns per cent and n, so that a phone can hold it."""
    if cell is None:
        return ""
    if numbers > MOST_TOLD:
        return f"{style.number(100 * cell['success_rate'])}<br>{SMALL}{style.short(cell['retries'])}</span>"
    interval = f"{style.number(100 * cell['success_low'])}-{style.number(100 * cell['success_high'])}"
    return f"{style.percent(cell['success_rate'])}<br>{SMALL}{interval}<br>n {style.short(cell['retries'])}</span>"


def cell_hover(cell: Row | None, titles: Mapping[str, str]) -> str:
    """The whole cell in words, with the 95 % interval."""
    if cell is None:
        return ""
    trigger = titles.get(str(cell["trigger"]), readable(cell["trigger"]))
    counts = {name: style.count(cell[name]) for name in ("successes", "retries")}
    low, high = (plotly(style.percent(cell[name])) for name in ("success_low", "success_high"))
    lines = (
        plotly(cell["partner"]),
        tell("chart.retry_after", number=cell["retry_no"], trigger=plotly(trigger)),
        tell("chart.succeeded", share=plotly(style.percent(cell["success_rate"])), **counts),
        tell("chart.interval", low=low, high=high),
    )
    return "<br>".join(lines)


def actual_and_effective(rows: Rows) -> go.Figure:
    """Rows of the table `judged_calls`: two marks a partner, joined; the gap is what retries add."""
    shown = list(rows)[: style.MOST_ROWS]
    figure = go.Figure()
    style.join_marks(figure, [(row["actual_success"], row["effective_success"]) for row in shown])
    for column, name, colour, mark, unit in (
        ("actual_success", tell("chart.actual"), style.ORANGE, "circle-open", "judged_attempts"),
        ("effective_success", tell("chart.effective"), style.BLUE, "diamond", "judged_calls"),
    ):
        figure.add_scatter(
            x=[row[column] for row in shown],
            y=list(range(len(shown))),
            mode="markers",
            name=name,
            marker={"symbol": mark, "size": 11, "color": colour, "line": {"width": 2}},
            customdata=[(plotly(row["partner"]), style.percent(row[column]), style.count(row[unit])) for row in shown],
            hovertemplate=(
                f"%{{customdata[0]}}<br>{name}: {tell('chart.of_sent', share='%{customdata[1]}', n='%{customdata[2]}')}"
                "<extra></extra>"
            ),
        )
    style.mark_unknown(figure, [row["actual_success"] is None and row["effective_success"] is None for row in shown])
    style.frame(figure, style.rows_height(len(shown)))
    style.category_rows(figure, [row["partner"] for row in shown])
    figure.update_xaxes(range=[-0.03, 1.03], tickformat=".0%", nticks=6)
    return figure


def amplification(rows: Rows) -> go.Figure:
    """Rows of the table `calls`: attempts sent per call sent, against the two budget lines."""
    shown = list(rows)[: style.MOST_ROWS]
    values = [None if row["amplification"] is None else float(row["amplification"]) for row in shown]
    figure = go.Figure(
        go.Scatter(
            x=values,
            y=list(range(len(shown))),
            mode="markers",
            cliponaxis=False,
            marker={
                "size": 11,
                "symbol": ["circle" if (value or 1) <= BUDGETS["1.10"] else "triangle-right" for value in values],
                "color": [
                    style.BLUE
                    if (value or 1) <= BUDGETS["1.10"]
                    else style.ORANGE
                    if (value or 1) <= BUDGETS["1.20"]
                    else style.RED
                    for value in values
                ],
            },
            customdata=[
                (
                    plotly(row["partner"]),
                    tell("chart.attempts_for_calls", attempts=row["attempts_sent"], calls=row["calls_sent"]),
                )
                for row in shown
            ],
            hovertemplate="%{customdata[0]}<br>%{customdata[1]}<extra></extra>",
        )
    )
    for value, side in zip(BUDGETS.values(), ("right", "left"), strict=True):
        figure.add_vline(
            x=value,
            line={"color": style.RED, "width": 1, "dash": "dot"},
            annotation={
                "text": style.number(value, ".2f"),
                "font": {"size": 11},
                "yref": "paper",
                "y": 1,
                "yanchor": "bottom",
                "xanchor": side,
            },
            annotation_position="top",
        )
    right: style.Item = {"x": 1, "xref": "paper", "xanchor": "right"}
    style.write(figure, [{"y": row, "text": style.number(one, ".2f"), **right} for row, one in enumerate(values)])
    style.frame(figure, style.rows_height(len(shown), legend=False) + 20, legend=False)
    style.category_rows(figure, [row["partner"] for row in shown])
    top = max([1.25, *(value for value in values if value is not None)])
    figure.update_xaxes(range=[0.98, top + (top - 0.98) * 0.3], tickformat=".2f", nticks=6)
    figure.update_layout(margin={"t": 26})
    return figure


def fate(rows: Rows) -> go.Figure:
    """Rows of the table `fate`: how each partner's calls with a failed original ended, as shares of n."""
    partners = sorted({row["partner"] for row in rows}, key=name_of)
    totals = {partner: sum(row["calls"] for row in rows if row["partner"] == partner) for partner in partners}
    shown = sorted(partners, key=lambda partner: (-totals[partner], name_of(partner)))[: style.MOST_ROWS]
    found: dict[tuple[str, str], int] = {}
    for row in rows:
        key = (row["partner"], fate_kind(row["fate"]))
        found[key] = found.get(key, 0) + row["calls"]
    kinds = sorted({kind for _, kind in found}, key=fate_order)
    return shares(
        shown,
        {readable(kind): [found.get((partner, kind), 0) for partner in shown] for kind in kinds},
        colours={readable(kind): fate_colour(kind) for kind in kinds},
        patterns={readable(kind): FATES.get(kind, ("", ""))[1] for kind in kinds},
        unit=tell("unit.calls"),
    )


def fate_kind(fate: str) -> str:
    """The part of the row in which a fate is drawn: what many retries recovered is one part."""
    return RECOVERED_LATER if fate.startswith("recovered_") and fate not in RECOVERED else fate


def fate_order(kind: str) -> tuple[int, str]:
    """Recovered first, in the order of the retry, then what ended badly."""
    return (list(FATES).index(kind) + 2 if kind in FATES else 1, kind)


def fate_colour(kind: str) -> str:
    """Recovered in greens and blues by retry, the rest warm or grey."""
    return FATES[kind][0] if kind in FATES else RECOVERED.get(kind, style.YELLOW)
