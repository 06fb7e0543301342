"""The fewest exchanges, messages and pairs, against exhaustive search and sampling."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pytest

from pairgossip import InputError, graphs
from pairgossip.graphs import Graph
from pairgossip.graphs.orders import tree_messages
from pairgossip.kernels import Pairs
from pairgossip.theory import fewest_calls, fewest_messages, fewest_pairs
from pairgossip.theory.curves import sampling_error
from tests.problems import rows

State = tuple[int, ...]
"""The knowledge of each node, as bits."""


def search(graph: Graph, *, both_ways: bool) -> int:
    """Return the fewest exchanges, or messages, after which all know all, by exhaustive search."""
    pairs = [(int(i), int(j)) for i, j in graph.edges]
    steps = pairs if both_ways else pairs + [(j, i) for i, j in pairs]
    everything = 2**graph.n - 1
    states: set[State] = {tuple(1 << k for k in range(graph.n))}
    number = 0
    while not any(all(known == everything for known in state) for state in states):
        states = {after for state in states for after in follow(state, steps, both_ways)}
        number += 1
    return number


def follow(state: State, steps: list[tuple[int, int]], both_ways: bool) -> Iterator[State]:
    """Yield what nodes may know after one more step that adds knowledge."""
    for sender, receiver in steps:
        known = list(state)
        known[receiver] |= state[sender]
        if both_ways:
            known[sender] |= state[receiver]
        if tuple(known) != state:
            yield tuple(known)


def connected_graphs(n: int) -> Iterator[Graph]:
    """Yield all connected graphs on n labeled nodes."""
    pairs = list(combinations(range(n), 2))
    for count in range(n - 1, len(pairs) + 1):
        for edges in combinations(pairs, count):
            try:
                yield Graph(n, np.array(edges))
            except InputError:
                continue


@pytest.mark.parametrize("n", [2, 3, 4])
def test_no_way_takes_fewer_calls_on_any_graph(n: int) -> None:
    for graph in connected_graphs(n):
        assert fewest_calls(graph) == search(graph, both_ways=True)


@pytest.mark.parametrize(
    "graph",
    [
        graphs.cycle(5),
        graphs.path(5),
        graphs.star(5),
        Graph(5, [[0, 1], [1, 2], [2, 3], [3, 0], [3, 4]]),
        Graph(5, [[0, 1], [1, 2], [2, 0], [2, 3], [3, 4], [4, 2]]),
    ],
    ids=["cycle", "path", "star", "pan", "butterfly"],
)
def test_no_way_takes_fewer_calls_on_five_nodes(graph: Graph) -> None:
    assert fewest_calls(graph) == search(graph, both_ways=True)


@pytest.mark.parametrize(
    ("graph", "has_four_cycle"),
    [
        (graphs.complete(100_000), True),
        (graphs.torus(26, 26), True),
        (graphs.watts_strogatz(676, 4, 0.3, seed=0), True),
        (graphs.cycle(100), False),
        (graphs.star(100_000), False),
        # Petersen's graph: the smallest of girth five in which every node has three neighbors.
        (
            Graph(
                10,
                [[k, (k + 1) % 5] for k in range(5)]
                + [[k, k + 5] for k in range(5)]
                + [[k + 5, (k + 2) % 5 + 5] for k in range(5)],
            ),
            False,
        ),
    ],
)
def test_a_cycle_of_four_nodes_saves_one_call(graph: Graph, has_four_cycle: bool) -> None:
    assert fewest_calls(graph) == 2 * graph.n - (4 if has_four_cycle else 3)


def test_one_node_needs_no_call() -> None:
    assert fewest_calls(graphs.complete(1)) == 0 == fewest_messages(1)


@pytest.mark.parametrize("graph", [graphs.cycle(4), graphs.star(4), graphs.complete(4)])
def test_no_way_takes_fewer_messages_than_a_tree(graph: Graph) -> None:
    assert fewest_messages(graph.n) == search(graph, both_ways=False) == len(tree_messages(graph))


def test_fewest_pairs_have_the_error_and_one_less_has_not() -> None:
    values = Pairs(rows(40), "gini").matrix()
    for error in (0.5, 0.05, 0.01):
        pairs = fewest_pairs(values, error)
        assert sampling_error(values, np.array(pairs)) <= error
        assert sampling_error(values, np.array(pairs - 1)) > error
    # A tiny error needs all pairs, and no more.
    assert fewest_pairs(np.arange(49.0).reshape(7, 7), 1e-9) == 49
    assert fewest_pairs(values, 1e-9) == values.size
    assert fewest_pairs(np.ones((3, 3)), 0.1) == 1
    with pytest.raises(InputError, match="must be positive"):
        fewest_pairs(values, 0.0)
