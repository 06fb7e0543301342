"""The code that the three estimators share, from parameters to a fit."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from pairgossip.arrays import FloatArray
from pairgossip.checks import choice
from pairgossip.errors import InputError, NotEnough, notify
from pairgossip.graphs import Graph
from pairgossip.graphs.grouped.grouping import group_labels
from pairgossip.graphs.laws import LawLike
from pairgossip.inference.answer import Answer
from pairgossip.inference.questions import exact
from pairgossip.kernels import AnyKernel
from pairgossip.losses import L1, Ball, Loss, Proximal, SquaredL2, as_proximal, inverse_sqrt
from pairgossip.minimization import minimize
from pairgossip.results.fit import Fit

_EXCHANGES_PER_NODE = 500
_FEWEST_EXCHANGES = 20_000
"""The default number of exchanges of dual averaging, per node, and its least value."""
_ADVICE = {
    "penalty": ("l2", 1e-6),
    "accuracy": ("schedule", "tree"),
    "method": ("solver", "dual-averaging"),
}
"""Advice in terms of parameters, where `minimize` advises an argument that estimators lack."""


def standardize(
    features: FloatArray, scales: bool, weights: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Center every column and scale it to standard deviation 1, or only center it.

    Return also the divisor of each column: 1 for a constant column.
    """
    data = np.asarray(features, dtype=np.float64)
    counts = np.ones(len(data)) if weights is None else weights
    center = np.average(data, axis=0, weights=weights)
    centered = data - center
    scale = np.ones(data.shape[1])
    if scales:
        spread = np.sqrt(np.einsum("kd,kd,k->d", centered, centered, counts) / counts.sum())
        # A column that is constant up to rounding stays as it is.
        varies = spread > 1e-12 * np.abs(center)
        scale[varies] = spread[varies]
        centered /= scale
    return centered, scale


def distinct_models(models: FloatArray) -> FloatArray:
    """Return the models of all nodes, or a single one where all share the same memory."""
    return models[:1] if models.strides[0] == 0 else models


def find_graph(graph: Any, rows: int, groups: Any) -> Any:
    """Return the name of a family, or a graph with one node for each row or group."""
    nodes = rows if groups is None else len(group_labels(groups, rows)[0])
    if callable(graph):
        graph = graph(nodes)
    if type(graph).__module__.partition(".")[0] == "networkx":
        graph = Graph.from_networkx(graph)
    if not isinstance(graph, Graph) or graph.n == nodes or (groups is not None and graph.n < nodes):
        return graph
    any_fold = "the name of a family or a function of the number of nodes"
    if groups is None:
        raise InputError(
            f"The graph has {graph.n} nodes but there are {rows} rows to train on, as in a fold of "
            f"a cross-validation: give {any_fold} as {{argument}}, or groups in fit and the graph "
            "of their sites.",
            "graph",
        )
    raise InputError(
        f"The graph has {graph.n} sites but {nodes} of them have rows to train on: use folds in "
        f"which every site has rows, or give {any_fold} as {{argument}}.",
        "graph",
    )


