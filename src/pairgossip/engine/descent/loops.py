"""Margin functions, and gossip dual averaging with whole vectors: asynchronous, or without lines.

A row of ``rows`` is one node: its accumulator z, its model theta and the mean of its models, each
of p numbers. ``limits`` are the strengths of the l1 and squared l2 penalties, the radius of the
ball, the two ends of the box, and the side of matrices that stay positive semidefinite, 0 if none.
"""

from __future__ import annotations

import numpy as np

from pairgossip.engine.loops import average_at, ends, inlined, loop, vectorized

LOGISTIC, HINGE, SQUARED_HINGE, SMOOTHED_HINGE, SQUARED = range(5)

_LOG2E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
_LARGEST_EXPONENT = 700.0
# The series of artanh; written as divisions they would be divisions in the loop.
_THIRD, _FIFTH, _SEVENTH, _NINTH = (1 / k for k in (3, 5, 7, 9))
_R11, _R13, _R15, _R17, _R19, _R21 = (1 / k for k in range(11, 22, 2))
_R23, _R25, _R27, _R29, _R31 = (1 / k for k in range(23, 32, 2))
_MOST_SWEEPS = 30
"""The largest number of sweeps of rotations; 5 to 8 are usual."""
_ROUNDING = 1e-33
"""The sum of squares beside the diagonal, relative to all squares, that counts as rounding."""


# The nearest positive semidefinite matrix, the twin of that in `losses.proximal`: Jacobi rotations,
# each of which clears one entry, diagonalize the matrix. They take a few microseconds for the small
# matrices of metrics.


@loop
def onto_cone(theta, side):  # type: ignore[no-untyped-def]
    """Replace a matrix, flattened row by row, by the nearest one without negative eigenvalues."""
    a, vectors, size = np.empty((side, side)), np.eye(side), 0.0
    for i in range(side):
        for j in range(side):
            a[i, j] = 0.5 * (theta[i * side + j] + theta[j * side + i])
            size += a[i, j] * a[i, j]
    if not np.isfinite(size):  # the run has diverged, and must show it
        theta[:] = np.nan
        return
    for _ in range(_MOST_SWEEPS):
        beside = 0.0
        for i in range(side):
            for j in range(i):
                beside += a[i, j] * a[i, j]
        if beside <= _ROUNDING * size:
            break
        for i in range(side):
            for j in range(i):
                if a[i, j] != 0:
                    _rotate(a, vectors, i, j)
    theta[:] = 0.0
    for k in range(side):
        if a[k, k] > 0:
            for i in range(side):
                for j in range(side):
                    theta[i * side + j] += a[k, k] * vectors[k, i] * vectors[k, j]


@loop
def _rotate(a, vectors, i, j):  # type: ignore[no-untyped-def]
    """Clear the entry (i, j) of a symmetric matrix by turning its axes i and j."""
    ratio = (a[j, j] - a[i, i]) / (2.0 * a[i, j])
    tangent = 1.0 / (abs(ratio) + np.sqrt(1.0 + ratio * ratio))
    tangent = tangent if ratio >= 0 else -tangent
    cosine = 1.0 / np.sqrt(1.0 + tangent * tangent)
    sine = tangent * cosine
    for r in range(len(a)):
        one, other = a[r, i], a[r, j]
        a[r, i], a[r, j] = cosine * one - sine * other, sine * one + cosine * other
    for rows in (a, vectors):
        for r in range(len(a)):
            one, other = rows[i, r], rows[j, r]
            rows[i, r], rows[j, r] = cosine * one - sine * other, sine * one + cosine * other
    a[i, j] = a[j, i] = 0.0


@inlined
def slope(phi, u):  # type: ignore[no-untyped-def]
    """Return phi'(u); at a kink the slope on its flat side."""
    if phi == LOGISTIC:
        return -1.0 / (1.0 + np.exp(u))
    if phi == SQUARED:
        return 2.0 * (u - 1.0)
    if u >= 1.0:
        return 0.0
    if phi == HINGE:
        return -1.0
    if phi == SQUARED_HINGE:
        return -2.0 * (1.0 - u)
    return max(u, 0.0) - 1.0


