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
    geometric_grid,
)
from pairgossip.experiments.framework.figures import Panel, Sheet
from pairgossip.experiments.framework.section import Cell, Picture, Section, Table
from pairgossip.experiments.paper_setup import FRANCS, income_quantiles, network
from pairgossip.experiments.private_estimation.findings import (
    INCOME_BINS,
    INCOME_RANGE,
    SCORE_BINS,
    TARGET,
    ByEpsilon,
    BySize,
    Drawn,
    bin_choice,
    bins_claim,
    draw_reports,
    draw_reports_by_size,
    error_at,
    gossip_claim,
    households,
    income_problem,
    is_judged,
    own_pairs,
    own_pairs_claim,
    predicted_claim,
    score_problem,
    size_claim,
    squared_error,
    unbiased_claim,
)
from pairgossip.privacy import RandomizedResponse
from pairgossip.results import Run
from pairgossip.results.curves import COLORS


def epsilon_picture(statistics: Mapping[str, ByEpsilon]) -> Picture:
    """Draw measured errors and the parts of their prediction against epsilon."""
    sheet = Sheet(len(statistics))
    for panel, (name, cases) in zip(sheet.panels, statistics.items(), strict=True):
        _draw_epsilons(panel, name, cases)
    sheet.add_legend(3, sheet.panels[-1])
    sheet.figure.set_size_inches(9.6, 4.6)
    draws = len(next(iter(next(iter(statistics.values())).values()))["values"])
    return Picture(
        "epsilon",
        f"Error of the debiased statistic of all reports against epsilon: {draws} draws of the "
        "reports (dots) and what is predicted from the data before any draw (lines).",
        sheet,
    )


def _draw_epsilons(panel: Panel, name: str, cases: ByEpsilon) -> None:
    epsilons, found = np.array(list(cases)), list(cases.values())
    noise, bias = (np.array([c[k] for c in found]) for k in ("standard_error", "binning_bias"))
    panel.plot(epsilons, np.hypot(noise, bias), "predicted error", COLORS[0])
    panel.plot(epsilons, noise, "of it, noise of the reports", COLORS[2], ":")
    panel.plot(epsilons, np.abs(bias), "of it, bias of the bins", COLORS[4], "--")
    judged = np.array([is_judged(c, is_ratio=name == "AUC") for c in found])
    mean, uncertain, _ = np.array([squared_error(c) for c in found]).T
    root = np.sqrt(mean)
    draw = partial(panel.plot, color=COLORS[1], style="o", markersize=5)
    error, label = (2 * uncertain / (2 * root))[judged], "measured, ± 2 standard errors"
    draw(epsilons[judged], root[judged], label, error=error, capsize=2)
    if not judged.all():
        label = "measured, too noisy to be judged"
        draw(epsilons[~judged], root[~judged], label, mfc="none")
    size = abs(found[0]["exact"])
    panel.level(size, "the value itself", "#888888", linewidth=0.8, legend=False)
    panel.axes.annotate(
        "the value itself", (epsilons[-1], size), ha="right", va="bottom", fontsize="small",
        color="#666666",
    )  # fmt: skip
    unit = FRANCS if name == "Gini" else "AUC"
    people = f"{name}, {found[0]['n']} people"
    panel.finish("epsilon", f"root mean square error ({unit})", people, y_log=True, legend=False)
    panel.number_ticks(list(cases))


def size_picture(by_size: BySize) -> Picture:
    """Draw the error against the number of people, as measured and predicted."""
    sheet, panel = _single_panel()
    for color, (epsilon, cases) in zip(COLORS, by_size.items(), strict=False):
        sizes, found = list(cases), list(cases.values())
        predicted = [c["standard_error"] for c in found]
        measured = [np.std(c["values"]) for c in found]
        panel.plot(sizes, predicted, f"predicted, epsilon {epsilon:g}", color)
        panel.plot(sizes, measured, f"measured, epsilon {epsilon:g}", color, "o")
    ends = np.array([sizes[0], sizes[-1]], dtype=float)
    guide = 0.5 * predicted[-1] * np.sqrt(ends[-1] / ends)
    panel.plot(ends, guide, "slope -1/2", "#000000", linewidth=0.9)
    panel.finish("people n", f"standard error ({FRANCS})", "Gini's mean difference", y_log=True)
    return Picture(
        "people",
        "Standard deviation of the debiased statistic over draws of the reports (dots) and its "
        "exact prediction (lines), for n quantiles of the incomes. Where people are few, a part "
        "in 1/n adds to the one in 1/sqrt(n).",
        sheet,
    )


