"""Tests by ranks: of two classes, and of whether two columns go together.

The classes are weighted points over the same numbers, as everything here, so that ties and
weights need no code of their own. `TESTS` has them by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.kernels.data import check_two_classes, column_count
from pairgossip.order_statistics.distribution import Distribution
from pairgossip.order_statistics.laws import beyond_kolmogorov, two_sided, two_sided_by_t
from pairgossip.text import format_count


class TestResult(NamedTuple):
    """What a test finds."""

    value: float
    """The statistic."""
    error: float
    """Its standard error."""
    z: float
    """How far it is from what is expected of no difference, in the units of the test."""
    p: float
    """How often it would be at least as far by chance."""

    def __str__(self) -> str:
        p = "p < 0.0001" if self.p < 1e-4 else f"p = {self.p:.4f}"
        return f"{self.value:.6g} (standard error {self.error:.2g}): z = {self.z:.3f}, {p}"


TestResult.__test__ = False  # type: ignore[attr-defined]  # not one of pytest's


def _two_classes(name: str, data: FloatArray) -> Distribution:
    """Return the scores of two classes, the first column by the last."""
    if column_count(data) != 2:
        raise InputError(
            f"Test '{name}' takes one column of numbers and labels of two classes, but the data "
            f"has {format_count(column_count(data), 'column')} with the labels: choose one column, "
            "and give {argument}.",
            "labels",
        )
    check_two_classes(f"Test '{name}'", "kernel 'ranking-risk'", data)
    sample = Distribution.of(data[:, 0], labels=data[:, 1])
    _refuse_constant(name, sample.low)
    return sample


def _refuse_constant(name: str, points: FloatArray) -> None:
    if len(points) == 1:
        raise InputError(
            f"Test '{name}' compares ranks, but all numbers are {points[0]:g}: there is nothing to "
            "rank."
        )


def _superiority(sample: Distribution) -> float:
    """Return the share of pairs in which the higher class has the larger number, ties half."""
    placed = _below(sample.of_class(0))
    return float(sample.weights[1] @ placed / sample.size.prod())


def _below(sample: Distribution) -> FloatArray:
    """Return how many rows are below each point, those at it counting half."""
    return np.asarray(sample.ends - sample.weights / 2)


def _chance_error(sample: Distribution) -> float:
    """Return the standard error of `_superiority` if the classes do not differ, ties counted."""
    n, ties = float(sample.size.sum()), sample.weights.sum(axis=0)
    correction = float((ties**3 - ties).sum()) / (n * (n - 1))
    return math.sqrt((n + 1 - correction) / (12 * float(sample.size.prod())))


def _mann_whitney(data: FloatArray, continuity: bool = False) -> TestResult:
    """Test whether one class tends to be larger: its probability of superiority, which is the AUC.

    As `scipy.stats.mannwhitneyu(method="asymptotic")`; ``continuity`` moves the statistic by half
    a pair toward no difference.
    """
    sample = _two_classes("mann-whitney", data)
    value, error = _superiority(sample), _chance_error(sample)
    away = abs(value - 0.5)
    if continuity:
        away = max(0.0, away - 0.5 / float(sample.size.prod()))
    z = math.copysign(away / error, value - 0.5)
    return TestResult(value, error, z, two_sided(z))


def _rank_sum(data: FloatArray) -> TestResult:
    """Test the same by Wilcoxon's sum of the higher class's ranks.

    As `scipy.stats.ranksums` without ties, which are counted here.
    """
    sample = _two_classes("wilcoxon-rank-sum", data)
    pairs, higher = float(sample.size.prod()), float(sample.size[1])
    away, error = pairs * (_superiority(sample) - 0.5), pairs * _chance_error(sample)
    expected = higher * (float(sample.size.sum()) + 1) / 2
    return TestResult(expected + away, error, away / error, two_sided(away / error))


def _brunner_munzel(data: FloatArray) -> TestResult:
    """Test the same where the classes may spread differently; z is Student's t.

    As `scipy.stats.brunnermunzel`; the error is DeLong's.
    """
    name = "brunner-munzel"
    sample = _two_classes(name, data)
    if sample.size.min() < 2:
        raise InputError(f"Test '{name}' needs two rows of each class: add some.")
    value, shares = _superiority(sample), []
    for own, other in ((0, 1), (1, 0)):
        weights, placed = sample.weights[own], _below(sample.of_class(other))
        size = float(sample.size[own])
        mean = float(weights @ placed) / size
        spread = float(weights @ (placed - mean) ** 2) / (size - 1)
        shares.append((spread / (size * float(sample.size[other]) ** 2), size - 1))
    variance = sum(share for share, _ in shares)
    if variance == 0:
        raise InputError(
            f"Test '{name}' cannot judge classes that are separated throughout, whose numbers show "
            "no spread: use 'mann-whitney'."
        )
    error = math.sqrt(variance)
    freedom = variance**2 / sum(share**2 / left for share, left in shares)
    t = (value - 0.5) / error
    return TestResult(value, error, t, two_sided_by_t(t, freedom))


def _kolmogorov_smirnov(data: FloatArray) -> TestResult:
    """Test whether two classes have the same distribution, by the largest gap between them.

    z is the gap in units of its error; p is that of large samples, as `scipy.stats.kstwobign`.
    """
    sample = _two_classes("kolmogorov-smirnov", data)
    lower, higher = sample.ends / sample.size[:, None]
    value = float(np.abs(lower - higher).max())
    error = math.sqrt(float(sample.size.sum() / sample.size.prod()))
    return TestResult(value, error, value / error, beyond_kolmogorov(value / error))


def _spearman(data: FloatArray) -> TestResult:
    """Test whether two columns go together: the correlation of their mid-ranks.

    z and p are those of Student's t for columns that are independent, as in
    `scipy.stats.spearmanr`; the error is that of the correlation as it is, whatever it is.
    """
    if column_count(data) != 2 or len(data) < 3:
        raise InputError(
            f"Test 'spearman' takes at least three rows of two columns, but got {len(data)} of "
            f"{column_count(data)}: choose two columns."
        )
    columns = data[:, 0], data[:, 1]
    for column in columns:
        _refuse_constant("spearman", np.unique(column))
    value, influence = _rank_correlation(*columns)
    n = len(data)
    if 1 - abs(value) < 1e-12:
        raise InputError(
            "The two columns of test 'spearman' are in the same or the opposite order throughout, "
            "so that their correlation has no error: there is nothing to test."
        )
    z = value * math.sqrt((n - 2) / (1 - value**2))
    error = math.sqrt(float(influence @ influence) / (n * (n - 1)))
    return TestResult(value, error, z, two_sided_by_t(z, n - 2))


def _rank_correlation(x: FloatArray, y: FloatArray) -> tuple[float, FloatArray]:
    """Return the correlation of mid-ranks, and what every row adds to it.

    A row counts in products of ranks in three ways: by its own, and through the ranks of the rows
    above it in either column.
    """
    f, g = (_centered_ranks(column) for column in (x, y))
    products = ((x, f, y, g), (x, f, x, f), (y, g, y, g))
    means, added = zip(*(_product(*four) for four in products), strict=True)
    size = math.sqrt(means[1] * means[2])
    value = means[0] / size
    slopes = (1 / size, -value / (2 * means[1]), -value / (2 * means[2]))
    return value, np.asarray(sum(slope * part for slope, part in zip(slopes, added, strict=True)))


def _centered_ranks(column: FloatArray) -> FloatArray:
    """Return mid-ranks from -1/2 to 1/2."""
    return Distribution.of(column).middle_ranks(column) / len(column) - (len(column) + 1) / (
        2 * len(column)
    )


def _product(
    x: FloatArray, f: FloatArray, y: FloatArray, g: FloatArray
) -> tuple[float, FloatArray]:
    """Return the mean product of two columns' ranks, and what every row adds to it."""
    mean = float(f @ g) / len(f)
    return mean, f * g + _mean_above(x, g) + _mean_above(y, f) - 3 * mean


def _mean_above(column: FloatArray, numbers: FloatArray) -> FloatArray:
    """Return, for every row, the sum over the rows above it of numbers, over n; ties half."""
    cells = np.unique(column, return_inverse=True)[1]
    sums = np.bincount(cells, numbers)
    above = sums.sum() - np.cumsum(sums) + sums / 2
    return np.asarray(above[cells] / len(column))


TESTS: dict[str, Callable[[FloatArray], TestResult]] = {
    "mann-whitney": _mann_whitney,
    "mann-whitney-continuity": partial(_mann_whitney, continuity=True),
    "wilcoxon-rank-sum": _rank_sum,
    "brunner-munzel": _brunner_munzel,
    "kolmogorov-smirnov": _kolmogorov_smirnov,
    "spearman": _spearman,
}
"""What `test` calls by name, on checked data whose last column is the label."""