@inlined
def write_exponentials(x, count, polynomial, scale_bits):  # type: ignore[no-untyped-def]
    """Write exp(x[:count]) as two factors, in a loop that the compiler turns into vector code.

    exp(x) = 2^k exp(r) with |r| <= ln 2 / 2: a polynomial of degree 13 gives exp(r) to the last
    bit or two, and 2^k is written straight into the exponent bits.
    """
    for q in range(count):
        y = x[q]
        y = y if y > -_LARGEST_EXPONENT else -_LARGEST_EXPONENT
        y = y if y < _LARGEST_EXPONENT else _LARGEST_EXPONENT
        k = np.floor(y * _LOG2E + 0.5)
        r = (y - k * _LN2_HIGH) - k * _LN2_LOW
        # Estrin's order of evaluation: short chains keep the arithmetic units busy.
        r2 = r * r
        r4 = r2 * r2
        low = (1.0 + r) + (0.5 + 0.16666666666666666 * r) * r2
        middle = (0.041666666666666664 + 0.008333333333333333 * r) + (
            0.001388888888888889 + 0.0001984126984126984 * r
        ) * r2
        high = (2.48015873015873e-05 + 2.7557319223985893e-06 * r) + (
            2.755731922398589e-07 + 2.505210838544172e-08 * r
        ) * r2
        top = 2.08767569878681e-09 + 1.6059043836821613e-10 * r
        polynomial[q] = (low + middle * r4) + (high + top * r4) * (r4 * r4)
        scale_bits[q] = (np.int64(k) + 1023) << 52


@vectorized
def logistic_slopes(u, count, polynomial, scale_bits, scale):  # type: ignore[no-untyped-def]
    """Replace u[:count] by -1/(1 + exp(u)); ``scale``: ``scale_bits`` read as floating point."""
    write_exponentials(u, count, polynomial, scale_bits)
    for q in range(count):
        u[q] = -1.0 / (1.0 + polynomial[q] * scale[q])


@vectorized
def logistic_values(u, count, spare, polynomial, scale_bits, scale):  # type: ignore[no-untyped-def]
    """Replace u[:count] by log(1 + exp(-u)).

    With x = exp(-|u|), at most 1, that is max(-u, 0) + log(1 + x), and the logarithm is
    2 artanh(z) for z = x/(2 + x), which is no larger than 1/3: its series is short.
    """
    for q in range(count):
        spare[q] = -abs(u[q])
    write_exponentials(spare, count, polynomial, scale_bits)
    for q in range(count):
        x = polynomial[q] * scale[q]
        z = x / (2.0 + x)
        z2 = z * z
        z4 = z2 * z2
        z8 = z4 * z4
        low = (1.0 + z2 * _THIRD) + (_FIFTH + z2 * _SEVENTH) * z4
        middle = (_NINTH + z2 * _R11) + (_R13 + z2 * _R15) * z4
        high = (_R17 + z2 * _R19) + (_R21 + z2 * _R23) * z4
        top = (_R25 + z2 * _R27) + (_R29 + z2 * _R31) * z4
        series = (low + middle * z8) + (high + top * z8) * (z8 * z8)
        short = -u[q]
        u[q] = (short if short > 0.0 else 0.0) + 2.0 * z * series


@inlined
def renew_model(rows, k, p, gamma, t, limits, share):  # type: ignore[no-untyped-def]
    """Write theta_k = T(z_k; gamma, t), and fold it into the mean of the models with ``share``."""
    l1, l2, radius, low, high, side = limits
    shrink = gamma / (1.0 + 2.0 * l2 * t * gamma)
    if l1 == 0 and low == -np.inf and high == np.inf and side == 0:
        if radius != np.inf:
            norm2 = 0.0
            for c in range(p):
                norm2 += rows[k, c] * rows[k, c]
            if shrink * shrink * norm2 > radius * radius:
                shrink = radius / np.sqrt(norm2)
        for c in range(p):
            theta = -shrink * rows[k, c]
            rows[k, p + c] = theta
            rows[k, 2 * p + c] = (1.0 - share) * rows[k, 2 * p + c] + share * theta
    else:
        _bounded_model(rows, k, p, shrink, t, limits)
        for c in range(p):
            mean = rows[k, 2 * p + c]
            rows[k, 2 * p + c] = (1.0 - share) * mean + share * rows[k, p + c]


