"""Metric learning, one labeled point per node: the authors' mixture of 2016, and digits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from pairgossip.arrays import BoolArray, FloatArray
from pairgossip.text import format_count
from pairgossip_paper import framework as fw
from pairgossip_paper.experiments.metric_learning.metrics import (
    DIMENSIONS,
    HELD_OUT,
    INFORMATIVE,
    NEIGHBORS,
    MetricMeasures,
    Task,
    cases,
    images,
    measure,
    mixture,
)
from pairgossip_paper.framework.figures import Sheet
from pairgossip_paper.framework.paper import cite
from pairgossip_paper.paper_setup import (
    COLORS,
    GRAPHS,
    describe_order,
    dispersion_claim,
    faster_claim,
)

_TASKS = {"mixture": Task(mixture, (25, 40), 0.03), "digits": Task(images, (25, 48), 0.01)}
_STEPS = (0.01, 0.03)
"""Numerators of the step sizes that were tried."""
_CONVERGED_SHARE = 0.1
"""Largest share of the way from the zero metric to the minimum that may be left."""
_MAJORITY = 0.5
"""Share of a metric's weight above which it concentrates on some dimensions."""
_SOURCE = f"said in the {cite('641')}, of another experiment"
_CLEAR_ERRORS = 2.0
"""Largest difference in accuracy that is put down to chance, in standard errors."""
_REFERENCE = "#000000"
_BAND_RATIO = 3.0
"""Ratio of the mean to the lowest end of a band; a logarithmic axis shows no values below 0."""
_OVERSHOOT_RATIO = 1.5
"""Multiple of the zero metric's excess above which an overshoot of the objective is mentioned."""
_MARKERS = {"complete": "o", "watts-strogatz": "s", "torus": "^"}


def _report(name: str, results: fw.Results) -> fw.Section:
    measured = measure(_TASKS[name], results)
    share = {
        graph: _informative_share(fit.models).mean(axis=1) for graph, fit in measured.fits.items()
    }
    shared = (_convergence_claim, _faster_claim, _dispersion_claim)
    claims = [claim(name, measured) for claim in shared]
    if name == "mixture":
        findings, weights = _about_mixture(measured, share), _weights_picture
        claims += [_concentration_claim(share), _mixture_claim(measured)]
    else:
        findings, weights = _about_digits(measured), _images_picture
        claims.append(_digits_claim(measured))
    return fw.Section(
        _scores(measured),
        findings,
        [picture(measured) for picture in (_convergence_picture, weights, _accuracy_picture)],
        [_results_table(measured, share if name == "mixture" else None)],
        claims,
    )


def _about_mixture(measured: MetricMeasures, share: Mapping[str, FloatArray]) -> list[str]:
    return [
        f"{measured.fits[GRAPHS[0]].nodes:,} points of ten Gaussian classes in {DIMENSIONS} "
        f"dimensions, one per node; the classes' centers differ in {INFORMATIVE} dimensions only, "
        "and every dimension is scaled to variance 1, so that no scale gives them away. "
        + _describe_setup("mixture", measured),
        f"{100 * _grand_mean(share):.0f} % of the learned weight is on the {INFORMATIVE} "
        f"informative dimensions (all alike: {100 * INFORMATIVE / DIMENSIONS:.1f} %; the "
        f"centralized minimum: {100 * _informative_share(measured.central['model']):.0f} %).",
    ]


def _about_digits(measured: MetricMeasures) -> list[str]:
    return [
        f"{measured.fits[GRAPHS[0]].nodes:,} images of handwritten digits, 8 x 8 pixels, one per "
        "node; pixels are scaled to variance 1 over the nodes' images. "
        + _describe_setup("digits", measured),
        "With unscaled gray levels, and without any learning, nearest neighbors find the class of "
        f"{100 * measured.central['unscaled']:.1f} % of the held-out images.",
    ]


