"""Which exchanges find both nodes there and free: churn, crashes and exchanges under way.

Time is counted in exchanges that ring, from 1 on. `find_lost` and `leave_out` are plain Python that
numba compiles; all that they draw comes from an array, so that both forms find the same.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from pairgossip.arrays import BoolArray, FloatArray, IntArray, PairArray
from pairgossip.faults.network import FaultyNetwork


class Presence(NamedTuple):
    """Who is there; arrays are over sites, or nodes where each is its own."""

    site_of: IntArray
    """The site of every node; empty where each is its own."""
    last: FloatArray
    """The time of the crash; infinite without one."""
    is_up: BoolArray
    changes: FloatArray
    """When each comes or goes next; infinite without churn."""
    sure_until: FloatArray
    """Until when each is there for sure: until it goes or crashes, and -1 while it is away."""
    busy_until: FloatArray
    """The last exchange that each node, not site, misses since it is busy."""
    up: float
    down: float
    """The mean durations."""
    duration: int
    """How many exchanges ring while one is under way."""


def start_presence(network: FaultyNetwork, draws: Generator) -> Presence:
    """Return who is there at the start: with churn, each as likely as at any time."""
    n, churn = network.n, network.faults.churn
    site_of = np.arange(0) if network.site_of is None else network.site_of
    last = network.crash_times * n
    if network.site_of is not None:
        _, first = np.unique(site_of, return_index=True)
        last = last[first]
    sites = len(last)
    is_up, changes = np.ones(sites, dtype=np.bool_), np.full(sites, np.inf)
    up = down = math.inf
    if churn is not None:
        up, down = churn.up * n, churn.down * n
        is_up = draws.random(sites) < churn.share_up
        changes = draws.standard_exponential(sites) * np.where(is_up, up, down)
    sure_until = np.where(is_up, np.minimum(changes, last), -1.0)
    busy_until, duration = np.zeros(n), round(min(network.faults.delay * n, 2.0**62))
    return Presence(site_of, last, is_up, changes, sure_until, busy_until, up, down, duration)


def find_lost(
    exchanges: PairArray,
    per_iteration: int,
    first: int,
    begin: int,
    lost: BoolArray,
    state: Presence,
    gaps: FloatArray,
) -> tuple[int, int]:
    """Mark the exchanges that do not take place, besides those that are marked.

    ``first`` is the time of the first exchange, and ``gaps`` are exponential numbers for times
    between coming and going. Begin at a place; return that at which gaps ran out, or the end, and
    how many gaps were used. Between two nodes of one site nothing is lost, unless it crashed.
    """
    site_of, last, is_up, changes, sure_until, busy_until, up, down, duration = state
    used, now, turn = 0, float(first + begin // per_iteration), begin % per_iteration
    has_sites = site_of.shape[0] > 0
    for at in range(begin, exchanges.shape[0]):
        # Numbers that need no test for negative ones.
        i, j = np.uint32(exchanges[at, 0]), np.uint32(exchanges[at, 1])
        here, there = i, j
        if has_sites:
            here, there = np.uint32(site_of[i]), np.uint32(site_of[j])
        if has_sites and here == there:
            lost[at] = now > last[here]
        elif now > sure_until[here] or now > sure_until[there]:
            is_lost = lost[at] or now > last[here] or now > last[there]
            for site in (here, there):
                while not is_lost and changes[site] < now:
                    if used == gaps.shape[0]:
                        return at, used
                    is_up[site] = not is_up[site]
                    changes[site] += gaps[used] * (up if is_up[site] else down)
                    used += 1
                    sure = min(changes[site], last[site])
                    sure_until[site] = sure if is_up[site] else -1.0
            lost[at] = is_lost or now > sure_until[here] or now > sure_until[there]
        if duration > 0 and not lost[at] and here != there:
            if now <= busy_until[i] or now <= busy_until[j]:
                lost[at] = True
            else:
                busy_until[i] = busy_until[j] = now + duration
        turn += 1
        if turn == per_iteration:
            turn = 0
            now += 1.0
    return exchanges.shape[0], used


def leave_out(exchanges: PairArray, lost: BoolArray, keeps: bool, left: PairArray) -> int:
    """Write the exchanges that are not lost; return how many were written.

    If all are to be kept, a node meets itself in those that are lost.
    """
    count = 0
    for s in range(exchanges.shape[0]):
        left[count, 0] = exchanges[s, 0]
        left[count, 1] = exchanges[s, 0 if lost[s] else 1]
        count += 1 if keeps or not lost[s] else 0
    return count
