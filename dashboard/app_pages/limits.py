"""Who throttles whom, and whether conversions arrive once and only once."""

import streamlit as st

from dashboard.components import (
    data,
    funnels,
    header,
    layout,
    limits,
    orders,
    senders,
    signatures,
    throttles,
    windows,
)
from dashboard.components.view import current
from dashboard.texts import tell

view = current()
header.show(view, "limits")
limits.headline(view, view.filters)
postbacks = data.has_stream(view.snapshot, "postback")

if postbacks:
    st.header(tell("limits.orders"), anchor=False)
    orders.ledger(view, view.filters)
    left, right = layout.halves()
    with left:
        orders.fault_kinds(view, view.filters)
    with right:
        orders.states(view, view.filters)
    orders.faults(view, view.filters)
    orders.times(view, view.filters)

st.header(tell("limits.refusals"), anchor=False)
left, right = layout.halves()
with left:
    throttles.verdicts(view, view.filters)
with right:
    throttles.delays(view, view.filters)
throttles.keys(view, view.filters)
limits.over_time(view, view.filters)
limits.rates(view, view.filters)

if postbacks:
    st.header(tell("limits.windows"), anchor=False)
    windows.peaks(view, view.filters)
    windows.over_time(view, view.filters)
    windows.fullest(view, view.filters)

st.header(tell("limits.senders"), anchor=False)
rules = st.container()
if postbacks:
    signatures.keys(view, view.filters)
    signatures.skews(view, view.filters)
    st.header(tell("limits.arrival"), anchor=False)
    funnels.show(view, "postback", view.filters)
    limits.postbacks_over_time(view, view.filters)

with rules:  # last, for it may take seconds the first time: the rest is there to be read meanwhile
    senders.backoff(view, view.filters)
