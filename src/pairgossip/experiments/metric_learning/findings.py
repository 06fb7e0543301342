"""Sentences and the table of metric learning, from measured results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.experiments.framework.section import Table
from pairgossip.experiments.metric_learning.claims import Measures
from pairgossip.experiments.metric_learning.problems import (
    DIMENSIONS,
    HELD_OUT,
    INFORMATIVE,
    NEIGHBORS,
)
from pairgossip.experiments.setting import GRAPHS
from pairgossip.results import Fit

STEPS = (0.01, 0.03)
"""Numerators of step sizes that were tried."""


def shares(fit: Fit) -> FloatArray:
    """Return how much of a metric's weight is on the informative dimensions: mean of nodes."""
    weights = fit.models
    return np.asarray((weights[..., :INFORMATIVE].sum(-1) / weights.sum(-1)).mean(axis=1))


def how_it_ran(step: float, measured: Measures) -> str:
    """Say what was run, and why the metric is diagonal."""
    first = measured.fits[GRAPHS[0]]
    return (
        f"{first.trials} trials of {first.iterations[-1]:,} asynchronous iterations on each graph, "
        f"step size {step:g}/sqrt(t), logistic loss; of the numerators "
        f"{' and '.join(f'{tried:g}' for tried in STEPS)} that were tried, this one ended with the "
        "lower objective. The metric is diagonal with weights of "
        "0 or more: a whole matrix would send the square of as many numbers in every exchange and "
        "ask for an eigendecomposition at each update. Objectives are those "
        "of a few nodes spread over the network, the same in all trials; distances between metrics "
        "are those of all nodes."
    )


def scores(measured: Measures) -> str:
    """Say how well nearest neighbors do."""
    central = measured.central
    return (
        f"On {HELD_OUT} held-out points, {NEIGHBORS} nearest neighbors find the class of "
        f"{100 * grand_mean(measured.accuracies):.1f} % with the nodes' metrics, "
        f"{100 * central['accuracy']:.1f} % with the centralized minimum and "
        f"{100 * central['euclidean']:.1f} % with the Euclidean distance."
    )


def grand_mean(by_graph: Mapping[str, FloatArray]) -> float:
    """Average over graphs and trials."""
    return float(np.mean([values.mean() for values in by_graph.values()]))


def share_of(model: Sequence[float]) -> float:
    """Return the share of one metric's weight on the informative dimensions."""
    return float(np.sum(model[:INFORMATIVE]) / np.sum(model))


def results_table(measured: Measures, share: Mapping[str, FloatArray] | None) -> Table:
    """Tabulate the learned metrics beside those that need no network."""
    columns = [
        "metric",
        "objective of nodes",
        "of their mean metric",
        "distance from mean metric",
        "held-out accuracy",
    ]
    rows: list[list[Any]] = [
        [
            f"gossip, {name}",
            float(fit.objective[-1]),
            float(measured.together[name].mean()),
            float(fit.disagreement[-1]),
            float(measured.accuracies[name].mean()),
        ]
        for name, fit in measured.fits.items()
    ]
    central = measured.central
    rows.append(["centralized minimum", central["objective"], None, None, central["accuracy"]])
    rows.append(["Euclidean, scaled dimensions", None, None, None, central["euclidean"]])
    rows.append(["Euclidean, data as they are", None, None, None, central["unscaled"]])
    if share is not None:
        columns.append("weight on informative dimensions")
        found = [*(float(share[name].mean()) for name in GRAPHS), share_of(central["model"])]
        for row, value in zip(rows, [*found, INFORMATIVE / DIMENSIONS, None], strict=True):
            row.append(value)
    note = f"The zero metric, where all nodes start, has {central['objective_of_zero']:.4f}."
    return Table("Objective and held-out accuracy at the end", columns, rows, note)
