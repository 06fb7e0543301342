"""Which exchanges find both nodes there and free: churn, crashes and exchanges under way.

Time is counted in exchanges that ring, from 1 on. `find_lost` is plain Python that numba
compiles; all that it draws comes from an array, so that both forms find the same.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.faults.network import FaultyNetwork


class Presence(NamedTuple):
    """Who is there; arrays are over sites, or nodes where each is its own."""

    site_of: IntArray | None
    """The site of every node; None where each is its own."""
    last: FloatArray
    """The time of the crash; infinite without one."""
    until: FloatArray | None
    """Until when each is there, or with a minus sign, until when it is away; None if all stay."""
    busy_until: FloatArray | None
    """The last exchange that each node, not site, misses since it is busy; None without delay."""
    up: float
    down: float
    """The mean durations."""
    duration: int
    """How many exchanges ring while one is under way."""


def start_presence(network: FaultyNetwork, draws: Generator) -> Presence:
    """Return who is there at the start: with churn, each as likely as at any time."""
    n, churn, site_of = network.n, network.faults.churn, network.site_of
    last = network.crash_times * n
    if site_of is not None:
        _, first = np.unique(site_of, return_index=True)
        last = last[first]
    until = last.copy() if network.faults.crashed else None
    up = down = math.inf
    if churn is not None:
        up, down = churn.up * n, churn.down * n
        is_up = draws.random(len(last)) < churn.share_up
        changes = draws.standard_exponential(len(last)) * np.where(is_up, up, down)
        until = np.where(is_up, np.minimum(changes, last), -changes)
    duration = round(min(network.faults.delay * n, 2.0**62))
    busy_until = np.zeros(n) if duration else None
    return Presence(site_of, last, until, busy_until, up, down, duration)


def find_lost(
    pairs: IntArray,
    edges: IntArray | None,
    per_iteration: int | None,
    first: int,
    site_of: IntArray | None,
    last: FloatArray,
    until: FloatArray | None,
    busy_until: FloatArray | None,
    up: float,
    down: float,
    duration: int,
    gaps: FloatArray,
    messages_lost: IntArray | None,
    begin: int,
    gone: int,
    lost: IntArray,
    left: IntArray,
) -> tuple[int, int, int]:
    """Write which exchanges do not take place, and those that do.

    ``pairs`` are exchanges as numbers, the second node in the upper half; with a list of edges they
    are places in it, which exchanges replace. ``per_iteration`` is None for one, ``first`` is the
    time of the first exchange, and ``gaps`` are exponential numbers for times between coming and
    going. ``messages_lost`` are the places of exchanges that are lost on the way, and the number of
    exchanges; None if none are. Begin at a place before which so many were ``gone``; return that at
    which gaps ran out, or the end, how many gaps were used, and how many exchanges are gone.
    Between two nodes of one site nothing is lost, unless it crashed.
    """
    used, missed, next_missed = 0, 0, -1 if messages_lost is None else messages_lost[0]
    for at in range(begin, pairs.shape[0]):
        # Numbers that need no test for negative ones, and of faults that are None no code is made.
        s, to = np.uint64(at), np.uint64(at - gone)
        left[to] = pair = pairs[s] if edges is None else edges[np.uint64(pairs[s])]
        i, j = np.uint32(pair & 0xFFFFFFFF), np.uint32(pair >> 32)
        now = float(first + (at if per_iteration is None else at // per_iteration))
        is_lost = False
        if messages_lost is not None:
            is_lost = at == next_missed
            if is_lost:
                missed += 1
                next_missed = messages_lost[missed]
        here, there = i, j
        if site_of is not None:
            here, there = np.uint32(site_of[i]), np.uint32(site_of[j])
        if site_of is not None and here == there:
            is_lost = now > last[here]
        else:
            if until is not None:
                a, b = until[here], until[there]
                if now > abs(a) or now > abs(b):
                    is_lost = is_lost or now > last[here] or now > last[there]
                    for site in (here, there):
                        while not is_lost and abs(until[site]) < now:
                            if used == gaps.shape[0]:
                                return at, used, gone
                            comes = until[site] < 0
                            change = abs(until[site]) + gaps[used] * (up if comes else down)
                            until[site] = min(change, last[site]) if comes else -change
                            used += 1
                    a, b = until[here], until[there]
                is_lost = is_lost | (a < 0) | (b < 0)
            if busy_until is not None and not is_lost:
                is_lost = now <= busy_until[i] or now <= busy_until[j]
                if not is_lost:
                    busy_until[i] = busy_until[j] = now + duration
        if edges is not None:
            pairs[s] = pair
        lost[np.uint64(gone)] = at
        gone += is_lost
    return pairs.shape[0], used, gone
