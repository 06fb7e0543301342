"""What cells cost even without noise: the bias of putting values into bins."""

from __future__ import annotations

import math
from typing import Any

from pairgossip.arrays import PairFunction
from pairgossip.errors import InputError
from pairgossip.kernels.exact import check_kind, statistic
from pairgossip.kernels.kernel import Kernel, Ratio
from pairgossip.kernels.probe import probe
from pairgossip.privacy.laws import laws_of
from pairgossip.privacy.mechanism import RandomizedResponse
from pairgossip.privacy.moments import means


def binning_bias(
    mechanism: RandomizedResponse,
    data: Any,
    kernel: Kernel | Ratio | PairFunction | str,
    target: str = "u",
    labels: Any = None,
) -> float:
    """Return the statistic of what cells stand for minus the statistic of the raw data.

    It is exact for given data: what the expected debiased statistic is off by. With stochastic
    rounding the first is an expectation over the rounding, whose variance
    `conditional_variance` contains. For a ratio both are quotients of the components' (expected)
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
        Whose bins are judged.
    lipschitz
        By how much h changes at most per unit (Euclidean distance) of either observation: 1 for
        Gini's mean difference and for the distance.
    """
    if not (math.isfinite(lipschitz) and lipschitz >= 0):
        raise InputError(f"The Lipschitz constant is {lipschitz}: give a number >= 0.")
    return 2 * lipschitz * math.hypot(*(column.reach for column in mechanism.columns))
