"""Nodes' knowledge of their sampling errors, against the exact projection and plain loops."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.random import SeedSequence

import pairgossip as pg
from pairgossip.engine.estimation import loops
from pairgossip.engine.estimation.sampling import RowErrors, SeenErrors, Visitors
from pairgossip.engine.schedule import Schedule, root_seed
from pairgossip.errors import InputError, NotEnough
from pairgossip.inference import row_products
from pairgossip.inference.answer import NORMAL, Law, interval, intervals
from pairgossip.kernels import Pairs, WholeSets
from pairgossip.privacy import PrivatePairs, PrivateSets
from tests.problems import labeled_rows, rows, skewed

SEED = SeedSequence(0)
KERNELS: dict[str, tuple[Any, Any]] = {
    "gini": ("gini", rows(60)),
    "auc": ("auc", labeled_rows(60)),
    "kendall-b": ("kendall-b", np.round(rows(60, 2), 1)),
    "user's": (skewed, rows(60)),
}


def advanced(pairs: Pairs, compiled: bool, clusters: Any = None, exchanges: int = 500) -> RowErrors:
    graph = pg.graphs.watts_strogatz(pairs.n, 4, 0.3, seed=1)
    chosen = loops if compiled else None
    visitors, errors = Visitors(pairs, chosen), RowErrors(pairs, clusters, 0.5, chosen, SEED)
    schedule = Schedule(graph, "uniform-edges", root_seed(7), 1)
    for block in (1, 40, exchanges - 41):
        for visits in visitors.follow(schedule.draw(block)[0]):
            errors.add(visits)
    return errors


@pytest.mark.parametrize("name", KERNELS)
def test_compiled_loops_do_what_plain_ones_do(name: str) -> None:
    kernel, data = KERNELS[name]
    pairs = Pairs(data, kernel)
    plain, fast = (advanced(pairs, compiled)._state for compiled in (False, True))
    np.testing.assert_allclose(fast.z, plain.z, rtol=1e-12)
    np.testing.assert_array_equal(fast.visits, plain.visits)


@pytest.mark.parametrize("clusters", [None, np.arange(60) // 6])
def test_the_network_averages_the_products_of_half_means(clusters: Any) -> None:
    pairs = Pairs(labeled_rows(60), "auc")
    state = advanced(pairs, True, clusters)._state
    sums = np.zeros((len(state.sizes), 2, 2))
    np.add.at(sums, state.clusters, state.means)
    np.testing.assert_allclose(sums, state.sums, atol=1e-12)
    first, second = np.triu_indices(2)
    mixed = sums[:, 0, first] * sums[:, 1, second] + sums[:, 0, second] * sums[:, 1, first]
    products = mixed / 2
    weighed = state.sizes[:, None] * sums.mean(axis=1)
    total = np.hstack([products, weighed]).sum(axis=0)
    np.testing.assert_allclose(state.z[:, : -row_products.MARKS].sum(axis=0), total, rtol=1e-10)


def test_variances_are_those_of_the_definition() -> None:
    random = np.random.default_rng(0)
    influence = random.normal(size=(50, 2))
    slopes, averages = np.array([1.0, -0.3]), np.array([0.7, 0.2])
    means = influence - influence.mean(axis=0) + 2 * averages
    first, second = np.triu_indices(2)
    z = np.concatenate([(means[:, first] * means[:, second]).mean(axis=0), means.mean(axis=0)])
    expected = np.mean(((means - 2 * averages) @ slopes) ** 2)
    found = row_products.variance(z[None], averages[None], slopes[None], 1.0)
    assert found[0] == pytest.approx(expected)


@pytest.mark.parametrize("kernel", ["gini", "auc"])
@pytest.mark.parametrize(
    ("method", "clock"),
    [("gosta", "sync"), ("gosta", "async"), ("weighted-gosta", "async"), ("tracking", "async")],
)
def test_nodes_learn_the_sampling_error(kernel: str, method: str, clock: str) -> None:
    random = np.random.default_rng(1)
    labels = (random.random(200) < 0.4).astype(float) if kernel == "auc" else None
    data = random.exponential(size=200) if labels is None else random.normal(size=200) + labels
    run = pg.estimate(
        data,
        kernel,
        labels=labels,
        method=method,
        clock=clock,
        interval=0.95,
        iterations=40_000,
        seed=0,
    )
    exact = pg.exact(data, kernel, labels=labels, interval=0.95)
    assert run.sampling_error is not None
    assert run.sampling_error.mean() == pytest.approx(exact.error, rel=0.05)
    # Nodes' knowledge of the error does not show the direction of the statistic's bias.
    assert run.skewness is None
    ends = interval(exact.value, exact.error, 0.95, exact.scale, Law(run.freedom))
    for seen, end in zip(run.interval, ends, strict=True):
        assert seen.mean() == pytest.approx(end, rel=0.05)


@pytest.mark.parametrize("schedule", ["random", "tree"])
@pytest.mark.parametrize("kernel", ["gini", "auc", "variance"])
def test_a_sketch_tells_the_sampling_error(kernel: str, schedule: str) -> None:
    random = np.random.default_rng(7)
    labels = (random.random(200) < 0.4).astype(float) if kernel == "auc" else None
    data = random.exponential(size=200) if labels is None else random.normal(size=200) + labels
    run = pg.estimate(
        data, kernel, labels=labels, method="sketch", schedule=schedule, until="enough", seed=0
    )
    exact = pg.exact(data, kernel, labels=labels, interval=0.95)
    assert run.sampling_error is not None and run.gossip_error is not None
    np.testing.assert_allclose(run.sampling_error, exact.error, rtol=0.05)
    assert (run.gossip_error <= run.sampling_error / 10).all()
    if kernel == "variance":
        assert run.skewness is None
        return
    np.testing.assert_allclose(run.interval[0], exact.low, atol=0.15 * exact.error)
    np.testing.assert_allclose(run.interval[1], exact.high, atol=0.15 * exact.error)


@pytest.mark.parametrize("construction", ["lexicographic", "whole-sets"])
def test_sites_learn_the_error_of_drawing_sites(construction: str) -> None:
    random = np.random.default_rng(2)
    sites = np.repeat(np.arange(20), random.integers(2, 12, 20))
    data = random.exponential(size=len(sites)) + 0.5 * random.normal(size=20)[sites]
    run = pg.estimate(
        data,
        "gini",
        groups=sites,
        construction=construction,
        clock="async",
        interval=0.95,
        iterations=60_000,
        seed=0,
    )
    by_site = pg.exact(data, "gini", groups=sites, interval=0.95).error
    found = run.sampling_error if construction == "whole-sets" else run.site_error
    assert found is not None and found.mean() == pytest.approx(by_site, rel=0.05)


@pytest.mark.parametrize("counted", ["weights", "small class"])
def test_rows_that_count_more_or_are_few_have_their_own_error(counted: str) -> None:
    """Weights have the effect of repeated rows; rows of a small class are a separate sample."""
    data = np.random.default_rng(3).exponential(size=120)
    how: dict[str, Any] = {"kernel": "gini", "weights": 1 + np.arange(120) % 3, "interval": 0.95}
    if counted == "small class":
        how = {"kernel": "auc", "labels": np.arange(120) < 5, "interval": 0.95}
    run = pg.estimate(data, clock="async", iterations=60_000, seed=0, **how)
    exact = pg.exact(data, **how)
    assert run.target == pytest.approx(exact) and run.sampling_error is not None
    assert run.sampling_error.mean() == pytest.approx(exact.error, rel=0.05)


@pytest.mark.parametrize(
    ("given", "freedom"),
    [
        ({}, 19),
        ({"weights": np.full(20, 3)}, 59),
        ({"groups": np.arange(20) // 5, "construction": "whole-sets"}, 3),
        ({"groups": np.arange(20) // 5}, 19),
        ({"groups": np.arange(20) // 5, "method": "sketch"}, 19),
        ({"kernel": "auc", "labels": np.arange(20) < 6}, 5),
    ],
)
def test_what_is_drawn_has_degrees_of_freedom(given: dict[str, Any], freedom: int) -> None:
    usual: dict[str, Any] = {"kernel": "gini", "iterations": 50, "seed": 0, "interval": 0.95}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotEnough)
        assert pg.estimate(rows(20), **(usual | given)).freedom == freedom


def test_private_sets_count_for_as_many_rows() -> None:
    sites = np.repeat([0, 1, 2], [1, 2, 9])
    mechanism = pg.privacy.RandomizedResponse(1.0, bins=4, range=(-4, 4))
    private = PrivateSets(PrivatePairs(rows(12), "gini", mechanism, seeded=True), sites)
    plain = WholeSets(Pairs(rows(12), "gini"), sites)
    found, expected = (
        RowErrors(sets.for_trial(SEED), None, 0.5, None, SEED)._state.sizes
        for sets in (private, plain)
    )
    np.testing.assert_array_equal(found, expected)


def test_estimates_outside_of_a_scale_have_plain_intervals() -> None:
    values, errors = np.array([0.5, 1.0, 1.1, np.nan]), np.full(4, 0.1)
    low, high = intervals(values, errors, 0.95, "logit", NORMAL)
    assert 0 < low[0] < 0.5 < high[0] < 1
    np.testing.assert_allclose(low[1:3], values[1:3] - 0.196, atol=1e-4)
    np.testing.assert_allclose(high[1:3], values[1:3] + 0.196, atol=1e-4)
    assert np.isnan(low[3]) and np.isnan(high[3])
    # The noise of reports can make a spread negative, but not the true one.
    low, high = intervals(np.array([-0.1, 0.0, 1.0]), errors[:3], 0.95, "log", NORMAL)
    np.testing.assert_allclose(high, [0.096, 0.196, np.exp(0.196)], atol=1e-3)
    assert (low < high).all()


def test_the_curves_do_not_change_when_errors_are_learned() -> None:
    settings: dict[str, Any] = {"iterations": 2000, "seed": 3, "clock": "async"}
    plain = pg.estimate(rows(40), "gini", **settings)
    learned = pg.estimate(rows(40), "gini", interval=0.95, **settings)
    np.testing.assert_array_equal(plain.estimates, learned.estimates)
    assert (learned.bytes > plain.bytes).all()


def test_a_run_ends_when_all_nodes_have_enough() -> None:
    data = np.random.default_rng(4).exponential(size=60)
    settings: dict[str, Any] = {"method": "tracking", "clock": "async", "seed": 0}
    run = pg.estimate(data, "gini", until="enough", iterations=300_000, **settings)
    assert run.enough is not None and 0 < run.enough[0] < 300_000
    assert run.gossip_error is not None and run.sampling_error is not None
    assert (run.gossip_error <= run.sampling_error / 10).all()
    assert run.exchanges[-1] == run.enough[0]
    table = run.to_xarray()
    assert table.enough.item() == run.enough[0]
    np.testing.assert_array_equal(table.trial_gossip_error, run.trial_gossip_error)
    with pytest.warns(NotEnough, match="iterations=800 or more"):
        pg.estimate(data, "gini", until="enough", iterations=200, **settings)


def test_nodes_that_know_their_surroundings_only_are_told() -> None:
    data = np.random.default_rng(4).lognormal(size=100)
    with pytest.warns(NotEnough, match="in the sampling error, since rows have not come around"):
        pg.estimate(data, "gini", "cycle", interval=0.95, iterations=4000, seed=0)
    with pytest.warns(NotEnough, match="Not all nodes know the sampling error"):
        pg.estimate(data, "gini", "cycle", interval=0.95, iterations=20, seed=0)


@pytest.mark.parametrize("per_node", [50, 250])
@pytest.mark.parametrize("kernel", ["gini", "auc"])
def test_errors_are_not_too_small_where_rows_come_around_slowly(kernel: str, per_node: int) -> None:
    random = np.random.default_rng(4)
    labels = (random.random(200) < 0.35).astype(float) if kernel == "auc" else None
    data = random.lognormal(size=200) if labels is None else random.normal(size=200) + labels
    how: dict[str, Any] = {"labels": labels, "interval": 0.95}
    exact = pg.exact(data, kernel, **how).error
    how |= {"clock": "async", "iterations": 100 * per_node, "trials": 6, "seed": 1}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", NotEnough)
        run = pg.estimate(data, kernel, "cycle", **how)
    assert run.sampling_error is not None and run.widening is not None
    assert 0.97 * exact < np.nanmean(run.sampling_error) < 1.5 * exact
    if kernel == "gini":  # nodes have seen too few large incomes
        assert np.nanmean(run.sampling_error / run.widening) < 0.97 * exact
        wide = round(100 * (run.widening.mean() - 1))
        assert f"and widen it by {wide} % for those they have not seen" in str(caught[0].message)
    known = pg.estimate(data, kernel, "complete", **how)
    assert known.widening is not None and known.widening.max() < 1.001


def test_marks_tell_how_many_rows_have_come_around() -> None:
    n, rows_seen = 400, 4
    places = np.arange(n) // rows_seen
    errors = RowErrors(Pairs(rows(n), "gini"), None, 0.5, None, SEED)
    marks = errors._state.z[:, -row_products.MARKS :]
    np.testing.assert_allclose(marks.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose((marks**2).mean(axis=0), 1)
    marks[:] = np.array([marks[places == place].mean(axis=0) for place in range(100)])[places]
    unseen = (errors.widening() ** 2 - 1).mean() / (4 + (113.9 - 1) / 4)
    assert unseen == pytest.approx(1 / rows_seen - 1 / n, rel=0.2)
    marks[:] = marks.mean(axis=0)
    np.testing.assert_allclose(errors.widening(), 1)


def test_rows_of_a_cluster_have_the_same_marks() -> None:
    clusters = np.arange(60) // 7
    state = RowErrors(Pairs(rows(60), "gini"), clusters, 0.5, None, SEED)._state
    marks = state.z[:, -row_products.MARKS :]
    np.testing.assert_allclose(marks.mean(axis=0), 0, atol=1e-12)
    assert all(len(np.unique(marks[clusters == one], axis=0)) == 1 for one in range(9))


@pytest.mark.parametrize(
    ("kernel", "data", "expected"),
    [
        ("gini", rows(400), 113.9),
        ("gini", rows(60), 60),
        ("gini-coefficient", np.abs(rows(400)), 113.9),
        ("kendall-b", rows(400, 2), 3),
        ("auc", np.column_stack([rows(400), np.arange(400) < 40]), 30),
        (skewed, rows(400), 113.9),
    ],
)
def test_the_tails_that_errors_allow_for(kernel: Any, data: Any, expected: float) -> None:
    errors = RowErrors(Pairs(data, kernel), None, 0.5, None, SEED)
    assert errors._kurtosis == pytest.approx(expected)


def test_collected_rows_tell_the_exact_error(tmp_path: Path) -> None:
    data = np.random.default_rng(5).exponential(size=30)
    run = pg.estimate(data, "gini", method="collect", interval=0.95, seed=0)
    exact = pg.exact(data, "gini", interval=0.95)
    np.testing.assert_allclose(run.interval[0], exact.low)
    np.testing.assert_allclose(run.interval[1], exact.high)
    saved = tmp_path / "run.npz"
    run.save(saved)
    np.testing.assert_array_equal(pg.load(saved).interval, run.interval)


def test_what_a_node_has_moved() -> None:
    seen = SeenErrors()
    for at, value in ((10, 5.0), (60, 1.2), (80, 0.9)):
        assert np.isnan(seen.move(at, np.array([value]))).all() == (at < 80)
    np.testing.assert_allclose(seen.move(100, np.array([1.0])), [0.2])


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"method": "u2"}, "no sampling error: use method='gosta'"),
        ({"interval": 95}, "The level of an interval must be a number between 0 and 1"),
        ({"until": "soon"}, "end 'soon'"),
        ({"data": [1.0]}, "needs more than one row: leave interval= out"),
        ({"kernel": "auc", "labels": np.arange(20) < 1}, "more than one row of each class"),
        ({"groups": np.zeros(20), "construction": "whole-sets"}, "more than one site"),
        ({"weights": np.full(20, 0.5)}, "not frequencies"),
        ({"kernel": "auc", "data": np.arange(20), "labels": np.arange(20) < 10}, "below 0.259"),
        ({"data": np.ones(20), "method": "sketch"}, "'gini' is 0 on these rows"),
    ],
)
def test_what_cannot_be_learned(given: dict[str, Any], sentence: str) -> None:
    usual: dict[str, Any] = {"data": rows(20), "kernel": "gini", "interval": 0.95}
    with pytest.raises(InputError) as caught:
        pg.estimate(**(usual | given))
    assert sentence in str(caught.value)
    run = pg.estimate(rows(20), "gini", iterations=10, seed=0)
    with pytest.raises(InputError, match=r"estimate again with interval=0\.95"):
        _ = run.interval


def test_rows_whose_squares_overflow_are_refused() -> None:
    rows = 1e160 * np.arange(1.0, 9.0)
    assert pg.estimate(rows, "gini", iterations=50, seed=0).error[-1] < np.inf
    with pytest.raises(pg.InputError, match="divide the data by a power of ten, or leave"):
        pg.estimate(rows, "gini", iterations=50, seed=0, interval=0.95)
