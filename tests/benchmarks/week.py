"""The log of a large exchange over days: simulated hours, repeated with other times, ids and partners.

What is repeated is one simulated hour of each of several groups of partners; a copy has its own hour of its own day,
and its own ids, so that no line is another's repetition. Breakers are reported as simulated, some tripping hundreds of
times, in every sixth hour of a group; else as closed. An hour is some hundred megabytes, made when it is asked for.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ingest.simulate import simulate

START = datetime(2026, 9, 14, tzinfo=UTC)
#: Attempts of one simulated auction, about.
PER_AUCTION = 7.5
GROUPS = "abcd"
_TIME = re.compile(rb'(?<=")2026-09-14T(1[0-9]|2[0-3])(?=:)')
_ID = re.compile(
    rb'(?<="auction_id":")(?![0-9a-f]{7,}-)'
    rb'|(?<=")(?=[0-9a-f]{7,}-[0-9a-f]{8}|ord-|idem-|s[0-9a-f]{10}"|c[0-9a-f]{12}")'
)
_CONVERSION = re.compile(rb'(?<="conversion_id":)(?=[0-9])')
_KEY = re.compile(rb'(?<="key_id":")')
#: Seconds that are part of what was signed; a copy's would be days off.
_SIGNED = re.compile(rb',"x_timestamp":[0-9]+')
_PARTNER = re.compile(rb'(?<="partner":")([a-z]+)(?=")|(?<="winner":")([a-z]+)(?=")')
#: Of so many hours of a group, one has breakers that trip.
STORMY_EVERY = 6
_TRIPPED = re.compile(rb'(?<="breaker":")(?:open|half_open)(?=")')
_EVENT = re.compile(rb'^\{"event":"breaker".*\n', re.MULTILINE)
_COPY, _HOUR = b"\x01", b"\x02"


class Week:
    """`days` of about `attempts` attempts in all, to `partners` partners."""

    def __init__(self, attempts: int, days: int = 7, partners: int = 50) -> None:
        self.hours = days * 24
        self._seeds: list[tuple[bytes, bytes]] = []
        self._left = partners
        rate = attempts / self.hours / len(GROUPS) / 3600 / PER_AUCTION
        for seed, group in enumerate(GROUPS):
            stormy = self._seed(seed, group, rate)
            self._seeds.append((stormy, _TRIPPED.sub(b"closed", _EVENT.sub(b"", stormy))))

    def _seed(self, seed: int, group: str, rate: float) -> bytes:
        """The lines of a group's hour, with marks where a copy differs; of no more partners than are left."""
        with tempfile.TemporaryDirectory() as name:
            simulate(Path(name), seed, 60, rate)
            lines = [line for path in Path(name).glob("*.jsonl") for line in path.read_bytes().splitlines(True)]
        found = sorted({match[1] for line in lines if (match := _PARTNER.search(line)) and match[1]})
        kept = set(found[: self._left])
        self._left -= len(kept)
        lines = [line for line in lines if not (match := _PARTNER.search(line)) or not match[1] or match[1] in kept]
        data = b"".join(lines)
        data = _PARTNER.sub(lambda match: (match[1] or match[2]) + b"-" + group.encode(), data)
        data = _ID.sub(_COPY + group.encode(), _KEY.sub(group.encode() + b"-", _SIGNED.sub(b"", data)))
        data = _CONVERSION.sub(b"%d" % (seed + 1) + _COPY, data)
        return _TIME.sub(lambda match: _HOUR + match[1], data)

    def hour(self, number: int) -> bytes:
        """The lines of one hour, group by group."""
        parts = []
        for place, (stormy, calm) in enumerate(self._seeds):
            seed = calm if (number + place) % STORMY_EVERY else stormy
            data = seed.replace(_COPY, b"%04d" % number)
            for late in range(14):
                at = START + timedelta(hours=number + late)
                data = data.replace(_HOUR + b"%d" % (10 + late), at.strftime("%Y-%m-%dT%H").encode())
            parts.append(data)
        return b"".join(parts)

    def __iter__(self) -> Iterator[bytes]:
        """Hour after hour."""
        return map(self.hour, range(self.hours))
