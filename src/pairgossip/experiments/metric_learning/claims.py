"""What theory and the paper say of metric learning by gossip, and what came out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from pairgossip.arrays import BoolArray, FloatArray
from pairgossip.experiments.framework.judging import graded
from pairgossip.experiments.framework.section import Claim
from pairgossip.experiments.metric_learning.problems import HELD_OUT
from pairgossip.experiments.setting import (
    GRAPHS,
    MATTERS,
    dispersion_verdict,
    faster_verdict,
    in_order_from,
)
from pairgossip.results import Fit

CONVERGED = 0.1
"""Share of the way from the zero metric to the minimum that may be left."""
MAJORITY = 0.5
"""A metric concentrates where it has more than this share of its weight."""
SAID = "said in paper, line 641, of another experiment"
CLEARLY = 2.0
"""Standard errors from which on a difference in accuracy is not left to chance."""


class Measures(NamedTuple):
    """What the claims and figures of one experiment are made of."""

    fits: Mapping[str, Fit]
    central: Mapping[str, Any]
    """The centralized minimum, and accuracies that do not depend on a graph."""
    accuracies: Mapping[str, FloatArray]
    """By graph, the held-out accuracy of nodes' metrics in every trial."""
    hits: Mapping[str, FloatArray]
    """By graph, for every held-out point, the share of nodes' metrics that recognize it."""
    rival_hits: Mapping[str, BoolArray]
    """By Euclidean distance, the held-out points that are recognized by it."""
    together: Mapping[str, FloatArray]
    """By graph, the objective of the mean of all nodes' metrics at the end of every trial."""

    def excess(self, graph: str) -> FloatArray:
        """Return the mean objective above the centralized minimum, at the checkpoints."""
        return np.asarray(self.fits[graph].objective - self.central["objective"])


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
        graded([value < CONVERGED for value in left.values()]),
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
        if len(ends[better]) > 1
    }
    best, middle, worst = excess.values()
    apart = worst / best - 1.0
    return Claim(
        f"faster-{name}",
        "Better-connected networks exhibit faster convergence; the complete and "
        "Watts-Strogatz graphs outperform the grid.",
        SAID,
        faster_verdict(best, middle, worst),
        "At the end the objective of the mean of all nodes' metrics is above the centralized "
        f"minimum by {_listed(excess, '.2e')}: the torus is {apart:+.0%} and the Watts-Strogatz "
        f"graph {middle / best - 1:+.0%} from the complete graph; {MATTERS:.0%} count as a "
        "difference."
        + (f" In standard errors of the trials: {_listed(ahead, '+.1f')}." if ahead else ""),
    )


def _sooner(better: FloatArray, worse: FloatArray) -> float:
    """Return how far one mean over trials is below another, in standard errors."""
    error = math.sqrt(better.var(ddof=1) / len(better) + worse.var(ddof=1) / len(worse))
    return float(worse.mean() - better.mean()) / error


def dispersion_claim(name: str, measured: Measures) -> Claim:
    """Check the order of the metrics' distances from their mean; of the best one's, in part."""
    apart = {graph: float(measured.fits[graph].disagreement[-1]) for graph in GRAPHS}
    spreads = {graph: float(measured.fits[graph].spread[-1]) for graph in GRAPHS}
    curves = [measured.fits[graph].disagreement for graph in GRAPHS]
    return Claim(
        f"dispersion-{name}",
        "The dispersion of the local estimates decreases as network connectivity improves.",
        SAID,
        dispersion_verdict(*apart.values()),
        "Root mean square distance of all nodes' metrics from their mean at the end: "
        f"{_listed(apart, '.2e')}. {in_order_from(measured.fits[GRAPHS[0]].iterations, *curves)} "
        "Standard deviation of the objective over the nodes judged, which need not have that "
        f"order: {_listed(spreads, '.2e')}.",
    )


def concentration_claim(share: Mapping[str, FloatArray], chance: float) -> Claim:
    """Check that most of the weight is on the informative dimensions, in every trial."""
    least = {graph: float(values.min()) for graph, values in share.items()}
    return Claim(
        "concentration",
        "The learned metric concentrates on the dimensions in which classes differ.",
        "theory: the centralized minimum does",
        graded([value > MAJORITY for value in least.values()]),
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
        graded([min(least.values()) > rival for rival in rivals]),
        f"In the least favorable trial {_listed(least, '.1%')}, against {rivals[0]:.1%} with the "
        f"Euclidean distance of scaled dimensions, {rivals[1]:.1%} with that of data as they are, "
        "in which the informative dimensions vary more, and "
        f"{central['accuracy']:.1%} with the centralized minimum.",
    )


def digits_claim(measured: Measures) -> Claim:
    """Compare with the distance of scaled and of unscaled pixels on the same images, up to chance.

    In part, where one of the two is clearly beaten on every graph and none clearly wins on any.
    """
    central = measured.central
    means = {graph: float(values.mean()) for graph, values in measured.accuracies.items()}
    ahead = {
        rival: {graph: paired(measured.hits[graph], hits) for graph in GRAPHS}
        for rival, hits in measured.rival_hits.items()
    }
    beaten = [min(found.values()) > CLEARLY for found in ahead.values()]
    wins = any(min(found.values()) < -CLEARLY for found in ahead.values())
    differences = "; ".join(f"to {rival}, {_listed(f, '+.1f')}" for rival, f in ahead.items())
    return Claim(
        "accuracy-digits",
        "Nearest neighbors do better on held-out digits with the learned metric than with the "
        "Euclidean distance, of scaled pixels as of gray levels as they are.",
        "theory: what metric learning is for",
        "does not hold" if wins else graded(beaten),
        f"Mean over trials {_listed(means, '.2%')}, against {central['euclidean']:.2%} with scaled "
        f"pixels, in whose units the metric is learned, {central['unscaled']:.2%} with gray levels "
        f"as they are, and {central['accuracy']:.2%} with the centralized minimum of the same "
        f"objective. Differences on the same {HELD_OUT} images, in their standard errors: "
        f"{differences}; {CLEARLY:g} on every graph count as clear.",
    )


def paired(hits: FloatArray, rival: BoolArray) -> float:
    """Return how far one accuracy is above another on the same points, in standard errors.

    As in McNemar's test, points that both recognize, or neither, do not count as noise.
    """
    differences = np.asarray(hits, dtype=np.float64) - rival
    error = float(differences.std(ddof=1)) / math.sqrt(len(differences))
    return float(differences.mean()) / error if error > 0 else 0.0
