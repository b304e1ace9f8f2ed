"""What pages make of a table's statement: sums, some of its rows, or intervals joined as far as a chart parts them."""

from dataclasses import dataclass
from typing import Self

JOINED = """
select
    {keys},
    min("from") as "from",
    case when count(*) = count("to") then max("to") end as "to",
    count(*)::bigint as intervals,
    (sum(right_us - left_us) / 1000000)::double as seconds{sums}
from (
    select *, count(case when apart then 1 end) over (lane rows unbounded preceding) as bar
    from (
        select
            *,
            coalesce(
                left_us - max(right_us) over (lane rows between unbounded preceding and 1 preceding) >= {gap_us},
                true
            ) as apart
        from (
            select
                *,
                greatest(epoch_us("from"), {start_us}) as left_us,
                greatest(coalesce(least(epoch_us("to"), {ends_us}), {ends_us}), left_us) as right_us,
                right_us > left_us as lasts
            from (
{inner}
            )
        )
        window lane as (partition by {keys}, lasts order by left_us, right_us)
    )
    window lane as (partition by {keys}, lasts order by left_us, right_us)
)
group by {keys}, lasts, bar
order by min(left_us), {keys}
"""


@dataclass(frozen=True)
class Sum:
    """A table summed up: numerators and denominators only, never rates.

    An item is a column, or a name with the SQL expression it stands for.
    """

    by: tuple[str | tuple[str, str], ...]
    sums: tuple[str | tuple[str, str], ...]
    where: str = "true"

    def whole(self) -> Self:
        """The same without a bound on the rows."""
        return self

    def over(self, inner: str) -> str:
        """The statement around the table's own."""
        keys = [f'"{item}"' if isinstance(item, str) else f'{item[1]} as "{item[0]}"' for item in self.by]
        sums = [
            f'sum("{item}")::bigint as "{item}"' if isinstance(item, str) else f'{item[1]} as "{item[0]}"'
            for item in self.sums
        ]
        return f"select {', '.join([*keys, *sums])}\nfrom (\n{inner}\n)\nwhere {self.where}\ngroup by all\norder by all"


@dataclass(frozen=True)
class Only:
    """The rows of a table that meet a condition."""

    where: str

    def whole(self) -> Self:
        """The same without a bound on the rows."""
        return self

    def over(self, inner: str) -> str:
        """The statement around the table's own."""
        return f"select *\nfrom (\n{inner}\n)\nwhere {self.where}"


@dataclass(frozen=True)
class Joined:
    """Intervals of a table (`from`, `to`) as far as a chart can tell them apart, in [start_us, ends_us).

    Those of the same `by` between which less than `gap_us` lie are one row: how many they are, how many seconds they
    last together and the sums, unknown where a part is. What does not last stays apart from what does.
    """

    by: tuple[str, ...]
    sums: tuple[str, ...]
    start_us: int
    ends_us: int
    gap_us: int

    def whole(self) -> Self:
        """The same without a bound on the rows."""
        return self

    def over(self, inner: str) -> str:
        """The statement around the table's own."""
        whole = 'case when count(*) = count("{0}") then sum("{0}")::bigint end as "{0}"'
        return JOINED.strip().format(
            keys=", ".join(f'"{name}"' for name in self.by),
            sums="".join(f",\n    {whole.format(name)}" for name in self.sums),
            start_us=self.start_us,
            ends_us=self.ends_us,
            gap_us=self.gap_us,
            inner=inner,
        )


Shape = Sum | Only | Joined
