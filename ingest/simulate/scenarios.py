"""Named worlds: which partners and keys take part, and which notices exist."""

from __future__ import annotations

from dataclasses import dataclass

from ingest.simulate import keys, partners


@dataclass(frozen=True)
class Scenario:
    """What takes part in a run."""

    about: str
    partners: tuple[partners.Partner, ...] = ()
    keys: tuple[keys.Key, ...] = ()
    billing: bool = True
    """Without billing notices an impression is the proof of money."""


SCENARIOS: dict[str, Scenario] = {
    "default": Scenario("every partner character, every outcome, every kind of key", partners.ALL, keys.ALL),
    "healthy": Scenario(
        "partners that answer well; impressions instead of billing notices; no postbacks",
        (partners.HEALTHY, partners.PLAIN, partners.EURO),
        billing=False,
    ),
    "storm": Scenario(
        "503 storms and breaker trips beside a healthy partner",
        (partners.HEALTHY, partners.STORMY, partners.MARKED),
        (keys.BEHAVING,),
    ),
    "throttle": Scenario(
        "429s on both streams: a throttling partner, a key that waits and one that hammers",
        (partners.HEALTHY, partners.THROTTLING, partners.SLOW),
        (keys.BEHAVING, keys.HAMMERING),
    ),
    "postbacks": Scenario("postbacks alone, of every kind of key", keys=keys.ALL),
}