@inlined
def _bounded_model(rows, k, p, shrink, t, limits):  # type: ignore[no-untyped-def]
    """Write the model under an l1 penalty, in a box or a cone: soften, project, clip."""
    l1, _, radius, low, high, side = limits
    for c in range(p):
        z = rows[k, c]
        rows[k, p + c] = -shrink * np.sign(z) * max(abs(z) - t * l1, 0.0)
    if side > 0:
        onto_cone(rows[k, p : 2 * p], side)
    norm2 = 0.0
    for c in range(p):
        norm2 += rows[k, p + c] ** 2
    inside = 1.0
    if norm2 > radius * radius:
        inside = radius / np.sqrt(norm2)
    for c in range(p):
        rows[k, p + c] = min(max(inside * rows[k, p + c], low), high)


@inlined
def _margin_at(rows, k, p, features, side, s, offset):  # type: ignore[no-untyped-def]
    """Return theta_k . a + b."""
    total = offset
    for c in range(p):
        total += rows[k, p + c] * features[side, s, c]
    return total


@loop
def ordering_pairs(data, nodes, tokens, features, weights):  # type: ignore[no-untyped-def]
    """Write w = 1 where the first label, the last column, is the higher, and there a = x - x'.

    The features of pairs without weight are never used and stay unchanged.
    """
    p = data.shape[1] - 1
    for side in range(2):
        for s in range(nodes.shape[1]):
            k = np.uint64(nodes[side, s])
            m = np.uint64(tokens[side, s])
            weights[side, s] = 0.0
            if data[k, p] > data[m, p]:
                weights[side, s] = 1.0
                for c in range(p):
                    features[side, s, c] = data[k, c] - data[m, c]


@loop
def count_picks(exchanges, picks, counts):  # type: ignore[no-untyped-def]
    """Write the number of picks of each node of each exchange, this one included."""
    for s in range(exchanges.shape[0]):
        for side in range(2):
            k = exchanges[s, side]
            picks[k] += 1
            counts[side, s] = picks[k]


@loop
def asynchronous(  # type: ignore[no-untyped-def]
    rows, exchanges, pairs, phi, counts, gammas, iterations, probabilities, limits
):  # fmt: skip
    """Make one exchange after the other: average once, then step both nodes on their pairs."""
    features, weights, offsets = pairs
    p = features.shape[2]
    for s in range(exchanges.shape[0]):
        i, j = ends(exchanges, s)
        for c in range(p):
            average_at(rows, i, j, c)
        for side in range(2):
            k = np.uint64(exchanges[s, side])
            if weights[side, s] != 0:
                margin = _margin_at(rows, k, p, features, side, s, offsets[side, s])
                push = weights[side, s] * slope(phi, margin) / probabilities[k]
                for c in range(p):
                    rows[k, c] += push * features[side, s, c]
            share = 1.0 / counts[side, s]
            renew_model(rows, k, p, gammas[side, s], iterations[side, s], limits, share)


@loop
def synchronous(  # type: ignore[no-untyped-def]
    rows, held_pairs, exchanges, pairs, phi, gammas, start, limits
):  # fmt: skip
    """Move every node in every iteration; ``pairs`` are the new pairs of each exchange."""
    current, current_weight, current_offset = held_pairs
    features, weights, offsets = pairs
    n, p = current.shape
    for s in range(exchanges.shape[0]):
        i, j = ends(exchanges, s)
        for c in range(p):
            average_at(rows, i, j, c)
        for side in range(2):
            k = np.uint64(exchanges[s, side])
            current_weight[k] = weights[side, s]
            current_offset[k] = offsets[side, s]
            for c in range(p):
                current[k, c] = features[side, s, c]
        t = start + s + 1
        for node in range(n):
            if current_weight[node] != 0:
                margin = current_offset[node]
                for c in range(p):
                    margin += rows[node, p + c] * current[node, c]
                push = current_weight[node] * slope(phi, margin)
                for c in range(p):
                    rows[node, c] += push * current[node, c]
            renew_model(rows, node, p, gammas[s], t, limits, 1.0 / t)
