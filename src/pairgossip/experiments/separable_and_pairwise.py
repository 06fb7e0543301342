"""Averaging one value per node beside estimating a pairwise statistic, on the same networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.estimation import estimate
from pairgossip.experiments.framework.experiment import (
    Case,
    Computation,
    Experiment,
    Line,
    Plan,
    Simulation,
    fit_line,
    fit_power_law,
    geometric_grid,
    grade,
)
from pairgossip.experiments.framework.figures import Panel, Sheet
from pairgossip.experiments.framework.section import (
    Claim,
    Picture,
    Section,
    Table,
    Verdict,
    list_values,
)
from pairgossip.experiments.paper_setup import (
    COLORS,
    GRAPHS,
    ErrorParts,
    error_parts,
    incomes,
    network,
)
from pairgossip.kernels import Pairs
from pairgossip.results import Run
from pairgossip.theory import averaging_bound, expected_estimates

STRAIGHT = 0.99
"""The share of its variance a line must explain for a decay to be called geometric."""
NEAR = 0.1
"""How near to -1 and -1/2 exponents must be."""
STANDARD_ERRORS = 4.0


class Rates(NamedTuple):
    """What was fitted on one network, beside what theory predicts."""

    averaging_bias: Line
    averaging_error: Line
    predicted_bias: float
    """log(1 - x/2), the rate of the exact expectation."""
    predicted_error: float
    """log(1 - x/2)/2, the rate of Boyd's bound on the error."""
    gosta_error: Line
    gosta_bias: Line
    gosta_disagreement: Line
    gosta_mean_fluctuation: Line

    @property
    def times_bound(self) -> float:
        """How many times as fast as its bound the error of averaging falls."""
        return self.averaging_error.slope / self.predicted_error


def about(run: Run, rates: Mapping[str, Rates]) -> list[str]:
    """Say what was run, and how fast averaging is."""
    listed = list_values({name: found.times_bound for name, found in rates.items()}, ".2f")
    return [
        f"The mean and the Gini mean difference of the same {run.nodes} incomes, {run.trials} "
        "trials on each network. Averaging has all values at the start; GoSta must first "
        "carry observations to each other.",
        "The bound on averaging falls by the factor 1 - x/2 per iteration in the square; on the "
        "complete graph theory says that the expected squared error falls by exactly that. The "
        f"root mean square error over trials falls at {listed} times the rate of the bound.",
        "The error of GoSta at a node has three parts, the squares of which add up but for chance: "
        "its bias, the nodes' disagreement about the network's mean, and the fluctuation of that "
        "mean about its exact expectation.",
    ]


def averaging_table(rates: Mapping[str, Rates]) -> Table:
    """List the geometric rates of averaging beside theory."""
    rows = [
        (
            name,
            found.averaging_bias.slope,
            found.predicted_bias,
            found.averaging_error.slope,
            found.averaging_error.explained,
            found.predicted_error,
            found.times_bound,
        )
        for name, found in rates.items()
    ]
    return Table(
        "Averaging: decay of the logarithm per iteration",
        (
            "graph",
            "bias",
            "log(1 - x/2)",
            "error, fitted",
            "R squared",
            "bound, log(1 - x/2)/2",
            "fitted / bound",
        ),
        rows,
        "x = lambda/|E|. A ratio above 1 is a decay faster than the bound.",
    )


def gosta_table(rates: Mapping[str, Rates], settled: float) -> Table:
    """List the exponents of GoSta."""
    rows = [
        (
            name,
            found.gosta_error.slope,
            found.gosta_bias.slope,
            found.gosta_disagreement.slope,
            found.gosta_mean_fluctuation.slope,
        )
        for name, found in rates.items()
    ]
    return Table(
        "GoSta: exponents in the number of iterations",
        (
            "graph",
            "error of a node",
            "its bias",
            "nodes' disagreement",
            "fluctuation of the network's mean",
        ),
        rows,
        f"Fitted from {settled:g} |E|/lambda on. The bound on the bias falls with exponent -1, "
        "that on the error with -1/2.",
    )


