"""Who sells ad space: the sources of the auctions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Source:
    """One seller of ad space; `budget` in ms, `told` says where the logs tell it: attempts, auctions or nowhere."""

    name: str
    placements: tuple[str, ...]
    region: str
    budget: int
    told: str


SOURCES = (
    Source("app-eu", ("feed", "banner-top"), "eu-west", 300, "attempts"),
    Source("web-us", ("sidebar", "video-pre"), "us-east", 260, "auctions"),
    Source("ctv-us", ("pod-1",), "us-east", 500, "attempts"),
    Source("web-eu", ("article", "sidebar"), "eu-west", 170, "attempts"),
    Source("legacy", ("slot-1",), "ap-south", 220, "nowhere"),
)
