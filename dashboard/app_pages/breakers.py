"""Which breakers opened, for how long, what they stopped, and what they should have done."""

from dashboard.components import breaker_gap, breakers, header, incident_list
from dashboard.components.view import current

view = current()
header.show(view, "breakers")
breakers.headline(view, view.filters)
breaker_gap.differences(view, view.filters)
breakers.timeline(view, view.filters)
breakers.summary(view, view.filters)
incident_list.show(view, view.filters)
