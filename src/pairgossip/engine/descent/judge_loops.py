"""Risks and gradients of many models, compiled: of ranking losses, and of losses of any pairs.

For ranking losses observations are sorted by rising label, features transposed: shape (d, n).
``lower[i]`` is the number of observations with a lower label than the i-th; they are the first
ones. Pairs have their features transposed, shape (p, pairs), their weights and their offsets.
"""

from __future__ import annotations

import numpy as np

from pairgossip.engine.descent.loops import (
    HINGE,
    LOGISTIC,
    SQUARED,
    SQUARED_HINGE,
    logistic_slopes,
    logistic_values,
    slope,
    write_exponentials,
)
from pairgossip.engine.descent.sum_loops import hinge_sum, logistic_sum
from pairgossip.engine.loops import inlined, loop, vectorized


@vectorized
def _write_scores(theta, features, scores):  # type: ignore[no-untyped-def]
    """Write theta . x for the first observations, as many as ``scores`` has entries."""
    for i in range(len(scores)):
        scores[i] = 0.0
    for c in range(len(theta)):
        weight = theta[c]
        column = features[c]
        for i in range(len(scores)):
            scores[i] += weight * column[i]


@inlined
def _hinge_value(phi, u):  # type: ignore[no-untyped-def]
    """Return phi(u) of the hinge functions and of the square."""
    if phi == SQUARED:
        return (1.0 - u) * (1.0 - u)
    short = max(0.0, 1.0 - u)
    if phi == HINGE:
        return short
    if phi == SQUARED_HINGE:
        return short * short
    bent = min(short, 1.0)
    return bent * (short - 0.5 * bent)


@loop
def _direct_hinges(scores, lower, start, end, phi):  # type: ignore[no-untyped-def]
    """Sum a hinge function over the pairs of a span, one by one."""
    total = 0.0
    for i in range(start, end):
        for j in range(start, lower[i]):
            total += _hinge_value(phi, scores[i] - scores[j])
    return total


@loop
def _direct_logistic(scores, lower, start, end):  # type: ignore[no-untyped-def]
    """Sum log(1 + e^-u) over the pairs of a span: one logarithm for a product of 1 + e^-|u|.

    ``product`` is the product minus 1, a sum of positive terms; spans are far too short for it to
    overflow.
    """
    total = 0.0
    for i in range(start, end):
        product = 0.0
        for j in range(start, lower[i]):
            u = scores[i] - scores[j]
            small = np.exp(-abs(u))
            product += small + small * product
            total += max(-u, 0.0)
        total += np.log1p(product)
    return total


@loop
def _all_finite(scores):  # type: ignore[no-untyped-def]
    """Return whether no score is infinite or NaN."""
    finite = True
    for score in scores:
        finite &= abs(score) < np.inf
    return finite


@loop
def write_logistic_sums(models, features, lower, plan, tables, room, scores, sums):  # type: ignore[no-untyped-def]
    """Sum the loss over all pairs for every model; NaN where a score is not finite.

    ``tables`` and ``room`` are None where all pairs are summed one by one.
    """
    for r in range(len(models)):
        _write_scores(models[r], features, scores)
        sums[r] = 0.0 if _all_finite(scores) else np.nan
        for s in range(len(plan) if sums[r] == 0 else 0):
            start, middle, end = plan[s]
            if tables is None:  # noqa: SIM114 (so that the last branch is not compiled)
                sums[r] += _direct_logistic(scores, lower, start, end)
            elif middle == start:
                sums[r] += _direct_logistic(scores, lower, start, end)
            else:
                sums[r] += logistic_sum(scores[middle:end], scores[start:middle], tables, room)


@loop
def write_hinge_sums(models, features, lower, plan, phi, counts, ordered, scores, sums):  # type: ignore[no-untyped-def]
    """Do the same for the hinge functions."""
    for r in range(len(models)):
        _write_scores(models[r], features, scores)
        sums[r] = 0.0 if _all_finite(scores) else np.nan
        for s in range(len(plan) if sums[r] == 0 else 0):
            start, middle, end = plan[s]
            if middle == start:
                sums[r] += _direct_hinges(scores, lower, start, end, phi)
            else:
                above, below = scores[middle:end], scores[start:middle]
                sums[r] += hinge_sum(above, below, phi, counts, ordered)


@vectorized
def _dot(slopes, column, count):  # type: ignore[no-untyped-def]
    """Return the sum of products, in four interleaved sums."""
    a = b = c = d = 0.0
    whole = count - count % 4
    for q in range(0, whole, 4):
        a += slopes[q] * column[q]
        b += slopes[q + 1] * column[q + 1]
        c += slopes[q + 2] * column[q + 2]
        d += slopes[q + 3] * column[q + 3]
    for q in range(whole, count):
        a += slopes[q] * column[q]
    return (a + b) + (c + d)


@loop
def _write_slopes(own, scores, count, phi, polynomial, bits, scale):  # type: ignore[no-untyped-def]
    """Replace scores by phi'(own - score); return their sum, NaN if a score is not finite."""
    finite = abs(own) < np.inf
    for q in range(count):
        finite &= abs(scores[q]) < np.inf
        scores[q] = own - scores[q]
    if phi == LOGISTIC:
        logistic_slopes(scores, count, polynomial, bits, scale)
    else:
        for q in range(count):
            scores[q] = slope(phi, scores[q])
    total = 0.0
    for q in range(count):
        total += scores[q]
    return total if finite else np.nan


