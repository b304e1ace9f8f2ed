"""Reading a policy file: every mistake is one line with the file, its line, what is wrong and the choices."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from dashboard.errors import UserError
from dashboard.escape import plain
from dashboard.whatif.located import Located, NotJson
from dashboard.whatif.located import parse as parse_json
from dashboard.whatif.policy import TRIGGERS, VERSION, Breaker, Policy, Rules

LARGEST = 1_000_000
"""Bytes of a policy file."""

LONGEST_S = 86_400
"""Seconds of a breaker's window and of its open time."""

RULES = ("triggers", "max_retries", "budget_guard", "breaker")
BREAKER = ("window_s", "min_attempts", "failure_share", "open_s")
TOP = ("version", *RULES, "partners", "evidence")
OWN = (*RULES, "evidence")


def read(path: Path) -> Policy:
    """The policy in a file, or on standard input where `path` is `-`. Raises UserError."""
    if str(path) == "-":
        return parse(sys.stdin.buffer.read(LARGEST + 1), "standard input")
    try:
        with path.open("rb") as file:
            return parse(file.read(LARGEST + 1), str(path))
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); name a policy file with --policy") from None


def parse(content: bytes | str, name: str) -> Policy:
    """The policy in a file's content; `name` is what messages call the file. Raises UserError."""
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    if len(data) > LARGEST:
        raise UserError(f"{name}: larger than {LARGEST:,} bytes; a policy is a small JSON object")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UserError(f"{name}, line {line}: not UTF-8 text; a policy is a JSON object") from None
    if not text.strip():
        raise UserError(f'{name}: empty; a policy is a JSON object such as {{"version": 1, "max_retries": 2}}')
    try:
        return _Checked(name).policy(parse_json(text))
    except NotJson as error:
        raise UserError(f"{name}, line {error.line}, column {error.column}: not JSON: {error.what}") from None


class _Checked:
    """Values of one file as settings."""

    def __init__(self, name: str) -> None:
        self.name = name

    def fail(self, line: int, what: str) -> UserError:
        return UserError(f"{self.name}, line {line}: {what}")

    def policy(self, root: Located) -> Policy:
        members = self.members(root, "a policy", TOP)
        version = members.get("version")
        if version is not None and (version.kind != "number" or version.value != VERSION):
            raise self.fail(version.line, f"version is {_told(version)}; it takes {VERSION}")
        default = self.rules(members, Rules(), "")
        partners: dict[str, Rules] = {}
        if "partners" in members:
            for partner, line, own in self.object(members["partners"], "partners", None):
                inside = f" of partner {plain(partner)!r}"
                if any("\ud800" <= letter <= "\udfff" for letter in partner):
                    raise self.fail(line, f"the name{inside} is no text that a log can hold")
                partners[partner] = self.rules(self.members(own, f"the value{inside}", OWN), default, inside)
        return Policy(default, partners)

    def rules(self, members: dict[str, Located], base: Rules, inside: str) -> Rules:
        readers: dict[str, Callable[[Located, str], Any]] = {
            "triggers": self.triggers,
            "max_retries": self.max_retries,
            "budget_guard": self.guard,
            "breaker": self.breaker,
        }
        return replace(
            base,
            **{name: reads(members[name], f"{name}{inside}") for name, reads in readers.items() if name in members},
        )

    def triggers(self, node: Located, what: str) -> frozenset[str] | None:
        if node.kind == "null":
            return None
        choices = f"choose from {', '.join(TRIGGERS)}"
        if node.kind != "array":
            raise self.fail(node.line, f"{what} is {_told(node)}; it takes a list of triggers: {choices}")
        for item in node.value:
            if item.kind != "text" or item.value not in TRIGGERS:
                raise self.fail(item.line, f"unknown trigger {_told(item)} in {what}; {choices}")
        return frozenset(item.value for item in node.value)

    def max_retries(self, node: Located, what: str) -> int | None:
        return None if node.kind == "null" else self.whole(node, what, 0)

    def guard(self, node: Located, what: str) -> bool:
        if node.kind != "boolean":
            raise self.fail(node.line, f"{what} is {_told(node)}; it takes true or false")
        return bool(node.value)

    def breaker(self, node: Located, what: str) -> Breaker | None:
        if node.kind == "null":
            return None
        members = self.members(node, what, BREAKER, ", or null")
        limits = {"window_s": LONGEST_S, "open_s": LONGEST_S, "failure_share": 1}
        given: dict[str, Any] = {}
        for name, value in members.items():
            told = f"{name} of {what}"
            given[name] = self.whole(value, told, 1) if name not in limits else self.above(value, told, limits[name])
        return Breaker(**given)

    def whole(self, node: Located, what: str, least: int) -> int:
        if node.kind != "number" or not isinstance(node.value, int) or not least <= node.value <= sys.maxsize:
            raise self.fail(node.line, f"{what} is {_told(node)}; it takes a whole number from {least} up")
        return node.value

    def above(self, node: Located, what: str, most: int) -> float:
        value = node.value
        if node.kind != "number" or not math.isfinite(value) or not 1e-6 <= value <= most:
            raise self.fail(node.line, f"{what} is {_told(node)}; it takes a number above 0 and up to {most}")
        return float(value) if isinstance(value, float) else int(value)

    def members(self, node: Located, what: str, keys: tuple[str, ...], also: str = "") -> dict[str, Located]:
        """The values of an object by key. Raises UserError on a key that is unknown or stands twice."""
        return {key: value for key, _, value in self.object(node, what, keys, also)}

    def object(
        self, node: Located, what: str, keys: tuple[str, ...] | None, also: str = ""
    ) -> list[tuple[str, int, Located]]:
        if node.kind != "object":
            listed = "partner names as its keys" if keys is None else f"the keys {', '.join(keys)}"
            raise self.fail(node.line, f"{what} is {_told(node)}; it takes an object with {listed}{also}")
        seen: set[str] = set()
        for key, line, _ in node.value:
            if keys is not None and key not in keys:
                raise self.fail(line, f"unknown key {plain(key)!r} in {what}; choose from {', '.join(keys)}")
            if key in seen:
                raise self.fail(line, f"the key {plain(key)!r} stands twice in {what}; leave one out")
            seen.add(key)
        members: list[tuple[str, int, Located]] = node.value
        return members


def _told(node: Located) -> str:
    """A value as a message shows it."""
    if node.kind in ("object", "array"):
        return f"an {node.kind}"
    if node.kind == "text":
        return repr(plain(node.value))
    return {True: "true", False: "false", None: "null"}[node.value] if node.kind != "number" else str(node.value)
