"""What state a warehouse is in: how fresh, what was loaded and refused, how large."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dashboard.filters import utc
from dashboard.snapshot import Snapshot
from dashboard.text import scalar, visible

_LOADS = """
select
    count(*)::bigint as loads,
    count(*) filter (status = 'refused')::bigint as refused,
    coalesce(sum(lines), 0)::bigint as lines,
    coalesce(sum(facts), 0)::bigint as facts,
    coalesce(sum(rejects), 0)::bigint as rejects,
    coalesce(sum(blank), 0)::bigint as blank,
    coalesce(sum(repeated), 0)::bigint as repeated,
    max(finished) as last_load
from loads
"""

RELATIONS = ("attempts", "auctions", "notices", "breaker_events", "postbacks")


def status(snapshot: Snapshot) -> dict[str, Any]:
    """Figures of the warehouse by name; times are naive UTC datetimes, sizes bytes."""
    with snapshot.cursor() as cursor:
        cursor.execute(_LOADS)
        names = [column[0] for column in cursor.description]
        loads = dict(zip(names, cursor.fetchall()[0], strict=True))
    rows = dict(snapshot.query("select relation, sum(rows)::bigint from files group by relation"))
    newest = {
        f"newest_{stream}": None if span.newest_us is None else utc(span.newest_us)
        for stream, span in sorted(snapshot.streams.items())
    }
    return {
        "warehouse": str(snapshot.warehouse),
        "snapshot": snapshot.id,
        "published": utc(int(snapshot.meta["published_us"])),
        **newest,
        **loads,
        **{relation: rows.get(relation, 0) for relation in RELATIONS},
        "files": sum(len(parts) for parts in snapshot.files.values()),
        "bytes": sum(_size(part.path) for parts in snapshot.files.values() for part in parts),
    }


def status_text(figures: dict[str, Any]) -> str:
    """The figures, one a line."""
    width = max(map(len, figures))
    return "".join(f"{name:<{width}}  {visible(scalar(value)) or '-'}\n" for name, value in figures.items())


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0
