"""Links to add to a network, and overlays for networks where any two nodes can talk."""

from __future__ import annotations

import math

import numpy as np

from pairgossip.arrays import FloatArray, PairArray, few_threads
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
"""The default degree of a random regular overlay; with 3 it mixes half as fast."""


def best_links(graph: Graph, k: int = 1, progress: Show = None) -> Graph:
    """Return the network with k more links, each between the two nodes that are farthest apart.

    Each link joins the nodes that differ most in the mode that fades slowest (Ghosh and Boyd,
    2006). This choice is greedy, without a bound. For ``progress`` see `best_law`; it is called
    with 1 after every link.

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
            edges = np.vstack([graph.edges, _find_farthest(slowest_mode(graph), graph.edges)])
            graph = Graph(graph.n, edges, names=graph.names, positions=graph.positions)
            if advance is not None:
                advance(1)
    return graph


def _find_farthest(mode: FloatArray, edges: PairArray) -> tuple[int, int]:
    """Return the two nodes, not neighbors, whose entries differ most."""
    apart = np.abs(mode[:, None] - mode)
    one, other = edges.T
    apart[one, other] = apart[other, one] = -1
    np.fill_diagonal(apart, -1)
    return divmod(int(apart.argmax()), len(mode))


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
    if graph.names is None or any(len(name.split()) != 1 for name in graph.names):
        raise InputError("Links go by the names of members: give the graph names, without spaces.")
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
    """Return an overlay for a network where any two nodes can talk.

    Parameters
    ----------
    n
        Number of nodes.
    degree
        The number of neighbors of every node in a random regular overlay; 4 by default.
    kind
        ``"random-regular"``, drawn by the seed, mixes about as fast as any network of its degree.
        ``"exponential"`` is not random: node i is joined to i + 1, i + 2, i + 4, ...
    seed
        Seed of a random regular overlay.

    Examples
    --------
    >>> overlay(64), overlay(64, kind="exponential")
    (<Graph random-regular: 64 nodes, 128 edges>, <Graph: 64 nodes, 352 edges>)
    """
    n = node_count(n, 3)
    if choice("overlay", kind, OVERLAYS) == RANDOM_REGULAR:
        least = min(_FEWEST_NEIGHBORS, n - 1)
        return random_regular(n, least if degree is None else degree, seed)
    if degree is not None:
        raise InputError(
            "The neighbors in an exponential overlay follow from powers of two: leave the degree "
            "out, or use a random regular overlay."
        )
    jumps = 2 ** np.arange(int(math.log2(n / 2)) + 1)
    nodes = np.repeat(np.arange(n), len(jumps))
    pairs = np.sort(np.column_stack([nodes, (nodes + np.tile(jumps, n)) % n]), axis=1)
    return Graph(n, np.unique(pairs, axis=0))
