from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairgossip.checks import real
from pairgossip.errors import InputError
from pairgossip.graphs import Graph, checks


@settings(deadline=None)
@given(st.integers(1, 40), st.data())
def test_component_labels_agree_with_networkx(n: int, data: st.DataObject) -> None:
    node = st.integers(0, n - 1)
    edges = np.array(data.draw(st.lists(st.tuples(node, node), max_size=60)), dtype=int)
    edges = edges.reshape(-1, 2)
    other = nx.empty_graph(n)
    other.add_edges_from(edges.tolist())
    expected = np.empty(n, dtype=int)
    for component in nx.connected_components(other):
        expected[list(component)] = min(component)
    assert checks.component_labels(n, edges).tolist() == expected.tolist()
    assert checks.is_connected(n, edges) == nx.is_connected(other)


@settings(deadline=None)
@given(st.lists(st.integers(0, 9), max_size=40))
def test_repeats_are_the_later_occurrences(values: list[int]) -> None:
    expected = [k for k, value in enumerate(values) if value in values[:k]]
    assert checks.repeats(np.array(values, dtype=np.int64)).tolist() == expected


@pytest.mark.parametrize(
    ("n", "edges", "message"),
    [
        (0, [], "The number of nodes n must be a whole number >= 1, not 0."),
        (2.5, [], "The number of nodes n must be a whole number >= 1, not 2.5."),
        (True, [], "The number of nodes n must be a whole number >= 1, not True."),
        (2**31, [], "The number of nodes n must be at most 2,147,483,647, not 2,147,483,648."),
        (3, [[0, 1, 2]], "The edges must be an array of shape (m, 2), one pair of nodes per row."),
        (3, [0, 1], "The edges must be an array of shape (m, 2), one pair of nodes per row."),
        (
            3,
            [[0], [0, 1]],
            "The edges must be an array of shape (m, 2), one pair of nodes per row.",
        ),
        (3, [[0.0, 1.0]], "The edges must be integers (node indices), not float64."),
        (3, [[0, 1], [1, 3]], "Edge (1, 3) is outside the nodes 0 to 2."),
        (3, [[0, 1], [-1, 2]], "Edge (-1, 2) is outside the nodes 0 to 2."),
        (3, [[0, 1], [2, 2]], "Edge (2, 2) joins a node to itself; remove it."),
        (3, [[0, 1], [1, 2], [1, 0]], "Edge (0, 1) is given more than once; keep one of them."),
        (
            4,
            [[0, 1]],
            "The graph is disconnected: 3 components, the smallest has 1 node(s); "
            "add edges or keep the largest component.",
        ),
        (
            2,
            [],
            "The graph is disconnected: 2 components, the smallest has 1 node(s); "
            "add edges or keep the largest component.",
        ),
    ],
)
def test_bad_edges_are_refused_in_one_sentence(n: Any, edges: Any, message: str) -> None:
    with pytest.raises(InputError) as refusal:
        Graph(n, edges)
    assert str(refusal.value) == message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"names": ["a"]}, "There are 1 names for 2 nodes; give one name per node."),
        ({"names": ["a", "a"]}, "Two nodes are named 'a'; give every node its own name."),
        (
            {"positions": [[0, 0]]},
            "The positions must be an array of 2 rows of two finite numbers.",
        ),
        (
            {"positions": [[0, 0], [0, float("nan")]]},
            "The positions must be an array of 2 rows of two finite numbers.",
        ),
        (
            {"positions": "here"},
            "The positions must be an array of 2 rows of two finite numbers.",
        ),
    ],
)
def test_bad_names_and_positions_are_refused(options: Any, message: str) -> None:
    with pytest.raises(InputError) as refusal:
        Graph(2, [[0, 1]], **options)
    assert str(refusal.value) == message


@pytest.mark.parametrize("value", ["x", None, 2, -0.1, float("nan")])
def test_real_number_says_its_limits(value: object) -> None:
    with pytest.raises(InputError, match=r"^p must be a number between 0 and 1, not "):
        real("p", value, 0, 1)
