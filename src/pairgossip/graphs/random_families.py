"""Graph families drawn at random: simple, connected, repeatable from a seed."""

from __future__ import annotations

import math

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.extras import needed_for
from pairgossip.graphs import attachment, regular, sampling
from pairgossip.graphs.checks import node_count, real_number, repeats, whole_number
from pairgossip.graphs.graph import Graph
from pairgossip.graphs.sampling import Seed

_REWIRING_ROUNDS = 60


def watts_strogatz(n: int, k: int, p: float, seed: Seed = None) -> Graph:
    """A ring where each node neighbors the k nearest, with a fraction p of the edges rewired.

    Rewiring keeps one end of an edge and moves the other to a uniform node that was not a
    neighbor on the ring; an edge stays where it is when no place is free.
    """
    n = node_count(n, at_least=3)
    k = whole_number(k, "The number of ring neighbors k", 2)
    if k % 2:
        raise InputError(
            f"Watts-Strogatz needs an even k, k/2 on each side: use {k - 1} or {k + 1}."
        )
    if k >= n:
        raise InputError(f"Watts-Strogatz needs k < n, but k={k} and n={n}.")
    p = real_number(p, "The rewiring probability p", 0, 1)
    sampling.refuse_too_many_edges(n * k / 2, "The graph", "lower n or k")
    rng = sampling.generator(seed)
    edges = sampling.draw_until_connected(
        n,
        lambda: _rewired_ring(n, k, p, rng),
        n * k / 2,
        f"Watts-Strogatz with n={n}, k={k} and p={p:g}",
        "raise k or lower p",
    )
    parameters = {"k": k, "p": p, "seed": sampling.noted(seed)}
    return Graph._trusted(n, edges, "watts-strogatz", parameters)


def _rewired_ring(n: int, k: int, p: float, rng: Generator) -> NDArray[np.int64]:
    kept_end = np.tile(np.arange(n), k // 2)
    moved_end = (kept_end + np.repeat(np.arange(1, k // 2 + 1), n)) % n
    edges = np.column_stack([kept_end, moved_end])
    chords = n - 1 - k  # places for a new edge of one node that are not on the ring
    if chords == 0:
        return edges
    rewired = np.flatnonzero(rng.random(len(edges)) < p)
    place = np.full(len(rewired), -1)
    pending = np.arange(len(rewired))
    for _ in range(_REWIRING_ROUNDS):
        if pending.size == 0:
            break
        u = kept_end[rewired[pending]]
        w = (u + rng.integers(k // 2 + 1, n - k // 2, pending.size)) % n
        place[pending] = np.minimum(u, w) * n + np.maximum(u, w)
        edges[rewired[pending], 1] = w
        pending = repeats(place)
    edges[rewired[pending], 1] = moved_end[rewired[pending]]
    return edges


def erdos_renyi(n: int, p: float, seed: Seed = None) -> Graph:
    """Every two nodes are joined with probability p, independently."""
    n = node_count(n)
    p = real_number(p, "The edge probability p", 0, 1)
    parameters = {"p": p, "seed": sampling.noted(seed)}
    rng = sampling.generator(seed)
    if p == 1.0 or n == 1:
        return Graph._trusted(n, None, "erdos-renyi", parameters)
    what = f"Erdos-Renyi with n={n} and p={p:g}"
    expected = p * n * (n - 1) / 2
    sampling.refuse_too_many_edges(expected, what, "lower p")
    threshold = math.log(n) / n
    edges = sampling.draw_until_connected(
        n,
        lambda: _independent_pairs(n, p, rng),
        expected,
        what,
        f"connected graphs appear above p ~ log(n)/n = {threshold:.2g}; raise p",
    )
    return Graph._trusted(n, edges, "erdos-renyi", parameters)


def _independent_pairs(n: int, p: float, rng: Generator) -> NDArray[np.int64]:
    """Skip from one joined pair to the next: the gaps between them are geometric."""
    pair_count = n * (n - 1) // 2
    if p == 0.0:
        return np.empty((0, 2), dtype=np.int64)
    numbers = np.empty(0, dtype=np.int64)
    last = -1
    while last < pair_count:
        left = p * (pair_count - last)
        gaps = rng.geometric(p, int(left + 4 * math.sqrt(left)) + 8)
        # A longer gap ends the list in any case, and the sum of such gaps might overflow.
        numbers = np.concatenate([numbers, last + np.cumsum(np.minimum(gaps, pair_count + 1))])
        last = int(numbers[-1])
    return sampling.pairs_from_numbers(numbers[numbers < pair_count])


def random_regular(n: int, degree: int, seed: Seed = None) -> Graph:
    """Every node has the same number of neighbors, otherwise at random."""
    n = node_count(n, at_least=2)
    degree = whole_number(degree, "The degree", 1)
    if degree >= n:
        raise InputError(f"A regular graph needs degree < n, but degree={degree} and n={n}.")
    if n * degree % 2:
        raise InputError(
            f"No graph on n={n} nodes has degree={degree} everywhere: make n * degree even."
        )
    if degree == 1 and n > 2:
        raise InputError(
            f"With degree=1 the {n} nodes fall into pairs; use a degree of at least 2."
        )
    sampling.refuse_too_many_edges(n * degree / 2, "The graph", "lower n or the degree")
    rng = sampling.generator(seed)
    parameters = {"degree": degree, "seed": sampling.noted(seed)}
    edges = sampling.draw_until_connected(
        n,
        lambda: regular.regular_edges(n, degree, rng),
        n * degree / 2,
        f"The random regular graph with n={n} and degree={degree}",
        "raise the degree",
    )
    return Graph._trusted(n, edges, "random-regular", parameters)


def random_geometric(n: int, radius: float, seed: Seed = None) -> Graph:
    """Nodes are uniform points of the unit square, joined when closer than the radius."""
    with needed_for("A random geometric graph"):
        from scipy.spatial import KDTree
    n = node_count(n)
    radius = real_number(radius, "The radius", 0, math.inf)
    what = f"The random geometric graph with n={n} and radius={radius:g}"
    expected = n * (n - 1) / 2 * min(1.0, math.pi * radius**2)
    sampling.refuse_too_many_edges(expected, what, "lower the radius")
    rng = sampling.generator(seed)
    points: FloatArray = np.empty((n, 2))

    def draw() -> NDArray[np.int64]:
        rng.random(out=points)
        close: NDArray[np.int64] = KDTree(points).query_pairs(radius, output_type="ndarray")
        return close

    threshold = math.sqrt(math.log(n) / (math.pi * n))
    edges = sampling.draw_until_connected(
        n,
        draw,
        expected,
        what,
        f"connected graphs appear above radius ~ sqrt(log(n)/(pi n)) = {threshold:.2g}; "
        "raise the radius",
    )
    points.flags.writeable = False
    parameters = {"radius": radius, "seed": sampling.noted(seed)}
    return Graph._trusted(n, edges, "random-geometric", parameters, points)


def barabasi_albert(n: int, m: int, seed: Seed = None) -> Graph:
    """Nodes arrive one by one and join m others, the likelier the more neighbors these have.

    The first m + 1 nodes form a star.
    """
    n = node_count(n, at_least=2)
    m = whole_number(m, "The number of edges per new node m", 1)
    if m >= n:
        raise InputError(f"Barabasi-Albert needs m < n, but m={m} and n={n}.")
    sampling.refuse_too_many_edges(n * m, "The graph", "lower n or m")
    edges = attachment.attached_edges(n, m, sampling.generator(seed))
    parameters = {"m": m, "seed": sampling.noted(seed)}
    return Graph._trusted(n, edges, "barabasi-albert", parameters)
