from __future__ import annotations

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


@pytest.mark.parametrize("method", ["u1", "u2", "averaging"])
def test_theory_of_the_other_methods(method: str) -> None:
    kernel = None if method == "averaging" else "gini"
    run = pg.estimate(rows(12), kernel, GRAPH, method=method, iterations=300, trials=2, seed=0)
    curves = run.theory()
    assert (curves.expected_error <= curves.expectation_bound * (1 + 1e-9) + 1e-15).all()


def test_the_bias_over_many_trials_approaches_the_exact_one() -> None:
    run = pg.estimate(rows(12), "gini", GRAPH, iterations=100, trials=2000, seed=0)
    np.testing.assert_allclose(run.bias, run.theory().expected_error, atol=0.05)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"clock": "async"}, "No exact expectation or explicit bound is known"),
        ({"kernel": pg.Ratio("gini", "variance")}, "is a ratio: theory speaks of its numerator"),
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


def test_axis_is_checked() -> None:
    run = pg.estimate(rows(12), "gini", GRAPH, iterations=10, seed=0)
    with pytest.raises(InputError, match="Curves are drawn against exchanges, time, messages"):
        run.axis("bytes")
