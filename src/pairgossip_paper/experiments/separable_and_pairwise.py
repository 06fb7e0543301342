"""Averaging one value per node beside estimating a pairwise statistic, on the same networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pairgossip.arrays import IntArray
from pairgossip.estimation import estimate
from pairgossip.kernels import Pairs
from pairgossip.results import Run
from pairgossip.theory import averaging_bound
from pairgossip_paper import framework as fw
from pairgossip_paper.framework.figures import Panel, Sheet
from pairgossip_paper.framework.paper import cite
from pairgossip_paper.paper_setup import (
    COLORS,
    GRAPHS,
    ErrorParts,
    error_parts,
    exact_bias,
    incomes,
    network,
    root_mean_square,
)

_NODES = 36
_KERNEL = "gini"
_LENGTHS = (100_000, 20_000)
"""Iterations of GoSta in a full and in a quick run."""
_AVERAGING_LAST, _AVERAGING_POINTS = 6_000, 61
_CHECKPOINTS = 33
_REPEATS, _LEAST_TRIALS = 10, 60
_SETTLING_SCALES = 5.0
"""Iterations, in time scales |E|/lambda, from which on exponents are fitted."""
_LEAST_EXPLAINED = 0.99
"""Least share of its variance that a line explains for a decay to be called geometric."""
_SLOPE_TOLERANCE = 0.1
"""Largest distance of an exponent from -1 or -1/2."""
_STANDARD_ERRORS = 4.0
"""Largest excess over a bound that is put down to chance, in standard errors."""
_FLOOR = 1e-14
"""Relative errors below this are rounding, and are not drawn."""


class _Measured(NamedTuple):
    """One network: its runs, its theory, and the fitted lines."""

    averaging: Run
    gosta: Run
    exact: fw.Facts
    parts: ErrorParts
    averaging_bias: fw.Line
    averaging_error: fw.Line
    gosta_error: fw.Line
    gosta_bias: fw.Line
    gosta_disagreement: fw.Line
    gosta_mean_fluctuation: fw.Line

    @property
    def predicted_bias(self) -> float:
        """log(1 - x/2), the rate of the exact expectation; half of it is that of Boyd's bound."""
        return float(np.log1p(-self.exact["gap"] / 2))

    @property
    def times_bound(self) -> float:
        """The rate at which the error of averaging falls, over that of its bound."""
        return self.averaging_error.slope / (self.predicted_bias / 2)


_ByGraph = Mapping[str, _Measured]


def _cases(plan: fw.Plan) -> Sequence[fw.Case]:
    last, trials = plan.choose(*_LENGTHS), plan.repeat(_REPEATS, _LEAST_TRIALS)
    averaging: dict[str, Any] = {
        "method": "averaging",
        "checkpoints": _averaging_grid(),
        "record": "summary",
    }
    gosta: dict[str, Any] = {
        "kernel": _KERNEL,
        "checkpoints": _gosta_grid(last),
        "record": "summary",
    }
    cases: list[fw.Case] = []
    for name in GRAPHS:
        problem = partial(_problem, name, plan.seed)
        simulate = partial(plan.simulate, function=estimate, problem=problem, trials=trials)
        cases += [
            simulate(f"averaging-{name}", iterations=_AVERAGING_LAST, **averaging),
            simulate(f"gosta-{name}", iterations=last, **gosta),
            fw.Computation(f"exact-{name}", partial(_exact, name, last, plan.seed)),
        ]
    return cases


def _averaging_grid() -> IntArray:
    return np.rint(np.linspace(1, _AVERAGING_LAST, _AVERAGING_POINTS)).astype(int)


def _gosta_grid(last: int) -> IntArray:
    return fw.geometric_grid(1, last, _CHECKPOINTS)


def _problem(name: str, seed: int) -> dict[str, Any]:
    return {"data": incomes(_NODES, seed), "graph": network(name, _NODES, seed)}


def _exact(name: str, last: int, seed: int) -> fw.Facts:
    """Return exact biases, root mean squares over nodes, and the bound on averaging."""
    values, graph = _problem(name, seed).values()
    pairwise = exact_bias(Pairs(values, _KERNEL).matrix(), graph, _gosta_grid(last))
    separable = exact_bias(values, graph, _averaging_grid(), method="averaging")
    gap = graph.normalized_gap()
    return {
        "gap": gap,
        "start": float(np.std(values)),
        "averaging_bias": root_mean_square(separable),
        "averaging_bound": averaging_bound(values, gap, _averaging_grid()) / np.sqrt(_NODES),
        "gosta_bias": root_mean_square(pairwise),
        "gosta_mean_bias": pairwise.mean(axis=1),
    }


