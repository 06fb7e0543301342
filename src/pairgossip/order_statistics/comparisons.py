"""Tests by ranks: of two classes, and of the association of two columns.

The classes are weighted points over the same numbers, like everything here, so that ties and
weights need no code of their own. `TESTS` has the tests by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.kernels.data import check_two_classes, column_count
from pairgossip.order_statistics.distribution import Distribution
from pairgossip.order_statistics.laws import beyond_kolmogorov, map_law, two_sided, two_sided_by_t
from pairgossip.order_statistics.null_laws import auc_error
from pairgossip.order_statistics.statistics import Sampling
from pairgossip.pages.page import Paragraph, show
from pairgossip.text import format_alike, format_count

_ROUNDING = 1e-9
"""The largest rounding error of a number of rows; a class of one row shows no spread."""


@dataclass(frozen=True, repr=False)
class TestResult:
    """The result of a test; it unpacks into value, error, z and p."""

    value: float
    """The statistic."""
    error: float
    """The standard error of the statistic; for permutations, and for some tests by ranks, the
    standard error under the null. NaN where the rows give none, as for classes that are fully
    separated."""
    z: float
    """The distance of the statistic from its value without an effect, in the units of the test."""
    p: float
    """The probability of a distance at least as large by chance."""
    law: str | None = None
    """The source of p: "exact" (counted over all orders of the rows), "null variance, ties
    counted", "sampling error" (that of the interval) or "permutations"; None for tests by ranks,
    which have laws of their own."""
    null_error: float | None = None
    """The standard error without an effect, which scales z; None where it is ``error``."""
    interval: tuple[float, float] | None = None
    """The ends of the interval, by the sampling error; None if there is none."""
    level: float | None = None
    """The level of the interval."""
    reason: str | None = None
    """Why there is no interval, where the statistic usually has one."""
    positive: str | None = None
    """The positive one of two classes; None where the choice makes no difference."""

    def __iter__(self) -> Iterator[float]:
        return iter((self.value, self.error, self.z, self.p))

    def _repr_html_(self) -> str:
        return show(map(Paragraph, self._sentences()))

    def __str__(self) -> str:
        value, test, *others = self._sentences()
        return "\n".join((f"{value}: {test}", *others))

    __repr__ = __str__

    def _sentences(self) -> list[str]:
        """Return the value with its error, the test, and what its interval comes from."""
        p = "p < 0.0001" if self.p < 1e-4 else f"p = {self.p:.4f}"
        name = "spread by chance" if self.law == "permutations" else "standard error"
        value, known, ends = f"{self.value:.6g}", [], self.interval or ()
        if not np.isnan(self.error):
            value, *formatted = format_alike((self.value, *ends), self.error)
            known = [f"{name} {self.error:.2g}"]
            if ends and self.level is not None:
                known.append("{:g} %: {} to {}".format(100 * self.level, *formatted))
        known += [] if self.positive is None else [f"positive: {self.positive}"]
        about = f" ({', '.join(known)})" if known else ""
        value, test = f"{value}{about}", f"z = {self.z:.3f}, {p}"
        if self.null_error is None:
            return [value, test]
        source = (
            "Interval: by the standard error; z and p: by the law without an effect, so they may "
            "disagree."
        )
        if self.interval is None:
            source = f"No interval: {self.reason}"
        return [value, f"{test} ({self.law})", source]


TestResult.__test__ = False  # type: ignore[attr-defined]  # not one of pytest's


class Comparison(NamedTuple):
    """The results of a test in several samples; see `TestResult` for those of one."""

    value: FloatArray
    error: FloatArray
    z: FloatArray
    p: FloatArray

    def result(self) -> TestResult:
        """Return the result for a single sample."""
        value, error, z, p = map(float, self)
        return TestResult(value, error, z, p)

    def sampling(self) -> Sampling:
        """Return the standard error and p; a test has no interval."""
        unknown = np.full_like(self.error, np.nan)
        return Sampling(self.error, unknown, unknown, self.p)


def _test_classes(name: str, data: FloatArray) -> TestResult:
    """Test the first column of all rows by the classes in the last."""
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
    with np.errstate(divide="ignore", invalid="ignore"):
        found = OF_CLASSES[name](sample)
    if not np.isfinite(found.error):
        raise InputError(f"Test '{name}' needs two rows of each class: add some.")
    if found.error == 0:
        raise InputError(
            f"Test '{name}' cannot judge classes that are fully separated, as their numbers show "
            "no spread: use 'mann-whitney'."
        )
    return found.result()


def _refuse_constant(name: str, points: FloatArray) -> None:
    if len(points) == 1:
        raise InputError(
            f"Test '{name}' compares ranks, but all numbers are {points[0]:g}: give a column that "
            "varies."
        )


def _superiority(sample: Distribution) -> FloatArray:
    """Return the share of pairs in which the higher class has the larger number, ties half."""
    higher, placed = sample.of_class(1), _below(sample.of_class(0))
    return (higher.weights * placed).sum(axis=-1) / sample.size.prod(axis=-1)


def _below(sample: Distribution) -> FloatArray:
    """Return the number of rows below each point; rows at the point count half."""
    return sample.ends - sample.weights / 2


def _chance_error(sample: Distribution) -> FloatArray:
    """Return the standard error of `_superiority` if the classes do not differ, ties counted.

    Rows in one cell of bins count as tied; this matters only for cells with many rows.
    """
    return auc_error(sample.size, sample.weights.sum(axis=-2))


def _mann_whitney(sample: Distribution, continuity: bool = False) -> Comparison:
    """Test whether one class tends to be larger, by its probability of superiority (the AUC).

    This is `scipy.stats.mannwhitneyu(method="asymptotic")`; ``continuity`` moves the statistic by
    half a pair toward no difference.
    """
    value, error = _superiority(sample), _chance_error(sample)
    away = np.abs(value - 0.5)
    if continuity:
        away = np.maximum(0.0, away - 0.5 / sample.size.prod(axis=-1))
    z = np.copysign(away / error, value - 0.5)
    return Comparison(value, error, z, map_law(two_sided, z))


def _rank_sum(sample: Distribution) -> Comparison:
    """Test the same by Wilcoxon's sum of the higher class's ranks.

    Without ties this is `scipy.stats.ranksums`; here ties are counted.
    """
    pairs, higher = sample.size.prod(axis=-1), sample.size[..., 1]
    away, error = pairs * (_superiority(sample) - 0.5), pairs * _chance_error(sample)
    expected = higher * (sample.size.sum(axis=-1) + 1) / 2
    return Comparison(expected + away, error, away / error, map_law(two_sided, away / error))


def _brunner_munzel(sample: Distribution) -> Comparison:
    """Test the same where the classes may spread differently; z is Student's t.

    This is `scipy.stats.brunnermunzel`; the error is DeLong's.
    """
    value = _superiority(sample)
    shares = [_spread_of_placements(sample, own) for own in (0, 1)]
    variance = shares[0] + shares[1]
    left = np.moveaxis(sample.size - 1, -1, 0)
    freedom = variance**2 / sum(share**2 / less for share, less in zip(shares, left, strict=True))
    error = np.sqrt(np.where(left.min(axis=0) > _ROUNDING, variance, np.nan))
    t = (value - 0.5) / error
    return Comparison(value, error, t, map_law(two_sided_by_t, t, freedom))


def _spread_of_placements(sample: Distribution, own: int) -> FloatArray:
    """Return the contribution of one class's placements among the other to the variance."""
    rows, placed = sample.of_class(own), _below(sample.of_class(1 - own))
    mean = (rows.weights * placed).sum(axis=-1) / rows.size
    squares = (rows.weights * (placed - mean[..., None]) ** 2).sum(axis=-1)
    return squares / ((rows.size - 1) * rows.size * sample.size[..., 1 - own] ** 2)