def _informative_share(weights: ArrayLike) -> FloatArray:
    """Return the share of metrics' weight on the informative dimensions."""
    array = np.asarray(weights)
    return np.asarray(array[..., :INFORMATIVE].sum(-1) / array.sum(-1))


def _describe_setup(name: str, measured: MetricMeasures) -> str:
    """Describe the runs, and why the metric is diagonal."""
    first, tried = measured.fits[GRAPHS[0]], " and ".join(f"{one:g}" for one in _STEPS)
    return (
        f"{format_count(first.trials, 'trial')} of {first.iterations[-1]:,} asynchronous "
        f"iterations on each graph, step size `{_TASKS[name].step:g}/sqrt(t)`, logistic loss; of "
        f"the numerators {tried} that were tried, this one ended with the lower objective. The "
        "metric is diagonal with weights of 0 or more: a full matrix would square the count of "
        "numbers sent in every exchange and need an eigendecomposition at each update. Objectives "
        "are those of a few nodes spread over the network, the same in all trials; distances "
        "between metrics are those of all nodes."
    )


def _scores(measured: MetricMeasures) -> str:
    central = measured.central
    return (
        f"{NEIGHBORS} nearest neighbors put {100 * _grand_mean(measured.accuracies):.1f} % of "
        f"{HELD_OUT} held-out points into the right class with the metrics "
        f"that nodes learn, {100 * central['accuracy']:.1f} % with the one that a single machine "
        f"finds, and {100 * central['euclidean']:.1f} % with the Euclidean distance."
    )


def _grand_mean(by_graph: Mapping[str, FloatArray]) -> float:
    """Average over graphs and trials."""
    return float(np.mean([values.mean() for values in by_graph.values()]))


def _results_table(measured: MetricMeasures, share: Mapping[str, FloatArray] | None) -> fw.Table:
    """Tabulate the learned metrics beside those that need no network."""
    central = measured.central
    rows: list[tuple[fw.Cell, ...]] = [
        (
            f"gossip, {name}",
            fit.objective[-1],
            measured.together[name].mean(),
            fit.disagreement[-1],
            measured.accuracies[name].mean(),
            None if share is None else share[name].mean(),
        )
        for name, fit in measured.fits.items()
    ]
    rows += [
        ("centralized minimum", central["objective"], None, None, central["accuracy"],
         float(_informative_share(central["model"]))),
        ("Euclidean, scaled dimensions", None, None, None, central["euclidean"],
         INFORMATIVE / DIMENSIONS),
        ("Euclidean, data as they are", None, None, None, central["unscaled"], None),
    ]  # fmt: skip
    columns = ("metric", "objective of nodes", "of their mean metric", "distance from mean metric",
               "held-out accuracy", "weight on informative dimensions")  # fmt: skip
    kept = len(columns) if share is not None else -1
    return fw.Table(
        "Objective and held-out accuracy at the end",
        columns[:kept],
        [row[:kept] for row in rows],
        f"The zero metric, where all nodes start, has {central['objective_of_zero']:.4f}.",
    )


def _convergence_claim(name: str, measured: MetricMeasures) -> fw.Claim:
    zero, least = (measured.central[key] for key in ("objective_of_zero", "objective"))
    return fw.check(
        f"converges-{name}",
        "Gossip dual averaging converges as centralized dual averaging does, up to a bias that "
        "vanishes, whatever the connected network.",
        "theory; Colin, Bellet, Salmon and Clemencon (ICML 2016), abstract",
        {graph: float(measured.excess(graph)[-1]) / (zero - least) for graph in GRAPHS},
        fw.less_than(_CONVERGED_SHARE),
        "The part left at the end of the way from the zero metric ({zero:.4f}) to the centralized "
        "minimum ({least:.4f}) is {values:.1%}; less than {limit:.0%} counts as converged.",
        zero=zero,
        least=least,
    )


