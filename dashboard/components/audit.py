"""Which rules of sane retrying were broken, how often, and by which calls, orders and auctions."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

import streamlit as st

from dashboard.charts import style
from dashboard.components import data, grid, hidden, links, panel
from dashboard.components.data import Result, Row
from dashboard.components.retries import of
from dashboard.components.shapes import Only, Sum
from dashboard.components.view import View
from dashboard.filters import Filters
from dashboard.tables.context import equals
from dashboard.texts import say, table, tell, title

MOST_CASES = 100
SEVERITIES = ("harmful", "duplicate", "risk", "load", "late", "waste")
COLUMNS = ("rule_text", "severity", "violations", "checked", "share", "worst", "remedy")
CALL_RULES = ("R1", "R2", "R3", "R4", "R5", "R6", "R7", "R8", "R12")
UNJUDGED = {"exchange": ("R5", "R6", "R7", "R9", "R10", "R12"), "postback": ("R10", "R11")}
"""Rules that need more than the retries themselves: those that miss are named."""

BY_RULE = (
    "violations",
    "checked",
    ("worst", "arg_max(partner, (violations, partner)) filter (violations > 0 and partner is not null)"),
)


@dataclass(frozen=True)
class Cases(Only):
    """The newest rows that meet a condition, by `keys`; each with the triggers of its rows in `retries`, if named."""

    keys: tuple[str, ...] = ()
    retries: str = ""
    most: int | None = MOST_CASES

    def whole(self) -> Self:
        """The same without a bound on the rows."""
        return replace(self, most=None)

    def over(self, inner: str) -> str:
        """The statement around the table's own."""
        order = ", ".join(("ts desc", *self.keys))
        picked = f"{super().over(inner)}\norder by {order}" + ("" if self.most is None else f"\nlimit {self.most}")
        if not self.retries:
            return picked
        same = " and ".join(f"told.{key} is not distinct from picked.{key}" for key in (*self.keys, "call_us"))
        return (
            f"with picked as (\n{picked}\n)\n"
            "select picked.* exclude (call_us), triggers\nfrom picked\nleft join (\n"
            f"select {', '.join(self.keys)}, call_us, list(trigger order by retry_no) as triggers\n"
            f"from {self.retries}\n"
            "where call_us between (select min(call_us) from picked) and (select max(call_us) from picked)\n"
            f"group by all\n) as told on {same}\norder by {order}"
        )


def rules(view: View, filters: Filters, stream: str) -> None:
    """A row for each rule; a click on one opens what is behind it."""
    result = data.table(view.snapshot, "audit", filters, shape=Sum(("rule", "severity"), BY_RULE, of(stream)))
    found = sorted(result.rows, key=worst_first)
    chosen: list[Row] = []
    panel.table(
        view,
        "audit",
        result,
        [told(row, stream) for row in found],
        columns=COLUMNS,
        metrics=("audit.violations", "audit.checked", "audit.share"),
        note=say("audit.pick") if found else "",
        on_select=lambda index: chosen.append(found[index]),
    )
    unjudged(view, filters, stream, {row["rule"] for row in found})
    if chosen:
        cases(view, filters, stream, chosen[0])


def worst_first(row: Row) -> tuple[object, ...]:
    """Broken rules by severity and number, then those that were kept."""
    return (not row["violations"], SEVERITIES.index(row["severity"]), -row["violations"], rank(row["rule"]))


def rank(rule: str) -> int:
    """R2 before R10."""
    return int(rule.removeprefix("R"))


def told(row: Row, stream: str) -> Row:
    """A rule in words, with its share and who can do what about it."""
    return row | {
        "rule_text": words("rule", row, stream),
        "severity": title("severity", row["severity"]),
        "share": style.ratio(row["violations"], row["checked"]),
        "worst": row["worst"] or tell("audit.kept" if not row["violations"] else "audit.nobody"),
        "remedy": words("rule_remedy", row, stream),
    }


def words(group: str, row: Row, stream: str) -> str:
    """The text for a rule in a group: its own for the severity or for the stream, where it has one."""
    known = table(group)
    names = (f"{row['rule']}_{row['severity']}", f"{row['rule']}_{stream}", row["rule"])
    return next(known[name] for name in names if name in known)


def unjudged(view: View, filters: Filters, stream: str, judged: set[str]) -> None:
    """Says of each rule that could not be judged what the logs would have to tell."""
    sent = data.table(view.snapshot, "calls", filters, shape=Only(of(stream)))
    if not sent.total("calls_sent"):
        return
    lines = []
    unseen = hidden.find(view, filters, stream)
    if unseen is not None:
        lines.append(say(f"unjudged.hidden{'_postback' if stream == 'postback' else ''}", hidden=unseen.hidden))
        if stream == "exchange" and "R10" in judged:
            lines.append(say("unjudged.hidden_R10"))
    elif not sent.total("retries"):
        lines.append(say("audit.no_retries"))
    for rule in UNJUDGED[stream]:
        needs_retries = rule not in ("R7", "R9", "R10", "R12")
        if rule not in judged and (sent.total("retries") or not needs_retries):
            lines.append(say(f"unjudged.{reason(view, filters, rule)}"))
    if lines:
        st.caption("\n".join([say("unjudged.title"), "", *(f"- {line}" for line in lines)]))


