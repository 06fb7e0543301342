"""Sums of phi(x - y) over two sets of scores, compiled twins of `pairgossip.losses.sums`.

For hinge functions scores are counted into buckets. This is enough for the hinge and its square;
for the smoothed hinge, and where scores crowd in one bucket, scores are sorted and integrated as in
the twin. The sort is written here: numba's own takes longer to compile than all the rest.

For the logistic function the panels, the polynomials and the three ways of treating a pair of
panels are those of the twin, whose tables are arguments. One model at a time fits in the cache, and
scores need not be sorted: it is enough to count them into their panels.
"""

from __future__ import annotations

import numpy as np

from pairgossip.engine.descent.loops import SMOOTHED_HINGE, SQUARED_HINGE
from pairgossip.engine.loops import inlined, loop, vectorized
from pairgossip.losses.sums import COARSE, DEGREE, NEAR_PANELS, RATES, WIDTH

_MOVES = 16
"""The largest number of moves per score in an insertion sort; beyond, a heap sort takes over."""
_LEAST_SPREAD = 1e-290
"""The least spread of scores for buckets; below it, buckets per unit may overflow."""
_LARGEST_BUCKET = 24
"""The largest number of scores in one bucket; beyond, all scores are sorted."""
_COUNT = len(RATES)
_PADDED = DEGREE + DEGREE % 2
"""The number of moments per panel in memory: with a zero, so that pairs fill vector registers."""


