"""What needs someone's attention, worst first: retries to switch off, open breakers, throttled partners and keys."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any

from dashboard.charts import style
from dashboard.charts.breakers import duration
from dashboard.texts import tell

Row = Mapping[str, Any]

WORST = ("disable", "never")
THROTTLED_SHARE = 0.01
"""From this share of requests answered 429 on, a partner or key is called throttled."""

SENDER_ADVICE = ("rate_limited", "client_error", "server_error", "stale_timestamp", "replay")
"""Triggers of postback retries for which the sender gets advice of its own."""

THROTTLED_LEAST = 10
"""Fewer refusals than this are no finding, whatever their share."""


@dataclass(frozen=True)
class Finding:
    """One thing to act on. `text` names a sentence under `finding` in the texts, `values` go into it."""

    kind: str
    text: str
    page: str
    cost: float
    values: Mapping[str, object]
    partner: str = ""
    remedy: str = ""
    """The sentence under `finding.remedy_` that says who acts and how; the kind's own where it is empty."""


def findings(
    flags: Sequence[Row],
    breakers: Sequence[Row],
    limits: Sequence[Row],
    newest_us: int | None,
    titles: Mapping[str, str],
    days: object,
    range_days: float = 1,
) -> list[Finding]:
    """All findings: open breakers first (they act now), then the others by what they cost: requests a day in vain.

    `newest_us` is the newest event of all data, to which an open breaker lasts whatever the range. `days` up to it are
    those on which retries were judged; `limits` are of a range of `range_days`.
    """
    others = [*bad_retries(flags, titles, days), *throttled(limits, range_days)]
    return [*open_breakers(breakers, newest_us), *sorted(others, key=lambda finding: -finding.cost)]


def bad_retries(flags: Sequence[Row], titles: Mapping[str, str], days: object) -> list[Finding]:
    """Flags `disable` and `never`; a roll-up is told only where none of its parts is."""
    bad = [row for row in flags if row["verdict"] in WORST]
    parts = [row for row in bad if "*" not in (row["partner"], row["trigger"])]
    rolls = [row for row in bad if row not in parts and not any(covers(row, part) for part in parts)]
    rolls = [row for row in rolls if not any(other is not row and covers(other, row) for other in rolls)]
    triggers = {**titles, "*": tell("finding.any_trigger")}
    found = []
    for row in [*parts, *rolls]:
        saved = row["ms_saved_per_day"]
        found.append(
            Finding(
                kind=row["verdict"],
                text=sentence(row),
                page="retries",
                cost=float(row["retries_per_day"] or 0),
                values={
                    "partner": row["partner"],
                    "trigger": triggers.get(row["trigger"], row["trigger"]),
                    "days": days,
                    "bids": row["bids_at_risk"],
                    "successes": row["successes"],
                    "retries": row["retries"],
                    "bound": style.percent(row["upper_bound"]),
                    "per_day": a_day(row["retries_per_day"]),
                    "pace": pace(row),
                    "saved": style.unknown() if saved is None else duration(float(saved) / 1000),
                },
                partner="" if row["partner"] in ("*", None) else row["partner"],
                remedy=sender_advice(row),
            )
        )
    return sorted(found, key=lambda finding: -finding.cost)


def sentence(row: Row) -> str:
    """The sentence for a flag: of a partner or of all, on the exchange's calls or on a key's postbacks."""
    side = "_key" if row["stream"] == "postback" else ""
    return f"{row['verdict']}{side}{'_all' if row['partner'] == '*' else ''}"


def sender_advice(row: Row) -> str:
    """The remedy for retried postbacks: their sender acts, not the exchange. Nothing for the exchange's calls."""
    if row["stream"] != "postback":
        return ""
    return f"sender_{row['trigger']}" if row["trigger"] in SENDER_ADVICE else "sender"


def pace(row: Row) -> str:
    """How many retries a day, and how long one takes in the mean: at least so long, for untold latencies add none."""
    per_day, took = a_day(row["retries_per_day"]), style.ratio(row["ms_saved_per_day"], row["retries_per_day"])
    if took is None:
        return tell("finding.pace", per_day=per_day)
    return tell("finding.pace_each", per_day=per_day, took=duration(took / 1000))


def a_day(rate: float | None) -> str:
    """A number a day; below ten with two digits, for rare is not never."""
    return style.number(rate, ".2g") if rate is not None and 0 < rate < 9.95 else style.count(rate)


def covers(wide: Row, narrow: Row) -> bool:
    """Whether a roll-up takes in another row of the same stream."""
    return wide["stream"] == narrow["stream"] and all(
        wide[column] in ("*", narrow[column]) for column in ("partner", "trigger")
    )


def open_breakers(breakers: Sequence[Row], newest_us: int | None) -> list[Finding]:
    """Partners with a breaker that is open at the end of the data, on how many of their nodes and since when."""
    nodes: dict[str, set[object]] = {}
    opened: dict[str, list[Row]] = {}
    for row in breakers:
        nodes.setdefault(row["partner"], set()).add(row["node"])
        if row["to"] is None and row["state"] == "open":
            opened.setdefault(row["partner"], []).append(row)
    found = []
    for partner, rows in opened.items():
        begin = min(row["from"] for row in rows)
        lasted = (newest_us or 0) / 1e6 - seconds_of(begin)
        found.append(
            Finding(
                kind="open",
                text="open" if len(nodes[partner]) > 1 else "open_one",
                page="breakers",
                cost=lasted,
                values={
                    "partner": partner,
                    "open": len(rows),
                    "nodes": len(nodes[partner]),
                    "lasted": duration(max(lasted, 0)),
                    "blocked": sum(row["blocked"] or 0 for row in rows),
                },
                partner=partner,
            )
        )
    return sorted(found, key=lambda finding: -finding.cost)


def throttled(limits: Sequence[Row], days: float = 1) -> list[Finding]:
    """Partners and keys of whose requests in so many days a noticeable share was answered 429.

    A range of less than a day is not stretched to one, as it is not for retries.
    """
    found = [
        Finding(
            kind="throttled",
            text="throttled" if row["stream"] == "exchange" else "throttled_key",
            page="limits",
            cost=row["limited"] / max(days, 1),
            values={
                "partner": row["partner"],
                "endpoint": row["endpoint"] or "",
                "limited": row["limited"],
                "requests": row["requests"],
                "rate": style.percent(row["rate"]),
                "per_day": a_day(row["limited"] / max(days, 1)),
            },
            partner=row["partner"] or "",
        )
        for row in limits
        if (row["limited"] or 0) >= THROTTLED_LEAST and (row["rate"] or 0) >= THROTTLED_SHARE
    ]
    return sorted(found, key=lambda finding: -finding.cost)


def seconds_of(moment: Any) -> float:
    """Epoch seconds of a UTC datetime, naive or aware."""
    return float((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
