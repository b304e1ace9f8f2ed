"""One order: its postbacks over time, each wait against Retry-After, and the raw columns."""

from dashboard.components import header, order
from dashboard.components.view import current

view = current()
header.show(view, "order")
wanted = order.choose()
found = order.find(view, wanted) if wanted is not None else None
if found is not None:
    order.headline(view, found)
    order.timeline(view, found)
    order.raw(view, found)
elif wanted is not None:
    order.unknown(wanted)