def reason(view: View, filters: Filters, rule: str) -> str:
    """Which text says why a rule was not judged."""
    if rule != "R9":
        return rule
    if filters.partners:
        return "R9_partner"
    [columns] = data.table(view.snapshot, "audit_columns", Filters()).rows
    return "R9_none" if columns["placements"] else "R9"


def cases(view: View, filters: Filters, stream: str, row: Row) -> None:
    """What broke the rule, newest first; a click on a row opens its requests."""
    name, shape = source(stream, row)
    result = data.table(view.snapshot, name, filters, shape=shape)
    titles = data.reason_titles(view.snapshot)
    picked: list[Row] = []
    panel.table(
        view,
        "audit_cases",
        result,
        [case(one, row, titles) for one in result.rows],
        columns=[named(name, row) for name in result.columns if shown(name, row, stream)],
        metrics=("audit.violations",),
        note=f"**{words('rule', row, stream)}** · {say('audit.case_note', rows=len(result.rows))}"
        if result.rows
        else "",
        on_select=lambda index: picked.append(result.rows[index]),
        absent=grid.ABSENT,
    )
    if not picked:
        return
    if picked[0].get("auction_id") is not None:
        attempts(view, picked[0])
    elif picked[0].get("external_order_id") is not None:
        postbacks(view, picked[0])


def source(stream: str, row: Row) -> tuple[str, Cases]:
    """The table that holds a rule's cases, and which of its rows they are."""
    rule = row["rule"]
    if rule == "R10":
        return "audit_waits", Cases(f"{of(stream)} and verdict = 'early'", ("partner", "endpoint", "auction_id"))
    if stream == "postback":
        keys = ("tenant", "event_type", "external_order_id")
        return "audit_orders", Cases(f"{rule.lower()} > 0", keys, "order_retries")
    if rule == "R9":
        return "audit_auctions", Cases("hammering = 1", ("auction_id",))
    return "audit_calls", Cases(f"{column(row)} > 0", ("auction_id", "partner"), "retries")


def column(row: Row) -> str:
    """The column of calls and orders that counts a rule."""
    rule = str(row["rule"]).lower()
    return f"{rule}_{row['severity']}" if rule == "r1" else rule


def shown(name: str, row: Row, stream: str) -> bool:
    """Whether a case shows a column: what tells requests of its stream apart, and the count of the chosen rule."""
    other = "external_order_id" if stream == "exchange" else "auction_id"
    return name not in ("stream", "hammering", other) and (not is_count(name) or name == column(row))


def is_count(name: str) -> bool:
    """Whether a column counts how often a rule was broken."""
    return name.partition("_")[0].upper() in (*CALL_RULES, "R9", "R11")


def named(name: str, row: Row) -> str:
    """The count of the chosen rule stands as its violations."""
    return "violations" if name == column(row) else name


def case(row: Row, rule: Row, titles: Mapping[str, str]) -> Row:
    """A case as it reads best."""
    found = {named(name, rule): value for name, value in row.items()}
    if "triggers" in row:
        found["triggers"] = [titles.get(name, title("postback", name)) for name in row["triggers"] or ()]
    if "verdict" in row:
        found["verdict"] = title("wait", row["verdict"])
    return found


def attempts(view: View, chosen: Row) -> None:
    """The sent attempts of an auction, each with the rules that it broke."""
    result = data.table(view.snapshot, "audit_attempts", Filters(auction=chosen["auction_id"], zone=view.filters.zone))
    titles = data.reason_titles(view.snapshot)
    rows = [
        row | {name: titles.get(row[name], row[name]) for name in ("trigger", "outcome", "reason")}
        for row in result.rows
    ]
    panel.table(view, "audit_attempts", result, rows, metrics=("budget.left",), absent=grid.ABSENT)
    links.to_auction(view, chosen["auction_id"])


def postbacks(view: View, chosen: Row) -> None:
    """The postbacks of an order."""
    filters = Filters(order=chosen["external_order_id"], zone=view.filters.zone)
    result: Result = data.table(view.snapshot, "postbacks", filters, shape=Only(same_order(chosen)))
    panel.table(view, "audit_postbacks", result, result.rows, absent=grid.ABSENT)
    if "tenant" in chosen:
        links.to_order(view, chosen)


def same_order(chosen: Row) -> str:
    """SQL condition on the postbacks of the chosen order, or of the key that was told to wait."""
    if "tenant" not in chosen:
        return equals("key_id", chosen["partner"])
    tenant = equals("coalesce(tenant, key_id)", chosen["tenant"])
    return f"{tenant} and {equals('event_type', chosen['event_type'])}"
