"""The law of edges under which values mix fastest."""

from __future__ import annotations

from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray, few_threads
from pairgossip.checks import BEST_LAW, WHOLE_SETS
from pairgossip.errors import InputError, needed_for
from pairgossip.graphs import Changing, GivenLaw, Graph, GroupedGraph
from pairgossip.progress import Show, in_steps, progress_bar
from pairgossip.text import format_count

LARGEST = 3_000
"""The largest number of nodes for a best law, which inverts n x n matrices: minutes."""
SMALL = 1_000
"""Up to this many nodes, threads of BLAS take longer to synchronize than to compute."""


class BestLaw(GivenLaw):
    """The law of edges with the largest gap found, and a bound on the gain of any law."""

    gap: float
    """The second smallest eigenvalue of L_q; see `Graph.normalized_gap`."""
    gain: float
    """The gap over that of uniform edges."""
    bound: float
    """The largest gain that any law can have, certified."""

    def __init__(
        self, graph: Graph, probabilities: FloatArray, gap: float, gain: float, bound: float
    ) -> None:
        super().__init__(probabilities, BEST_LAW)
        self.edges = graph.edges
        self.gap, self.gain, self.bound = gap, gain, bound

    def __repr__(self) -> str:
        edges = format_count(len(self.probabilities), "edge")
        return (
            f"<BestLaw of {edges}: gap {self.gap:.4g}, {self.gain:.4g} times that of uniform edges "
            f"(any law: at most {self.bound:.4g} times)>"
        )


def best_law(graph: Graph, progress: Show = None) -> BestLaw:
    """Find the probabilities of edges under which averaging is fastest.

    Along random edges, each drawn with probability q_e, expected disagreement shrinks by the gap of
    L_q = sum_e q_e (e_i - e_j)(e_i - e_j)', its second smallest eigenvalue. This law has the
    largest gap (Boyd, Ghosh, Prabhakar and Shah, 2006). Where rows travel, nodes far from
    bottlenecks ring seldom and learn late from their own pairs. Continuized averaging gains less,
    or loses.

    Parameters
    ----------
    graph
        The network, of at most 3,000 nodes. The search ends within 0.1 % of the largest gap, with
        more than 4,000 edges within 2 %, or where rounding ends it; see `BestLaw.bound`.
    progress
        Show a progress bar; by default when standard error is a terminal. Or a function, called
        with the number of steps done, of 1000.

    Returns
    -------
    BestLaw
        A law that runs take as ``law=``, with its ``gap``, ``gain`` and ``bound``.

    Examples
    --------
    >>> from pairgossip.graphs import path
    >>> law = best_law(path(5))
    >>> law.probabilities.round(2)
    array([0.2, 0.3, 0.3, 0.2])
    """
    check_network(graph)
    uniform = graph.normalized_gap()
    even = np.full(graph.edge_count, 1 / graph.edge_count)
    if graph.is_complete:  # by symmetry
        return BestLaw(graph, even, uniform, 1.0, 1.0)
    with needed_for("The best law"):
        from pairgossip.networks.interior_point import solve
    with progress_bar("best law", 1000, progress) as advance, few_threads(graph.n <= SMALL):
        found = solve(graph.edges, graph.n, uniform, in_steps(advance))
        law = GivenLaw(found.p / found.p.sum())
        gap = graph.normalized_gap(law)
    if gap < uniform:  # uniform edges are best, up to rounding
        law, gap = GivenLaw(even), uniform
    bound = max(1 / (found.low * uniform), gap / uniform)
    return BestLaw(graph, law.probabilities, gap, gap / uniform, bound)


def check_network(graph: Any) -> None:
    """Raise `InputError` unless the laws of a network can be compared."""
    if not isinstance(graph, Graph):
        raise InputError(
            f"A network is a Graph, such as pg.graphs.cycle(10), not {type(graph).__name__}."
        )
    if graph.n == 1:
        raise InputError("A network of one node has no edges: there is nothing to choose.")
    if isinstance(graph, Changing):
        raise InputError("A network that changes has no best law: choose one of its graphs.")
    if isinstance(graph, GroupedGraph):
        raise InputError(
            "Rows at sites have no best law: use {argument}, so that the sites are the nodes.",
            "construction",
            WHOLE_SETS,
        )
    if graph.n > LARGEST:
        raise InputError(
            f"The best law is computed up to {LARGEST:,} nodes, not for {graph.n:,}: use a smaller "
            "network of the same kind, or an overlay, which needs no law."
        )
