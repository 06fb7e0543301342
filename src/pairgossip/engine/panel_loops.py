"""Sums of log(1 + e^-(x - y)) over two sets of scores, compiled: the twin of `logistic_sums`.

The panels, the polynomials and the three ways of treating a pair of panels are those of
`pairgossip.losses.logistic_sums`, whose tables come in as arguments. A model at a time fits in the
cache, and scores need not be sorted: it is enough to count them into their panels.
"""

from __future__ import annotations

import numpy as np

from pairgossip.engine.margin_slopes import inlined, loop, vectorized
from pairgossip.engine.sorting_loops import heap_sort
from pairgossip.losses.logistic_sums import DEGREE, NEAR, RATES
from pairgossip.losses.panels import WIDTH

COUNT = len(RATES)
PADDED = DEGREE + DEGREE % 2
"""Moments per panel in memory: a zero more, so that pairs of them fill vector registers."""


@loop
def by_panel(scores, counts, out, panels, starts):  # type: ignore[no-untyped-def]
    """Write the scores to ``out`` in an order in which their panels rise.

    Also write the panels that are occupied and where each starts; return how many there are.
    """
    low = high = scores[0]
    for score in scores:
        low = min(low, score)
        high = max(high, score)
    low = np.rint(low / WIDTH)
    spread = np.rint(high / WIDTH) - low + 1.0
    if spread >= len(counts):
        return by_sorting(scores, out, panels, starts)
    for k in range(np.int64(spread)):
        counts[k] = 0
    for score in scores:
        counts[np.int64(np.rint(score / WIDTH) - low)] += 1
    occupied = before = 0
    for k in range(np.int64(spread)):
        if counts[k] > 0:
            panels[occupied] = low + k
            starts[occupied] = before
            occupied += 1
        before += counts[k]
        counts[k] = before - counts[k]
    starts[occupied] = before
    for score in scores:
        at = np.int64(np.rint(score / WIDTH) - low)
        out[counts[at]] = score
        counts[at] += 1
    return occupied


@loop
def by_sorting(scores, out, panels, starts):  # type: ignore[no-untyped-def]
    """The same for scores that spread over more panels than can be counted."""
    for q in range(len(scores)):
        out[q] = scores[q]
    heap_sort(out)
    occupied = 0
    for q in range(len(scores)):
        panel = np.rint(out[q] / WIDTH)
        if occupied == 0 or panel != panels[occupied - 1]:
            panels[occupied] = panel
            starts[occupied] = q
            occupied += 1
    starts[occupied] = len(scores)
    return occupied


@vectorized
def write_moments(scores, start, end, panel, moments):  # type: ignore[no-untyped-def]
    """Sum T_0, T_1, ... over the places of the scores of one panel.

    Four scores at a time stay in registers; where fewer are left, T = 0 stands for the others.
    """
    for k in range(PADDED):
        moments[k] = 0.0
    moments[0] = end - start
    middle = WIDTH * panel
    for q in range(start, end, 4):
        left = end - q
        t0 = scores[q] - middle
        t1 = scores[q + 1] - middle if left > 1 else 0.0
        t2 = scores[q + 2] - middle if left > 2 else 0.0
        t3 = scores[q + 3] - middle if left > 3 else 0.0
        b0 = 1.0
        b1 = 1.0 if left > 1 else 0.0
        b2 = 1.0 if left > 2 else 0.0
        b3 = 1.0 if left > 3 else 0.0
        n0, n1, n2, n3 = t0, t1, t2, t3
        t0, t1, t2, t3 = 2.0 * t0, 2.0 * t1, 2.0 * t2, 2.0 * t3
        for k in range(1, DEGREE):
            moments[k] += (n0 + n1) + (n2 + n3)
            n0, b0 = t0 * n0 - b0, n0
            n1, b1 = t1 * n1 - b1, n1
            n2, b2 = t2 * n2 - b2, n2
            n3, b3 = t3 * n3 - b3, n3


@vectorized
def near_form(x, form, y):  # type: ignore[no-untyped-def]
    """x^T form y, in two interleaved sums."""
    total = 0.0
    for j in range(DEGREE):
        even = odd = 0.0
        for k in range(0, PADDED, 2):
            even += form[j, k] * y[k]
            odd += form[j, k + 1] * y[k + 1]
        total += x[j] * (even + odd)
    return total


