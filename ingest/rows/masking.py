"""What is kept of a rejected record: enough to find the fault, nothing that may name a person."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from json.encoder import encode_basestring

from ingest.formats.spec import Format
from ingest.rows.jsontext import Bare, JsonValue, Number
from ingest.rows.record import strip_line
from ingest.rows.values import storable

#: Bytes of raw text that a reject keeps.
RAW_BYTES = 4096
#: Of a line that does not parse, only its beginning is searched.
SEARCHED_BYTES = 65_536
MASK = "***"

#: Types of keys that no column takes as they are.
UNSEEN = frozenset({None, "body", "ignored"})
#: Types whose words are free text, in which long tokens are masked too.
FREE_TEXT = frozenset({"error", "not_sent", "loss_reason", "state", "breaker", "retry_after", "path", "event", "hash"})
_PERSONAL = re.compile(
    r"(?P<query>(?<=\?)[^\s\"'?]*=[^\s\"']*)"
    r"|[\w.+-]+@[\w-]+\.[\w.-]+"
    r"|\b[0-9]{1,3}(?:\.[0-9]{1,3}){3}\b"
    r"|(?<![0-9A-Za-z:])(?:[0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}(?![0-9A-Za-z:])"
    r"|(?<![0-9A-Za-z:])(?:[0-9A-Fa-f]{1,4}:){1,6}:[0-9A-Fa-f:]*|(?<![0-9A-Za-z:])::[0-9A-Fa-f:]+"
)
#: What every address without `::` holds.
_ADDRESS_PART = re.compile(r"\.[0-9]{1,3}\.|:[0-9A-Fa-f]{1,4}:[0-9A-Fa-f]{1,4}:[0-9A-Fa-f]{1,4}:")
TOKEN_CHARS = 32
_TOKEN = re.compile(rf"[A-Za-z0-9_\-+/=]{{{TOKEN_CHARS},}}")
#: Names of unknown keys that are kept: words, which is what programs call things.
_WORD = re.compile(r"[A-Za-z_-]{1,32}[0-9]{0,2}")
#: A bracket; or a text with the scalar behind its colon, if there is one.
_PART = re.compile(
    r'([{}\[\]])|"((?:[^"\\]+|\\.)*+)"(?:\s*+:\s*+("(?:[^"\\]+|\\.)*+"|-?[0-9][0-9.eE+-]*|true|false|null)?)?',
    re.DOTALL,
)


def mask_value(text: str, kind: str | None) -> str:
    """`text` of a known key without addresses, mails and queries; of free text without long tokens either."""
    masked = _PERSONAL.sub(MASK, text)
    return _TOKEN.sub(MASK, masked) if kind in FREE_TEXT else masked


def _is_plain(text: str) -> bool:
    """Whether `text` surely holds nothing that `_PERSONAL` finds: most lines do not, and this is quick to tell."""
    return not ("?" in text or "@" in text or "::" in text or _ADDRESS_PART.search(text))


def cut(text: str) -> str:
    """The first `RAW_BYTES` of `text`, whole characters."""
    raw = storable(text).encode()
    return raw.decode() if len(raw) <= RAW_BYTES else raw[:RAW_BYTES].decode("utf-8", "ignore")


def mask_record(fmt: Format, record: Mapping[str, JsonValue]) -> str:
    """A record that could be read: the values of the body and of unknown keys are masked, and what is nested.

    So are names of unknown keys that are no words: data stand there as well, as in `{"203.0.113.9": 1}`.
    """
    plain = _is_plain("\n".join(value for value in record.values() if isinstance(value, str)))
    parts: list[str] = []
    size = 0
    for key, value in record.items():
        kind = fmt.types.get(key)
        name = key if kind is not None or _WORD.fullmatch(key) else MASK
        parts.append(f'"{name}":{_masked(kind, value, plain)}')
        size += len(parts[-1])
        if size > RAW_BYTES:
            break
    return cut("{" + ",".join(parts) + "}")


def _masked(kind: str | None, value: JsonValue, plain: bool) -> str:
    if kind in UNSEEN or isinstance(value, (dict, list)):
        return f'"{MASK}"'
    if not isinstance(value, str):
        return json.dumps(value)
    text = value if plain and len(value) < TOKEN_CHARS else mask_value(value, kind)
    return text if isinstance(value, (Number, Bare)) else encode_basestring(text)


def mask_line(fmt: Format, line: bytes, sound: int) -> str:
    """A line that could not be read: of its outermost object the known `"key":scalar` pairs, and its length.

    Only what stands before the fault is searched, `sound` characters of the stripped line: behind it no one knows what
    is a key and what a value.
    """
    text = strip_line(line)[:SEARCHED_BYTES].decode("utf-8", "surrogateescape")[:sound]
    plain = _is_plain(text)
    depth = 0
    pairs: list[str] = []
    for bracket, key, scalar in _PART.findall(text):
        if bracket:
            depth += 1 if bracket in "{[" else -1
        elif depth == 1 and scalar:
            kind = fmt.types.get(key)
            if kind not in UNSEEN:
                kept = scalar if plain and len(scalar) < TOKEN_CHARS else mask_value(scalar, kind)
                pairs.append(f'"{key}":{kept}')
    return cut(", ".join([*pairs, f"({len(line)} bytes)"]))
