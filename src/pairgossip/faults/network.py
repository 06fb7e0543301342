"""The nodes that lie and crash in a run, drawn by its seed and the same in all trials."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.random import Generator

from pairgossip.arrays import BoolArray, FloatArray, IntArray
from pairgossip.errors import InputError
from pairgossip.faults.attacks import ATTACKS, Network
from pairgossip.faults.settings import Faults, Nodes
from pairgossip.graphs import Graph, GroupedGraph
from pairgossip.graphs.checks import is_connected

_DRAWS = 100
"""The largest number of draws of crashed nodes, as those that disconnect the rest are dropped."""
_MOST_EDGES = 20_000_000
"""The largest number of edges for attacks that look at neighbors."""
_LOCAL_ATTACKS = ("constant", "sign")
"""The attacks that do not look at neighbors."""


@dataclass(frozen=True)
class FaultyNetwork:
    """The faults of a run on its network; nodes have the numbers of the graph's, or of rows."""

    faults: Faults
    n: int
    """The number of nodes, and of exchanges that ring in a unit of time."""
    crash_times: FloatArray
    """The time at which each node crashes, shape (n,); infinite for those that do not."""
    network: Network
    """The network as attacks see it; its lie has one entry per averaged component."""
    site_of: IntArray | None = None
    """The site of every node, where several are at one machine and come, go and crash together."""

    @property
    def honest(self) -> IntArray:
        """The nodes that neither lie nor crash."""
        return np.flatnonzero(~self.network.is_liar & np.isinf(self.crash_times))

    @property
    def attack(self) -> Callable[..., Any]:
        """The function that gives the lies."""
        attack = self.faults.attack
        return attack if callable(attack) else ATTACKS[attack]

    def with_lies(self, lies: FloatArray) -> FaultyNetwork:
        """Return a copy in which liars send these numbers, one per component; a given lie stays."""
        if self.faults.lie is not None:
            return self
        return replace(self, network=self.network._replace(lie=lies))


def resolve(faults: Faults, graph: Graph, draws: Generator, components: int = 1) -> FaultyNetwork:
    """Draw the nodes that are not named; raise `InputError` if the network cannot have the faults.

    ``components`` is the count of numbers that nodes average.
    """
    sites = graph.sites if isinstance(graph, GroupedGraph) else graph
    site_of = graph.site_of if isinstance(graph, GroupedGraph) else None
    if sites.n == 1:
        raise _refuse("One node alone exchanges with nobody: leave {argument} out")
    crash_times, is_liar = np.full(sites.n, np.inf), np.zeros(sites.n, dtype=np.bool_)
    crashed = _choose_crashed(faults.crashed, sites, draws)
    crash_times[crashed] = 0.0
    if isinstance(faults.crashed, Mapping):
        crash_times[crashed] = [*faults.crashed.values()]
    stays = np.isinf(crash_times)
    is_liar[_choose("liars", faults.liars, sites.n, np.flatnonzero(stays), draws)] = True
    if not (stays & ~is_liar).any():
        raise _refuse("Every node lies or crashes: leave some honest")
    if site_of is not None:
        crash_times, is_liar = crash_times[site_of], is_liar[site_of]
    needs_neighbors = is_liar.any() and faults.attack not in _LOCAL_ATTACKS
    adjacency = _adjacency(graph) if needs_neighbors else _no_neighbors(graph.n)
    lie = np.full(components, 1.0 if faults.lie is None else faults.lie)
    return FaultyNetwork(faults, graph.n, crash_times, Network(is_liar, *adjacency, lie), site_of)


def _refuse(why: str) -> InputError:
    return InputError(f"{why}.", "faults")


def _choose_crashed(
    crashed: Nodes | Mapping[int, float], graph: Graph, draws: Generator
) -> IntArray:
    """Return the nodes that crash, such that the others stay connected."""
    for _ in range(_DRAWS if isinstance(crashed, int) else 1):
        stays = np.ones(graph.n, dtype=np.bool_)
        nodes = _choose("crashed", crashed, graph.n, np.arange(graph.n), draws)
        stays[nodes] = False
        if not len(nodes) or _stay_connected(graph, stays):
            return nodes
    raise _refuse(
        "Without the nodes that crash, fewer than two stay, or they are not connected: let other "
        "nodes crash, or fewer"
    )


def _stay_connected(graph: Graph, stays: BoolArray) -> bool:
    """Return whether two or more nodes stay and can reach each other."""
    left = int(stays.sum())
    if left < 2 or graph.is_complete:
        return left >= 2
    number = np.cumsum(stays) - 1
    edges = graph.edges[stays[graph.edges].all(axis=1)]
    return is_connected(left, number[edges])


def _choose(
    name: str, nodes: Nodes | Mapping[int, float], n: int, candidates: IntArray, draws: Generator
) -> IntArray:
    """Return the named nodes, or draw this number of nodes."""
    if isinstance(nodes, int):
        if nodes > len(candidates):
            raise _refuse(f"{nodes} {name} of {len(candidates)} nodes are too many: ask for fewer")
        return draws.choice(candidates, nodes, replace=False) if nodes else candidates[:0]
    numbers = np.array([*nodes], dtype=np.int64)
    if numbers[-1] >= n:
        raise _refuse(
            f"Node {numbers[-1]} among {name} is outside the nodes 0 to {n - 1}: name others"
        )
    return numbers


def _adjacency(graph: Graph) -> tuple[IntArray, IntArray]:
    if graph.edge_count > _MOST_EDGES:
        raise _refuse(
            f"Liars who look at their partner's neighbors need a list of all {graph.edge_count:,} "
            "edges: use attack 'constant' or 'sign'"
        )
    return graph.adjacency


def _no_neighbors(n: int) -> tuple[IntArray, IntArray]:
    indptr, indices = np.zeros(n + 1, dtype=np.int64), np.arange(0, dtype=np.int32)
    # Read-only, as in a graph: compiled code has another type for writable arrays.
    indptr.flags.writeable = indices.flags.writeable = False
    return indptr, indices