def _faster_claim(name: str, measured: MetricMeasures) -> fw.Claim:
    """Compare the objectives of the mean of all nodes' metrics, as AUC maximization does.

    The few judged nodes are the same in all trials and may differ from the others.
    """
    ends = measured.together
    excess = {graph: float(ends[graph].mean()) - measured.central["objective"] for graph in GRAPHS}
    ahead = {
        f"{better} before {worse}": _lead(ends[better], ends[worse])
        for better, worse in combinations(GRAPHS, 2)
        if len(ends[better]) > 1
    }
    best, middle, worst = excess.values()
    apart = worst / best - 1.0
    return faster_claim(
        name,
        _SOURCE,
        (best, middle, worst),
        "At the end the objective of the mean of all nodes' metrics is above the centralized "
        f"minimum by {fw.list_values(excess, '.2e')}: the torus is {apart:+.0%} and the "
        f"Watts-Strogatz graph {middle / best - 1:+.0%} from the complete graph; the paper states "
        "the order, not its size."
        + (f" In standard errors of the trials: {fw.list_values(ahead, '+.1f')}." if ahead else ""),
    )


def _lead(better: FloatArray, worse: FloatArray) -> float:
    """Return the distance of one mean over trials below another, in standard errors."""
    error = math.sqrt(better.var(ddof=1) / len(better) + worse.var(ddof=1) / len(worse))
    return float(worse.mean() - better.mean()) / error


def _dispersion_claim(name: str, measured: MetricMeasures) -> fw.Claim:
    """Judge the order of the metrics' distances from their mean."""
    apart = {graph: float(measured.fits[graph].disagreement[-1]) for graph in GRAPHS}
    spreads = {graph: float(measured.fits[graph].spread[-1]) for graph in GRAPHS}
    curves = [measured.fits[graph].disagreement for graph in GRAPHS]
    order = describe_order(measured.fits[GRAPHS[0]].iterations, *curves)
    return dispersion_claim(
        name,
        _SOURCE,
        list(apart.values()),
        "Root mean square distance of all nodes' metrics from their mean at the end: "
        f"{fw.list_values(apart, '.2e')}. {order} Standard deviation of the objective over the "
        f"nodes judged, which need not have that order: {fw.list_values(spreads, '.2e')}.",
    )


def _concentration_claim(share: Mapping[str, FloatArray]) -> fw.Claim:
    return fw.check(
        "concentration",
        "The learned metric concentrates on the dimensions in which classes differ.",
        "theory: the centralized minimum does",
        {graph: float(values.min()) for graph, values in share.items()},
        fw.more_than(_MAJORITY),
        "Share of the weight on them in the least favorable trial: {values:.1%}; equal weights "
        "would give {equal:.1%} (rule: more than {limit:.0%}).",
        equal=INFORMATIVE / DIMENSIONS,
    )


def _mixture_claim(measured: MetricMeasures) -> fw.Claim:
    central = measured.central
    least = {graph: float(values.min()) for graph, values in measured.accuracies.items()}
    rivals = (central["euclidean"], central["unscaled"])
    return fw.Claim(
        "accuracy-mixture",
        "Nearest neighbors find the class of held-out points more often with the learned metric "
        "than with the Euclidean distance.",
        "theory: what metric learning is for",
        fw.grade([min(least.values()) > rival for rival in rivals]),
        f"In the least favorable trial {fw.list_values(least, '.1%')}, against {rivals[0]:.1%} "
        f"with the Euclidean distance of scaled dimensions, {rivals[1]:.1%} with that of data as "
        f"they are, in which the informative dimensions vary more, and {central['accuracy']:.1%} "
        "with the centralized minimum.",
    )


