from __future__ import annotations

from typing import Any

import pytest

from pairgossip.errors import InputError
from pairgossip.graphs import (
    Graph,
    build,
    complete,
    cycle,
    distances,
    erdos_renyi,
    grid,
    path,
    restore_graph,
    spectrum,
    star,
    torus,
)

KEPT = [cycle(700), path(100_000), star(700), grid(20, 40), torus(30, 26), cycle(3), path(2)]


def again(graph: Graph, **changes: Any) -> Graph:
    parts = {"family": graph.family, "parameters": graph.parameters} | changes
    edges = None if graph.is_complete else graph.edges.copy()
    return restore_graph(graph.n, edges, parts["family"], parts["parameters"], None, None)


@pytest.mark.parametrize("graph", KEPT, ids=repr)
def test_families_keep_their_formulas(graph: Graph) -> None:
    back = again(graph)
    assert back == graph
    assert back.edges.tolist() == graph.edges.tolist()
    assert (back.family, back.parameters) == (graph.family, graph.parameters)
    assert spectrum.closed_form(back) == spectrum.closed_form(graph) is not None
    assert back.diameter() == graph.diameter()


def test_any_complete_graph_comes_back() -> None:
    back = restore_graph(2_000_000_000, None, "complete", {}, None, None)
    assert back == complete(2_000_000_000)
    named = restore_graph(3, None, "erdos-renyi", {"p": 1.0, "seed": 0}, "abc", [[0, 0]] * 3)
    assert named.is_complete
    assert (named.family, named.parameters) == ("erdos-renyi", {"p": 1.0, "seed": 0})
    assert named.names == ("a", "b", "c")
    assert named.positions is not None
    assert restore_graph(3, None, None, None, None, None).family is None


def test_names_and_positions_come_back() -> None:
    places = [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    back = restore_graph(3, [[0, 1], [1, 2]], "path", {}, ["x", "y", "z"], places)
    assert back.names == ("x", "y", "z")
    assert back.positions is not None and back.positions.tolist() == places
    assert distances.closed_diameter(back) == 2


@pytest.mark.parametrize(
    ("edges", "family", "parameters"),
    [
        (torus(3, 4).edges, "torus", {}),
        (torus(3, 4).edges, "torus", {"rows": 3}),
        (torus(3, 4).edges, "torus", {"rows": 4, "cols": 3}),
        (torus(3, 4).edges, "torus", {"rows": 3, "cols": "4"}),
        (torus(3, 4).edges, "torus", {"rows": 3, "cols": None}),
        (torus(3, 4).edges, "torus", {"rows": 3, "cols": 5}),
        (torus(3, 4).edges, "torus", {"name": 3, "n": 4}),
        (star(12).edges, "path", {}),
        (path(12).edges, "mine", {"a": 1}),
        (path(12).edges, None, None),
    ],
)
def test_a_label_alone_brings_no_formula(edges: Any, family: str | None, parameters: Any) -> None:
    back = restore_graph(12, edges, family, parameters, None, None)
    assert (back.family, back.parameters) == (family, parameters or {})
    assert back.edges.tolist() == edges.tolist()
    assert spectrum.closed_form(back) is None
    assert distances.closed_diameter(back) is None


def test_random_families_come_back_as_they_were() -> None:
    graph = erdos_renyi(40, 0.2, seed=0)
    back = again(graph)
    assert back.edges.tolist() == graph.edges.tolist()
    assert back.parameters == graph.parameters
    assert again(build("path", 50), family="cycle").family == "cycle"


def test_edges_from_a_damaged_file_are_refused() -> None:
    with pytest.raises(InputError, match="is disconnected"):
        restore_graph(4, [[0, 1], [2, 3]], "path", {}, None, None)
