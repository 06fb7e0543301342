"""AUC maximization on Breast Cancer Wisconsin: the paper's section on numerical experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.experiments.auc_maximization.findings import (
    RAW,
    SCALINGS,
    bias_picture,
    dispersion_claim,
    faster_claim,
    magnitude_claim,
    objective_picture,
    scale_rows,
    scaling_table,
    vanishing_claim,
)
from pairgossip.experiments.framework.experiment import (
    Case,
    Computation,
    Experiment,
    Plan,
    Simulation,
)
from pairgossip.experiments.framework.section import Section, Table
from pairgossip.experiments.paper_setup import GRAPHS, NodeRows, paper_graph, patients
from pairgossip.losses import inverse_sqrt, risk
from pairgossip.losses.learning import auc_of_scores
from pairgossip.minimization import minimize
from pairgossip.results import Fit

LOSS = "auc-logistic"
STEP = 1e-3
"""gamma(t) = 1e-3 / sqrt(t), line 623."""
LENGTHS = {"sync": (300_000, 100_000), "async": (1_000_000, 300_000)}
"""Iterations, in full and quick."""


def _cases(clock: str, plan: Plan) -> Sequence[Case]:
    last = plan.choose(*LENGTHS[clock])
    simulations = [
        Simulation(
            _case(graph, scaling),
            last,
            plan.trials,
            partial(_fit, graph, scaling, clock, last, plan),
        )
        for scaling in _scalings(clock)
        for graph in GRAPHS
    ]
    return [*simulations, Computation("optimum", partial(_optimum, plan))]


def _scalings(clock: str) -> tuple[str, ...]:
    """List how features are scaled: in more than one way where the paper speaks of the bias."""
    return (RAW, *SCALINGS) if clock == "async" else (RAW,)


def _case(graph: str, scaling: str) -> str:
    return graph if scaling == RAW else f"{graph}-{scaling}"


def _fit(graph: str, scaling: str, clock: str, last: int, plan: Plan, **how: Any) -> Fit:
    X, y = scale_rows(patients(graph, plan.seed), scaling)
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
    rows = {graph: patients(graph, plan.seed) for graph in GRAPHS}
    # Graphs of as many nodes hold the same rows.
    by_size = {len(one.X): one for one in rows.values()}
    found = {size: _optimum_on(one) for size, one in by_size.items()}
    return {graph: found[len(one.X)] for graph, one in rows.items()}


def _optimum_on(rows: NodeRows) -> dict[str, Any]:
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
        _about_bound_term(fits, _optima(optimum)),
    ]
    tables = [_table(fits, relative, optimum)]
    claims = [
        faster_claim(clock, relative),
        dispersion_claim(clock, fits),
        vanishing_claim(clock, fits),
    ]
    if clock == "async":
        by_scaling = {
            scaling: {graph: results[_case(graph, scaling)] for graph in GRAPHS}
            for scaling in _scalings(clock)
        }
        zero = {graph: optimum[graph]["objective_of_zero"] for graph in GRAPHS}
        tables.append(scaling_table(by_scaling, zero))
        claims.append(magnitude_claim(by_scaling, zero))
    return Section(
        findings, [objective_picture(fits), bias_picture(fits, _optima(optimum))], tables, claims
    )


def _about_bound_term(fits: Mapping[str, Fit], optima: Mapping[str, FloatArray]) -> str:
    """Say how large the term is that enters the bound, which the paper does not plot."""
    most, last = 0.0, 0.0
    for graph, fit in fits.items():
        assert fit.bias is not None
        shares = np.abs(fit.bias.bound_term(optima[graph]).mean(axis=0)) / fit.objective
        most, last = max(most, float(shares.max())), max(last, float(shares[-1]))
    return (
        "The term that enters the bound on the rate is (optimum - model) . bias, another one than "
        f"the plotted bias . model. Its mean over trials is up to {most:.2g} times the objective, "
        f"at the end {last:.2g} times (features as in the file, on the graph where this is most)."
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
