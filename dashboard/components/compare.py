"""Figures beside those of an earlier period: which period that is, and by how much a figure changed since."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import streamlit as st

from dashboard.charts import style
from dashboard.components import choices
from dashboard.components.view import MINUTE_US, View, clock
from dashboard.periods import CHOICES, OFF, PREVIOUS, before
from dashboard.texts import in_every_language, say, tell, title

ARROWS = ("▼", "▲")
UP, DOWN = "▲ +", "▼ \u2212"
FINE = 0.05
"""Percentage points below which a step gets a second decimal."""

LEAST = 0.01
"""Percentage points below which a step is told as less than that: +0.00 would read as none."""


@dataclass(frozen=True)
class Amount:
    """A figure as it is compared. `kind`: count, share (compared in percentage points), or ratio.

    `part` and `whole` are what it is made of, where it is a quotient. What single `events` tell is unknown of a time
    whose events are not kept any more.
    """

    kind: str
    value: float | None
    part: float | None = None
    whole: float | None = None
    events: bool = False


def choose() -> str:
    """The widget: what the figures are compared with."""
    titles = {name: title("compare.with", name) for name in CHOICES}
    key = choices.recall("compare", titles, lambda name: in_every_language(f"compare.with.{name}"))
    chosen = st.selectbox(
        tell("compare.label"),
        list(CHOICES),
        CHOICES.index(PREVIOUS),
        format_func=lambda name: titles.get(name, name),
        key=key,
        bind="query-params",
        help=say("compare.help"),
    )
    return chosen or PREVIOUS


def earlier(view: View) -> View | None:
    """The view in the earlier period; None where nothing is compared, or the range has no begin."""
    start, newest = view.filters.frm_us, view.snapshot.span("all").newest_us
    if start is None or newest is None:
        return None
    newest_end = (newest // MINUTE_US + 1) * MINUTE_US
    end = newest_end if view.filters.to_us is None else view.filters.to_us
    period = before(start, end, newest_end, view.compare, view.filters.zone)
    if period is None:
        return None
    filters = replace(view.filters, frm_us=period[0], to_us=period[1])
    return replace(view, filters=filters, start_us=period[0], end_us=period[1], compare=OFF, before=None)


def begin_of_data(view: View) -> int | None:
    """Since when all streams of the warehouse tell something."""
    firsts = [span.first_us for name, span in view.snapshot.streams.items() if name != "all"]
    return max((first for first in firsts if first is not None), default=None)


def is_whole(past: View) -> bool:
    """Whether the data cover the earlier period from its begin on, to the minute."""
    begin = begin_of_data(past)
    return begin is not None and past.start_us is not None and begin < past.start_us + MINUTE_US


def is_empty(past: View) -> bool:
    """Whether the earlier period ended before the data begin."""
    first = past.snapshot.span("all").first_us
    return first is None or past.end_us is None or past.end_us <= first


def note(view: View) -> str:
    """With which period the figures are compared, or why with none; nothing where that was not asked for."""
    if view.compare == OFF or view.end_us is None:
        return ""
    past = view.before
    if past is None:
        return say("compare.no_begin" if view.filters.frm_us is None else "compare.no_time")
    first = view.snapshot.span("all").first_us or 0
    texts = {"period": period(past), "zone": view.filters.zone, "first": clock(view.local(first))}
    if is_empty(past):
        return say("compare.no_data", **texts)
    parts = [say("compare.compared", **texts)]
    if not is_whole(past):
        parts.append(say("compare.partial", first=clock(view.local(begin_of_data(past) or 0))))
    return " ".join(parts)


def period(view: View) -> str:
    """From when to when a view looks, in its zone."""
    start, end = (clock(view.local(moment or 0)).removesuffix(":00") for moment in (view.start_us, view.end_us))
    return f"{start} - {end}"


def known(past: View, amount: Amount) -> Amount:
    """A figure of the earlier period; unknown where the data do not cover it, or are not kept."""
    gone = amount.events and past.snapshot.gone_before(past.start_us) is not None
    partly = amount.kind == "count" and not is_whole(past)
    return replace(amount, value=None) if gone or partly or is_empty(past) else amount


def changes(view: View, now: Mapping[str, Amount], then: Mapping[str, Amount]) -> dict[str, tuple[str, str]]:
    """For each figure its change, and the earlier figure in full for who asks; both as markdown."""
    past = view.before
    if past is None:
        return {}
    found = {}
    for name, amount in now.items():
        other = known(past, then[name]) if name in then else Amount(amount.kind, None)
        found[name] = (change(amount, other), full(past, other))
    return found


def change(now: Amount, then: Amount) -> str:
    """▲ +2.1 pp from 43.0% (n 11.9k): arrow and sign tell the direction. Where either is unknown, that is said."""
    if then.value is None:
        return say("compare.unknown_before")
    step = None if now.value is None else difference(now.kind, now.value, then.value)
    key = "was" if now.value is None else "unchanged" if step is None else "changed"
    told = say(f"compare.{key}", was=write(then.kind, then.value), step=step)
    return told if then.whole is None else f"{told} {say('compare.n', n=style.short(then.whole))}"


def difference(kind: str, now: float, then: float) -> str | None:
    """The step between two values that do not read the same, with its direction; None between two that do."""
    if write(kind, now) == write(kind, then):
        return None
    step = now - then
    if kind == "share":
        points = 100 * abs(step)
        value = style.number(points, ",.1f" if points >= FINE else ",.2f")
        if points < LEAST:
            return tell("compare.points", value=f"{ARROWS[step > 0]} <{style.number(LEAST, '.2f')}")
        text = tell("compare.points", value=value)
    else:
        text = write(kind, abs(step))
        text += f" ({style.percent(abs(step) / abs(then))})" if then else ""
    return f"{UP if step > 0 else DOWN}{text}"


def write(kind: str, value: float) -> str:
    """A figure as its tile writes it."""
    if kind == "share":
        return style.percent(value)
    return style.short(value) if kind == "count" else style.number(value, ".3f")


def full(past: View, then: Amount) -> str:
    """The earlier figure with its numerator and denominator, and its period."""
    value = style.unknown() if then.value is None else write(then.kind, then.value)
    if then.part is not None and then.whole is not None:
        value = f"{value}, {style.of(style.count(then.part), style.count(then.whole))}"
    elif then.kind == "count" and then.value is not None:
        value = style.count(then.value)
    return say("compare.full", period=period(past), zone=past.filters.zone, value=value)
