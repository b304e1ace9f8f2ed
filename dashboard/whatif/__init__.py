"""What-if: the logged retries under another policy, and the policy that applies the flags of this moment.

`parse` and `read` give a `Policy`, `replay` what it would have changed, `flag_policy` the policy of the flags. What a
policy removes is exact; what it adds is an estimate and is labelled as one.
"""

from __future__ import annotations

from dashboard.whatif.flags import flag_policy
from dashboard.whatif.parse import parse, read
from dashboard.whatif.policy import ANYTHING, TRIGGERS, Breaker, Policy, Rules
from dashboard.whatif.replay import Replay, replay

__all__ = [
    "ANYTHING",
    "TRIGGERS",
    "Breaker",
    "Policy",
    "Replay",
    "Rules",
    "flag_policy",
    "parse",
    "read",
    "replay",
]
