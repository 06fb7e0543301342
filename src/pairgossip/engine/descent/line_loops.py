"""Synchronous gossip dual averaging by the line trick: scalars between exchanges, not vectors.

For f = w phi(theta . a + b) every gradient is a multiple of the pair's a, so between two exchanges
a node's accumulator moves on a line, z = z0 + u a, and its model is theta = -kappa z with kappa
set by the step size and the ball. Only u, kappa and the sums c1 = sum kappa, c2 = sum kappa u are
needed per iteration; vectors are touched when the node exchanges. Pairs of weight zero do not move
at all: their sum of kappa comes from prefix sums of the step sizes.

Active nodes (those that move) occupy the first slots of ``slots``, so that one tight loop serves
them. A row of ``slots`` is one quantity over all slots.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.engine.descent.loops import LOGISTIC, logistic_slopes, slope
from pairgossip.engine.loops import average_at, inlined, loop

U, NORM2, ALONG, LENGTH2, KAPPA, C1, C2, WEIGHT, OFFSET, MARGIN, POLYNOMIAL = range(11)
"""The rows of ``slots``."""
QUANTITIES = 11
IDLE = -1
"""The slot of a node whose pair has weight zero."""


class Lines(NamedTuple):
    """The state of a network between exchanges."""

    z: FloatArray
    a: FloatArray
    """The features of every node's pair."""
    theta_sum: FloatArray
    last: IntArray
    """The iteration of the block up to which an idle node's models are in its sum."""
    slot: IntArray
    """The slot of every node, or IDLE."""
    members: IntArray
    """The node in every slot."""
    slots: FloatArray
    scale_bits: IntArray
    scale: FloatArray
    """The memory of ``scale_bits``, read as floating point."""


@inlined
def _step_active(  # type: ignore[no-untyped-def]
    u, norm2, along, length2, kappa, c1, c2, weight, offset, margin, polynomial,
    scale_bits, scale, count, phi, gamma, radius,
):  # fmt: skip
    """Make one iteration of every active node; arguments are rows of ``slots``.

    On entry margins are those of the present models; on return those of the new models.
    """
    if phi == LOGISTIC:
        logistic_slopes(margin, count, polynomial, scale_bits, scale)
    else:
        for q in range(count):
            margin[q] = slope(phi, margin[q])
    if radius == np.inf:
        for q in range(count):
            u[q] += weight[q] * margin[q]
            kappa[q] = gamma
            c1[q] += gamma
            c2[q] += gamma * u[q]
            margin[q] = offset[q] - gamma * (along[q] + u[q] * length2[q])
    else:
        for q in range(count):
            u[q] += weight[q] * margin[q]
            size2 = norm2[q] + u[q] * (2 * along[q] + u[q] * length2[q])
            cap = radius / np.sqrt(size2) if size2 > 0 else gamma
            kappa[q] = gamma if gamma < cap else cap
            c1[q] += kappa[q]
            c2[q] += kappa[q] * u[q]
            margin[q] = offset[q] - kappa[q] * (along[q] + u[q] * length2[q])


@inlined
def _idle_sum(gammas, sums, first, last, cap):  # type: ignore[no-untyped-def]
    """Return the sum of min(gamma_k, cap) over first < k <= last, for non-increasing gammas."""
    if last <= first:
        return 0.0
    low, high = first, last  # the capped steps are those up to and including ``low``
    if gammas[first + 1] > cap:
        while low < high:
            middle = (low + high + 1) // 2
            if gammas[middle] > cap:
                low = middle
            else:
                high = middle - 1
    return (low - first) * (cap if low > first else 0.0) + sums[last] - sums[low]


@inlined
def _cap_of(z, k, radius):  # type: ignore[no-untyped-def]
    """Return the largest kappa that keeps -kappa z_k in the ball."""
    norm2 = 0.0
    for c in range(z.shape[1]):
        norm2 += z[k, c] * z[k, c]
    return radius / np.sqrt(norm2) if norm2 > 0 else np.inf


@inlined
def _settle_idle(lines, k, gammas, sums, now, radius):  # type: ignore[no-untyped-def]
    """Add an idle node's models up to iteration ``now`` of the block to its sum."""
    z, theta_sum, last = lines.z, lines.theta_sum, lines.last
    total = _idle_sum(gammas, sums, last[k], now, _cap_of(z, k, radius))
    for c in range(z.shape[1]):
        theta_sum[k, c] -= total * z[k, c]
    last[k] = now


@inlined
def _leave_line(lines, count, k):  # type: ignore[no-untyped-def]
    """Turn an active node's scalars back into vectors and free its slot; return its kappa."""
    z, a, theta_sum = lines.z, lines.a, lines.theta_sum
    slot, members, slots = lines.slot, lines.members, lines.slots
    q = slot[k]
    u, c1, c2, kappa = slots[U, q], slots[C1, q], slots[C2, q], slots[KAPPA, q]
    for c in range(z.shape[1]):
        theta_sum[k, c] -= c1 * z[k, c] + c2 * a[k, c]
        z[k, c] += u * a[k, c]
    moved = members[count - 1]
    for quantity in range(POLYNOMIAL):
        slots[quantity, q] = slots[quantity, count - 1]
    members[q] = moved
    slot[moved] = q
    slot[k] = IDLE
    return kappa


