"""Sketches of weighted rows: whole weights are equivalent to repeated rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.kernels import Pairs
from pairgossip.sketches import Bins, Chebyshev, Moments, TwoWayBins
from pairgossip.sketches.problem import SketchedPairs

ROWS = 90
DRAWS = np.random.default_rng(0)
VALUES = DRAWS.exponential(size=ROWS)
TABLE = np.column_stack([VALUES, VALUES + DRAWS.normal(size=ROWS)])
LABELS = np.arange(ROWS) % 2
WEIGHTS = DRAWS.integers(1, 6, ROWS)
SITES = np.sort(DRAWS.integers(0, 5, ROWS))
WIDE, BOTH = Bins(range=(-9, 20)), TwoWayBins(ranges=((-9, 20), (-9, 20)))
CASES: tuple[tuple[str, FloatArray, Any, Any], ...] = (
    ("variance", VALUES, None, Moments()),
    ("within-cluster-scatter", TABLE, LABELS, Moments()),
    ("gini", VALUES, None, WIDE),
    ("gini-coefficient", VALUES, None, WIDE),
    ("auc", VALUES, LABELS, WIDE),
    ("auc-difference", TABLE, LABELS, WIDE),
    ("kendall", TABLE, None, BOTH),
    ("kendall-b", TABLE, None, BOTH),
    ("somers-d", TABLE, None, BOTH),
    ("goodman-kruskal-gamma", TABLE, None, BOTH),
    ("ranking-risk", TABLE, None, BOTH),
    ("concordance", TABLE, None, BOTH),
    ("concordance", np.column_stack([TABLE, LABELS]), None, BOTH),
)
CASES_IN_ROUND_NUMBERS = tuple(
    (kernel, np.round(data), labels, None) for kernel, data, labels, _ in CASES[2:]
)


def repeat(rows: Any) -> Any:
    return None if rows is None else np.repeat(rows, WEIGHTS, axis=0)


@pytest.mark.parametrize("target", ["v", "u"])
@pytest.mark.parametrize(("kernel", "data", "labels", "sketch"), [*CASES, *CASES_IN_ROUND_NUMBERS])
def test_whole_weights_repeat_rows(
    kernel: str, data: FloatArray, labels: Any, sketch: Any, target: str
) -> None:
    errors = kernel != "within-cluster-scatter"
    weighted = Pairs(data, kernel, target, labels, weights=WEIGHTS)
    repeated = Pairs(repeat(data), kernel, target, repeat(labels))
    many = SketchedPairs(repeated, sketch, None, errors)
    for site_of in (None, SITES):
        few = SketchedPairs(weighted, sketch, site_of, errors)
        assert few.components == many.components + 1
        assert few.limit == pytest.approx(many.limit, rel=1e-11)
        assert few.bracket == (None if many.bracket is None else pytest.approx(many.bracket))
        averages = [problem.features.mean(axis=0, keepdims=True) for problem in (few, many)]
        assert few.read(averages[0]) == pytest.approx(many.read(averages[1]), rel=1e-11)
        if errors:
            found, expected = (
                problem.sampling(means, 0.95).error
                for problem, means in zip((few, many), averages, strict=True)
            )
            assert found == pytest.approx(expected, rel=1e-9)


def test_polynomials_and_directions_count_rows_too() -> None:
    def product(x: FloatArray, y: FloatArray) -> FloatArray:
        return np.exp(-((x - y) ** 2) / 50)

    for kernel, data, sketch in ((product, VALUES, Chebyshev(12)), ("distance", TABLE, None)):
        for target in ("v", "u"):
            weighted = SketchedPairs(Pairs(data, kernel, target, weights=WEIGHTS), sketch, None)
            exact = pg.exact(repeat(data), kernel, target)
            assert weighted.limit == pytest.approx(exact, rel=0.01)
            assert weighted.exact() == pytest.approx(exact, rel=1e-11)


@pytest.mark.parametrize(
    ("schedule", "graph"), [("tree", "path"), ("ordered", "cycle"), ("random", "complete")]
)
@pytest.mark.parametrize("groups", [None, SITES])
def test_nodes_agree_on_the_weighted_statistic(schedule: str, graph: str, groups: Any) -> None:
    run = pg.estimate(
        VALUES, "gini", graph, groups=groups, weights=WEIGHTS, method="sketch",
        schedule=schedule, iterations=20_000, target="u", seed=0,
    )  # fmt: skip
    exact = pg.exact(repeat(VALUES), "gini", "u")
    assert run.target == pytest.approx(exact, rel=1e-11)
    np.testing.assert_allclose(run.estimates, exact, rtol=2e-3)
    assert run.bracket is not None and run.bracket[0] <= exact <= run.bracket[1]


def test_estimates_settle_as_their_slopes_say() -> None:
    for site_of in (None, SITES):
        problem = SketchedPairs(Pairs(VALUES, "variance", weights=WEIGHTS), None, site_of)
        numbers, _ = problem.linearized()
        assert numbers.mean() == pytest.approx(0, abs=1e-6)
        moved = problem.features.copy()
        moved[0] *= 1.001  # one node has a little more
        slope = (problem.read(moved.mean(axis=0, keepdims=True))[0] - problem.limit) / 0.001
        assert slope == pytest.approx(numbers[0] / problem.n, rel=0.02)


def test_strata_have_no_sketch() -> None:
    for sketch in (None, Bins(8)):
        for name in ("within", "between"):
            strata: dict[str, Any] = {name: LABELS}
            with pytest.raises(InputError, match=r"No sketch separates pairs within .* 'tracking'"):
                pg.estimate(VALUES, "gini", method="sketch", sketch=sketch, **strata)


def test_u_statistics_need_frequencies() -> None:
    shares = np.full(ROWS, 1 / ROWS)
    SketchedPairs(Pairs(VALUES, "gini", "v", weights=shares), None, None)
    with pytest.raises(InputError, match="add up to 1: use target='v'"):
        SketchedPairs(Pairs(VALUES, "gini", "u", weights=shares), None, None)
