"""Tests of statistics that are degenerate without an effect, by permuting labels or rows.

If two samples are alike, no row has a contribution of its own to their energy distance or MMD, nor
to the distance correlation of columns that do not depend on each other: the projection vanishes,
and a normal law does not apply. Labels, or entries, that are permuted among the same rows show how
large the statistic gets by chance; the test is exact for any rows.
"""

from __future__ import annotations

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.kernels import AnyKernel, Kernel, Pairs
from pairgossip.kernels.builtin.spread import euclidean_distance
from pairgossip.kernels.data import column_count
from pairgossip.kernels.named_tests import DISTANCE_CORRELATION
from pairgossip.order_statistics.comparisons import TestResult

PERMUTATIONS = 999
_MOST_ROWS = 5_000
"""Largest number of rows, whose values of all pairs are kept: 200 MB."""
_MOST_ROWS_ORDERED = 2_000
"""Largest number of rows; every permutation goes through all pairs, which takes ten seconds."""
_AT_ONCE = 128


def permute_labels(pairs: Pairs, seed: int | None) -> TestResult:
    """Test whether two samples differ: count permuted labels with as large a distance."""
    kernel = pairs.kernel
    assert kernel.contrast is not None
    if pairs.n > _MOST_ROWS:
        raise InputError(
            f"A test of '{kernel.name}' keeps the values of all pairs, which is done up to "
            f"{_MOST_ROWS:,} rows, not {pairs.n:,}: take a sample of the rows."
        )
    if pairs.target == "u":
        raise InputError("Labels are permuted for the V-statistic: leave {argument} out.", "kind")
    rows, labels = pairs.data[:, :-1], pairs.data[:, -1]
    table = Pairs(rows[:, 0] if rows.shape[1] == 1 else rows, kernel.contrast).matrix()
    random = np.random.default_rng(seed)
    dealt = np.stack([labels, *(random.permutation(labels) for _ in range(PERMUTATIONS))], axis=1)
    statistics = np.concatenate(
        [
            _statistics(kernel, table, dealt[:, at : at + _AT_ONCE])
            for at in range(0, dealt.shape[1], _AT_ONCE)
        ]
    )
    # Sums in another order may differ in the last digits of what the value is a difference of.
    return _compare(kernel.name, statistics, 1e-12 * float(np.abs(table).mean()))


def _compare(name: str, statistics: FloatArray, rounding: float) -> TestResult:
    """Compare the first of the statistics with the others, which come from chance alone."""
    value, chance = float(statistics[0]), statistics[1:]
    spread = float(chance.std())
    if not spread > rounding:
        raise InputError(
            f"'{name}' is the same however entries are permuted, as where all rows are equal, or "
            "equally far apart: there is nothing to test."
        )
    as_large = int(np.sum(chance >= value - rounding))
    p = (1 + as_large) / (1 + PERMUTATIONS)
    z = (value - float(chance.mean())) / spread
    return TestResult(value, spread, z, p, "permutations")


def permute_rows(data: FloatArray, seed: int | None) -> TestResult:
    """Test whether the last column depends on the others, by their distance correlation."""
    name, n = DISTANCE_CORRELATION, len(data)
    if data.ndim != 2 or n < 3:
        raise InputError(
            f"Test '{name}' takes at least three rows of two columns or more, but got {n} of "
            f"{column_count(data)}: choose the columns."
        )
    if n > _MOST_ROWS_ORDERED:
        raise InputError(
            f"Test '{name}' goes through all pairs {PERMUTATIONS + 1} times, which is done up to "
            f"{_MOST_ROWS_ORDERED:,} rows, not {n:,}: take a sample of the rows."
        )
    first, second = _center_distances(data[:, :-1]), _center_distances(data[:, -1:])
    size = np.sqrt(np.mean(first**2) * np.mean(second**2))
    if not size > 0:
        raise InputError(f"Test '{name}' has no value where a column is constant: choose another.")
    random = np.random.default_rng(seed)
    orders = [np.arange(n), *(random.permutation(n) for _ in range(PERMUTATIONS))]
    shared = np.array([np.vdot(first, second[order][:, order]) for order in orders]) / n**2
    squares = shared / size
    # The root of a zero with a rounding error would be large beside other zeros.
    return _compare(name, np.sqrt(np.where(squares > 1e-12, squares, 0.0)), 1e-12)


def _center_distances(rows: FloatArray) -> FloatArray:
    """Return all distances, minus the means of their rows and columns, plus the mean of all.

    They are in units of about the largest number, so that no square overflows.
    """
    rows = np.ldexp(rows, -np.frexp(np.abs(rows).max())[1])
    kernel = Kernel(euclidean_distance, name="distance", symmetric=True)
    table = Pairs(rows[:, 0] if rows.shape[1] == 1 else rows, kernel).matrix()
    means = table.mean(axis=0)
    return table - means - means[:, None] + means.mean()


def _statistics(kernel: AnyKernel, table: FloatArray, labels: FloatArray) -> FloatArray:
    """Return the statistic for each column of labels."""
    n, high = len(table), labels.sum(axis=0)
    low = n - high
    both = np.einsum("ij,ij->j", labels, table @ labels)
    mixed = labels.T @ table.sum(axis=1) - both
    neither = table.sum() - 2 * mixed - both
    parts = [2 * mixed, 2 * low * high, neither, low**2, both, high**2]
    return kernel.combine(np.stack(parts, axis=-1) / n**2)
