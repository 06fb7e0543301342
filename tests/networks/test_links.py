"""Links worth adding, overlays, and the advice that compares them."""

from __future__ import annotations

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.errors import InputError
from pairgossip.graphs import Graph, complete, cycle, path, torus
from pairgossip.networks import advise, best_links, overlay


def farthest_pair(graph: Graph) -> set[frozenset[int]]:
    """Return the unjoined pairs that differ most in the Fiedler vector, by exhaustive search."""
    vector = np.linalg.eigh(graph.laplacian_dense())[1][:, 1]
    apart = np.abs(vector[:, None] - vector)
    apart[tuple(graph.edges.T)] = apart[tuple(graph.edges.T[::-1])] = -1
    np.fill_diagonal(apart, -1)
    return {frozenset(pair) for pair in np.argwhere(apart > apart.max() - 1e-9).tolist()}


@pytest.mark.parametrize("seed", range(4))
def test_every_link_joins_the_farthest_nodes(seed: int) -> None:
    graph = pg.graphs.watts_strogatz(20, 4, 0.3, seed=seed)
    for _ in range(4):
        more = best_links(graph)
        assert np.array_equal(more.edges[:-1], graph.edges)
        assert frozenset(more.edges[-1].tolist()) in farthest_pair(graph)
        graph = more


def test_links_are_found_among_many_neighbors() -> None:
    almost = Graph(6, np.delete(complete(6).edges, [3, 8], axis=0))
    whole = best_links(almost, 2)
    assert whole.is_complete
    with pytest.raises(InputError, match="only 2 pairs of nodes left to join"):
        best_links(almost, 3)


def test_a_few_links_double_the_gap_of_a_large_torus() -> None:
    graph = torus(26, 26)
    more = best_links(graph, 20)
    assert 1.7 < more.normalized_gap() / graph.normalized_gap() < 2.4


def test_overlays_have_the_degree_that_is_asked_for() -> None:
    for n, degree in ((10, 3), (11, 4), (64, 6)):
        assert set(overlay(n, degree).degrees) == {degree}
    assert set(overlay(16, kind="exponential").neighbors(0)) == {1, 2, 4, 8, 12, 14, 15}
    assert overlay(30, 4, seed=1) == overlay(30, 4, seed=1) != overlay(30, 4, seed=2)
    assert overlay(3).is_complete


def test_overlays_that_cannot_be_are_refused() -> None:
    with pytest.raises(InputError, match="needs degree < n, but degree=5 and n=5"):
        overlay(5, 5)
    with pytest.raises(InputError, match="leave the degree out, or use a random regular overlay"):
        overlay(8, 3, "exponential")
    with pytest.raises(InputError, match="did you mean 'random-regular'"):
        overlay(8, 3, "random")


def test_advice_compares_gaps() -> None:
    graph = pg.graphs.watts_strogatz(40, 4, 0.3, seed=0)
    steps: list[int] = []
    advice = advise(graph, links=3, progress=steps.append)
    names = [option.name for option in advice.options]
    assert names[:4] == ["as it is", "law: node-clocks", "law: best", "3 more links"]
    assert names[4:] == ["random-regular overlay (4)", "exponential overlay (10)"]
    assert steps[:3] == [1, 1, 1]
    assert len(steps) > 6  # it changes during the search for the law
    assert sum(steps) == 1003
    now, clocks, best, links, *_ = advice.options
    assert now.gap == pytest.approx(graph.normalized_gap())
    assert now.gain == 1
    assert clocks.gap == pytest.approx(graph.normalized_gap("node-clocks"))
    assert best.bound == pytest.approx(best.gain, rel=2e-3)
    assert links.gain == pytest.approx(best_links(graph, 3).normalized_gap() / now.gap)
    for option in advice.options:
        assert option.efold == pytest.approx(4 / option.gap)
    table = advice.to_pandas()
    assert list(table["name"]) == names
    assert "3 more links" in repr(advice)
    assert f"{best.bound:.4g}" in repr(advice)


def test_continuized_averaging_is_predicted_by_its_constants() -> None:
    option = advise(cycle(9)).options[0]
    # The resistance of a ring's edge is its own in parallel with all others in series, times |E|.
    chi = 9 * (1 * 8 / 9) / 2
    assert option.continuized_efold == pytest.approx(2 * np.sqrt(chi / option.gap))


def overlay_of(graph: Graph) -> Graph:
    """Return the random overlay with which advice compares, by the degree in its name."""
    name = next(o.name for o in advise(graph).options if o.name.startswith("random-regular"))
    return overlay(graph.n, int(name[name.index("(") + 1 : -1]))


def test_small_networks_get_advice_and_one_link_none() -> None:
    names = [option.name for option in advise(complete(4)).options]
    assert names[:2] == ["as it is", "law: best"]
    assert names[2:] == ["random-regular overlay (3)", "exponential overlay (3)"]
    assert advise(path(3)).options[-1].gain >= 1
    for n in range(3, 8):
        assert {int(degree) for degree in overlay_of(path(n)).degrees} <= {2, 3, 4}
    with pytest.raises(InputError, match="only 6 pairs of nodes left"):
        advise(path(5), links=7)
    with pytest.raises(InputError, match="There are no pairs of nodes left"):
        advise(complete(4), links=1)
    with pytest.raises(InputError, match="Two nodes have one link"):
        advise(path(2))


def test_advice_draws_a_bar_per_option() -> None:
    advice = advise(path(12))
    ax = advice.plot()
    assert [text.get_text() for text in ax.get_yticklabels()] == [o.name for o in advice.options]
    assert len(ax.patches) == len(advice.options)
