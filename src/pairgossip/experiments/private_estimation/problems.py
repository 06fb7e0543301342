"""The private statistics of real data that are drawn many times, and what theory says of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.random import SeedSequence

from pairgossip.arrays import FloatArray
from pairgossip.datasets import breast_cancer_wisconsin, engel
from pairgossip.experiments.networks import income_quantiles
from pairgossip.privacy import PrivatePairs, RandomizedResponse, advise_bins
from pairgossip.privacy.debiased import expect

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


def drawn(problem: PrivatePairs, draws: int, seed: int) -> Mapping[str, Any]:
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


def drawn_by_size(nodes: int, epsilon: float, draws: int, seed: int) -> Mapping[str, Any]:
    """The same for the quantiles of the incomes: the same distribution at any size."""
    return drawn(income_problem(income_quantiles(nodes), epsilon), draws, seed)


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