def _measure(averaging: Run, gosta: Run, exact: fw.Facts) -> _Measured:
    parts = error_parts(gosta, exact["gosta_bias"], exact["gosta_mean_bias"])
    late = gosta.iterations >= _SETTLING_SCALES / exact["gap"]
    t, curves = averaging.iterations, (np.array(exact["averaging_bias"]), averaging.error)
    falling = (gosta.error, parts.bias, parts.disagreement, parts.mean_fluctuation)
    return _Measured(
        averaging,
        gosta,
        exact,
        parts,
        *(fw.fit_decay(t, curve, exact["start"]) for curve in curves),
        *(fw.fit_power_law(gosta.iterations[late], curve[late]) for curve in falling),
    )


def _report(results: fw.Results) -> fw.Section:
    kinds = ("averaging", "gosta", "exact")
    by_graph = {name: _measure(*(results[f"{kind}-{name}"] for kind in kinds)) for name in GRAPHS}
    return fw.Section(
        _headline(by_graph),
        _about(by_graph),
        [_rates_picture(by_graph)],
        [_averaging_table(by_graph), _gosta_table(by_graph)],
        [_geometric_claim(by_graph), _slower_claim(by_graph)],
    )


def _headline(by_graph: _ByGraph) -> str:
    straight = min(m.averaging_error.explained for m in by_graph.values())
    bias = float(np.mean([m.gosta_bias.slope for m in by_graph.values()]))
    mean = float(np.mean([m.gosta_mean_fluctuation.slope for m in by_graph.values()]))
    return (
        f"A fall by the same factor in every iteration explains at least {100 * straight:.1f} % of "
        "the variance of the logarithm of a mean's error. The bias of a pairwise statistic falls "
        f"with time `t` like `t^({bias:.2f})`, and the fluctuation of the network's mean like "
        f"`t^({mean:.2f})`."
    )


def _about(by_graph: _ByGraph) -> list[str]:
    run = by_graph[GRAPHS[0]].gosta
    listed = fw.list_values({name: m.times_bound for name, m in by_graph.items()}, ".2f")
    return [
        f"The mean and the Gini mean difference of the same {run.nodes} incomes, {run.trials} "
        "trials on each network. Averaging has all values at the start; GoSta must first "
        "carry observations to each other.",
        "The bound on averaging falls by the factor `1 - x/2` per iteration in the square; on the "
        "complete graph theory says that the expected squared error falls by exactly that. The "
        f"root mean square error over trials falls at {listed} times the rate of the bound.",
        "The error of GoSta at a node has three parts, whose squares add up except for chance: "
        "its bias, the nodes' disagreement about the network's mean, and the fluctuation of that "
        "mean about its exact expectation.",
    ]


def _averaging_table(by_graph: _ByGraph) -> fw.Table:
    return fw.Table.from_records(
        "Averaging: decay of the logarithm per iteration",
        [
            {
                "graph": name,
                "bias": m.averaging_bias.slope,
                "`log(1 - x/2)`": m.predicted_bias,
                "error, fitted": m.averaging_error.slope,
                "`R` squared": m.averaging_error.explained,
                "bound, `log(1 - x/2)/2`": m.predicted_bias / 2,
                "fitted / bound": m.times_bound,
            }
            for name, m in by_graph.items()
        ],
        "`x = lambda/|E|`. A ratio above 1 is a decay faster than the bound.",
    )


def _gosta_table(by_graph: _ByGraph) -> fw.Table:
    return fw.Table.from_records(
        "GoSta: exponents in the number of iterations",
        [
            {
                "graph": name,
                "error of a node": m.gosta_error.slope,
                "its bias": m.gosta_bias.slope,
                "nodes' disagreement": m.gosta_disagreement.slope,
                "fluctuation of the network's mean": m.gosta_mean_fluctuation.slope,
            }
            for name, m in by_graph.items()
        ],
        f"Fitted from {_SETTLING_SCALES:g} `|E|/lambda` on. The bound on the bias falls with "
        "exponent -1, that on the error with -1/2.",
    )


