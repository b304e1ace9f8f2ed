"""Truth of the fixed windows: requests against the limit of each key and endpoint."""

from __future__ import annotations

from collections import defaultdict

from ingest.simulate.records import Postback, Sender
from ingest.simulate.stats import SECOND_US, iso, ratio
from ingest.simulate.truth.retries import Row

DEFAULT_WINDOW_S, DEFAULT_LIMIT, EXCHANGE_LIMIT = 60, 600, 20

Place = tuple[str, str | None]
"""Key (or client) and endpoint."""


class WindowTruth:
    """Remembers who asked when, and the limits that were told."""

    def __init__(self) -> None:
        self.requests: defaultdict[Place, list[tuple[int, bool, int | None, int | None]]] = defaultdict(list)

    def request(self, sender: Sender, postback: Postback) -> None:
        """One postback."""
        endpoint = sender.endpoint
        by_client = endpoint is not None and any(part in endpoint for part in ("exchange", "/r/", "/p/"))
        key = postback.client_hash if by_client and postback.client_hash else sender.key_id
        limited = postback.outcome == "rate_limited"
        self.requests[key, endpoint].append((postback.ts, limited, postback.limit, postback.window_s))

    def rows(self) -> list[Row]:
        """Rows of the table `windows`."""
        rows = []
        for (key, endpoint), requests in sorted(self.requests.items(), key=lambda item: tuple(map(str, item[0]))):
            usual = max((window_s for *_, window_s in requests if window_s), default=DEFAULT_WINDOW_S)
            tallies: defaultdict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0, 0])
            for ts, limited, limit, told_s in requests:
                window_s = told_s or usual
                tally = tallies[ts // (window_s * SECOND_US) * window_s, window_s]
                tally[0] += 1
                tally[1] += limited
                tally[2] = max(tally[2], limit or 0)
            rows += [_row(key, endpoint, *window, *tally) for window, tally in sorted(tallies.items())]
        return rows


def _row(key: str, endpoint: str | None, start_s: int, window_s: int, requests: int, limited: int, told: int) -> Row:
    limit = told or _usual_limit(endpoint or "")
    return {
        "key": key,
        "endpoint": endpoint,
        "window_start": iso(start_s * SECOND_US),
        "window_s": window_s,
        "requests": requests,
        "limited": limited,
        "limit": limit,
        "utilisation": None if limit is None else ratio(requests, limit),
    }


def _usual_limit(endpoint: str) -> int | None:
    """The limit where none was told; redirects and pixels have none."""
    if "exchange" in endpoint:
        return EXCHANGE_LIMIT
    return None if "/r/" in endpoint or "/p/" in endpoint else DEFAULT_LIMIT
