"""Deterministic families, families by name, and graphs restored from their parts."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import networkx as nx
import pytest

import pairgossip as pg
from pairgossip.errors import InputError
from pairgossip.graphs import (
    FAMILIES,
    Graph,
    build,
    complete,
    cycle,
    distances,
    erdos_renyi,
    fixed_families,
    grid,
    path,
    random_families,
    restore_graph,
    spectrum,
    star,
    torus,
)
from pairgossip.graphs.layout import LAYOUTS


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
        (grid, (0, 3), "The number of rows must be a whole number >= 1, not 0."),
        (torus, (3, 2), "The number of columns must be a whole number >= 3, not 2."),
        (cycle, ("9",), "The number of nodes n must be a whole number >= 3, not '9'."),
        (grid, (100_000, 100_000), "The number of nodes n must be at most 2,147,483,647, not "),
    ],
)
def test_sizes_that_make_no_graph(
    family: Callable[..., Graph], sizes: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(InputError) as refusal:
        family(*sizes)
    assert str(refusal.value).startswith(message)


@pytest.mark.parametrize("name", FAMILIES)
def test_every_entry_lists_what_its_builder_takes(name: str) -> None:
    family = FAMILIES[name]
    module = random_families if family.is_random else fixed_families
    takes = tuple(inspect.signature(getattr(module, name.replace("-", "_"))).parameters)
    assert takes == (("n",) if family.takes_n else ()) + family.parameter_names
    assert family.layout in LAYOUTS
    assert all(each.help and each.kind in (int, float) for each in family.parameters)


@pytest.mark.parametrize("name", FAMILIES)
def test_formulas_hold_for_what_is_built(name: str) -> None:
    family = FAMILIES[name]
    graph = build(name, 400, seed=0 if family.is_random else None)
    plain = Graph(graph.n, graph.edges)  # without a family, all is computed from the edges
    assert graph.spectral_gap() == pytest.approx(plain.spectral_gap(), rel=1e-9)
    assert graph.diameter() == plain.diameter()
    shape = {each.name: graph.parameters[each.name] for each in family.parameters}
    if family.edges is not None:
        assert family.expected_edges(400, **shape) == pytest.approx(graph.edge_count, rel=0.2)


def test_defaults() -> None:
    assert build("watts-strogatz", 50, seed=0).parameters == {"k": 4, "p": 0.3, "seed": 0}
    assert build("erdos-renyi", 100, seed=0).parameters["p"] == 2 * math.log(100) / 100
    assert build("erdos-renyi", 2, seed=0).parameters["p"] == pytest.approx(math.log(2))
    assert build("erdos-renyi", 3, seed=0).parameters["p"] == pytest.approx(0.7324, abs=1e-4)
    assert build("random-regular", 100, seed=0).parameters["degree"] == 4
    assert build("barabasi-albert", 100, seed=0).parameters["m"] == 2
    radius = build("random-geometric", 100, seed=0).parameters["radius"]
    assert radius == 1.5 * math.sqrt(math.log(100) / (math.pi * 100))
    assert build("watts-strogatz", 50, k=6, p=None).parameters["k"] == 6


def test_rectangles_are_as_square_as_possible() -> None:
    assert build("grid", 12).parameters == {"rows": 3, "cols": 4}
    assert build("torus", 676).parameters == {"rows": 26, "cols": 26}
    assert build("torus", 699).parameters == {"rows": 3, "cols": 233}
    assert build("grid", rows=2, cols=5) == grid(2, 5)
    assert build("grid", 10, rows=2) == grid(2, 5)
    assert build("torus", 12, cols=3) == torus(4, 3)
    assert build("torus", 12, rows=3, cols=4) == torus(3, 4)
    assert build("grid", 7, rows=1) == grid(1, 7)


def refusal_of(name: Any, n: Any = None, **parameters: Any) -> str:
    with pytest.raises(InputError) as refusal:
        build(name, n, **parameters)
    return str(refusal.value)


def test_refusals() -> None:
    assert refusal_of("watts", 9) == "Unknown graph 'watts': did you mean 'watts-strogatz'?"
    assert refusal_of("smallworld", 9).endswith("did you mean 'watts-strogatz'?")
    assert refusal_of("ring", 9) == "Unknown graph 'ring': did you mean 'cycle'?"
    assert refusal_of("xyz", 9).startswith("Unknown graph 'xyz': choose one of barabasi-albert, ")
    assert refusal_of(7, 9).startswith("A graph family is one of complete, cycle, ")
    assert refusal_of("star", 9, k=4) == "star takes only n, not k."
    assert refusal_of("watts-strogatz", 9, degree=4) == (
        "watts-strogatz takes n, k, p and seed, not degree."
    )
    assert refusal_of("complete") == "complete needs the number of nodes n."
    assert refusal_of("torus", rows=4) == "torus takes rows and cols, or the number of nodes n."
    assert refusal_of("torus", 10) == (
        "A torus of 10 nodes would need a side shorter than 3; sizes nearby that work: 9 and 12; "
        "or give rows and cols."
    )
    assert "sizes nearby that work: 9; or give" in refusal_of("torus", 2)
    assert refusal_of("grid", 12, rows=5) == (
        "A grid with rows=5 cannot have n=12 nodes; leave one of them out."
    )
    assert "rows=3 and cols=2 cannot have n=12" in refusal_of("grid", 12, rows=3, cols=2)


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


def test_two_sites_are_no_cycle() -> None:
    with pytest.raises(InputError, match=r"no cycle of 2 nodes, .*: use graph='complete'"):
        pg.estimate([1.0, 2.0, 4.0], "gini", "cycle", groups=["a", "b", "b"])
