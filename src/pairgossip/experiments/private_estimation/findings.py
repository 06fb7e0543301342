"""Private statistics of real data, drawn many times, and what is claimed of them.

The rules of the claims were fixed before anything was drawn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.random import SeedSequence

from pairgossip.arrays import FloatArray
from pairgossip.datasets import breast_cancer_wisconsin, engel
from pairgossip.experiments.framework.experiment import Line, fit_power_law, grade
from pairgossip.experiments.framework.section import Claim
from pairgossip.experiments.paper_setup import income_quantiles
from pairgossip.privacy import PrivatePairs, RandomizedResponse, advise_bins
from pairgossip.privacy.debiased import expect
from pairgossip.results import Run

INCOME_RANGE = (0.0, 5000.0)
"""What a year's income of a working-class household may be, in Belgian francs."""
SCORE_RANGE = (1.0, 10.0)
"""All nine features are graded from 1 to 10, and so is their mean."""
INCOME_BINS, SCORE_BINS = 8, 6
TARGET = "u"
DRAWING = 6
"""The child of the seed that draws reports."""


def income_problem(values: FloatArray, epsilon: float, bins: int = INCOME_BINS) -> PrivatePairs:
    """Gini's mean difference of incomes, from one report per household."""
    mechanism = RandomizedResponse(epsilon, bins, INCOME_RANGE)
    return PrivatePairs(values, "gini", mechanism, TARGET)


def score_problem(epsilon: float) -> PrivatePairs:
    """The AUC of the mean of nine cell features, from one report of score and diagnosis each."""
    features, diagnosis = breast_cancer_wisconsin()
    mechanism = RandomizedResponse(epsilon, SCORE_BINS, SCORE_RANGE, classes=(0, 1))
    return PrivatePairs(features.mean(axis=1), "auc", mechanism, TARGET, diagnosis)


def households() -> FloatArray:
    """The incomes of all 235 households."""
    return engel()["income"]


def draw_reports(problem: PrivatePairs, draws: int, seed: int) -> Mapping[str, Any]:
    """Draw all reports many times; return their statistics beside what is predicted of them."""
    exact = problem.exact()
    predicted = problem.predicted_error(exact)
    return {
        "n": problem.n,
        "exact": exact,
        "standard_error": predicted.standard_error,
        "binning_bias": predicted.binning_bias,
        "values": [problem.for_trial(child).exact() for child in _seeds(seed, draws)],
    }


def draw_reports_by_size(nodes: int, epsilon: float, draws: int, seed: int) -> Mapping[str, Any]:
    """The same for the quantiles of the incomes: the same distribution at any size."""
    return draw_reports(income_problem(income_quantiles(nodes), epsilon), draws, seed)


def own_pairs(nodes: int, epsilon: float, bins: int, draws: int, seed: int) -> Mapping[str, Any]:
    """Draw V-statistics with and without the rule for a node that holds its own report."""
    mechanism = RandomizedResponse(epsilon, bins, INCOME_RANGE)
    problem = PrivatePairs(income_quantiles(nodes), "gini", mechanism, "v")
    table, exact = problem.debiased.tables[0], problem.exact()
    aware, naive = [], []
    for child in _seeds(seed, draws):
        trial = problem.for_trial(child)
        aware.append(trial.exact())
        naive.append(table[np.ix_(trial.cells, trial.cells)].mean())
    # What a report pretends of its own pair, and what its own pair is worth.
    cells = mechanism.flat(mechanism.encode(problem.data))
    pretended = expect(mechanism, np.diagonal(table), 0)[cells].mean()
    worth = np.diagonal(problem.debiased.cell_tables[0])[cells].mean()
    expected = exact + problem.predicted_error(exact).binning_bias
    return {
        "n": nodes,
        "expected": expected,
        "naive_expected": expected + (pretended - worth) / nodes,
        "aware": aware,
        "naive": naive,
    }


def bin_choice(epsilon: float) -> Mapping[str, Any]:
    """Choose bins by half of the households, whose incomes are public, for the other half."""
    incomes = households()
    public, private = incomes[::2], incomes[1::2]
    known = advise_bins(len(private), epsilon, "gini", INCOME_RANGE, target=TARGET, sample=public)
    blind = advise_bins(len(private), epsilon, "gini", INCOME_RANGE, target=TARGET)
    candidates = sorted({*known.candidates.tolist(), *blind.candidates.tolist()})
    errors = []
    for bins in candidates:
        problem = income_problem(private, epsilon, bins)
        errors.append(problem.predicted_error(problem.exact()).size)
    return {
        "n": len(private),
        "epsilon": epsilon,
        "candidates": candidates,
        "errors": errors,
        "by_sample": known.bins,
        "by_uniform": blind.bins,
        "rule_of_thumb": known.rule_of_thumb,
    }


def mean_and_error(values: Any) -> tuple[float, float]:
    """Return a mean and its standard error."""
    array = np.asarray(values)
    return float(array.mean()), float(array.std(ddof=1) / math.sqrt(len(array)))


def _seeds(seed: int, draws: int) -> list[SeedSequence]:
    return SeedSequence(seed, spawn_key=(DRAWING,)).spawn(draws)


ERRORS = 4.0
"""How many of its standard errors a mean may be off."""
LINEAR = 0.1
"""The delta method for a ratio is judged where it predicts at most this standard error."""
NEAR_BEST = 1.25
"""An advised number of bins is good if its error is at most this times the smallest."""
TOLERANCE = 0.1
"""How near a fitted exponent must be to -1/2."""
LARGE = 1000
"""The exponent is fitted from this many people on, where the part in 1/n has faded."""
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
        grade(distance <= ERRORS for distance in apart),
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
        grade(distance <= ERRORS for distance in apart),
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
        grade([unbiased, biased, known]),
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
        grade(ratio <= NEAR_BEST for ratio in ratios.values()),
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
        found[epsilon] = fit_power_law(sizes, [np.std(cases[size]["values"]) for size in sizes])
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
        grade(abs(line.slope + 0.5) <= TOLERANCE for line in lines.values()),
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
        grade(share <= SETTLED for share in shares.values()),
        f"After {iterations:,} iterations: {listed}.",
    )


def gossip_error(run: Run) -> float:
    """Return how far nodes end from the statistic of their reports, a root mean square."""
    assert run.private_values is not None
    return float(np.sqrt(np.mean((run.estimates - run.private_values[:, None]) ** 2)))


def _size(run: Run) -> float:
    assert run.privacy_error is not None
    return run.privacy_error.size
