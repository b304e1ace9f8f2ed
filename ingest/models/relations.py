"""The relations of a warehouse: which model makes each, from what, and when it is made again.

A *keyed* pass recomputes everything about the keys that a load touched (an auction id, an order, a conversion);
an *hourly* model depends on the attempts of its own hour only; a *whole* one is small and made anew each time; *pieces*
are of an hour too, but depend on the whole ones; *windows* are of the postbacks of an hour; what is *joined* brings the
stored rows of two keyed passes together; *states* are worked out in the order of time, from the earliest touched hour
on; a *cube* sums a base relation by minute, and the minutes by hour. Rows are stored in parts (a day or an hour of a
relation), which is what a load rewrites.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

FACTS = ("attempts", "auctions", "notices", "breaker_events", "postbacks")
HOUR_US = 3_600_000_000
DAY_US = 24 * HOUR_US
MINUTE_US = 60_000_000


@dataclass(frozen=True)
class Keyed:
    """Models recomputed together for the touched keys.

    `keys` names the key columns and gives their SQL over each fact relation; a fact whose `needed` key is NULL
    stands alone. `sliced_by` is SQL over the facts, in which those of one key agree: a large pass is cut by it.
    `beside` names, by relation, the SQL of a second key that pulls in further facts to judge by: they are read with
    the others, but their own rows are not made again.
    """

    name: str
    needed: str
    keys: dict[str, dict[str, str]]
    steps: tuple[str, ...]
    stored: tuple[str, ...]
    sliced_by: str | None = None
    beside: dict[str, str] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(next(iter(self.keys.values())))

    def is_touched(self, keys: Mapping[str, str]) -> str:
        """The condition that a row, which gives `keys` by this SQL, has the key of a row of `touched`.

        The needed key is compared by `=`, which parts are pruned by: without it a row is never touched.
        """
        return " and ".join(
            f"{sql} {'=' if name == self.needed else 'is not distinct from'} touched.key_{name}"
            for name, sql in keys.items()
        )

    @property
    def is_old(self) -> str:
        """The same of a stored row `old`."""
        return self.is_touched({name: f"old.{name}" for name in self.columns})


@dataclass(frozen=True)
class Cube:
    """Additive counts of base relations: `minute_<name>` and `hour_<name>`.

    `bases` maps a base relation to the column (epoch microseconds) that places its rows in time; `moved_by` names
    the relations whose touched hours are the cube's, where they are not the bases. `later` says that a base row may
    stand where its notice came, up to notice_days after the time that places it.
    """

    name: str
    bases: dict[str, str]
    moved_by: tuple[str, ...] = ()
    later: bool = False

    @property
    def touched_by(self) -> tuple[str, ...]:
        return self.moved_by or tuple(self.bases)


EXCHANGE = Keyed(
    name="exchange",
    needed="auction_id",
    keys={relation: {"auction_id": "auction_id"} for relation in ("attempts", "auctions", "notices")},
    steps=(
        "breaker_hours",
        "auction_heads",
        "call_starts",
        "call_attempts",
        "only_bidders",
        "placed_notices",
        "notice_calls",
        "call_proofs",
        "call_losses",
        "calls",
        "retries",
        "auction_stages",
        "deliveries",
        "auction_clicks",
        "chain_steps",
        "chain_ends",
    ),
    stored=("calls", "retries", "auction_stages", "deliveries", "auction_clicks", "chain_steps", "chain_ends"),
    sliced_by="auction_id",
)

ORDERS = Keyed(
    name="orders",
    needed="external_order_id",
    keys={
        "postbacks": {
            "tenant": "coalesce(tenant, key_id)",
            "event_type": "event_type",
            "external_order_id": "external_order_id",
        }
    },
    steps=("order_posts", "orders", "order_retries", "order_clicks", "faulty_orders"),
    stored=("orders", "order_retries", "order_clicks", "faulty_orders"),
    sliced_by="external_order_id",
)

CONVERSIONS = Keyed(
    name="conversions",
    needed="group_key",
    keys={
        "postbacks": {
            "group_key": "x_group_key(outcome, tenant, key_id, event_type, external_order_id, conversion_id)",
        }
    },
    steps=("postback_results",),
    stored=("postback_results",),
    beside={"postbacks": "x_order_key(outcome, tenant, key_id, event_type, external_order_id)"},
)

SIGNATURES = Keyed(
    name="signatures",
    needed="signature_hash",
    keys={"postbacks": {"key_id": "key_id", "signature_hash": "signature_hash"}},
    steps=("replays",),
    stored=("replays",),
)

IDEMPOTENCY = Keyed(
    name="idempotency",
    needed="idempotency_key",
    keys={"postbacks": {"key_id": "key_id", "idempotency_key": "idempotency_key"}},
    steps=("key_reuses",),
    stored=("key_reuses",),
)

KEYED = (EXCHANGE, ORDERS, CONVERSIONS, SIGNATURES, IDEMPOTENCY)
HOURLY = ("hour_nodes", "hour_latency", "breaker_marks")
WHOLE = ("breaker_states",)
PIECES = ("breaker_pieces",)
#: What the pieces are made of, of a load alone.
CUTS = ("breaker_cuts",)
WINDOWS = ("window_pieces",)
JOINED = ("converted",)
STATES = ("expected_pieces", "throttles", "wasted_requests", "repeats", "placement_tails")
CUBES = (
    Cube("attempts", {"attempts": "epoch_us(ts)"}),
    Cube("calls", {"calls": "call_us", "orders": "call_us"}),
    Cube("retries", {"retries": "call_us", "order_retries": "call_us"}),
    Cube("budgets", {"retries": "call_us"}),
    Cube("rescues", {"deliveries": "call_us"}, moved_by=("calls",), later=True),
    Cube("notices", {"deliveries": "us"}),
    Cube("auctions", {"auction_stages": "us"}),
    Cube("converted", {"converted": "us"}),
    Cube("postbacks", {"postback_results": "us"}),
    Cube("audit", {"calls": "call_us", "orders": "call_us", "repeats": "us"}),
    Cube("chains", {"chain_steps": "call_us"}),
    Cube("ends", {"chain_ends": "call_us"}),
    Cube("waits", {"throttles": "us"}),
    Cube("wasted", {"wasted_requests": "us"}),
)

#: Models of the calls of single auctions: a reader runs them to judge the attempts of one auction.
JUDGED = ("breaker_hours", "auction_heads", "call_starts", "call_attempts")

#: Everything a reader finds in the snapshot, `rejects` and `line_hashes` included.
STORED = (
    *FACTS,
    *(relation for keyed in KEYED for relation in keyed.stored),
    *HOURLY,
    *WHOLE,
    *PIECES,
    *WINDOWS,
    *JOINED,
    *STATES,
    *(f"{grain}_{cube.name}" for cube in CUBES for grain in ("minute", "hour")),
    "rejects",
    "line_hashes",
)


@cache
def model_sql(name: str) -> str:
    """Text of the model `name`, one select statement."""
    return files("ingest.models").joinpath(f"{name}.sql").read_text(encoding="utf-8")
