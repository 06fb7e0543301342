"""Sampling errors from a sketch, against those of the rows themselves."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.inference.projection import project
from pairgossip.kernels import Pairs
from pairgossip.sketches import Chebyshev
from pairgossip.sketches.problem import SketchedPairs

SIZES = (235, 676, 2000)
ORDERS = (
    "kendall",
    "kendall-b",
    "somers-d",
    "goodman-kruskal-gamma",
    "ranking-risk",
    "concordance",
)


def column(name: str, n: int) -> FloatArray:
    generator = np.random.default_rng(n)
    if name == "tied":
        return generator.integers(1, 40, n).astype(float)
    return np.asarray(
        generator.exponential(size=n) if name == "exponential" else 9 + generator.normal(size=n)
    )


def table(name: str, n: int) -> FloatArray:
    """Draw two correlated columns; tied ones have about 20 different values."""
    first = column("normal" if name == "tied" else name, n)
    both = np.column_stack([first + np.random.default_rng(n + 1).normal(size=n), first])
    return np.round(2 * both) if name == "tied" else both


def sketched(pairs: Pairs, site_of: Any = None) -> tuple[SketchedPairs, float]:
    """Return the problem, and the sampling error that nodes finally have."""
    problem = SketchedPairs(pairs, None, site_of, errors=True)
    (error,) = problem.sampling(problem.features.mean(axis=0, keepdims=True), 0.95).error
    return problem, float(error)


def error_ratio(pairs: Pairs) -> float:
    return sketched(pairs)[1] / project(pairs).error()


@pytest.mark.pairs
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", ["exponential", "normal", "tied"])
@pytest.mark.parametrize("target", ["v", "u"])
def test_errors_of_one_column(name: str, n: int, target: str) -> None:
    values = column(name, n)
    assert error_ratio(Pairs(values, "variance", target)) == pytest.approx(1, abs=1e-9)
    assert error_ratio(Pairs(values, "gini", target)) == pytest.approx(1, abs=0.003)
    assert error_ratio(Pairs(values, "gini-coefficient", target)) == pytest.approx(1, abs=0.003)


@pytest.mark.parametrize("kernel", ORDERS)
@pytest.mark.parametrize("name", ["exponential", "normal", "tied"])
def test_errors_of_orders(name: str, kernel: str) -> None:
    for n, target in zip(SIZES, "vuv", strict=True):
        expected = 1e-9 if name == "tied" else 0.03
        ratio = error_ratio(Pairs(table(name, n), kernel, target))
        assert ratio == pytest.approx(1, abs=expected)


@pytest.mark.parametrize("name", ["exponential", "normal", "tied"])
def test_errors_with_events(name: str) -> None:
    events = np.random.default_rng(0).random(SIZES[0]) < 0.6
    rows = np.column_stack([table(name, SIZES[0]), events])
    assert error_ratio(Pairs(rows, "concordance")) == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", ["exponential", "normal", "tied"])
def test_errors_of_scores(name: str, n: int) -> None:
    labels = np.random.default_rng(n).random(n) < 0.35
    scores = table(name, n) + np.outer(labels, [1.2, 0.4])
    assert error_ratio(Pairs(scores[:, 0], "auc", labels=labels)) == pytest.approx(1, abs=0.03)
    difference = error_ratio(Pairs(scores, "auc-difference", labels=labels))
    assert difference == pytest.approx(1, abs=0.01)
    # The difference of two similar scores is small; ties in a bin are invisible.
    noise = 0.3 * np.random.default_rng(1).normal(size=n)
    close = np.column_stack([scores[:, 0], scores[:, 0] + noise])
    least, most = (0.9, 1.5) if name == "tied" else (0.95, 1.06)
    assert least < error_ratio(Pairs(close, "auc-difference", labels=labels)) < most


@pytest.mark.parametrize("zeros", [0.3, 0.6, 0.8])
def test_errors_of_scores_that_pile_up_at_the_end_of_a_bin(zeros: float) -> None:
    generator = np.random.default_rng(0)
    labels = generator.random(400) < 0.35
    scores = generator.exponential(size=400) * np.where(labels, 1.6, 1.0)
    scores[generator.random(400) < zeros * np.where(labels, 0.5, 1.0)] = 0.0
    assert error_ratio(Pairs(scores, "auc", labels=labels)) == pytest.approx(1, abs=0.08)


def test_every_node_has_its_own_error() -> None:
    rows, labels = table("normal", 235), np.arange(235) % 2
    for pairs in (Pairs(rows, "kendall-b"), Pairs(rows, "auc-difference", labels=labels)):
        problem, error = sketched(pairs)
        # A node that knows only its own row has no error; others have that of the rows they know.
        alone = problem.sampling(problem.features, 0.95).error
        assert np.isnan(alone).all()
        parts = [problem.features[:count].mean(axis=0) for count in (40, 130, 235)]
        found = problem.sampling(np.stack(parts), 0.95).error
        assert found[-1] == pytest.approx(error, rel=1e-9)
        one_by_one = [problem.sampling(part[None], 0.95).error[0] for part in parts]
        np.testing.assert_allclose(found, one_by_one, rtol=1e-9)
        assert len({*found}) == 3 and (found > 0).all()


@pytest.mark.parametrize("kernel", ["gini", "variance"])
def test_sites_tell_the_error_of_rows(kernel: str) -> None:
    pairs = Pairs(column("exponential", 235), kernel)
    site_of = np.sort(np.random.default_rng(0).integers(0, 7, 235))
    assert sketched(pairs, site_of)[1] == pytest.approx(sketched(pairs)[1], rel=1e-9)


def test_classes_that_do_not_overlap_tell_no_error() -> None:
    scores, labels = np.arange(60.0), np.arange(60) > 29
    assert np.isnan(sketched(Pairs(scores, "auc", labels=labels))[1])
    how: dict[str, Any] = {"method": "sketch", "schedule": "tree", "interval": 0.95, "seed": 0}
    with pytest.raises(pg.InputError, match="whose standard error of 0 says nothing"):
        pg.estimate(scores, "auc", "cycle", labels=labels, **how)


class Own:
    def features(self, rows: FloatArray) -> FloatArray:
        return rows[:, None]

    def readout(self, mean: FloatArray) -> FloatArray:
        return mean[..., 0]


def test_sketches_that_tell_no_error_are_refused() -> None:
    sentence = "gives no sampling error: use method 'tracking', or leave interval= out"
    rows, values = table("normal", 60), column("exponential", 60)
    scatter = Pairs(rows, "within-cluster-scatter", labels=np.arange(60) % 2)
    many: list[tuple[Pairs, Any]] = [
        (Pairs(rows, "distance"), None),
        (scatter, None),
        (Pairs(values, "variance"), Chebyshev(4)),
        (Pairs(values, "variance"), Own()),
    ]
    for pairs, sketch in many:
        SketchedPairs(pairs, sketch, None)
        with pytest.raises(InputError, match=sentence):
            SketchedPairs(pairs, sketch, None, errors=True)


def test_bins_that_cost_more_than_the_sample_are_told_of() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 2))
    x[:, 1] += x[:, 0]
    how: dict[str, Any] = {"method": "sketch", "schedule": "tree", "interval": 0.95, "seed": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pg.estimate(x, "kendall-b", **how)
    with pytest.warns(pg.CoarseSketch, match=r"off by 0\.2, more than the sampling error of 0\.04"):
        pg.estimate(np.where(x < 0.3, 0, x), "kendall-b", **how)


def test_numbers_a_few_hundred_spreads_from_zero_keep_their_digits() -> None:
    x = 310 + np.random.default_rng(0).normal(size=300)
    run = pg.estimate(x, "variance", method="sketch", schedule="tree", interval=0.95, seed=0)
    exact = pg.exact(x, "variance", interval=0.95)
    assert run.sampling_error == pytest.approx(exact.error, rel=1e-3)
    assert run.estimates == pytest.approx(exact.value, rel=1e-6)
    with pytest.raises(pg.InputError, match="lose the digits that count"):
        pg.estimate(x + 2000, "variance", method="sketch", interval=0.95)
