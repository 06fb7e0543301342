"""Sentences and tables of estimation by four methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pairgossip.experiments.estimation_comparison.claims import (
    EXPONENT,
    MEANINGFUL,
    SLOPE_TOLERANCE,
)
from pairgossip.experiments.estimation_comparison.measures import Found, final_errors, reached
from pairgossip.experiments.framework.section import Cell, Table
from pairgossip.experiments.setting import GRAPHS

LEVELS = (0.1, 0.01)
"""Relative errors whose price in messages is reported."""


def about(statistic: str, targets: Mapping[str, Any]) -> str:
    """Say what is estimated."""
    best, torus = targets["complete"], targets["torus"]
    if statistic == "scatter":
        return (
            "The within-cluster scatter is the mean over all ordered pairs of the squared "
            "distance of two rows of one class, 0 for rows of two: "
            f"{best['value']:.4f} on all rows, {torus['value']:.4f} on the rows of the torus."
        )
    return (
        "The score is the sum of the nine features, each graded so that higher is worse: nothing "
        "is fitted. What is estimated is the share of ordered pairs with the first malignant, "
        "the second benign and the first scored higher (ties count half): "
        f"{best['value']:.5f}. Divided by the share of malignant-benign pairs, which is "
        f"{best['compared']:.5f} and known once classes are counted, it is the AUC, "
        f"{best['value'] / best['compared']:.4f} ({torus['value'] / torus['compared']:.4f} on the "
        "rows of the torus): relative errors are those of the AUC. U1 is defined for such a "
        "single mean and not for a ratio of two."
    )


def notes(found: Found) -> list[str]:
    """Say how errors are measured and messages counted."""
    first = found[GRAPHS[0]]["gosta-sync"]
    apart = [m["gosta-async"].error[-1] / m["gosta-sync"].error[-1] for m in found.values()]
    return [
        f"{first.trials} trials of {first.iterations[-1]:,} iterations, rows dealt to nodes at "
        "random. Errors are root mean squares over nodes and trials, divided by the statistic. "
        "U1 estimates at each node the mean of that node's own row of pairs: its error is taken "
        "to that mean, and divided by the statistic as well.",
        "GoSta and U1 exchange once per iteration, which sends two messages; U2 exchanges twice. "
        "An exchange makes all nodes update with the synchronous clock, only its two nodes with "
        "the asynchronous one; the two clocks are compared at equal exchanges, where the error "
        f"of GoSta with the asynchronous clock ends at {min(apart):.2f} to {max(apart):.2f} times "
        "that with the synchronous one.",
    ]


def final_table(found: Found) -> Table:
    """List errors at the end."""
    errors = ("relative error", "deviation over trials", "error of the network mean")
    columns = ("graph", "method", "messages", *errors, "slope")
    rows: list[tuple[Cell, ...]] = [
        (
            graph,
            method,
            int(m.messages[-1]),
            float(m.error[-1]),
            float(m.trial_error[:, -1].std()),
            float(m.mean_error[-1]),
            m.slope,
        )
        for graph, by_method in found.items()
        for method, m in by_method.items()
    ]
    last = found[GRAPHS[0]]["u1"].iterations[-1]
    note = (
        "The slope is that of the logarithm of the error over the logarithm of iterations in the "
        "last decade, or since iteration |E| / lambda_(n-1) where that is later."
    )
    return Table(f"Errors after {last:,} iterations", columns, rows, note)


def price_table(found: Found) -> Table:
    """List messages until a level is reached."""
    rows: list[tuple[Cell, ...]] = [
        (graph, f"{100 * level:g} %", *(reached(m, level) for m in by_method.values()))
        for level in LEVELS
        for graph, by_method in found.items()
    ]
    return Table(
        "Messages until the relative error stays below a level",
        ("graph", "level", *found[GRAPHS[0]]),
        rows,
        "Interpolated between checkpoints, on logarithmic scales.",
    )


def _gap_exponents(found: Found, targets: Mapping[str, Any]) -> dict[str, float]:
    gaps = np.log([targets[graph]["gap"] for graph in GRAPHS])
    return {
        method: float(np.polyfit(gaps, np.log(errors), 1)[0])
        for method, errors in final_errors(found).items()
    }


def about_gap(found: Found, targets: Mapping[str, Any]) -> str:
    """Say how much of the spectral gap's part in the bound is seen in the errors."""
    powers = _gap_exponents(found, targets).values()
    weaker = min(powers) > EXPONENT
    return (
        "The bound of line 325 varies with the gap lambda_(n-1) / |E| like its power "
        f"{EXPONENT:g}; it is an upper bound, and errors need not. At equal "
        "iterations, errors follow powers from "
        f"{min(powers):.2f} to {max(powers):.2f}"
        + (": the graph matters less than in the bound." if weaker else ".")
    )


def gap_table(found: Found, targets: Mapping[str, Any]) -> Table:
    """List what the graphs cost beside what they cost in the bound."""
    bound = targets["torus"]["bound"][-1] / targets["complete"]["bound"][-1]
    errors = final_errors(found)
    rows: list[tuple[Cell, ...]] = [
        (method, power, errors[method][-1] / errors[method][0])
        for method, power in _gap_exponents(found, targets).items()
    ]
    return Table(
        "What graphs cost: final errors and the spectral gap",
        ("method", "fitted exponent of the gap", "error, torus / complete"),
        [*rows, ("bound (GoSta, synchronous)", EXPONENT, bound)],
        "Fitted over the three graphs.",
    )


def about_rules() -> str:
    """Own up to what was set after a look at results."""
    return (
        f"Two constants of the rules below were set after a look at quick runs: the tolerance "
        f"{SLOPE_TOLERANCE:g} of slopes, and the relative error {MEANINGFUL:g} from which on "
        "methods are compared at equal messages."
    )