def bins_picture(choices: Mapping[float, Drawn]) -> Picture:
    """Draw the predicted error against the number of bins, with what was advised."""
    sheet, panel = _single_panel()
    marks = (("by_sample", "o", 7, "by a sample"), ("by_uniform", "x", 8, "without"))
    for color, (epsilon, choice) in zip(COLORS, choices.items(), strict=False):
        panel.plot(choice["candidates"], choice["errors"], f"epsilon {epsilon:g}", color)
        for key, marker, size, how in marks:
            bins, label = choice[key], f"epsilon {epsilon:g}: advised {how}"
            y = [error_at(choice, bins)]
            panel.plot([bins], y, label, color, marker, markersize=size, legend=False)
    for _, marker, size, how in marks:
        panel.legend_entry(f"advised {how}", "gray", marker, markersize=size)
    panel.finish("bins", f"predicted error ({FRANCS})", "Gini's mean difference", y_log=True)
    panel.number_ticks((2, 4, 8, 16, 32, 64, 128, 256))
    people = next(iter(choices.values()))["n"]
    return Picture(
        "bins",
        f"Error predicted for {people} households against the number of bins; advised by the "
        "incomes of other households (dots), and for values spread evenly over the range "
        "(crosses).",
        sheet,
    )


def gossip_picture(runs: Mapping[str, Run]) -> Picture:
    """Draw how the nodes' mean approaches the statistic of the reports, and not the truth."""
    sheet, panel = _single_panel()
    for color, (name, run) in zip(COLORS, runs.items(), strict=False):
        assert run.private_values is not None
        apart = np.sqrt(np.mean((run.trial_mean - run.private_values[:, None]) ** 2, axis=0))
        panel.plot(run.iterations, run.error, f"{name}: from the true value", color)
        panel.plot(run.iterations, apart, f"{name}: mean from the reports'", color, "--")
    first = next(iter(runs.values()))
    assert first.privacy_error is not None
    size = first.privacy_error.size
    panel.level(size, "predicted error of the reports", "#444444", "-.", linewidth=1)
    unit = f"root mean square distance ({FRANCS})"
    panel.finish("iterations", unit, "gossip on reports", y_log=True)
    return Picture(
        "gossip",
        f"{first.trials} trials, each with reports of its own: errors of the nodes to the true "
        "value (solid) end at what the reports are off, while the network's mean goes on towards "
        "the statistic of the reports (dashed).",
        sheet,
    )


def _single_panel() -> tuple[Sheet, Panel]:
    sheet = Sheet(1)
    sheet.figure.set_size_inches(6.0, 4.2)
    return sheet, sheet.panels[0]


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
REPEATS = 2
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
            by_size = partial(draw_reports_by_size, size, epsilon, several, plan.seed)
            found.append(Computation(f"size-{epsilon:g}-{size}", by_size))
    own = plan.choose(OWN_DRAWS, QUICK_OWN_DRAWS)
    owning = partial(own_pairs, OWN_PEOPLE, OWN_EPSILON, OWN_BINS, own, plan.seed)
    found.append(Computation("own-pairs", owning))
    found += [
        Simulation(f"gossip-{name}", last, plan.repeat(REPEATS), partial(_run, name, last, plan))
        for name in GRAPHS
    ]
    return found


def _gini(epsilon: float, draws: int, seed: int) -> Mapping[str, Any]:
    return draw_reports(income_problem(households(), epsilon), draws, seed)


def _auc(epsilon: float, draws: int, seed: int) -> Mapping[str, Any]:
    return draw_reports(score_problem(epsilon), draws, seed)


def _run(name: str, last: int, plan: Plan, **how: Any) -> Run:
    return estimate(
        income_quantiles(NODES),
        "gini",
        network(name, NODES, plan.seed),
        privacy=RandomizedResponse(GOSSIP_EPSILON, INCOME_BINS, INCOME_RANGE),
        target=TARGET,
        iterations=last,
        checkpoints=geometric_grid(10, last, CHECKPOINTS),
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
