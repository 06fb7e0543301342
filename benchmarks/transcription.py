"""The baseline: the paper's algorithms transcribed line by line into NumPy.

As one would write them with some care: arrays updated in place, the kernel called once per
iteration on all nodes (or, asynchronously, on each of the two nodes touched), one edge drawn per
iteration from a plain list.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Kernel = Callable[[Array, Array], Array]
Edges = list[list[int]]
Rng = np.random.Generator


def gosta_sync(x: Array, kernel: Kernel, edges: Edges, steps: int, rng: Rng) -> Array:
    """Algorithm 1, as printed."""
    y, z = x.copy(), np.zeros(len(x))
    for t in range(1, steps + 1):
        z *= (t - 1) / t
        z += kernel(x, y) / t
        i, j = edges[rng.integers(len(edges))]
        z[i] = z[j] = (z[i] + z[j]) / 2
        y[i], y[j] = y[j], y[i]
    return z


def u1_gossip(x: Array, kernel: Kernel, edges: Edges, steps: int, rng: Rng) -> Array:
    """U1-gossip."""
    y, z = x.copy(), np.zeros(len(x))
    for t in range(1, steps + 1):
        i, j = edges[rng.integers(len(edges))]
        y[i], y[j] = y[j], y[i]
        z *= (t - 1) / t
        z += kernel(x, y) / t
    return z


def u2_gossip(x: Array, kernel: Kernel, edges: Edges, steps: int, rng: Rng) -> Array:
    """U2-gossip."""
    first, second, z = x.copy(), x.copy(), np.zeros(len(x))
    for t in range(1, steps + 1):
        z *= (t - 1) / t
        z += kernel(first, second) / t
        i, j = edges[rng.integers(len(edges))]
        first[i], first[j] = first[j], first[i]
        k, m = edges[rng.integers(len(edges))]
        second[k], second[m] = second[m], second[k]
    return z


def gosta_async(x: Array, kernel: Kernel, edges: Edges, steps: int, rng: Rng) -> Array:
    """GoSta-async; touches the two nodes of each exchange only."""
    y, z, picks = x.copy(), np.zeros(len(x)), np.zeros(len(x))
    for _ in range(steps):
        i, j = edges[rng.integers(len(edges))]
        y[i], y[j] = y[j], y[i]
        mean = (z[i] + z[j]) / 2
        for k in (i, j):
            picks[k] += 1
            z[k] = (1 - 1 / picks[k]) * mean + kernel(x[k], y[k]) / picks[k]
    return z
