"""What the affiliate platform replies to a postback."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from ingest.simulate.keys import Key, Limiter
from ingest.simulate.records import Postback
from ingest.simulate.timeline import SECOND
from ingest.simulate.truth import Truth
from ingest.simulate.waits import any_wait, seconds

_CODES = {
    "rate_limited": (429, "POSTBACK_RATE_LIMITED"),
    "stale_timestamp": (400, "POSTBACK_STALE_TIMESTAMP"),
    "replay": (409, "POSTBACK_REPLAY"),
}
_MARKED = frozenset({"duplicate", "other_amount", "other_currency"})
"""Habits to which the reply says `duplicate`."""


@dataclass
class Replies:
    """Makes replies; each is written into the postback that it answers, and returned as keys of the line."""

    rng: Random
    truth: Truth
    windows: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    """By key and client: the window that runs, and the requests in it."""

    def reply(self, key: Key, request: Postback, habit: str) -> str:
        """The reply; a limit may turn it into a refusal."""
        limiter = key.limiter
        if limiter is None:
            return self._keys(key, request, habit)
        left = self._left(key.key_id, limiter, request)
        if left is None:
            return self._keys(key, request, habit) + self._told(limiter, request)
        request.outcome = "rate_limited"
        request.conversion_id = None
        status, request.error_code = _CODES["rate_limited"]
        wait = seconds(self.rng, -(-left // SECOND))
        request.wait = wait.us
        told = self._told(limiter, request)
        return f'"http_status":{status},"accepted":false,"error_code":"{request.error_code}"{wait.key}{told}'

    def _left(self, key_id: str, limiter: Limiter, request: Postback) -> int | None:
        """Microseconds to the end of the window, for a request that is over its limit."""
        length = limiter.window_s * SECOND
        window = request.ts // length
        running, count = self.windows.get((key_id, request.client_hash or ""), (window, 0))
        count = count + 1 if running == window else 1
        self.windows[key_id, request.client_hash or ""] = window, count
        return (window + 1) * length - request.ts if count > limiter.limit else None

    def _told(self, limiter: Limiter, request: Postback) -> str:
        """Limit and window, where the reply carries them; now and then those of another plan."""
        point = self.rng.random()
        if point >= limiter.told:
            return ""
        request.limit, request.window_s = limiter.limit, limiter.window_s
        if point < 0.04:
            request.limit, request.window_s = 600, 60
        return f',"limit":{request.limit},"window_s":{request.window_s}'

    def _keys(self, key: Key, request: Postback, habit: str) -> str:
        rng = self.rng
        outcome = request.outcome
        if outcome == "accepted":
            return self._accepted(key, request, habit)
        request.conversion_id = None
        if outcome == "rate_limited":
            return self._refused(key, request)
        if outcome in _CODES:
            status, request.error_code = _CODES[outcome]
            return f'"http_status":{status},"accepted":false,"error_code":"{request.error_code}"'
        if outcome == "unexpected_status":
            return '"http_status":200,"accepted":false' if rng.random() < 0.7 else '"http_status":302'
        if outcome == "client_error":
            return f'"http_status":{rng.choice((400, 401, 404, 422))},"error_code":"POSTBACK_INVALID"'
        return f'"http_status":{rng.choice((500, 502, 503))}'

    def _accepted(self, key: Key, request: Postback, habit: str) -> str:
        rng = self.rng
        conversion = "" if request.conversion_id is None else f',"conversion_id":{request.conversion_id}'
        told = "" if rng.random() < 0.1 else ',"accepted":true'
        request.marked = habit in _MARKED or (not habit and rng.random() < key.earlier)
        request.replayed = habit == "idempotent"
        marks = ',"duplicate":true' if request.marked else ""
        marks += ',"idempotent_replay":true' if request.replayed else ""
        return f'"http_status":{201 if rng.random() < 0.1 else 200}{told}{conversion}{marks}'

    def _refused(self, key: Key, request: Postback) -> str:
        """A 429; now and then one that says the stamp is stale as well."""
        wait = any_wait(self.rng, request.ts + request.latency * 100, *key.waits_s)
        self.truth.mended["retry_after"] += wait.mended
        request.wait = wait.us
        request.limit, request.window_s = 600, 60
        _, request.error_code = _CODES["stale_timestamp" if self.rng.random() < 0.01 else "rate_limited"]
        return (
            f'"http_status":429,"accepted":false,"error_code":"{request.error_code}"{wait.key},'
            f'"limit":600,"window_s":60'
        )