@loop
def write_gradients(  # type: ignore[no-untyped-def]
    first, models, features, lower, phi, scores, polynomial, bits, scale, gradients
):  # fmt: skip
    """Write the gradient of each node's share at its model, for nodes from ``first`` on."""
    n = features.shape[1]
    for r in range(len(models)):
        k = first + r
        count = lower[k]
        own = 0.0
        for c in range(len(features)):
            own += models[r, c] * features[c, k]
        _write_scores(models[r], features, scores[:count])
        total = _write_slopes(own, scores, count, phi, polynomial, bits, scale)
        for c in range(len(features)):
            gradients[r, c] = total * features[c, k] - _dot(scores, features[c], count)
            gradients[r, c] /= n


@vectorized
def _write_margins(theta, features, offsets, start, margins):  # type: ignore[no-untyped-def]
    """Write theta . a + b for the pairs from ``start`` on; return whether all are finite."""
    count, p = len(margins), len(theta)
    b = offsets[start : start + count]
    for q in range(count):
        margins[q] = b[q]
    whole = p - p % 4
    for c in range(0, whole, 4):  # four at a time: a quarter of the reads and writes
        t0, t1, t2, t3 = theta[c], theta[c + 1], theta[c + 2], theta[c + 3]
        a0 = features[c, start : start + count]
        a1 = features[c + 1, start : start + count]
        a2 = features[c + 2, start : start + count]
        a3 = features[c + 3, start : start + count]
        for q in range(count):
            margins[q] += (t0 * a0[q] + t1 * a1[q]) + (t2 * a2[q] + t3 * a3[q])
    for c in range(whole, p):
        t = theta[c]
        a = features[c, start : start + count]
        for q in range(count):
            margins[q] += t * a[q]
    finite = True
    for q in range(count):
        finite &= abs(margins[q]) < np.inf
    return finite


@vectorized
def _halved_sum(values, count):  # type: ignore[no-untyped-def]
    """Return the sum of values[:count], which are overwritten: it adds halves recursively."""
    while count > 1:
        half = (count + 1) // 2
        for q in range(count - half):
            values[q] += values[half + q]
        count = half
    return values[0]


@vectorized
def _halved_product(values, count):  # type: ignore[no-untyped-def]
    """Return the product of 1 + values[:count], minus 1; all terms are positive, so none cancel."""
    while count > 1:
        half = (count + 1) // 2
        for q in range(count - half):
            x = values[half + q]
            values[q] += x + x * values[q]
        count = half
    return values[0]


@vectorized
def _logistic_total(u, count, spare, polynomial, bits, scale):  # type: ignore[no-untyped-def]
    """Sum log(1 + e^-u) = max(-u, 0) + log(1 + e^-|u|): one logarithm, of a product.

    Each factor of the product is at most 2, so up to 1,000 of them cannot overflow.
    """
    for q in range(count):
        spare[q] = -abs(u[q])
    write_exponentials(spare, count, polynomial, bits)
    for q in range(count):
        spare[q] = polynomial[q] * scale[q]
        short = -u[q]
        u[q] = short if short > 0.0 else 0.0
    return _halved_sum(u, count) + np.log1p(_halved_product(spare, count))


@loop
def write_pair_sums(models, features, weights, offsets, phi, room, sums):  # type: ignore[no-untyped-def]
    """Add to every model's sum its weighted loss at all pairs; NaN if a margin is not finite.

    A block of pairs meets all models before the next, so that features are read from the cache.
    """
    values, spare, polynomial, bits, scale = room
    at_once = len(values)
    for start in range(0, len(weights), at_once):
        count = min(at_once, len(weights) - start)
        u = values[:count]
        w = weights[start : start + count]
        alike = np.all(w == 1.0)
        for r in range(len(models)):
            if not _write_margins(models[r], features, offsets, start, u):
                sums[r] = np.nan
            elif phi == LOGISTIC and alike:
                sums[r] += _logistic_total(u, count, spare, polynomial, bits, scale)
            else:
                if phi == LOGISTIC:
                    logistic_values(u, count, spare, polynomial, bits, scale)
                else:
                    for q in range(count):
                        u[q] = _hinge_value(phi, u[q])
                for q in range(count):
                    u[q] *= w[q]
                sums[r] += _halved_sum(u, count)


@loop
def write_pair_gradients(  # type: ignore[no-untyped-def]
    models, starts, features, weights, offsets, phi, room, gradients
):  # fmt: skip
    """Add the gradients of every model at its own pairs, which begin at ``starts``."""
    values, _, polynomial, bits, scale = room
    for r in range(len(models)):
        for start in range(starts[r], starts[r + 1], len(values)):
            count = min(len(values), starts[r + 1] - start)
            u = values[:count]
            finite = _write_margins(models[r], features, offsets, start, u)
            if phi == LOGISTIC:
                if finite:
                    logistic_slopes(u, count, polynomial, bits, scale)
            else:
                for q in range(count):
                    u[q] = slope(phi, u[q])
            for q in range(count):
                u[q] = u[q] * weights[start + q] if finite else np.nan
            for c in range(len(features)):
                gradients[r, c] += _dot(u, features[c, start : start + count], count)
