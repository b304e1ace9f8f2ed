"""The outcome of an attempt: the classes of the metric dictionary, first match wins, bodies included."""

from decimal import Decimal
from typing import Any

from .values import Bare, absent, parse_json, to_money, to_text

NOT_SENT = frozenset({"not_sent_breaker", "not_sent_limit"})
ANSWERED = frozenset({"bid", "no_bid", "answered_unknown"})
FAILURE = frozenset(
    {
        "connect_error", "tls_error", "timeout", "reset", "rate_limited", "server_error", "client_error",
        "unexpected_status", "unknown_error", "invalid_response",
    }
)  # fmt: skip

WORDS = {
    "connection_refused": "connect_error", "dns": "connect_error", "connect_timeout": "connect_error",
    "unreachable": "connect_error", "tls": "tls_error", "handshake": "tls_error", "timeout": "timeout",
    "deadline": "timeout", "reset": "reset", "eof": "reset", "invalid_response": "invalid_response",
    "cancelled": "cancelled",
}  # fmt: skip
PHRASES = {
    "connection refused": "connect_error", "no such host": "connect_error", "x509": "tls_error",
    "sslhandshake": "tls_error", "deadline exceeded": "timeout", "read timed out": "timeout",
    "reset by peer": "reset", "econnreset": "reset",
}  # fmt: skip


def rank(outcome: str) -> int:
    """How good an outcome is; a retry succeeds when its rank is higher than its trigger's."""
    return {"bid": 2, "no_bid": 1, "answered_unknown": 1}.get(outcome, 0)


def error_class(text: str | None) -> str | None:
    """The class of an `error_type`, None where it names none that is known."""
    if text is None:
        return None
    if text in WORDS:
        return WORDS[text]
    return next((found for phrase, found in PHRASES.items() if phrase in text.lower()), None)


def nbr_reason(value: Any) -> str | None:
    """A no-bid code as text, `invalid` for anything else that is there, None when absent."""
    if absent(value):
        return None
    try:
        text = to_text(value)
    except ValueError:
        return "invalid"
    digits = text.removesuffix(".0")
    return str(int(digits)) if digits.isascii() and digits.isdigit() else "invalid"


def _valid_price(bid: Any) -> Decimal | None:
    if not isinstance(bid, dict) or absent(bid.get("price")):
        return None
    try:
        price = to_money(bid["price"])
    except ValueError:
        return None
    if price < 0 or (price == 0 and absent(bid.get("dealid"))):
        return None
    return price


def read_body(body: Any) -> tuple[str, str | None, Decimal | None, str | None]:
    """(outcome, nbr reason, price, currency) that the body of a 200 gives."""
    if type(body) is str:
        if body == "":
            return "no_bid", None, None, None
        try:
            body = parse_json(body)
        except ValueError:
            body = Bare("broken")
    if not isinstance(body, dict):
        return "invalid_response", None, None, None
    seats = body.get("seatbid")
    if seats is not None and not isinstance(seats, list):
        return "invalid_response", None, None, None
    bids: list[Any] = []
    for seat in seats or []:
        offered = seat.get("bid") if isinstance(seat, dict) else None
        bids += offered if isinstance(offered, list) else []
    prices = [price for price in map(_valid_price, bids) if price is not None]
    if prices:
        currency = body.get("cur")
        return "bid", None, max(prices), None if absent(currency) else to_text(currency)
    if bids:
        return "invalid_response", None, None, None
    return "no_bid", nbr_reason(body.get("nbr")), None, None


def _transport(row: dict[str, Any], error: str | None) -> str | None:
    """The classes above the answered ones, down to `unknown_error`."""
    status, latency, timeout = row["http_status"], row["latency_ms"], row["timeout_ms"]
    if row["not_sent"] is not None:
        return "not_sent_breaker" if row["not_sent"] == "breaker" else "not_sent_limit"
    if row["breaker"] == "open" and status is None and row["error_type"] is None and latency is None:
        return "not_sent_breaker"
    if error in ("connect_error", "tls_error", "timeout"):
        return error
    if status is None and latency is not None and timeout is not None and latency >= timeout:
        return "timeout"
    if error in ("cancelled", "reset"):
        return error
    if status is None:
        return "invalid_response" if error == "invalid_response" else "unknown_error"
    if status == 429:
        return "rate_limited"
    if 500 <= status <= 599:
        return "server_error"
    if 400 <= status <= 499:
        return "client_error"
    return None if status in (200, 204) else "unexpected_status"


def classify(row: dict[str, Any], body: Any, nbr: Any) -> None:
    """Fills `outcome`, `nbr`, `price` and `currency` of an attempt from its columns, its body and its raw nbr."""
    error = error_class(row["error_type"])
    row["nbr"] = nbr_reason(nbr)
    row["outcome"] = _transport(row, error)
    if row["outcome"] is None and row["http_status"] == 204:
        row["outcome"] = "no_bid"
    elif row["outcome"] is None and body is not None:
        row["outcome"], row["nbr"], row["price"], currency = read_body(body)
        row["currency"] = currency or row["currency"]
    elif row["outcome"] is None:
        row["outcome"] = _without_body(row, error)
    if row["price"] is not None and row["currency"] is None:
        row["currency"] = "USD"


def _without_body(row: dict[str, Any], error: str | None) -> str:
    if error == "invalid_response":
        return "invalid_response"
    bids, price = row["bids"], row["price"]
    if (bids is not None and bids > 0) or (bids is None and price is not None and price >= 0):
        return "bid"
    return "no_bid" if row["nbr"] is not None or bids == 0 else "answered_unknown"
