"""The laws between rows draw what the listed graph would draw."""

from __future__ import annotations

import functools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pairgossip.checks import ROW_CONSTRUCTIONS
from pairgossip.graphs import LAWS, Graph, GroupedGraph, complete, cycle, edge_law, watts_strogatz
from pairgossip.graphs.checks import edge_keys
from pairgossip.graphs.grouped.laws import _GuidedParts, _make_locator
from tests.graphs.virtual import SOME, listed_by_definition, streams

EACH = pytest.mark.parametrize("graph", SOME.values(), ids=SOME.keys())
DRAWS = 60_000


@pytest.mark.parametrize("law", LAWS)
@EACH
def test_frequencies_follow_the_probabilities_of_all_edges(graph: GroupedGraph, law: str) -> None:
    plain = listed_by_definition(graph)
    sampler = edge_law(graph, law)
    assert sampler.name == law
    drawn = sampler.draw(streams(sampler.stream_count, seed=7), DRAWS)
    assert drawn.dtype == np.int32
    assert drawn.shape == (DRAWS, 2)
    assert drawn.flags.c_contiguous
    keys, counts = np.unique(np.sort(drawn, axis=1) @ [graph.n, 1], return_counts=True)
    listed = plain.edges @ np.array([graph.n, 1])
    assert np.isin(keys, listed).all()
    observed = np.zeros(graph.edge_count)
    observed[np.searchsorted(listed, keys)] = counts
    if graph.edge_count > 1:
        expected = DRAWS * plain.edge_probabilities(law)
        assert stats.chisquare(observed, expected).pvalue > 1e-4
    crossing = graph.is_network(drawn).mean()
    assert crossing == pytest.approx(graph.network_fraction(law), abs=4 * 0.5 / DRAWS**0.5)


@pytest.mark.pairs
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("construction", ROW_CONSTRUCTIONS)
@pytest.mark.parametrize("network", [complete(4), cycle(4)], ids=repr)
def test_numbers_beyond_32_bits_do_not_depend_on_it_either(
    network: Graph, construction: str, law: str
) -> None:
    site_of = np.repeat(np.arange(4), [300_000, 1, 200_000, 50_000])
    sampler = edge_law(GroupedGraph(network, site_of, construction), law)
    pieces = streams(sampler.stream_count)
    drawn = np.concatenate([sampler.draw(pieces, size) for size in (1, 0, 999, 3000)])
    assert np.array_equal(drawn, sampler.draw(streams(sampler.stream_count), 4000))


@EACH
def test_every_row_calls_equally_often_where_rows_call(graph: GroupedGraph) -> None:
    if graph.is_regular:
        pytest.skip("the laws agree where all nodes have equally many neighbors")
    sampler = edge_law(graph, "node-clocks")
    callers = sampler.draw(streams(2, seed=3), DRAWS)[:, 0]
    assert stats.chisquare(np.bincount(callers, minlength=graph.n)).pvalue > 1e-4


small_world = functools.cache(lambda: watts_strogatz(100_000, 4, 0.3, seed=0))


@functools.lru_cache(maxsize=1)  # for both laws, one after the other
def million(kind: str) -> GroupedGraph:
    """Make a graph of a million rows at 100,000 sites, in random order."""
    rng = np.random.default_rng(0)
    equal = np.repeat(np.arange(100_000), 10)
    unequal = np.concatenate([np.arange(100_000), rng.zipf(1.2, 900_000) % 100_000])
    return {
        "equal": lambda: GroupedGraph(small_world(), rng.permutation(equal)),
        "unequal": lambda: GroupedGraph(small_world(), rng.permutation(unequal)),
        "blow-up": lambda: GroupedGraph(small_world(), rng.permutation(unequal), "blow-up"),
        "complete": lambda: GroupedGraph(complete(100_000), rng.permutation(unequal)),
        "parts": lambda: GroupedGraph(complete(100_000), rng.permutation(unequal), "blow-up"),
        "few sites": lambda: GroupedGraph(cycle(10), rng.permutation(10**6) % 10),
    }[kind]()


@pytest.mark.parametrize(
    ("kind", "law"),
    [
        *(("unequal", law) for law in LAWS),
        ("equal", "uniform-edges"),
        ("blow-up", "node-clocks"),
        ("complete", "node-clocks"),
        ("parts", "uniform-edges"),
        ("few sites", "node-clocks"),
    ],
)
def test_a_million_rows_are_sampled_in_bounded_memory(kind: str, law: str) -> None:
    graph = million(kind)
    tracemalloc.start()
    sampler = edge_law(graph, law)
    pieces = streams(sampler.stream_count)
    drawn = np.concatenate([sampler.draw(pieces, 1 << 16) for _ in range(3)])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert graph.n == 10**6
    assert peak < 150e6  # an edge list would take gigabytes
    assert (drawn[:, 0] != drawn[:, 1]).all()
    one, other = graph.site_of[drawn].T
    crossing = one != other
    if not graph.sites.is_complete:
        pairs = np.sort(np.column_stack([one, other])[crossing], axis=1)
        drawn_keys, keys = (edge_keys(graph.sites.n, rows) for rows in (pairs, graph.sites.edges))
        assert np.isin(drawn_keys, keys).all()
    if graph.construction == "blow-up":
        assert crossing.all()
    # The law determines these means: the degree of the rows that take part.
    expected = graph.pick_probabilities(law) @ np.log(graph.degrees) / 2
    found = np.log(graph.degrees[drawn])
    assert found.mean() == pytest.approx(expected, abs=5 * found.std() / len(drawn) ** 0.5 + 1e-9)
    assert crossing.mean() == pytest.approx(graph.network_fraction(law), abs=0.006)


def laid_out(lengths: list[int]) -> list[tuple[int, int]]:
    """Return the part of every number and its offset in the part, one by one."""
    return [(part, into) for part, length in enumerate(lengths) for into in range(length)]


@settings(deadline=None)
@given(st.lists(st.one_of(st.integers(1, 3), st.integers(1, 300)), min_size=1, max_size=40))
def test_every_number_falls_into_its_part(lengths: list[int]) -> None:
    expected = laid_out(lengths)
    part, into = _make_locator(np.array(lengths, dtype=np.int64)).locate(np.arange(len(expected)))
    assert list(zip(part.tolist(), into.tolist(), strict=True)) == expected


def test_tiny_parts_beside_a_huge_one_are_told_apart() -> None:
    """All the tiny parts share one entry of the table."""
    lengths = np.ones(10_001, dtype=np.int64)
    lengths[5000] = 10**12
    found = _make_locator(lengths)
    assert isinstance(found, _GuidedParts)
    numbers = np.concatenate([np.arange(6000), 10**12 + np.arange(4990, 10_000)])
    part, into = found.locate(numbers)
    expected = np.searchsorted(np.cumsum(lengths), numbers, side="right")
    assert np.array_equal(part, expected)
    assert np.array_equal(into[:5001], np.zeros(5001))
    assert into[5999] == 999
