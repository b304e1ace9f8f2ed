"""The definition: what one raw record is, a canonical record or a reject. The engine's pass must agree with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from ingest.formats.spec import Format, Relation
from ingest.rows.body import read_body
from ingest.rows.jsontext import JsonValue, parse
from ingest.rows.values import NotCast, casts, is_absent, to_seconds

BOM = b"\xef\xbb\xbf"
#: White space as JSON knows it; other control characters around a line are damage.
LINE_BLANKS = b" \t\r\n"
#: Types that are never counted as mended: whatever is there says something.
NEVER_MENDED = ("nbr", "body", "error", "not_sent", "breaker")


class Reject(ValueError):
    """A record that becomes no fact; the message is the reason, in one line.

    Of a line that is no JSON, `sound` characters (stripped) can be read before the fault.
    """

    def __init__(self, reason: str, sound: int = 0) -> None:
        super().__init__(reason)
        self.sound = sound


@dataclass(frozen=True)
class Record:
    """A canonical record: typed values by staging column, and the input keys whose values did not cast."""

    relation: Relation
    values: Mapping[str, object]
    mended: tuple[str, ...]


def strip_line(line: bytes) -> bytes:
    """A line without the BOM before it and the white space around it: empty when the line is blank."""
    return line.removeprefix(BOM).strip(LINE_BLANKS)


def read_object(line: bytes) -> dict[str, JsonValue]:
    """The JSON object that a line is; bytes that are no UTF-8 come as lone surrogates, which no column takes."""
    text = strip_line(line).decode("utf-8", "surrogateescape")
    try:
        value = parse(text)
    except ValueError as error:
        raise Reject(f"no JSON: {error}", getattr(error, "pos", 0)) from None
    if not isinstance(value, dict):
        raise Reject("JSON, but no object")
    return value


class Reader:
    """Reads raw records of one format by its definition."""

    def __init__(self, fmt: Format, zone: ZoneInfo | None) -> None:
        self.format = fmt
        self._casts = casts(zone)

    def read(self, raw: Mapping[str, JsonValue]) -> Record:
        """The canonical record of `raw` (key -> value); raises Reject."""
        event = raw.get(self.format.kind)
        if is_absent(event):
            raise Reject(f"{self.format.kind} is missing")
        relation = self.format.by_event.get(event) if type(event) is str else None
        if relation is None:
            raise Reject(f"{self.format.kind} is none of {', '.join(self.format.by_event)}")
        values: dict[str, object] = {relation.event_column: event} if relation.event_column else {}
        mended: list[str] = []
        late = None
        for field in relation.fields:
            value = raw.get(field.key)
            if value is None or (value == "" and field.type != "body"):
                if field.required:
                    raise Reject(f"{field.key} is missing")
            elif field.type == "body":
                values.update({f"body_{name}": part for name, part in vars(read_body(value)).items()})
            elif field.type == "retry_after":
                late = field
            elif field.type != "ignored":
                try:
                    values[field.column] = self._casts[field.type](value)
                except NotCast as error:
                    if field.required:
                        raise Reject(f"{field.key} {error}") from None
                    if field.type not in NEVER_MENDED:
                        mended.append(field.key)
                if field.required and values.get(field.column) is None:
                    raise Reject(f"{field.key} is missing")
        if late is not None:
            answered_us = values["ts"] + (values.get("latency_ms") or 0.0) * 1000  # type: ignore[operator]
            try:
                values[late.column] = to_seconds(raw[late.key], answered_us)
            except NotCast:
                mended.append(late.key)
        return Record(relation, values, tuple(mended))
