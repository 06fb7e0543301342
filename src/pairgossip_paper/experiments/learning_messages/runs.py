"""The runs of "learning-messages": all ways to learn a score, on networks of two data sets."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.checks import ORDERED, TREE
from pairgossip.datasets import breast_cancer_wisconsin, digits
from pairgossip.errors import NotEnough
from pairgossip.graphs import Graph
from pairgossip.losses import SquaredL2, inverse_sqrt
from pairgossip.losses.learning import auc_of_scores
from pairgossip.minimization import minimize
from pairgossip.results import Fit
from pairgossip_paper.framework import Arguments, Case, Computation, Facts, Plan, geometric_grid
from pairgossip_paper.paper_setup import (
    GRAPHS,
    NODES,
    NodeRows,
    central_optimum,
    deal_rows,
    network,
    paper_nodes,
)

LOSS = "auc-logistic"
PAPER_STEP = 1e-3
GRID = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
"""Constants of c/sqrt(t) that are tried; the tuned step has the one with the lowest final loss."""
WISCONSIN, DIGITS = "wisconsin", "digits"
POSITIVE = 8
"""The digit whose images are to be scored above all others."""
_GRAY = 16.0
HELD_OUT = "held-out"
"""Name used in place of a graph's where some rows are kept from all nodes."""
_TRAINING = 0.7
_HELD_OUT_GRAPH = "watts-strogatz"
EARLY, LATE = 10_000, 100_000
"""The exchanges after which losses are compared."""
_LENGTHS = (300_000, EARLY)
"""Exchanges of dual averaging in a full and in a quick run."""
_FIRST = 100
_CHECKPOINTS = (36, 16)
"""Numbers of checkpoints in a full and in a quick run."""
_TRIALS = 3
_JUDGED_NODES = 50
"""Number of nodes over whose models losses are averaged."""


class _DataSet(NamedTuple):
    label: str
    l2: float
    """The penalty, which a loss needs if a score can separate the classes."""


DATA: Mapping[str, _DataSet] = {
    WISCONSIN: _DataSet("Breast Cancer Wisconsin", 0.0),
    DIGITS: _DataSet(f"digit {POSITIVE} against the rest", 1e-5),
}


class _LearningWay(NamedTuple):
    """A method with its schedule or step."""

    label: str
    how: Arguments
    trials: int = _TRIALS
    """Largest number of trials; exchanges along a tree are not random."""


WAYS: Mapping[str, _LearningWay] = {
    "paper": _LearningWay("paper's step", {"clock": "sync", "step": inverse_sqrt(PAPER_STEP)}, 1),
    "tuned": _LearningWay("tuned step", {"clock": "async"}),
    "adaptive": _LearningWay("adaptive step", {"clock": "async"}),
    "ordered": _LearningWay("sketch, ordered", {"method": "sketch", "schedule": ORDERED}, 1),
    "tree": _LearningWay("sketch, tree", {"method": "sketch", "schedule": TREE}, 1),
}


@dataclass(frozen=True)
class Place:
    """A network with rows of a data set on its nodes."""

    data: str
    graph: str
    """The name of the graph, or `HELD_OUT`."""
    seed: int

    @property
    def name(self) -> str:
        """The data set and the graph."""
        return f"{self.data}-{self.graph}"

    @property
    def ways(self) -> list[str]:
        """The ways that are run here.

        On a complete graph ordered exchanges give way to random ones. Messages about 64 features,
        over all edges of a sweep, would take most of the experiment's time.
        """
        swept = self.data == WISCONSIN and self.graph in ("watts-strogatz", "torus")
        return [way for way in WAYS if way != "ordered" or swept]

    @cached_property
    def _dealt(self) -> NodeRows:
        held_out = self.graph == HELD_OUT
        nodes = NODES if held_out else paper_nodes(self.graph)
        if self.data == WISCONSIN:
            return deal_rows(*breast_cancer_wisconsin(), nodes, self.seed)
        X, y = digits()
        return deal_rows(X / _GRAY, (y == POSITIVE).astype(float), nodes, self.seed)

    @property
    def rows(self) -> NodeRows:
        """The rows on the nodes."""
        count = len(self._dealt.X)
        kept = int(_TRAINING * count) if self.graph == HELD_OUT else count
        return NodeRows(self._dealt.X[:kept], self._dealt.y[:kept])

    @property
    def tested(self) -> NodeRows | None:
        """The rows that no node sees; None if there are none."""
        count = len(self.rows.X)
        X, y = self._dealt
        return NodeRows(X[count:], y[count:]) if self.graph == HELD_OUT else None

    @cached_property
    def network(self) -> Graph:
        """The graph."""
        graph = _HELD_OUT_GRAPH if self.graph == HELD_OUT else self.graph
        return network(graph, len(self.rows.X), self.seed)

    def minimize(self, **how: Any) -> Fit:
        """Learn from the rows; short runs are intended, so the warning about them is dropped."""
        l2 = DATA[self.data].l2
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotEnough)
            return minimize(
                *(*self.rows, LOSS, self.network),
                penalty=SquaredL2(l2) if l2 else None,
                judged=_JUDGED_NODES,
                seed=self.seed,
                n_jobs=1,
                progress=False,
                **how,
            )


def places(plan: Plan) -> list[Place]:
    """Return all networks."""
    return [Place(data, graph, plan.seed) for data in DATA for graph in (*GRAPHS, HELD_OUT)]


