"""Settings in force for a reader: what the snapshot was made with, under the warehouse's file and the environment.

A setting that stored results depend on stays as the snapshot has it, until `retrylens rebuild`.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path

from dashboard.errors import UserError

FILE = "retrylens.toml"
CHOICES = {"price_unit": ("cpm", "unit")}
ADDED = {"burst_min_requests": "10", "burst_share": "0.2"}
"""Settings of readers alone that snapshots of older loads do not tell yet, with their defaults."""

TEXTS = ("price_unit", "zone", "breaker_partners")


def in_force(
    warehouse: Path, stored: Mapping[str, str], fixed: tuple[str, ...], environ: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """`stored` settings, with those outside `fixed` as the file and then the environment (RETRYLENS_<NAME>) have them.

    Raises UserError that names the file or variable, the setting and what it takes.
    """
    stored = ADDED | dict(stored)
    settings = dict(stored)
    for source, name, value in _given(warehouse, stored, environ):
        if name not in stored:
            raise UserError(f"{source}: unknown setting {name!r}; known: {', '.join(sorted(stored))}")
        if name in CHOICES and value not in CHOICES[name]:
            raise UserError(f"{source}: {name} is {value!r}; it is {' or '.join(CHOICES[name])}")
        if name not in TEXTS and not _is_number(value):
            raise UserError(f"{source}: {name} is {value!r}; it takes a number")
        if name not in fixed:
            settings[name] = value
    return settings


def _given(warehouse: Path, stored: Mapping[str, str], environ: Mapping[str, str]) -> list[tuple[str, str, str]]:
    path = warehouse / FILE
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not valid TOML ({error}); correct the file") from None
    found = [
        (str(path), name, json.dumps(value) if isinstance(value, dict) else str(value)) for name, value in told.items()
    ]
    for name in stored:
        variable = f"RETRYLENS_{name.upper()}"
        if variable in environ:
            found.append((variable, name, environ[variable]))
    return found


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.lower() not in ("nan", "inf", "-inf", "infinity", "-infinity")
