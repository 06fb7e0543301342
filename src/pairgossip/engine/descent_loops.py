"""Gossip dual averaging with whole vectors: asynchronous, and synchronous where no line exists.

A row of ``rows`` is one node: its accumulator z, its model theta and the mean of its models, each
of p numbers. ``limits`` are the strengths of the l1 and squared l2 penalties, the radius of the
ball, and the two ends of the box.
"""

from __future__ import annotations

import numpy as np

from pairgossip.engine.margin_slopes import inlined, loop, slope


@inlined
def renew_model(rows, k, p, gamma, t, limits, share):  # type: ignore[no-untyped-def]
    """theta_k = T(z_k; gamma, t), folded into the mean of the models with weight ``share``."""
    l1, l2, radius, low, high = limits
    shrink = gamma / (1.0 + 2.0 * l2 * t * gamma)
    if l1 == 0 and low == -np.inf and high == np.inf:
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
        bounded_model(rows, k, p, shrink, t, limits)
        for c in range(p):
            mean = rows[k, 2 * p + c]
            rows[k, 2 * p + c] = (1.0 - share) * mean + share * rows[k, p + c]


@inlined
def bounded_model(rows, k, p, shrink, t, limits):  # type: ignore[no-untyped-def]
    """The model under an l1 penalty or in a box: soften, scale into the ball, clip."""
    l1, _, radius, low, high = limits
    norm2 = 0.0
    for c in range(p):
        z = rows[k, c]
        rows[k, p + c] = -shrink * np.sign(z) * max(abs(z) - t * l1, 0.0)
        norm2 += rows[k, p + c] ** 2
    inside = 1.0
    if norm2 > radius * radius:
        inside = radius / np.sqrt(norm2)
    for c in range(p):
        rows[k, p + c] = min(max(inside * rows[k, p + c], low), high)


@inlined
def margin_at(rows, k, p, features, side, s, offset):  # type: ignore[no-untyped-def]
    """theta_k . a + b."""
    total = offset
    for c in range(p):
        total += rows[k, p + c] * features[side, s, c]
    return total


@loop
def ordering_pairs(data, nodes, tokens, features, weights):  # type: ignore[no-untyped-def]
    """Write w = 1 where the first label, the last column, is the higher, and there a = x - x'.

    The features of pairs without weight are never used and keep what they were.
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
    """Write how often each node of each exchange was picked, this time included."""
    for s in range(exchanges.shape[0]):
        for side in range(2):
            k = exchanges[s, side]
            picks[k] += 1
            counts[side, s] = picks[k]


@loop
def asynchronous(  # type: ignore[no-untyped-def]
    rows, exchanges, features, weights, offsets, phi, counts, gammas, iterations, probabilities,
    limits,
):  # fmt: skip
    """One exchange after the other: average once, then both nodes take a step on their pair."""
    p = features.shape[2]
    for s in range(exchanges.shape[0]):
        i = np.uint64(exchanges[s, 0])
        j = np.uint64(exchanges[s, 1])
        for c in range(p):
            mean = (rows[i, c] + rows[j, c]) / 2
            rows[i, c] = mean
            rows[j, c] = mean
        for side in range(2):
            k = np.uint64(exchanges[s, side])
            if weights[side, s] != 0:
                margin = margin_at(rows, k, p, features, side, s, offsets[side, s])
                push = weights[side, s] * slope(phi, margin) / probabilities[k]
                for c in range(p):
                    rows[k, c] += push * features[side, s, c]
            share = 1.0 / counts[side, s]
            renew_model(rows, k, p, gammas[side, s], iterations[side, s], limits, share)


@loop
def synchronous(  # type: ignore[no-untyped-def]
    rows, current, current_weight, current_offset, exchanges, features, weights, offsets, phi,
    gammas, start, limits,
):  # fmt: skip
    """Every iteration moves every node; ``current`` are the features of the pairs held now."""
    n, p = current.shape
    for s in range(exchanges.shape[0]):
        i = np.uint64(exchanges[s, 0])
        j = np.uint64(exchanges[s, 1])
        for c in range(p):
            mean = (rows[i, c] + rows[j, c]) / 2
            rows[i, c] = mean
            rows[j, c] = mean
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