def geometric_claim(
    averaging: Mapping[str, Run],
    exact: Mapping[str, Any],
    rates: Mapping[str, Rates],
    smallest: float,
) -> Claim:
    """Check that the error of averaging falls geometrically and respects its bound."""
    straight = min(found.averaging_error.explained for found in rates.values())
    excess = max(_excess(run, exact[name], smallest) for name, run in averaging.items())
    partly: Verdict = "holds in part" if straight > STRAIGHT else "does not hold"
    ratios = [found.times_bound for found in rates.values()]
    over = "never exceeds" if excess <= 0 else f"exceeds by {excess:.1f} standard errors at most"
    return Claim(
        "mean-geometric",
        "Mean estimation converges geometrically.",
        "paper, line 312",
        "holds" if straight > STRAIGHT and excess <= STANDARD_ERRORS else partly,
        f"A straight line explains at least {100 * straight:.2f} % of the logarithm of the error. "
        f"Its slope is {min(ratios):.2f} to {max(ratios):.2f} times that of the bound, which the "
        f"mean squared error {over}.",
    )


def _excess(run: Run, exact: Mapping[str, Any], smallest: float) -> float:
    """Return by how many standard errors the mean squared error exceeds the squared bound."""
    # Below some share of the start rounding sets in, and the bound says nothing.
    clear = run.error > smallest * exact["start"]
    squares = run.trial_error[:, clear] ** 2
    bound = np.array(exact["averaging_bound"])[clear] ** 2 * (1 + 1e-9)
    error = squares.std(axis=0, ddof=1) / np.sqrt(run.trials)
    return float(((squares.mean(axis=0) - bound) / np.maximum(error, 1e-12 * bound)).max())


def slower_claim(rates: Mapping[str, Rates]) -> Claim:
    """Check that GoSta falls like powers of t."""
    bias = [found.gosta_bias.slope for found in rates.values()]
    means = [found.gosta_mean_fluctuation.slope for found in rates.values()]
    near = [
        max(abs(slope + 1.0) for slope in bias) <= NEAR,
        abs(float(np.mean(means)) + 0.5) <= NEAR,
    ]
    return Claim(
        "pairwise-slower",
        "Pairwise estimation is slower: its bias falls like 1/t and the fluctuation of the "
        "network's mean like 1/sqrt(t), powers of t and not geometrically.",
        "paper, line 312, made exact by theory",
        grade(near),
        f"Exponents of the bias are {min(bias):.3f} to {max(bias):.3f}, those of the fluctuation "
        f"of the network's mean {np.mean(means):.3f} on average ({min(means):.3f} to "
        f"{max(means):.3f}); within {NEAR:g} of -1 and of -1/2 was asked for.",
    )


FLOOR = 1e-14
"""Relative errors below this are rounding."""


