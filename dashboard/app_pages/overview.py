"""What needs attention first, then the figures, then the partners."""

from dashboard.components import data, header, outcomes, overview
from dashboard.components.view import current

view = current()
header.show(view, "overview")
overview.needs_attention(view)
overview.headline(view)
if data.has_stream(view.snapshot, "exchange"):
    outcomes.groups_over_time(view, view.filters)
overview.partners(view)
