"""The choice of the number of bins: few bins give bias, and many give noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray, IntArray, PairFunction
from pairgossip.checks import whole
from pairgossip.errors import InputError
from pairgossip.kernels.exact import check_kind, probe, statistic
from pairgossip.kernels.kernel import Combination, Kernel, as_kernel
from pairgossip.privacy.mechanism import RandomizedResponse
from pairgossip.privacy.moments import laws_of, means, variance_of
from pairgossip.privacy.response import Classes

_CANDIDATES = (*range(2, 33), *range(36, 65, 4), 80, 96, 128, 192, 256)
_LARGEST_COMPARED = 512
"""Largest number of cells of a candidate: with more, comparing candidates takes long."""
_ENDING_NOISE = 10.0
"""Noise, in units of the smallest error, above which the comparison ends."""
_UNIFORM_ROWS = 2520
"""Number of rows for a uniform distribution; most small numbers of bins divide it."""


@dataclass(frozen=True, eq=False)
class BinAdvice:
    """The advised number of bins, and the expected error of every number of bins.

    Attributes
    ----------
    bins
        The number of bins of the smallest predicted error.
    rule_of_thumb
        n^(1/4) sqrt(epsilon), which knows neither kernel nor data; at least 2.
    candidates
        The numbers of bins that were compared.
    bias, standard_errors, errors
        For each of them: the bias of binning, the standard error of the noise, and the root mean
        squared error of both together.
    """

    bins: int
    rule_of_thumb: int
    candidates: IntArray
    bias: FloatArray
    standard_errors: FloatArray
    errors: FloatArray

    @property
    def error(self) -> float:
        """The predicted error of the advised number of bins."""
        return float(self.errors.min())

    def __str__(self) -> str:
        at = int(self.errors.argmin())
        return (
            f"{self.bins} bins: predicted error {self.errors[at]:.3g} (bias {self.bias[at]:.3g}, "
            f"standard error {self.standard_errors[at]:.3g}); the rule of thumb "
            f"n^(1/4) sqrt(epsilon) says {self.rule_of_thumb}."
        )


def advise_bins(
    n: int,
    epsilon: float,
    kernel: Kernel | Combination | PairFunction | str = "gini",
    range: Any = (0.0, 1.0),
    *,
    classes: Any = None,
    rounding: str = "bins",
    together: bool | None = None,
    target: str = "u",
    sample: Any = None,
    labels: Any = None,
) -> BinAdvice:
    """Choose the number of bins by the predicted mean squared error.

    The error is the bias of binning and the exact variance of n reports, for observations with the
    distribution of a sample, or a uniform one. The sample must be public: old data, or a guess, not
    the data to be protected.

    Parameters
    ----------
    n, epsilon
        The number of observations to report, and the guarantee for each.
    kernel, target
        The statistic.
    range, classes, rounding, together
        As for `RandomizedResponse`; every column but the label gets the same number of bins.
    sample, labels
        Observations like those expected; by default uniform ones, which labels do not allow.

    Examples
    --------
    >>> advise_bins(1000, 1.0).bins
    5
    """
    count, measured = whole("The number of observations", n, least=2), as_kernel(kernel)
    kind = check_kind(target, count)
    options = {"classes": classes, "rounding": rounding, "together": together}
    smallest = RandomizedResponse(epsilon, 2, range, **options)
    if sample is None:
        if classes is not None:
            raise InputError(
                "Uniform labels say nothing about how labels go with values: give a public "
                "sample= like the data expected."
            )
        # Independent columns have a known value of it, without any bias of bins.
        if measured.association:
            raise InputError(
                f"Kernel '{measured.name}' is about how columns go together, and evenly spread "
                f"values say nothing about that: give a public sample= like the data expected."
            )
        table = _uniform(smallest)
    else:
        table = smallest.numbers(sample, labels)
        if len(table) < 2:
            raise InputError("The sample has one row: give at least two.")
    smallest.debiased(measured)  # refuses kernels that fit no number of bins
    measured.check(table)
    probe(measured, table)
    raw = statistic(table, measured, "u")
    rows: list[tuple[float, ...]] = []
    for bins in _CANDIDATES:
        mechanism = RandomizedResponse(epsilon, bins, range, **options)
        if rows and mechanism.cells > _LARGEST_COMPARED:
            break
        debiased, laws = mechanism.debiased(measured), laws_of(mechanism, table)
        bias = float(debiased.combine(means(debiased, laws, "u"))) - raw
        variance = variance_of(debiased, laws.scaled(count), kind)
        rows.append((bins, bias, math.sqrt(variance), math.hypot(bias, math.sqrt(variance))))
        # Noise grows with the number of bins: once it is far above the best, more are no better.
        if math.sqrt(variance) > _ENDING_NOISE * min(row[3] for row in rows):
            break
    compared, biases, deviations, errors = np.array(rows).T
    return BinAdvice(
        bins=int(compared[errors.argmin()]),
        rule_of_thumb=max(2, round(count**0.25 * math.sqrt(epsilon))),
        candidates=compared.astype(np.int64),
        bias=biases,
        standard_errors=deviations,
        errors=errors,
    )


def _uniform(mechanism: RandomizedResponse) -> FloatArray:
    """Return rows spread evenly over the declared ranges."""
    columns = [column for column in mechanism.columns if not isinstance(column, Classes)]
    spots = np.random.default_rng(0).random((_UNIFORM_ROWS, len(columns)))
    spots[:, 0] = (np.arange(_UNIFORM_ROWS) + 0.5) / _UNIFORM_ROWS
    low, high = np.array([(column.low, column.high) for column in columns]).T
    table = low + (high - low) * spots
    return table[:, 0] if table.shape[1] == 1 else table