def _digits_claim(measured: MetricMeasures) -> fw.Claim:
    """Compare with the distance of scaled and of unscaled pixels on the same images, up to chance.

    The claim holds in part if one of the two is clearly beaten on every graph and neither clearly
    wins on any.
    """
    central = measured.central
    means = {graph: float(values.mean()) for graph, values in measured.accuracies.items()}
    ahead = {
        rival: {graph: _paired_difference(measured.hits[graph], hits) for graph in GRAPHS}
        for rival, hits in measured.rival_hits.items()
    }
    beaten = [min(differences.values()) > _CLEAR_ERRORS for differences in ahead.values()]
    wins = any(min(differences.values()) < -_CLEAR_ERRORS for differences in ahead.values())
    differences = "; ".join(
        f"to {rival}, {fw.list_values(f, '+.1f')}" for rival, f in ahead.items()
    )
    return fw.Claim(
        "accuracy-digits",
        "Nearest neighbors do better on held-out digits with the learned metric than with the "
        "Euclidean distance, of scaled pixels as of gray levels as they are.",
        "theory: what metric learning is for",
        "does not hold" if wins else fw.grade(beaten),
        f"Mean over trials {fw.list_values(means, '.2%')}, against {central['euclidean']:.2%} with "
        f"scaled pixels, in whose units the metric is learned, {central['unscaled']:.2%} with gray "
        f"levels as they are, and {central['accuracy']:.2%} with the centralized minimum of the "
        f"same objective. Differences on the same {HELD_OUT} images, in their standard errors: "
        f"{differences}; {_CLEAR_ERRORS:g} on every graph count as clear.",
    )


def _paired_difference(hits: FloatArray, rival: BoolArray) -> float:
    """Return the distance of one accuracy above another on the same points, in standard errors.

    As in McNemar's test, points that both recognize, or neither, do not count as noise.
    """
    differences = np.asarray(hits, dtype=np.float64) - rival
    error = float(differences.std(ddof=1)) / math.sqrt(len(differences))
    return float(differences.mean()) / error if error > 0 else 0.0


def _convergence_picture(measured: MetricMeasures) -> fw.Picture:
    """Draw the nodes' objectives above the minimum, and their metrics' distance from the mean."""
    sheet = Sheet(2)
    left, right = sheet.panels
    central = measured.central
    for graph, fit in measured.fits.items():
        x, color, style = fit.iterations, COLORS[graph], f"{_MARKERS[graph]}-"
        excess = measured.excess(graph)
        band = (np.maximum(excess - fit.spread, excess / _BAND_RATIO), excess + fit.spread)
        left.plot(x, excess, graph, color, style, band=band, markersize=3)
        right.plot(x, fit.disagreement, graph, color, style, markersize=3)
    start = central["objective_of_zero"] - central["objective"]
    left.level(start, "zero metric", _REFERENCE, ":", lw=1)
    left.finish("iterations", "objective above the minimum", "nodes' metrics", legend=True)
    title = "their distance from their mean"
    right.finish("iterations", "root mean square distance", title, legend=True)
    trials = next(iter(measured.fits.values())).trials
    highest = max(float(measured.excess(graph).max()) for graph in measured.fits)
    early = " Early steps overshoot: asynchronous nodes weigh gradients by about `n/2`."
    return fw.Picture(
        "objective",
        "Left: logistic objective above its centralized minimum, mean over nodes and trials, with "
        f"the standard deviation over nodes (bands, cut at 1/{_BAND_RATIO:g} of the mean). Right: "
        "root mean square distance of all nodes' metrics from their mean. "
        f"{format_count(trials, 'trial')}." + (early if highest > _OVERSHOOT_RATIO * start else ""),
        sheet,
    )


def _weights_picture(measured: MetricMeasures) -> fw.Picture:
    """Draw the share of a metric's weight on every dimension."""
    sheet = Sheet(1, size=(8.8, 3.5))
    (panel,) = sheet.panels
    best = np.array(measured.central["model"])
    dimension = np.arange(1.0, len(best) + 1)
    panel.axes.axvspan(0.5, INFORMATIVE + 0.5, color="#999999", alpha=0.15, lw=0)
    panel.bars(dimension, best / best.sum(), "central minimum", "#999999")
    for shift, (graph, fit) in zip((-0.25, 0.0, 0.25), measured.fits.items(), strict=True):
        share = fit.models / fit.models.sum(axis=-1, keepdims=True)
        mean, error = share.mean(axis=(0, 1)), share.std(axis=(0, 1))
        x, color, style = dimension + shift, COLORS[graph], _MARKERS[graph]
        panel.plot(x, mean, graph, color, style, error=error, markersize=3, elinewidth=0.8)
    panel.level(1 / len(best), "equal weights", _REFERENCE, ":", lw=1)
    panel.finish("dimension", "share of the metric's weight", x_log=False, y_log=False, legend=True)
    panel.axes.set_xlim(0.3, len(best) + 0.7)
    return fw.Picture(
        "weights",
        f"Where the learned metrics look: classes differ in the first {INFORMATIVE} dimensions "
        "only (shaded). Means and standard deviations over nodes and trials.",
        sheet,
    )


