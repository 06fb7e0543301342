"""Adaptive dual averaging, compiled: the twin of `algorithms.descent.adaptive_dual_averaging`.

``pairs`` are features, weights and offsets with axes (order, side, iteration). There is only one
order where the other never has weight, and its features differ by the sign only. ``settings`` are
the constant of the step, the inverse of each node's rate of picks, and the limits of `loops`. Most
runs have no positive semidefinite matrices and no other constraint: arguments for these are None
then, and left out of the compiled code, which takes a third of the time.
"""

from __future__ import annotations

import numpy as np

from pairgossip.engine.descent.loops import LOGISTIC, logistic_slopes, onto_cone, slope
from pairgossip.engine.loops import average_at, ends, loop, vectorized

_MOST_STEPS = 100
"""The largest number of Newton steps; 5 to 10 are usual."""


@loop
def ordering_pairs(data, nodes, tokens, features, weights):  # type: ignore[no-untyped-def]
    """Write a = x - x' with the higher label first, and w = 0 where labels are equal."""
    p = data.shape[1] - 1
    for side in range(2):
        for s in range(nodes.shape[1]):
            k, m = np.uint64(nodes[side, s]), np.uint64(tokens[side, s])
            weights[0, side, s] = 0.0 if data[k, p] == data[m, p] else 1.0
            if data[k, p] < data[m, p]:
                k, m = m, k
            for c in range(p):
                features[0, side, s, c] = data[k, c] - data[m, c]


@loop
def _pushes(theta, features, weights, offsets, phi):  # type: ignore[no-untyped-def]
    """Return w phi'(theta . a + b) / 2 in the first order, and in the second if there is one."""
    first = second = 0.0
    for order in range(len(features)):
        if weights[order] != 0:
            margin = 0.0
            for c in range(len(theta)):
                margin += features[order, c] * theta[c]
            push = weights[order] * slope(phi, margin + offsets[order]) / 2
            first, second = (push, second) if order == 0 else (first, push)
    return first, second


@loop
def renew_model(z, s, d, m, theta, settings, side):  # type: ignore[no-untyped-def]
    """Write theta = argmin z . theta + sum_q h_q theta_q^2 / 2 + m psi(theta)."""
    scale, _, (l1, l2, radius, low, high, _) = settings
    p = len(z)
    factor, ridge, shrink = np.sqrt(p / m) / scale, 2.0 * l2 * m, m * l1
    if side is not None:
        _renew_matrix(z, s, d, theta, factor, ridge, radius, side)
        return
    for c in range(p):
        h = factor * np.sqrt(s[c] * d[c]) + ridge
        softened = abs(z[c]) - shrink
        softened = softened if softened > 0 else 0.0
        theta[c] = (softened if z[c] < 0 else -softened) / (h if h > 0 else np.inf)
    if radius != np.inf:
        _onto_ball(z, s, d, theta, factor, ridge, shrink, radius)
    if low != -np.inf or high != np.inf:
        for c in range(p):
            theta[c] = min(max(theta[c], low), high)


@loop
def _renew_matrix(z, s, d, theta, factor, ridge, radius, side):  # type: ignore[no-untyped-def]
    """Do the same for positive semidefinite matrices, with one number as their metric."""
    squares = norm2 = 0.0
    for c in range(len(z)):
        squares += (factor * np.sqrt(s[c] * d[c]) + ridge) ** 2
    whole = np.sqrt(squares / len(z))
    for c in range(len(z)):
        theta[c] = -z[c] / (whole if whole > 0 else np.inf)
    onto_cone(theta, side)
    for c in range(len(z)):
        norm2 += theta[c] * theta[c]
    if norm2 > radius * radius:
        for c in range(len(z)):
            theta[c] *= radius / np.sqrt(norm2)


@loop
def _onto_ball(z, s, d, theta, factor, ridge, shrink, radius):  # type: ignore[no-untyped-def]
    """Find the shift of the metric that brings the model onto the ball, by Newton's method."""
    shift = norm = 0.0
    for _ in range(_MOST_STEPS):
        norm2 = slopes = 0.0
        for c in range(len(z)):
            norm2 += theta[c] * theta[c]
        norm = np.sqrt(norm2)
        if not norm > radius * (1.0 + 1e-15):
            break
        for c in range(len(z)):
            if theta[c] != 0:
                slopes += theta[c] ** 2 / (factor * np.sqrt(s[c] * d[c]) + ridge + shift)
        further = shift + norm2 / slopes * (norm - radius) / radius
        if further == shift:
            break
        shift = further
        for c in range(len(z)):
            if theta[c] != 0:
                h = factor * np.sqrt(s[c] * d[c]) + ridge + shift
                theta[c] = -np.sign(z[c]) * (abs(z[c]) - shrink) / h
    if norm > radius:
        for c in range(len(z)):
            theta[c] *= radius / norm


