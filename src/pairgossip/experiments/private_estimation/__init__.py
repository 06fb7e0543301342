"""Local differential privacy: what reports cost, by epsilon, people and bins, on real data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from pairgossip.estimation import estimate
from pairgossip.experiments.framework.experiment import (
    Case,
    Computation,
    Experiment,
    Plan,
    Simulation,
)
from pairgossip.experiments.framework.section import Cell, Section, Table
from pairgossip.experiments.networks import income_quantiles, network
from pairgossip.experiments.private_estimation.claims import (
    bins_claim,
    error_at,
    gossip_claim,
    own_pairs_claim,
    predicted_claim,
    size_claim,
    squared_error,
    unbiased_claim,
)
from pairgossip.experiments.private_estimation.figures import (
    bins_picture,
    epsilon_picture,
    gossip_picture,
    size_picture,
)
from pairgossip.experiments.private_estimation.problems import (
    INCOME_BINS,
    INCOME_RANGE,
    SCORE_BINS,
    TARGET,
    bin_choice,
    drawn,
    drawn_by_size,
    households,
    income_problem,
    own_pairs,
    score_problem,
)
from pairgossip.privacy import RandomizedResponse
from pairgossip.results import Run

EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
QUICK_BIN_EPSILONS = (1.0, 8.0)
SIZES = (100, 250, 600, 1600, 4000, 10_000)
SIZE_EPSILONS = (1.0, 4.0)
DRAWS, QUICK_DRAWS = 1000, 250
SIZE_DRAWS, QUICK_SIZE_DRAWS = 500, 100
"""A standard deviation needs fewer draws than the mean of squares, which has heavy tails."""
OWN_PEOPLE, OWN_EPSILON, OWN_BINS = 16, 1.0, 4
OWN_DRAWS, QUICK_OWN_DRAWS = 4000, 1000
GRAPHS = ("complete", "watts-strogatz")
NODES, GOSSIP_EPSILON = 49, 4.0
LENGTHS = (200_000, 40_000)
"""Iterations, in full and quick."""
TRIALS_PER_TRIAL = 2
CHECKPOINTS = 25


def _cases(plan: Plan) -> Sequence[Case]:
    draws = plan.choose(DRAWS, QUICK_DRAWS)
    last = plan.choose(*LENGTHS)
    found: list[Case] = []
    for epsilon in EPSILONS:
        found += [
            Computation(f"gini-{epsilon:g}", partial(_gini, epsilon, draws, plan.seed)),
            Computation(f"auc-{epsilon:g}", partial(_auc, epsilon, draws, plan.seed)),
        ]
    for epsilon in QUICK_BIN_EPSILONS if plan.quick else EPSILONS:
        found.append(Computation(f"bins-{epsilon:g}", partial(bin_choice, epsilon)))
    several = plan.choose(SIZE_DRAWS, QUICK_SIZE_DRAWS)
    for epsilon in SIZE_EPSILONS:
        for size in SIZES:
            by_size = partial(drawn_by_size, size, epsilon, several, plan.seed)
            found.append(Computation(f"size-{epsilon:g}-{size}", by_size))
    own = plan.choose(OWN_DRAWS, QUICK_OWN_DRAWS)
    owning = partial(own_pairs, OWN_PEOPLE, OWN_EPSILON, OWN_BINS, own, plan.seed)
    found.append(Computation("own-pairs", owning))
    found += [
        Simulation(
            f"gossip-{name}", last, TRIALS_PER_TRIAL * plan.trials, partial(_run, name, last, plan)
        )
        for name in GRAPHS
    ]
    return found


def _gini(epsilon: float, draws: int, seed: int) -> Mapping[str, Any]:
    return drawn(income_problem(households(), epsilon), draws, seed)


def _auc(epsilon: float, draws: int, seed: int) -> Mapping[str, Any]:
    return drawn(score_problem(epsilon), draws, seed)


def _run(name: str, last: int, plan: Plan, **how: Any) -> Run:
    return estimate(
        income_quantiles(NODES),
        "gini",
        network(name, NODES, plan.seed),
        privacy=RandomizedResponse(GOSSIP_EPSILON, INCOME_BINS, INCOME_RANGE),
        target=TARGET,
        iterations=last,
        checkpoints=np.unique(np.rint(np.geomspace(10, last, CHECKPOINTS)).astype(int)),
        record="summary",
        seed=plan.seed,
        **how,
    )


def _report(results: Mapping[str, Any]) -> Section:
    statistics = {
        "Gini": {epsilon: results[f"gini-{epsilon:g}"] for epsilon in EPSILONS},
        "AUC": {epsilon: results[f"auc-{epsilon:g}"] for epsilon in EPSILONS},
    }
    choices = {
        epsilon: results[f"bins-{epsilon:g}"]
        for epsilon in EPSILONS
        if f"bins-{epsilon:g}" in results
    }
    by_size = {
        epsilon: {size: results[f"size-{epsilon:g}-{size}"] for size in SIZES}
        for epsilon in SIZE_EPSILONS
    }
    runs: dict[str, Run] = {name: results[f"gossip-{name}"] for name in GRAPHS}
    return Section(
        [_about(statistics)],
        [
            epsilon_picture(statistics),
            size_picture(by_size),
            bins_picture(choices),
            gossip_picture(runs),
        ],
        [_error_table(statistics), _bins_table(choices)],
        [
            predicted_claim(statistics),
            unbiased_claim(statistics["Gini"]),
            own_pairs_claim(results["own-pairs"]),
            bins_claim(choices),
            size_claim(by_size),
            gossip_claim(runs),
        ],
    )


def _about(statistics: Mapping[str, Mapping[float, Any]]) -> str:
    gini, auc = (next(iter(cases.values())) for cases in statistics.values())
    useful = {
        name: min(
            (eps for eps, case in cases.items() if squared_error(case)[2] < 0.01 * _square(case)),
            default=None,
        )
        for name, cases in statistics.items()
    }
    spoken = {
        name: f"from epsilon {eps:g} on" if eps is not None else "at no epsilon tried"
        for name, eps in useful.items()
    }
    return (
        f"Every person reports once, by randomized response: an income of {gini['n']} households "
        f"in {INCOME_BINS} bins, or the mean of nine cell features of {auc['n']} tumors in "
        f"{SCORE_BINS} bins together with the diagnosis. The predicted error is below a tenth of "
        f"the value {spoken['Gini']} for Gini's mean difference and {spoken['AUC']} for the AUC: "
        "with few people, local privacy is costly."
    )


def _square(case: Mapping[str, Any]) -> float:
    return float(case["exact"]) ** 2


def _error_table(statistics: Mapping[str, Mapping[float, Any]]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for name, cases in statistics.items():
        for epsilon, case in cases.items():
            measured, uncertain, predicted = squared_error(case)
            root = float(np.sqrt(measured))
            rows.append(
                (
                    name,
                    epsilon,
                    float(case["exact"]),
                    float(case["binning_bias"]),
                    float(case["standard_error"]),
                    float(np.sqrt(predicted)),
                    root,
                    float(uncertain / (2 * root)),
                )
            )
    return Table(
        "Error of the reports' statistic",
        (
            *("statistic", "epsilon", "true value", "bias of the bins", "standard error"),
            *("predicted error", "measured error", "its standard error"),
        ),
        rows,
        "Errors are root mean squares. The standard error of the AUC is that of the linearized "
        "quotient, which is no prediction where it is large.",
    )


def _bins_table(choices: Mapping[float, Mapping[str, Any]]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for epsilon, choice in choices.items():
        best = int(choice["candidates"][int(np.argmin(choice["errors"]))])
        advised = [int(choice[name]) for name in ("by_sample", "by_uniform", "rule_of_thumb")]
        ratios = [error_at(choice, bins) / min(choice["errors"]) for bins in advised[:2]]
        rows.append((epsilon, best, *advised, *ratios))
    return Table(
        "Numbers of bins",
        (
            *("epsilon", "best", "advised by a sample", "advised without", "rule of thumb"),
            *("error by a sample / best", "error without / best"),
        ),
        rows,
        "Errors are predicted ones, for half of the households; the other half is the sample.",
    )


PRIVATE = Experiment(
    "private-estimation",
    "Private estimation",
    "How far off is a pairwise statistic if every person sends one randomized report, and is it as "
    "far as theory predicts?",
    _cases,
    _report,
)
