"""One partner or key: every figure of the other pages, down to single attempts."""

from dataclasses import replace

from dashboard.components import (
    audit,
    breaker_gap,
    breakers,
    funnels,
    header,
    layout,
    limits,
    no_bids,
    notices,
    outcomes,
    partner,
    retries,
)
from dashboard.components.streams import choose_stream
from dashboard.components.view import current

view = current()
header.show(view, "partner")
name = partner.choose(view)
if name is not None:
    filters = replace(view.filters, partners=(name,))
    stream = choose_stream(partner.streams(view, name))
    partner.headline(view, filters, stream)
    retries.flags(view, replace(view.everywhere, partners=filters.partners), stream)
    if stream == "exchange":
        outcomes.over_time(view, filters)
        funnels.show(view, "call", filters)
        left, right = layout.halves()
        with left:
            no_bids.reasons(view, filters)
        with right:
            partner.latency(view, filters)
            retries.fate(view, filters, stream)
        no_bids.over_time(view, filters)
        retries.heatmap(view, filters, stream)
        audit.rules(view, filters, stream)
        partner.load(view, filters, stream)
        breakers.timeline(view, filters)
        breaker_gap.differences(view, filters)
        limits.over_time(view, filters)
        notices.show(view, filters)
        partner.attempts(view, filters)
    else:
        funnels.show(view, "postback", filters)
        limits.postbacks_over_time(view, filters)
        limits.over_time(view, filters)
        retries.heatmap(view, filters, stream)
        audit.rules(view, filters, stream)
        retries.fate(view, filters, stream)
        partner.load(view, filters, stream)
        partner.postbacks(view, name)