def _kolmogorov_smirnov(sample: Distribution) -> Comparison:
    """Test whether two classes have the same distribution, by the largest gap between them.

    z is the gap in units of its error; p is that of large samples, as `scipy.stats.kstwobign`.
    """
    shares = sample.ends / sample.size[..., None]
    value = np.abs(shares[..., 0, :] - shares[..., 1, :]).max(axis=-1)
    error = np.sqrt(sample.size.sum(axis=-1) / sample.size.prod(axis=-1))
    return Comparison(value, error, value / error, map_law(beyond_kolmogorov, value / error))


OF_CLASSES: dict[str, Callable[[Distribution], Comparison]] = {
    "mann-whitney": _mann_whitney,
    "mann-whitney-continuity": partial(_mann_whitney, continuity=True),
    "wilcoxon-rank-sum": _rank_sum,
    "brunner-munzel": _brunner_munzel,
    "kolmogorov-smirnov": _kolmogorov_smirnov,
}
"""Tests of two classes, by name, for one sample of each class or for one such sample per node."""


@dataclass(frozen=True)
class ClassTest:
    """A test of two classes as a statistic of averaged bins, with its p."""

    name: str

    def check(self, sample: Distribution) -> None:
        """Accept every sample: all rows were checked before."""

    def value(self, sample: Distribution) -> FloatArray:
        """Return the statistic of the test."""
        return OF_CLASSES[self.name](sample).value

    def sampling(self, sample: Distribution, level: float) -> Sampling:
        """Return its standard error and p; a test has no interval."""
        return OF_CLASSES[self.name](sample).sampling()