def _geometric_claim(by_graph: _ByGraph) -> fw.Claim:
    straight = min(m.averaging_error.explained for m in by_graph.values())
    excess = max(_excess(m.averaging, m.exact) for m in by_graph.values())
    is_straight = straight > _LEAST_EXPLAINED
    ratios = [m.times_bound for m in by_graph.values()]
    over = "never exceeds" if excess <= 0 else f"exceeds by {excess:.1f} standard errors at most"
    return fw.Claim(
        "mean-geometric",
        "Mean estimation converges geometrically.",
        cite("312"),
        fw.grade([is_straight, is_straight and excess <= _STANDARD_ERRORS]),
        f"A straight line explains at least {100 * straight:.2f} % of the variance of the "
        "logarithm of the error. "
        f"Its slope is {min(ratios):.2f} to {max(ratios):.2f} times that of the bound, which the "
        f"mean squared error {over}.",
    )


def _excess(run: Run, exact: fw.Facts) -> float:
    """Return the excess of the mean squared error over the squared bound, in standard errors."""
    # Small errors are dominated by rounding, which the bound does not cover.
    clear = run.error > fw.DECAY_WINDOW[0] * exact["start"]
    squares = run.trial_error[:, clear] ** 2
    bound = np.array(exact["averaging_bound"])[clear] ** 2 * (1 + 1e-9)
    error = squares.std(axis=0, ddof=1) / np.sqrt(run.trials)
    return float(((squares.mean(axis=0) - bound) / np.maximum(error, 1e-12 * bound)).max())


def _slower_claim(by_graph: _ByGraph) -> fw.Claim:
    bias = [m.gosta_bias.slope for m in by_graph.values()]
    means = [m.gosta_mean_fluctuation.slope for m in by_graph.values()]
    near = [
        max(abs(slope + 1.0) for slope in bias) <= _SLOPE_TOLERANCE,
        abs(float(np.mean(means)) + 0.5) <= _SLOPE_TOLERANCE,
    ]
    return fw.Claim(
        "pairwise-slower",
        "Pairwise estimation is slower: its bias falls like `1/t` and the fluctuation of the "
        "network's mean like `1/sqrt(t)`, powers of `t` and not geometrically.",
        cite("312") + ", made exact by theory",
        fw.grade(near),
        f"Exponents of the bias are {min(bias):.3f} to {max(bias):.3f}, those of the fluctuation "
        f"of the network's mean {np.mean(means):.3f} on average ({min(means):.3f} to "
        f"{max(means):.3f}; rule: within {_SLOPE_TOLERANCE:g} of -1 and of -1/2).",
    )


def _rates_picture(by_graph: _ByGraph) -> fw.Picture:
    """Draw averaging on a linear axis of time, GoSta on a logarithmic one."""
    sheet = Sheet(2, size=(9.6, 4.0))
    left, right = sheet.panels
    for name, m in by_graph.items():
        run, color, start = m.averaging, COLORS[name], m.exact["start"]
        error, bound = run.error / start, np.array(m.exact["averaging_bound"]) / start
        shown = error > _FLOOR
        left.plot(run.iterations[shown], error[shown], name, color)
        left.plot(run.iterations, bound, f"{name}: bound", color, ":", legend=False)
        _draw_parts(right, name, m.gosta, m.parts)
    left.finish("iterations", "error / its start", "mean: averaging", x_log=False)
    right.finish("iterations", "relative error", "Gini mean difference: GoSta")
    left.axes.set_ylim(_FLOOR, 2)
    sheet.add_legend(columns=3)
    return fw.Picture(
        "convergence",
        "Left, linear time: averaging, root mean square error (solid) and bound (dotted), "
        "straight lines on this axis. Right, logarithmic time: GoSta on the same networks and "
        "incomes, error of a node (solid), exact bias (dashed) and fluctuation of the network's "
        f"mean about its expectation (dotted). {by_graph[GRAPHS[0]].gosta.trials} trials.",
        sheet,
    )


def _draw_parts(panel: Panel, name: str, run: Run, parts: ErrorParts) -> None:
    """Draw the error of GoSta, its exact bias and the fluctuation of the network's mean."""
    t, target, color = run.iterations, float(np.mean(run.target)), COLORS[name]
    panel.plot(t, run.error / target, f"{name}: error of a node", color, legend=False)
    panel.plot(t, parts.bias / target, f"{name}: exact bias", color, "--", legend=False)
    # At t = 1 all trials agree: the fluctuation is rounding.
    label, moved = f"{name}: fluctuation of the mean", parts.mean_fluctuation[1:] / target
    panel.plot(t[1:], moved, label, color, ":", legend=False)


SEPARABLE = fw.Experiment(
    "separable",
    "Separable and pairwise estimation",
    "How much slower is a pairwise statistic to estimate by gossip than a mean, on the same "
    "networks and data?",
    _cases,
    _report,
    place=11,
)
