"""Checks of the parts of a graph, and facts about a list of edges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairgossip.arrays import FloatArray, PairArray
from pairgossip.checks import whole
from pairgossip.errors import InputError


def node_count(value: object, at_least: int = 1) -> int:
    """Return a number of nodes that fits the 32-bit node indices."""
    return whole("The number of nodes n", value, at_least, 2**31 - 1)


def edge_array(n: int, edges: Any) -> PairArray:
    """Return `edges` as read-only rows i < j after checking that they make a simple graph."""
    try:
        pairs = np.asarray(edges)
    except ValueError:
        pairs = np.empty(0, dtype=object)
    if pairs.size == 0 and pairs.dtype != object:
        pairs = np.empty((0, 2), dtype=np.int32)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise InputError("The edges must be an array of shape (m, 2), one pair of nodes per row.")
    if not np.issubdtype(pairs.dtype, np.integer):
        raise InputError(f"The edges must be integers (node indices), not {pairs.dtype}.")
    outside = np.flatnonzero(((pairs < 0) | (pairs >= n)).any(axis=1))
    if outside.size:
        i, j = pairs[outside[0]]
        raise InputError(f"Edge ({i}, {j}) is outside the nodes 0 to {n - 1}.")
    ordered = ordered_rows(pairs)
    loops = np.flatnonzero(ordered[:, 0] == ordered[:, 1])
    if loops.size:
        node = ordered[loops[0], 0]
        raise InputError(f"Edge ({node}, {node}) joins a node to itself; remove it.")
    repeated = repeats(edge_keys(n, ordered))
    if repeated.size:
        i, j = ordered[repeated[0]]
        raise InputError(f"Edge ({i}, {j}) is given more than once; keep one of them.")
    return ordered


def ordered_rows(edges: NDArray[Any]) -> PairArray:
    """Return the edges as int32 with i < j in each row, contiguous and read-only."""
    ordered = np.empty((len(edges), 2), dtype=np.int32)
    np.minimum(edges[:, 0], edges[:, 1], out=ordered[:, 0], casting="unsafe")
    np.maximum(edges[:, 0], edges[:, 1], out=ordered[:, 1], casting="unsafe")
    ordered.flags.writeable = False
    return ordered


def edge_keys(n: int, ordered: NDArray[Any]) -> NDArray[np.int64]:
    """Return one integer per edge (i < j), different for different edges."""
    keys: NDArray[np.int64] = ordered[:, 0].astype(np.int64) * n + ordered[:, 1]
    return keys


def repeats(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the positions of keys that already occurred at an earlier position."""
    by_value = np.sort(keys)
    twice = by_value[1:][by_value[1:] == by_value[:-1]]
    if twice.size == 0:
        return np.empty(0, dtype=np.int64)
    # Only the few keys that do occur twice need to be put back in order of position.
    candidates = np.flatnonzero(np.isin(keys, twice))
    firsts = np.unique(keys[candidates], return_index=True)[1]
    return np.delete(candidates, firsts)


def component_labels(n: int, edges: NDArray[Any]) -> NDArray[np.int64]:
    """Return for every node the smallest node of its connected component."""
    label = np.arange(n, dtype=np.int64)
    one, other = edges[:, 0], edges[:, 1]
    while one.size:
        a, b = label[one], label[other]
        apart = a != b
        one, other, a, b = one[apart], other[apart], a[apart], b[apart]
        # Hook the root with the larger label under the smaller, then flatten every tree.
        np.minimum.at(label, np.maximum(a, b), np.minimum(a, b))
        while not np.array_equal(label, flatter := label[label]):
            label = flatter
    return label


def neighbor_sums(
    n: int, edges: PairArray, values: NDArray[Any], weights: FloatArray | float = 1.0
) -> FloatArray:
    """Return for every node the sum of its neighbors' values, weighted by edges."""
    one, other = edges.T
    sums: Any = np.bincount(one, weights * values[other], n)
    return np.asarray(sums + np.bincount(other, weights * values[one], n), dtype=np.float64)


def is_connected(n: int, edges: NDArray[Any]) -> bool:
    """Return whether every node can be reached from node 0."""
    return len(edges) >= n - 1 and not component_labels(n, edges).any()


def refuse_disconnected(n: int, edges: NDArray[Any]) -> None:
    """Raise the error for a disconnected graph, with its number of components."""
    sizes = np.bincount(component_labels(n, edges))
    sizes = sizes[sizes > 0]
    if sizes.size > 1:
        raise InputError(
            f"The graph is disconnected: {sizes.size} components, the smallest has "
            f"{sizes.min()} node(s); add edges or keep the largest component."
        )


def node_names(n: int, names: Iterable[object] | None) -> tuple[str, ...] | None:
    """Return the names as strings after checking that every node has its own."""
    if names is None:
        return None
    texts = tuple(str(name) for name in names)
    if len(texts) != n:
        raise InputError(f"There are {len(texts)} names for {n} nodes; give one name per node.")
    if len(set(texts)) != n:
        twice = next(name for name, count in Counter(texts).items() if count > 1)
        raise InputError(f"Two nodes are named '{twice}'; give every node its own name.")
    return texts


def node_positions(n: int, positions: Any) -> NDArray[np.float64] | None:
    """Return the positions as a read-only (n, 2) array of finite numbers."""
    if positions is None:
        return None
    try:
        placed = np.array(positions, dtype=np.float64)
    except (TypeError, ValueError):
        placed = np.empty(0)
    if placed.shape != (n, 2) or not np.isfinite(placed).all():
        raise InputError(f"The positions must be an array of {n} rows of two finite numbers.")
    placed.flags.writeable = False
    return placed