def _spearman(data: FloatArray) -> TestResult:
    """Test the association of two columns by the correlation of their mid-ranks.

    z and p are from Student's t for independent columns, as in `scipy.stats.spearmanr`; the error
    is the sampling error of the correlation, also where the columns are not independent.
    """
    if column_count(data) != 2 or len(data) < 3:
        raise InputError(
            f"Test 'spearman' takes at least three rows of two columns, but got {len(data)} of "
            f"{column_count(data)}: choose two columns."
        )
    x, y = data.T
    for column in (x, y):
        _refuse_constant("spearman", np.unique(column))
    f, g = (_centered_ranks(column) for column in (x, y))
    products = ((x, f, y, g), (x, f, x, f), (y, g, y, g))
    means, added = zip(*(_product(*four) for four in products), strict=True)
    found = correlate(np.array(means), list(added), np.full(len(data), 1 / len(data)), len(data))
    if 1 - abs(found.value) < 1e-12:
        raise InputError(
            "The two columns of test 'spearman' are in the same or the opposite order throughout, "
            "so their correlation has no error: choose other columns."
        )
    return found.result()


def correlate(
    means: FloatArray, added: Sequence[FloatArray], weights: FloatArray, n: float
) -> Comparison:
    """Test a correlation of ranks by the means of their product and their squares, (..., 3).

    ``added`` has the contributions to each of the means, of rows or of points that represent parts
    of all n rows.
    """
    size = np.sqrt(means[..., 1] * means[..., 2])
    value = np.clip(means[..., 0] / size, -1.0, 1.0)
    slopes = (1 / size, -value / (2 * means[..., 1]), -value / (2 * means[..., 2]))
    influence = sum(slope[..., None] * part for slope, part in zip(slopes, added, strict=True))
    spread = np.maximum((weights * influence**2).sum(axis=-1), 0.0)
    with np.errstate(divide="ignore"):
        z = value * np.sqrt((n - 2) / (1 - value**2))
    return Comparison(value, np.sqrt(spread / (n - 1)), z, map_law(two_sided_by_t, z, n - 2))


def _centered_ranks(column: FloatArray) -> FloatArray:
    """Return mid-ranks from -1/2 to 1/2."""
    n = len(column)
    return Distribution.of(column).middle_ranks(column) / n - (n + 1) / (2 * n)


def _product(
    x: FloatArray, f: FloatArray, y: FloatArray, g: FloatArray
) -> tuple[float, FloatArray]:
    """Return the mean product of two columns' ranks, and the contribution of every row.

    A row counts in three ways: by its own ranks, and through those of the rows above it in either
    column.
    """
    mean = float(f @ g) / len(f)
    return mean, f * g + _mean_above(x, g) + _mean_above(y, f) - 3 * mean


def _mean_above(column: FloatArray, numbers: FloatArray) -> FloatArray:
    """Return, for every row, the sum of numbers over the rows above it, over n; ties count half."""
    cells = np.unique(column, return_inverse=True)[1]
    sums = np.bincount(cells, numbers)
    above = sums.sum() - np.cumsum(sums) + sums / 2
    return above[cells] / len(column)


TESTS: dict[str, Callable[[FloatArray], TestResult]] = {
    **{name: partial(_test_classes, name) for name in OF_CLASSES},
    "spearman": _spearman,
}
"""The functions that `test` calls, by name, on checked data whose last column is the label."""
