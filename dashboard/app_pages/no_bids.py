"""Why partners declined, and who can do something about it."""

from dashboard.components import header, layout, no_bids
from dashboard.components.view import current

view = current()
header.show(view, "no_bids")
no_bids.headline(view)
no_bids.over_time(view, view.filters)
left, right = layout.halves()
with left:
    no_bids.reasons(view, view.filters)
with right:
    no_bids.ranges(view)
    no_bids.by_partner(view)
no_bids.remedies(view)
