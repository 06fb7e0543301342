"""Pictures of networks: the same from every door, with every node at a different place."""

from __future__ import annotations

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.graphs import FAMILIES, Graph, build
from pairgossip.graphs.layout import LAYOUTS, fit_square, place_nodes, visible_edges


def example(family: str, n: int) -> Graph:
    return build(family, n, seed=0 if FAMILIES[family].is_random else None)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n", [36, 2_500])
def test_every_family_fills_the_square(family: str, n: int) -> None:
    places = fit_square(place_nodes(example(family, n)))
    assert places.shape == (n, 2)
    assert places.min() >= -1e-9 and places.max() <= 1 + 1e-9
    assert np.ptp(places, axis=0).max() == pytest.approx(1)
    assert len(np.unique(places.round(6), axis=0)) == n


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_the_smallest_networks_have_pictures(n: int) -> None:
    for layout in LAYOUTS.values():
        assert np.isfinite(layout(pg.graphs.complete(n))).all()


@pytest.mark.parametrize("shape", [(3, 3), (3, 4), (6, 6), (3, 40), (40, 3)])
def test_edges_around_a_torus_are_not_drawn(shape: tuple[int, int]) -> None:
    graph = pg.graphs.torus(*shape)
    drawn = visible_edges(graph, place_nodes(graph))
    assert Graph(graph.n, drawn) == pg.graphs.grid(*shape)


@pytest.mark.parametrize("family", [name for name, each in FAMILIES.items() if not each.wraps])
def test_all_other_edges_are_drawn(family: str) -> None:
    graph = example(family, 36)
    assert len(visible_edges(graph, place_nodes(graph))) == graph.edge_count


def test_a_path_is_wound_up_and_a_grid_begins_at_the_upper_left() -> None:
    apart = np.linalg.norm(np.diff(place_nodes(pg.graphs.path(100)), axis=0), axis=1)
    assert apart.max() < 0.25
    first, second, *_, last = place_nodes(pg.graphs.grid(3, 4)).tolist()
    assert (second[0] - first[0], second[1] - first[1]) == (1, 0)
    assert last[1] < first[1]


def test_positions_of_its_own_keep_north_up() -> None:
    south, north = [0.0, -1.0], [0.0, 1.0]
    graph = Graph(2, [[0, 1]], positions=[south, north])
    assert place_nodes(graph).tolist() == [south, north]
    # On a page y grows downward.
    assert fit_square(place_nodes(graph)).tolist() == [[0.5, 1.0], [0.5, 0.0]]


def test_a_name_alone_does_not_make_a_torus() -> None:
    named = Graph(12, pg.graphs.cycle(12).edges, family="torus")
    assert place_nodes(named).shape == (12, 2)
