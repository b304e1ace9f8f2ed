"""What is kept of a rejected record: enough to find the fault, nothing that may name a person."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from ingest.formats.spec import Format
from ingest.rows.jsontext import Bare, JsonValue, Number
from ingest.rows.record import BOM
from ingest.rows.values import storable

#: Bytes of raw text that a reject keeps.
RAW_BYTES = 4096
#: Of a line that does not parse, only its beginning is searched.
SEARCHED_BYTES = 65_536
MASK = "***"

#: Types whose words are free text, in which long tokens are masked too.
FREE_TEXT = frozenset({"error", "not_sent", "loss_reason", "state", "breaker", "retry_after", "path", "event", "hash"})
_PERSONAL = re.compile(
    r"(?P<query>(?<=\?)[^\s\"'?]*=[^\s\"']*)"
    r"|[\w.+-]+@[\w-]+\.[\w.-]+"
    r"|\b[0-9]{1,3}(?:\.[0-9]{1,3}){3}\b"
    r"|(?<![0-9A-Za-z:])(?:[0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}(?![0-9A-Za-z:])"
    r"|(?<![0-9A-Za-z:])(?:[0-9A-Fa-f]{1,4}:){1,6}:[0-9A-Fa-f:]*|(?<![0-9A-Za-z:])::[0-9A-Fa-f:]+"
)
_TOKEN = re.compile(r"[A-Za-z0-9_\-+/=]{32,}")
_PART = re.compile(
    r'"(?P<text>(?:[^"\\]|\\.)*)"(?P<colon>\s*:\s*(?P<scalar>"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*|true|false|null)?)?'
    r"|(?P<bracket>[{}\[\]])",
    re.DOTALL,
)


def mask_value(text: str, kind: str) -> str:
    """`text` of a known key without addresses, mails and queries; of free text without long tokens either."""
    masked = _PERSONAL.sub(MASK, text)
    return _TOKEN.sub(MASK, masked) if kind in FREE_TEXT else masked


def cut(text: str) -> str:
    """The first `RAW_BYTES` of `text`, whole characters."""
    raw = storable(text).encode()
    return raw.decode() if len(raw) <= RAW_BYTES else raw[:RAW_BYTES].decode("utf-8", "ignore")


def mask_record(fmt: Format, record: Mapping[str, JsonValue]) -> str:
    """A record that could be read: the values of the body and of unknown keys are masked, and what is nested."""
    parts: list[str] = []
    size = 0
    for key, value in record.items():
        parts.append(f"{json.dumps(key, ensure_ascii=False)}:{_masked(fmt.types.get(key), value)}")
        size += len(parts[-1])
        if size > RAW_BYTES:
            break
    return cut("{" + ",".join(parts) + "}")


def _masked(kind: str | None, value: JsonValue) -> str:
    if kind in (None, "body") or isinstance(value, (dict, list)):
        return f'"{MASK}"'
    if isinstance(value, (Number, Bare)):
        return mask_value(value, kind)
    if isinstance(value, str):
        return json.dumps(mask_value(value, kind), ensure_ascii=False)
    return json.dumps(value)


def mask_line(fmt: Format, line: bytes) -> str:
    """A line that could not be read: only the known `"key":scalar` pairs of its outermost object, and its length."""
    text = line[:SEARCHED_BYTES].removeprefix(BOM).decode("utf-8", "replace")
    depth = 0
    pairs: list[str] = []
    for match in _PART.finditer(text):
        if match["bracket"]:
            depth += 1 if match["bracket"] in "{[" else -1
            continue
        kind = fmt.types.get(match["text"])
        if depth == 1 and match["scalar"] and kind not in (None, "body"):
            pairs.append(f'"{match["text"]}":{mask_value(match["scalar"], kind)}')
    return cut(", ".join([*pairs, f"({len(line)} bytes)"]))
