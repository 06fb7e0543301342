"""Graph families drawn at random: simple, connected, repeatable from a seed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import BitGenerator, Generator, SeedSequence
from numpy.typing import NDArray

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError, needed_for
from pairgossip.families import FAMILIES
from pairgossip.graphs.checks import edge_keys, is_connected, node_count, repeats
from pairgossip.graphs.graph import Graph

_FEWEST_BEFORE_BATCHES = 64
"""The number of nodes that arrive one by one; later ones arrive in batches that double."""


def _attach_edges(n: int, m: int, rng: Generator) -> NDArray[np.int64]:
    """Return the edges (new node, target) of a star on m + 1 nodes grown to n nodes.

    A node is chosen in proportion to its degree by choosing uniformly among the ends of all
    earlier edges. End 2e is the new node of edge e, end 2e + 1 is its target. A target is first
    drawn as the number of an earlier end. Within a batch of new nodes that end may itself be a
    target not yet known; such chains are resolved for the whole batch at once.
    """
    ends = np.empty(2 * m * (n - m), dtype=np.int64)
    ends[0 : 2 * m : 2] = np.arange(1, m + 1)
    ends[1 : 2 * m : 2] = 0
    arrived = m + 1
    # Few nodes mean many repeated targets: they arrive one by one, the others in batches.
    one_by_one = min(n, max(2 * m + 2, _FEWEST_BEFORE_BATCHES))
    while arrived < n:
        batch = 1 if arrived < one_by_one else min(arrived, n - arrived)
        first_end = 2 * m * (arrived - m)
        last_end = first_end + 2 * m * batch
        ends[first_end:last_end:2] = np.repeat(np.arange(arrived, arrived + batch), m)
        if batch == 1:
            targets = _distinct_targets(ends[:first_end], m, rng)
        else:
            targets = _batch_targets(ends[:last_end], arrived, batch, m, rng)
        ends[first_end + 1 : last_end : 2] = targets
        arrived += batch
    return ends.reshape(-1, 2)


def _distinct_targets(ends: NDArray[np.int64], m: int, rng: Generator) -> NDArray[np.int64]:
    """Choose among the ends until m different nodes are found."""
    drawn = np.empty(0, dtype=np.int64)
    while True:
        drawn = np.concatenate([drawn, ends[rng.integers(0, len(ends), 2 * m)]])
        firsts = np.sort(np.unique(drawn, return_index=True)[1])
        if len(firsts) >= m:
            return drawn[firsts[:m]]


def _batch_targets(
    ends: NDArray[np.int64], arrived: int, batch: int, m: int, rng: Generator
) -> NDArray[np.int64]:
    """Choose m targets for each new node, and choose again where a node has one twice."""
    node = np.repeat(np.arange(arrived, arrived + batch), m)
    # A node's own edges come after all the ends it may choose from.
    choices = 2 * m * (node - m)
    first_end = 2 * m * (arrived - m)
    drawn = rng.integers(0, choices)
    while True:
        targets = ends[_resolve_ends(drawn, first_end)]
        repeated = _repeats_within_rows(targets.reshape(batch, m))
        if repeated.size == 0:
            return targets
        drawn[repeated] = rng.integers(0, choices[repeated])


def _resolve_ends(drawn: NDArray[np.int64], first_end: int) -> NDArray[np.int64]:
    """Replace ends that are targets of this batch by ends that are known."""
    ends = drawn.copy()
    while (unknown := np.flatnonzero((ends >= first_end) & (ends % 2 == 1))).size:
        # Each round uses the results of earlier rounds, so that chains halve.
        ends[unknown] = ends[(ends[unknown] - first_end) // 2]
    return ends


def _repeats_within_rows(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the flat positions of values that occur earlier in their row."""
    order = np.argsort(rows, axis=1, kind="stable")
    by_value = np.take_along_axis(rows, order, axis=1)
    row, column = np.nonzero(by_value[:, 1:] == by_value[:, :-1])
    return np.asarray(row * rows.shape[1] + order[row, column + 1])


