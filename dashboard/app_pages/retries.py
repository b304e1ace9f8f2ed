"""Whether retries earn anything, or only add load."""

from dashboard.components import audit, budget, flag_history, header, layout, retries, retry_tiles
from dashboard.components.streams import choose_stream, of_warehouse
from dashboard.components.view import current

view = current()
header.show(view, "retries")
stream = choose_stream(of_warehouse(view))
retry_tiles.headline(view, stream)
retries.flags(view, view.everywhere, stream)
audit.rules(view, view.filters, stream)
retries.heatmap(view, view.filters, stream)
left, right = layout.halves()
with left:
    retries.successes(view, stream)
with right:
    retries.amplification(view, stream)
retries.amplification_time(view, stream)
retries.fate(view, view.filters, stream)
if stream == "exchange":
    budget.left(view, view.filters)
    left, right = layout.halves()
    with left:
        budget.late(view, view.filters)
    with right:
        budget.rescued(view, view.filters)
flag_history.show(view, view.everywhere, stream)
