"""From the lines of native logs to accepted facts: what each key holds, what is mended, rejected or repeated."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from .outcomes import classify
from .values import (
    Cast,
    absent,
    parse_json,
    to_duration,
    to_flag,
    to_instant,
    to_integer,
    to_loss_reason,
    to_money,
    to_retry_after,
    to_text,
)

Row = dict[str, Any]
DAY = 86_400_000_000
NOTICES = ("win", "billing", "loss", "impression", "click")


def _keys(**groups: tuple[Cast, str]) -> dict[str, Cast]:
    return {key: cast for cast, names in groups.values() for key in names.split()}


_AUCTION = _keys(
    text=(to_text, "source placement winner currency"),
    integer=(to_integer, "imps http_status"),
    duration=(to_duration, "tmax_ms latency_ms"),
    money=(to_money, "price"),
)
_ATTEMPT = _keys(
    text=(to_text, "request_id currency reject_reason source placement region node event_id"),
    integer=(to_integer, "attempt http_status bids attempt_count"),
    flag=(to_flag, "last_only"),
    duration=(to_duration, "tmax_ms budget_ms timeout_ms elapsed_ms latency_ms backoff_ms"),
    money=(to_money, "price"),
    wait=(to_retry_after, "retry_after"),
)
_NOTICE = _keys(
    text=(to_text, "imp_id partner currency click_id event_id"),
    integer=(to_integer, "http_status attempt"),
    money=(to_money, "price"),
    reason=(to_loss_reason, "loss_reason"),
)
_BREAKER = _keys(text=(to_text, "state_from node reason"))
_POSTBACK = _keys(
    text=(
        to_text,
        "tenant endpoint method event_type external_order_id error_code conversion_id idempotency_key body_hash "
        "signature_hash currency client_hash click_id event_id",
    ),
    integer=(to_integer, "limit window_s"),
    flag=(to_flag, "duplicate idempotent_replay accepted"),
    duration=(to_duration, "latency_ms"),
    money=(to_money, "amount"),
    wait=(to_retry_after, "retry_after"),
    instant=(to_instant, "x_timestamp"),
)
REQUIRED: dict[str, dict[str, Cast]] = {
    "auction": {"ts": to_instant, "auction_id": to_text},
    "attempt": {"ts": to_instant, "auction_id": to_text, "partner": to_text},
    **{kind: {"ts": to_instant, "auction_id": to_text} for kind in NOTICES},
    "breaker": {"ts": to_instant, "partner": to_text, "state_to": to_text},
    "postback": {"ts": to_instant, "key_id": to_text, "http_status": to_integer},
}
HIDEABLE = ("key_id", "http_status")
OPTIONAL: dict[str, dict[str, Cast]] = {
    "auction": _AUCTION,
    "attempt": _ATTEMPT,
    **dict.fromkeys(NOTICES, _NOTICE),
    "breaker": _BREAKER,
    "postback": _POSTBACK,
}


@dataclass
class Facts:
    """What a load leaves: canonical rows by table, and what became of every other line.

    `rejects` are (file index, line number from 1); `mended` counts facts by input key; a file in `refused` had
    rejects and no fact, one in `unchanged` equals an earlier one: neither adds to any count.
    """

    attempts: list[Row] = field(default_factory=list)
    auctions: list[Row] = field(default_factory=list)
    notices: list[Row] = field(default_factory=list)
    breaker_events: list[Row] = field(default_factory=list)
    postbacks: list[Row] = field(default_factory=list)
    rejects: list[tuple[int, int]] = field(default_factory=list)
    mended: Counter[str] = field(default_factory=Counter)
    lines: int = 0
    facts: int = 0
    blank: int = 0
    repeated: int = 0
    refused: list[int] = field(default_factory=list)
    unchanged: list[int] = field(default_factory=list)

    def table(self, event: str) -> list[Row]:
        """The list that rows of this `event` go to."""
        tables = {
            "attempt": self.attempts,
            "auction": self.auctions,
            "breaker": self.breaker_events,
            "postback": self.postbacks,
        }
        return tables.get(event, self.notices)


def read_event(event: Any) -> tuple[Row, list[str]]:
    """The canonical row of a parsed line and the keys that were mended; ValueError rejects the line.

    A line with `shown` is of the foreign format that may hide a part: its postbacks may lack a key and a status.
    """
    if not isinstance(event, dict) or type(event.get("event")) is not str or event["event"] not in REQUIRED:
        raise ValueError("no known event")
    kind = event["event"]
    row: Row = {"event": kind}
    for key, cast in REQUIRED[kind].items():
        if absent(event.get(key)):
            if event.get("shown") is not True or key not in HIDEABLE:
                raise ValueError(f"{key} is missing")
            row[key] = None
        else:
            row[key] = cast(event[key])
    if kind == "postback" and row["http_status"] == 0:
        raise ValueError("http_status is missing")
    mended = []
    for key, cast in OPTIONAL[kind].items():
        row[key] = None
        if not absent(event.get(key)):
            try:
                row[key] = cast(event[key])
            except ValueError:
                mended.append(key)
    if kind == "attempt":
        _finish_attempt(row, event)
    return row, mended


def _finish_attempt(row: Row, event: Row) -> None:
    row["http_status"] = row["http_status"] or None
    row["breaker"] = None if absent(event.get("breaker")) else event["breaker"]
    not_sent = event.get("not_sent")
    row["not_sent"] = None if absent(not_sent) or not_sent is False else not_sent
    row["error_type"] = None if absent(event.get("error_type")) else to_text(event["error_type"])
    classify(row, event.get("body"), event.get("nbr"))


def load(files: list[bytes]) -> Facts:
    """The facts of NDJSON files loaded in this order, each given by its content."""
    facts = Facts()
    seen: dict[tuple[str, str], list[int]] = {}
    for number, content in enumerate(files):
        if content and content in files[:number] and files.index(content) not in facts.refused:
            facts.unchanged.append(number)
        else:
            _load_file(facts, seen, number, content)
    return facts


def _lines(content: bytes) -> list[str]:
    """The lines of a file without LF or CRLF and without a byte order mark; an unfinished last line waits."""
    pieces = content.split(b"\n")
    last = pieces.pop()
    lines = [piece.removesuffix(b"\r").removeprefix(b"\xef\xbb\xbf").decode(errors="replace") for piece in pieces]
    whole = last.removeprefix(b"\xef\xbb\xbf").decode(errors="replace")
    try:
        parse_json(whole)
    except ValueError:
        return lines
    return [*lines, whole]


def _load_file(facts: Facts, seen: dict[tuple[str, str], list[int]], number: int, content: bytes) -> None:
    lines = _lines(content)
    kept: list[tuple[Row, list[str]]] = []
    rejects: list[tuple[int, int]] = []
    blank = repeated = 0
    for position, line in enumerate(lines, start=1):
        if line.strip(" \t\r") == "":
            blank += 1
            continue
        try:
            row, mended = read_event(parse_json(line))
        except ValueError:
            rejects.append((number, position))
            continue
        if _is_repeated(seen, row):
            repeated += 1
        else:
            kept.append((row, mended))
    if rejects and not kept:
        facts.refused.append(number)
        return
    facts.lines += len(lines)
    facts.facts += len(kept)
    facts.blank += blank
    facts.repeated += repeated
    facts.rejects += rejects
    for row, mended in kept:
        facts.table(row["event"]).append(row)
        facts.mended.update(mended)


def _is_repeated(seen: dict[tuple[str, str], list[int]], row: Row) -> bool:
    """Whether a fact with this `event_id` was kept within 7 days; remembers the row when not."""
    if row.get("event_id") is None:
        return False
    earlier = seen.setdefault((row["event"], row["event_id"]), [])
    if any(abs(row["ts"] - ts) <= 7 * DAY for ts in earlier):
        return True
    earlier.append(row["ts"])
    return False