_Seed = int | SeedSequence | BitGenerator | Generator | None
"""The seed of a random family; None for a new random seed."""

_MOST_EDGES = 200_000_000
"""The largest expected number of edges, of 8 bytes each; with more a family is refused."""
_MOST_DRAWS = 100
"""The largest number of draws of one graph; then it is refused as disconnected."""
_MOST_EDGES_DRAWN = 60_000_000
"""The largest number of edges over all draws; but a large graph is drawn at least three times."""


def _generator(seed: _Seed) -> Generator:
    """Return the generator of a seed."""
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise InputError(f"The seed must be a whole number >= 0, not {seed!r}.") from None


def record_seed(seed: _Seed) -> int | None:
    """Return the seed if it is a number, which a file can hold; else None."""
    return int(seed) if isinstance(seed, (int, np.integer)) else None


def _refuse_too_many_edges(expected: float, what: str, remedy: str) -> None:
    """Raise before drawing a graph that would not fit in memory."""
    if expected > _MOST_EDGES:
        raise InputError(
            f"{what} would have about {expected:.1e} edges, more than {_MOST_EDGES:.0e}; {remedy}."
        )


def _draw_until_connected(
    n: int, draw: Callable[[], NDArray[Any]], expected_edges: float, what: str, remedy: str
) -> NDArray[Any]:
    """Return the first connected draw; stop after 100 draws, or fewer where they are large."""
    draws = int(np.clip(_MOST_EDGES_DRAWN / max(expected_edges + n, 1.0), 3, _MOST_DRAWS))
    for _ in range(draws):
        edges = draw()
        if is_connected(n, edges):
            return edges
    raise InputError(f"{what} stayed disconnected in {draws} draws: {remedy}.")


