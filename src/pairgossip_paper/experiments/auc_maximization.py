"""AUC maximization on Breast Cancer Wisconsin: the paper's section on numerical experiments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.losses import inverse_sqrt
from pairgossip.minimization import minimize
from pairgossip.results import Fit
from pairgossip.results.fit import Bias
from pairgossip.text import format_count
from pairgossip_paper import framework as fw
from pairgossip_paper.framework.figures import Panel, Sheet
from pairgossip_paper.framework.paper import cite
from pairgossip_paper.paper_setup import (
    COLORS,
    GRAPHS,
    OBJECTIVE_TOLERANCE,
    central_optimum,
    describe_order,
    dispersion_claim,
    faster_claim,
    paper_graph,
    patients,
)

_LOSS = "auc-logistic"
_STEP = 1e-3
"""The constant of gamma(t) = 1e-3 / sqrt(t), line 623."""
_LENGTHS = {"sync": (300_000, 100_000), "async": (1_000_000, 300_000)}
"""Iterations of a full and of a quick run, by clock."""
_CHECKPOINTS, _SCALED_CHECKPOINTS = (41, 21), (41, 11)
"""Numbers of checkpoints of a full and of a quick run, without and with scaled features.

Objectives of all nodes' models take more time than the iterations, and curves with scaled features
are not drawn."""
_RAW = "raw"
_SCALINGS: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    _RAW: lambda X: X,
    "standardized": lambda X: (X - X.mean(axis=0)) / X.std(axis=0),
    "min-max": lambda X: (X - X.min(axis=0)) / np.ptp(X, axis=0),
    "unit-rows": lambda X: X / np.linalg.norm(X, axis=1, keepdims=True),
}
_WORDS = {
    _RAW: "features as in the file",
    "standardized": "standardized",
    "min-max": "scaled to [0, 1]",
    "unit-rows": "rows of unit norm",
}
_VANISHED_SHARE = 0.2
"""Share of its largest value below which a bias counts as vanished."""
_VANISHING_SHARE = 0.5
"""Share of its largest value below which a bias counts as vanished in part."""
_STANDARD_ERRORS = 2.0
"""Largest distance of a mean over trials that is put down to chance, in standard errors."""
_SOURCES = {
    "async": "{}",
    "sync": "said in the {}, of the asynchronous algorithm",
}
"""The sources of claims by clock, with a gap for the place in the paper."""
_END_BEGINS = 1 / 3
"""Share of a run's iterations from which on a bias is averaged to judge its end."""
_SEVERAL_ORDERS = 0.01
"""The ratio below which a term is "several orders of magnitude smaller"."""

_ByScaling = Mapping[str, Mapping[str, Fit]]
"""Fits by the names of scalings and graphs."""


def _cases(clock: str, plan: fw.Plan) -> Sequence[fw.Case]:
    simulations = [
        plan.simulate(
            _case(graph, scaling),
            minimize,
            partial(_problem, graph, scaling, plan.seed),
            plan.choose(*_LENGTHS[clock]),
            loss=_LOSS,
            clock=clock,
            checkpoints=plan.choose(*(_CHECKPOINTS if scaling == _RAW else _SCALED_CHECKPOINTS)),
            step=inverse_sqrt(_STEP),
            bias=True,
        )
        for scaling in _scalings(clock)
        for graph in GRAPHS
    ]
    return [*simulations, fw.Computation("optimum", partial(_optimum, plan.seed))]


def _scalings(clock: str) -> Sequence[str]:
    """List the scalings of features: all of them for the clock whose bias the paper discusses."""
    return list(_SCALINGS) if clock == "async" else [_RAW]


def _case(graph: str, scaling: str) -> str:
    return graph if scaling == _RAW else f"{graph}-{scaling}"


def _problem(graph: str, scaling: str, seed: int) -> fw.Arguments:
    X, y = patients(graph, seed)
    return {"data": _SCALINGS[scaling](X), "labels": y, "graph": paper_graph(graph, seed)}


@cache
def _optimum(seed: int) -> fw.Facts:
    """Minimize the objective on one machine, on the rows of each graph.

    Both clocks have the same objective, so it is computed once per seed.
    """
    rows = {graph: patients(graph, seed) for graph in GRAPHS}
    # Graphs with equally many nodes hold the same rows.
    by_size = {len(one.X): one for one in rows.values()}
    by_nodes = {size: central_optimum(*one) for size, one in by_size.items()}
    return {graph: by_nodes[len(one.X)] for graph, one in rows.items()}