def rates_picture(
    averaging: Mapping[str, Run],
    gosta: Mapping[str, Run],
    exact: Mapping[str, Any],
    parts: Mapping[str, ErrorParts],
) -> Picture:
    """Draw averaging on a linear axis of time, GoSta on a logarithmic one."""
    sheet = Sheet(2)
    left, right = sheet.panels
    for name, run in averaging.items():
        color, start = COLORS[name], exact[name]["start"]
        error, bound = run.error / start, np.array(exact[name]["averaging_bound"]) / start
        shown = error > FLOOR
        left.plot(run.iterations[shown], error[shown], name, color)
        left.plot(run.iterations, bound, f"{name}: bound", color, ":", legend=False)
        _draw_parts(right, name, gosta[name], parts[name])
    left.finish(
        "iterations", "error / its start", "mean: averaging", x_log=False, y_log=True, legend=False
    )
    title = "Gini mean difference: GoSta"
    right.finish("iterations", "relative error", title, y_log=True, legend=False)
    left.axes.set_ylim(FLOOR, 2)
    sheet.add_legend(columns=3)
    sheet.figure.set_size_inches(9.6, 4.0)
    trials = next(iter(gosta.values())).trials
    return Picture(
        "convergence",
        "Left, linear time: averaging, root mean square error (solid) and bound (dotted), "
        "straight lines on this axis. Right, logarithmic time: GoSta on the same networks and "
        "incomes, error of a node (solid), exact bias (dashed) and fluctuation of the network's "
        f"mean about its expectation (dotted). {trials} trials.",
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


NODES = 36
KERNEL = "gini"
LENGTHS = (100_000, 20_000)
"""Iterations of GoSta, in full and quick."""
AVERAGING_LAST, AVERAGING_POINTS = 6_000, 61
CHECKPOINTS = 33
REPEATS, LEAST_TRIALS = 10, 60
WINDOW = (1e-10, 1e-2)
"""The geometric rate is fitted where the error is between these shares of its start."""
SETTLED = 5.0
"""Exponents are fitted from this many time scales |E|/lambda on."""


def _cases(plan: Plan) -> Sequence[Case]:
    last = plan.choose(*LENGTHS)
    trials = plan.repeat(REPEATS, LEAST_TRIALS)
    found: list[Case] = []
    for name in GRAPHS:
        averaging = partial(_average, name, plan)
        gosta = partial(_gosta, name, last, plan)
        found.append(Simulation(f"averaging-{name}", AVERAGING_LAST, trials, averaging))
        found.append(Simulation(f"gosta-{name}", last, trials, gosta))
        found.append(Computation(f"exact-{name}", partial(_exact, name, last, plan)))
    return found


def _averaging_grid() -> IntArray:
    return np.rint(np.linspace(1, AVERAGING_LAST, AVERAGING_POINTS)).astype(int)


def _gosta_grid(last: int) -> IntArray:
    return geometric_grid(1, last, CHECKPOINTS)


def _average(name: str, plan: Plan, **how: Any) -> Run:
    return estimate(
        incomes(NODES, plan.seed),
        graph=network(name, NODES, plan.seed),
        method="averaging",
        iterations=AVERAGING_LAST,
        checkpoints=_averaging_grid(),
        record="summary",
        seed=plan.seed,
        **how,
    )


def _gosta(name: str, last: int, plan: Plan, **how: Any) -> Run:
    return estimate(
        incomes(NODES, plan.seed),
        KERNEL,
        network(name, NODES, plan.seed),
        iterations=last,
        checkpoints=_gosta_grid(last),
        record="summary",
        seed=plan.seed,
        **how,
    )


def _exact(name: str, last: int, plan: Plan) -> Mapping[str, Any]:
    """Return exact biases, root mean squares over nodes, and the bound on averaging."""
    graph, values, root = network(name, NODES, plan.seed), incomes(NODES, plan.seed), np.sqrt(NODES)
    H = Pairs(values, KERNEL).matrix()
    # Estimates are linear and exact for constants: the bias comes without cancellation.
    pairwise = expected_estimates(H - H.mean(), graph, _gosta_grid(last))
    separable = expected_estimates(
        values - values.mean(), graph, _averaging_grid(), method="averaging"
    )
    gap = graph.normalized_gap()
    return {
        "gap": gap,
        "start": float(np.std(values)),
        "averaging_bias": np.linalg.norm(separable, axis=1) / root,
        "averaging_bound": averaging_bound(values, gap, _averaging_grid()) / root,
        "gosta_bias": np.linalg.norm(pairwise, axis=1) / root,
        "gosta_mean_bias": pairwise.mean(axis=1),
    }


def _parts(run: Run, exact: Mapping[str, Any]) -> ErrorParts:
    return error_parts(run, exact["gosta_bias"], exact["gosta_mean_bias"])


def _rates(averaging: Run, gosta: Run, parts: ErrorParts, exact: Mapping[str, Any]) -> Rates:
    late = gosta.iterations >= SETTLED / exact["gap"]
    t = gosta.iterations[late]
    rate = float(np.log1p(-exact["gap"] / 2))
    return Rates(
        _geometric(averaging.iterations, np.array(exact["averaging_bias"]), exact["start"]),
        _geometric(averaging.iterations, averaging.error, exact["start"]),
        rate,
        rate / 2,
        fit_power_law(t, gosta.error[late]),
        fit_power_law(t, parts.bias[late]),
        fit_power_law(t, parts.disagreement[late]),
        fit_power_law(t, parts.mean_fluctuation[late]),
    )


def _geometric(t: IntArray, errors: FloatArray, start: float) -> Line:
    """Fit the logarithm of an error linearly in t, between first decay and rounding."""
    inside = (errors > WINDOW[0] * start) & (errors < WINDOW[1] * start)
    return fit_line(t[inside], np.log(errors[inside]))


def _report(results: Mapping[str, Any]) -> Section:
    averaging = {name: results[f"averaging-{name}"] for name in GRAPHS}
    gosta = {name: results[f"gosta-{name}"] for name in GRAPHS}
    exact = {name: results[f"exact-{name}"] for name in GRAPHS}
    parts = {name: _parts(gosta[name], exact[name]) for name in GRAPHS}
    rates = {
        name: _rates(averaging[name], gosta[name], parts[name], exact[name]) for name in GRAPHS
    }
    return Section(
        about(gosta[GRAPHS[0]], rates),
        [rates_picture(averaging, gosta, exact, parts)],
        [averaging_table(rates), gosta_table(rates, SETTLED)],
        [geometric_claim(averaging, exact, rates, WINDOW[0]), slower_claim(rates)],
    )


SEPARABLE = Experiment(
    "separable",
    "Separable and pairwise estimation",
    "How much slower is a pairwise statistic to estimate by gossip than a mean, on the same "
    "networks and data?",
    _cases,
    _report,
)
