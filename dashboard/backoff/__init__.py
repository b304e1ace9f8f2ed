"""How senders wait before they try again: the rule behind their delays, and whether they all try at once.

`infer` names the rule (immediate, fixed, linear, exponential; with which jitter) from the delays before retry 1, 2,
3..., or says `unclear`. `step` makes the table `backoff` of it.
"""

from __future__ import annotations

from dashboard.backoff.infer import Verdict, infer
from dashboard.backoff.sample import Sample

__all__ = ["Sample", "Verdict", "infer"]
