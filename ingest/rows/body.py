"""What a raw BidResponse says. The body is read here once and never kept."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from ingest.rows.jsontext import JsonValue, parse
from ingest.rows.values import BLANKS, NotCast, is_absent, number_text, round_money, to_code, to_text


@dataclass(frozen=True)
class Body:
    """`kind`: invalid (no JSON object, or `seatbid` is no array), broken (bids, none of them valid), bids, none."""

    kind: str
    bids: int | None = None
    price: Decimal | None = None
    currency: str | None = None
    nbr: str | None = None


INVALID = Body("invalid")


def read_body(value: JsonValue) -> Body:
    """Reads a body that is there, nested or as text; an empty text is an empty body: no bid."""
    if isinstance(value, str):
        if type(value) is str and not value.strip(BLANKS):
            return Body("none", bids=0)
        try:
            value = parse(value)
        except ValueError:
            return INVALID
    if not isinstance(value, dict):
        return INVALID
    seats = value.get("seatbid")
    if not isinstance(seats, list) and not is_absent(seats):
        return INVALID
    entries = seats if isinstance(seats, list) else []
    bids = [bid for seat in entries for bid in _bids_of(seat)]
    prices = [price for bid in bids if (price := valid_price(bid)) is not None]
    nbr = value.get("nbr")
    return Body(
        kind="bids" if prices else "broken" if bids else "none",
        bids=len(prices),
        price=_stored(max(prices, default=None)),
        currency=_text(value.get("cur")),
        nbr=None if is_absent(nbr) else to_code(nbr),
    )


def _bids_of(seat: JsonValue) -> list[JsonValue]:
    bids = seat.get("bid") if isinstance(seat, dict) else None
    return bids if isinstance(bids, list) else []


def valid_price(bid: JsonValue) -> Decimal | None:
    """The exact price of a valid bid: a number above 0, or 0 where the bid names its deal."""
    if not isinstance(bid, dict):
        return None
    try:
        price = Decimal(number_text(bid.get("price")))
    except NotCast:
        return None
    return price if price > 0 or (price == 0 and _text(bid.get("dealid"))) else None


def _stored(price: Decimal | None) -> Decimal | None:
    try:
        return None if price is None else round_money(price)
    except NotCast:
        return None


def _text(value: JsonValue) -> str | None:
    if is_absent(value):
        return None
    try:
        return to_text(value)
    except NotCast:
        return None
