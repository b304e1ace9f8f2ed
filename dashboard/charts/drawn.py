"""A chart that is done: what a browser gets of it, without the work of taking a figure apart on every run."""

from typing import Any

import plotly.graph_objects as go
from plotly.basedatatypes import BaseFigure


class Drawn(BaseFigure):  # type: ignore[misc]
    """The figure as the dict that Plotly's own `to_dict` gives, which is taken once."""

    def __init__(self, figure: go.Figure) -> None:
        self._drawn: dict[str, Any] = figure.to_dict()

    def to_dict(self) -> dict[str, Any]:
        """The chart's data and layout; sessions share them."""
        return self._drawn
