"""Where auctions leak between request and money."""

from dashboard.components import data, funnels, header, notices
from dashboard.components.view import current

view = current()
header.show(view, "funnel")
for funnel in ("call", "auction", "postback"):
    if funnel != "postback" or data.has_stream(view.snapshot, "postback"):
        funnels.show(view, funnel, view.filters)
if data.has_stream(view.snapshot, "exchange"):
    notices.show(view, view.filters)
