"""Which breakers opened, for how long, and what they stopped."""

from dashboard.components import breakers, header
from dashboard.components.view import current

view = current()
header.show(view, "breakers")
breakers.headline(view, view.filters)
breakers.timeline(view, view.filters)
breakers.summary(view, view.filters)
