"""Local differential privacy: the cost of reports, by epsilon, people and bins, on real data.

The rules of the claims were fixed before the first draw.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from pairgossip.results import Run
from pairgossip.results.curves import COLORS
from pairgossip_paper import framework as fw
from pairgossip_paper.experiments.private_estimation.draws import (
    EPSILONS,
    GRAPHS,
    INCOME_BINS,
    SCORE_BINS,
    SIZE_EPSILONS,
    SIZES,
    cases,
)
from pairgossip_paper.framework.figures import Panel, Sheet
from pairgossip_paper.framework.paper import cite
from pairgossip_paper.paper_setup import FRANCS

_STANDARD_ERRORS = 4.0
"""Largest distance of a mean from its expectation put down to chance, in standard errors."""
_LINEAR_ERROR = 0.1
"""Largest predicted standard error of a ratio at which its linearization is judged."""
_ADVICE_RATIO = 1.25
"""Largest ratio of the error at the advised number of bins to the smallest error."""
_SLOPE_TOLERANCE = 0.1
"""Largest distance of a fitted exponent from -1/2."""
_LEAST_PEOPLE = 1000
"""Least number of people in the fit of the exponent; with fewer, the part in 1/n matters."""
_SETTLED_SHARE = 0.25
"""Largest distance of gossip from its reports' statistic, as a share of their predicted error."""

_SINGLE = (6.0, 4.2)
"""The size of a figure of one panel, in inches."""

_ByEpsilon = Mapping[float, fw.Facts]
_BySize = Mapping[float, Mapping[int, fw.Facts]]


def _report(results: fw.Results) -> fw.Section:
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
    return fw.Section(
        _headline(statistics),
        [_about(statistics)],
        [
            _epsilon_picture(statistics),
            _size_picture(by_size),
            _bins_picture(choices),
            _gossip_picture(runs),
        ],
        [_error_table(statistics), _bins_table(choices)],
        [
            _predicted_claim(statistics),
            _unbiased_claim(statistics["Gini"]),
            _own_pairs_claim(results["own-pairs"]),
            _bins_claim(choices),
            _size_claim(by_size),
            _gossip_claim(runs),
        ],
    )


def _headline(statistics: Mapping[str, _ByEpsilon]) -> str:
    useful = {
        name: min(
            (
                eps
                for eps, case in drawn.items()
                if _squared_error(case)[2] < 0.01 * case["exact"] ** 2
            ),
            default=None,
        )
        for name, drawn in statistics.items()
    }
    spoken = {
        name: f"from epsilon {eps:g} on" if eps is not None else "at no epsilon tried"
        for name, eps in useful.items()
    }
    return (
        "With one randomized report per person (the smaller epsilon, the more private), the "
        f"predicted error is below a tenth of the statistic {spoken['Gini']} for Gini's mean "
        f"difference and {spoken['AUC']} for the AUC: with few people, local privacy is costly."
    )


def _about(statistics: Mapping[str, _ByEpsilon]) -> str:
    gini, auc = (next(iter(drawn.values())) for drawn in statistics.values())
    return (
        f"Every person reports once, by randomized response: an income of {gini['n']} households "
        f"in {INCOME_BINS} bins, or the mean of nine cell features of {auc['n']} tumors in "
        f"{SCORE_BINS} bins together with the diagnosis."
    )


def _mean_and_error(values: Any) -> tuple[float, float]:
    """Return a mean and its standard error."""
    array = np.asarray(values)
    return float(array.mean()), float(array.std(ddof=1) / np.sqrt(len(array)))


def _squared_error(case: fw.Facts) -> tuple[float, float, float]:
    """Return the mean squared error, its standard error, and the predicted value."""
    errors = (np.array(case["values"]) - case["exact"]) ** 2
    return *_mean_and_error(errors), case["standard_error"] ** 2 + case["binning_bias"] ** 2


def _is_judged(case: fw.Facts, *, is_ratio: bool) -> bool:
    """Return whether the prediction is exact, or a linearization at a small enough error."""
    return not is_ratio or case["standard_error"] <= _LINEAR_ERROR


def _error_table(statistics: Mapping[str, _ByEpsilon]) -> fw.Table:
    records: list[dict[str, fw.Cell]] = []
    for name, drawn in statistics.items():
        for epsilon, case in drawn.items():
            measured, uncertain, predicted = _squared_error(case)
            root = np.sqrt(measured)
            records.append(
                {
                    "statistic": name,
                    "epsilon": epsilon,
                    "true value": case["exact"],
                    "bias of the bins": case["binning_bias"],
                    "standard error": case["standard_error"],
                    "predicted error": np.sqrt(predicted),
                    "measured error": root,
                    "its standard error": uncertain / (2 * root),
                }
            )
    return fw.Table.from_records(
        "Error of the reports' statistic",
        records,
        "Errors are root mean squares. The standard error of the AUC is that of the linearized "
        "quotient, which is no prediction where it is large.",
    )


