"""Settings of a warehouse: defaults < `retrylens.toml` in the warehouse < environment (RETRYLENS_<NAME>)."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path

from ingest.errors import InputError

FILE = "retrylens.toml"

#: Settings that change stored models: a warehouse built under other values needs `rebuild`.
STORED = (
    "reserve_ms",
    "call_span_s",
    "notice_days",
    "breaker_window_s",
    "breaker_min_attempts",
    "breaker_failure_share",
    "breaker_open_s",
    "breaker_partners",
)


@dataclass(frozen=True)
class Breaker:
    """The reference breaker of a partner: opens on `min_attempts` in `window_us` of which `failure_share` failed."""

    window_s: float = 30
    min_attempts: int = 20
    failure_share: float = 0.5
    open_s: float = 30

    @property
    def window_us(self) -> int:
        """Length of the window in microseconds."""
        return round(self.window_s * 1_000_000)

    @property
    def open_us(self) -> int:
        """How long it stays open before its probe, in microseconds."""
        return round(self.open_s * 1_000_000)


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
    #: A minute belongs to a burst of 429 with so many requests, of which at least this share was refused.
    burst_min_requests: int = 10
    burst_share: float = 0.2
    snapshot_grace_s: int = 900
    #: Whole UTC days before the newest event whose events are kept; 0 keeps all.
    keep_days: int = 0
    #: A compressed file is refused that decodes to more than so many times its size, or to more than so many bytes.
    max_ratio: int = 300
    max_decoded_bytes: int = 256 << 30
    #: A file with a longer line is refused; a line is held in memory whole.
    max_line_bytes: int = 64 << 20
    breaker_window_s: float = 30
    breaker_min_attempts: int = 20
    breaker_failure_share: float = 0.5
    breaker_open_s: float = 30
    #: Settings of single partners, as a JSON object: partner -> names of `Breaker` -> value.
    breaker_partners: str = "{}"

    def breaker(self, partner: str) -> Breaker:
        """The reference breaker of `partner`."""
        everyone = Breaker(
            self.breaker_window_s, self.breaker_min_attempts, self.breaker_failure_share, self.breaker_open_s
        )
        return replace(everyone, **json.loads(self.breaker_partners).get(partner, {}))

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
        if name == "breaker_partners":
            values[name] = _partners(raw, sources[name])
        else:
            values[name] = _cast(name, str(known[name]), raw, sources[name])
    settings = Settings(**values)  # type: ignore[arg-type]
    if settings.price_unit not in ("cpm", "unit"):
        where = sources.get("price_unit", FILE)
        raise InputError(f"{where}: price_unit is {settings.price_unit!r}; it is cpm (a thousand) or unit (one)")
    if settings.keep_days < 0:
        where = sources.get("keep_days", FILE)
        raise InputError(f"{where}: keep_days is {settings.keep_days}; it is a number of days, or 0 to keep all")
    for name in ("max_ratio", "max_decoded_bytes", "max_line_bytes"):
        if getattr(settings, name) < 1:
            raise InputError(f"{sources.get(name, FILE)}: {name} is {getattr(settings, name)}; it takes 1 or more")
    for name in ("breaker_window_s", "breaker_min_attempts", "breaker_failure_share", "breaker_open_s"):
        _breaker_fits(name.removeprefix("breaker_"), getattr(settings, name), sources.get(name, FILE), name)
    return settings


def _partners(raw: object, source: str) -> str:
    """The table `breaker_partners`, checked, as JSON with its keys in order."""
    try:
        table = json.loads(raw) if isinstance(raw, str) else raw
    except ValueError:
        table = None
    if not isinstance(table, dict) or not all(isinstance(own, dict) for own in table.values()):
        raise InputError(
            f'{source}: breaker_partners takes a table for each partner, as [breaker_partners."dsp-a"] window_s = 10'
        )
    kinds = {f.name: str(f.type) for f in fields(Breaker)}
    for partner, own in table.items():
        for name, value in own.items():
            told = f"breaker_partners.{partner}.{name}"
            if name not in kinds:
                raise InputError(f"{source}: unknown setting {told}; known: {', '.join(kinds)}")
            own[name] = _cast(told, kinds[name], value, source)
            _breaker_fits(name, own[name], source, told)
    return json.dumps(table, sort_keys=True, ensure_ascii=False)


def _breaker_fits(name: str, value: float, source: str, told: str) -> None:
    least, most = (0.001, 1) if name == "failure_share" else (0.001, 86_400_000)
    if not least <= value <= most:
        raise InputError(f"{source}: {told} is {value}; it takes a number from {least} to {most}")


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
