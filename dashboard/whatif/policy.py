"""A retry policy: what may be repeated, how often, under which time budget and which breaker, also by partner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from dashboard.text import json_text

TRIGGERS = (
    "connect_error",
    "tls_error",
    "timeout",
    "cancelled",
    "reset",
    "rate_limited",
    "server_error",
    "client_error",
    "unexpected_status",
    "unknown_error",
    "invalid_response",
    "bid",
    "no_bid",
    "answered_unknown",
)
"""Every outcome of a sent attempt: what a retry may repeat."""

VERSION = 1


@dataclass(frozen=True)
class Breaker:
    """The reference breaker: opens on `min_attempts` within `window_s` seconds of which `failure_share` failed."""

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
class Rules:
    """What holds for one partner. `triggers` None: all may be repeated; `max_retries` None: any number.

    With `budget_guard` a retry with less time left than its timeout is not sent.
    """

    triggers: frozenset[str] | None = None
    max_retries: int | None = None
    budget_guard: bool = False
    breaker: Breaker | None = None

    def fields(self) -> dict[str, Any]:
        """The rules as a policy file has them."""
        named: dict[str, Any] = {}
        if self.triggers is not None:
            named["triggers"] = [trigger for trigger in TRIGGERS if trigger in self.triggers]
        if self.max_retries is not None:
            named["max_retries"] = self.max_retries
        return named | {
            "budget_guard": self.budget_guard,
            "breaker": None if self.breaker is None else asdict(self.breaker),
        }


@dataclass(frozen=True)
class Policy:
    """Rules for everyone, and whole rules of their own for some partners."""

    default: Rules = Rules()
    partners: Mapping[str, Rules] = field(default_factory=dict)

    def of(self, partner: str) -> Rules:
        """The rules of a partner."""
        return self.partners.get(partner, self.default)

    @property
    def breaks(self) -> bool:
        """Whether any partner has a breaker."""
        return any(rules.breaker is not None for rules in (self.default, *self.partners.values()))

    def fields(self) -> dict[str, Any]:
        """The policy as its file has it: a partner names what differs from the default."""
        told = {"version": VERSION} | self.default.fields()
        if self.partners:
            told["partners"] = {name: self._own(self.partners[name]) for name in sorted(self.partners)}
        return told

    def _own(self, rules: Rules) -> dict[str, Any]:
        everyone = self.default.fields()
        own = {name: value for name, value in rules.fields().items() if everyone.get(name, ...) != value}
        for name in ("triggers", "max_retries"):
            if getattr(rules, name) is None and name in everyone:
                own[name] = None
        return own


ANYTHING = Policy()
"""The policy that changes nothing."""


def policy_text(fields: Mapping[str, Any]) -> str:
    """A policy as the text of its file: the same bytes for the same policy, an entry of an object a line."""
    return _object(fields, "") + "\n"


def _object(fields: Mapping[str, Any], indent: str) -> str:
    deeper = f"{indent}  "
    lines = [f"{deeper}{json_text(name)}: {_value(value, deeper)}" for name, value in fields.items()]
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


def _value(value: Any, indent: str) -> str:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        rows = ",\n".join(f"{indent}  {json_text(item)}" for item in value)
        return f"[\n{rows}\n{indent}]"
    if isinstance(value, dict) and any(isinstance(part, dict | list) for part in value.values()):
        return _object(value, indent)
    return json_text(value)