def _bins_table(choices: _ByEpsilon) -> fw.Table:
    records: list[dict[str, fw.Cell]] = []
    for epsilon, choice in choices.items():
        by_sample, by_uniform = choice["by_sample"], choice["by_uniform"]
        smallest = min(choice["errors"])
        records.append(
            {
                "epsilon": epsilon,
                "best": choice["candidates"][int(np.argmin(choice["errors"]))],
                "advised by a sample": by_sample,
                "advised without": by_uniform,
                "rule of thumb": choice["rule_of_thumb"],
                "error by a sample / best": _error_at(choice, by_sample) / smallest,
                "error without / best": _error_at(choice, by_uniform) / smallest,
            }
        )
    return fw.Table.from_records(
        "Numbers of bins",
        records,
        "Errors are predicted ones, for half of the households; the other half is the sample.",
    )


def _predicted_claim(statistics: Mapping[str, _ByEpsilon]) -> fw.Claim:
    apart, left_out = {}, 0
    for name, by_epsilon in statistics.items():
        for epsilon, case in by_epsilon.items():
            if not _is_judged(case, is_ratio=name == "AUC"):
                left_out += 1
                continue
            measured, uncertain, predicted = _squared_error(case)
            apart[f"{name}, {epsilon:g}"] = abs(measured - predicted) / uncertain
    return fw.check(
        "error-predicted",
        "The mean squared error of the reports' statistic is the squared bias of binning plus the "
        f"conditional variance (rule: within {_STANDARD_ERRORS:g} standard errors at every "
        "epsilon; the AUC, whose variance is linearized, where its predicted standard error is at "
        f"most {_LINEAR_ERROR:g}).",
        "theory",
        apart,
        fw.at_most(_STANDARD_ERRORS),
        "{passed} of {judged} settings are within; the furthest is {high:.2f} standard errors off. "
        "{left_out} settings of the AUC are too noisy to be judged.",
        left_out=left_out,
    )


def _unbiased_claim(by_epsilon: _ByEpsilon) -> fw.Claim:
    apart = {}
    for epsilon, case in by_epsilon.items():
        mean, uncertain = _mean_and_error(case["values"])
        apart[f"{epsilon:g}"] = abs(mean - case["exact"] - case["binning_bias"]) / uncertain
    return fw.check(
        "reports-unbiased",
        "Debiased statistics of reports are unbiased for the statistic of the cells (rule: within "
        f"{_STANDARD_ERRORS:g} standard errors at every epsilon, Gini's mean difference).",
        "theory",
        apart,
        fw.at_most(_STANDARD_ERRORS),
        "The mean over draws is at most {high:.2f} standard errors off.",
    )


def _own_pairs_claim(case: fw.Facts) -> fw.Claim:
    aware, aware_error = _mean_and_error(case["aware"])
    naive, naive_error = _mean_and_error(case["naive"])
    unbiased = abs(aware - case["expected"]) <= _STANDARD_ERRORS * aware_error
    biased = abs(naive - case["expected"]) > _STANDARD_ERRORS * naive_error
    predicted = abs(naive - case["naive_expected"]) <= _STANDARD_ERRORS * naive_error
    return fw.Claim(
        "own-report",
        "Randomized response combines with gossip only if own pairs have a rule of their own: "
        "debiased at a node's own report as at any other, the `V`-statistic is biased, by a "
        "known amount, and it is unbiased with the debiased own pair (rule: "
        f"{_STANDARD_ERRORS:g} standard errors).",
        f"theory, about a question that is open in the {cite('679-682')}",
        fw.grade([unbiased, biased, predicted]),
        f"{case['n']} people, {len(case['aware'])} draws: expected {case['expected']:.4g}; with "
        f"the rule {aware:.4g} ± {aware_error:.2g}; without it {naive:.4g} ± {naive_error:.2g}, "
        f"where {case['naive_expected']:.4g} is predicted.",
    )


