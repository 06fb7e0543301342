from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx as nx
import pytest

from pairgossip.errors import InputError
from pairgossip.graphs import Graph, complete, cycle, grid, path, star, torus


@pytest.mark.parametrize(
    ("graph", "other"),
    [
        (complete(1), nx.complete_graph(1)),
        (complete(6), nx.complete_graph(6)),
        (cycle(3), nx.cycle_graph(3)),
        (cycle(9), nx.cycle_graph(9)),
        (path(2), nx.path_graph(2)),
        (path(9), nx.path_graph(9)),
        (star(2), nx.star_graph(1)),
        (star(9), nx.star_graph(8)),
        (grid(1, 1), nx.grid_2d_graph(1, 1)),
        (grid(1, 5), nx.grid_2d_graph(1, 5)),
        (grid(3, 5), nx.grid_2d_graph(3, 5)),
        (torus(3, 3), nx.grid_2d_graph(3, 3, periodic=True)),
        (torus(4, 7), nx.grid_2d_graph(4, 7, periodic=True)),
    ],
)
def test_families_are_those_of_networkx(graph: Graph, other: Any) -> None:
    expected = Graph.from_networkx(other)
    assert graph == expected
    assert Graph(graph.n, graph.edges) == graph


@pytest.mark.parametrize(
    ("family", "sizes", "message"),
    [
        (complete, (0,), "The number of nodes n must be a whole number >= 1, not 0."),
        (cycle, (2,), "The number of nodes n must be a whole number >= 3, not 2."),
        (path, (1,), "The number of nodes n must be a whole number >= 2, not 1."),
        (star, (1,), "The number of nodes n must be a whole number >= 2, not 1."),
        (grid, (0, 3), "A side of a grid must be a whole number >= 1, not 0."),
        (torus, (3, 2), "A side of a torus must be a whole number >= 3, not 2."),
        (cycle, ("9",), "The number of nodes n must be a whole number >= 3, not '9'."),
        (
            grid,
            (100_000, 100_000),
            "The number of nodes n must be at most 2,147,483,647, not 10,000,000,000.",
        ),
    ],
)
def test_sizes_that_make_no_graph(
    family: Callable[..., Graph], sizes: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(InputError) as refusal:
        family(*sizes)
    assert str(refusal.value) == message


def test_a_family_is_noted() -> None:
    assert (grid(2, 3).family, grid(2, 3).parameters) == ("grid", {"rows": 2, "cols": 3})
    assert (cycle(5).family, cycle(5).parameters) == ("cycle", {})


def test_a_huge_complete_graph_takes_no_memory() -> None:
    graph = complete(10_000_000)
    assert graph.edge_count == 10_000_000 * 9_999_999 // 2
    assert graph.spectral_gap() == 10_000_000
    assert graph.diameter() == 1
