"""A chart with all that belongs to it: what it means, its numbers as a table and as files, its SQL."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from dashboard.charts import spoken, style
from dashboard.charts.drawn import Drawn
from dashboard.components import data, door, explain, grid, links, once
from dashboard.components.data import Result, Row
from dashboard.components.view import View
from dashboard.texts import counted, say, tell

PICTURES = ("png", "svg")
CAMERA = ("Download plot as a PNG", "Download plot")
"""What Plotly calls its button, which says what this page calls it."""

LOCALE = "page"
SCALE = 2
"""Pixels of a saved PNG to one on the screen."""


@dataclass(frozen=True)
class Aside:
    """What lies behind a chart beside its own numbers: as a table and its cells, and as sentences for who hears it."""

    rows: Sequence[Row]
    cells: grid.Cells
    told: Sequence[str]


def chart(
    view: View,
    name: str,
    result: Result,
    draw: Callable[[], go.Figure],
    *,
    metrics: Sequence[str] = (),
    n: float | None = None,
    unit: str = "",
    note: str = "",
    empty: bool | None = None,
    absent: str = "",
    options: Mapping[str, Any] | None = None,
    also: Sequence[object] = (),
    aside: Aside | None = None,
) -> None:
    """Draws the panel whose texts stand under `panel.<name>`; without rows it says so in words.

    What `draw` gives may depend on the view, the result and other results with the same filters, and on nothing else
    but `also`: it is called once, and the chart kept for the next runs.

    `absent` is the key of a text that then stands for `panel.<name>.empty`, where that would not be true. `options`
    go to the chart; `aside` is told with it.
    """
    with st.container(border=True, height="stretch"):
        is_empty = empty if empty is not None else not result.rows
        head(view, name, result, metrics, n, unit, picture=not is_empty, aside=aside)
        if note:
            st.caption(note)
        if is_empty:
            nothing(absent or f"panel.{name}.empty")
        else:
            figure, told = once.made(view, f"chart {name}", result, lambda: drawn(draw(), view.filters.zone), *also)
            said = [tell(f"panel.{name}.alt", n=n if n is None else int(n)), *told]
            alt = ". ".join([*said, *(aside.told if aside else ())])
            st.plotly_chart(figure, config=config(name), alt=alt, **{"key": f"chart_{name}"} | dict(options or {}))


def drawn(figure: go.Figure, zone: str) -> tuple[Drawn, list[str]]:
    """A figure that is done, its main marks in words, and the zone of its times."""
    said = [tell("panel.alt_zone", zone=zone)] if style.over_time(figure) else []
    return Drawn(style.zoned(figure, zone)), spoken.figures(figure) + said


def config(name: str) -> dict[str, Any]:
    """How a browser treats the chart of a panel: one button, which saves it as the picture that was chosen."""
    kind = st.session_state.get(f"picture_{name}") or PICTURES[0]
    return {
        "displayModeBar": "hover",
        "modeBarButtons": [["toImage"]],
        "displaylogo": False,
        "displayNotifier": False,
        "toImageButtonOptions": {"format": kind, "filename": name, "scale": SCALE},
        "locale": LOCALE,
        "locales": {LOCALE: {"dictionary": dict.fromkeys(CAMERA, tell("panel.camera"))}},
        "responsive": True,
        "scrollZoom": False,
    }


def head(
    view: View,
    name: str,
    result: Result,
    metrics: Sequence[str],
    n: float | None,
    unit: str,
    *,
    picture: bool = False,
    keys: bool = False,
    aside: Aside | None = None,
    behind: Sequence[Result] = (),
) -> None:
    """The panel's title with its explanation, and the door to its data.

    `picture` where it has a chart to save, `keys` where the keyboard chooses rows, `behind` results beside the first.
    """
    told = about(view, name, result, metrics, n, unit) + (f"\n\n{say('grid.keys')}" if keys else "")
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", gap="small"):
        title(name, say(f"panel.{name}.title"), told)
        details(view, name, result, picture=picture, aside=aside, behind=behind)


def title(name: str, text: str, help: str) -> None:
    """A panel's title: a heading, so that readers who hear the page find it; it looks as the text does."""
    with st.container(key=f"title_{name}", width="content"):
        st.header(text, anchor=False, help=help)