def _bins_claim(choices: _ByEpsilon) -> fw.Claim:
    ratios = {
        f"{epsilon:g}": _error_at(choice, choice["by_sample"]) / min(choice["errors"])
        for epsilon, choice in choices.items()
    }
    listed = ", ".join(f"{ratio:.2f} at epsilon {epsilon}" for epsilon, ratio in ratios.items())
    return fw.check(
        "bins-advised",
        "The number of bins advised for a public sample is nearly the best for the private data "
        f"(rule: its error is at most {_ADVICE_RATIO:g} times the smallest on the grid, at every "
        "epsilon).",
        "theory",
        ratios,
        fw.at_most(_ADVICE_RATIO),
        f"Its error relative to the smallest: {listed}.",
    )


def _error_at(choice: fw.Facts, bins: int) -> float:
    """Return the predicted error at a number of bins of the grid."""
    return float(choice["errors"][list(choice["candidates"]).index(bins)])


def _size_claim(by_size: _BySize) -> fw.Claim:
    slopes = {}
    for epsilon, drawn in by_size.items():
        sizes = [size for size in drawn if size >= _LEAST_PEOPLE]
        spreads = [np.std(drawn[size]["values"]) for size in sizes]
        slopes[f"{epsilon:g}"] = fw.fit_power_law(sizes, spreads).slope
    listed = ", ".join(f"{slope:.3f} at epsilon {epsilon}" for epsilon, slope in slopes.items())
    return fw.check(
        "noise-in-n",
        "The noise of reports falls like `1/sqrt(n)` (rule: the exponent of the measured standard "
        f"deviation over sizes from {_LEAST_PEOPLE:,} on is within {_SLOPE_TOLERANCE:g} of -1/2, "
        "at every epsilon).",
        "theory; Bell et al., as the paper cites them",
        slopes,
        fw.within(_SLOPE_TOLERANCE, of=-0.5),
        f"Fitted exponents: {listed}.",
    )


def _gossip_claim(runs: Mapping[str, Run]) -> fw.Claim:
    shares = {name: _gossip_share(run) for name, run in runs.items()}
    listed = ", ".join(f"{share:.3f} on the {name}" for name, share in shares.items())
    iterations = next(iter(runs.values())).iterations[-1]
    return fw.check(
        "gossip-on-reports",
        "Gossip on reports converges to their debiased statistic (rule: at the end the nodes' root "
        f"mean square distance from it is at most {_SETTLED_SHARE:g} of the predicted error of the "
        "reports).",
        "theory",
        shares,
        fw.at_most(_SETTLED_SHARE),
        f"After {iterations:,} iterations: {listed}.",
    )


def _gossip_share(run: Run) -> float:
    """Return nodes' final distance from their reports' statistic, over the predicted error."""
    assert run.private_values is not None and run.privacy_error is not None
    apart = np.sqrt(np.mean((run.estimates - run.private_values[:, None]) ** 2))
    return float(apart) / run.privacy_error.size


def _epsilon_picture(statistics: Mapping[str, _ByEpsilon]) -> fw.Picture:
    sheet = Sheet(len(statistics), size=(9.6, 4.6))
    for panel, (name, drawn) in zip(sheet.panels, statistics.items(), strict=True):
        _draw_epsilons(panel, name, drawn)
    sheet.add_legend(3, sheet.panels[-1])
    draws = len(next(iter(next(iter(statistics.values())).values()))["values"])
    return fw.Picture(
        "epsilon",
        f"Error of the debiased statistic of all reports against epsilon: {draws} draws of the "
        "reports (dots) and the prediction from the data before any draw (lines).",
        sheet,
    )


def _draw_epsilons(panel: Panel, name: str, drawn: _ByEpsilon) -> None:
    epsilons, settings = np.array(list(drawn)), list(drawn.values())
    noise, bias = (np.array([c[k] for c in settings]) for k in ("standard_error", "binning_bias"))
    panel.plot(epsilons, np.hypot(noise, bias), "predicted error", COLORS[0])
    panel.plot(epsilons, noise, "noise of the reports in it", COLORS[2], ":")
    panel.plot(epsilons, np.abs(bias), "bias of the bins in it", COLORS[4], "--")
    judged = np.array([_is_judged(c, is_ratio=name == "AUC") for c in settings])
    mean, uncertain, _ = np.array([_squared_error(c) for c in settings]).T
    root = np.sqrt(mean)
    draw = partial(panel.plot, color=COLORS[1], style="o", markersize=5)
    error, label = (2 * uncertain / (2 * root))[judged], "measured, ± 2 standard errors"
    draw(epsilons[judged], root[judged], label, error=error, capsize=2)
    if not judged.all():
        label = "measured, too noisy to be judged"
        draw(epsilons[~judged], root[~judged], label, mfc="none")
    size = abs(settings[0]["exact"])
    panel.level(size, "the value itself", "#888888", linewidth=0.8, legend=False)
    panel.axes.annotate(
        "the value itself", (epsilons[-1], size), ha="right", va="bottom", fontsize="small",
        color="#666666",
    )  # fmt: skip
    unit = FRANCS if name == "Gini" else "AUC"
    title = f"{name}, {settings[0]['n']} people"
    panel.finish("epsilon", f"root mean square error ({unit})", title)
    panel.number_ticks(list(drawn))


