from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pairgossip.errors import InputError
from pairgossip.graphs import (
    LAWS,
    Graph,
    barabasi_albert,
    complete,
    cycle,
    edge_law,
    path,
    star,
    watts_strogatz,
)
from tests.graphs.virtual import SOME, streams

GRAPHS = {
    "small world": watts_strogatz(60, 4, 0.3, seed=1),
    "hubs": barabasi_albert(40, 2, seed=2),
    "complete": complete(9),
    "two nodes": complete(2),
    "star": star(7),
    "regular": cycle(11),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("graph", [*GRAPHS.values(), *SOME.values()], ids=[*GRAPHS, *SOME])
@settings(deadline=None, max_examples=10)
@given(sizes=st.lists(st.integers(0, 70), min_size=1, max_size=6))
def test_events_do_not_depend_on_how_many_are_drawn_at_a_time(
    graph: Graph, law: str, sizes: list[int]
) -> None:
    sampler = edge_law(graph, law)
    pieces = streams(sampler.stream_count)
    drawn = np.concatenate([sampler.draw(pieces, size) for size in sizes])
    at_once = sampler.draw(streams(sampler.stream_count), sum(sizes))
    assert np.array_equal(drawn, at_once)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS.keys())
def test_frequencies_follow_the_probabilities(graph: Graph, law: str) -> None:
    sampler = edge_law(graph, law)
    assert sampler.name == law
    drawn = sampler.draw(streams(sampler.stream_count, seed=5), 200_000)
    assert drawn.dtype == np.int32
    assert drawn.shape == (200_000, 2)
    assert drawn.flags.c_contiguous
    low, high = drawn.min(axis=1), drawn.max(axis=1)
    counts = np.bincount(low * graph.n + high, minlength=graph.n**2).reshape(graph.n, graph.n)
    observed = counts[*graph.edges.T]
    assert observed.sum() == len(drawn)  # nothing but edges
    if graph.edge_count > 1:
        expected = 200_000 * graph.edge_probabilities(law)
        assert stats.chisquare(observed, expected).pvalue > 1e-4


@pytest.mark.parametrize("graph", [GRAPHS["complete"], GRAPHS["hubs"]])
def test_both_ends_come_first_equally_often_where_nodes_call(graph: Graph) -> None:
    sampler = edge_law(graph, "node-clocks")
    drawn = sampler.draw(streams(2, seed=3), 100_000)
    callers = np.bincount(drawn[:, 0], minlength=graph.n)
    assert stats.chisquare(callers).pvalue > 1e-4


def brute_force_picks(graph: Graph, law: str) -> np.ndarray[Any, Any]:
    """Add up every way in which a node can take part."""
    picks = np.zeros(graph.n)
    if law == "uniform-edges":
        for i, j in graph.edges.tolist():
            picks[[i, j]] += 1 / graph.edge_count
        return picks
    for k in range(graph.n):
        for j in graph.neighbors(k):
            picks[[k, j]] += 1 / graph.n / len(graph.neighbors(k))
    return picks


@pytest.mark.parametrize(("law", "name"), list(itertools.product(LAWS, GRAPHS)))
def test_pick_probabilities_by_brute_force(law: str, name: str) -> None:
    graph = GRAPHS[name]
    picks = graph.pick_probabilities(law)
    np.testing.assert_allclose(picks, brute_force_picks(graph, law), rtol=1e-12)
    assert picks.sum() == pytest.approx(2)
    assert graph.edge_probabilities(law).sum() == pytest.approx(1)


def test_laws_agree_on_regular_graphs() -> None:
    graph = cycle(9)
    assert np.array_equal(
        graph.edge_probabilities("node-clocks"), graph.edge_probabilities("uniform-edges")
    )
    one, other = (edge_law(graph, law).draw(streams(1), 50) for law in LAWS)
    assert np.array_equal(one, other)


def test_a_single_node_has_no_events() -> None:
    graph = complete(1)
    for law in LAWS:
        sampler = edge_law(graph, law)
        assert sampler.draw(streams(sampler.stream_count), 10).shape == (0, 2)
        assert graph.pick_probabilities(law).tolist() == [0]
        assert graph.edge_probabilities(law).tolist() == []


def test_an_unknown_law_is_named() -> None:
    with pytest.raises(InputError) as refusal:
        edge_law(path(3), "node-clock")
    assert str(refusal.value) == "Unknown edge law 'node-clock': did you mean 'node-clocks'?"
    with pytest.raises(InputError, match=r"^Unknown edge law 'nope': "):
        complete(4).laplacian_dense("nope")
    bad: Any = 3
    with pytest.raises(InputError) as refusal:
        path(3).pick_probabilities(bad)
    assert str(refusal.value) == (
        "An edge law is one of uniform-edges, node-clocks, or a list of probabilities, one per "
        "edge; not 3."
    )
