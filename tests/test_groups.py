"""Grouped runs are the plain algorithms on the virtual graph, and count what they send."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.algorithms import (
    averaging,
    gosta_async,
    gosta_sync,
    u1_gossip,
    u2_gossip,
    weighted_gosta,
)
from pairgossip.arrays import FloatArray, PairArray
from pairgossip.engine.schedule import Schedule, child, root_seed
from pairgossip.errors import InputError
from pairgossip.graphs import Graph, GroupedGraph
from pairgossip.kernels import Pairs
from tests.problems import labeled_rows, rows, skewed

SITES = {
    "path, unequal": (pg.graphs.path(4), [0, 2, 1, 0, 3, 2, 2, 1, 0, 3, 0]),
    "star, equal": (pg.graphs.star(4), [0, 1, 2, 3, 3, 2, 1, 0]),
    "complete, unequal": (pg.graphs.complete(3), [2, 0, 0, 1, 1, 1, 2, 0]),
    "two sites": (pg.graphs.path(2), [0, 1, 1, 0, 0]),
}
VARIANTS = [
    ("gosta", "sync", "update-first"),
    ("gosta", "sync", "exchange-first"),
    ("gosta", "async", None),
    ("weighted-gosta", "async", None),
    ("u1", "sync", None),
    ("u2", "sync", None),
]
ITERATIONS = 60


def stepping(
    variant: tuple[str, str, str | None], problem: Pairs, graph: Graph, law: str
) -> tuple[Any, Any]:
    """Return the reference algorithm on a plain graph, as a state and a step."""
    method, clock, order = variant
    steps = {
        ("gosta", "sync"): (gosta_sync.init, partial(gosta_sync.step, order=order or "")),
        ("gosta", "async"): (gosta_async.init, gosta_async.step),
        ("u1", "sync"): (u1_gossip.init, u1_gossip.step),
        ("u2", "sync"): (u2_gossip.init, u2_gossip.step),
    }
    if method == "weighted-gosta":
        weights = weighted_gosta.weights(graph.pick_probabilities(law))
        init, step = weighted_gosta.init, partial(weighted_gosta.step, weights=weights)
    else:
        init, step = steps[method, clock]  # type: ignore[assignment]
    return init(problem.n, problem.components), partial(_evaluating, step, problem)


def _evaluating(step: Any, problem: Pairs, state: Any, exchanges: PairArray) -> Any:
    return step(state, exchanges, h=problem.values)


def schedule_of(run: Any, trial: int = 0) -> tuple[PairArray, ...]:
    per_iteration = int(run.exchanges[-1]) // int(run.iterations[-1])
    schedule = Schedule(run.graph, run.law, child(root_seed(run.seed), trial), per_iteration)
    return schedule.draw(int(run.iterations[-1]))


def are_edges(exchanges: PairArray, graph: Graph) -> bool:
    edges = {frozenset(edge) for edge in graph.edges.tolist()}
    return all(frozenset(pair) in edges for pair in exchanges.tolist())


@pytest.mark.parametrize("law", ["uniform-edges", "node-clocks"])
@pytest.mark.parametrize("target", ["v", "u"])
@pytest.mark.parametrize("construction", ["lexicographic", "blow-up"])
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: "-".join(filter(None, v)))
def test_grouped_runs_are_the_plain_algorithm_on_the_materialized_graph(
    variant: tuple[str, str, str | None], construction: str, target: str, law: str
) -> None:
    method, clock, order = variant
    problems: list[tuple[Any, Any]] = [("gini", rows), (skewed, rows)]
    if method != "u1":
        problems.append(("auc", labeled_rows))
    # Every case has all sites and all kernels, in different combinations.
    first = 2 * (construction == "blow-up") + (target == "u") + (law == "node-clocks")
    for number, (sites, groups) in enumerate(SITES.values(), start=first):
        kernel, make = problems[number % len(problems)]
        data = make(len(groups))
        run = pg.estimate(
            data, kernel, sites, groups=groups, construction=construction, method=method,
            clock=clock, order=order, law=law, target=target, iterations=ITERATIONS,
            checkpoints=[1, 2, 40], seed=3,
        )  # fmt: skip
        assert isinstance(run.graph, GroupedGraph)
        plain = run.graph.materialized()
        problem, walks = Pairs(data, kernel, target), schedule_of(run)
        assert all(are_edges(walk, plain) for walk in walks)
        state, step = stepping(variant, problem, plain, law)
        found = []
        for t, exchanges in enumerate(np.stack(walks, axis=1), start=1):
            state = step(state, exchanges)
            if t in run.iterations:
                found.append(problem.kernel.combine(read(state)))
        scale = np.nanmax(np.abs(found))
        assert run.history is not None
        np.testing.assert_allclose(run.history[0], found, rtol=1e-12, atol=1e-12 * scale)


def read(state: Any) -> FloatArray:
    if isinstance(state, weighted_gosta.State):
        return weighted_gosta.readout(state.mass, unknown=0.0)
    return np.asarray(state.z)


@pytest.mark.parametrize("construction", ["lexicographic", "blow-up"])
def test_grouped_averaging_is_the_plain_algorithm(construction: str) -> None:
    sites, groups = SITES["path, unequal"]
    values = rows(len(groups))
    run = pg.estimate(
        values, None, sites, groups=groups, construction=construction, method="averaging",
        iterations=ITERATIONS, seed=0,
    )  # fmt: skip
    state = averaging.init(values[:, None])
    for exchange in schedule_of(run)[0][:, None]:
        state = averaging.step(state, exchange)
    np.testing.assert_allclose(run.estimates[0], state.z[:, 0], rtol=1e-13)


@pytest.mark.parametrize("engine", ["fused", "tokens", "plain"])
def test_engines_agree_on_grouped_graphs(engine: str) -> None:
    sites, groups = SITES["star, equal"]
    settings: Any = {"groups": groups, "iterations": 300, "seed": 5}
    data = rows(len(groups))
    auto = pg.estimate(data, "variance", sites, **settings)
    chosen = pg.estimate(data, "variance", sites, engine=engine, **settings)
    np.testing.assert_allclose(chosen.estimates, auto.estimates, rtol=1e-12)
    np.testing.assert_array_equal(chosen.network_exchanges, auto.network_exchanges)
    np.testing.assert_array_equal(chosen.local_exchanges, auto.local_exchanges)


@pytest.mark.parametrize("construction", ["lexicographic", "blow-up"])
@pytest.mark.parametrize("method", ["gosta", "u2"])
def test_counts_are_those_of_a_naive_count(construction: str, method: str) -> None:
    sites, groups = SITES["path, unequal"]
    run = pg.estimate(
        rows(len(groups), 2), "distance", sites, groups=groups, construction=construction,
        method=method, iterations=20_000, checkpoints=[1, 9_000], trials=2, seed=1,
    )  # fmt: skip
    for trial in range(2):
        walks = schedule_of(run, trial)
        crossing = np.zeros(20_000, dtype=int)
        for walk in walks:
            crossing += [groups[i] != groups[j] for i, j in walk.tolist()]
        network = np.cumsum(crossing)[run.iterations - 1]
        np.testing.assert_array_equal(run.network_exchanges[trial], network)
        np.testing.assert_array_equal(run.local_exchanges[trial], run.exchanges - network)
    assert (run.local_exchanges > 0).any() == (construction == "lexicographic")
    np.testing.assert_allclose(run.messages, 2 * run.network_exchanges.mean(axis=0))
    numbers = 2 + (method == "gosta")  # an observation of two columns, and an estimate
    np.testing.assert_allclose(run.bytes, 8 * numbers * run.messages)


@pytest.mark.parametrize(
    ("method", "clock", "kernel", "data", "numbers"),
    [
        ("gosta", "sync", "gini", rows(8), 1 + 1),
        ("gosta", "async", "auc", labeled_rows(8, 1), 2 + 2),
        ("weighted-gosta", "async", "auc", labeled_rows(8, 1), 2 + 3),
        ("u1", "sync", "distance", rows(8, 3), 3),
        ("u2", "sync", "distance", rows(8, 3), 3),
        ("averaging", "async", None, rows(8), 1),
    ],
)
def test_bytes_of_a_message(method: str, clock: str, kernel: Any, data: Any, numbers: int) -> None:
    settings: Any = {"method": method, "clock": clock, "iterations": 100, "seed": 0}
    run = pg.estimate(data, kernel, "cycle", **settings)
    np.testing.assert_array_equal(run.bytes, 8 * numbers * run.messages)
    np.testing.assert_array_equal(run.axis("bytes"), run.bytes)
    assert run.groups is None and run.construction is None
    np.testing.assert_array_equal(run.network_exchanges, [run.exchanges])
    assert not run.local_exchanges.any()
    grouped = pg.estimate(data, kernel, "path", groups=np.arange(8) // 3, **settings)
    np.testing.assert_array_equal(grouped.bytes, 8 * numbers * grouped.messages)


@pytest.mark.parametrize("family", ["path", "star", "complete"])
@pytest.mark.parametrize("construction", ["lexicographic", "blow-up", "whole-sets"])
def test_one_row_per_site_is_the_ungrouped_run(family: str, construction: str) -> None:
    """With sites in the order of the rows, both draw the same exchanges."""
    graph = pg.graphs.build(family, 6)
    data = rows(6)
    settings: Any = {"iterations": 400, "seed": 2, "law": "node-clocks"}
    plain = pg.estimate(data, skewed, graph, **settings)
    grouped = pg.estimate(
        data, skewed, graph, groups=range(6), construction=construction, **settings
    )
    np.testing.assert_array_equal(schedule_of(plain)[0], schedule_of(grouped)[0])
    if construction == "whole-sets":  # which scales sums of rows by 1 = n^2/N^2
        np.testing.assert_allclose(grouped.estimates, plain.estimates, rtol=1e-12)
    else:
        np.testing.assert_array_equal(grouped.estimates, plain.estimates)
    np.testing.assert_array_equal(grouped.messages, plain.messages)
    assert not grouped.local_exchanges.any()


def test_one_site_exchanges_for_free() -> None:
    run = pg.estimate(rows(5), "gini", groups=["home"] * 5, iterations=20_000, seed=0)
    assert run.sites.n == 1
    assert run.messages[-1] == run.bytes[-1] == 0
    np.testing.assert_array_equal(run.local_exchanges, [run.exchanges])
    assert run.error[-1] < 0.05 * run.target
    assert run.site_estimates.shape == (1, 1)


def test_site_estimates_are_means_over_the_rows() -> None:
    sites, groups = SITES["path, unequal"]
    data = labeled_rows(len(groups))
    run = pg.estimate(data, "auc", sites, groups=groups, iterations=3, trials=2, seed=0)
    assert np.isnan(run.estimates).any()
    for trial, site in np.ndindex(2, 4):
        here = run.estimates[trial, np.array(groups) == site]
        known = here[~np.isnan(here)]
        mean = known.mean() if known.size else np.nan
        np.testing.assert_allclose(run.site_estimates[trial, site], mean)


def test_a_family_is_built_on_the_number_of_groups() -> None:
    run = pg.estimate(rows(7), "gini", "path", groups=list("ccaabbb"), iterations=50, seed=0)
    assert run.sites == pg.graphs.path(3)
    assert run.groups is not None
    assert run.groups.tolist() == [2, 2, 0, 0, 1, 1, 1]
    assert repr(run).startswith("<Run gosta-sync of gini on 7 rows at 3 sites")


def test_a_grouped_graph_can_be_given_itself() -> None:
    sites, groups = SITES["path, unequal"]
    data = rows(len(groups))
    by_graph = pg.estimate(data, "gini", pg.graphs.grouped(sites, groups), iterations=99, seed=0)
    by_groups = pg.estimate(data, "gini", sites, groups=groups, iterations=99, seed=0)
    np.testing.assert_array_equal(by_graph.estimates, by_groups.estimates)
    assert by_graph.construction == "lexicographic"


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "too few": ({"groups": [0, 1]}, "There are 2 group labels for 6 row"),
    "not a list": ({"groups": "sites"}, "groups is the name 'sites', but data has no names"),
    "missing": (
        {"groups": ["a", None, "b", "a", "b", "a"]},
        "Values are missing in groups .row 1.",
    ),
    "an empty group": (
        {"groups": [0, 0, 1, 1, 1, 0], "graph": pg.graphs.path(3)},
        "Site 2 holds no row",
    ),
    "too many": (
        {"groups": [0, 0, 1, 1, 2, 0], "graph": pg.graphs.path(2)},
        "3 different groups for a network of 2",
    ),
    "misspelled": (
        {"groups": [0, 1] * 3, "construction": "blowup"},
        "Unknown construction 'blowup': did you mean 'blow-up'",
    ),
    "no groups": ({"construction": "blow-up"}, "Construction 'blow-up' is for sites .*groups="),
    "no sets": ({"construction": "whole-sets"}, "Construction 'whole-sets' is for sites"),
    "grouped twice": (
        {"graph": pg.graphs.grouped(pg.graphs.path(2), [0, 1] * 3), "groups": [0, 1] * 3},
        "already has the site of every row",
    ),
    "sets beyond reach": (
        {"data": np.zeros(70_000), "groups": [0, *[1] * 69_999], "construction": "whole-sets"},
        "whole sets of up to 69,999 rows takes 5e.09 pairs",
    ),
    "blow-up of one site": (
        {"groups": ["a"] * 6, "construction": "blow-up"},
        "The blow-up of one site with 6 rows has no edges",
    ),
}


@pytest.mark.parametrize(("settings", "sentence"), BAD.values(), ids=BAD.keys())
def test_bad_groups_get_one_sentence(settings: dict[str, Any], sentence: str) -> None:
    chosen: Any = {"data": rows(6), "kernel": "gini"} | settings
    with pytest.raises(InputError, match=sentence):
        pg.estimate(**chosen)
    if "data" not in settings:
        with pytest.raises(InputError, match=sentence):
            pg.minimize(rows(6, 2), [0, 1] * 3, **settings)


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"method": "averaging", "kernel": None}, "'averaging' swaps no observations"),
        ({"method": "u1"}, "'u1' estimates the mean of every single row"),
        ({"method": "u2"}, "'u2' needs at least 3 nodes"),
        ({"engine": "fused"}, "Engine 'fused' compiles the kernel of two single"),
    ],
)
def test_methods_without_use_for_whole_sets_say_so(how: dict[str, Any], sentence: str) -> None:
    settings: Any = {"groups": [0, 1] * 3, "construction": "whole-sets", "kernel": "gini", **how}
    with pytest.raises(InputError, match=sentence):
        pg.estimate(rows(6), **settings)
