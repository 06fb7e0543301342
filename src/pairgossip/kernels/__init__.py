"""Kernels h(x, y): what is averaged over pairs, and the exact averages."""

from pairgossip.kernels.builtin import (
    auc,
    concordance,
    distance,
    gini,
    kendall,
    metric_learning_risk,
    ranking_risk,
    variance,
    within_cluster_scatter,
)
from pairgossip.kernels.combinations import (
    auc_difference,
    gini_coefficient,
    goodman_kruskal_gamma,
    kendall_b,
    somers_d,
)
from pairgossip.kernels.data import check_data
from pairgossip.kernels.exact import Summary, describe
from pairgossip.kernels.kernel import CATALOG, Combination, Formula, Kernel, Ratio, as_kernel
from pairgossip.kernels.pairs import PairProblem, Pairs, TrialPairs, exact, row_means
from pairgossip.kernels.two_samples import energy_distance, mmd
from pairgossip.kernels.whole_sets import WholeSets

__all__ = [
    "CATALOG",
    "Combination",
    "Formula",
    "Kernel",
    "PairProblem",
    "Pairs",
    "Ratio",
    "Summary",
    "TrialPairs",
    "WholeSets",
    "as_kernel",
    "auc",
    "auc_difference",
    "check_data",
    "concordance",
    "describe",
    "distance",
    "energy_distance",
    "exact",
    "gini",
    "gini_coefficient",
    "goodman_kruskal_gamma",
    "kendall",
    "kendall_b",
    "metric_learning_risk",
    "mmd",
    "ranking_risk",
    "row_means",
    "somers_d",
    "variance",
    "within_cluster_scatter",
]