@dataclass(eq=False, repr=False)
class GossipEstimator(BaseEstimator):  # type: ignore[misc]
    """Parameters and methods common to the estimators; their classes document them."""

    graph: Any = "complete"
    _: KW_ONLY
    phi: str = "logistic"
    clock: str = "async"
    law: LawLike = "uniform-edges"
    iterations: int | None = None
    step: Any = "auto"
    radius: float | None = None
    l2: float | None = None
    l1: float = 0.0
    standardize: bool = True
    trials: int = 1
    random_state: Any = None
    n_jobs: int | None = None
    verbose: bool = False

    def score_interval(
        self, X: Any, y: Any, level: float = 0.95, groups: Any = None, sample_weight: Any = None
    ) -> Answer:
        """Return the accuracy of the model on rows X with labels y, with its sampling error.

        It is the share of pairs of rows that the model gets right; ties count one half. For the
        classifier this is the AUC, by DeLong; for the others it is their `score`. The interval is
        for the population from which these rows are drawn. With groups, a label of a site or a
        patient per row, it is for drawing whole groups, whose rows may be alike. A row with
        weight w counts like w rows.
        """
        data, kernel = self._judge(X, y)
        share = exact(data, kernel, "u", interval=level, groups=groups, weights=sample_weight)
        return Answer(**share.to_dict() | {"positive": self._positive() or share.positive})

    def _check_rows(self, X: Any) -> FloatArray:
        """Return rows to predict for as numbers, with the features seen in training."""
        check_is_fitted(self)
        rows: FloatArray = validate_data(self, X, dtype=np.float64, reset=False)
        return rows

    def _positive(self) -> str | None:
        """Return the name of the positive class in results; None where there is no such class."""
        return None

    def _judge(self, X: Any, y: Any) -> tuple[FloatArray, AnyKernel]:
        """Return rows of predictions and the label, and the kernel counted over their pairs."""
        raise NotImplementedError

    def _train(
        self,
        X: FloatArray,
        labels: Any,
        loss: Loss,
        constraint: Any,
        groups: Any,
        method: dict[str, Any],
        weights: FloatArray | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """Minimize the loss of standardized features, with one row or one group per node.

        ``method`` are the arguments of `minimize` that belong to one method. Return every node's
        model, averaged over trials, and the divisor of each feature.
        """
        features, scale = standardize(X, self.standardize, weights)
        self.fit_ = _minimize(
            features,
            labels,
            loss,
            find_graph(self.graph, len(features), groups),
            groups=groups,
            law=self.law,
            constraint=constraint,
            trials=self.trials,
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
            n_jobs=self.n_jobs,
            progress=bool(self.verbose),
            **method,
        )
        self.n_iter_ = int(self.fit_.iterations[-1])
        every = self.fit_.models
        models: FloatArray = every[0] if len(every) == 1 else every.mean(axis=0)
        if not np.isfinite(distinct_models(models)).all():
            raise InputError("Training diverged: give a smaller step or a radius.")
        return models, scale

    def _dual_averaging(self, rows: int, constraint: Any) -> dict[str, Any]:
        """Return the arguments of `minimize` for dual averaging."""
        penalty = self._penalty(0.0)
        as_proximal(constraint, penalty)  # raises where the two do not go together
        iterations = self.iterations
        if iterations is None:
            iterations = max(_EXCHANGES_PER_NODE * rows, _FEWEST_EXCHANGES)
        how = {"clock": self.clock, "step": self._step(), "bias": False}
        return how | {"iterations": iterations, "checkpoints": 1, "penalty": penalty}

    def _step(self) -> Any:
        if isinstance(self.step, str):
            step = choice("step", self.step, ("auto", "paper"))
            return None if step == "auto" else step
        if isinstance(self.step, Real):
            return inverse_sqrt(float(self.step))
        return self.step

    def _penalty(self, default_l2: float) -> Proximal | None:
        if self.l1 and self.l2:
            raise InputError("Both l1 and l2 are given: choose one of the two penalties.")
        if self.l1:
            return L1(self.l1)
        l2 = self.l2
        if l2 is None:
            l2 = default_l2 if self.radius is None else 0.0
        return SquaredL2(l2) if l2 else None

    def _ball(self) -> Ball | None:
        return None if self.radius is None else Ball(self.radius)


def _minimize(*data: Any, **how: Any) -> Fit:
    """Minimize, and pass warnings on to the caller of `fit`, in terms of its parameters."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit = minimize(*data, **how)
    for warning in caught:
        notice = warning.message
        if isinstance(notice, NotEnough) and notice.argument in _ADVICE:
            notice = NotEnough(notice.message, *_ADVICE[notice.argument])
        assert isinstance(notice, Warning)
        notify(notice)
    return fit


def refuse_one_class(classes: Any) -> None:
    """Raise `InputError` if all labels are the same."""
    if len(classes) < 2:
        raise InputError(
            f"The labels hold one class only ({classes[0]}): add observations of another class."
        )