def _size_picture(by_size: _BySize) -> fw.Picture:
    sheet = Sheet(1, size=_SINGLE)
    (panel,) = sheet.panels
    for color, (epsilon, drawn) in zip(COLORS, by_size.items(), strict=False):
        sizes, settings = list(drawn), list(drawn.values())
        predicted = [c["standard_error"] for c in settings]
        measured = [np.std(c["values"]) for c in settings]
        panel.plot(sizes, predicted, f"predicted, epsilon {epsilon:g}", color)
        panel.plot(sizes, measured, f"measured, epsilon {epsilon:g}", color, "o")
    ends = np.array([sizes[0], sizes[-1]], dtype=float)
    guide = 0.5 * predicted[-1] * np.sqrt(ends[-1] / ends)
    panel.plot(ends, guide, "slope -1/2", "#000000", linewidth=0.9)
    panel.finish("people n", f"standard error ({FRANCS})", "Gini's mean difference", legend=True)
    return fw.Picture(
        "people",
        "Standard deviation of the debiased statistic over draws of the reports (dots) and its "
        "exact prediction (lines), for `n` quantiles of the incomes. Where people are few, a part "
        "in `1/n` adds to the one in `1/sqrt(n)`.",
        sheet,
    )


def _bins_picture(choices: _ByEpsilon) -> fw.Picture:
    sheet = Sheet(1, size=_SINGLE)
    (panel,) = sheet.panels
    marks = (("by_sample", "o", 7, "by a sample"), ("by_uniform", "x", 8, "without"))
    for color, (epsilon, choice) in zip(COLORS, choices.items(), strict=False):
        panel.plot(choice["candidates"], choice["errors"], f"epsilon {epsilon:g}", color)
        for key, marker, size, how in marks:
            bins, label = choice[key], f"epsilon {epsilon:g}: advised {how}"
            y = [_error_at(choice, bins)]
            panel.plot([bins], y, label, color, marker, markersize=size, legend=False)
    for _, marker, size, how in marks:
        panel.legend_entry(f"advised {how}", "gray", marker, markersize=size)
    panel.finish("bins", f"predicted error ({FRANCS})", "Gini's mean difference", legend=True)
    panel.number_ticks((2, 4, 8, 16, 32, 64, 128, 256))
    people = next(iter(choices.values()))["n"]
    return fw.Picture(
        "bins",
        f"Error predicted for {people} households against the number of bins; advised by the "
        "incomes of other households (dots), and for values spread evenly over the range "
        "(crosses).",
        sheet,
    )


def _gossip_picture(runs: Mapping[str, Run]) -> fw.Picture:
    """Draw how the nodes' mean approaches the statistic of the reports, not the true one."""
    sheet = Sheet(1, size=_SINGLE)
    (panel,) = sheet.panels
    for color, (name, run) in zip(COLORS, runs.items(), strict=False):
        assert run.private_values is not None
        apart = np.sqrt(np.mean((run.trial_mean - run.private_values[:, None]) ** 2, axis=0))
        panel.plot(run.iterations, run.error, f"{name}: from the true value", color)
        panel.plot(run.iterations, apart, f"{name}: mean from the reports'", color, "--")
    first = next(iter(runs.values()))
    assert first.privacy_error is not None
    size = first.privacy_error.size
    panel.level(size, "predicted error of the reports", "#444444", "-.", linewidth=1)
    y = f"root mean square distance ({FRANCS})"
    panel.finish("iterations", y, "gossip on reports", legend=True)
    return fw.Picture(
        "gossip",
        f"{first.trials} trials, each with reports of its own: errors of the nodes to the true "
        "value (solid) end at the error of the reports, while the network's mean continues toward "
        "the statistic of the reports (dashed).",
        sheet,
    )


PRIVATE = fw.Experiment(
    "private-estimation",
    "Private estimation",
    "How far off is a pairwise statistic if every person sends one randomized report, and is it as "
    "far as theory predicts?",
    cases,
    _report,
    place=16,
)