def _report(clock: str, results: fw.Results) -> fw.Section:
    fits: dict[str, Fit] = {name: results[name] for name in GRAPHS}
    optimum = results["optimum"]
    optima = {name: np.array(optimum[name]["model"]) for name in GRAPHS}
    zero = {name: optimum[name]["objective_of_zero"] for name in GRAPHS}
    relative = {name: fits[name].objective / zero[name] for name in GRAPHS}
    tables = [_table(fits, relative, optimum)]
    claims = [
        _faster_claim(clock, relative),
        _dispersion_claim(clock, fits),
        _vanishing_claim(clock, fits),
    ]
    if clock == "async":
        by_scaling = {
            scaling: {graph: results[_case(graph, scaling)] for graph in GRAPHS}
            for scaling in _SCALINGS
        }
        tables.append(_scaling_table(by_scaling, zero))
        claims.append(_magnitude_claim(by_scaling, zero))
    findings = [*_about(fits, optimum["complete"]), _describe_bound_term(fits, optima)]
    return fw.Section(
        _headline(fits, relative, optimum["complete"]),
        findings,
        [_objective_picture(fits), _bias_picture(fits, optima)],
        tables,
        claims,
    )


def _headline(
    fits: Mapping[str, Fit], relative: Mapping[str, FloatArray], optimum: fw.Facts
) -> str:
    ends = [100 * curve[-1] for curve in relative.values()]
    least = 100 * optimum["objective"] / optimum["objective_of_zero"]
    return (
        f"After {fits[GRAPHS[0]].iterations[-1]:,} iterations the objective (the mean loss over "
        f"pairs) of the nodes' models is {min(ends):.0f} to {max(ends):.0f} % of that of the zero "
        f"model, where they start, depending on the network; its minimum, found on one machine, "
        f"is {least:.1f} %."
    )


def _about(fits: Mapping[str, Fit], optimum: fw.Facts) -> list[str]:
    first = fits[GRAPHS[0]]
    return [
        f"The data has {len(optimum['model'])} features; the paper's 11 dimensions "
        "(section 5) count the patient's number and the label as well. Missing values are set to "
        "the median of their feature.",
        f"{format_count(first.trials, 'trial')} of {first.iterations[-1]:,} iterations on "
        f"each graph, step size `{_STEP}/sqrt(t)`, rows dealt to nodes at random. At zero the "
        f"objective is {optimum['objective_of_zero']:.5f}; its minimum over all models, found "
        f"centrally, is {optimum['objective']:.5f}, with an AUC of {optimum['auc']:.4f}. "
        f"With steps this short, the runs end at {first.objective[-1] / optimum['objective']:.1f} "
        "times the minimum (complete graph).",
        f"The torus has {fits['torus'].nodes} nodes and holds as many of the {first.nodes} rows, "
        "hence an objective of its own: graphs are compared by objectives relative to that of "
        "the zero model.",
    ]


def _describe_bound_term(fits: Mapping[str, Fit], optima: Mapping[str, FloatArray]) -> str:
    """Describe the size of the term in the bound, which the paper does not plot."""
    shares = [
        np.abs(_bias(fit).bound_term(optima[graph]).mean(axis=0)) / fit.objective
        for graph, fit in fits.items()
    ]
    return (
        "The term that enters the bound on the rate is `(optimum - model) . bias`, which differs "
        f"from the plotted `bias . model`. Its mean over trials is up to {np.max(shares):.2g} "
        f"times the objective, at the end {max(share[-1] for share in shares):.2g} times (features "
        "as in the file, on the graph where it is largest)."
    )


def _bias(fit: Fit) -> Bias:
    assert fit.bias is not None
    return fit.bias


def _table(
    fits: Mapping[str, Fit], relative: Mapping[str, FloatArray], optimum: fw.Facts
) -> fw.Table:
    return fw.Table.from_records(
        f"Objective of the nodes' averaged models after {fits[GRAPHS[0]].iterations[-1]:,} "
        "iterations",
        [
            {
                "graph": name,
                "nodes": fit.nodes,
                "objective": fit.objective[-1],
                "relative to zero": relative[name][-1],
                "spread over nodes": fit.spread[-1],
                "minimum": optimum[name]["objective"],
            }
            for name, fit in fits.items()
        ],
        "The paper prints no number of its figure: its statements are compared below.",
    )


