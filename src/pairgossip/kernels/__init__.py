"""Kernels h(x, y), functions of pairs, and their exact averages over all pairs."""

from pairgossip.kernels.builtin import classes, ranks, several_classes, spread
from pairgossip.kernels.builtin.classes import *  # noqa: F403
from pairgossip.kernels.builtin.ranks import *  # noqa: F403
from pairgossip.kernels.builtin.several_classes import *  # noqa: F403
from pairgossip.kernels.builtin.spread import *  # noqa: F403
from pairgossip.kernels.data import check_data
from pairgossip.kernels.exact import KernelEntry, describe
from pairgossip.kernels.kernel import (
    CATALOG,
    Combination,
    Formula,
    Kernel,
    Ratio,
    as_kernel,
    register,
)
from pairgossip.kernels.kernel import AnyKernel as AnyKernel
from pairgossip.kernels.pairs import Pairs, WholeSets, exact, row_means
from pairgossip.kernels.problem import Averages, Means, Problem

PairProblem = TrialPairs = Problem
"""The names of problems of pairs in 0.2, before and within a trial."""

__all__ = [
    "CATALOG",
    "Averages",
    "Combination",
    "Formula",
    "Kernel",
    "KernelEntry",
    "Means",
    "PairProblem",
    "Pairs",
    "Problem",
    "Ratio",
    "TrialPairs",
    "WholeSets",
    "as_kernel",
    "check_data",
    "describe",
    "exact",
    "register",
    "row_means",
]
__all__ += classes.__all__
__all__ += ranks.__all__
__all__ += several_classes.__all__
__all__ += spread.__all__
