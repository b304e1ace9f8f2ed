"""Columns for steps of a measure: the axis names the begin of each step where it begins."""

from collections.abc import Sequence

import plotly.graph_objects as go


def edges(figure: go.Figure, begins: Sequence[str]) -> go.Figure:
    """Puts the begin of each step at the left edge of its column; columns stand at x = 0, 1, 2..."""
    figure.update_layout(bargap=0.06)
    return figure.update_xaxes(
        tickmode="array",
        tickvals=[place - 0.5 for place in range(len(begins))],
        ticktext=list(begins),
        range=[-0.6, len(begins) - 0.4],
        showgrid=False,
        autotickangles=[0, 60],
    )