@loop
def asynchronous(  # type: ignore[no-untyped-def]
    rows, exchanges, pairs, phi, settings, matrix_side
):  # fmt: skip
    """Make one exchange after the other: average once, then step both nodes on their pairs.

    A row is one node: its sums z, s and d, p numbers each, its count m, and its model.
    """
    features, weights, offsets = pairs
    orders, _, _, p = features.shape
    for t in range(len(exchanges)):
        i, j = ends(exchanges, t)
        for c in range(3 * p + 1):
            average_at(rows, i, j, c)
        for side in range(2):
            k = np.uint64(exchanges[t, side])
            row, weight = rows[k], settings[1][k]
            z, s, d, theta = row[:p], row[p : 2 * p], row[2 * p : 3 * p], row[3 * p + 1 :]
            a, w, b = features[:, side, t], weights[:, side, t], offsets[:, side, t]
            push, pull = _pushes(theta, a, w, b, phi)
            for c in range(p):
                there, back = a[0, c], a[orders - 1, c]
                gradient = weight * (push * there + pull * back)
                z[c] += gradient
                s[c] += gradient * gradient
                d[c] += weight * ((there * there + back * back) / 2)
            row[3 * p] += weight
            renew_model(z, s, d, row[3 * p], theta, settings, matrix_side)


@vectorized
def _push_all(theta, features, weights, offsets, phi, push, room):  # type: ignore[no-untyped-def]
    """Write w phi'(theta . a + b) / 2 of all nodes."""
    polynomial, scale_bits, scale = room
    p, n = theta.shape
    for k in range(n):
        push[k] = offsets[k]
    for c in range(p):
        a, model = features[c], theta[c]
        for k in range(n):
            push[k] += a[k] * model[k]
    if phi == LOGISTIC:
        logistic_slopes(push, n, polynomial, scale_bits, scale)
    else:
        for k in range(n):
            push[k] = slope(phi, push[k])
    for k in range(n):
        push[k] *= weights[k] / 2


@vectorized
def _add_and_renew(z, s, d, theta, there, back, push, pull, weights, sizes, gradient):  # type: ignore[no-untyped-def]
    """Add one coordinate of all nodes' gradients, and renew this coordinate of their models.

    It has several loops, as the compiler does not vectorize a loop over many arrays.
    """
    factor, ridge, shrink = sizes
    n = len(z)
    for k in range(n):
        gradient[k] = push[k] * there[k] + pull[k] * back[k]
    for k in range(n):
        z[k] += gradient[k]
    for k in range(n):
        s[k] += weights[k] * (gradient[k] * gradient[k])
    for k in range(n):
        d[k] += (there[k] * there[k] + back[k] * back[k]) / 2
    for k in range(n):
        h = factor * np.sqrt(s[k] * d[k]) + ridge
        softened = abs(z[k]) - shrink
        softened = softened if softened > 0 else 0.0
        theta[k] = (softened if z[k] < 0 else -softened) / (h if h > 0 else np.inf)


@loop
def synchronous(  # type: ignore[no-untyped-def]
    columns, start, held_pairs, exchanges, pairs, phi, settings, room, node, matrix_side
):  # fmt: skip
    """Move every node in every iteration; ``pairs`` are the new pairs of each exchange.

    ``node`` is room for one node's numbers where models are bounded, else None. A column is one
    node; z, s, d and the models are blocks of p rows each. One coordinate of all nodes is computed
    at a time: the compiler turns this into vector code, also with few features.
    """
    z, s, d, theta = columns
    current, current_weight, current_offset = held_pairs
    features, weights, offsets = pairs
    orders, p, n = current.shape
    scale, square_weights, (l1, l2, _, _, _, _) = settings
    pushes, spare = room
    for t in range(len(exchanges)):
        i, j = ends(exchanges, t)
        for block in (z, s, d):
            for c in range(p):
                average_at(block.T, i, j, c)
        for order in range(orders):
            for side in range(2):
                k = np.uint64(exchanges[t, side])
                current_weight[order, k] = weights[order, side, t]
                current_offset[order, k] = offsets[order, side, t]
                for c in range(p):
                    current[order, c, k] = features[order, side, t, c]
        for order in range(orders):
            _push_all(
                theta, current[order], current_weight[order], current_offset[order], phi,
                pushes[order], spare,
            )  # fmt: skip
        m = start + t + 1.0
        sizes = np.sqrt(p / m) / scale, 2.0 * l2 * m, m * l1
        for c in range(p):
            there, back = current[0, c], current[orders - 1, c]
            _add_and_renew(
                z[c], s[c], d[c], theta[c], there, back, pushes[0], pushes[1], square_weights,
                sizes, pushes[2],
            )  # fmt: skip
        if node is not None:
            for q in range(n):
                for c in range(p):
                    node[0, c], node[1, c], node[2, c] = z[c, q], s[c, q], d[c, q]
                renew_model(node[0], node[1], node[2], m, node[3], settings, matrix_side)
                for c in range(p):
                    theta[c, q] = node[3, c]
