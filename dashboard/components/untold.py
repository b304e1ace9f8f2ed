"""What no figure can be made of: answers that may be bids or not, refusals and breaker states that no log tells."""

from dataclasses import dataclass

from dashboard.components import data, hidden
from dashboard.components.data import Result
from dashboard.components.shapes import Only, Sum
from dashboard.components.view import View
from dashboard.filters import Filters
from dashboard.texts import say

ANSWERS = ("bid", "no_bid", "answered_unknown")


@dataclass(frozen=True)
class Answers:
    """Answered attempts of a range, and how many of them do not tell a bid from a no-bid."""

    known: int
    untold: int

    @property
    def all(self) -> int:
        """Both together."""
        return self.known + self.untold


def answers(view: View, filters: Filters) -> Answers:
    """The answers of a range."""
    listed = ", ".join(f"'{name}'" for name in ANSWERS)
    shape = Sum(("outcome",), ("attempts",), f"outcome in ({listed})")
    found = {
        row["outcome"]: row["attempts"] for row in data.table(view.snapshot, "outcomes", filters, shape=shape).rows
    }
    untold = found.pop("answered_unknown", 0)
    return Answers(sum(found.values()), untold)


def tellers(view: View, filters: Filters) -> tuple[list[str], list[str]]:
    """Partners whose answers all tell a bid from a no-bid in a range, and those of whom some do not."""
    listed = ", ".join(f"'{name}'" for name in ANSWERS)
    rows = data.table(view.snapshot, "outcomes", filters, shape=Only(f"outcome in ({listed})")).rows
    silent = {row["partner"] for row in rows if row["outcome"] == "answered_unknown"}
    return sorted({row["partner"] for row in rows} - silent), sorted(silent)


def bids(told: Answers) -> str:
    """How many answers may be bids or not, in words; nothing where all are told."""
    return say("untold.bids", untold=told.untold, answers=told.all) if told.untold else ""


def no_bids(view: View, filters: Filters) -> str:
    """The text that stands where no no-bid is known though there may be some; empty where there is none."""
    if answers(view, filters).untold:
        return "untold.no_bids"
    return "" if hidden.find(view, filters, "exchange") is None else "hidden.no_bids"


def refusals(limits: Result) -> str:
    """The text that stands where no 429 is known, of rows of the table `rate_limits`; empty where there is none."""
    return "untold.refusals" if any(row["limited"] is None for row in limits.rows) else ""


def losses(view: View, funnel: str, filters: Filters) -> str:
    """The text that stands where no loss of a funnel is known; empty where all stages are."""
    stages = data.table(view.snapshot, "funnel", filters, shape=Only(f"funnel = '{funnel}'")).rows
    if not stages or not stages[0]["count"]:
        return f"panel.funnel_{funnel}.empty"
    return "untold.losses" if any(row["count"] is None for row in stages) else ""


def attention(view: View) -> tuple[list[str], list[str]]:
    """Sentences for the first page: what was looked at and found calm, and what cannot be told."""
    calm: list[str] = []
    unknown: list[str] = []
    limits = data.table(view.snapshot, "rate_limits", view.filters).rows
    if data.has_stream(view.snapshot, "exchange"):
        states = data.table(view.snapshot, "breakers", view.everywhere, shape=Only("kind = 'reported'")).rows
        (calm if any(row["state"] != "unknown" for row in states) else unknown).append("breakers")
    for stream in ("exchange", "postback"):
        if data.has_stream(view.snapshot, stream):
            seen = hidden.find(view, view.everywhere, stream) is None
            (calm if seen else unknown).append(f"retries_{stream}")
            told = all(row["limited"] is not None for row in limits if row["stream"] == stream)
            (calm if told else unknown).append(f"limits_{stream}")
    return [say(f"calm.{name}") for name in calm], [say(f"untold.{name}") for name in unknown]
