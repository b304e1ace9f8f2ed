"""When flags were raised and cleared, with the evidence of that moment."""

from datetime import UTC, datetime

from dashboard.charts import style
from dashboard.components import data, hidden, panel
from dashboard.components.data import Row
from dashboard.components.retries import MARKS, of
from dashboard.components.shapes import Only
from dashboard.components.view import View, clock
from dashboard.filters import Filters, epoch_us
from dashboard.texts import say, tell, title

COLUMNS = (
    "verdict",
    "partner",
    "trigger",
    "raised",
    "evidence_raised",
    "cleared",
    "cleared_because",
    "evidence_cleared",
)


def show(view: View, filters: Filters, stream: str) -> None:
    """One row a flag, the newest first."""
    result = data.table(view.snapshot, "flag_history", filters, shape=Only(of(stream)))
    titles = data.reason_titles(view.snapshot)
    raised = sum(row["cleared"] is None for row in result.rows)
    panel.table(
        view,
        "flag_history",
        result,
        [told(view, row, titles) for row in result.rows],
        columns=COLUMNS,
        metrics=("flag_history.raised", "flag_history.cleared", "flags.verdict"),
        note=say("flag_history.note", raised=raised, cleared=len(result.rows) - raised) if result.rows else "",
        empty="" if hidden.find(view, filters, stream) is None else hidden.text("flag_history", stream),
    )


def told(view: View, row: Row, titles: dict[str, str]) -> Row:
    """A flag as it reads best: what is not cleared is said to stand."""
    cleared = row["cleared"] is not None
    because = title("flag_history", row["cleared_why"]) if cleared else ""
    return row | {
        "verdict": f"{MARKS.get(row['verdict'], '')} {title('verdict', row['verdict'])}",
        "trigger": "*" if row["trigger"] == "*" else titles.get(row["trigger"], row["trigger"]),
        "raised": local(view, row["raised"]),
        "evidence_raised": tell(
            "flag_history.evidence_raised",
            successes=row["successes"],
            retries=row["retries"],
            bound=style.percent(row["upper_bound"]),
        ),
        "cleared": local(view, row["cleared"]) if cleared else tell("flag_history.open"),
        "cleared_because": because,
        "evidence_cleared": tell(
            "flag_history.evidence_cleared",
            successes=row["cleared_successes"],
            retries=row["cleared_retries"],
            bound=style.percent(row["lower_bound"]),
        )
        if cleared and row["cleared_retries"]
        else "",
    }


def local(view: View, moment: datetime) -> str:
    """A UTC time in the chosen zone."""
    return clock(view.local(epoch_us(moment.replace(tzinfo=UTC))))
