"""Who lies and who crashes in a run, drawn by its seed and the same in all trials."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from pairgossip.arrays import BoolArray, FloatArray, IntArray
from pairgossip.errors import InputError
from pairgossip.faults.attacks import FUNCTIONS, Network
from pairgossip.faults.settings import Faults, Nodes
from pairgossip.graphs import Graph, GroupedGraph
from pairgossip.graphs.checks import is_connected

_DRAWS = 100
"""How often crashed nodes are drawn anew if they disconnect the rest."""
_MOST_EDGES = 20_000_000
"""The most edges of which liars know who is whose neighbor."""
_TIMES = 10.0
"""How many times as large as what nodes average a lie is."""
_ABOUT_ZERO = 1e-6
"""Means that are smaller, relative to what they are means of, are taken for 0."""
_LOCAL = ("constant", "sign")
"""The attacks that need to know no neighbors."""


@dataclass(frozen=True)
class FaultyNetwork:
    """The faults of a run on its network; nodes are numbered as the graph's, rows at sites too."""

    faults: Faults
    n: int
    """How many exchanges ring in a unit of time, and how many nodes there are."""
    crash_times: FloatArray
    """When each node crashes, shape (n,); infinite for those that do not."""
    network: Network
    """What attacks know; its lie has one entry for each component that nodes average."""
    site_of: IntArray | None = None
    """The site of every node, where several are at one machine and come, go and crash together."""

    @property
    def honest(self) -> IntArray:
        """The nodes that neither lie nor crash."""
        return np.flatnonzero(~self.network.is_liar & np.isinf(self.crash_times))

    @property
    def attack(self) -> Callable[..., Any]:
        """What liars send, as a function."""
        attack = self.faults.attack
        return attack if callable(attack) else FUNCTIONS[attack]


def resolve(faults: Faults, graph: Graph, draws: Generator, lies: FloatArray) -> FaultyNetwork:
    """Draw the nodes that are not named; raise `InputError` if the network cannot have the faults.

    ``lies`` is what a constant attack sends for each component, unless it is given.
    """
    sites = graph.sites if isinstance(graph, GroupedGraph) else graph
    site_of = graph.site_of if isinstance(graph, GroupedGraph) else None
    if sites.n == 1:
        raise InputError(
            "One node alone exchanges with nobody, so nothing can go wrong: leave {argument} out.",
            "faults",
        )
    crash_times = _find_crash_times(faults.crashed, sites, draws)
    stays = np.isinf(crash_times)
    is_liar = np.zeros(sites.n, dtype=np.bool_)
    is_liar[_find_liars(faults.liars, np.flatnonzero(stays), sites.n, draws)] = True
    if not (stays & ~is_liar).any():
        raise _refuse("every node lies or crashes: leave some honest")
    if site_of is not None:
        crash_times, is_liar = crash_times[site_of], is_liar[site_of]
    needs_neighbors = is_liar.any() and faults.attack not in _LOCAL
    adjacency = _adjacency(graph) if needs_neighbors else _no_neighbors(graph.n)
    lie = lies if faults.lie is None else np.full_like(lies, faults.lie)
    network = Network(is_liar, *adjacency, lie)
    return FaultyNetwork(faults, graph.n, crash_times, network, site_of)


def _refuse(why: str) -> InputError:
    return InputError(f"Wrong faults: {why}, or leave {{argument}} out.", "faults")


def choose_lies(means: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return ten times the mean of each component, or ten times its size where that is about 0.

    The sizes are root mean squares of what is averaged; 10 where all of it is 0, or not known.
    """
    lies = _TIMES * np.where(np.abs(means) < _ABOUT_ZERO * sizes, sizes, means)
    return np.where(np.isfinite(lies) & (lies != 0), lies, _TIMES)


def _find_crash_times(
    crashed: Nodes | Mapping[int, float], graph: Graph, draws: Generator
) -> FloatArray:
    """Return when each node crashes; infinite for those that do not."""
    times = np.full(graph.n, np.inf)
    if isinstance(crashed, int):
        times[_draw_crashed(crashed, graph, draws)] = 0.0
        return times
    nodes = _check_nodes("crashed", tuple(crashed), graph.n)
    times[nodes] = [crashed[node] for node in nodes.tolist()] if isinstance(crashed, Mapping) else 0
    if not _stay_connected(graph, np.isinf(times)):
        raise _refuse("without the crashed nodes the others are not connected: name other nodes")
    return times


def _draw_crashed(count: int, graph: Graph, draws: Generator) -> IntArray:
    if count == 0:
        return np.arange(0)
    if count > graph.n - 2:
        raise _refuse(
            f"{count} of {graph.n} nodes crash, and two must stay to exchange: let fewer crash"
        )
    for _ in range(_DRAWS):
        stays = np.ones(graph.n, dtype=np.bool_)
        stays[draws.choice(graph.n, count, replace=False)] = False
        if _stay_connected(graph, stays):
            return np.flatnonzero(~stays)
    raise _refuse(
        f"wherever {count} of {graph.n} nodes crash, the others are not connected: let fewer crash"
    )


def _stay_connected(graph: Graph, stays: BoolArray) -> bool:
    """Tell whether two or more nodes stay, and can reach each other."""
    left = int(stays.sum())
    if left < 2 or graph.is_complete:
        return left >= 2
    number = np.cumsum(stays) - 1
    edges = graph.edges[stays[graph.edges].all(axis=1)]
    return is_connected(left, number[edges])


def _find_liars(liars: Nodes, candidates: IntArray, n: int, draws: Generator) -> IntArray:
    if not isinstance(liars, int):
        return _check_nodes("liars", tuple(liars), n)
    if liars > len(candidates):
        raise _refuse(
            f"{liars} liars and {len(candidates)} nodes to choose them from: let fewer lie"
        )
    return np.sort(draws.choice(candidates, liars, replace=False)) if liars else np.arange(0)


def _check_nodes(name: str, nodes: tuple[int, ...], n: int) -> IntArray:
    if nodes and nodes[-1] >= n:
        raise _refuse(
            f"node {nodes[-1]} among {name} is outside the nodes 0 to {n - 1}: name others"
        )
    return np.array(nodes, dtype=np.int64)


def _adjacency(graph: Graph) -> tuple[IntArray, IntArray]:
    if graph.edge_count > _MOST_EDGES:
        raise _refuse(
            f"liars who look at their partner's neighbors need a list of all {graph.edge_count:,} "
            "edges: use attack 'constant' or 'sign'"
        )
    return graph.adjacency


def _no_neighbors(n: int) -> tuple[IntArray, IntArray]:
    indptr, indices = np.zeros(n + 1, dtype=np.int64), np.arange(0, dtype=np.int32)
    # As in a graph: to compiled code arrays that can be written are of another kind.
    indptr.flags.writeable = indices.flags.writeable = False
    return indptr, indices
