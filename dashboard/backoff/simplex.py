"""The simplex search of Nelder and Mead for many beginnings at once: a step of all costs about that of one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dashboard.backoff.sample import Floats

Places = NDArray[np.int64]


def downhill(
    cost: Callable[[Places, Floats], Floats],
    starts: Floats,
    sizes: Floats,
    free: NDArray[np.bool_],
    steps: int = 120,
    tolerance: float = 0.05,
) -> Floats:
    """The cheapest vector that each search finds; it begins with a start and a corner one step away in each direction.

    `starts`, `sizes` and `free` have a row for each search; directions that are not free are never gone. `cost` is
    asked for vectors, each with the place of its search. A search ends when its corners cost about the same.
    """
    dims = free.sum(axis=1)
    points, costs = _corners(cost, starts, sizes, free)
    every = np.arange(len(starts))
    going = every
    for _ in range(steps):
        order = np.argsort(costs[going], axis=1, kind="stable")
        points[going] = np.take_along_axis(points[going], order[:, :, None], axis=1)
        costs[going] = np.take_along_axis(costs[going], order, axis=1)
        going = going[costs[going, dims[going]] - costs[going, 0] >= tolerance]
        if not len(going):
            break
        _step(cost, points, costs, dims, going)
    return np.asarray(points[every, np.argmin(costs, axis=1)])


def _corners(
    cost: Callable[[Places, Floats], Floats], starts: Floats, sizes: Floats, free: NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """The corners of each simplex and what they cost; those beyond its directions cost no end."""
    searches, width = starts.shape
    points = starts[:, None, :].repeat(width + 1, axis=1)
    rows, directions = np.nonzero(free)
    corners = free.cumsum(axis=1)[rows, directions]
    points[rows, corners, directions] += sizes[rows, directions]
    costs = np.full((searches, width + 1), np.inf)
    used = np.arange(width + 1) <= free.sum(axis=1)[:, None]
    owners, places = np.nonzero(used)
    costs[owners, places] = cost(owners, points[owners, places])
    return points, costs


def _step(cost: Callable[[Places, Floats], Floats], points: Floats, costs: Floats, dims: Places, going: Places) -> None:
    """Move the worst corner of each search that goes on; its corners are in the order of their costs."""
    last = dims[going]
    worst, worst_cost = points[going, last], costs[going, last]
    others = np.arange(points.shape[1]) < last[:, None]
    centre = (points[going] * others[:, :, None]).sum(axis=1) / last[:, None]
    reflected = 2 * centre - worst
    value = cost(going, reflected)
    is_best = value < costs[going, 0]
    is_fair = ~is_best & (value < costs[going, last - 1])
    nearer = (centre + np.where((value < worst_cost)[:, None], reflected, worst)) / 2
    second = np.where(is_best[:, None], 3 * centre - 2 * worst, nearer)
    there = np.full(len(going), np.inf)
    asked = np.flatnonzero(~is_fair)
    there[asked] = cost(going[asked], second[asked])
    takes_second = there < np.where(is_best, value, np.minimum(value, worst_cost))
    takes_first = (is_best | is_fair) & ~takes_second
    moved = takes_first | takes_second
    chosen = np.where(takes_second[:, None], second, reflected)
    points[going[moved], last[moved]] = chosen[moved]
    costs[going[moved], last[moved]] = np.where(takes_second, there, value)[moved]
    shrinking = going[~moved]
    if len(shrinking):
        points[shrinking, 1:] = (points[shrinking, 1:] + points[shrinking, :1]) / 2
        held = (np.arange(points.shape[1]) <= dims[shrinking][:, None]) & (np.arange(points.shape[1]) > 0)
        rows, places = np.nonzero(held)
        costs[shrinking[rows], places] = cost(shrinking[rows], points[shrinking[rows], places])
