"""Whether those who are answered 429 wait as Retry-After tells them."""

from collections.abc import Sequence

from dashboard.charts import style
from dashboard.charts import throttles as charts
from dashboard.components import data, grid, panel, tiles, untold
from dashboard.components.data import Row
from dashboard.components.shapes import Only
from dashboard.components.tiles import Tile
from dashboard.components.view import View
from dashboard.filters import Filters
from dashboard.tables.context import equals
from dashboard.texts import say, table, tell, title

JUDGED = ("early", "on_time", "late", "never")
COLUMNS = ("stream", "key", "endpoint", "limited", "with_retry_after", *charts.VERDICTS, "wasted")
METRICS = tuple(f"retry_after.{name}" for name in COLUMNS[3:])
MOST_RECENT = 500


def tile(view: View, filters: Filters) -> Tile:
    """429s after which the next request came too early, of those that can be judged."""
    result = data.table(view.snapshot, "retry_after", filters)
    return tiles.rate(
        "early",
        result.total("early"),
        judged(result.rows),
        metric="retry_after.early",
        unit=tell("unit.waits"),
        events=True,
    )


def judged(rows: Sequence[Row]) -> int:
    """429s with a Retry-After of which it is known what followed."""
    return sum(row[name] for row in rows for name in JUDGED)


def verdicts(view: View, filters: Filters) -> None:
    """What followed a 429, by key."""
    result = data.table(view.snapshot, "retry_after", filters)
    told = sorted(
        (row for row in result.rows if row["with_retry_after"]),
        key=lambda row: (-row["early"], -row["with_retry_after"], row["key"] or ""),
    )
    panel.chart(
        view,
        "retry_after",
        result,
        lambda: charts.verdicts(told, table("wait"), tell("unit.told")),
        metrics=tuple(f"retry_after.{name}" for name in charts.VERDICTS),
        n=sum(row["with_retry_after"] for row in told),
        unit=tell("unit.told"),
        note=say("panel.cut", shown=style.MOST_ROWS, rows=len(told)) if len(told) > style.MOST_ROWS else "",
        empty=not told,
        absent=absent(view, filters, result.rows),
    )


def absent(view: View, filters: Filters, rows: Sequence[Row]) -> str:
    """Which text stands where nothing tells a time to wait: neither 429s without one nor no requests are health."""
    if any(row["limited"] for row in rows):
        return "throttles.not_told"
    limits = data.table(view.snapshot, "rate_limits", filters)
    return untold.refusals(limits) if limits.rows else "panel.limit_rates.empty"


def delays(view: View, filters: Filters) -> None:
    """How long they waited, as a share of Retry-After."""
    result = data.table(view.snapshot, "throttle_delays", filters)
    followed = sum(result.total(name) for name in charts.FOLLOWED)
    keys = data.table(view.snapshot, "retry_after", filters)
    panel.chart(
        view,
        "throttle_delays",
        result,
        lambda: charts.delays(result.rows, table("wait")),
        metrics=("retry_after.delay",),
        n=followed,
        unit=tell("unit.followed"),
        empty=not followed,
        absent=absent(view, filters, keys.rows) if not keys.total("with_retry_after") else "",
    )


def keys(view: View, filters: Filters) -> None:
    """The figures by key and endpoint; a click on a row opens its newest 429s."""
    result = data.table(view.snapshot, "retry_after", filters)
    rows = sorted(result.rows, key=lambda row: (-row["wasted"], -row["early"], -row["limited"], row["key"] or ""))
    chosen: list[int] = []
    text = "throttles.wasted" if result.total("with_retry_after") else "throttles.not_told"
    panel.table(
        view,
        "throttle_keys",
        result,
        [row | {"stream": tell(f"stream.{row['stream']}")} for row in rows],
        columns=COLUMNS,
        metrics=METRICS,
        note=say(text, wasted=result.total("wasted"), limited=result.total("limited")) if rows else "",
        on_select=chosen.append,
        absent=grid.ABSENT,
        empty=absent(view, filters, rows),
    )
    if chosen:
        recent(view, filters, rows[chosen[0]])


def recent(view: View, filters: Filters, row: Row) -> None:
    """The newest 429s of a key and endpoint, each with what followed it."""
    same = f"stream = '{row['stream']}' and {equals('key', row['key'])} and {equals('endpoint', row['endpoint'])}"
    result = data.table(view.snapshot, "throttle_recent", filters, shape=Only(same))
    rows = [
        one | {"verdict": tell("throttles.no_wait") if one["verdict"] is None else title("wait", one["verdict"])}
        for one in result.rows
    ]
    hidden = {"exchange": ("tenant", "event_type", "external_order_id", "endpoint"), "postback": ("auction_id",)}
    panel.table(
        view,
        "throttle_recent",
        result,
        rows,
        columns=[name for name in result.columns if name not in ("stream", *hidden[row["stream"]])],
        metrics=("retry_after.delay",),
        note=say("throttles.newest", rows=len(rows)) if len(rows) == MOST_RECENT else "",
        absent=grid.ABSENT,
    )