@loop
def _heap_sort(values):  # type: ignore[no-untyped-def]
    """Sort in place, in n log n steps for any values."""
    n = len(values)
    for done in range(n + n // 2):
        # First make a heap from the middle down, then repeatedly move its top behind it.
        if done < n // 2:
            root, end = n // 2 - 1 - done, n
        else:
            root, end = 0, n - 1 - (done - n // 2)
            values[0], values[end] = values[end], values[0]
        value = values[root]
        while 2 * root + 1 < end:
            heir = 2 * root + 1
            if heir + 1 < end and values[heir + 1] > values[heir]:
                heir += 1
            if values[heir] <= value:
                break
            values[root] = values[heir]
            root = heir
        values[root] = value


@loop
def finish(values):  # type: ignore[no-untyped-def]
    """Sort values that are almost sorted in place, by insertion while that is cheap."""
    left = _MOVES * len(values)
    for q in range(1, len(values)):
        value = values[q]
        at = q
        while at > 0 and values[at - 1] > value:
            values[at] = values[at - 1]
            at -= 1
        values[at] = value
        left -= q - at
        if left < 0:
            _heap_sort(values)
            return


@loop
def _bucket(scores, start, counts, out):  # type: ignore[no-untyped-def]
    """Count ``scores - start`` into as many buckets of equal width; write them in that order.

    Afterward bucket k is out[counts[k] : counts[k + 1]]. Return the lowest value, the number of
    buckets per unit (0 where that is not finite), and the size of the fullest bucket.
    """
    n = len(scores)
    low = high = scores[0]
    for score in scores:
        low = min(low, score)
        high = max(high, score)
    low -= start
    high -= start
    # One bucket for all where they are equal, or where the scale would not be finite.
    scale = (n - 1) / (high - low) if np.inf > high - low > _LEAST_SPREAD else 0.0
    for k in range(n + 2):
        counts[k] = 0
    for q in range(n):
        at = np.int64((scores[q] - start - low) * scale)
        counts[at + 2] += 1
    crowd = 0
    for k in range(2, n + 2):
        crowd = max(crowd, counts[k])
        counts[k] += counts[k - 1]
    for q in range(n):
        at = np.int64((scores[q] - start - low) * scale)
        out[counts[at + 1]] = scores[q] - start
        counts[at + 1] += 1
    return low, scale, crowd


@loop
def _bucket_sum(x, counts, low, scale, below, start, squared):  # type: ignore[no-untyped-def]
    """Sum the hinge or its square without sorting, for x counted into buckets that do not crowd.

    The x before a bucket matter only by their number and the sums of their distances to its lower
    edge and of the squares of these. The sums grow from bucket to bucket, and no term is negative.
    """
    n = len(x)
    width = 1.0 / scale
    sums = np.zeros((n + 1, 2))
    for k in range(n):
        edge = low + (k + 1) * width
        area, square = sums[k]
        square += width * (2.0 * area + width * counts[k])
        area += width * counts[k]
        for q in range(counts[k], counts[k + 1]):
            gap = max(edge - x[q], 0.0)
            area += gap
            square += gap * gap
        sums[k + 1, 0] = area
        sums[k + 1, 1] = square
    total = 0.0
    for score in below:
        end = score - start + 1.0
        if end <= low:
            continue
        at = np.int64(min((end - low) * scale, float(n)))
        over = max(end - (low + at * width), 0.0)
        area, square = sums[at]
        passed = counts[at]
        if squared:
            total += square + over * (2.0 * area + over * passed)
        else:
            total += area + over * passed
        if at < n:
            for q in range(passed, counts[at + 1]):
                gap = max(end - x[q], 0.0)
                total += gap * gap if squared else gap
    return total


@loop
def _sweep(x, y, shift, squared):  # type: ignore[no-untyped-def]
    """Integrate the number of x passed, or twice its integral, times the number of y ahead.

    ``y`` counts as ahead up to y + shift; both are sorted, and x starts at 0.
    """
    total = area = passed = previous = 0.0
    i = j = 0
    while j < len(y):
        end = y[j] + shift
        is_x = i < len(x) and x[i] <= end
        here = x[i] if is_x else end
        if passed > 0:
            gap = here - previous
            rise = gap * passed
            area += rise
            total += gap * (len(y) - j) * (2.0 * area - rise if squared else passed)
        previous = here
        if is_x:
            passed += 1.0
            i += 1
        else:
            j += 1
    return total


@loop
def _smoothed_sweep(x, y):  # type: ignore[no-untyped-def]
    """Integrate the area passed times the number of y that are less than 1 behind."""
    total = area = passed = previous = 0.0
    i = j = opened = 0
    while j < len(y):
        here = y[j] + 1.0
        kind = 1
        if opened < len(y) and y[opened] <= here:
            here = y[opened]
            kind = 2
        if i < len(x) and x[i] <= here:
            here = x[i]
            kind = 0
        if passed > 0:
            gap = here - previous
            rise = gap * passed
            area += rise
            total += gap * (opened - j) * (2.0 * area - rise)
        previous = here
        if kind == 0:
            passed += 1.0
            i += 1
        elif kind == 1:
            j += 1
        else:
            opened += 1
    return 0.5 * total


@loop
def hinge_sum(above, below, phi, counts, ordered):  # type: ignore[no-untyped-def]
    """Sum phi(x - y) over x in ``above`` and y in ``below``, both finite."""
    start = above[0]
    for score in above:
        start = min(start, score)
    x = ordered[0, : len(above)]
    y = ordered[1, : len(below)]
    squared = phi == SQUARED_HINGE
    low, scale, crowd = _bucket(above, start, counts, x)
    if phi != SMOOTHED_HINGE and scale > 0 and crowd <= _LARGEST_BUCKET:
        return _bucket_sum(x, counts, low, scale, below, start, squared)
    finish(x)
    _bucket(below, start, counts, y)
    finish(y)
    if phi != SMOOTHED_HINGE:
        return _sweep(x, y, 1.0, squared)
    # Where y + 1 nearly rounds to y, the smooth part of the function is lost in rounding.
    return _smoothed_sweep(x, y) if y[-1] < COARSE else _sweep(x, y, 0.5, False)


@loop
def _by_panel(scores, counts, out, panels, starts):  # type: ignore[no-untyped-def]
    """Write the scores to ``out``, ordered by their panels.

    Also write the occupied panels and the start of each; return the number of these panels.
    """
    low = high = scores[0]
    for score in scores:
        low = min(low, score)
        high = max(high, score)
    low = np.rint(low / WIDTH)
    spread = np.rint(high / WIDTH) - low + 1.0
    if spread >= len(counts):
        return _by_sorting(scores, out, panels, starts)
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
def _by_sorting(scores, out, panels, starts):  # type: ignore[no-untyped-def]
    """Do the same for scores that spread over more panels than can be counted."""
    for q in range(len(scores)):
        out[q] = scores[q]
    _heap_sort(out)
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
def _write_moments(scores, start, end, panel, moments):  # type: ignore[no-untyped-def]
    """Sum T_0, T_1, ... over the places of the scores of one panel.

    Four scores at a time stay in registers; where fewer are left, the others have T = 0.
    """
    for k in range(_PADDED):
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
def _near_form(x, form, y):  # type: ignore[no-untyped-def]
    """Return x^T form y, in two interleaved sums."""
    total = 0.0
    for j in range(DEGREE):
        even = odd = 0.0
        for k in range(0, _PADDED, 2):
            even += form[j, k] * y[k]
            odd += form[j, k + 1] * y[k + 1]
        total += x[j] * (even + odd)
    return total


@loop
def _near_sum(panels, moments, p, their_panels, their_moments, r, forms):  # type: ignore[no-untyped-def]
    """Sum over near panels for every panel of the upper side; the sides have ``p`` and ``r``."""
    total = 0.0
    first = 0
    for q in range(p):
        while first < r and panels[q] - their_panels[first] > NEAR_PANELS:
            first += 1
        at = first
        while at < r and their_panels[at] - panels[q] <= NEAR_PANELS:
            distance = np.int64(panels[q] - their_panels[at])
            total += _near_form(moments[q], forms[distance + NEAR_PANELS], their_moments[at])
            at += 1
    return total


@inlined
def _fade(values, distance):  # type: ignore[no-untyped-def]
    """Multiply by e^-(rate WIDTH distance), rate by rate."""
    once = np.exp(-WIDTH * distance)
    factor = once
    for rate in range(_COUNT):
        values[rate] *= factor
        factor *= once


@loop
def _far_sum(panels, moments, p, their_panels, their_moments, r, falling, rising, risen):  # type: ignore[no-untyped-def]
    """Sum e^-u - e^-2u / 2 + ... over the far panels below, for every panel of one side.

    ``risen`` has the sums of exponentials of all scores reached so far, relative to the last panel
    reached.
    """
    total = 0.0
    reached = -1
    for rate in range(_COUNT):
        risen[rate] = 0.0
    for q in range(p):
        while reached + 1 < r and panels[q] - their_panels[reached + 1] > NEAR_PANELS:
            if reached >= 0:
                _fade(risen, their_panels[reached + 1] - their_panels[reached])
            reached += 1
            for rate in range(_COUNT):
                for k in range(DEGREE):
                    risen[rate] += their_moments[reached, k] * rising[k, rate]
        if reached < 0:
            continue
        once = np.exp(-WIDTH * (panels[q] - their_panels[reached]))
        factor = once
        for rate in range(_COUNT):
            falls = 0.0
            for k in range(DEGREE):
                falls += moments[q, k] * falling[k, rate]
            total += falls * factor * risen[rate]
            factor *= once
    return total


@loop
def _wrong_order(panels, moments, p, their_panels, their_moments, r):  # type: ignore[no-untyped-def]
    """Sum -u over pairs in the wrong order: distances of panels, and for far ones places within."""
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
            while reached < p and here - panels[reached] > NEAR_PANELS:
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
def _arrange(side, scores, room):  # type: ignore[no-untyped-def]
    """Write the panels and moments of one side's scores; return the number of panels."""
    counts, ordered, panels, starts, moments, _ = room
    arranged = ordered[side, : len(scores)]
    count = _by_panel(scores, counts, arranged, panels[side], starts)
    for q in range(count):
        _write_moments(arranged, starts[q], starts[q + 1], panels[side, q], moments[side, q])
    return count


@loop
def logistic_sum(above, below, tables, room):  # type: ignore[no-untyped-def]
    """Sum log(1 + e^-(x - y)) over x in ``above`` and y in ``below``, both finite."""
    forms, falling, rising = tables
    p = _arrange(0, above, room)
    r = _arrange(1, below, room)
    x, y, mx, my, risen = room[2][0], room[2][1], room[4][0], room[4][1], room[5]
    total = _near_sum(x, mx, p, y, my, r, forms)
    total += _wrong_order(x, mx, p, y, my, r)
    if max(x[p - 1], y[r - 1]) - min(x[0], y[0]) <= NEAR_PANELS:
        return total
    total += _far_sum(x, mx, p, y, my, r, falling, rising, risen)
    return total + _far_sum(y, my, r, x, mx, p, falling, rising, risen)
