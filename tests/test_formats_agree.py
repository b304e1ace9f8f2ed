"""Damaged lines of every format: the engine's quick way and the definition make the same of each."""

from __future__ import annotations

import random

import pytest

from ingest.formats.registry import list_formats, native_format
from tests.foreign_log import guide_sample, read

pytestmark = pytest.mark.slow

LOGS, LINES = 8, 60
#: What stands in logs where it should not.
ODD = [
    *[
        "",
        "-",
        '"',
        "\\",
        "\\x22",
        ",",
        " ",
        "\t",
        "{",
        "}",
        "[",
        "null",
        "true",
        "NaN",
        "1e400",
        "-0",
        "0",
        "1.5",
        "9" * 25,
    ],
    *["é", "\u00a0", "\u202e", "\x00", "%FF", "%41", "a=b", '" c="', "=", "2026-02-30T00:00:00Z", "-1"],
]


def damaged(line: str, chance: random.Random) -> str:
    """The line with up to three cuts, doublings or insertions."""
    for _ in range(chance.randrange(4)):
        at, end = sorted(chance.randrange(len(line) + 1) for _ in range(2))
        end = min(end, at + chance.choice([1, 3, 12]))
        line = line[:at] + chance.choice([*ODD, line[at:end] * 2]) + line[end:]
    return line.replace("\n", " ").replace("\r", " ")


@pytest.mark.parametrize("name", [fmt.name for fmt in list_formats() if fmt is not native_format()])
def test_engine_and_definition_agree_on_damaged_lines(name: str) -> None:
    lines = guide_sample(name).splitlines()
    header = [lines.pop(0)] if name == "appsflyer" else []
    for seed in range(LOGS):
        chance = random.Random(f"{name} {seed}")
        log = [*header, *(damaged(chance.choice(lines), chance) for _ in range(LINES))]
        read(name, "\n".join(log) + "\n", "Europe/Kyiv")
