"""Tables and claims of separable and pairwise estimation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from pairgossip.experiments.framework.fitting import Line
from pairgossip.experiments.framework.judging import graded
from pairgossip.experiments.framework.section import Claim, Table, Verdict
from pairgossip.results import Run

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
    listed = ", ".join(f"{found.times_bound:.2f} ({name})" for name, found in rates.items())
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
        graded(near),
        f"Exponents of the bias are {min(bias):.3f} to {max(bias):.3f}, those of the fluctuation "
        f"of the network's mean {np.mean(means):.3f} on average ({min(means):.3f} to "
        f"{max(means):.3f}); within {NEAR:g} of -1 and of -1/2 was asked for.",
    )
