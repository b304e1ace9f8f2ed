"""Who throttles whom, and whether conversions arrive once and only once."""

from dashboard.components import data, funnels, header, limits
from dashboard.components.view import current

view = current()
header.show(view, "limits")
limits.headline(view, view.filters)
limits.over_time(view, view.filters)
limits.rates(view, view.filters)
if data.has_stream(view.snapshot, "postback"):
    funnels.show(view, "postback", view.filters)
    limits.postbacks_over_time(view, view.filters)
