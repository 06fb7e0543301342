"""The result of an optimization: models of every node, and curves over the checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.engine.descent.engines import Snapshot
from pairgossip.engine.descent.trial import DescentRecord, DescentSetup
from pairgossip.engine.solver_trials.trial import SolverRecord, SolverSetup
from pairgossip.engine.trials import Outcome
from pairgossip.losses.steps import AdaptiveStep
from pairgossip.results.fields import (
    CURVE,
    ITERATION,
    JSON,
    PAGE,
    REST,
    ROW,
    TRIAL,
    Fact,
    Parts,
    about,
    curve,
    join_fields,
    parts_of,
)
from pairgossip.results.provenance import Fingerprint, step_mark
from pairgossip.results.result import Result, collect_fields

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Bias:
    """The error of the gradients that nodes take, at the checkpoints.

    Gradients are at the reports where observations are private: their noise is not included.

    Arrays have shape (trials, checkpoints, p).
    """

    gradient: FloatArray
    """The mean over nodes of the gradient that they take minus the exact one."""
    network_model: FloatArray
    """The model of the network's mean accumulator, at which the bound measures the bias."""

    @property
    def plotted(self) -> FloatArray:
        """The term the paper plots: bias . network model, shape (trials, checkpoints)."""
        return np.einsum("tcp,tcp->tc", self.gradient, self.network_model)

    @property
    def norm(self) -> FloatArray:
        """The size of the bias, shape (trials, checkpoints)."""
        return np.linalg.norm(self.gradient, axis=2)

    def bound_term(self, optimum: FloatArray) -> FloatArray:
        """The term of the bound, (theta* - network model) . bias, shape (trials, checkpoints)."""
        return np.einsum("tcp,tcp->tc", self.gradient, optimum - self.network_model)


def _largest_at_end(curves: FloatArray) -> float:
    return float(curves[:, -1].max())


