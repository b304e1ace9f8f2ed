"""The postbacks of one order over time, with the times that answers told its sender to wait."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from dashboard.charts import style
from dashboard.charts.breakers import duration
from dashboard.charts.timeline import pattern
from dashboard.escape import plotly
from dashboard.texts import tell

ROW = 30
UNITS = ((86_400.0, "days"), (3_600.0, "h"), (60.0, "min"), (1.0, "s"))
BANDS = {"too_early": (style.RED, "/"), "in_time": (style.GREEN, "")}
SEEN = 4.0
"""Waits are drawn up to so many times the time from the first request to the last."""


@dataclass(frozen=True)
class Post:
    """One request; times in s since the order's first. `early_s` and `timely_s` are the ends of what its 429 told:

    a next request before the first is early, up to the second in time. `next_s` is when the next request of its key and
    endpoint came. `label` and `title` say which it was and how it ended; `mark` its symbol.
    """

    label: str
    title: str
    colour: str
    mark: str
    at_s: float
    answered_s: float
    early_s: float | None = None
    timely_s: float | None = None
    next_s: float | None = None


def timeline(posts: Sequence[Post], words: Mapping[str, str]) -> go.Figure:
    """A row for each request, oldest first. `words`: too_early, in_time, next."""
    size, unit = scale(reach(posts))
    figure = go.Figure()
    for name, begin, end in (("too_early", "answered_s", "early_s"), ("in_time", "early_s", "timely_s")):
        found = [(place, post) for place, post in enumerate(posts) if getattr(post, end) is not None]
        spans = [(place, max(getattr(post, begin), post.answered_s), getattr(post, end)) for place, post in found]
        spans = [(place, low, high) for place, low, high in spans if low < high]
        if not spans:
            continue
        colour, shape = BANDS[name]
        figure.add_bar(
            base=[low / size for _, low, _ in spans],
            x=[(high - low) / size for _, low, high in spans],
            y=[place for place, _, _ in spans],
            width=0.8,
            orientation="h",
            name=plotly(words[name]),
            opacity=0.35,
            marker={"color": colour, "line": {"width": 0}, "pattern": pattern(shape)},
            customdata=[f"{plotly(words[name])}: {span(low)} - {span(high)}" for _, low, high in spans],
            hovertemplate="%{customdata}<extra></extra>",
        )
    _next(figure, posts, size, words)
    figure.add_scatter(
        x=[post.at_s / size for post in posts],
        y=list(range(len(posts))),
        mode="markers",
        showlegend=False,
        marker={
            "symbol": [post.mark for post in posts],
            "size": 12,
            "color": [post.colour for post in posts],
            "line": {"width": 1, "color": style.GREY},
        },
        cliponaxis=False,
        customdata=[f"{plotly(post.label)} · {plotly(post.title)}<br>{span(post.at_s)}" for post in posts],
        hovertemplate="%{customdata}<extra></extra>",
    )
    style.frame(figure, style.rows_height(len(posts), row=ROW))
    style.category_rows(figure, [f"{post.label} · {post.title}" for post in posts])
    figure.update_layout(barmode="overlay")
    figure.update_xaxes(
        range=[-0.02 * reach(posts) / size, 1.05 * reach(posts) / size],
        ticksuffix=tell(f"shape.{unit}", value=""),
        nticks=5,
    )
    return figure


def _next(figure: go.Figure, posts: Sequence[Post], size: float, words: Mapping[str, str]) -> None:
    """On the row of a 429 a stroke where the next request of its key and endpoint came."""
    found = [(place, post.next_s) for place, post in enumerate(posts) if post.next_s is not None]
    if found:
        figure.add_scatter(
            x=[moment / size for _, moment in found],
            y=[place for place, _ in found],
            mode="markers",
            name=plotly(words["next"]),
            marker={"symbol": "line-ns-open", "size": 16, "color": style.BLUE, "line": {"width": 3}},
            customdata=[f"{plotly(words['next'])}: {span(moment)}" for _, moment in found],
            hovertemplate="%{customdata}<extra></extra>",
        )


def reach(posts: Sequence[Post]) -> float:
    """The last second that is drawn: of the last request, or of the waits before it where these are not far longer."""
    last = max(post.at_s for post in posts)
    told = max((post.timely_s or 0.0 for post in posts), default=0.0)
    return max(min(told, SEEN * last) if last else told, last, 0.001)


def scale(seconds: float) -> tuple[float, str]:
    """Seconds of the largest unit that the time holds twice, and its name."""
    return next((unit for unit in UNITS if seconds >= 2 * unit[0]), (0.001, "ms") if seconds < 1 else UNITS[-1])


def span(seconds: float) -> str:
    """A moment since the first request."""
    return f"+{duration(max(seconds, 0.0))}"
