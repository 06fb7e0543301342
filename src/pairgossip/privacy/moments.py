"""Mean and covariance of debiased statistics over the reports, the data being fixed.

Reports are independent. With T(y, y') the debiased kernel, made symmetric, its expectation over
the second report is M(y, j), and over both A_ij. The sum over all pairs i != j is its mean plus a
part linear in each report, sum_i 2 sum_{j != i} M(y_i, j), plus residuals
T - M(y_i, j) - M(y_j, i) + A_ij that are uncorrelated with it and with each other. Both variances
are sums over cells, not over pairs of people.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray, PairFunction
from pairgossip.kernels.exact import check_kind
from pairgossip.kernels.kernel import Kernel, Ratio
from pairgossip.privacy.debiased import DebiasedKernel, debias, expect
from pairgossip.privacy.laws import Laws, laws_of
from pairgossip.privacy.mechanism import RandomizedResponse


def conditional_variance(
    mechanism: RandomizedResponse,
    data: Any,
    kernel: Kernel | Ratio | PairFunction | str,
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
    kernel: Kernel | Ratio | PairFunction | str,
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
    found = np.empty(debiased.components)
    for index, table in enumerate(debiased.cell_tables):
        own = np.einsum("ix,xz,iz,i->", laws.rows, table, laws.rows, laws.counts, optimize=True)
        others = histogram @ table @ histogram - own
        if target == "u":
            found[index] = others / (n * (n - 1))
        else:
            found[index] = (others + histogram @ np.diagonal(table)) / n**2
    return found


def covariances(debiased: DebiasedKernel, laws: Laws, target: str) -> FloatArray:
    """Return the covariances of the components' debiased statistics."""
    parts = [_Parts(debiased, index, laws, target) for index in range(debiased.components)]
    reports = expect(debiased.mechanism, laws.rows, 1)
    found = np.array([[_covariance(one, other, laws, reports) for one in parts] for other in parts])
    pairs = laws.n * (laws.n - 1) if target == "u" else laws.n**2
    found /= pairs**2
    np.fill_diagonal(found, np.maximum(np.diagonal(found), 0.0))  # rounding may go below
    return found


class _Parts:
    """What one component's covariances are made of."""

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
