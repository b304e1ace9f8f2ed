"""What the text of a statement depends on: the snapshot, the filters and, for charts, the size of a time bucket."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.filters import Filters
from dashboard.snapshot import Snapshot
from dashboard.tables.ranges import CUBES, HOUR, Range, cube_sql

DAY = 24 * HOUR
BUCKETS = {"minute": 60_000_000, "hour": HOUR, "day": DAY}

_CONTROL = re.compile(r"[\x00-\x1f]")
_AT = re.compile(r"/\*at\*/\s*")


@dataclass(frozen=True)
class Context:
    """What the text of a part may depend on; `pruned` names files instead of relations, for our own reader."""

    snapshot: Snapshot
    filters: Filters
    bucket_us: int | None = None
    pruned: bool = False

    @property
    def span(self) -> Range:
        """The asked range."""
        return self.filters.frm_us, self.filters.to_us

    @property
    def gone_before(self) -> int | None:
        """Since when single events are kept, where the asked range reaches behind that."""
        return self.snapshot.gone_before(self.filters.frm_us)

    def source(self, name: str, span: Range) -> str:
        """How to read the relation `name` where only its rows around `span` matter."""
        read = self.snapshot.pruned(name.removeprefix("main."), *span) if self.pruned else None
        return read or name

    def partners(self, column: str) -> str:
        """SQL condition on the asked partners."""
        return f"{column} in ({texts(self.filters.partners)})" if self.filters.partners and column else "true"

    def cube(self, name: str, span: Range) -> str:
        """The rows of a cube in `span`, of the asked partners."""
        cube = CUBES[name]
        text = cube_sql(cube, span, self.snapshot.models[cube.model], self.source, self.bucket_us)
        condition = self.partners(cube.partner)
        return text if condition == "true" else f"select * from (\n{text}\n)\nwhere {condition}"

    def at(self, text: str) -> str:
        """`text` with its marks for the bucket column filled in, or left out."""
        return _AT.sub("" if self.bucket_us is None else '"at", ', text)


def texts(values: Sequence[str]) -> str:
    """Values as a list of SQL literals, each on one line."""
    return ", ".join(_text(value) for value in values)


def equals(column: str, value: str | None) -> str:
    """SQL condition that a column has a value; None is that it has none."""
    return f"{column} is not distinct from {'null' if value is None else _text(value)}"


def _text(value: str) -> str:
    if "\x00" in value:  # which the engine takes in no literal
        return f"({' || chr(0) || '.join(map(_text, value.split(chr(0))))})"
    quoted = value.replace("'", "''")
    if not _CONTROL.search(value):
        return f"'{quoted}'"
    escaped = _CONTROL.sub(lambda found: f"\\x{ord(found.group()):02x}", quoted.replace("\\", "\\\\"))
    return f"e'{escaped}'"