@loop
def near_sum(panels, moments, p, their_panels, their_moments, r, forms):  # type: ignore[no-untyped-def]
    """Sum over near panels for every panel of the upper side, ``p`` and ``r`` of them."""
    total = 0.0
    first = 0
    for q in range(p):
        while first < r and panels[q] - their_panels[first] > NEAR:
            first += 1
        at = first
        while at < r and their_panels[at] - panels[q] <= NEAR:
            distance = np.int64(panels[q] - their_panels[at])
            total += near_form(moments[q], forms[distance + NEAR], their_moments[at])
            at += 1
    return total


@inlined
def fade(values, distance):  # type: ignore[no-untyped-def]
    """Multiply by e^-(rate WIDTH distance), rate by rate."""
    once = np.exp(-WIDTH * distance)
    factor = once
    for rate in range(COUNT):
        values[rate] *= factor
        factor *= once


@loop
def far_sum(panels, moments, p, their_panels, their_moments, r, falling, rising, risen):  # type: ignore[no-untyped-def]
    """Sum e^-u - e^-2u / 2 + ... over the far panels below, for every panel of one side.

    ``risen`` holds the exponentials of all scores reached so far, seen from the last panel reached.
    """
    total = 0.0
    reached = -1
    for rate in range(COUNT):
        risen[rate] = 0.0
    for q in range(p):
        while reached + 1 < r and panels[q] - their_panels[reached + 1] > NEAR:
            if reached >= 0:
                fade(risen, their_panels[reached + 1] - their_panels[reached])
            reached += 1
            for rate in range(COUNT):
                for k in range(DEGREE):
                    risen[rate] += their_moments[reached, k] * rising[k, rate]
        if reached < 0:
            continue
        once = np.exp(-WIDTH * (panels[q] - their_panels[reached]))
        factor = once
        for rate in range(COUNT):
            falls = 0.0
            for k in range(DEGREE):
                falls += moments[q, k] * falling[k, rate]
            total += falls * factor * risen[rate]
            factor *= once
    return total


@loop
def wrong_order(panels, moments, p, their_panels, their_moments, r):  # type: ignore[no-untyped-def]
    """Sum -u over pairs in the wrong order: panels' distances, and for far ones the places."""
    total = below = far = far_places = 0.0
    passed = reached = 0
    later = 0.0
    for at in range(r):
        later += their_moments[at, 0]
    at = 0
    previous = 0.0
    # An upward sweep over both sides' panels: every pair adds the gaps that it crosses.
    while at < r:
        here = their_panels[at]
        if passed < p and panels[passed] < here:
            here = panels[passed]
        total += WIDTH * (here - previous) * below * later if below > 0 else 0.0
        previous = here
        if their_panels[at] == here:
            while reached < p and here - panels[reached] > NEAR:
                far += moments[reached, 0]
                far_places += moments[reached, 1]
                reached += 1
            total += their_moments[at, 1] * far - their_moments[at, 0] * far_places
            later -= their_moments[at, 0]
            at += 1
        if passed < p and panels[passed] == here:
            below += moments[passed, 0]
            passed += 1
    return total


@loop
def arrange(side, scores, room):  # type: ignore[no-untyped-def]
    """Write the panels and moments of one side's scores; return how many panels there are."""
    counts, ordered, panels, starts, moments, _ = room
    arranged = ordered[side, : len(scores)]
    count = by_panel(scores, counts, arranged, panels[side], starts)
    for q in range(count):
        write_moments(arranged, starts[q], starts[q + 1], panels[side, q], moments[side, q])
    return count


@loop
def logistic_sum(above, below, tables, room):  # type: ignore[no-untyped-def]
    """Sum log(1 + e^-(x - y)) over x in ``above`` and y in ``below``, both finite."""
    forms, falling, rising = tables
    p = arrange(0, above, room)
    r = arrange(1, below, room)
    x, y, mx, my, risen = room[2][0], room[2][1], room[4][0], room[4][1], room[5]
    total = near_sum(x, mx, p, y, my, r, forms)
    total += wrong_order(x, mx, p, y, my, r)
    if max(x[p - 1], y[r - 1]) - min(x[0], y[0]) <= NEAR:
        return total
    total += far_sum(x, mx, p, y, my, r, falling, rising, risen)
    return total + far_sum(y, my, r, x, mx, p, falling, rising, risen)
