"""What another retry policy would have saved and cost."""

from dashboard.components import header, layout, panel, whatif, whatif_estimate, whatif_policy
from dashboard.components.view import current

view = current()
header.show(view, "whatif")
policy = whatif_policy.choose(view)
found = whatif.replay(view, policy)
if found.totals["calls_hidden"] and not found.totals["attempts_before"]:
    whatif.all_hidden(found)
elif found.partners:
    whatif.measured(view)
    whatif.headline(view, policy, found)
    left, right = layout.halves()
    with left:
        whatif.partners(view, policy, found)
    with right:
        whatif.triggers(view, policy, found)
    whatif.losses(view, policy, found)
    whatif_estimate.estimate(view, policy, found)
else:
    panel.nothing("whatif.no_calls")
