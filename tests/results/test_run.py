from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip import InputError
from tests.problems import rows, skewed

GRAPH = pg.graphs.watts_strogatz(12, 4, 0.3, seed=1)


def test_theory_is_what_the_functions_of_theory_give() -> None:
    run = pg.estimate(rows(12), skewed, GRAPH, iterations=300, trials=3, seed=0)
    H = pg.kernels.Pairs(rows(12), skewed).matrix()
    expected = pg.theory.expected_estimates(H, GRAPH, run.iterations)
    curves = run.theory()
    np.testing.assert_allclose(curves.expected_mean, expected.mean(axis=1))
    bias = np.linalg.norm(expected - H.mean(), axis=1) / np.sqrt(12)
    np.testing.assert_allclose(curves.expected_error, bias)
    assert (curves.expected_error <= curves.expectation_bound).all()
    assert run.theory() is curves


@pytest.mark.parametrize("law", ["uniform-edges", "node-clocks"])
@pytest.mark.parametrize("order", ["update-first", "exchange-first"])
def test_theory_follows_the_runs_own_settings(order: str, law: str) -> None:
    graph = pg.graphs.star(12)
    run = pg.estimate(rows(12), skewed, graph, order=order, law=law, iterations=50, seed=0)
    H = pg.kernels.Pairs(rows(12), skewed).matrix()
    expected = pg.theory.expected_estimates(H, graph, run.iterations, order=order, law=law)
    np.testing.assert_allclose(run.theory().expected_mean, expected.mean(axis=1), rtol=1e-12)


def test_the_exact_bias_has_no_floor_of_rounding() -> None:
    run = pg.estimate(1000 + rows(12), graph=GRAPH, method="averaging", iterations=2000, seed=0)
    curves = run.theory()
    above_rounding = curves.expectation_bound > 1e-13
    assert (curves.expected_error <= curves.expectation_bound * (1 + 1e-9))[above_rounding].all()
    assert curves.expected_error[-1] < 1e-14


def test_theory_refuses_large_networks_before_it_allocates() -> None:
    run = pg.estimate(np.arange(30_000.0), "gini", iterations=10, seed=0)
    with pytest.raises(InputError, match="it is limited to 5,000 nodes"):
        run.theory()


def test_runs_can_be_kept_in_lists_and_sets() -> None:
    first, second = (pg.estimate(rows(3), "gini", iterations=5, seed=0) for _ in range(2))
    assert first in [second, first]
    assert len({first, second}) == 2


@pytest.mark.parametrize("method", ["u1", "u2", "averaging"])
def test_theory_of_the_other_methods(method: str) -> None:
    kernel = None if method == "averaging" else "gini"
    run = pg.estimate(rows(12), kernel, GRAPH, method=method, iterations=300, trials=2, seed=0)
    curves = run.theory()
    assert (curves.expected_error <= curves.expectation_bound * (1 + 1e-9) + 1e-15).all()


def test_the_bias_over_many_trials_approaches_the_exact_one() -> None:
    run = pg.estimate(rows(12), "gini", GRAPH, iterations=100, trials=500, seed=0, n_jobs=1)
    np.testing.assert_allclose(run.bias, run.theory().expected_error, atol=0.05)
    assert run.history is not None
    bias = run.history.mean(axis=0) - run.target
    np.testing.assert_allclose(run.bias, np.sqrt((bias**2).mean(axis=1)), rtol=1e-12)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"clock": "async"}, "No exact expectation or explicit bound is known"),
        (
            {"kernel": pg.Ratio("gini", "variance"), "engine": "plain"},
            "is a function of averages, such as a ratio: theory is known for each",
        ),
        (
            {"kernel": pg.Combination(("variance",), lambda of: np.sqrt(of[..., 0]), name="sd")},
            "^'sd' is a function of averages",
        ),
    ],
)
def test_where_theory_is_silent_it_says_so(settings: dict[str, object], sentence: str) -> None:
    chosen = {"kernel": "gini", "graph": GRAPH, "iterations": 10, "seed": 0} | settings
    run = pg.estimate(rows(12), **chosen)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=sentence):
        run.theory()


def test_repr_says_what_happened() -> None:
    run = pg.estimate(rows(12), "gini", GRAPH, iterations=10, trials=2, seed=0)
    assert repr(run).startswith("<Run gosta-sync of gini on 12 nodes: 2 trials, 10 iterations")


RUN = pg.estimate(rows(6), "gini", "cycle", clock="async", iterations=100, trials=3, seed=0)


def test_pandas_has_one_row_per_trial_and_checkpoint() -> None:
    frame = RUN.to_pandas()
    assert len(frame) == 3 * len(RUN.iterations)
    assert list(frame.columns) == [
        "trial",
        "iteration",
        "exchanges",
        "messages",
        "bytes",
        "time",
        "mean",
        "spread",
        "error",
    ]
    np.testing.assert_allclose(frame.groupby("iteration")["mean"].mean(), RUN.mean)
    second = frame[frame["trial"] == 1]
    np.testing.assert_array_equal(second["error"], RUN.trial_error[1])


def test_xarray_names_its_dimensions() -> None:
    dataset = RUN.to_xarray()
    assert dict(dataset.sizes) == {"trial": 3, "iteration": len(RUN.iterations), "node": 6}
    np.testing.assert_array_equal(dataset["history"].isel(iteration=-1), RUN.estimates)
    assert dataset.attrs["kernel"] == "gini"
    assert float(dataset["target"]) == RUN.target
    assert "sketch" not in dataset.attrs


def test_xarray_names_the_sketch() -> None:
    how: dict[str, Any] = {"method": "sketch", "sketch": pg.sketches.Bins(2, range=(0, 5))}
    run = pg.estimate(np.arange(6.0), "gini", "cycle", schedule="tree", seed=0, **how)
    named = run.to_xarray().attrs
    assert named["sketch"] == run.sketch and named["bracket"] == run.bracket is not None
    assert "relaxation" not in named
