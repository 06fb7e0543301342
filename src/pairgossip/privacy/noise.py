"""What reports cost a statistic: predicted exactly, before any of them is drawn."""

from __future__ import annotations

import math
from typing import NamedTuple

from pairgossip.arrays import FloatArray
from pairgossip.privacy.columns import Grid
from pairgossip.privacy.debiased import DebiasedKernel
from pairgossip.privacy.laws import LARGEST_TABLE, laws_of
from pairgossip.privacy.mechanism import RandomizedResponse
from pairgossip.privacy.moments import means, variance_of


class PrivacyError(NamedTuple):
    """By how much the debiased statistic of the reports is off the true statistic."""

    standard_error: float
    """Its standard deviation over the reports; for a ratio of the linearized quotient."""
    binning_bias: float
    """Its expectation minus the true statistic: what values lose by being put into cells."""

    @property
    def size(self) -> float:
        """The root mean square error that both make together."""
        return math.hypot(self.standard_error, self.binning_bias)


UNKNOWN = PrivacyError(math.nan, math.nan)


def predicted_error(
    debiased: DebiasedKernel, table: FloatArray, target: str, exact: float
) -> PrivacyError:
    """Predict the error of the debiased statistic of checked data.

    Parameters
    ----------
    debiased
        The kernel on reports.
    table, target, exact
        The raw observations, "v" or "u", and the true statistic; NaN if it is not known.
    """
    if not is_followed(debiased.mechanism, len(table)):
        return UNKNOWN
    laws = laws_of(debiased.mechanism, table)
    expected = float(debiased.combine(means(debiased, laws, target)))
    return PrivacyError(math.sqrt(variance_of(debiased, laws, target)), expected - exact)


def is_followed(mechanism: RandomizedResponse, rows: int) -> bool:
    """Tell whether the laws of so many observations fit into memory, whatever they are."""
    is_rounded = any(isinstance(column, Grid) for column in mechanism.columns)
    return not is_rounded or rows * mechanism.cells <= LARGEST_TABLE