def pairs_from_numbers(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return pair number j (j - 1) / 2 + i as the row (i, j), i < j."""
    larger = ((1.0 + np.sqrt(1.0 + 8.0 * numbers)) / 2.0).astype(np.int64)
    # The square root may be off by one in both directions where the numbers are large.
    larger -= larger * (larger - 1) // 2 > numbers
    larger += larger * (larger + 1) // 2 <= numbers
    return np.column_stack([numbers - larger * (larger - 1) // 2, larger])


def _regular_edges(n: int, degree: int, rng: Generator) -> NDArray[Any]:
    """Return the edges of a simple graph of the given degree; n * degree must be even.

    Each node gets `degree` stubs, and the stubs are paired at random. Pairs that are loops or
    repeats trade ends with random other pairs until no such pair is left.
    """
    if degree == 2:
        # Connected graphs of degree 2 are cycles; a pairing would rarely hit one.
        order = rng.permutation(n)
        return np.column_stack([order, np.roll(order, -1)])
    if degree > (n - 1) / 2:
        return _complement(n, _pair_stubs(n, n - 1 - degree, rng))
    return _pair_stubs(n, degree, rng)


def _pair_stubs(n: int, degree: int, rng: Generator) -> NDArray[Any]:
    """Pair stubs and repair, for degrees up to half of n; the graph may be disconnected."""
    stubs = rng.permutation(np.repeat(np.arange(n), degree))
    pairs = stubs.reshape(-1, 2)
    while (bad := _bad_pairs(n, pairs)).size:
        good = np.setdiff1d(np.arange(len(pairs)), bad, assume_unique=True)
        size = min(len(bad), len(good))
        if size == 0:
            pairs = rng.permutation(pairs.ravel()).reshape(-1, 2)
            continue
        mine = bad if size == len(bad) else rng.choice(bad, size, replace=False)
        partner = rng.choice(good, size, replace=False)
        pairs = _trade_ends(n, pairs, mine, partner, rng)
    return pairs


def _trade_ends(
    n: int,
    pairs: NDArray[Any],
    mine: NDArray[np.int64],
    partner: NDArray[np.int64],
    rng: Generator,
) -> NDArray[Any]:
    """Let each pair trade one end with its partner where both become new, simple edges."""
    trial = pairs.copy()
    end = rng.integers(0, 2, len(mine))
    trial[mine, 1] = pairs[partner, end]
    trial[partner, end] = pairs[mine, 1]
    still_bad = np.zeros(len(pairs), dtype=bool)
    still_bad[_bad_pairs(n, trial)] = True
    refused = still_bad[mine] | still_bad[partner]
    for side in (mine[refused], partner[refused]):
        trial[side] = pairs[side]
    return trial


def _bad_pairs(n: int, pairs: NDArray[Any]) -> NDArray[np.int64]:
    """Return the positions of loops and of edges that occurred before."""
    ordered = np.column_stack([pairs.min(axis=1), pairs.max(axis=1)])
    loops = np.flatnonzero(ordered[:, 0] == ordered[:, 1])
    return np.union1d(loops, repeats(edge_keys(n, ordered)))


def _complement(n: int, edges: NDArray[Any]) -> NDArray[np.int64]:
    smaller, larger = edges.min(axis=1), edges.max(axis=1)
    taken = np.zeros(n * (n - 1) // 2, dtype=bool)
    taken[larger * (larger - 1) // 2 + smaller] = True
    return pairs_from_numbers(np.flatnonzero(~taken))


_REWIRING_ROUNDS = 60
"""The number of attempts to rewire an edge to a free place; after them it stays on the ring."""


def watts_strogatz(n: int, k: int, p: float, seed: _Seed = None) -> Graph:
    """Build a ring where each node neighbors the k nearest, with a share p of edges rewired.

    Rewiring keeps one end of an edge and moves the other to a uniform node that was not a
    neighbor on the ring; an edge does not move if no place is free.
    """
    n = node_count(n, at_least=3)
    family = FAMILIES["watts-strogatz"]
    k, p = family.check(k=k, p=p)
    if k % 2:
        raise InputError(
            f"Watts-Strogatz needs an even k, k/2 on each side: use {k - 1} or {k + 1}."
        )
    if k >= n:
        raise InputError(f"Watts-Strogatz needs k < n, but k={k} and n={n}.")
    expected = family.expected_edges(n, k=k, p=p)
    _refuse_too_many_edges(expected, "The graph", "lower n or k")
    rng = _generator(seed)
    what = f"Watts-Strogatz with n={n}, k={k} and p={p:g}"
    edges = _draw_until_connected(
        n, lambda: _rewired_ring(n, k, p, rng), expected, what, "raise k or lower p"
    )
    return Graph._build_unchecked(
        n, edges, "watts-strogatz", {"k": k, "p": p, "seed": record_seed(seed)}
    )


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


def erdos_renyi(n: int, p: float, seed: _Seed = None) -> Graph:
    """Build a graph in which every two nodes are joined with probability p, independently."""
    n = node_count(n)
    family = FAMILIES["erdos-renyi"]
    (p,) = family.check(p=p)
    parameters = {"p": p, "seed": record_seed(seed)}
    rng = _generator(seed)
    if p == 1.0 or n == 1:
        return Graph._build_unchecked(n, None, "erdos-renyi", parameters)
    what = f"Erdos-Renyi with n={n} and p={p:g}"
    expected = family.expected_edges(n, p=p)
    _refuse_too_many_edges(expected, what, "lower p")
    remedy = f"connected graphs appear above p ~ log(n)/n = {math.log(n) / n:.2g}; raise p"
    edges = _draw_until_connected(n, lambda: _independent_pairs(n, p, rng), expected, what, remedy)
    return Graph._build_unchecked(n, edges, "erdos-renyi", parameters)


def _independent_pairs(n: int, p: float, rng: Generator) -> NDArray[np.int64]:
    """Return the joined pairs, drawn by the geometric gaps between them."""
    pair_count = n * (n - 1) // 2
    if p == 0.0:
        return np.empty((0, 2), dtype=np.int64)
    numbers = np.empty(0, dtype=np.int64)
    last = -1
    while last < pair_count:
        left = p * (pair_count - last)
        gaps = rng.geometric(p, int(left + 4 * math.sqrt(left)) + 8)
        # A longer gap ends the list anyway, and sums of such gaps might overflow.
        numbers = np.concatenate([numbers, last + np.cumsum(np.minimum(gaps, pair_count + 1))])
        last = int(numbers[-1])
    return pairs_from_numbers(numbers[numbers < pair_count])


def random_regular(n: int, degree: int, seed: _Seed = None) -> Graph:
    """Build a random graph in which every node has the same number of neighbors."""
    n = node_count(n, at_least=2)
    family = FAMILIES["random-regular"]
    (degree,) = family.check(degree=degree)
    if degree >= n:
        raise InputError(f"A regular graph needs degree < n, but degree={degree} and n={n}.")
    if n * degree % 2:
        raise InputError(
            f"No graph on n={n} nodes has degree={degree} at every node: make n * degree even."
        )
    if degree == 1 and n > 2:
        raise InputError(
            f"With degree=1 the {n} nodes fall into pairs; use a degree of at least 2."
        )
    expected = family.expected_edges(n, degree=degree)
    _refuse_too_many_edges(expected, "The graph", "lower n or the degree")
    rng = _generator(seed)
    parameters = {"degree": degree, "seed": record_seed(seed)}
    what = f"The random regular graph with n={n} and degree={degree}"
    edges = _draw_until_connected(
        n, lambda: _regular_edges(n, degree, rng), expected, what, "raise the degree"
    )
    return Graph._build_unchecked(n, edges, "random-regular", parameters)


def random_geometric(n: int, radius: float, seed: _Seed = None) -> Graph:
    """Build a graph on uniform points of the unit square, joined when closer than the radius."""
    with needed_for("A random geometric graph"):
        from scipy.spatial import KDTree
    n = node_count(n)
    family = FAMILIES["random-geometric"]
    (radius,) = family.check(radius=radius)
    what = f"The random geometric graph with n={n} and radius={radius:g}"
    expected = family.expected_edges(n, radius=radius)
    _refuse_too_many_edges(expected, what, "lower the radius")
    rng = _generator(seed)
    points: FloatArray = np.empty((n, 2))

    def draw() -> NDArray[np.int64]:
        rng.random(out=points)
        close: NDArray[np.int64] = KDTree(points).query_pairs(radius, output_type="ndarray")
        return close

    threshold = math.sqrt(math.log(n) / (math.pi * n))
    remedy = (
        f"connected graphs appear above radius ~ sqrt(log(n)/(pi n)) = {threshold:.2g}; "
        "raise the radius"
    )
    edges = _draw_until_connected(n, draw, expected, what, remedy)
    points.flags.writeable = False
    parameters = {"radius": radius, "seed": record_seed(seed)}
    return Graph._build_unchecked(n, edges, "random-geometric", parameters, points)


def barabasi_albert(n: int, m: int, seed: _Seed = None) -> Graph:
    """Build a graph whose nodes arrive one by one and join m others, by their degrees.

    A node is chosen with probability in proportion to its degree. The first m + 1 nodes form a
    star.
    """
    n = node_count(n, at_least=2)
    family = FAMILIES["barabasi-albert"]
    (m,) = family.check(m=m)
    if m >= n:
        raise InputError(f"Barabasi-Albert needs m < n, but m={m} and n={n}.")
    _refuse_too_many_edges(family.expected_edges(n, m=m), "The graph", "lower n or m")
    edges = _attach_edges(n, m, _generator(seed))
    return Graph._build_unchecked(n, edges, "barabasi-albert", {"m": m, "seed": record_seed(seed)})
