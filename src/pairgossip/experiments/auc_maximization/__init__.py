"""AUC maximization on Breast Cancer Wisconsin: the paper's section on numerical experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.datasets import breast_cancer_wisconsin
from pairgossip.experiments.auc_maximization.figures import bias_picture, objective_picture
from pairgossip.experiments.framework.experiment import (
    Case,
    Computation,
    Experiment,
    Plan,
    Simulation,
)
from pairgossip.experiments.framework.section import Claim, Section, Table, Verdict
from pairgossip.experiments.setting import (
    GRAPHS,
    MATTERS,
    Dealt,
    dealt,
    dispersion_verdict,
    faster_verdict,
    in_order_from,
    paper_graph,
)
from pairgossip.losses import inverse_sqrt, risk
from pairgossip.losses.risk import auc_of_scores
from pairgossip.minimization import minimize
from pairgossip.results import Fit

LOSS = "auc-logistic"
STEP = 1e-3
"""gamma(t) = 1e-3 / sqrt(t), line 623."""
LENGTHS = {"sync": (300_000, 100_000), "async": (1_000_000, 300_000)}
"""Iterations, in full and quick."""
NEGLIGIBLE = 0.01
"""What "several orders of magnitude smaller" must mean at least."""
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


def _cases(clock: str, plan: Plan) -> Sequence[Case]:
    last = plan.choose(*LENGTHS[clock])
    simulations = [
        Simulation(name, last, plan.trials, partial(_fit, name, clock, last, plan))
        for name in GRAPHS
    ]
    return [*simulations, Computation("optimum", partial(_optimum, plan))]


def _rows(graph: str, plan: Plan) -> Dealt:
    return dealt(*breast_cancer_wisconsin(), paper_graph(graph, plan.seed).n, plan.seed)


def _fit(graph: str, clock: str, last: int, plan: Plan, **how: Any) -> Fit:
    X, y = _rows(graph, plan)
    return minimize(
        X,
        y,
        LOSS,
        paper_graph(graph, plan.seed),
        clock=clock,
        iterations=last,
        checkpoints=plan.choose(41, 21),
        step=inverse_sqrt(STEP),
        bias=True,
        seed=plan.seed,
        **how,
    )


def _optimum(plan: Plan) -> Mapping[str, Any]:
    """Minimize the same objective on one machine, on the rows each graph holds."""
    nodes = {graph: paper_graph(graph, plan.seed).n for graph in GRAPHS}
    found = {
        n: _optimum_on(dealt(*breast_cancer_wisconsin(), n, plan.seed)) for n in {*nodes.values()}
    }
    return {graph: found[n] for graph, n in nodes.items()}


def _optimum_on(rows: Dealt) -> dict[str, Any]:
    from scipy.optimize import minimize as minimize_centrally

    X, y = rows
    positives, negatives = X[y == y.max()], X[y != y.max()]
    differences = (positives[:, None, :] - negatives[None, :, :]).reshape(-1, X.shape[1])
    pairs = len(X) ** 2

    def value_and_gradient(theta: FloatArray) -> tuple[float, FloatArray]:
        margins = differences @ theta
        slopes = -1.0 / (1.0 + np.exp(margins))
        return float(np.logaddexp(0.0, -margins).sum() / pairs), slopes @ differences / pairs

    def curvature(theta: FloatArray) -> FloatArray:
        right = 1.0 / (1.0 + np.exp(-differences @ theta))
        weights = right * (1.0 - right) / pairs
        return (differences * weights[:, None]).T @ differences

    found = minimize_centrally(
        value_and_gradient,
        np.zeros(X.shape[1]),
        jac=True,
        hess=curvature,
        method="trust-exact",
        options={"gtol": 1e-10},
    )
    return {
        "model": found.x.tolist(),
        "objective": float(found.fun),
        "auc": auc_of_scores(X @ found.x, y),
        "objective_of_zero": risk(np.zeros(X.shape[1]), X, LOSS, y),
    }


def _report(clock: str, results: Mapping[str, Any]) -> Section:
    fits: dict[str, Fit] = {name: results[name] for name in GRAPHS}
    optimum = results["optimum"]
    relative = {name: fits[name].objective / optimum[name]["objective_of_zero"] for name in GRAPHS}
    first = fits[GRAPHS[0]]
    findings = [
        f"The data has {len(optimum['complete']['model'])} features; the paper's 11 dimensions "
        "(line 612) count the patient's number and the label as well. Missing values are set to "
        "the median of their feature.",
        f"{first.trials} trials of {first.iterations[-1]:,} iterations on each graph, "
        f"step size {STEP}/sqrt(t), rows dealt to nodes at random. At zero the objective is "
        f"{optimum['complete']['objective_of_zero']:.5f}; its minimum over all models, found "
        f"centrally, is {optimum['complete']['objective']:.5f}, with an AUC of "
        f"{optimum['complete']['auc']:.4f}. With steps this short, the runs end at "
        f"{first.objective[-1] / optimum['complete']['objective']:.1f} times the minimum "
        "(complete graph).",
        f"The torus has {fits['torus'].nodes} nodes and holds as many of the {first.nodes} rows, "
        "hence an objective of its own: graphs are compared by objectives relative to that of "
        "the zero model.",
    ]
    return Section(
        findings,
        [objective_picture(fits), bias_picture(fits, _optima(optimum))],
        [_table(fits, relative, optimum)],
        [
            _faster_claim(clock, relative),
            _dispersion_claim(clock, fits),
            *_bias_claims(clock, fits, _optima(optimum)),
        ],
    )


def _optima(optimum: Mapping[str, Any]) -> dict[str, FloatArray]:
    return {name: np.array(optimum[name]["model"]) for name in GRAPHS}


def _table(
    fits: Mapping[str, Fit], relative: Mapping[str, FloatArray], optimum: Mapping[str, Any]
) -> Table:
    columns = ("graph", "nodes", "objective", "relative to zero", "spread over nodes", "minimum")
    rows = [
        (
            name,
            fit.nodes,
            float(fit.objective[-1]),
            float(relative[name][-1]),
            float(fit.spread[-1]),
            float(optimum[name]["objective"]),
        )
        for name, fit in fits.items()
    ]
    last = fits[GRAPHS[0]].iterations[-1]
    note = "The paper prints no number of its figure: its statements are compared below."
    return Table(
        f"Objective of the nodes' averaged models after {last:,} iterations", columns, rows, note
    )


def _faster_claim(clock: str, relative: Mapping[str, FloatArray]) -> Claim:
    best, middle, worst = (float(relative[name][-1]) for name in GRAPHS)
    apart = worst / best - 1.0
    ahead = "ahead of" if middle < worst else "not ahead of"
    return Claim(
        f"faster-{clock}",
        "Better-connected networks exhibit faster convergence; the complete and "
        "Watts-Strogatz graphs outperform the grid.",
        SAID[clock].format(641),
        faster_verdict(best, middle, worst),
        f"Relative to zero the mean objective ends at {best:.4f} (complete), {middle:.4f} "
        f"(Watts-Strogatz) and {worst:.4f} (torus): the torus is {100 * apart:+.1f} % from the "
        f"complete graph, and the Watts-Strogatz graph is {ahead} the torus. "
        f"{100 * MATTERS:.0f} % count as a difference: "
        + ("the mean loss hardly depends on the graph." if abs(apart) < MATTERS else "it is one."),
    )


def _dispersion_claim(clock: str, fits: Mapping[str, Fit]) -> Claim:
    spreads = [float(fits[name].spread[-1]) for name in GRAPHS]
    curves = [fits[name].spread for name in GRAPHS]
    return Claim(
        f"dispersion-{clock}",
        "The dispersion of the local estimates decreases as network connectivity improves.",
        SAID[clock].format(641),
        dispersion_verdict(*spreads),
        "Standard deviation of the objective over nodes at the end: "
        + ", ".join(f"{s:.2e} ({name})" for name, s in zip(GRAPHS, spreads, strict=True))
        + ". "
        + in_order_from(fits[GRAPHS[0]].iterations, *curves),
    )


def _bias_claims(
    clock: str, fits: Mapping[str, Fit], optima: Mapping[str, FloatArray]
) -> list[Claim]:
    plotted, in_bound = {}, {}
    for name, fit in fits.items():
        assert fit.bias is not None
        plotted[name], in_bound[name] = fit.bias.plotted, fit.bias.bound_term(optima[name])
    return [
        _vanishing_claim(clock, "plotted", "bias . model, as the paper plots it", fits, plotted),
        _vanishing_claim(
            clock, "bound", "(optimum - model) . bias, as in the bound", fits, in_bound
        ),
        _magnitude_claim(clock, "plotted", "bias . model, as the paper plots it", fits, plotted),
        _magnitude_claim(
            clock, "bound", "(optimum - model) . bias, as in the bound", fits, in_bound
        ),
    ]


def _vanishing_claim(
    clock: str, name: str, how: str, fits: Mapping[str, Fit], terms: Mapping[str, FloatArray]
) -> Claim:
    """Tell whether the mean over trials, which the paper draws, ends near zero.

    What chance could hide counts as left: few trials must not look better than many.
    """
    least, most, told = 0.0, 0.0, []
    for graph, fit in fits.items():
        mean = terms[graph].mean(axis=0)
        largest = float(np.abs(mean).max())
        ends = terms[graph][:, fit.iterations >= LATE * fit.iterations[-1]].mean(axis=1)
        error = float(ends.std(ddof=1) / np.sqrt(len(ends))) if len(ends) > 1 else 0.0
        end = float(ends.mean())
        least = max(least, (abs(end) - STANDARD_ERRORS * error) / largest)
        most = max(most, (abs(end) + STANDARD_ERRORS * error) / largest)
        told.append(
            f"{end:.1e} ± {error:.0e} after {largest:.1e} ({graph}; {_below(fit, mean, largest)})"
        )
    return Claim(
        f"bias-vanishes-{name}-{clock}",
        f"The bias term rapidly converges to zero ({how}).",
        SAID[clock].format(643),
        _vanished(least, most),
        "Mean over trials at the end (from a third of the iterations on), with its standard "
        f"error, after its largest value: {', '.join(told)}. With {STANDARD_ERRORS:.0f} standard "
        f"errors, {100 * least:.0f} to {100 * most:.0f} % of the largest value are left, on the "
        "graphs where this is most.",
    )


def _vanished(least: float, most: float) -> Verdict:
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


def _magnitude_claim(
    clock: str, name: str, how: str, fits: Mapping[str, Fit], terms: Mapping[str, FloatArray]
) -> Claim:
    shares = {
        graph: float((np.abs(terms[graph].mean(axis=0)) / fit.objective).max())
        for graph, fit in fits.items()
    }
    single = max(
        float(np.sqrt((terms[graph][:, -1] ** 2).mean()) / fit.objective[-1])
        for graph, fit in fits.items()
    )
    return Claim(
        f"bias-small-{name}-{clock}",
        "The bias term remains several orders of magnitude smaller than the objective "
        f"throughout the optimization ({how}).",
        SAID[clock].format(643),
        "holds" if max(shares.values()) < NEGLIGIBLE else "does not hold",
        "At its largest the mean over trials is "
        + ", ".join(f"{share:.2g} ({graph})" for graph, share in shares.items())
        + f" times the objective; at the end a single trial's is {single:.2g} times the "
        "objective, root mean square, on the graph where this is most.",
    )


def _experiment(clock: str, adverb: str) -> Experiment:
    return Experiment(
        f"auc-{clock}",
        f"AUC maximization, {adverb}",
        "Does gossip dual averaging find a scoring rule for Breast Cancer Wisconsin, one patient "
        "per node, on a complete, a small-world and a torus network? How do the objective, its "
        "spread over nodes and the gradient bias evolve?",
        partial(_cases, clock),
        partial(_report, clock),
    )


AUC_SYNC = _experiment("sync", "synchronous")
AUC_ASYNC = _experiment("async", "asynchronous")
