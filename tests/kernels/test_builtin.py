"""The built-in kernels against plain Python, other libraries, and their own promises."""

from __future__ import annotations

import math
import pickle
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pairgossip as pg
from pairgossip import kernels
from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.kernels import (
    CATALOG,
    Combination,
    Kernel,
    KernelEntry,
    describe,
    exact,
)
from pairgossip.kernels.kernel import FORMULAS, Formula

from .reference import COMBINE, SCALARS, brute_force, random_data, rows_of, samples

NAMES = sorted(CATALOG)


def test_every_built_in_kernel_has_a_reference() -> None:
    assert set(SCALARS) == set(CATALOG)


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_exact_is_the_double_loop(name: str, data: st.DataObject) -> None:
    sample = data.draw(samples(name))
    kinds = ("v", "u") if len(sample) > 1 else ("v",)
    for kind in kinds:
        expected = brute_force(rows_of(sample), SCALARS[name], kind, name)
        # Differences of averages lose digits where these are nearly equal.
        least = 1e-12 if name in COMBINE else 1e-300
        assert exact(sample, name, kind) == pytest.approx(
            expected, rel=1e-12, abs=least, nan_ok=True
        )


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
@settings(max_examples=20, deadline=None)
def test_flags_tell_the_truth(name: str, data: st.DataObject) -> None:
    sample = data.draw(samples(name, smallest=2))
    for part in CATALOG[name]().components:
        forth, back = part(sample, sample[::-1]), part(sample[::-1], sample)
        if part.symmetric:
            np.testing.assert_array_equal(forth, back)
        if part.zero_diagonal:
            np.testing.assert_array_equal(part(sample, sample), 0.0)


def test_only_aucs_are_not_symmetric() -> None:
    assert [name for name in NAMES if not CATALOG[name]().symmetric] == ["auc", "auc-difference"]
    own = [name for name in NAMES if not CATALOG[name]().zero_diagonal]
    assert own == ["energy-distance", "gini-coefficient", "mmd"]


def test_metric_learning_diagonal_depends_on_the_threshold() -> None:
    kernel = kernels.metric_learning_risk(threshold=0.25)
    assert not kernel.zero_diagonal
    np.testing.assert_array_equal(kernel([[2.0, 1.0]], [[2.0, 1.0]]), [0.75])
    assert kernels.metric_learning_risk(threshold=1.5).zero_diagonal


def test_plain_scatter() -> None:
    data = random_data("within-cluster-scatter", 20)
    rows = rows_of(data)
    expected = brute_force(rows, [lambda x, y: math.dist(x[:-1], y[:-1]) * (x[-1] == y[-1])], "u")
    kernel = kernels.within_cluster_scatter(squared=False)
    assert exact(data, kernel, "u") == pytest.approx(expected, rel=1e-12)


def test_ties_weights() -> None:
    data = [[1.0, 1.0], [1.0, 0.0], [2.0, 1.0], [0.0, 0.0]]
    assert exact(data, kernels.auc()) == 3.5 / 4
    assert exact(data, kernels.auc(ties=0)) == 3 / 4
    assert exact(data, kernels.auc(ties=1)) == 1.0
    assert exact(data, kernels.concordance(ties=0)) == 3 / 4


def test_order_survives_tiny_and_huge_differences() -> None:
    data = [[1e-200, 1e-200], [0.0, 0.0], [1e308, 1e308], [-1e308, -1e308]]
    assert exact(data, "kendall", "u") == 1.0
    assert exact(data, "concordance") == 1.0
    assert exact(data, "ranking-risk") == 0.0


def test_auc_is_scikit_learn_auc_with_ties() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(3)
    scores, labels = rng.integers(0, 8, 200), rng.choice([2, 4], 200)
    expected = metrics.roc_auc_score(labels, scores)
    for kind in ("v", "u"):
        assert exact(scores, "auc", kind, labels=labels) == pytest.approx(expected, rel=1e-12)
    assert exact(scores, "concordance", labels=labels) == pytest.approx(expected, rel=1e-12)


def test_formulas_are_distinct_and_complete() -> None:
    made = [part for name in NAMES for part in CATALOG[name]().components]
    made.append(kernels.within_cluster_scatter(squared=False))
    assert {part.formula for part in made} == set(FORMULAS.values())


def test_a_formula_keeps_its_name_and_number() -> None:
    with pytest.raises(InputError, match=r"^<Formula.OTHER: 1> has the name or the number of "):
        Formula("OTHER", 1, np.subtract)
    gini = FORMULAS["GINI"]
    assert pickle.loads(pickle.dumps(gini)) is gini
    assert vars(Formula)["GINI"] is gini


