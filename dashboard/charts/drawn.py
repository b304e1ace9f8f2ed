"""A chart that is done: what a browser gets of it, without the work of taking a figure apart on every run."""

import json
from typing import Any

import plotly.graph_objects as go
from plotly.basedatatypes import BaseFigure


class Drawn(BaseFigure):  # type: ignore[misc]
    """The figure as plain JSON values, taken once: times and the like are texts already."""

    def __init__(self, figure: go.Figure) -> None:
        self._drawn: dict[str, Any] = json.loads(figure.to_json(validate=False))

    def to_dict(self) -> dict[str, Any]:
        """The chart's data and layout; sessions share them."""
        return self._drawn
