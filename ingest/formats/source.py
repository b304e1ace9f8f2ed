"""The text of a format file, to tell on which line something stands."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import NoReturn

from ingest.errors import InputError

ADVICE = "; see the README beside the formats that ship, ingest/formats/README.md"
#: What a TOML list is made of: texts of four kinds, comments, brackets.
_TOKENS = re.compile(
    r"'''.*?'''|\"\"\"(?:\\.|.)*?\"\"\"|'[^'\n]*'|\"(?:\\.|[^\"\\\n])*\"|#[^\n]*|[\[\]]",
    re.DOTALL,
)


@dataclass(frozen=True)
class Source:
    """The text of a format file."""

    path: Path
    text: str

    @cached_property
    def lines(self) -> list[str]:
        """Its lines, without their ends."""
        return self.text.splitlines()

    def line_of(self, table: str, key: str = "", nth: int = 0) -> int:
        """The line of `key` in the `nth` table of this name (of the table itself without a key), from 1."""
        start = 0
        if table:
            heads = [n for n, line in enumerate(self.lines) if line.strip().strip("[]").strip() == table]
            start = heads[min(nth, len(heads) - 1)] if heads else 0
        if not key:
            return start + 1
        found = re.compile(rf'\s*(?:"{re.escape(key)}"|{re.escape(key)})\s*=')
        return next((n + 1 for n in range(start, len(self.lines)) if found.match(self.lines[n])), start + 1)

    def line_of_item(self, table: str, key: str, item: int, nth: int = 0) -> int:
        """The line on which the `item`-th text of the list `key` begins, from 0; that of `key` where it has fewer."""
        first = self.line_of(table, key, nth)
        behind = "\n".join(self.lines[first - 1 :])
        tokens = list(_TOKENS.finditer(behind))
        depths = accumulate({"[": 1, "]": -1}.get(token[0], 0) for token in tokens)
        inside = [token for token, depth in zip(tokens, _until_closed(depths), strict=False) if token[0][0] in "'\""]
        return first + (behind[: inside[item].start()].count("\n") if item < len(inside) else 0)

    def fail(self, line: int, why: str) -> NoReturn:
        """Raises InputError: `why`, on this line."""
        raise InputError(f"{self.path}, line {line}: {why}{ADVICE}")


def _until_closed(depths: accumulate[int]) -> list[int]:
    """The depths up to the bracket that closes the first one."""
    found: list[int] = []
    for depth in depths:
        found.append(depth)
        if depth == 0:
            break
    return found
