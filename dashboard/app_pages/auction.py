"""One auction: every attempt on its time budget, with verdicts, what became of it, and the raw columns."""

from dashboard.components import auction, auction_after, auction_timeline, auction_verdicts, header
from dashboard.components.view import current

view = current()
header.show(view, "auction")
wanted = auction.choose()
found = auction.find(view, wanted) if wanted is not None else None
if found is not None:
    auction.headline(view, found)
    auction_timeline.show(view, found)
    if found.rows:
        labels = [auction_timeline.what(row) for row in found.rows]
        auction_verdicts.show(view, found.id, found.result, found.rows, labels)
        auction_after.calls(view, found)
    auction_after.notices(view, found)
    auction_after.raw(view, found)
elif wanted is not None:
    auction.unknown(wanted)