def _images_picture(measured: MetricMeasures) -> fw.Picture:
    """Draw the weights of the pixels as images, with one scale of gray."""
    sheet = Sheet(4, size=(12.0, 3.2))
    row = [panel.axes for panel in sheet.panels]
    named = {graph: fit.model for graph, fit in measured.fits.items()}
    named["central minimum"] = np.array(measured.central["model"])
    side = int(np.sqrt(len(named["central minimum"])))
    top = max(float(model.max()) for model in named.values())
    for axes, (name, model) in zip(row, named.items(), strict=True):
        shown = axes.imshow(model.reshape(side, side), cmap="viridis", vmin=0.0, vmax=top)
        axes.set_title(name, fontsize="medium")
        axes.set_xlabel("pixel column")
        axes.set_xticks(range(side))
        axes.set_yticks(range(side))
    row[0].set_ylabel("pixel row")
    sheet.figure.colorbar(shown, ax=row, label="weight of the scaled pixel", shrink=0.8)
    return fw.Picture(
        "weights",
        "Which pixels the metrics look at: mean over nodes and trials of the learned weights, on "
        "each graph, and the weights of the centralized minimum.",
        sheet,
    )


def _accuracy_picture(measured: MetricMeasures) -> fw.Picture:
    """Draw the held-out accuracy of every trial beside that of metrics without a network."""
    sheet = Sheet(1)
    (panel,) = sheet.panels
    for place, (graph, accuracies) in enumerate(measured.accuracies.items()):
        spots = place + np.linspace(-0.2, 0.2, len(accuracies))
        label, color, style = f"{graph}: single trials", COLORS[graph], _MARKERS[graph]
        panel.plot(spots, 100 * accuracies, label, color, style, markersize=4, legend=False)
    lines = {
        "accuracy": ("--", "central minimum"),
        "euclidean": (":", "Euclidean, scaled"),
        "unscaled": ("-.", "Euclidean, data as they are"),
    }
    for key, (style, label) in lines.items():
        panel.level(100 * measured.central[key], label, _REFERENCE, style, lw=1)
    panel.finish("", "held-out accuracy (%)", x_log=False, y_log=False)
    panel.name_places(x=list(measured.accuracies))
    panel.axes.set_xlim(-0.5, len(measured.accuracies) - 0.5)
    sheet.add_legend(columns=2, fontsize="small")
    return fw.Picture(
        "accuracy",
        "Nearest neighbors on held-out points, with the metrics of nodes (one mark per trial: "
        "mean over a few nodes) and with metrics that need no network (lines).",
        sheet,
    )


MIXTURE = fw.Experiment(
    "metric-mixture",
    "Metric learning on a mixture of Gaussians",
    "Ten classes differ in 5 of 40 dimensions. Do nodes with one labeled point each find these "
    "dimensions by gossip, on a complete, a small-world and a torus network, and does the metric "
    "they learn tell classes of new points apart?",
    partial(cases, _TASKS["mixture"]),
    partial(_report, "mixture"),
    place=6,
)
DIGITS = fw.Experiment(
    "metric-digits",
    "Metric learning on handwritten digits",
    "One image per node: which pixels do nodes learn to look at by gossip, and does the metric "
    "help nearest neighbors on images set aside?",
    partial(cases, _TASKS["digits"]),
    partial(_report, "digits"),
    place=7,
)
