"""What theory and the paper say of metric learning by gossip, and what came out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.experiments.framework.section import Claim, Verdict
from pairgossip.experiments.metric_learning.problems import HELD_OUT
from pairgossip.experiments.setting import GRAPHS, MATTERS, faster_verdict
from pairgossip.results import Fit

CONVERGED = 0.1
"""Share of the way from the zero metric to the minimum that may be left."""
MAJORITY = 0.5
"""A metric concentrates where it has more than this share of its weight."""
CLEARLY = 2.0
"""Standard errors from which on a difference in accuracy is not left to chance."""


class Measures(NamedTuple):
    """What the claims and figures of one experiment are made of."""

    fits: Mapping[str, Fit]
    central: Mapping[str, Any]
    """The centralized minimum, and accuracies that do not depend on a graph."""
    accuracies: Mapping[str, FloatArray]
    """By graph, the held-out accuracy of nodes' metrics in every trial."""
    together: Mapping[str, FloatArray]
    """By graph, the objective of the mean of all nodes' metrics at the end of every trial."""

    def excess(self, graph: str) -> FloatArray:
        """Return the mean objective above the centralized minimum, at the checkpoints."""
        return np.asarray(self.fits[graph].objective - self.central["objective"])


def _graded(passed: Sequence[bool]) -> Verdict:
    if all(passed):
        return "holds"
    return "holds in part" if any(passed) else "does not hold"


def _listed(values: Mapping[str, float], style: str) -> str:
    return ", ".join(f"{value:{style}} ({name})" for name, value in values.items())


def convergence_claim(name: str, measured: Measures) -> Claim:
    """Check how much of the way from the start to the minimum is left on every graph."""
    central = measured.central
    way = central["objective_of_zero"] - central["objective"]
    left = {graph: float(measured.excess(graph)[-1]) / way for graph in GRAPHS}
    return Claim(
        f"converges-{name}",
        "Gossip dual averaging converges as centralized dual averaging does, up to a bias that "
        "vanishes, whatever the connected network.",
        "theory; Colin, Bellet, Salmon and Clemencon (ICML 2016), abstract",
        _graded([value < CONVERGED for value in left.values()]),
        f"Of the way from the zero metric ({central['objective_of_zero']:.4f}) to the centralized "
        f"minimum ({central['objective']:.4f}) there is left at the end: "
        f"{_listed(left, '.1%')}; at most {CONVERGED:.0%} counts as converged.",
    )


def faster_claim(name: str, measured: Measures) -> Claim:
    """Compare the objectives of the mean of all nodes' metrics by the rule of AUC maximization.

    Few judged nodes, the same in all trials, may not be like the others: these are of all nodes.
    """
    ends = measured.together
    excess = {graph: float(ends[graph].mean()) - measured.central["objective"] for graph in GRAPHS}
    ahead = {
        f"{better} before {worse}": _sooner(ends[better], ends[worse])
        for better, worse in combinations(GRAPHS, 2)
    }
    best, middle, worst = excess.values()
    apart = worst / best - 1.0
    return Claim(
        f"faster-{name}",
        "Better-connected networks exhibit faster convergence; the complete and "
        "Watts-Strogatz graphs outperform the grid.",
        "paper, line 641",
        faster_verdict(best, middle, worst),
        "At the end the objective of the mean of all nodes' metrics is above the centralized "
        f"minimum by {_listed(excess, '.2e')}: the torus is {apart:+.0%} and the Watts-Strogatz "
        f"graph {middle / best - 1:+.0%} from the complete graph; {MATTERS:.0%} count as a "
        "difference. In standard errors of the trials, the differences are "
        f"{_listed(ahead, '+.1f')}.",
    )


def _sooner(better: FloatArray, worse: FloatArray) -> float:
    """Return how far one mean over trials is below another, in standard errors."""
    if min(len(better), len(worse)) < 2:
        return 0.0
    error = math.sqrt(better.var(ddof=1) / len(better) + worse.var(ddof=1) / len(worse))
    return float(worse.mean() - better.mean()) / error


