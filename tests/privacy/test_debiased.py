"""Debiased kernels are unbiased: exactly by enumeration, and by Monte Carlo."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.arrays import FloatArray
from pairgossip.privacy import RandomizedResponse
from pairgossip.privacy.debiased import DebiasedKernel
from tests.privacy.cases import CASES, Case
from tests.privacy.enumeration import cell_laws, channel, moments, report_laws, rows_of
from tests.problems import skewed


def components(debiased: DebiasedKernel, flat: tuple[int, ...], target: str) -> FloatArray:
    """Return averages over all pairs by a plain loop, with the rule for own pairs."""
    reports = rows_of(debiased.mechanism, flat)
    n, total = len(reports), np.zeros(debiased.components)
    for k in range(n):
        for other in range(n):
            if k != other:
                total += debiased.values(reports[k : k + 1], reports[other : other + 1])[0]
            elif target == "v":
                total += debiased.own(reports[k : k + 1])[0]
    return total / (n * (n - 1) if target == "u" else n**2)


def truth(debiased: DebiasedKernel, data: FloatArray, target: str) -> FloatArray:
    """Return the expected averages at the cells' values, by a plain loop over people."""
    laws, n = cell_laws(debiased.mechanism, data), len(data)
    total = np.zeros(debiased.components)
    for index, table in enumerate(debiased.cell_tables):
        for k in range(n):
            for other in range(n):
                if k != other:
                    total[index] += laws[k] @ table @ laws[other]
                elif target == "v":
                    total[index] += laws[k] @ np.diagonal(table)
    return total / (n * (n - 1) if target == "u" else n**2)


