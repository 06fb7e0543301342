"""Estimators of linear scores: two solvers, and weights of rows."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, fields
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from pairgossip.arguments.minimize import DUAL_AVERAGING, SKETCH
from pairgossip.arrays import FloatArray
from pairgossip.checks import choice
from pairgossip.errors import InputError
from pairgossip.learn.base import GossipEstimator, distinct_models
from pairgossip.losses import Loss, as_proximal
from pairgossip.run_requests.sketched import MOST_GRADES

AUTO = "auto"
_SOLVER_OF = {"schedule": SKETCH, "tol": SKETCH, "clock": DUAL_AVERAGING, "step": DUAL_AVERAGING}
"""Parameters that only one solver uses, and this solver."""


class Rows(NamedTuple):
    """The training data of a score, without rows of weight 0."""

    features: FloatArray
    labels: Any
    groups: Any
    weights: FloatArray | None

    @property
    def total(self) -> float:
        """The number of rows, or the sum of their weights."""
        return float(len(self.labels) if self.weights is None else self.weights.sum())


def weigh_rows(X: FloatArray, y: Any, groups: Any, sample_weight: Any) -> Rows:
    """Check weights, and leave out rows whose weight is 0."""
    if sample_weight is None:
        return Rows(X, y, groups, None)
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
    if weights.min() < 0:
        raise InputError("A sample weight is negative: give weights of 0 or more.")
    kept = weights > 0
    if not kept.any():
        raise InputError("All sample weights are 0: give at least two rows a positive weight.")
    if groups is not None and len(groups) == len(kept) and not kept.all():
        groups = np.asarray(groups, dtype=object)[kept]
    return Rows(X[kept], y[kept], groups, weights[kept])


@dataclass(eq=False, repr=False)
class GossipScorer(GossipEstimator):
    """Parameters and training of estimators whose model is a score of rows."""

    solvers: ClassVar[tuple[str, ...]] = (SKETCH, DUAL_AVERAGING)

    _: KW_ONLY
    solver: str = SKETCH
    schedule: str = "tree"
    tol: float = 1e-6

    def _learn_scores(self, rows: Rows, loss: Loss) -> FloatArray:
        """Set the models of all nodes, in the features' own units; return their mean."""
        solver = self._choose_solver(rows)
        ball = self._ball()
        if solver == DUAL_AVERAGING:
            method = self._dual_averaging(len(rows.features), ball)
        else:
            method = self._sketch(rows)
            as_proximal(ball, method["penalty"])  # raises where the two do not go together
        models, scale = self._train(
            rows.features, rows.labels, loss, ball, rows.groups, method, rows.weights
        )
        own_units = distinct_models(models) / scale
        self.models_ = np.broadcast_to(own_units, models.shape)
        return own_units.mean(axis=0)

    def _sketch(self, rows: Rows) -> dict[str, Any]:
        """Return the arguments of `minimize` for sketched gradients."""
        return {
            "method": SKETCH,
            "schedule": self.schedule,
            "tolerance": self.tol,
            "iterations": self.iterations,
            "weights": rows.weights,
            "penalty": self._penalty(_default_l2(rows)),
            "judged": 0,  # nodes know their objective after every round, at no cost
        }

    def _choose_solver(self, rows: Rows) -> str:
        solver = choice("solver", self.solver, self.solvers)
        if solver == AUTO:
            solver = SKETCH if len(np.unique(rows.labels)) <= MOST_GRADES else DUAL_AVERAGING
        defaults = {field.name: field.default for field in fields(self)}
        for name, owner in _SOLVER_OF.items():
            if owner != solver and getattr(self, name) != defaults[name]:
                raise InputError(
                    f"Parameter {name} belongs to solver '{owner}', but this is solver '{solver}': "
                    f"leave {name} out, or use {{argument}}.",
                    "solver",
                    owner,
                )
        if solver == DUAL_AVERAGING and rows.weights is not None:
            raise InputError(
                "Dual averaging counts every row once: leave sample_weight out, or use {argument}, "
                f"which takes labels of up to {MOST_GRADES} different values.",
                "solver",
                SKETCH,
            )
        return solver


def _default_l2(rows: Rows) -> float:
    """Return 1/(2n) times the share of pairs that count, as strong as C = 1 of scikit-learn.

    Without a penalty there would be no best model where a score separates the classes.
    """
    _, grades = np.unique(rows.labels, return_inverse=True)
    shares = np.bincount(grades, rows.weights) / rows.total
    return float(0.25 * (1.0 - (shares**2).sum()) / rows.total)