def dispersion_claim(name: str, measured: Measures) -> Claim:
    """Check the order of the metrics' distances from their mean; of the best one's, in part."""
    apart = {graph: float(measured.fits[graph].disagreement[-1]) for graph in GRAPHS}
    spreads = {graph: float(measured.fits[graph].spread[-1]) for graph in GRAPHS}
    best, middle, worst = apart.values()
    verdict: Verdict = "holds" if middle < worst else "holds in part"
    return Claim(
        f"dispersion-{name}",
        "The dispersion of the local estimates decreases as network connectivity improves.",
        "paper, line 641",
        verdict if best < min(middle, worst) else "does not hold",
        "Root mean square distance of all nodes' metrics from their mean at the end: "
        f"{_listed(apart, '.2e')}. Standard deviation of the objective over the nodes judged, "
        f"which need not have that order: {_listed(spreads, '.2e')}.",
    )


def concentration_claim(share: Mapping[str, FloatArray], chance: float) -> Claim:
    """Check that most of the weight is on the informative dimensions, in every trial."""
    least = {graph: float(values.min()) for graph, values in share.items()}
    return Claim(
        "concentration",
        "The learned metric concentrates on the dimensions in which classes differ.",
        "theory: the centralized minimum does",
        _graded([value > MAJORITY for value in least.values()]),
        f"Share of the weight on them in the least favorable trial: {_listed(least, '.1%')}; "
        f"equal weights would give {chance:.1%}, and more than {MAJORITY:.0%} was asked for.",
    )


def mixture_claim(measured: Measures) -> Claim:
    """Check every trial against the Euclidean distance, of scaled and of unscaled dimensions."""
    central = measured.central
    least = {graph: float(values.min()) for graph, values in measured.accuracies.items()}
    rivals = (central["euclidean"], central["unscaled"])
    return Claim(
        "accuracy-mixture",
        "Nearest neighbors find the class of held-out points more often with the learned metric "
        "than with the Euclidean distance.",
        "theory: what metric learning is for",
        _graded([min(least.values()) > rival for rival in rivals]),
        f"In the least favorable trial {_listed(least, '.1%')}, against {rivals[0]:.1%} with the "
        f"Euclidean distance of scaled dimensions, {rivals[1]:.1%} with that of data as they are, "
        "in which the informative dimensions vary more, and "
        f"{central['accuracy']:.1%} with the centralized minimum.",
    )


def digits_claim(measured: Measures) -> Claim:
    """Compare with the distance of scaled and of unscaled pixels, up to chance."""
    central = measured.central
    means = {graph: float(values.mean()) for graph, values in measured.accuracies.items()}
    rivals = (central["euclidean"], central["unscaled"])
    ahead = [_ahead(score, rival) for score in means.values() for rival in rivals]
    verdict: Verdict = "holds" if min(ahead) > CLEARLY else "holds in part"
    return Claim(
        "accuracy-digits",
        "Nearest neighbors do better on held-out digits with the learned metric than with the "
        "Euclidean distance, of scaled pixels as of gray levels as they are.",
        "theory: what metric learning is for",
        verdict if min(ahead) > -CLEARLY and max(ahead) > 0 else "does not hold",
        f"Mean over trials {_listed(means, '.2%')}, against {rivals[0]:.2%} with scaled pixels, "
        f"in whose units the metric is learned, {rivals[1]:.2%} with gray levels as they are, and "
        f"{central['accuracy']:.2%} with the centralized minimum of the same objective. Of "
        f"{HELD_OUT} images, differences from {min(ahead):+.1f} to {max(ahead):+.1f} standard "
        f"errors; {CLEARLY:g} count as clear.",
    )


def _ahead(score: float, rival: float) -> float:
    """Return how far one accuracy is above another, in standard errors of the held-out points."""
    variance = (score * (1.0 - score) + rival * (1.0 - rival)) / HELD_OUT
    return (score - rival) / math.sqrt(variance)
