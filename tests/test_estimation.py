"""The front door: what it returns, and how it refuses wrong input before any work starts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip import InputError, UnknownTarget
from pairgossip.checks import checkpoint_grid
from tests.problems import labeled_rows, rows, skewed

DATA = rows(12)
GRAPH = pg.graphs.watts_strogatz(12, 4, 0.3, seed=1)


def test_the_contract_of_a_run() -> None:
    run = pg.estimate(DATA, kernel="gini", graph=GRAPH, iterations=5000, trials=4, seed=0)
    assert run.target == pytest.approx(pg.exact(DATA, "gini", kind="v"), rel=1e-14)
    assert run.estimates.shape == (4, 12)
    assert run.iterations[0] == 1
    assert run.iterations[-1] == 5000
    count = len(run.iterations)
    assert run.mean.shape == run.spread.shape == run.error.shape == (count,)
    assert run.history is not None
    assert run.history.shape == (4, count, 12)
    np.testing.assert_array_equal(run.history[:, -1], run.estimates)
    deviation = run.history - run.target
    np.testing.assert_allclose(run.error, np.sqrt((deviation**2).mean(axis=(0, 2))), rtol=1e-12)
    np.testing.assert_allclose(run.mean, run.history.mean(axis=(0, 2)), rtol=1e-12)
    np.testing.assert_allclose(run.spread, run.history.std(axis=2).mean(axis=0), rtol=1e-12)
    assert run.status == "done"
    assert run.error[-1] < 0.1 * run.error[0]
    np.testing.assert_array_equal(run.exchanges, run.iterations)
    np.testing.assert_array_equal(run.messages, 2 * run.iterations)


@pytest.mark.pairs
@pytest.mark.parametrize(
    ("method", "clock"), [("gosta", "sync"), ("gosta", "async"), ("u2", "sync")]
)
@pytest.mark.parametrize("target", ["v", "u"])
@pytest.mark.parametrize("kernel", ["gini", "variance", skewed])
def test_every_method_converges_to_its_target(
    method: str, clock: str, target: str, kernel: Any
) -> None:
    run = pg.estimate(
        DATA, kernel, GRAPH, method=method, clock=clock, target=target, iterations=200_000, seed=1
    )
    assert run.target == pytest.approx(pg.exact(DATA, kernel, kind=target))
    np.testing.assert_allclose(run.estimates, run.target, rtol=0.05)


def test_auc_with_labels_beside_the_scores() -> None:
    data = labeled_rows(12)
    labels = np.where(data[:, 1] > 0, "sick", "healthy")
    how: dict[str, Any] = {"labels": labels, "positive": "sick", "iterations": 300_000}
    run = pg.estimate(data[:, 0], "auc", GRAPH, **how, seed=0)
    assert run.target == pytest.approx(pg.exact(data, "auc"))
    np.testing.assert_allclose(run.estimates, run.target, atol=0.05)
    # Before a positive meets a negative, a node has no ratio: undefined, not zero.
    assert run.history is not None
    assert np.isnan(run.history[0, 0]).any()
    assert np.isnan(run.mean[0]) == np.isnan(run.history[0, 0]).all()


def test_asynchronous_runs_carry_times() -> None:
    run = pg.estimate(DATA, "gini", GRAPH, clock="async", iterations=10_000, trials=3, seed=0)
    assert run.times is not None
    assert run.times.shape == (3, len(run.iterations))
    assert (np.diff(run.times, axis=1) > 0).all()
    np.testing.assert_allclose(run.times[:, -1], 10_000 / 12, rtol=0.1)
    np.testing.assert_allclose(run.axis("time"), run.times.mean(axis=0))
    sync = pg.estimate(DATA, "gini", GRAPH, iterations=10, seed=0)
    assert sync.times is None
    with pytest.raises(InputError, match="Only asynchronous runs have clock times"):
        sync.axis("time")


def test_a_named_graph_is_built_with_the_seed() -> None:
    run = pg.estimate(DATA, "gini", "watts_strogatz", iterations=10, seed=5)
    assert run.graph == pg.graphs.watts_strogatz(12, 4, 0.3, seed=5)
    assert pg.estimate(DATA, "gini", iterations=10, seed=5).graph.is_complete


def test_an_unseeded_run_can_be_repeated_from_what_it_reports() -> None:
    run = pg.estimate(DATA, "gini", "watts-strogatz", iterations=100)
    again = pg.estimate(DATA, "gini", "watts-strogatz", iterations=100, seed=run.seed)
    np.testing.assert_array_equal(run.estimates, again.estimates)


def test_summary_keeps_curves_and_final_estimates_only() -> None:
    nodes = pg.estimate(DATA, "gini", GRAPH, iterations=500, seed=0, record="nodes")
    summary = pg.estimate(DATA, "gini", GRAPH, iterations=500, seed=0, record="summary")
    assert summary.history is None
    np.testing.assert_array_equal(nodes.error, summary.error)
    np.testing.assert_array_equal(nodes.estimates, summary.estimates)
    with pytest.raises(InputError, match="kept summaries only"):
        _ = summary.bias


def test_a_costly_target_is_not_computed_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairgossip.run_requests.estimation._LARGEST_BLOCKED_TARGET", 5)
    with pytest.warns(UnknownTarget, match=r"on 12 rows takes 1e\+02 evaluations"):
        run = pg.estimate(DATA, skewed, GRAPH, iterations=50, seed=0)
    assert np.isnan(run.target)
    assert np.isnan(run.error).all()
    assert np.isfinite(run.spread).all()
    known = pg.estimate(DATA, skewed, GRAPH, iterations=50, seed=0, reference=3.0)
    assert known.target == 3.0
    assert np.isfinite(known.error).all()


def test_checkpoints() -> None:
    grid = checkpoint_grid(1000)
    assert grid[0] == 1
    assert grid[-1] == 1000
    assert (np.diff(grid) > 0).all()
    np.testing.assert_array_equal(checkpoint_grid(10, [3, 1]), [1, 3, 10])
    np.testing.assert_array_equal(checkpoint_grid(10, 1), [10])
    np.testing.assert_array_equal(checkpoint_grid(1), [1])


BAD: list[tuple[dict[str, Any], str]] = [
    ({"method": "gosto"}, r"^Unknown method 'gosto': did you mean 'gosta'\?$"),
    ({"trials": 0}, r"^The number of trials must be a whole number >= 1, not 0\.$"),
    ({"n_jobs": 0}, r"^Invalid n_jobs=0: give a number of workers, or -1 for all cores\.$"),
    ({"n_jobs": 1.5}, r"^Invalid n_jobs=1\.5"),
    ({"method": 5}, r"^Unknown method '5'"),
    ({"reference": "x"}, r"^The reference must be one finite number\.$"),
    ({"method": "u1", "reference": 1.0}, r"^The reference must be one finite number per node, 12"),
    ({"iterations": 10**20}, r"^The number of iterations must be at most 1,000,000,000,000"),
    ({"clock": "async", "order": "update-first"}, r"^The order of update and exchange is a choice"),
    ({"engine": "fused", "kernel": skewed}, r"^Kernel 'skewed' is not compiled into the engine"),
    ({"method": "averaging", "kernel": None, "labels": [1] * 12}, r"takes no kernel and no labels"),
    ({"checkpoints": [0, 5]}, r"^Checkpoints must lie between 1 and the 10 iterations"),
    ({"checkpoints": [1.5]}, r"^Checkpoints must be a number or a list of whole"),
    ({"kernel": None}, r"^Method 'gosta' needs a kernel"),
    ({"method": "averaging"}, r"^Method 'averaging' averages the data itself and takes no kernel"),
    (
        {"method": "averaging", "kernel": None, "weights": DATA},
        r"^Method 'averaging' averages all rows alike: leave weights= out\.$",
    ),
    (
        {"privacy": pg.privacy.RandomizedResponse(1.0, 4, (0, 9)), "within": DATA > 1},
        r"^Private reports do not show which pairs count: leave within= out\.$",
    ),
    ({"method": "u2", "clock": "async"}, r"^Method 'u2' has no asynchronous form"),
    ({"graph": 3}, r"^The graph must be a pairgossip Graph or the name of a family, not int"),
    ({"graph": pg.graphs.cycle(5)}, r"^The data has 12 rows but the graph has 5 nodes"),
    ({"data": [*DATA[:11], np.nan]}, r"^Values are missing in data \(row 11\), "),
    (
        {"method": "u1", "kernel": pg.Ratio("gini", "variance")},
        r"^Method 'u1' estimates the rows of a single kernel",
    ),
]


@pytest.mark.parametrize(("wrong", "sentence"), BAD, ids=[str(sorted(w)) for w, _ in BAD])
def test_wrong_input_gets_one_sentence(wrong: dict[str, Any], sentence: str) -> None:
    right: dict[str, Any] = {
        "data": DATA,
        "kernel": "gini",
        "graph": GRAPH,
        "iterations": 10,
        "seed": 0,
    }
    with pytest.raises(InputError, match=sentence) as caught:
        pg.estimate(**(right | wrong))
    assert "\n" not in str(caught.value)


def test_u2_refuses_two_nodes_and_says_why() -> None:
    with pytest.raises(InputError, match="both of its walks swap together"):
        pg.estimate([1.0, 2.0], "gini", pg.graphs.path(2), method="u2", iterations=10)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_very_small_and_very_large_data(scale: float) -> None:
    small = pg.estimate(DATA, "gini", GRAPH, iterations=50, seed=0)
    scaled = pg.estimate(DATA * scale, "gini", GRAPH, iterations=50, seed=0)
    np.testing.assert_allclose(scaled.error / scale, small.error, rtol=1e-9)
    np.testing.assert_allclose(scaled.spread / scale, small.spread, rtol=1e-9, atol=1e-15)


def test_sums_that_overflow_are_refused() -> None:
    with pytest.raises(InputError, match="The estimates are not finite"):
        pg.estimate([0.0, 1e305, 2e305], "gini", iterations=5000, seed=0)


def test_a_kernel_that_is_nan_for_a_rare_pair_is_refused() -> None:
    data = rows(400)

    def rarely_nan(first: Any, second: Any) -> Any:
        return np.where((first == data[371]) & (second == data[377]), np.nan, first)

    with pytest.raises(InputError, match="The estimates are not finite"):
        pg.estimate(data, rarely_nan, iterations=400_000, reference=2.0, seed=0, record="summary")


def test_the_spread_of_u1_is_about_each_nodes_own_target() -> None:
    run = pg.estimate(DATA, "gini", GRAPH, method="u1", iterations=1000, seed=0)
    deviation = run.estimates[0] - run.target
    assert run.spread[-1] == pytest.approx(deviation.std())
    assert run.spread[-1] < 0.5 * run.estimates[0].std()