_BIAS = Parts(Bias, {"gradient": "bias_gradient", "network_model": "bias_model"})


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Fit(Result):
    """The result of `minimize`. Curves run over the checkpoints in ``iterations``."""

    kind: ClassVar[Literal["fit"]] = "fit"

    loss: str = field(metadata=about(alike=True))
    method: str = field(default="dual-averaging", metadata=about())
    """Or "sketch": then iterations are rounds, and the models of all nodes agree up to the error of
    averaging."""
    schedule: str = field(default="random", metadata=about())
    """The order of exchanges: "random", or for sketches also "ordered" or "tree"."""
    step: str = field(metadata=about(alike=True))
    step_scale: float = field(metadata=about())
    """The first step size: c of c/sqrt(t), or the constant of the adaptive step; 1 where a solver
    chooses its steps."""
    judged: IntArray = field(metadata=about(dims=("judged",)))
    """The nodes whose models are judged: all honest ones, or a sample of a large network."""
    trial_objective: FloatArray = field(metadata=curve("objective"))
    """Mean over the judged nodes of the objective of their models, shape (trials, checkpoints)."""
    trial_spread: FloatArray = field(metadata=curve("spread"))
    """Standard deviation over these nodes of the objectives, shape (trials, checkpoints)."""
    trial_disagreement: FloatArray = field(metadata=curve("disagreement"))
    """Root mean square distance of the (honest) nodes' models from their mean."""
    bias: Bias | None = field(
        default=None,
        metadata=about(dims=(TRIAL, ITERATION, "parameter"), parts=_BIAS),
    )
    """The gradient bias; None where it was not computed."""
    state: Snapshot = field(metadata=about(dims=(TRIAL, REST), parts=parts_of(Snapshot, "state")))
    """The last state of the networks, with a first axis of trials, from which `minimize` can go
    on."""
    gradient_error: FloatArray | None = field(
        default=None,
        metadata=curve(
            "gradient_error", fact=Fact("gradient error", _largest_at_end, places=(JSON, PAGE))
        ),
    )
    """The possible error of sketched slopes of pairs, relative to their mean, without the error of
    averaging, shape (trials, checkpoints); NaN before the first gradient. None where gradients are
    those of single pairs."""
    reports: IntArray | None = field(
        default=None, metadata=about(dims=(TRIAL, ROW, "column"), source="reports")
    )
    """The reports from which trials learned, shape (trials, rows, columns): a run that goes on from
    the fit uses the same, as new ones would reveal more."""

    @classmethod
    def from_records(
        cls,
        setup: DescentSetup,
        outcome: Outcome[DescentRecord],
        seed: int,
        fingerprint: Fingerprint,
    ) -> Fit:
        """Collect the records of the trials; the fingerprint says what was learned."""
        records, descent, problem = outcome.records, setup.descent, setup.descent.problem
        collected = collect_fields(cls, setup, outcome, descent.clock, problem.site_of)
        kept = len(collected["iterations"])

        def curves(name: str) -> FloatArray:
            return np.array([getattr(record, name)[:kept] for record in records])

        mark = step_mark(descent, int(collected["iterations"][-1]))
        return cls(
            **collected,
            seed=seed,
            loss=problem.loss.name,
            step=str(getattr(descent.steps, "name", "custom")),
            step_scale=(
                descent.steps.scale
                if isinstance(descent.steps, AdaptiveStep)
                else float(descent.sizes(np.ones(1))[0])
            ),
            judged=setup.judged,
            bias=(
                Bias(curves("gradient_bias"), curves("network_model")) if setup.keep_bias else None
            ),
            fingerprint={**fingerprint, "step": mark},
            state=_stack_states(records),
            privacy=setup.privacy,
        )

    @classmethod
    def from_solver(
        cls, setup: SolverSetup, outcome: Outcome[SolverRecord], seed: int, fingerprint: Fingerprint
    ) -> Fit:
        """Collect the records of the trials of a solver, until the last of them ended."""
        records, problem = outcome.records, setup.problem
        rounds = np.minimum(setup.checkpoints, max(record.rounds for record in records))
        iterations, first = np.unique(rounds, return_index=True)
        kept = min(len(iterations), *(record.written for record in records))
        collected = collect_fields(cls, setup, outcome, "sync", problem.site_of, first[:kept])
        return cls(
            **(collected | {"iterations": iterations[:kept]}),
            seed=seed,
            loss=problem.learning.loss.name,
            method="sketch",
            schedule=setup.timetable.name,
            step="quasi-newton",
            step_scale=1.0,
            judged=setup.judged,
            fingerprint=fingerprint,
            state=_stack_states(records),
        )

    def append(self, later: Fit) -> Fit:
        """Join the curves of this fit and of its continuation, for the trials that went on."""
        rows = np.flatnonzero(np.isin(self.trial_numbers, later.trial_numbers))
        iterations = np.concatenate([self.iterations, later.iterations])

        def join(arrays: Sequence[FloatArray]) -> FloatArray:
            before, after = arrays
            return np.concatenate([before[rows], after], axis=1)

        return replace(later, iterations=iterations, **join_fields([self, later], join, CURVE))

    @property
    def has_rounds(self) -> bool:
        """Whether iterations are rounds of averaging, of method "sketch"."""
        return self.method == "sketch"

    @property
    def models(self) -> FloatArray:
        """Models of the nodes, shape (trials, nodes, p): averages, or the last of the adaptive
        step."""
        return self.state.mean

    @property
    def model(self) -> FloatArray:
        """The mean model over nodes, or over honest ones, and trials, shape (p,)."""
        models = self.models if self.honest is None else self.models[:, self.honest]
        return models.mean(axis=(0, 1))

    @property
    def objective(self) -> FloatArray:
        """Mean objective over the judged nodes and trials, shape (checkpoints,)."""
        return self.trial_objective.mean(axis=0)

    @property
    def spread(self) -> FloatArray:
        """Standard deviation of the objective over the judged nodes, averaged over trials."""
        return self.trial_spread.mean(axis=0)

    @property
    def disagreement(self) -> FloatArray:
        """Root mean square distance of models from the nodes' mean, averaged over trials."""
        return self.trial_disagreement.mean(axis=0)

    def plot(
        self, what: str = "objective", *, against: str = "exchanges", ax: Axes | None = None
    ) -> Axes:
        """Draw the objective with its spread over nodes, and return the matplotlib axes.

        ``what="disagreement"`` draws the distance of models from their mean, ``"spread"`` that of
        objectives over nodes, ``"bias"`` the gradient bias, ``"gradient-error"`` the possible error
        of sketched gradients.
        """
        from pairgossip.results.plots import plot_result

        return plot_result(self, what, against=against, ax=ax)

    def __repr__(self) -> str:
        private = "" if self.privacy is None else f" epsilon {self.privacy.epsilon:g},"
        how = f"sketch, {self.schedule}" if self.has_rounds else self.clock
        return (
            f"<Fit {self.loss}, {how}, on {self._extent},{private} objective "
            f"{self.objective[-1]:.6g}, spread {self.spread[-1]:.2g}, {self.status}>"
        )


def _stack_states(records: Sequence[DescentRecord] | Sequence[SolverRecord]) -> Snapshot:
    """Return the last states of trials; those of a single trial may stay views."""
    states: list[Any] = [record.state for record in records]
    if len(states) == 1:
        return Snapshot(*(array[None] for array in states[0]))
    return Snapshot(*map(np.array, zip(*states, strict=True)))
