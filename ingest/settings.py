"""Settings of a warehouse: defaults < `retrylens.toml` in the warehouse < environment (RETRYLENS_<NAME>)."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from ingest.errors import InputError

FILE = "retrylens.toml"

#: Settings that change stored models: a warehouse built under other values needs `rebuild`.
STORED = ("reserve_ms", "call_span_s", "notice_days")


@dataclass(frozen=True)
class Settings:
    """Every setting with its default. Durations carry their unit in the name."""

    reserve_ms: int = 40
    call_span_s: int = 600
    notice_days: int = 7
    event_id_days: int = 7
    price_unit: str = "cpm"
    zone: str = "UTC"
    flag_days: int = 7
    flag_min_retries: int = 50
    flag_watch_retries: int = 10
    flag_upper_bound: float = 0.05
    flag_z: float = 1.6448536269514722
    interval_z: float = 1.959963984540054
    snapshot_grace_s: int = 900

    def rows(self) -> list[tuple[str, str]]:
        """(name, value as text), as the snapshot keeps them."""
        return [(f.name, str(getattr(self, f.name))) for f in fields(self)]


def load_settings(warehouse: Path, environ: Mapping[str, str] = os.environ) -> Settings:
    """Settings in force for `warehouse`.

    Raises InputError naming the file or variable, the setting and what it takes.
    """
    path = warehouse / FILE
    given: dict[str, object] = {}
    if path.exists():
        try:
            given.update(tomllib.loads(path.read_text(encoding="utf-8")))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: not valid TOML ({error}); correct the file") from None
    sources = dict.fromkeys(given, str(path))
    known = {f.name: f.type for f in fields(Settings)}
    for name in known:
        variable = f"RETRYLENS_{name.upper()}"
        if variable in environ:
            given[name] = environ[variable]
            sources[name] = variable
    values: dict[str, int | float | str] = {}
    for name, raw in given.items():
        if name not in known:
            raise InputError(f"{sources[name]}: unknown setting {name!r}; known: {', '.join(sorted(known))}")
        values[name] = _cast(name, str(known[name]), raw, sources[name])
    settings = Settings(**values)  # type: ignore[arg-type]
    if settings.price_unit not in ("cpm", "unit"):
        where = sources.get("price_unit", FILE)
        raise InputError(f"{where}: price_unit is {settings.price_unit!r}; it is cpm (a thousand) or unit (one)")
    return settings


def _cast(name: str, kind: str, raw: object, source: str) -> int | float | str:
    try:
        if isinstance(raw, bool):
            raise ValueError
        if kind == "int":
            return int(str(raw))
        if kind == "float":
            return float(str(raw))
    except ValueError:
        raise InputError(f"{source}: {name} is {raw!r}; it takes a number") from None
    return str(raw)
