"""Mean and covariance of debiased statistics over the reports, for fixed data.

Reports are independent. With T(y, y') the debiased kernel, made symmetric, its expectation over
the second report is M(y, j), and over both A_ij. The sum over all pairs i != j is its mean plus a
part linear in each report, sum_i 2 sum_{j != i} M(y_i, j), plus residuals
T - M(y_i, j) - M(y_j, i) + A_ij that are uncorrelated with it and with each other. Both variances
are sums over cells, not over pairs of people.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray, PairFunction
from pairgossip.errors import InputError
from pairgossip.kernels.exact import check_kind, probe, statistic
from pairgossip.kernels.kernel import Combination, Kernel, Scale
from pairgossip.privacy.debiased import DebiasedKernel, debias, expect
from pairgossip.privacy.mechanism import RandomizedResponse
from pairgossip.privacy.response import Grid

LARGEST_TABLE = 2**26
"""Largest number of entries of the table of laws: 512 MB."""
MOST_NOISE, LITTLE_NOISE = 0.125, 0.04
"""Largest standard deviation of the noise in the shares of all cells together at which reports have
intervals, and at which these are on the scale of the kernel. Between the two they are plain: noise
takes values as far down as up. Both come from benchmarks/report_intervals.py."""


class Laws(NamedTuple):
    """The different laws of cells among observations, and the number of observations of each."""

    rows: FloatArray
    """Probabilities of the K cells, shape (m, K)."""
    counts: FloatArray
    """Shape (m,); not always whole, as for an expected histogram."""

    @property
    def n(self) -> float:
        """The number of observations."""
        return float(self.counts.sum())

    def scaled(self, n: float) -> Laws:
        """Return the laws of n observations with the same distribution."""
        return Laws(self.rows, self.counts * (n / self.n))


def laws_of(mechanism: RandomizedResponse, table: FloatArray) -> Laws:
    """Return the laws of checked data."""
    rows = table.reshape(len(table), -1)
    if not _is_rounded(mechanism):
        shares = [column.shares(rows[:, at])[0] for at, column in enumerate(mechanism.columns)]
        cells, counts = np.unique(mechanism.flat(np.stack(shares, axis=1)), return_counts=True)
        return Laws(np.eye(mechanism.cells)[cells], counts.astype(np.float64))
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    if len(distinct) * mechanism.cells > LARGEST_TABLE:
        raise InputError(
            f"The data have {len(distinct):,} different rows, too many for stochastic rounding to "
            f"{mechanism.cells:,} cells to be followed exactly: give a sample of the rows."
        )
    return Laws(laws_by_row(mechanism, distinct), counts.astype(np.float64))


def relative_noise(mechanism: RandomizedResponse, n: float) -> float:
    """Return the standard deviation of the noise in all cells' shares together, for n reports."""
    return _noise_of_one(mechanism) / math.sqrt(n)


@lru_cache(maxsize=4)  # a peer asks every second
def _noise_of_one(mechanism: RandomizedResponse) -> float:
    squares = [
        float((response.debias(np.eye(response.cells), 0) ** 2).sum(axis=1).mean())
        for response in mechanism.responses
    ]
    return math.sqrt(max(math.prod(squares) - 1.0, 0.0))


def rows_for_interval(mechanism: RandomizedResponse) -> int:
    """Return the least number of reports for an interval that covers as often as stated."""
    return max(2, math.ceil((relative_noise(mechanism, 1.0) / MOST_NOISE) ** 2))


def choose_scale(mechanism: RandomizedResponse, n: float, scale: Scale) -> Scale:
    """Return the scale of intervals from n reports, given the scale for rows."""
    return scale if relative_noise(mechanism, n) <= LITTLE_NOISE else "plain"


def _is_rounded(mechanism: RandomizedResponse) -> bool:
    return any(isinstance(column, Grid) for column in mechanism.columns)