def _faster_claim(clock: str, relative: Mapping[str, FloatArray]) -> fw.Claim:
    best, middle, worst = (float(relative[name][-1]) for name in GRAPHS)
    apart = worst / best - 1.0
    ahead = "ahead of" if middle < worst else "not ahead of"
    return faster_claim(
        clock,
        _SOURCES[clock].format(cite("641")),
        (best, middle, worst),
        "Features as in the file. Relative to zero the mean objective ends at "
        f"{best:.4f} (complete), {middle:.4f} (Watts-Strogatz) and {worst:.4f} (torus): the torus "
        f"is {100 * apart:+.1f} % from the complete graph, and the Watts-Strogatz graph is {ahead} "
        "the torus. The paper states the order, not its size"
        + (
            ": the mean loss hardly depends on the graph."
            if abs(apart) < OBJECTIVE_TOLERANCE
            else "."
        ),
    )


def _dispersion_claim(clock: str, fits: Mapping[str, Fit]) -> fw.Claim:
    curves = [fits[name].spread for name in GRAPHS]
    spreads = [float(curve[-1]) for curve in curves]
    return dispersion_claim(
        clock,
        _SOURCES[clock].format(cite("641")),
        spreads,
        "Features as in the file. Standard deviation of the objective over nodes at the end: "
        + fw.list_values(dict(zip(GRAPHS, spreads, strict=True)), ".2e")
        + ". "
        + describe_order(fits[GRAPHS[0]].iterations, *curves),
    )


def _vanishing_claim(clock: str, fits: Mapping[str, Fit]) -> fw.Claim:
    """Judge whether the mean over trials of bias . model, which the paper draws, ends near zero.

    A remainder that chance could hide counts as left, so few trials do not look better than many.
    """
    least, most, parts = 0.0, 0.0, []
    for graph, fit in fits.items():
        plotted = _bias(fit).plotted
        mean = plotted.mean(axis=0)
        largest = float(np.abs(mean).max())
        ends = plotted[:, fit.iterations >= _END_BEGINS * fit.iterations[-1]].mean(axis=1)
        error = float(ends.std(ddof=1) / np.sqrt(len(ends))) if len(ends) > 1 else 0.0
        end = float(ends.mean())
        least = max(least, (abs(end) - _STANDARD_ERRORS * error) / largest)
        most = max(most, (abs(end) + _STANDARD_ERRORS * error) / largest)
        fall = _describe_fall(fit, mean, largest)
        parts.append(f"{end:.1e} ± {error:.0e} after {largest:.1e} ({graph}; {fall})")
    return fw.Claim(
        f"bias-vanishes-{clock}",
        "In all considered networks, the bias term (`bias . model`) rapidly converges to zero.",
        _SOURCES[clock].format(cite("643")),
        _judge_vanishing(least, most),
        "Features as in the file. Mean over trials at the end (from a third of the iterations on), "
        f"with its standard error, after its largest value: {', '.join(parts)}. With "
        f"{_STANDARD_ERRORS:.0f} standard errors, {100 * least:.0f} to {100 * most:.0f} % of the "
        "largest value are left, on the graphs where most is left.",
    )


def _judge_vanishing(least: float, most: float) -> fw.Verdict:
    """Judge by the smallest and the largest share that may be left."""
    if most < _VANISHED_SHARE:
        return "holds"
    if most < _VANISHING_SHARE:
        return "holds in part"
    return "does not hold" if least > _VANISHING_SHARE else "undecided"


def _describe_fall(fit: Fit, mean: FloatArray, largest: float) -> str:
    """Name the iteration from which on the term stays below the share of a vanished one."""
    above = np.flatnonzero(np.abs(mean) >= _VANISHED_SHARE * largest)[-1]
    if above == len(mean) - 1:
        return "not below a fifth of it at the end"
    return f"below a fifth of it from iteration {fit.iterations[above + 1]:,} on"


def _objective_picture(fits: Mapping[str, Fit]) -> fw.Picture:
    sheet = Sheet(2)
    left, right = sheet.panels
    for name, fit in fits.items():
        x, color = fit.iterations, COLORS[name]
        band = (fit.objective - fit.spread, fit.objective + fit.spread)
        left.plot(x, fit.objective, name, color, band=band)
        right.plot(x, fit.spread, name, color)
    title, y = "objective of the nodes' models", "standard deviation over nodes"
    left.finish("iterations", "objective", title, y_log=False, legend=True)
    right.finish("iterations", y, "its spread over nodes", legend=True)
    trials = next(iter(fits.values())).trials
    return fw.Picture(
        "objective",
        "Logistic AUC objective. Left: mean over nodes and trials, with the standard deviation "
        "over nodes (bands). Right: that standard deviation alone. "
        f"{format_count(trials, 'trial')}.",
        sheet,
    )


