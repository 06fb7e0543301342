"""The runs of the comparison: four methods on three graphs, and their theory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.checks import checkpoint_grid
from pairgossip.estimation import estimate
from pairgossip.inference.questions import exact
from pairgossip.kernels import auc, within_cluster_scatter
from pairgossip.theory.bounds import constants, gosta_deviation_bound
from pairgossip_paper.framework import Arguments, Case, Computation, Facts, Plan, fit_power_law
from pairgossip_paper.paper_setup import (
    GRAPHS,
    ErrorCurve,
    NodeRows,
    paper_graph,
    patients,
)

METHODS = {
    "gosta-sync": ("gosta", "sync"),
    "gosta-async": ("gosta", "async"),
    "u2": ("u2", "sync"),
    "u1": ("u1", "sync"),
}
_LENGTHS = (1_000_000, 100_000)
"""Iterations of a full and of a quick run."""
_CHECKPOINTS = 41


def cases(statistic: str, plan: Plan) -> Sequence[Case]:
    """List the runs of all methods on all graphs, and their exact values."""
    last = plan.choose(*_LENGTHS)
    simulations = [
        plan.simulate(
            f"{graph}-{name}",
            estimate,
            partial(_problem, statistic, graph, plan.seed),
            last,
            method=method,
            clock=clock,
            checkpoints=_CHECKPOINTS,
            record="summary",
        )
        for graph in GRAPHS
        for name, (method, clock) in METHODS.items()
    ]
    targets = Computation(
        "targets",
        lambda: {graph: _target(statistic, graph, last, plan.seed) for graph in GRAPHS},
    )
    return [*simulations, targets]


def _score(X: FloatArray) -> FloatArray:
    """Sum the nine features: each is graded so that higher is worse; nothing is fitted."""
    return np.asarray(X.sum(axis=1), dtype=np.float64)


def _problem(statistic: str, graph: str, seed: int) -> Arguments:
    X, y = patients(graph, seed)
    shared = {"graph": paper_graph(graph, seed), "labels": y}
    if statistic == "scatter":
        return shared | {"data": X, "kernel": within_cluster_scatter()}
    # U1 is defined for one kernel, not for a ratio; the denominator n+ n- / n^2 is a constant.
    return shared | {"data": _score(X), "kernel": auc().numerator}


def _target(statistic: str, graph: str, last: int, seed: int) -> Facts:
    """Compute the statistic, its row means and the bound from all pairs, by their definitions."""
    rows, network = patients(graph, seed), paper_graph(graph, seed)
    H = _pair_values(statistic, rows)
    value = float(H.mean())
    grid = checkpoint_grid(last, _CHECKPOINTS)
    bound = gosta_deviation_bound(constants(H, network), grid) / np.sqrt(network.n)
    positives = float((rows.y == rows.y.max()).mean())
    return {
        "value": value,
        "row_distance": float(np.sqrt(np.mean((H.mean(axis=1) - value) ** 2)) / value),
        "bound": (bound / value).tolist(),
        "gap": network.normalized_gap(),
        "compared": positives * (1.0 - positives),
        **_sampling(statistic, rows),
    }


def _sampling(statistic: str, rows: NodeRows) -> dict[str, float]:
    """Return the statistic of these rows with its sampling error; for the AUC, of the ratio."""
    X, y = rows
    data, kernel = (X, within_cluster_scatter()) if statistic == "scatter" else (_score(X), auc())
    answer = exact(data, kernel, labels=y, interval=0.95)
    return {"all": answer.value, "error": answer.error, "low": answer.low, "high": answer.high}


def _pair_values(statistic: str, rows: NodeRows) -> FloatArray:
    """Return the n x n matrix of the kernel's values, by its definition."""
    X, y = rows
    if statistic == "scatter":
        squares = ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)
        return np.where(y[:, None] == y[None, :], squares, 0.0)
    ahead = _score(X)[:, None] - _score(X)[None, :]
    return np.where(y[:, None] > y[None, :], 0.5 * (np.sign(ahead) + 1.0), 0.0)


@dataclass(frozen=True)
class MethodCurve(ErrorCurve):
    """The errors of one method on one graph."""

    gap: float
    """lambda_(n-1) / |E| of the graph; errors follow a power of t from about 1 / gap iterations."""

    @property
    def mean_error(self) -> float:
        """Root mean square over trials of the error of the mean over nodes, at the end."""
        return float(np.sqrt(np.mean((self.run.trial_mean[:, -1] - self.value) ** 2)) / self.value)

    @property
    def distance(self) -> float:
        """Root mean square distance of the final estimates from the statistic itself."""
        return float(np.sqrt(np.mean((self.run.estimates - self.value) ** 2)) / self.value)

    @cached_property
    def slope(self) -> float:
        """The exponent of iterations in the error, at the end."""
        last = self.iterations[-1]
        late = self.iterations >= max(last / 10, min(1.0 / self.gap, last / 2))
        return fit_power_law(self.iterations[late], self.error[late]).slope