def laws_by_row(mechanism: RandomizedResponse, table: FloatArray) -> FloatArray:
    """Return the law of every row of checked data, shape (n, K)."""
    rows = table.reshape(len(table), -1)
    everyone = np.arange(len(rows))
    laws = np.ones((len(rows), 1))
    for at, column in enumerate(mechanism.columns):
        below, chance = column.shares(rows[:, at])
        part = np.zeros((len(rows), column.cells))
        part[everyone, below] = 1.0 - chance
        rounded_up = np.flatnonzero(chance)
        part[rounded_up, below[rounded_up] + 1] = chance[rounded_up]
        laws = (laws[:, :, None] * part[:, None, :]).reshape(len(rows), -1)
    return laws


def conditional_variance(
    mechanism: RandomizedResponse,
    data: Any,
    kernel: Kernel | Combination | PairFunction | str,
    target: str = "u",
    labels: Any = None,
) -> float:
    """Return the variance of the debiased statistic over the reports, for given data.

    It is exact for a single kernel, stochastic rounding included; for a ratio it is that of the
    linearized quotient (the delta method), which is approximate and good while the denominator
    is many standard errors from 0.

    Parameters
    ----------
    mechanism
        The randomized response that makes the reports.
    data, labels
        The raw observations.
    kernel
        A kernel, a ratio, the name of a built-in kernel, or a function, of raw observations.
    target
        "u" or "v".
    """
    table = mechanism.numbers(data, labels)
    kind = check_kind(target, len(table))
    return variance_of(mechanism.debiased(kernel), laws_of(mechanism, table), kind)


def standard_error(
    mechanism: RandomizedResponse,
    data: Any,
    kernel: Kernel | Combination | PairFunction | str,
    target: str = "u",
    labels: Any = None,
) -> float:
    """Return the root of `conditional_variance`, in the units of the statistic."""
    return math.sqrt(conditional_variance(mechanism, data, kernel, target, labels))


def variance_of(debiased: DebiasedKernel, laws: Laws, target: str) -> float:
    """Compute `conditional_variance` from the laws of cells."""
    covariance = covariances(debiased, laws, target)
    if debiased.components == 1:
        return float(covariance[0, 0])
    upper, lower = means(debiased, laws, target)
    if lower == 0:
        return math.inf
    slope = np.array([1.0, -upper / lower]) / lower
    return max(0.0, float(slope @ covariance @ slope))


def means(debiased: DebiasedKernel, laws: Laws, target: str) -> FloatArray:
    """Return the expectation of every component's debiased statistic, shape (components,)."""
    histogram, n = laws.counts @ laws.rows, laws.n
    averages = np.empty(debiased.components)
    for index, table in enumerate(debiased.cell_tables):
        own = np.einsum("ix,xz,iz,i->", laws.rows, table, laws.rows, laws.counts, optimize=True)
        others = histogram @ table @ histogram - own
        if target == "u":
            averages[index] = others / (n * (n - 1))
        else:
            averages[index] = (others + histogram @ np.diagonal(table)) / n**2
    return averages


def covariances(debiased: DebiasedKernel, laws: Laws, target: str) -> FloatArray:
    """Return the covariances of the components' debiased statistics."""
    parts = [_Parts(debiased, index, laws, target) for index in range(debiased.components)]
    reports = expect(debiased.mechanism, laws.rows, 1)
    table = np.array([[_covariance(one, other, laws, reports) for one in parts] for other in parts])
    pairs = laws.n * (laws.n - 1) if target == "u" else laws.n**2
    table /= pairs**2
    np.fill_diagonal(table, np.maximum(np.diagonal(table), 0.0))  # rounding may go below
    return table


