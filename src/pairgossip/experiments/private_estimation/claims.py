"""What is claimed of private estimates, by rules that were fixed before anything was drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pairgossip.experiments.framework.fitting import Line, power_law
from pairgossip.experiments.framework.judging import graded
from pairgossip.experiments.framework.section import Claim
from pairgossip.experiments.private_estimation.problems import mean_and_error
from pairgossip.results import Run

ERRORS = 4.0
"""Means must be within so many of their standard errors."""
LINEAR = 0.1
"""The delta method for a ratio is judged where it predicts at most this standard error."""
NEAR_BEST = 1.25
"""An advised number of bins is good if its error is at most this times the smallest."""
TOLERANCE = 0.1
"""How near a fitted exponent must be to -1/2."""
LARGE = 1000
"""The exponent is that of at least so many people, where the part in 1/n has faded."""
SETTLED = 0.25
"""What gossip may be off the statistic of its reports, as a share of what reports are off."""

Drawn = Mapping[str, Any]
ByEpsilon = Mapping[float, Drawn]
BySize = Mapping[float, Mapping[int, Drawn]]


def squared_error(case: Drawn) -> tuple[float, float, float]:
    """Return the mean squared error, its standard error, and what is predicted."""
    errors = (np.array(case["values"]) - case["exact"]) ** 2
    return *mean_and_error(errors), case["standard_error"] ** 2 + case["binning_bias"] ** 2


def is_judged(case: Drawn, *, is_ratio: bool) -> bool:
    """Tell whether the prediction is exact, or a linearization where it is good."""
    return not is_ratio or case["standard_error"] <= LINEAR


def predicted_claim(statistics: Mapping[str, ByEpsilon]) -> Claim:
    """Judge whether measured errors are the predicted ones."""
    apart: list[float] = []
    left_out = 0
    for name, by_epsilon in statistics.items():
        for case in by_epsilon.values():
            if not is_judged(case, is_ratio=name == "AUC"):
                left_out += 1
                continue
            measured, uncertain, predicted = squared_error(case)
            apart.append(abs(measured - predicted) / uncertain)
    return Claim(
        "error-predicted",
        "The mean squared error of the reports' statistic is the squared bias of binning plus the "
        f"conditional variance (rule: within {ERRORS:g} standard errors at every epsilon; the AUC, "
        f"whose variance is linearized, where its predicted standard error is at most {LINEAR:g}).",
        "theory",
        graded(distance <= ERRORS for distance in apart),
        f"{sum(distance <= ERRORS for distance in apart)} of {len(apart)} settings are within; the "
        f"furthest is {max(apart):.2f} standard errors off. {left_out} settings of the AUC are too "
        "noisy to be judged.",
    )


def unbiased_claim(by_epsilon: ByEpsilon) -> Claim:
    """Judge whether the mean over draws is the statistic of the cells."""
    apart = []
    for case in by_epsilon.values():
        mean, uncertain = mean_and_error(case["values"])
        apart.append(abs(mean - case["exact"] - case["binning_bias"]) / uncertain)
    return Claim(
        "reports-unbiased",
        "Debiased statistics of reports are unbiased for the statistic of the cells (rule: within "
        f"{ERRORS:g} standard errors at every epsilon, Gini's mean difference).",
        "theory",
        graded(distance <= ERRORS for distance in apart),
        f"The mean over draws is at most {max(apart):.2f} standard errors off.",
    )


def own_pairs_claim(case: Drawn) -> Claim:
    """Judge whether a node's own report needs a rule of its own."""
    aware, aware_error = mean_and_error(case["aware"])
    naive, naive_error = mean_and_error(case["naive"])
    unbiased = abs(aware - case["expected"]) <= ERRORS * aware_error
    biased = abs(naive - case["expected"]) > ERRORS * naive_error
    known = abs(naive - case["naive_expected"]) <= ERRORS * naive_error
    return Claim(
        "own-report",
        "Randomized response combines with gossip only if own pairs have a rule of their own: "
        "debiased at a node's own report like at any other, the V-statistic is biased, by a known "
        "amount, and it is unbiased with the debiased own pair (rule: "
        f"{ERRORS:g} standard errors).",
        "theory, about what lines 679-682 of the paper leave open",
        graded([unbiased, biased, known]),
        f"{case['n']} people, {len(case['aware'])} draws: expected {case['expected']:.4g}; with "
        f"the rule {aware:.4g} ± {aware_error:.2g}; without it {naive:.4g} ± {naive_error:.2g}, "
        f"where {case['naive_expected']:.4g} is predicted.",
    )


def bins_claim(choices: Mapping[float, Drawn]) -> Claim:
    """Judge whether advised numbers of bins are nearly the best."""
    ratios = {
        epsilon: error_at(choice, choice["by_sample"]) / min(choice["errors"])
        for epsilon, choice in choices.items()
    }
    listed = ", ".join(f"{ratio:.2f} at epsilon {epsilon:g}" for epsilon, ratio in ratios.items())
    return Claim(
        "bins-advised",
        "The number of bins advised for a public sample is nearly the best for the private data "
        f"(rule: its error is at most {NEAR_BEST:g} times the smallest on the grid, at every "
        "epsilon).",
        "theory",
        graded(ratio <= NEAR_BEST for ratio in ratios.values()),
        f"Its error relative to the smallest: {listed}.",
    )


def error_at(choice: Drawn, bins: int) -> float:
    """Return the predicted error at a number of bins of the grid."""
    return float(choice["errors"][list(choice["candidates"]).index(bins)])


def exponents(by_size: BySize) -> dict[float, Line]:
    """Fit the exponent of the measured standard deviation in the number of people."""
    found = {}
    for epsilon, cases in by_size.items():
        sizes = [size for size in cases if size >= LARGE]
        found[epsilon] = power_law(sizes, [np.std(cases[size]["values"]) for size in sizes])
    return found


def size_claim(by_size: BySize) -> Claim:
    """Judge whether the noise falls like 1/sqrt(n)."""
    lines = exponents(by_size)
    listed = ", ".join(f"{line.slope:.3f} at epsilon {eps:g}" for eps, line in lines.items())
    return Claim(
        "noise-in-n",
        "The noise of reports falls like 1/sqrt(n) (rule: the exponent of the measured standard "
        f"deviation over sizes from {LARGE:,} on is within {TOLERANCE:g} of -1/2, at every "
        "epsilon).",
        "theory; Bell et al., as the paper cites them",
        graded(abs(line.slope + 0.5) <= TOLERANCE for line in lines.values()),
        f"Fitted exponents: {listed}.",
    )


def gossip_claim(runs: Mapping[str, Run]) -> Claim:
    """Judge whether nodes agree on the statistic of their reports."""
    shares = {name: gossip_error(run) / _size(run) for name, run in runs.items()}
    listed = ", ".join(f"{share:.3f} on the {name}" for name, share in shares.items())
    iterations = next(iter(runs.values())).iterations[-1]
    return Claim(
        "gossip-on-reports",
        "Gossip on reports converges to their debiased statistic (rule: at the end the nodes' root "
        f"mean square distance from it is at most {SETTLED:g} of the predicted error of the "
        "reports).",
        "theory",
        graded(share <= SETTLED for share in shares.values()),
        f"After {iterations:,} iterations: {listed}.",
    )


def gossip_error(run: Run) -> float:
    """Return how far nodes end from the statistic of their reports, a root mean square."""
    assert run.private_values is not None
    return float(np.sqrt(np.mean((run.estimates - run.private_values[:, None]) ** 2)))


def _size(run: Run) -> float:
    assert run.privacy_error is not None
    return run.privacy_error.size
