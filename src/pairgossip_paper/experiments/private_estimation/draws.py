"""The runs of "private-estimation": private statistics of real data, drawn many times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.random import SeedSequence

from pairgossip.arrays import FloatArray
from pairgossip.datasets import breast_cancer_wisconsin, engel
from pairgossip.estimation import estimate
from pairgossip.privacy import PrivatePairs, RandomizedResponse, advise_bins
from pairgossip.privacy.debiased import expect
from pairgossip_paper.framework import Arguments, Case, Computation, Facts, Plan, geometric_grid
from pairgossip_paper.paper_setup import income_quantiles, network

_INCOME_RANGE = (0.0, 5000.0)
"""Declared range of a year's income of a working-class household, in Belgian francs."""
_SCORE_RANGE = (1.0, 10.0)
"""Range of all nine features, which are grades, and so of their mean."""
INCOME_BINS, SCORE_BINS = 8, 6
_TARGET = "u"
_DRAWING = 6
"""The child of the seed that draws reports."""
EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
_QUICK_BIN_EPSILONS = (1.0, 8.0)
SIZES = (100, 250, 600, 1600, 4000, 10_000)
SIZE_EPSILONS = (1.0, 4.0)
_DRAWS = (1000, 250)
"""Numbers of draws in a full and in a quick run."""
_SIZE_DRAWS = (500, 100)
"""Draws for a standard deviation, which needs fewer than a mean of heavy-tailed squares."""
_OWN_PEOPLE, _OWN_EPSILON, _OWN_BINS = 16, 1.0, 4
_OWN_DRAWS = (4000, 1000)
GRAPHS = ("complete", "watts-strogatz")
_NODES, _GOSSIP_EPSILON = 49, 4.0
_LENGTHS = (200_000, 40_000)
"""Iterations of a full and of a quick run."""
_REPEATS = 2
_CHECKPOINTS = 25


def cases(plan: Plan) -> Sequence[Case]:
    """List the draws, computations and simulations."""
    draws, last, seed = plan.choose(*_DRAWS), plan.choose(*_LENGTHS), plan.seed
    several, own = plan.choose(*_SIZE_DRAWS), plan.choose(*_OWN_DRAWS)
    households = engel()["income"]
    computed = {}
    for epsilon in EPSILONS:
        gini, auc = partial(_income_problem, households, epsilon), partial(_score_problem, epsilon)
        computed[f"gini-{epsilon:g}"] = partial(_draw_reports, gini, draws, seed)
        computed[f"auc-{epsilon:g}"] = partial(_draw_reports, auc, draws, seed)
    for epsilon in _QUICK_BIN_EPSILONS if plan.quick else EPSILONS:
        computed[f"bins-{epsilon:g}"] = partial(_choose_bins, epsilon)
    for epsilon in SIZE_EPSILONS:
        for size in SIZES:
            # Incomes have the same distribution at any size.
            problem = partial(_income_problem, income_quantiles(size), epsilon)
            computed[f"size-{epsilon:g}-{size}"] = partial(_draw_reports, problem, several, seed)
    computed["own-pairs"] = partial(_draw_own_pairs, own, seed)
    simulations = [
        plan.simulate(
            f"gossip-{name}",
            estimate,
            partial(_gossip_problem, name, seed),
            last,
            plan.repeat(_REPEATS),
            privacy=RandomizedResponse(_GOSSIP_EPSILON, INCOME_BINS, _INCOME_RANGE),
            target=_TARGET,
            checkpoints=geometric_grid(10, last, _CHECKPOINTS),
            record="summary",
        )
        for name in GRAPHS
    ]
    return [*(Computation(name, compute) for name, compute in computed.items()), *simulations]


def _income_problem(values: FloatArray, epsilon: float, bins: int = INCOME_BINS) -> PrivatePairs:
    """Return Gini's mean difference of incomes, from one report per household."""
    mechanism = RandomizedResponse(epsilon, bins, _INCOME_RANGE)
    return PrivatePairs(values, "gini", mechanism, _TARGET)


def _score_problem(epsilon: float) -> PrivatePairs:
    """Return the AUC of the mean of nine cell features, from reports of score and diagnosis."""
    features, diagnosis = breast_cancer_wisconsin()
    mechanism = RandomizedResponse(epsilon, SCORE_BINS, _SCORE_RANGE, classes=(0, 1))
    return PrivatePairs(features.mean(axis=1), "auc", mechanism, _TARGET, diagnosis)


def _gossip_problem(name: str, seed: int) -> Arguments:
    graph = network(name, _NODES, seed)
    return {"data": income_quantiles(_NODES), "kernel": "gini", "graph": graph}


def _draw_reports(make: Callable[[], PrivatePairs], draws: int, seed: int) -> Facts:
    """Draw all reports many times; return their statistics and the predictions for them."""
    problem = make()
    exact = problem.exact()
    predicted = problem.predicted_error(exact)
    return {
        "n": problem.n,
        "exact": exact,
        "standard_error": predicted.standard_error,
        "binning_bias": predicted.binning_bias,
        "values": [problem.for_trial(child).exact() for child in _seeds(seed, draws)],
    }


def _draw_own_pairs(draws: int, seed: int) -> Facts:
    """Draw V-statistics with and without the rule for a node that holds its own report."""
    mechanism = RandomizedResponse(_OWN_EPSILON, _OWN_BINS, _INCOME_RANGE)
    problem = PrivatePairs(income_quantiles(_OWN_PEOPLE), "gini", mechanism, "v")
    table, exact = problem.debiased.tables[0], problem.exact()
    aware, naive = [], []
    for child in _seeds(seed, draws):
        trial = problem.for_trial(child)
        aware.append(trial.exact())
        naive.append(table[np.ix_(trial.cells, trial.cells)].mean())
    # The debiased kernel of a report with itself, and the true kernel of its own pair.
    cells = mechanism.flat(mechanism.encode(problem.data))
    pretended = expect(mechanism, np.diagonal(table), 0)[cells].mean()
    worth = np.diagonal(problem.debiased.cell_tables[0])[cells].mean()
    expected = exact + problem.predicted_error(exact).binning_bias
    return {
        "n": _OWN_PEOPLE,
        "expected": expected,
        "naive_expected": expected + (pretended - worth) / _OWN_PEOPLE,
        "aware": aware,
        "naive": naive,
    }


def _choose_bins(epsilon: float) -> Facts:
    """Choose bins for half of the households by the incomes of the other half, taken as public."""
    households = engel()["income"]
    public, private = households[::2], households[1::2]
    advise = partial(advise_bins, len(private), epsilon, "gini", _INCOME_RANGE, target=_TARGET)
    by_sample, by_uniform = advise(sample=public), advise()
    candidates = sorted({*by_sample.candidates.tolist(), *by_uniform.candidates.tolist()})
    problems = [_income_problem(private, epsilon, bins) for bins in candidates]
    errors = [problem.predicted_error(problem.exact()).size for problem in problems]
    return {
        "n": len(private),
        "epsilon": epsilon,
        "candidates": candidates,
        "errors": errors,
        "by_sample": by_sample.bins,
        "by_uniform": by_uniform.bins,
        "rule_of_thumb": by_sample.rule_of_thumb,
    }


def _seeds(seed: int, draws: int) -> list[SeedSequence]:
    return SeedSequence(seed, spawn_key=(_DRAWING,)).spawn(draws)