class _Parts:
    """The terms of one component's covariances."""

    def __init__(self, debiased: DebiasedKernel, index: int, laws: Laws, target: str) -> None:
        mechanism, table = debiased.mechanism, debiased.cell_tables[index]
        self.cells = (table + table.T) / 2
        half = debias(mechanism, self.cells, 0)
        self.pairs = debias(mechanism, half, 1)
        self.met = half @ laws.rows.T
        """M(y, j), one column for every law j."""
        everyone = half @ (laws.counts @ laws.rows)
        self.linear = 2 * (everyone[:, None] - self.met)
        if target == "v":
            self.linear += debiased.own_values[index][:, None]
        self.own = np.einsum("ix,xz,iz->i", laws.rows, self.cells, laws.rows, optimize=True)


def _covariance(one: _Parts, other: _Parts, laws: Laws, reports: FloatArray) -> float:
    """Return the covariance of two sums over all pairs; `reports` are the laws of reports."""
    counts = laws.counts
    centered = [part.linear - np.einsum("iy,yi->i", reports, part.linear) for part in (one, other)]
    linear = np.einsum("iy,yi,yi->i", reports, *centered) @ counts
    everyone = counts @ reports
    product = one.pairs * other.pairs
    both = everyone @ product @ everyone
    both -= np.einsum("iy,iy->i", reports @ product, reports) @ counts
    met = one.met * other.met
    single = everyone @ (met @ counts) - np.einsum("iy,yi->i", reports, met) @ counts
    spread = laws.rows.T @ (counts[:, None] * laws.rows)
    known = np.sum((spread @ one.cells @ spread) * other.cells) - (one.own * other.own) @ counts
    return float(linear + 2 * (both - 2 * single + known))


class PrivacyError(NamedTuple):
    """The error of the debiased statistic of the reports, relative to the true statistic."""

    standard_error: float
    """Its standard deviation over the reports; for a ratio, that of the linearized quotient."""
    binning_bias: float
    """Its expectation minus the true statistic: the error from putting values into cells."""

    @property
    def size(self) -> float:
        """The root mean square error of both together."""
        return math.hypot(self.standard_error, self.binning_bias)


def predicted_error(
    debiased: DebiasedKernel, table: FloatArray, target: str, exact: float
) -> PrivacyError:
    """Predict the error of the debiased statistic of checked data; NaN if that takes too long.

    The true statistic may be NaN if it is not known.
    """
    mechanism = debiased.mechanism
    if _is_rounded(mechanism) and len(table) * mechanism.cells > LARGEST_TABLE:
        return PrivacyError(math.nan, math.nan)
    laws = laws_of(mechanism, table)
    expected = float(debiased.combine(means(debiased, laws, target)))
    return PrivacyError(math.sqrt(variance_of(debiased, laws, target)), expected - exact)


def binning_bias(
    mechanism: RandomizedResponse,
    data: Any,
    kernel: Kernel | Combination | PairFunction | str,
    target: str = "u",
    labels: Any = None,
) -> float:
    """Return the statistic of cells' representatives minus the statistic of the raw data.

    It is exact for given data: the error of the expected debiased statistic. With stochastic
    rounding the first is an expectation over the rounding, whose variance is part of
    `conditional_variance`. For a ratio both are quotients of the components' (expected)
    averages.
    """
    debiased = mechanism.debiased(kernel)
    table = mechanism.numbers(data, labels)
    kind = check_kind(target, len(table))
    debiased.kernel.check(table)
    probe(debiased.kernel, table)
    cells = debiased.combine(means(debiased, laws_of(mechanism, table), kind))
    return float(cells) - statistic(table, debiased.kernel, kind)


def binning_bound(mechanism: RandomizedResponse, lipschitz: float = 1.0) -> float:
    """Bound the bias for any data, for a kernel that is Lipschitz in each observation.

    Parameters
    ----------
    mechanism
        The mechanism whose bins are judged.
    lipschitz
        The largest change of h per unit (Euclidean distance) of either observation: 1 for Gini's
        mean difference and for the distance.
    """
    if not (math.isfinite(lipschitz) and lipschitz >= 0):
        raise InputError(f"The Lipschitz constant is {lipschitz}: give a number >= 0.")
    return 2 * lipschitz * math.hypot(*(column.reach for column in mechanism.columns))
