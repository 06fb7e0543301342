"""A network that changes: several graphs on the same nodes, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.checks import UNIFORM_EDGES, whole
from pairgossip.errors import InputError
from pairgossip.graphs.checks import ordered_rows
from pairgossip.graphs.graph import Graph
from pairgossip.graphs.laws import GivenLaw, LawLike
from pairgossip.text import format_count


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Changing(Graph):
    """Several graphs on the same nodes in turn; the first one follows the last.

    Runs accept it in place of a graph, with laws by name and random exchanges. Its edges are the
    edges of all its graphs, and the rates at which nodes are picked are means over a whole turn.
    Gaps, distances, files, sweeps, trees, plans and rows at sites need one network, so they are
    refused. Theory gives the expectation of averages; all other methods must be measured.

    Parameters
    ----------
    graphs
        Two graphs or more, each connected, all with the same number of nodes.
    every
        The number of iterations for which each graph serves before the next one.

    Examples
    --------
    >>> from pairgossip.graphs import cycle, star
    >>> Changing([cycle(20), star(20)], every=500)
    <Changing: 20 nodes, 2 graphs in turn every 500 iterations, 37 edges>
    """

    graphs: tuple[Graph, ...]
    """The graphs, in the order in which they serve."""
    every: int
    """The number of iterations for which each serves."""

    def __init__(self, graphs: Sequence[Graph], every: int = 1000) -> None:
        chosen = _check_graphs(graphs)
        listed = np.unique(np.concatenate([graph.edges for graph in chosen]), axis=0)
        first = chosen[0]
        self._fill(first.n, None, None, None, first.names, first.positions)
        vars(self).update(
            graphs=chosen,
            every=whole("The number of iterations", every),
            edge_count=len(listed),
            is_complete=False,
            _edges=ordered_rows(listed),
        )

    def serving(self, iteration: int) -> tuple[Graph, int]:
        """Return the graph that serves at an iteration, and the number of its iterations left."""
        turn, made = divmod(iteration, self.every)
        return self.graphs[turn % len(self.graphs)], self.every - made

    def pick_probabilities(self, law: LawLike = UNIFORM_EDGES) -> FloatArray:
        """Return the probability that each node takes part in an exchange, over a whole turn."""
        picks: FloatArray = np.mean(
            [graph.pick_probabilities(law) for graph in self.graphs], axis=0
        )
        return picks

    def _check_given(self, law: GivenLaw) -> NoReturn:
        raise InputError(
            "A network that changes takes its law by name: use uniform-edges or node-clocks, as "
            "probabilities belong to the edges of one graph."
        )

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        """Raise `InputError`: this needs one network, but this one changes."""
        raise InputError(
            "A network that changes has no single gap, distance, matrix, law or file: use each "
            "of its graphs, or measure its speed in a run."
        )

    _law = edge_probabilities = _refuse
    laplacian = laplacian_dense = spectral_gap = normalized_gap = _refuse
    mixing_time = exact_mixing_time = total_variation = _refuse
    diameter = delta_tilde = is_bipartite = _refuse
    to_networkx = to_scipy = to_edge_list = to_graphml = _refuse

    def __repr__(self) -> str:
        turns = f"{len(self.graphs)} graphs in turn every {format_count(self.every, 'iteration')}"
        return f"<Changing: {format_count(self.n, 'node')}, {turns}, {self.edge_count:,} edges>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        return (
            isinstance(other, Changing) and (self.graphs, self.every) == (other.graphs, other.every)
        )  # fmt: skip

    __hash__ = Graph.__hash__


def _check_graphs(graphs: Any) -> tuple[Graph, ...]:
    try:
        chosen = tuple(graphs)
    except TypeError:
        chosen = ()
    if len(chosen) < 2 or any(type(graph) is not Graph for graph in chosen):
        raise InputError("A network that changes takes a list of two plain graphs or more.")
    sizes = sorted({graph.n for graph in chosen})
    if len(sizes) > 1:
        raise InputError(
            f"The graphs of a network that changes have {sizes[0]:,} to {sizes[-1]:,} nodes: give "
            "graphs on the same nodes."
        )
    if len({graph.names for graph in chosen}) > 1:
        raise InputError(
            "The graphs of a network that changes have different names for their nodes: give all "
            "of them the same names, in the same order, or none."
        )
    return chosen