def cases(plan: Plan) -> Sequence[Case]:
    """List the runs of all ways on all networks, and the optima."""
    runs = [
        Computation(f"{place.name}-{way}", partial(_measure, place, way, plan))
        for place in places(plan)
        for way in place.ways
    ]
    return [Computation("facts", partial(_facts, plan)), *runs]


def _facts(plan: Plan) -> Facts:
    """Return centralized optima, and their AUC on rows that are held out."""
    facts = {}
    optima: dict[tuple[str, int], dict[str, Any]] = {}
    for place in places(plan):
        rows, tested = place.rows, place.tested
        key = place.data, len(rows.X)  # graphs with equally many nodes hold the same rows
        if key not in optima:
            optima[key] = central_optimum(*rows, DATA[place.data].l2)
        best = optima[key]
        facts[place.name] = {
            "nodes": len(rows.X),
            "held_out": 0 if tested is None else len(tested.X),
            "features": rows.X.shape[1],
            "optimum": best["objective"],
            "zero": best["objective_of_zero"],
            "auc": None if tested is None else _auc(np.array(best["model"]), tested),
        }
    return facts


def _auc(model: FloatArray, rows: NodeRows) -> float:
    return auc_of_scores(rows.X @ model, rows.y)


def _grid(plan: Plan) -> IntArray:
    """Return the checkpoints of dual averaging, including those at which losses are compared."""
    last = plan.choose(*_LENGTHS)
    even, compared = geometric_grid(_FIRST, last, plan.choose(*_CHECKPOINTS)), [EARLY, LATE]
    return np.unique(np.append(even, np.minimum(compared, last)))


def _measure(place: Place, way: str, plan: Plan) -> Facts:
    """Return messages and bytes sent at the checkpoints, and the losses and AUCs there."""
    how: dict[str, Any] = dict(WAYS[way].how)
    measured: dict[str, Any] = {}
    if way == "tuned":
        measured["constant"] = _tune(place, how, int(_grid(plan)[-1]))
        how["step"] = inverse_sqrt(measured["constant"])
    how["trials"] = min(plan.trials, WAYS[way].trials, plan.choose(_TRIALS, 1))
    tested = place.tested
    if tested is None:
        last = _run(place, how, plan)
    else:
        *_, last = fits = list(_stages(place, how, plan))
        measured["auc"] = [_mean_auc(fit, tested) for fit in fits]
    return measured | {
        "trials": last.trials,
        "messages": last.messages,
        "bytes": last.bytes,
        "loss": last.objective,
        "disagreement": float(last.disagreement[-1]),
    }


def _tune(place: Place, how: Arguments, last: int) -> float:
    """Return the constant of the grid whose run ends with the lowest loss."""
    ends = {
        c: place.minimize(
            **how, step=inverse_sqrt(c), iterations=last, checkpoints=[last], bias=False
        ).objective[-1]
        for c in GRID
    }
    return min(GRID, key=ends.__getitem__)


def _run(place: Place, how: Arguments, plan: Plan) -> Fit:
    if "method" in how:
        return place.minimize(**how)
    grid = _grid(plan)
    return place.minimize(**how, iterations=int(grid[-1]), checkpoints=grid, bias=False)


def _stages(place: Place, how: Arguments, plan: Plan) -> Iterator[Fit]:
    """Yield the run up to each of its checkpoints, for the models there."""
    if "method" in how:
        whole = _run(place, how, plan)
        for rounds in range(1, int(whole.iterations[-1])):
            yield place.minimize(**how, iterations=rounds)
        yield whole
        return
    fit: Fit | None = None
    for at in _grid(plan).tolist():
        fit = place.minimize(**how, start=fit, iterations=at, checkpoints=[at], bias=False)
        yield fit


def _mean_auc(fit: Fit, rows: NodeRows) -> float:
    """Return the AUC on rows, averaged over the judged nodes' models and over trials."""
    models = fit.models[:, fit.judged].reshape(-1, fit.models.shape[2])
    if (models == models[0]).all():  # as along a tree
        models = models[:1]
    return float(np.mean([_auc(model, rows) for model in models]))


class LossCurve(NamedTuple):
    """The loss of one way on one network over what it sends."""

    messages: FloatArray
    bytes: FloatArray
    loss: FloatArray
    auc: FloatArray | None
    """AUC on rows that are held out; None if there are none."""
    constant: float | None
    """The constant of the tuned step."""

    @classmethod
    def read(cls, saved: Facts) -> LossCurve:
        """Read what a case saved."""
        messages, sent, loss = (
            np.asarray(saved[name], dtype=np.float64) for name in ("messages", "bytes", "loss")
        )
        auc = np.asarray(saved["auc"]) if "auc" in saved else None
        return cls(messages, sent, loss, auc, saved.get("constant"))

    @property
    def exchanges(self) -> FloatArray:
        """Exchanges, of two messages each."""
        return self.messages / 2

    @property
    def final(self) -> float:
        """The loss at the end."""
        return float(self.loss[-1])

    def loss_after(self, exchanges: float) -> float | None:
        """Return the loss at this point; None before the first checkpoint and after the last."""
        if not self.exchanges[0] <= exchanges <= self.exchanges[-1]:
            return None
        return float(self.loss[np.searchsorted(self.exchanges, exchanges, side="right") - 1])

    def needed(self, level: float, against: str = "exchanges") -> float | None:
        """Return the exchanges, or bytes, from which on the loss is at most this, or None."""
        above = np.flatnonzero(self.loss > level)
        after = 0 if not len(above) else int(above[-1]) + 1
        return None if after == len(self.loss) else float(getattr(self, against)[after])
