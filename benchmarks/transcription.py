"""The baseline: the paper's algorithms transcribed line by line into NumPy.

They are written with some care: arrays are updated in place, the kernel is called once per
iteration on all nodes (or, asynchronously, on each of the two nodes touched), and one edge is drawn
per iteration from a plain list.
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
    """Run Algorithm 1, as printed."""
    y, z = x.copy(), np.zeros(len(x))
    for t in range(1, steps + 1):
        z *= (t - 1) / t
        z += kernel(x, y) / t
        i, j = edges[rng.integers(len(edges))]
        z[i] = z[j] = (z[i] + z[j]) / 2
        y[i], y[j] = y[j], y[i]
    return z


def u1_gossip(x: Array, kernel: Kernel, edges: Edges, steps: int, rng: Rng) -> Array:
    """Run U1-gossip."""
    y, z = x.copy(), np.zeros(len(x))
    for t in range(1, steps + 1):
        i, j = edges[rng.integers(len(edges))]
        y[i], y[j] = y[j], y[i]
        z *= (t - 1) / t
        z += kernel(x, y) / t
    return z


def u2_gossip(x: Array, kernel: Kernel, edges: Edges, steps: int, rng: Rng) -> Array:
    """Run U2-gossip."""
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
    """Run GoSta-async, which changes only the two nodes of each exchange."""
    y, z, picks = x.copy(), np.zeros(len(x)), np.zeros(len(x))
    for _ in range(steps):
        i, j = edges[rng.integers(len(edges))]
        y[i], y[j] = y[j], y[i]
        mean = (z[i] + z[j]) / 2
        for k in (i, j):
            picks[k] += 1
            z[k] = (1 - 1 / picks[k]) * mean + kernel(x[k], y[k]) / picks[k]
    return z


def dual_averaging_sync(
    x: Array, labels: Array, edges: Edges, steps: int, rng: Rng, scale: float = 1e-3
) -> Array:
    """Run Algorithm 2 with the logistic AUC loss, corrected in sign, which changes every node."""
    y, held_labels = x.copy(), labels.copy()
    z, theta, mean = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x)
    for t in range(1, steps + 1):
        i, j = edges[rng.integers(len(edges))]
        z[i] = z[j] = (z[i] + z[j]) / 2
        y[[i, j]] = y[[j, i]]
        held_labels[[i, j]] = held_labels[[j, i]]
        apart = x - y
        slope = (labels > held_labels) / (1 + np.exp(np.sum(theta * apart, axis=1)))
        z -= slope[:, None] * apart
        theta = -scale / np.sqrt(t) * z
        mean += (theta - mean) / t
    return mean


def dual_averaging_async(
    x: Array, labels: Array, probabilities: Array, edges: Edges, steps: int, rng: Rng,
    scale: float = 1e-3,
) -> Array:  # fmt: skip
    """Run Algorithm 7 with the logistic AUC loss, corrected, which changes only two nodes."""
    y, held_labels = x.copy(), labels.copy()
    z, theta, mean = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x)
    picks = np.zeros(len(x))
    for _ in range(steps):
        i, j = edges[rng.integers(len(edges))]
        y[[i, j]] = y[[j, i]]
        held_labels[i], held_labels[j] = held_labels[j], held_labels[i]
        average = (z[i] + z[j]) / 2
        for k in (i, j):
            picks[k] += 1
            z[k] = average
            if labels[k] > held_labels[k]:
                apart = x[k] - y[k]
                z[k] -= apart / (1 + np.exp(theta[k] @ apart)) / probabilities[k]
            theta[k] = -scale / np.sqrt(picks[k] / probabilities[k]) * z[k]
            mean[k] += (theta[k] - mean[k]) / picks[k]
    return mean


def averaging(x: Array, edges: Edges, steps: int, rng: Rng) -> Array:
    """Average vectors by gossip, one row per node."""
    z = x.copy()
    for _ in range(steps):
        i, j = edges[rng.integers(len(edges))]
        z[i] = z[j] = (z[i] + z[j]) / 2
    return z