def _bias_picture(fits: Mapping[str, Fit], optima: Mapping[str, FloatArray]) -> fw.Picture:
    sheet = Sheet(3)
    left, middle, right = sheet.panels
    for name, fit in fits.items():
        plotted, in_bound = _bias(fit).plotted, _bias(fit).bound_term(optima[name])
        mean, deviation = plotted.mean(axis=0), plotted.std(axis=0)
        band = (mean - deviation, mean + deviation)
        left.plot(fit.iterations, mean, name, COLORS[name], band=band)
        _draw_sizes(middle, fit, plotted, name)
        _draw_sizes(right, fit, in_bound, name)
    left.finish("iterations", "bias term", "as plotted in the paper", y_log=False, legend=True)
    middle.finish("iterations", "size of the bias term", "as plotted, size", legend=True)
    right.finish("iterations", "size of the bias term", "as in the bound, size", legend=True)
    return fw.Picture(
        "bias",
        "The bias of the gradients. Left: `bias . network model`, as the paper plots it, mean and "
        "standard deviation over trials. Middle: its size, |mean over trials| (solid) and root "
        "mean square of single trials (dashed), beside the objective (dotted). Right: the same of "
        "`(optimum - network model) . bias`, which is the term of the bound.",
        sheet,
    )


def _draw_sizes(panel: Panel, fit: Fit, terms: FloatArray, name: str) -> None:
    x, color = fit.iterations, COLORS[name]
    panel.plot(x, _mask_zeros(np.abs(terms.mean(axis=0))), name, color)
    single = _mask_zeros(np.sqrt((terms**2).mean(axis=0)))
    panel.plot(x, single, f"{name}: single trials", color, "--", linewidth=0.9, legend=False)
    panel.plot(x, fit.objective, f"{name}: objective", color, ":", legend=False)


def _mask_zeros(sizes: FloatArray) -> FloatArray:
    """Leave out zeros, which a logarithmic axis cannot show; models begin at zero."""
    return np.where(sizes > 0, sizes, np.nan)


def _largest_share(fit: Fit) -> float:
    """Return the largest size of bias . model, mean over trials, relative to the objective."""
    return float((np.abs(_bias(fit).plotted.mean(axis=0)) / fit.objective).max())


def _magnitude_claim(by_scaling: _ByScaling, zero: Mapping[str, float]) -> fw.Claim:
    ends = [
        min(fit.objective[-1] / zero[graph] for graph, fit in fits.items())
        for fits in by_scaling.values()
    ]
    return fw.check(
        "bias-small-async",
        "In all considered networks, the bias term (`bias . model`) remains several orders of "
        "magnitude smaller than the objective value throughout the optimization process.",
        cite("643"),
        {
            _WORDS[scaling]: max(_largest_share(fit) for fit in fits.values())
            for scaling, fits in by_scaling.items()
        },
        fw.less_than(_SEVERAL_ORDERS),
        "It depends on the scaling of features, which the paper does not state. At its largest, "
        "over iterations and graphs, the mean over trials is {values:.2g} times the objective; "
        "below {limit:g} counts as several orders. The smaller the features, the less is learned "
        "in these steps: the objective ends at {ends} times that of the zero model.",
        ends=", ".join(f"{end:.3f}" for end in ends),
    )


def _scaling_table(by_scaling: _ByScaling, zero: Mapping[str, float]) -> fw.Table:
    return fw.Table.from_records(
        "The plotted bias term by the scaling of features",
        [
            {
                "features": _WORDS[scaling],
                "graph": graph,
                "largest bias term / objective": _largest_share(fit),
                "final objective / zero model's": fit.objective[-1] / zero[graph],
            }
            for scaling, fits in by_scaling.items()
            for graph, fit in fits.items()
        ],
        "The mean over trials of `bias . model`, relative to the objective, at the checkpoint "
        "where this is largest.",
    )


def _experiment(clock: str, adverb: str, place: int) -> fw.Experiment:
    return fw.Experiment(
        f"auc-{clock}",
        f"AUC maximization, {adverb}",
        "Does gossip dual averaging find a scoring rule for Breast Cancer Wisconsin, one patient "
        "per node, on a complete, a small-world and a torus network? How do the objective, its "
        "spread over nodes and the gradient bias evolve?",
        partial(_cases, clock),
        partial(_report, clock),
        place=place,
        opens=clock == "async",  # as in the paper's figure
    )


AUC_SYNC = _experiment("sync", "synchronous", place=2)
AUC_ASYNC = _experiment("async", "asynchronous", place=3)
