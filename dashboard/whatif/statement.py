"""Statements about a policy: the SQL files beside this one, with the policy as a relation before them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from dashboard.filters import Filters
from dashboard.snapshot import Snapshot
from dashboard.tables.compose import compose
from dashboard.tables.context import Context, texts
from dashboard.tables.spec import Table
from dashboard.whatif.policy import TRIGGERS, Policy, Rules

FOLDER = Path(__file__).parent
STEPS = "policy_steps"

Row = dict[str, Any]


@dataclass(frozen=True)
class Statement(Table):
    """A statement of this folder, which may name the relations of `policy_steps.sql`."""

    folder: Path = FOLDER

    @cached_property
    def body(self) -> str:
        """The statement with the retries under the policy before it."""
        steps = Table(STEPS, self.folder).body
        own = Table(self.name, self.folder).body
        return f"{steps},\n\n{own.removeprefix('with ')}"


def sql(snapshot: Snapshot, name: str, policy: Policy, filters: Filters, *, pruned: bool = False) -> str:
    """The statement `name` for a policy; it runs as it stands in a DuckDB shell opened on the snapshot."""
    text = compose(Statement(name), Context(snapshot, filters, pruned=pruned))
    return f"with {rules_sql(policy)},\n\n{text.removeprefix('with ')}"


def fetch(
    snapshot: Snapshot, name: str, policy: Policy, filters: Filters
) -> tuple[tuple[str, ...], tuple[str, ...], list[tuple[Any, ...]]]:
    """Columns, engine types and rows of the statement `name`."""
    with snapshot.cursor() as cursor:
        cursor.execute(sql(snapshot, name, policy, filters, pruned=True))
        columns = tuple(column[0] for column in cursor.description)
        types = tuple(str(column[1]) for column in cursor.description)
        return columns, types, cursor.fetchall()


def rows(snapshot: Snapshot, name: str, policy: Policy, filters: Filters) -> list[Row]:
    """Rows of the statement `name`: counts are int, rates and ms float, money by currency a dict of Decimal."""
    columns, _, values = fetch(snapshot, name, policy, filters)
    return [dict(zip(columns, row, strict=True)) for row in values]


def template(name: str, values: Mapping[str, object]) -> str:
    """The file `name` with what stands in braces filled in."""
    return (FOLDER / f"{name}.sql").read_text(encoding="utf-8").format(**values)


def rules_sql(policy: Policy) -> str:
    """The policy as a relation: a row for everyone, whose partner is NULL, and one for each partner with its own."""
    listed = [_rules("null::varchar", policy.default)]
    listed += [_rules(texts((partner,)), policy.partners[partner]) for partner in sorted(policy.partners)]
    rules = ",\n        ".join(listed)
    return (
        "policy_rules as (\n    select *\n    from (\n        values\n"
        f"        {rules}\n    ) as listed (partner, triggers, max_retries, budget_guard)\n)"
    )


def _rules(partner: str, rules: Rules) -> str:
    if rules.triggers is None:
        allowed = "null::varchar[]"
    else:
        allowed = f"[{texts([trigger for trigger in TRIGGERS if trigger in rules.triggers])}]::varchar[]"
    most = "null" if rules.max_retries is None else str(rules.max_retries)
    return f"({partner}, {allowed}, {most}::bigint, {str(rules.budget_guard).lower()})"
