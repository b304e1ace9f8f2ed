"""Fixed windows: how much of its limit each key used, whoever was refused included."""

from dataclasses import dataclass, field

from .calls import Model
from .lines import Row
from .orders import trigger
from .selection import Selection, ordered
from .values import iso

PER_ADDRESS = ("exchange", "/r/", "/p/")


@dataclass
class Window:
    key: str | None
    endpoint: str | None
    window_s: int
    start: int
    postbacks: list[Row] = field(default_factory=list)

    @property
    def limit(self) -> int | None:
        """The largest that was logged in the window, else the default of the endpoint."""
        logged = [row["limit"] for row in self.postbacks if row["limit"] is not None]
        if logged:
            return int(max(logged))
        endpoint = self.endpoint or ""
        if "exchange" in endpoint:
            return 20
        return None if "/r/" in endpoint or "/p/" in endpoint else 600


def limited_key(postback: Row) -> str | None:
    """Whom the limit is for: the address where the endpoint has limits of that kind, else the API key."""
    per_address = any(part in (postback["endpoint"] or "") for part in PER_ADDRESS)
    key: str | None = (
        postback["client_hash"] if per_address and postback["client_hash"] is not None else postback["key_id"]
    )
    return key


def read_windows(postbacks: list[Row]) -> list[Window]:
    lengths: dict[tuple[str | None, str | None], int] = {}
    for row in postbacks:
        if row["window_s"] is not None and row["window_s"] > 0:
            place = (limited_key(row), row["endpoint"])
            lengths[place] = max(lengths.get(place, 0), row["window_s"])
    found: dict[tuple[str | None, str | None, int, int], Window] = {}
    for row in postbacks:
        key, endpoint = limited_key(row), row["endpoint"]
        known = row["window_s"] is not None and row["window_s"] > 0
        window_s = row["window_s"] if known else lengths.get((key, endpoint), 60)
        start = row["ts"] // (window_s * 1_000_000) * window_s * 1_000_000
        window = found.setdefault((key, endpoint, window_s, start), Window(key, endpoint, window_s, start))
        window.postbacks.append(row)
    return list(found.values())


def windows(model: Model, selection: Selection) -> list[Row]:
    """A window lies at its start and is kept whole, with `partners` when it holds a request of one of them."""
    kept = [
        window
        for window in read_windows(model.facts.postbacks)
        if selection.at(window.start) and any(selection.of(row["key_id"]) for row in window.postbacks)
    ]
    return ordered((_row(window) for window in kept), "key", "endpoint", "window_start", "window_s")


def _row(window: Window) -> Row:
    requests, limit = len(window.postbacks), window.limit
    untold = any(trigger(row) == "answered_unknown" for row in window.postbacks)
    return {
        "key": window.key,
        "endpoint": window.endpoint,
        "window_start": iso(window.start),
        "window_s": window.window_s,
        "requests": requests,
        "limited": None if untold else sum(row["http_status"] == 429 for row in window.postbacks),
        "limit": limit,
        "utilisation": requests / limit if limit else None,
    }
