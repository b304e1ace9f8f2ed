"""Lines of a native log, good ones and what becomes of them by mutation. The same seed gives the same lines."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator

Mutation = Callable[[bytes, random.Random], bytes]

#: Texts of JSON values that readers, casts and engines take differently.
LITERALS = [
    b"null", b"true", b"false", b'""', b'" "', b'"x"', b"0", b"-0", b"-0.0", b"1", b"-1", b"7.0", b"007", b"1.5",
    b"1E5", b"1e300", b"1e400", b"-1e400", b"1e-400", b"NaN", b"nan", b"Infinity", b"-Infinity", b"inf", b"+5",
    b".5", b"5.", b"0x10", b"1_000", b"18446744073709551617", b"-9223372036854775809", b"9" * 400, b'"NaN"',
    b'"1_000"', b'"0x10"', b'"+5"', b'" 12 "', b'"007"', b'"503.0"', b'"1.5"', b'"9223372036854775808"',
    b"9007199254740993", b"1789383600", b"1789383600123", b"1789383600123456789", b"1789383600.5", b'"1789383600"',
    b'"2026-09-14T11:00:00Z"', b"9999999999", b'"2026-09-14t11:00:00.5z"', b'"2026-09-14 14:00:00.123456789+0300"',
    b'"2026-09-14T11:00:00+03"', b"99999999999999999", b'"2026-09-14T11:00:00+99:00"', b'"2026-09-14T11:00:00"',
    b'"2026-09-14T24:00:00Z"', b'"2026-09-14T23:59:60Z"', b'"2026-02-30T11:00:00Z"', b'"2101-01-01T00:00:00Z"',
    b'"1999-12-31T23:59:59Z"', b'"0001-01-01T00:00:00Z"', b"{}", b"[]", b'{"a":1E5}', b"[1,2]", b'["x"]', b'"{"',
    b'"[x"', b'"true"', b'"\\u0000"', b'"\\ud800"', b'"\\ud83d\\ude00"', b'"a\\tb"', b'"a\tb"', b'"a\x00b"',
    b'"caf\xc3\xa9"', b'"caf\xe9"', b'"\xed\xa0\x80"', b'"\xf0\x9f\x92"', b'"OPEN"', b'"half-open"', b'"Half Open"',
    b'"200"', b"204.0", b"2e2", b"429", b"TRUE", b"None", b"undefined", b"'x'", b'"\\x41"', b'"attempt"', b'"win"',
    b'"breaker"', b'"other"', b'"ATTEMPT"', b'"attempt "', b'"\\u0061ttempt"',
]  # fmt: skip
TOKENS = [
    b"\x00", b"\xff", b"\xc3", b"\xef\xbb\xbf", b"\r", b"\r\n", b"\n", b"\t", b",", b",,", b":", b'"', b"\\", b"{",
    b"}", b"[", b"]", b" ", b"\x0b", b"\x0c", b"\x1b[2J", b"\xe2\x80\xa8", b"\xc2\xa0", b"//", b"/**/", b"NaN",
    b"null", b"0", b"-", b".", b"e", b"\\u", b"\\ud800", b"\x7f", b"\xfe\xff",
]  # fmt: skip
LINES = [
    b"", b" ", b"\t", b"\r", b" \r", b"\xef\xbb\xbf", b"\x00", b"\x0c", b"null", b"1", b'"attempt"', b"[]", b"{}",
    b"{", b"}", b"# comment", b"event,ts,auction_id", b'{"event":"attempt"}', b"\xff\xfe", b"\xc2\xa0", b"NaN",
    b"{,}", b'{"event"}', b'{"event":{"event":"attempt"}}', b'{"":""}', b"-- \xf0\x9f\x92\xa9",
]  # fmt: skip
_PAIR = re.compile(rb'"(\w+)":("(?:[^"\\]|\\.)*"|[-0-9.eE+]+|true|false|null)')


def good_line(number: int, rng: random.Random) -> bytes:
    """A whole event; its ids hold `number`."""
    second, kind = number % 86_400, rng.random()
    ts = f"2026-09-{14 + number % 3}T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.{number % 1000:03}Z"
    auction, partner = f"{number:07x}-a{number % 97}", f"dsp-{number % 7}"
    if kind < 0.5:
        answer = rng.choice(ANSWERS)
        return (
            f'{{"event":"attempt","ts":"{ts}","auction_id":"{auction}","partner":"{partner}","attempt":1,'
            f'"request_id":"{auction}","tmax_ms":163,"budget_ms":170,"timeout_ms":120,"elapsed_ms":6.3,'
            f'"latency_ms":{number % 120}.4,{answer},"source":"web-eu","placement":"article","node":"ex-a"}}'
        ).encode()
    if kind < 0.62:
        return (
            f'{{"event":"auction","ts":"{ts}","auction_id":"{auction}","tmax_ms":200,"imps":2,"http_status":200,'
            f'"winner":"{partner}","price":1.25,"currency":"USD","event_id":"e{number // 20}"}}'
        ).encode()
    if kind < 0.75:
        event = ("win", "billing", "loss", "impression", "click")[number % 5]
        return (
            f'{{"event":"{event}","ts":"{ts}","auction_id":"{auction}","partner":"{partner}","imp_id":"1",'
            f'"price":0.75,"click_id":"c{number}","event_id":"n{number // 60}"}}'
        ).encode()
    if kind < 0.8:
        return (
            f'{{"event":"breaker","ts":"{ts}","partner":"{partner}","state_from":"closed","state_to":"open"}}'.encode()
        )
    return (
        f'{{"event":"postback","ts":"{ts}","key_id":"key-{number % 5}","endpoint":"/api/v1/postback","http_status":200,'
        f'"external_order_id":"ord-{number}","accepted":true,"conversion_id":{number},"signature_hash":"s{number:x}",'
        f'"x_timestamp":1789383600,"amount":12.5,"currency":"EUR","client_hash":"h{number % 50}"}}'
    ).encode()


ANSWERS = [
    '"http_status":204', '"http_status":429,"retry_after":"3"', '"http_status":200,"bids":0,"nbr":2',
    '"http_status":200,"body":{"id":"x","seatbid":[{"bid":[{"id":"b","price":0.35,"crid":"c"}]}],"cur":"USD"}',
    '"http_status":200,"body":"{\\"nbr\\":8}"', '"error_type":"dial tcp 192.0.2.9:443: connection refused"',
    '"not_sent":"breaker","breaker":"open"', '"http_status":503,"breaker":"closed"',
]  # fmt: skip


def _flip(line: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(line))
    return line[:at] + bytes([line[at] ^ (1 << rng.randrange(8))]) + line[at + 1 :]


def _truncate(line: bytes, rng: random.Random) -> bytes:
    return line[: rng.randrange(len(line))]


def _remove(line: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(line))
    return line[:at] + line[at + rng.randint(1, 30) :]


def _insert(line: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(line) + 1)
    return line[:at] + rng.choice(TOKENS) + line[at:]


def _value(line: bytes, rng: random.Random) -> bytes:
    pairs = list(_PAIR.finditer(line))
    start, end = rng.choice(pairs).span(2)
    return line[:start] + rng.choice(LITERALS) + line[end:]


def _values(line: bytes, rng: random.Random) -> bytes:
    for _ in range(rng.randint(2, 4)):
        line = _value(line, rng) if _PAIR.search(line) else line
    return line


def _required(line: bytes, rng: random.Random) -> bytes:
    """Another value for one of the first four keys, most of which a line cannot do without."""
    start, end = rng.choice(list(_PAIR.finditer(line))[:4]).span(2)
    return line[:start] + rng.choice(LITERALS) + line[end:]


def _duplicate_key(line: bytes, rng: random.Random) -> bytes:
    key = rng.choice(list(_PAIR.finditer(line)))[1]
    pair = b'"%s":%s' % (key, rng.choice(LITERALS))
    return b"{" + pair + b"," + line[1:] if rng.random() < 0.5 else line[:-1] + b"," + pair + b"}"


def _drop_key(line: bytes, rng: random.Random) -> bytes:
    start, end = rng.choice(list(_PAIR.finditer(line))).span()
    return line[:start] + line[end + 1 :]


def _rename_key(line: bytes, rng: random.Random) -> bytes:
    start, end = rng.choice(list(_PAIR.finditer(line))).span(1)
    key = line[start:end]
    other = rng.choice([key.upper(), key.title(), b"\\u%04x" % key[0] + key[1:], key + b" ", b"", key + b"\x00"])
    return line[:start] + other + line[end:]


def _foreign_key(line: bytes, rng: random.Random) -> bytes:
    pair = b'"%s":%s' % (rng.choice([b"ip", b"device", b"", b"a\\nb", b"\xff", b"Event"]), rng.choice(LITERALS))
    return b"{" + pair + b"," + line[1:] if rng.random() < 0.5 else line[:-1] + b"," + pair + b"}"


def _nest(line: bytes, rng: random.Random) -> bytes:
    depth = rng.choice([1, 3, 150, 198, 199, 200, 201, 250, 2000])
    opener, closer = rng.choice([(b"[", b"]"), (b'{"a":', b"}")])
    deep = opener * depth + rng.choice([b"1", b'"x"', b"[]"]) + closer * (depth - (rng.random() < 0.1))
    return line[:-1] + b',"%s":%s}' % (rng.choice([b"device", b"body", b"node", b"ts"]), deep)


def _behind(line: bytes, rng: random.Random) -> bytes:
    return line + rng.choice(
        [b" ", b"\t", b"\r", b"\r\r", b"x", b",", b"}", b" //", b"\x00", b"\xef\xbb\xbf", b"{}", line]
    )


def _before(line: bytes, rng: random.Random) -> bytes:
    return (
        rng.choice([b" ", b"\t", b"\r", b"\xef\xbb\xbf", b"\xef\xbb\xbf" * 2, b"x", b",", b"\x00", b"2026-09-14 "])
        + line
    )


def _wrap(line: bytes, rng: random.Random) -> bytes:
    return rng.choice([b"[%s]", b'{"event":%s}', b"(%s)", b"%s,", b"[%s", b'"%s"']) % line


def _spread(line: bytes, rng: random.Random) -> bytes:
    """White space between the tokens; the JSON stays what it was."""
    return re.sub(rb'(?<=[0-9e"}\]]),(?=")', b"," + rng.choice([b" ", b"\t", b"\r", b"  \t"]), line)


def _long(line: bytes, rng: random.Random) -> bytes:
    return line[:-1] + b',"note":"%s"}' % (
        rng.choice([b"x", b"\\n", b"\xc3\xa9", b"{", b"\\\\"]) * rng.choice([500, 5_000])
    )


def _swap(line: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(line) - 1)
    return line[:at] + line[at + 1 : at + 2] + line[at : at + 1] + line[at + 2 :]


def _other(line: bytes, rng: random.Random) -> bytes:
    return rng.choice(LINES)


def _recode(line: bytes, rng: random.Random) -> bytes:
    """The same JSON in another spelling: its keys in another order, all beyond ASCII escaped."""
    items = list(json.loads(line).items())
    rng.shuffle(items)
    return json.dumps(dict(items)).encode()


MUTATIONS: list[tuple[Mutation, int]] = [
    (_flip, 8), (_truncate, 5), (_remove, 4), (_insert, 8), (_value, 12), (_values, 5), (_required, 8),
    (_duplicate_key, 6), (_drop_key, 5), (_rename_key, 5), (_foreign_key, 5), (_nest, 2), (_behind, 4), (_before, 3),
    (_wrap, 2), (_spread, 2), (_long, 1), (_swap, 3), (_other, 3), (_recode, 1),
]  # fmt: skip


def mutate(line: bytes, rng: random.Random) -> bytes:
    """`line` with one mutation, now and then with several: the later ones of bytes alone, which need no whole line."""
    (mutation,) = rng.choices(CHOICES, cum_weights=WEIGHTS)
    line = mutation(line, rng)
    while line and rng.random() < 0.1:
        line = rng.choice((_flip, _insert, _remove))(line, rng)
    return line


CHOICES = [mutation for mutation, _ in MUTATIONS]
WEIGHTS = [sum(weight for _, weight in MUTATIONS[: place + 1]) for place in range(len(MUTATIONS))]


def fuzzed_lines(number: int, seed: int) -> Iterator[bytes]:
    """So many lines, each with its line end: nine of ten mutated. The first is whole: it says what the file is."""
    rng = random.Random(seed)
    yield good_line(0, rng) + b"\n"
    for place in range(1, number):
        line = good_line(place, rng)
        if rng.random() < 0.9:
            line = mutate(line, rng)
        yield line + (b"\r\n" if rng.random() < 0.05 else b"\n")
