"""What the paper says of its AUC experiment, and what was measured, by the scaling of features."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.experiments.framework.experiment import grade
from pairgossip.experiments.framework.figures import Panel, Sheet
from pairgossip.experiments.framework.section import Claim, Picture, Table, Verdict, list_values
from pairgossip.experiments.paper_setup import (
    COLORS,
    GRAPHS,
    MATTERS,
    NodeRows,
    describe_order,
    dispersion_verdict,
    faster_verdict,
)
from pairgossip.results import Fit

VANISHED = 0.2
"""What may be left of a bias that has vanished, relative to its largest value."""
VANISHING = 0.5
"""And of one that is about to."""
STANDARD_ERRORS = 2.0
"""How far a mean over trials may be off by chance."""
SAID = {
    "async": "paper, line {}",
    "sync": "said in paper, line {}, of the asynchronous algorithm",
}
LATE = 1 / 3
"""What is called the end of a run: from this part of its iterations on."""


def faster_claim(clock: str, relative: Mapping[str, FloatArray]) -> Claim:
    """Compare objectives at the end, relative to that of the zero model."""
    best, middle, worst = (float(relative[name][-1]) for name in GRAPHS)
    apart = worst / best - 1.0
    ahead = "ahead of" if middle < worst else "not ahead of"
    return Claim(
        f"faster-{clock}",
        "Better-connected networks exhibit faster convergence; the complete and "
        "Watts-Strogatz graphs outperform the grid.",
        SAID[clock].format(641),
        faster_verdict(best, middle, worst),
        "Features as in the file. Relative to zero the mean objective ends at "
        f"{best:.4f} (complete), {middle:.4f} (Watts-Strogatz) and {worst:.4f} (torus): the torus "
        f"is {100 * apart:+.1f} % from the complete graph, and the Watts-Strogatz graph is {ahead} "
        f"the torus. {100 * MATTERS:.0f} % count as a difference: "
        + ("the mean loss hardly depends on the graph." if abs(apart) < MATTERS else "it is one."),
    )


def dispersion_claim(clock: str, fits: Mapping[str, Fit]) -> Claim:
    """Compare spreads over nodes at the end, and say since when they are in order."""
    spreads = [float(fits[name].spread[-1]) for name in GRAPHS]
    curves = [fits[name].spread for name in GRAPHS]
    return Claim(
        f"dispersion-{clock}",
        "The dispersion of the local estimates decreases as network connectivity improves.",
        SAID[clock].format(641),
        dispersion_verdict(*spreads),
        "Features as in the file. Standard deviation of the objective over nodes at the end: "
        + list_values(dict(zip(GRAPHS, spreads, strict=True)), ".2e")
        + ". "
        + describe_order(fits[GRAPHS[0]].iterations, *curves),
    )


def vanishing_claim(clock: str, fits: Mapping[str, Fit]) -> Claim:
    """Tell whether the mean over trials of bias . model, which the paper draws, ends near zero.

    What chance could hide counts as left: few trials must not look better than many.
    """
    least, most, parts = 0.0, 0.0, []
    for graph, fit in fits.items():
        assert fit.bias is not None
        mean = fit.bias.plotted.mean(axis=0)
        largest = float(np.abs(mean).max())
        ends = fit.bias.plotted[:, fit.iterations >= LATE * fit.iterations[-1]].mean(axis=1)
        error = float(ends.std(ddof=1) / np.sqrt(len(ends))) if len(ends) > 1 else 0.0
        end = float(ends.mean())
        least = max(least, (abs(end) - STANDARD_ERRORS * error) / largest)
        most = max(most, (abs(end) + STANDARD_ERRORS * error) / largest)
        parts.append(
            f"{end:.1e} ± {error:.0e} after {largest:.1e} ({graph}; {_below(fit, mean, largest)})"
        )
    return Claim(
        f"bias-vanishes-{clock}",
        "In all considered networks, the bias term (bias . model) rapidly converges to zero.",
        SAID[clock].format(643),
        judge_vanishing(least, most),
        "Features as in the file. Mean over trials at the end (from a third of the iterations on), "
        f"with its standard error, after its largest value: {', '.join(parts)}. With "
        f"{STANDARD_ERRORS:.0f} standard errors, {100 * least:.0f} to {100 * most:.0f} % of the "
        "largest value are left, on the graphs where this is most.",
    )


def judge_vanishing(least: float, most: float) -> Verdict:
    """Judge by what may be left at least and at most."""
    if most < VANISHED:
        return "holds"
    if most < VANISHING:
        return "holds in part"
    return "does not hold" if least > VANISHING else "undecided"


def _below(fit: Fit, mean: FloatArray, largest: float) -> str:
    """Say from when on the term stays below the part of its peak that counts as nothing."""
    above = np.flatnonzero(np.abs(mean) >= VANISHED * largest)[-1]
    if above == len(mean) - 1:
        return "not below a fifth of it at the end"
    return f"below a fifth of it from iteration {fit.iterations[above + 1]:,} on"


def objective_picture(fits: Mapping[str, Fit]) -> Picture:
    """Draw the objective with its spread over nodes, and that spread by itself."""
    sheet = Sheet(2)
    left, right = sheet.panels
    for name, fit in fits.items():
        x, color = fit.iterations, COLORS[name]
        band = (fit.objective - fit.spread, fit.objective + fit.spread)
        left.plot(x, fit.objective, name, color, band=band)
        right.plot(x, fit.spread, name, color)
    left.finish("iterations", "objective", "objective of the nodes' models")
    right.finish("iterations", "standard deviation over nodes", "its spread over nodes", y_log=True)
    trials = next(iter(fits.values())).trials
    return Picture(
        "objective",
        "Logistic AUC objective. Left: mean over nodes and trials, with the standard deviation "
        f"over nodes (bands). Right: that standard deviation alone. {trials} trials.",
        sheet,
    )


def bias_picture(fits: Mapping[str, Fit], optima: Mapping[str, FloatArray]) -> Picture:
    """Draw the bias as the paper plots it, and as it enters the bound, beside the objective."""
    sheet = Sheet(3)
    left, middle, right = sheet.panels
    for name, fit in fits.items():
        assert fit.bias is not None
        plotted, in_bound = fit.bias.plotted, fit.bias.bound_term(optima[name])
        mean, deviation = plotted.mean(axis=0), plotted.std(axis=0)
        band = (mean - deviation, mean + deviation)
        left.plot(fit.iterations, mean, name, COLORS[name], band=band)
        _draw_sizes(middle, fit, plotted, name)
        _draw_sizes(right, fit, in_bound, name)
    left.finish("iterations", "bias term", "as plotted in the paper")
    middle.finish("iterations", "size of the bias term", "as plotted, size", y_log=True)
    right.finish("iterations", "size of the bias term", "as in the bound, size", y_log=True)
    return Picture(
        "bias",
        "The bias of the gradients. Left: bias . network model, as the paper plots it, mean and "
        "standard deviation over trials. Middle: its size, |mean over trials| (solid) and root "
        "mean square of single trials (dashed), beside the objective (dotted). Right: the same of "
        "(optimum - network model) . bias, which is the term of the bound.",
        sheet,
    )


def _draw_sizes(panel: Panel, fit: Fit, terms: FloatArray, name: str) -> None:
    x, color = fit.iterations, COLORS[name]
    panel.plot(x, _positive(np.abs(terms.mean(axis=0))), name, color)
    single = _positive(np.sqrt((terms**2).mean(axis=0)))
    panel.plot(x, single, f"{name}: single trials", color, "--", linewidth=0.9, legend=False)
    panel.plot(x, fit.objective, f"{name}: objective", color, ":", legend=False)


def _positive(sizes: FloatArray) -> FloatArray:
    """Leave out zeros, which a logarithmic axis cannot show: models begin at zero."""
    return np.where(sizes > 0, sizes, np.nan)


RAW = "raw"
SEVERAL_ORDERS = 0.01
"""What "several orders of magnitude smaller" must mean at least."""


def _standardized(X: FloatArray) -> FloatArray:
    return np.asarray((X - X.mean(axis=0)) / X.std(axis=0))


def _min_max(X: FloatArray) -> FloatArray:
    return np.asarray((X - X.min(axis=0)) / np.ptp(X, axis=0))


def _unit_rows(X: FloatArray) -> FloatArray:
    return np.asarray(X / np.linalg.norm(X, axis=1, keepdims=True))


SCALINGS: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "standardized": _standardized,
    "min-max": _min_max,
    "unit-rows": _unit_rows,
}
"""Beside the features as the file has them."""
WORDS = {
    RAW: "features as in the file",
    "standardized": "standardized",
    "min-max": "scaled to [0, 1]",
    "unit-rows": "rows of unit norm",
}

ByScaling = Mapping[str, Mapping[str, Fit]]
"""By the names of scalings and graphs."""


def scale_rows(rows: NodeRows, scaling: str) -> NodeRows:
    """Scale the features of the rows on the nodes."""
    return rows if scaling == RAW else NodeRows(SCALINGS[scaling](rows.X), rows.y)


def largest_share(fit: Fit) -> float:
    """Return the largest size of bias . model, mean over trials, relative to the objective."""
    assert fit.bias is not None
    return float((np.abs(fit.bias.plotted.mean(axis=0)) / fit.objective).max())


def magnitude_claim(found: ByScaling, zero: Mapping[str, float]) -> Claim:
    """Judge the size of the plotted term with every scaling, on the graph where it is most."""
    shares = {
        scaling: max(largest_share(fit) for fit in fits.values()) for scaling, fits in found.items()
    }
    ends = {
        scaling: min(fit.objective[-1] / zero[graph] for graph, fit in fits.items())
        for scaling, fits in found.items()
    }
    return Claim(
        "bias-small-async",
        "In all considered networks, the bias term (bias . model) remains several orders of "
        "magnitude smaller than the objective value throughout the optimization process.",
        "paper, line 643",
        grade(share < SEVERAL_ORDERS for share in shares.values()),
        "It depends on the scaling of features, which the paper does not state. At its largest, "
        "over iterations and graphs, the mean over trials is "
        + list_values({WORDS[scaling]: share for scaling, share in shares.items()}, ".2g")
        + f" times the objective; below {SEVERAL_ORDERS:g} counts as several orders. The smaller "
        "the features, the less is learned in these steps: the objective ends at "
        + ", ".join(f"{end:.3f}" for end in ends.values())
        + " times that of the zero model.",
    )


def scaling_table(found: ByScaling, zero: Mapping[str, float]) -> Table:
    """List, for every scaling and graph, the size of the bias and how far the objective falls."""
    rows = [
        (WORDS[scaling], graph, largest_share(fit), float(fit.objective[-1] / zero[graph]))
        for scaling, fits in found.items()
        for graph, fit in fits.items()
    ]
    return Table(
        "The plotted bias term by the scaling of features",
        ("features", "graph", "largest bias term / objective", "final objective / zero model's"),
        rows,
        "The mean over trials of bias . model, relative to the objective, at the checkpoint where "
        "this is largest.",
    )
