"""The part of an attempt's line that tells its outcome, in the shapes that logs have."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from ingest.simulate.partners import Partner, draw

_BROKEN_STATUSES = ("500", "502", "503", "504", '"503"')
_TIMEOUT_KEYS = (',"error_type":"timeout"', ',"error_type":"deadline"', ',"error_type":"read timed out"', "")
"""The last one is told by `latency_ms >= timeout_ms` alone."""


class Answer(NamedTuple):
    """Keys of the line (each with a comma before it), and the no-bid reason or the status of a 5xx in them."""

    keys: str
    reason: str | None = None
    status: int | None = None


class Question(NamedTuple):
    """What an answer refers to; `price` in ten-thousandths."""

    auction_id: str
    imps: int
    price: int


def answer(rng: Random, partner: Partner, outcome: str, question: Question) -> Answer:
    """Keys that make a reader find this outcome."""
    return _WAYS[outcome](rng, partner, question)


def quoted(text: str) -> str:
    """Text of printable ASCII as a JSON string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _body(partner: Partner, body: str) -> str:
    return f',"body":{quoted(body) if partner.style == "text" else body}'


def _bid(rng: Random, partner: Partner, question: Question) -> Answer:
    price = question.price / 10_000
    if partner.style == "columns":
        bids = "" if rng.random() < 0.2 else f',"bids":{question.imps}'
        return Answer(f',"http_status":200{bids},"price":{price},"currency":"{partner.currency}"')
    bids = ",".join(
        f'{{"id":"b{imp}","impid":"{imp}","price":{price},"crid":"cr-{question.price % 97}"}}'
        for imp in range(1, question.imps + 1)
    )
    beside = ',"nbr":0' if rng.random() < 0.01 else ""
    body = f'{{"id":"{question.auction_id}","seatbid":[{{"bid":[{bids}]}}],"cur":"{partner.currency}"{beside}}}'
    return Answer(f',"http_status":200{_body(partner, body)}')


def _no_bid(rng: Random, partner: Partner, question: Question) -> Answer:
    reason = draw(rng, partner.reasons)
    if reason == "no_reason":
        return Answer(_no_reason(rng, partner, question), reason)
    code = rng.choice(('"none"', "-1", "true")) if reason == "invalid" else reason
    if reason != "invalid" and rng.random() < 0.05:
        code = f'"{reason}"'
    if partner.style == "columns":
        return Answer(f',"http_status":200,"bids":0,"nbr":{code}', reason)
    seats = rng.choice(("", '"seatbid":[],', '"seatbid":null,'))
    body = f'{{"id":"{question.auction_id}",{seats}"nbr":{code}}}'
    return Answer(f',"http_status":200{_body(partner, body)}', reason)


def _no_reason(rng: Random, partner: Partner, question: Question) -> str:
    if partner.style == "bare" or rng.random() < 0.7:
        return ',"http_status":204'
    if partner.style == "columns":
        return ',"http_status":200,"bids":0'
    shapes = ("{}", f'{{"id":"{question.auction_id}","seatbid":[]}}', '{"seatbid":[{"bid":[]}]}')
    if partner.style == "text" and rng.random() < 0.3:
        return ',"http_status":200,"body":""'
    return f',"http_status":200{_body(partner, rng.choice(shapes))}'


def _answered_unknown(rng: Random, partner: Partner, question: Question) -> Answer:
    return Answer(',"http_status":200')


def _invalid_response(rng: Random, partner: Partner, question: Question) -> Answer:
    aid = question.auction_id
    shapes = (
        ',"body":' + quoted(f'{{"id":"{aid}","seatbid":[{{"bid":[{{"id":"b1","impid":"1","pri'),
        f',"body":{{"id":"{aid}","seatbid":{{"bid":[]}}}}',
        f',"body":{{"id":"{aid}","seatbid":[{{"bid":[{{"id":"b1","impid":"1","price":-1}}]}}]}}',
        f',"body":{{"id":"{aid}","seatbid":[{{"bid":[{{"id":"b1","impid":"1","price":0}}]}}],"nbr":3}}',
        f',"body":{{"id":"{aid}","seatbid":[{{"bid":[{{"id":"b1","impid":"1","price":"high"}}]}}]}}',
        ',"body":"[]"',
        ',"body":"<html>ok</html>"',
        ',"error_type":"invalid_response"',
    )
    return Answer(f',"http_status":200{rng.choice(shapes)}')


def _server_error(rng: Random, partner: Partner, question: Question) -> Answer:
    if partner.storm or partner.timed is False:
        return Answer(',"http_status":503', status=503)
    status = rng.choice(_BROKEN_STATUSES)
    return Answer(f',"http_status":{status}', status=int(status.strip('"')))


def _timeout(rng: Random, partner: Partner, question: Question) -> Answer:
    shapes = _TIMEOUT_KEYS if partner.timed else _TIMEOUT_KEYS[:-1]
    return Answer(rng.choice(shapes))


def _chooser(*shapes: str) -> Callable[[Random, Partner, Question], Answer]:
    """A way that takes any of these shapes."""
    answers = tuple(Answer(shape) for shape in shapes)

    def choose(rng: Random, partner: Partner, question: Question) -> Answer:
        return answers[int(rng.random() * len(answers))]

    return choose


_WAYS: dict[str, Callable[[Random, Partner, Question], Answer]] = {
    "bid": _bid,
    "no_bid": _no_bid,
    "answered_unknown": _answered_unknown,
    "invalid_response": _invalid_response,
    "server_error": _server_error,
    "rate_limited": _chooser(',"http_status":429'),
    "client_error": _chooser(*(f',"http_status":{status}' for status in (400, 401, 403, 404, 413))),
    "unexpected_status": _chooser(*(f',"http_status":{status}' for status in (201, 206, 301, 302, 307))),
    "connect_error": _chooser(
        ',"error_type":"connection_refused"',
        ',"error_type":"dns"',
        ',"error_type":"connect_timeout"',
        ',"error_type":"unreachable","http_status":0',
        ',"error_type":"dial tcp 192.0.2.9:443: connect: connection refused"',
    ),
    "tls_error": _chooser(
        ',"error_type":"tls"',
        ',"error_type":"handshake"',
        ',"error_type":"x509: certificate has expired"',
    ),
    "timeout": _timeout,
    "reset": _chooser(',"error_type":"reset"', ',"error_type":"eof"', ',"error_type":"read: connection reset by peer"'),
    "cancelled": _chooser(',"error_type":"cancelled"'),
    "unknown_error": _chooser(',"error_type":"flux capacitor underrun"', ',"http_status":0', ""),
    "not_sent_limit": _chooser(',"not_sent":"limit"', ',"not_sent":true', ',"not_sent":"qps guard"'),
    "not_sent_breaker": _chooser(',"not_sent":"breaker"'),
}
