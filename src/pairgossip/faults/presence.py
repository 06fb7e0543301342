"""Exchanges that take place, as both nodes are present and free: churn, crashes and delays.

Time is counted in exchanges that ring, from 1 on. `find_lost` is plain Python that numba
compiles; its random numbers come from an array, so that both forms find the same exchanges.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.faults.network import FaultyNetwork


class Presence(NamedTuple):
    """The presence of nodes; arrays are over sites, or nodes where each is its own site."""

    site_of: IntArray | None
    """The site of every node; None where each is its own site."""
    last: FloatArray
    """The time of the crash; infinite without one."""
    until: FloatArray | None
    """The time until which each is present, or if negative, away; None if all stay."""
    busy_until: FloatArray | None
    """The last exchange that each node, not site, misses while busy; None without delay."""
    up: float
    down: float
    """The mean durations of presence and of absence."""
    duration: int
    """The number of exchanges that ring while one is under way."""


def start_presence(network: FaultyNetwork, draws: Generator) -> Presence:
    """Return the presence at the start: with churn, as likely as at any other time."""
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
    """Write the places of exchanges that do not take place, and the exchanges that do.

    ``pairs`` are exchanges as numbers, the second node in the upper half; with a list of edges they
    are places in it, which exchanges replace. ``per_iteration`` is None for one, ``first`` is the
    time of the first exchange, and ``gaps`` are exponential numbers for the times between changes
    of presence. ``messages_lost`` has the places of exchanges that are lost on the way, and then
    the number of exchanges; None if no messages are lost. Begin at the place ``begin``, before
    which ``gone`` exchanges were lost. Return the place at which gaps ran out, or the end; the
    number of gaps used; and the number of exchanges lost so far. Between two nodes of one site
    nothing is lost, unless the site crashed.
    """
    used, missed, next_missed = 0, 0, -1 if messages_lost is None else messages_lost[0]
    for at in range(begin, pairs.shape[0]):
        # Unsigned numbers save tests for negative ones; faults that are None compile to no code.
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
