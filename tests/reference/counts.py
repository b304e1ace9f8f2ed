"""Tables that count events by their own ts: outcomes, no_bids, rate_limits, latency and notices."""

from collections import Counter
from decimal import Decimal
from math import ceil

from .calls import Model, Notice, is_sent
from .lines import Row
from .orders import trigger
from .selection import Selection, ordered

CODES = (
    ("Unknown Error", "technical"),
    ("Technical Error", "technical"),
    ("Invalid Request", "request"),
    ("Known Web Crawler", "traffic"),
    ("Suspected Non-Human Traffic", "traffic"),
    ("Cloud, Data Center, or Proxy IP", "traffic"),
    ("Unsupported Device", "property"),
    ("Blocked Publisher or Site", "property"),
    ("Unmatched User", "property"),
    ("Daily User Cap Met", "cap"),
    ("Daily Domain Cap Met", "cap"),
    ("Ads.txt Authorization Unavailable", "authorization"),
    ("Ads.txt Authorization Violation", "authorization"),
    ("Ads.cert Authentication Unavailable", "authorization"),
    ("Ads.cert Authentication Violation", "authorization"),
    ("Insufficient Auction Time", "time"),
    ("Incomplete SupplyChain", "supply_chain"),
    ("Blocked SupplyChain Node", "supply_chain"),
)


def _attempts(model: Model, selection: Selection) -> list[Row]:
    return [row for row in model.facts.attempts if selection.takes(row["ts"], row["partner"])]


def outcomes(model: Model, selection: Selection) -> list[Row]:
    counts = Counter((row["partner"], row["outcome"]) for row in _attempts(model, selection))
    rows = [{"partner": partner, "outcome": outcome, "attempts": count} for (partner, outcome), count in counts.items()]
    return ordered(rows, "partner", "outcome")


def nbr_class(reason: str) -> tuple[str | None, str]:
    """(name, class) of a no-bid reason; what is no code has no name of its own here."""
    if not reason.isdigit():
        return None, {"no_reason": "none"}.get(reason, reason)
    code = int(reason)
    if code < len(CODES):
        return CODES[code]
    return ("Reserved", "reserved") if code < 500 else ("Exchange-specific", "exchange")


def no_bids(model: Model, selection: Selection) -> list[Row]:
    counts = Counter(
        (row["partner"], row["nbr"] or "no_reason") for row in _attempts(model, selection) if row["outcome"] == "no_bid"
    )
    rows: list[Row] = []
    for (partner, reason), count in counts.items():
        name, kind = nbr_class(reason)
        rows.append({"partner": partner, "reason": reason, "name": name, "class": kind, "no_bids": count})
    return ordered(rows, "partner", "reason")


def rate_limits(model: Model, selection: Selection) -> list[Row]:
    requests: Counter[tuple[str, str | None, str | None]] = Counter()
    limited: Counter[tuple[str, str | None, str | None]] = Counter()
    untold: set[tuple[str, str | None, str | None]] = set()
    for row in _attempts(model, selection):
        if is_sent(row):
            requests["exchange", row["partner"], None] += 1
            limited["exchange", row["partner"], None] += row["outcome"] == "rate_limited"
    for call in model.calls:
        if call.hidden and selection.takes(call.start, call.partner):
            untold.add(("exchange", call.partner, None))
    for row in model.facts.postbacks:
        if selection.takes(row["ts"], row["key_id"]):
            requests["postback", row["key_id"], row["endpoint"]] += 1
            limited["postback", row["key_id"], row["endpoint"]] += row["http_status"] == 429
            if trigger(row) == "answered_unknown":
                untold.add(("postback", row["key_id"], row["endpoint"]))
    rows = [
        {
            "stream": stream,
            "partner": partner,
            "endpoint": endpoint,
            "requests": count,
            "limited": None if key in untold else limited[key],
            "rate": None if key in untold else limited[key] / count,
        }
        for key, count in requests.items()
        for stream, partner, endpoint in [key]
    ]
    return ordered(rows, "stream", "partner", "endpoint")


def nearest_rank(values: list[Decimal], percent: int) -> float:
    return float(sorted(values)[ceil(len(values) * percent / 100) - 1])


def latency(model: Model, selection: Selection) -> list[Row]:
    """Exact quantiles, so the error bound is 0."""
    known: dict[str, list[Decimal]] = {}
    for row in _attempts(model, selection):
        if is_sent(row) and row["latency_ms"] is not None:
            known.setdefault(row["partner"], []).append(row["latency_ms"])
    rows = [
        {
            "partner": partner,
            "attempts": len(values),
            **{f"p{percent}_ms": nearest_rank(values, percent) for percent in (50, 95, 99)},
            "error_bound": 0.0,
        }
        for partner, values in known.items()
    ]
    return ordered(rows, "partner")


def notices(model: Model, selection: Selection) -> list[Row]:
    """Deliveries and duplicates by their own ts, unique notices and their revenue at the first delivery."""
    groups: dict[tuple[str, str | None, str | None], list[Notice]] = {}
    for notice in model.notices:
        if selection.takes(notice.ts, notice.partner):
            groups.setdefault((notice.kind, notice.partner, notice.currency), []).append(notice)
    rows = []
    for (kind, partner, currency), group in groups.items():
        unique = [notice for notice in group if notice.first]
        revenue = None
        if kind in ("win", "billing") and currency is not None:
            revenue = float(sum((notice.price or Decimal(0) for notice in unique), Decimal(0)) / 1000)
        rows.append(
            {
                "kind": kind,
                "partner": partner,
                "currency": currency,
                "unique": len(unique),
                "deliveries": len(group),
                "duplicates": len(group) - len(unique),
                "orphans": sum(notice.call is None for notice in unique),
                "revenue": revenue,
                "without_price": sum(notice.price is None for notice in unique),
            }
        )
    return ordered(rows, "kind", "partner", "currency")
