"""Gossip dual averaging with a user's own loss, which loops call by its address.

``pull(theta, pair, gradient, squares)`` writes the gradient at a pair and the squares of the pair's
features. ``pairs`` have axes (side, iteration, order, numbers of a pair); gradients are the means
over the orders. The state of a node is a row, as in `loops` and `adaptive_loops`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pairgossip.engine.descent.adaptive_loops import renew_model as renew_adaptive_model
from pairgossip.engine.descent.loops import renew_model
from pairgossip.engine.loops import average_at, ends, loop

Pull = Callable[..., None]


def pull_of_gradient(gradient: Any, shape: tuple[int, ...]) -> Pull:
    """Return ``pull`` for a gradient of any form; a pair is two observations of this shape."""
    width = shape[-1]

    def pull(theta, pair, out, squares):  # type: ignore[no-untyped-def]
        first, second = pair[:width].reshape(shape), pair[width:].reshape(shape)
        slopes = gradient(theta, first, second).ravel()
        if len(slopes) != len(theta):
            raise ValueError("a gradient has another length than the model")
        out[:] = slopes
        squares[:] = 1.0

    return pull


def pull_of_margin(derivative: Any) -> Pull:
    """Return ``pull`` for a function of the margin; a pair is features, weight and offset."""

    def pull(theta, pair, out, squares):  # type: ignore[no-untyped-def]
        p = len(theta)
        margin, push = pair[p + 1], 0.0
        for c in range(p):
            margin += pair[c] * theta[c]
        if pair[p] != 0:
            push = pair[p] * derivative(np.array([margin]))[0]
        for c in range(p):
            out[c] = push * pair[c]
            squares[c] = pair[c] * pair[c]

    return pull


@loop
def _pull_both(pull, theta, pair, room):  # type: ignore[no-untyped-def]
    """Write the gradient and the squares of a pair, averaged over its orders."""
    orders = len(pair)
    room[0], room[1] = 0.0, 0.0
    for order in range(orders):
        pull(theta, pair[order], room[2], room[3])
        for c in range(len(theta)):
            room[0, c] += room[2, c] / orders
            room[1, c] += room[3, c] / orders


@loop
def _step(pull, rows, k, pair, gamma, iterations, share, weight, limits, room):  # type: ignore[no-untyped-def]
    """Step a node with a given step size."""
    p = rows.shape[1] // 3
    _pull_both(pull, rows[k, p : 2 * p], pair, room)
    for c in range(p):
        rows[k, c] += weight * room[0, c]
    renew_model(rows, k, p, gamma, iterations, limits, share)


@loop
def _adaptive_step(pull, row, pair, weight, square_weight, settings, matrix_side, room):  # type: ignore[no-untyped-def]
    """Step a node with the adaptive step."""
    p = len(row) // 4
    z, s, d, theta = row[:p], row[p : 2 * p], row[2 * p : 3 * p], row[3 * p + 1 :]
    _pull_both(pull, theta, pair, room)
    for c in range(p):
        z[c] += weight * room[0, c]
        s[c] += square_weight * room[0, c] * room[0, c]
        d[c] += weight * room[1, c]
    row[3 * p] += weight
    renew_adaptive_model(z, s, d, row[3 * p], theta, settings, matrix_side)


@loop
def _meet(rows, held, exchanges, t, pairs, averaged):  # type: ignore[no-untyped-def]
    """Average two nodes, and store their new pairs."""
    i, j = ends(exchanges, t)
    for c in range(averaged):
        average_at(rows, i, j, c)
    for side in range(2):
        held[np.uint64(exchanges[t, side])] = pairs[side, t]


@loop
def advance(pull, rows, held, exchanges, pairs, sizes, weights, limits, everyone, room):  # type: ignore[no-untyped-def]
    """Make one exchange after the other, each with a step of both nodes, or of all nodes.

    ``sizes`` are the steps, the iterations so far and the weights of new models in their means, by
    side and iteration, or by iteration for all nodes.
    """
    gammas, iterations, shares = sizes
    for t in range(len(exchanges)):
        _meet(rows, held, exchanges, t, pairs, rows.shape[1] // 3)
        for at in range(len(rows) if everyone else 2):
            k, side = (at, 0) if everyone else (np.intp(exchanges[t, at]), at)
            _step(
                pull, rows, k, held[k], gammas[side, t], iterations[side, t], shares[side, t],
                weights[k], limits, room,
            )  # fmt: skip


@loop
def advance_adaptive(  # type: ignore[no-untyped-def]
    pull, rows, held, exchanges, pairs, weights, square_weights, settings, matrix_side, everyone,
    room,
):  # fmt: skip
    """Do the same with adaptive steps."""
    p = rows.shape[1] // 4
    for t in range(len(exchanges)):
        _meet(rows, held, exchanges, t, pairs, 3 * p + 1)
        for at in range(len(rows) if everyone else 2):
            k = at if everyone else np.intp(exchanges[t, at])
            _adaptive_step(
                pull, rows[k], held[k], weights[k], square_weights[k], settings, matrix_side, room
            )