@inlined
def _enter_line(lines, count, k, u, weight, offset, gamma, radius):  # type: ignore[no-untyped-def]
    """Give the next slot to a node with a nonzero pair, after its first move ``u``."""
    z, a, slots = lines.z, lines.a, lines.slots
    norm2 = along = length2 = 0.0
    for c in range(z.shape[1]):
        norm2 += z[k, c] * z[k, c]
        along += z[k, c] * a[k, c]
        length2 += a[k, c] * a[k, c]
    kappa = gamma
    if radius != np.inf:
        norm = np.sqrt(max(norm2 + u * (2 * along + u * length2), 0.0))
        if norm > 0:
            kappa = min(gamma, radius / norm)
    slots[U, count], slots[NORM2, count] = u, norm2
    slots[ALONG, count], slots[LENGTH2, count] = along, length2
    slots[KAPPA, count], slots[C1, count], slots[C2, count] = kappa, kappa, kappa * u
    slots[WEIGHT, count], slots[OFFSET, count] = weight, offset
    slots[MARGIN, count] = offset - kappa * (along + u * length2)
    lines.members[count] = k
    lines.slot[k] = count


@loop
def advance(lines, count, exchanges, pairs, steps, phi, radius):  # type: ignore[no-untyped-def]
    """Carry out a block of iterations; return the number of active nodes.

    ``pairs`` are features, weights and offsets of the new pair of each node of each exchange;
    features have shape (2, block, p). A node that meets itself keeps its pair. ``steps`` are the
    step sizes, starting with that of the iteration before the block, and their prefix sums from
    the block's first iteration on.
    """
    features, weights, offsets = pairs
    gammas, sums = steps
    z, a, slots, slot, last = lines.z, lines.a, lines.slots, lines.slot, lines.last
    p = z.shape[1]
    u, norm2, along, length2 = slots[U], slots[NORM2], slots[ALONG], slots[LENGTH2]
    kappa, c1, c2 = slots[KAPPA], slots[C1], slots[C2]
    weight, offset = slots[WEIGHT], slots[OFFSET]
    margin_of, polynomial = slots[MARGIN], slots[POLYNOMIAL]
    kappas = np.empty(2)
    moves = np.empty(2)
    for s in range(exchanges.shape[0]):
        gamma = gammas[s + 1]
        i = exchanges[s, 0]
        j = exchanges[s, 1]
        sides = 2 if i != j else 0
        for side in range(sides):
            k = exchanges[s, side]
            if slot[k] == IDLE:
                kappas[side] = min(gammas[s], _cap_of(z, k, radius))
                _settle_idle(lines, k, gammas, sums, s, radius)
            else:
                kappas[side] = _leave_line(lines, count, k)
                count -= 1
        for side in range(sides):
            k = exchanges[s, side]
            if weights[side, s] != 0:
                product = 0.0
                for c in range(p):
                    a[k, c] = features[side, s, c]
                    product += z[k, c] * a[k, c]
                margin = offsets[side, s] - kappas[side] * product
                moves[side] = weights[side, s] * slope(phi, margin)
        if sides:
            for c in range(p):
                average_at(z, i, j, c)
        _step_active(
            u, norm2, along, length2, kappa, c1, c2, weight, offset, margin_of, polynomial,
            lines.scale_bits, lines.scale, count, phi, gamma, radius,
        )  # fmt: skip
        for side in range(sides):
            k = exchanges[s, side]
            if weights[side, s] == 0:
                last[k] = s  # its models from this iteration on are added later
            else:
                weight_here, offset_here = weights[side, s], offsets[side, s]
                _enter_line(lines, count, k, moves[side], weight_here, offset_here, gamma, radius)
                count += 1
    block = exchanges.shape[0]
    for k in range(z.shape[0]):
        if slot[k] == IDLE:
            _settle_idle(lines, k, gammas, sums, block, radius)
            last[k] = 0  # the next block counts from 0
    return count


@loop
def read(lines, gamma, radius, sums_out, theta_out, z_out):  # type: ignore[no-untyped-def]
    """Write every node's sum of models, model and accumulator, without touching the state."""
    z, a, theta_sum, slot, slots = lines.z, lines.a, lines.theta_sum, lines.slot, lines.slots
    for k in range(z.shape[0]):
        q = slot[k]
        if q == IDLE:
            kappa = min(gamma, _cap_of(z, k, radius))
            u = c1 = c2 = 0.0
        else:
            kappa, u, c1, c2 = slots[KAPPA, q], slots[U, q], slots[C1, q], slots[C2, q]
        for c in range(z.shape[1]):
            z_out[k, c] = z[k, c] + u * a[k, c]
            theta_out[k, c] = -kappa * z_out[k, c]
            sums_out[k, c] = theta_sum[k, c] - c1 * z[k, c] - c2 * a[k, c]


@loop
def enter_all(lines, weights, offsets, gamma, radius):  # type: ignore[no-untyped-def]
    """Give a slot to every node whose pair has a weight, before it moves; return their number.

    ``gamma`` is the step size of the last iteration, which set the nodes' present models.
    """
    count = 0
    for k in range(lines.z.shape[0]):
        if weights[k] != 0:
            _enter_line(lines, count, k, 0.0, weights[k], offsets[k], gamma, radius)
            lines.slots[C1, count] = 0.0  # the present model is in the sum already
            lines.slots[C2, count] = 0.0
            count += 1
    return count