@pytest.mark.parametrize("target", ["u", "v"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_unbiased_over_all_reports(case: Case, target: str) -> None:
    debiased = case.mechanism.debiased(case.kernel)
    laws = report_laws(case.mechanism, case.data)
    mean, _ = moments(laws, lambda flat: components(debiased, flat, target))
    assert mean == pytest.approx(truth(debiased, case.data, target), abs=1e-12)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_table_is_the_inverse_of_the_channel(case: Case) -> None:
    debiased = case.mechanism.debiased(case.kernel)
    inverse = np.linalg.inv(channel(case.mechanism))
    values = case.mechanism.representatives
    cells = len(values)
    for index, part in enumerate(debiased.kernel.components):
        table = part(np.repeat(values, cells, axis=0), np.concatenate([values] * cells))
        table = table.reshape(cells, cells)
        assert debiased.tables[index] == pytest.approx(inverse @ table @ inverse.T, abs=1e-10)
        assert debiased.own_values[index] == pytest.approx(inverse @ np.diagonal(table), abs=1e-10)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize("target", ["u", "v"])
def test_the_statistic_of_all_reports_is_the_average_over_pairs(case: Case, target: str) -> None:
    debiased = case.mechanism.debiased(case.kernel)
    flat = tuple(np.random.default_rng(0).integers(0, case.mechanism.cells, 9).tolist())
    expected = debiased.combine(components(debiased, flat, target))
    found = debiased.statistic(rows_of(case.mechanism, flat), target)
    assert found == pytest.approx(float(expected), rel=1e-10)


def test_it_serves_as_a_kernel_of_reports() -> None:
    mechanism = RandomizedResponse(1.0, 4, (0, 1), classes=(0, 1))
    debiased = mechanism.debiased("auc")
    random = np.random.default_rng(2)
    reports = np.stack([random.integers(0, 4, 30), random.integers(0, 2, 30)], axis=1)
    ratio = debiased.as_kernel()
    assert isinstance(ratio, pg.Ratio)
    assert pg.exact(reports, ratio, "u") == pytest.approx(debiased.statistic(reports, "u"))
    single = RandomizedResponse(1.0, 4, (0, 1)).debiased(skewed)
    found = pg.exact(reports[:, 0], single, "u")
    assert found == pytest.approx(single.statistic(reports[:, 0], "u"))
    with pytest.raises(pg.InputError, match="outside of its limits"):
        pg.exact([0.0, 7.0], single.as_kernel())


@pytest.mark.parametrize(
    ("kernel", "options"),
    [
        (lambda x, y: x == y, {"bins": 4, "range": (0, 1)}),
        (lambda x, y: x != y, {"bins": 4, "range": (1e9, 1e9 + 1)}),
        (lambda x, y: x == y, {"bins": 4, "range": (0, 1), "rounding": "stochastic"}),
        (
            lambda x, y: (x[:, 0] == y[:, 0]) * np.abs(x[:, 1] - y[:, 1]),
            {"bins": 3, "range": ((0, 1), (0, 1))},
        ),
        ("within-cluster-scatter", {"bins": 3, "range": ((0, 1), (0, 1))}),
        ("metric-learning-risk", {"bins": 3, "range": ((0, 1), (0, 1))}),
    ],
)
def test_equality_of_raw_values_is_refused(kernel: Any, options: dict[str, Any]) -> None:
    with pytest.raises(pg.InputError, match=r"asks whether two raw values of column \d are equal"):
        RandomizedResponse(1.0, **options).debiased(kernel)


@pytest.mark.parametrize(
    ("kernel", "options"),
    [
        ("gini", {"bins": 300, "range": (0, 1e-12)}),
        ("variance", {"bins": 16, "range": (1e9, 1e9 + 1)}),
        (lambda x, y: np.sqrt(np.abs(x - y)), {"bins": 16, "range": (0, 1)}),
        (lambda x, y: x > y, {"bins": 16, "range": (0, 1)}),
        (lambda x, y: np.abs(x - y) < 0.3, {"bins": 16, "range": (0, 1)}),
        ("kendall", {"bins": 4, "range": ((0, 1), (0, 1))}),
        ("auc", {"bins": 4, "range": (0, 1), "classes": (0, 1)}),
        ("ranking-risk", {"bins": 4, "range": ((0, 1), (0, 1))}),
        ("concordance", {"bins": 4, "range": ((0, 1), (0, 9)), "classes": (0, 1)}),
        ("concordance", {"bins": 4, "range": ((0, 1), (0, 9))}),
        ("within-cluster-scatter", {"bins": 4, "range": (0, 1), "classes": (0, 1, 2)}),
        ("metric-learning-risk", {"bins": 4, "range": (0, 1), "classes": (0, 1, 2)}),
        (lambda x, y: x == y, {"classes": (0, 1, 2)}),
    ],
)
def test_other_kernels_are_not_taken_for_equality(kernel: Any, options: dict[str, Any]) -> None:
    assert RandomizedResponse(1.0, **options).debiased(kernel).tables.shape[0] >= 1


@pytest.mark.parametrize(
    ("use", "sentence"),
    [
        (
            lambda: RandomizedResponse(1, 64, ((0, 1), (0, 1))).debiased("kendall"),
            r"Reports have 4,096 cells \(64 x 64\), and debiasing takes a table of all pairs of "
            r"at most 2,048: give fewer bins or fewer columns\.",
        ),
        (
            lambda: RandomizedResponse(1, 4, (0, 1)).debiased("auc"),
            "The declared columns do not suit the kernel: Kernel 'auc' takes 2 columns",
        ),
        (
            lambda: RandomizedResponse(1, 4, (0, 1), classes=(0, 1, 2)).debiased("auc"),
            "Kernel 'auc' needs two classes, but the labels hold 3",
        ),
        (
            lambda: RandomizedResponse(1, 2, (-1, 1)).debiased(lambda x, y: np.sqrt(x)),
            r"NaN or infinite",
        ),
        (lambda: RandomizedResponse(1, 2, (0, 1)).debiased("jini"), "did you mean 'gini'"),
        (
            lambda: CASES["labeled"].mechanism.debiased("auc")([[0, 0]], [[0, 0]]),
            "'auc' is made of 2",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_what_cannot_be_debiased(use: Callable[[], object], sentence: str) -> None:
    with pytest.raises(pg.InputError, match=sentence):
        use()
