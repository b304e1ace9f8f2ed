"""What came in: weekly reports, loads, rejects, freshness, and the dictionary of all metrics."""

import io
from datetime import timedelta

import pandas as pd
import streamlit as st

from dashboard import exports
from dashboard.charts import style
from dashboard.components import data, grid, links, panel, tiles
from dashboard.components.data import Row
from dashboard.components.tiles import Tile
from dashboard.components.view import View, age, now_us
from dashboard.filters import Filters
from dashboard.report import report_files
from dashboard.snapshot import Snapshot
from dashboard.texts import metric, say, tell

MOST_WEEKS = 60
DICTIONARY = ("title", "definition", "unit", "numerator", "denominator", "owner", "name")


def freshness(view: View) -> None:
    """Newest event of each stream, loads, refused files, rejected lines."""
    loads = data.table(view.snapshot, "loads", Filters())
    newest = [
        Tile(
            f"newest_{stream}",
            age((now_us() - span.newest_us) / 1e6) if span and span.newest_us else style.unknown(),
            metric="data.freshness",
            n=len(loads.rows),
            unit=tell("unit.loads"),
            ranged=False,
        )
        for stream in ("exchange", "postback")
        if (span := view.snapshot.streams.get(stream)) or True
    ]
    refused = len(loads.of(status="refused"))
    tiles.show(
        view,
        [
            *newest,
            Tile(
                "lines",
                style.short(loads.total("lines")),
                metric="loads.lines",
                n=len(loads.rows),
                unit=tell("unit.loads"),
                ranged=False,
            ),
            tiles.rate(
                "rejects",
                loads.total("rejects"),
                loads.total("lines"),
                metric="data.rejects",
                unit=tell("unit.lines"),
                ranged=False,
            ),
            Tile(
                "refused",
                style.count(refused),
                metric="data.refused",
                n=len(loads.rows),
                unit=tell("unit.loads"),
                ranged=False,
            ),
        ],
        [loads],
        note=say("loads_note.whole"),
    )


def loads(view: View) -> None:
    """One row a file and run, newest first."""
    result = data.table(view.snapshot, "loads", Filters())
    panel.table(
        view,
        "loads",
        result,
        [placed(row) for row in reversed(result.rows)],
        columns=[*result.columns, "folder"],
        metrics=("data.mended",),
        absent=grid.ABSENT,
    )


def placed(row: Row) -> Row:
    """A row whose file is told by its name, and apart where that lies: of a long path the end is what tells."""
    folder, slash, name = str(row["file"]).rpartition("/")
    return row | {"file": name or row["file"], "folder": folder + slash or None}


def rejects(view: View) -> None:
    """Lines that became no fact, with their place and reason."""
    result = data.table(view.snapshot, "rejects", Filters())
    whole = data.reject_count(view.snapshot)
    note = say("panel.cut", shown=len(result.rows), rows=whole) if len(result.rows) < whole else ""
    panel.table(
        view,
        "rejects",
        result,
        [placed(row) for row in result.rows],
        columns=[*result.columns, "folder"],
        metrics=("data.rejects",),
        note=note,
        absent=grid.ABSENT,
    )


def dictionary(view: View) -> None:
    """Every metric with its definition; the search looks at all columns."""
    result = data.table(view.snapshot, "metrics", Filters())
    with st.container(border=True):
        panel.head(view, "metrics", result, (), None, "")
        wanted = st.text_input(
            tell("dictionary.search"),
            key="metric",
            bind="query-params",
            placeholder=tell("dictionary.hint"),
            label_visibility="collapsed",
        )
        words = (wanted or "").lower().split()
        rows = [
            row
            for row in map(metric, result.rows)
            if all(word in " ".join(map(str, row.values())).lower() for word in words)
        ]
        st.caption(say("dictionary.found", found=len(rows), rows=len(result.rows)))
        grid.show(
            rows,
            view.zone,
            key="dictionary",
            columns=DICTIONARY,
            alt=tell("panel.metrics.alt"),
            absent=grid.ABSENT,
        )


def weekly(view: View) -> None:
    """Choose a week, look at its topics, take them as CSV or as one zip."""
    weeks = reported_weeks(view)
    with st.container(border=True):
        panel.title("report", say("section.report.title"), say("section.report.about"))
        if not weeks:
            st.markdown(say("report.none"))
            return
        usual = min(1, len(weeks) - 1)
        left, right = st.columns(2)
        week = left.selectbox(tell("report.week"), weeks, usual, key="week", bind="query-params")
        shown = week or weeks[usual]
        files = report(view, shown)
        if shown == weeks[0]:
            st.caption(say("report.partial"))
        topic = right.selectbox(tell("report.topic"), list(files), key="topic", bind="query-params")
        name = topic or next(iter(files))
        preview(view, files[name], name)
        save(view, shown, name)


def reported_weeks(view: View) -> list[str]:
    """ISO weeks that the data touches in the chosen zone, newest first."""
    span = view.snapshot.streams.get("all")
    if span is None or span.first_us is None or span.newest_us is None:
        return []
    first, day = view.local(span.first_us).date(), view.local(span.newest_us).date()
    weeks: list[str] = []
    monday = day - timedelta(days=day.weekday())
    while monday + timedelta(days=6) >= first and len(weeks) < MOST_WEEKS:
        year, week, _ = monday.isocalendar()
        weeks.append(f"{year}-W{week:02d}")
        monday -= timedelta(days=7)
    return weeks


def report(view: View, week: str) -> dict[str, bytes]:
    """The week's files by name, the same bytes as the command line writes."""
    return _report(view.snapshot, str(view.snapshot.warehouse), view.snapshot.id, week, view.filters.zone)


@st.cache_data(ttl=data.KEEP_S, max_entries=16, show_spinner=False)
def _report(_snapshot: Snapshot, warehouse: str, id: str, week: str, zone: str) -> dict[str, bytes]:
    return report_files(_snapshot, week, zone)


def preview(view: View, content: bytes, name: str) -> None:
    """A report file as a table; every cell as the file has it."""
    rows = pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False)
    st.caption(say("report.rows", rows=len(rows), size=len(content)))
    st.dataframe(
        rows.head(grid.MOST_SHOWN),
        hide_index=True,
        height=grid.HEIGHT if len(rows) > 10 else "auto",
        key=f"report_{name}",
        alt=tell("grid.alt", rows=len(rows)),
        column_config={column: column.replace("_", " ") for column in rows.columns},
    )


def save(view: View, week: str, topic: str) -> None:
    """Links to a topic's CSV, and to all of them as one zip."""
    where = (view.snapshot.warehouse, view.snapshot.id, week, view.filters.zone)
    one, whole = exports.Week(*where, topic), exports.Week(*where)
    links.to_files(
        {
            f"{week}-{topic}": exports.offer(f"{week}-{topic.removesuffix('.csv')}", (where, topic), one, "csv"),
            tell("report.whole"): exports.offer(f"retrylens-{week}", where, whole, "zip"),
        },
        tell("report.same"),
    )