def about(view: View, name: str, result: Result, metrics: Sequence[str], n: float | None, unit: str) -> str:
    """What the panel shows, the definition of each of its metrics, n, and of when it is."""
    texts = data.metric_texts(view.snapshot)
    parts = [say(f"panel.{name}.about"), *(explain.metric(texts, metric) for metric in metrics)]
    if n is not None:
        parts.append(say("explain.n", n=int(n), unit=counted(unit, n)))
    parts.append(explain.when(view, ranged=bounds(view, result)))
    return "\n\n".join(part for part in parts if part)


def bounds(view: View, result: Result) -> bool:
    """Whether the range of the page is that of a result."""
    return result.ranged and (result.asked is None or result.asked.filters.frm_us == view.filters.frm_us)


def details(
    view: View,
    name: str,
    result: Result,
    *,
    picture: bool = False,
    aside: Aside | None = None,
    behind: Sequence[Result] = (),
) -> None:
    """The rows as a table and as files, what lies behind, the kind of picture to save, and the statement.

    All of it is there before the door opens: a door that asks for its content says when it shuts too, and a link that
    is clicked meanwhile leads to a page that this message empties.
    """
    with st.popover(tell("panel.data"), icon=door.ICON, type="tertiary", key=f"details_{name}"):
        for place, one in enumerate((result, *behind)):
            if behind:
                st.markdown(f"**{door.titled(one)}**")
            door.rows(view, f"{name}_{place}", one)
            door.files(view, one)
            if place == 0 and aside is not None and aside.rows:
                st.caption(say("panel.aside"))
                key, absent = f"aside_{name}", grid.ABSENT
                grid.show(aside.rows, view.zone, key=key, height=door.HEIGHT, absent=absent, made=aside.cells)
            if place == 0 and picture:
                st.segmented_control(
                    tell("panel.picture"),
                    PICTURES,
                    default=PICTURES[0],
                    required=True,
                    format_func=str.upper,
                    key=f"picture_{name}",
                    help=say("panel.picture_help"),
                )
            door.statement(view, one)


def digest_of(content: bytes) -> str:
    """A few letters that stand for a file's content."""
    return hashlib.sha256(content).hexdigest()[:10]


def cut(rows: int, most: int = style.MOST_ROWS) -> str:
    """Says how many rows a chart leaves out, and where they are; nothing where it has all."""
    return say("panel.cut", shown=most, rows=rows) if rows > most else ""


def nothing(text: str) -> None:
    """Says that there is nothing, and what that means here."""
    st.markdown(f":material/do_not_disturb_on: {say(text)}")


def table(
    view: View,
    name: str,
    result: Result,
    rows: Sequence[Row] | Callable[[], Sequence[Row]],
    *,
    columns: Sequence[str] | None = None,
    metrics: Sequence[str] = (),
    note: str = "",
    on_select: Callable[[int], None] | None = None,
    absent: str | None = None,
    empty: str = "",
    behind: Sequence[Result] = (),
) -> None:
    """A panel that is a table: `rows` as they read best; behind the door the result they come from, and `behind` it.

    Rows that a function gives depend on what a chart's `draw` may depend on and on the links' filters: it is called
    once, and the table kept for the next runs.

    `empty` is the key of a text that stands for `panel.<name>.empty`, where that would not be true.
    """
    with st.container(border=True, height="stretch"):
        head(view, name, result, metrics, None, "", keys=on_select is not None, behind=behind)
        if note:
            st.caption(note)
        made = None
        if callable(rows):
            make, more = rows, (columns, links.kept())
            shown, made = once.made(
                view, f"table {name}", result, lambda: grid.listed(make(), view.zone, columns, absent), *more
            )
        else:
            shown = rows
        if not shown:
            nothing(empty or f"panel.{name}.empty")
            return
        key = f"grid_{name}_{digest(result.sql)}" + (f"_{view.snapshot.id}" if on_select else "")
        grid.show(
            shown,
            view.zone,
            key=key,
            columns=columns,
            on_select=on_select,
            memory=name,
            alt=tell(f"panel.{name}.alt"),
            absent=absent,
            made=made,
        )


def digest(text: str) -> str:
    """A few letters that tell two statements apart: a selection must not go over to other rows."""
    return digest_of(text.encode())
