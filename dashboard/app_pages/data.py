"""The weekly report, what was loaded and refused, and what every figure means."""

from dashboard.components import header, incident_list, loads
from dashboard.components.view import current

view = current()
header.show(view, "data")
loads.freshness(view)
loads.weekly(view)
loads.loads(view)
loads.rejects(view)
incident_list.marks(view)
loads.dictionary(view)
