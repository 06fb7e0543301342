"""Links worth adding to a network, and networks to lay over one where any two nodes can talk."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pairgossip.arrays import FloatArray, few_threads
from pairgossip.checks import choice, whole
from pairgossip.errors import InputError, needed_for
from pairgossip.graphs import GivenLaw, Graph, random_regular
from pairgossip.graphs.checks import node_count
from pairgossip.graphs.spectrum import slowest_mode
from pairgossip.networks.best_law import SMALL, check_network
from pairgossip.progress import Show, progress_bar

RANDOM_REGULAR, EXPONENTIAL = "random-regular", "exponential"
OVERLAYS = (RANDOM_REGULAR, EXPONENTIAL)
_FEWEST_NEIGHBORS = 4
"""Of a random regular overlay unless given: with 3 it is connected too, but mixes half as fast."""


def best_links(graph: Graph, k: int = 1, progress: Show = None) -> Graph:
    """Return the network with k more links, each between the two nodes that are farthest apart.

    One link after the other joins the nodes that differ most in the mode that fades slowest
    (Ghosh and Boyd, 2006): a greedy choice, without a bound. For ``progress`` see `best_law`; it is
    called with 1 after every link.

    Examples
    --------
    >>> from pairgossip.graphs import path
    >>> best_links(path(10)).edges[-1]
    array([0, 9], dtype=int32)
    """
    check_network(graph)
    k = whole("The number of links", k)
    missing = graph.n * (graph.n - 1) // 2 - graph.edge_count
    if k > missing:
        free = f"only {missing:,}" if missing else "no"
        raise InputError(
            f"There are {free} pairs of nodes left to join: add at most as many links."
        )
    with needed_for("Links"):
        import scipy.linalg  # noqa: F401  (loaded before its threads are limited)
    with progress_bar("links", k, progress) as advance, few_threads(graph.n <= SMALL):
        for _ in range(k):
            graph = _join(graph, _farthest(slowest_mode(graph), *graph.adjacency))
            if advance is not None:
                advance(1)
    return graph


def _join(graph: Graph, link: tuple[int, int]) -> Graph:
    edges = np.vstack([graph.edges, np.array([link], dtype=np.int32)])
    return Graph(graph.n, edges, names=graph.names, positions=graph.positions)


def _farthest(
    mode: FloatArray, indptr: NDArray[np.int64], indices: NDArray[np.int32]
) -> tuple[int, int]:
    """Return the two nodes, not neighbors, whose entries differ most."""
    order = np.argsort(mode, kind="stable")
    widest, best = -math.inf, (0, 0)
    for low in order.tolist():
        if mode[order[-1]] - mode[low] <= widest:
            break  # no other node is as far from this one, nor from any after it
        around = set(indices[indptr[low] : indptr[low + 1]].tolist())
        for high in order[::-1].tolist():
            if mode[high] - mode[low] <= widest:
                break
            if high != low and high not in around:
                widest, best = float(mode[high] - mode[low]), (low, high)
                break
    return best


def link_table(graph: Graph, law: GivenLaw) -> str:
    """Return a law as the table of links of a specification, for peers that exchange rows.

    A link of weight 2 rings twice as often as one of weight 1, the mean of all.

    Examples
    --------
    >>> graph = Graph(3, [[0, 1], [1, 2]], names=["ann", "bob", "cy"])
    >>> print(link_table(graph, GivenLaw([0.75, 0.25])))
    [links]
    "ann bob" = 1.5
    "bob cy" = 0.5
    """
    if graph.names is None:
        raise InputError("Links are told by the names of members: give the graph names.")
    chances = graph.edge_probabilities(law)
    lines = ["[links]"]
    for (i, j), chance in zip(graph.edges.tolist(), chances.tolist(), strict=True):
        pair = " ".join(sorted((graph.names[i], graph.names[j])))
        if not chance:
            raise InputError(
                f"The link '{pair}' never rings under this law, and peers have no such links: "
                "leave it out of the graph, and do not let the two join each other as neighbors."
            )
        lines.append(f'"{pair}" = {chance * graph.edge_count:.6g}')
    return "\n".join(lines)


def overlay(
    n: int, degree: int | None = None, kind: str = RANDOM_REGULAR, seed: int | None = 0
) -> Graph:
    """Return a network to lay over one where any two nodes can talk, for a number of neighbors.

    Parameters
    ----------
    n
        Number of nodes.
    degree
        Neighbors of every node: unless given, 4 of a random regular one, and of an exponential one
        as many as make all jumps powers of two.
    kind
        ``"random-regular"``, drawn by the seed, mixes about as fast as any network of its degree.
        ``"exponential"`` has no chance in it: node i is joined to i + 1, i + 2, i + 4, ...; of a
        smaller degree, to jumps of equal ratio, which is far slower than a random one.
    seed
        Of a random regular one.

    Examples
    --------
    >>> overlay(64), overlay(64, kind="exponential")
    (<Graph random-regular: 64 nodes, 128 edges>, <Graph: 64 nodes, 352 edges>)
    """
    n = node_count(n, 3)
    kind = choice("overlay", kind, OVERLAYS)
    if degree is not None:
        degree = whole("The degree", degree, 2)
        if degree >= n:
            raise InputError(f"Among {n} nodes a node has at most {n - 1} neighbors, not {degree}.")
    if kind == RANDOM_REGULAR:
        return random_regular(n, min(_FEWEST_NEIGHBORS, n - 1) if degree is None else degree, seed)
    jumps = _jumps(n, degree)
    nodes = np.repeat(np.arange(n), len(jumps))
    pairs = np.sort(np.column_stack([nodes, (nodes + np.tile(jumps, n)) % n]), axis=1)
    return Graph(n, np.unique(pairs, axis=0))


def _jumps(n: int, degree: int | None) -> NDArray[np.int64]:
    """Return how far an exponential overlay jumps, in one direction."""
    if degree is None:
        return 2 ** np.arange(int(math.log2(n / 2)) + 1)
    if degree % 2:
        raise InputError(
            f"An exponential overlay jumps both ways, so degrees are even, not {degree}."
        )
    count = degree // 2
    jumps: list[int] = []
    for number in range(count):  # of equal ratio, and at least one apart
        least = jumps[-1] + 1 if jumps else 1
        jumps.append(max(least, round((n / 2) ** (number / count))))
    return np.array(jumps)