def _product(first: FloatArray, second: FloatArray) -> FloatArray:
    return first * second


@pytest.mark.parametrize("number", [-1, 99])
def test_a_formula_that_is_not_compiled_is_never_taken_for_another(number: int) -> None:
    data = np.arange(1.0, 7.0)
    with patch.dict(FORMULAS), patch.object(Formula, "PRODUCT", None, create=True):
        kernel = Formula("PRODUCT", number, _product).kernel(name="product", zero_diagonal=False)
        settings: dict[str, Any] = {"iterations": 2000, "seed": 0, "n_jobs": 1}
        if number < 0:
            run = pg.estimate(data, kernel, "complete", **settings)
            assert run.mean[-1] == pytest.approx(exact(data, kernel), rel=0.1)
        else:
            with pytest.raises(InputError, match=r"^Compiled code does not know a formula of"):
                pg.estimate(data, kernel, "complete", **settings)


def test_parameters_reach_compiled_code() -> None:
    assert [part.parameter for part in kernels.auc(ties=0.25).components] == [0.25, 0.0]
    assert kernels.concordance().components[0].parameter == 0.5
    assert kernels.metric_learning_risk(3).parameter == 3.0


@pytest.mark.parametrize("name", NAMES)
def test_kernels_travel_to_other_processes(name: str) -> None:
    kernel: Kernel | Combination = pickle.loads(pickle.dumps(CATALOG[name]()))
    data = random_data(name, 10)
    assert exact(data, kernel) == exact(data, name)


LIFELINES = [
    *(0.43276108726752505, 0.5427509293680297, 0.4554531490015361, 0.4573353293413174),
    *(0.33533653846153844, 0.5683856502242153, 0.5691823899371069, 0.530949105914718),
    *(0.5192307692307693, 0.35271317829457366, 0.4594155844155844, 0.6219512195121951),
]
"""concordance_index(outcome, prediction, event) of lifelines 0.30.3 on `tied_events(seed)`."""


def tied_events(seed: int) -> FloatArray:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 60))
    columns = rng.integers(0, 6, n), rng.integers(1, 8, n), rng.integers(0, 2, n)
    return np.column_stack(columns).astype(np.float64)


def test_concordance_is_that_of_lifelines_with_ties_everywhere() -> None:
    values = [exact(tied_events(seed), "concordance") for seed in range(len(LIFELINES))]
    assert values == pytest.approx(LIFELINES, rel=1e-12)


def test_auc_takes_any_two_classes() -> None:
    scores = [0.1, 0.4, 0.35, 0.8]
    for labels in ([0, 0, 1, 1], [-1, -1, 1, 1], [False, False, True, True], list("1122")):
        assert exact(scores, "auc", labels=labels) == 0.75


def test_every_kernel_is_listed() -> None:
    table = describe()
    assert [line.name for line in table] == sorted(CATALOG)
    assert all(line.expression and line.description for line in table)
    assert table[0] == KernelEntry(
        "auc",
        ("score", "label"),
        "1{l > l'} (1{s > s'} + ties 1{s = s'}) / 1{l > l'}",
        "bipartite ranking: area under the ROC curve",
        "O(n log n)",
        "sklearn.metrics.roc_auc_score, Mann-Whitney U / (n0 n1)",
    )
    costs = {line.name: line.exact_cost for line in table}
    assert costs["metric-learning-risk"] == "O(n^2), blocked"


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: kernels.auc(ties=2), "The weight of ties is 2: give a number from 0 to 1"),
        (lambda: kernels.concordance(ties=math.nan), "The weight of ties is nan: give"),
        (lambda: kernels.metric_learning_risk(-1), "The threshold is a distance, but got -1: give"),
        (lambda: kernels.mmd(bandwidth=0), "The bandwidth is a distance, but got 0: give"),
        (lambda: exact([1.0, 2.0], "auc", labels=[1, 1]), r"'auc' needs .* one class only \(1\)"),
        (
            lambda: exact([1, 2, 3], "auc", labels=[0, 1, 2]),
            "the labels hold 3: use 'ranking-risk'",
        ),
        (lambda: exact([[1, 5, 1], [2, 6, 2]], "concordance"), r"recode row 1 \(counting from 0\)"),
        (lambda: exact([1.0, -2.0], "gini-coefficient"), "the smallest is -2: use 'gini'"),
        (lambda: exact([0.0, 0.0], "gini-coefficient"), "no value where all amounts are 0"),
        (lambda: exact([1.0, 2.0], "mmd", labels=[1, 2]), "recode them, or declare classes="),
    ],
)
def test_wrong_parameters_and_data(make: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        make()
