"""The result of an optimization: models of every node, and curves over the checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.engine.descent.engines import Snapshot
from pairgossip.engine.descent.trial import DescentRecord, DescentSetup
from pairgossip.engine.solver_trials.trial import SolverRecord, SolverSetup
from pairgossip.engine.trials import Outcome
from pairgossip.losses.learning import WholeSetsLearning
from pairgossip.losses.steps import AdaptiveStep
from pairgossip.results.provenance import Fingerprint, step_mark
from pairgossip.results.result import Result, Traffic, shared_fields

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Bias:
    """How far the gradients that nodes take are from those they mean, at the checkpoints.

    Both are taken at the reports where observations are private: their noise is no part of it.

    Arrays have shape (trials, checkpoints, p).
    """

    gradient: FloatArray
    """The mean over nodes of gradient taken minus gradient meant."""
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

    def append(self, later: Bias, rows: IntArray) -> Bias:
        """Return the bias of the trials in these rows, and then of their continuation."""
        return Bias(
            np.concatenate([self.gradient[rows], later.gradient], axis=1),
            np.concatenate([self.network_model[rows], later.network_model], axis=1),
        )

    def bound_term(self, optimum: FloatArray) -> FloatArray:
        """The term of the bound, (theta* - network model) . bias, shape (trials, checkpoints)."""
        return np.einsum("tcp,tcp->tc", self.gradient, optimum - self.network_model)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Fit(Result):
    """What `minimize` returns. Curves run over the checkpoints in ``iterations``."""

    kind: ClassVar[Literal["fit"]] = "fit"

    loss: str
    method: str = "dual-averaging"
    """Or "sketch": then iterations are rounds, and the models of all nodes agree up to what
    averaging leaves."""
    schedule: str = "random"
    """In which order nodes exchange: "random", or for sketches also "ordered" or "tree"."""
    step: str
    step_scale: float
    """The first step size, c of c/sqrt(t), or the constant of the adaptive step; 1 where a solver
    chooses its steps."""
    judged: IntArray
    """The nodes whose models are judged: all, or a sample of a large network."""
    trial_objective: FloatArray
    """Mean over the judged nodes of the objective of their models, shape (trials, checkpoints)."""
    trial_spread: FloatArray
    """Standard deviation over these nodes of the objectives, shape (trials, checkpoints)."""
    trial_disagreement: FloatArray
    """Root mean square distance of the nodes' models from their mean."""
    bias: Bias | None
    """The gradient bias; None where it was not computed."""
    state: Snapshot
    """Where the networks stopped, with an axis of trials in front; `minimize` can go on from it."""
    gradient_error: FloatArray | None = None
    """How far sketched slopes of pairs may be off, relative to their mean, shape (trials,
    checkpoints), what averaging leaves not counted; NaN before the first gradient. None where
    gradients are those of single pairs."""
    reports: IntArray | None = None
    """The reports that trials learned from, shape (trials, rows, columns): whoever goes on from
    the fit uses the same, as new ones would tell more."""

    @classmethod
    def from_records(
        cls,
        setup: DescentSetup,
        outcome: Outcome[DescentRecord],
        seed: int,
        fingerprint: Fingerprint,
    ) -> Fit:
        """Collect what the trials wrote down; the fingerprint says what was learned."""
        records, descent, problem = outcome.records, setup.descent, setup.descent.problem
        site_of = problem.sets.site_of if isinstance(problem, WholeSetsLearning) else None
        shared = shared_fields(setup, outcome, seed, site_of)
        kept = len(shared["iterations"])

        def curves(name: str) -> FloatArray:
            return np.array([getattr(record, name)[:kept] for record in records])

        return cls(
            **shared,
            loss=problem.loss.name,
            clock=descent.clock,
            step=str(getattr(descent.steps, "name", "custom")),
            step_scale=(
                descent.steps.scale
                if isinstance(descent.steps, AdaptiveStep)
                else float(descent.sizes(np.ones(1))[0])
            ),
            judged=setup.judged,
            trial_objective=curves("objective"),
            trial_spread=curves("spread"),
            trial_disagreement=curves("disagreement"),
            times=curves("time") if descent.clock == "async" else None,
            bias=(
                Bias(curves("gradient_bias"), curves("network_model")) if setup.keep_bias else None
            ),
            fingerprint={
                **fingerprint,
                "step": step_mark(descent, int(setup.checkpoints[kept - 1])),
            },
            state=Snapshot(*map(np.array, zip(*(record.state for record in records), strict=True))),
            privacy=setup.privacy,
            reports=(
                None if setup.privacy is None else np.array([record.reports for record in records])
            ),
        )

    @classmethod
    def from_solver(
        cls, setup: SolverSetup, outcome: Outcome[SolverRecord], seed: int, fingerprint: Fingerprint
    ) -> Fit:
        """Collect what the trials of a solver wrote down, until the last of them ended."""
        records, problem = outcome.records, setup.problem
        rounds = np.minimum(setup.checkpoints, max(record.rounds for record in records))
        iterations, first = np.unique(rounds, return_index=True)
        kept = min(len(iterations), *(record.written for record in records))
        at = first[:kept]

        def curves(name: str) -> FloatArray:
            return np.array([getattr(record, name)[at] for record in records])

        shared = shared_fields(setup, outcome, seed, problem.site_of)
        traffic = Traffic(*(totals[:, at] for totals in shared.pop("traffic")))
        return cls(
            **(shared | {"iterations": iterations[:kept]}),
            traffic=traffic,
            loss=problem.learning.loss.name,
            method="sketch",
            schedule=setup.timetable.name,
            clock="sync",
            times=None,
            step="quasi-newton",
            step_scale=1.0,
            judged=setup.judged,
            trial_objective=curves("objective"),
            trial_spread=curves("spread"),
            trial_disagreement=curves("disagreement"),
            gradient_error=curves("gradient_error"),
            bias=None,
            fingerprint=fingerprint,
            state=Snapshot(*map(_stack, zip(*(record.state for record in records), strict=True))),
        )

    def append(self, later: Fit) -> Fit:
        """Join the curves of this fit and of its continuation, for the trials that went on."""
        rows = np.flatnonzero(np.isin(self.trial_numbers, later.trial_numbers))

        def join(name: str) -> FloatArray:
            return np.concatenate([getattr(self, name)[rows], getattr(later, name)], axis=1)

        bias = None
        if self.bias is not None and later.bias is not None:
            bias = self.bias.append(later.bias, rows)
        return replace(
            later,
            iterations=np.concatenate([self.iterations, later.iterations]),
            trial_objective=join("trial_objective"),
            trial_spread=join("trial_spread"),
            trial_disagreement=join("trial_disagreement"),
            times=None if self.times is None else join("times"),
            bias=bias,
            traffic=self.traffic.append(later.traffic, rows),
        )

    @property
    def has_rounds(self) -> bool:
        """Whether iterations are rounds of averaging, of method "sketch"."""
        return self.method == "sketch"

    @property
    def models(self) -> FloatArray:
        """Models of the nodes, shape (trials, nodes, p): averaged, or of the adaptive step last."""
        return self.state.mean

    @property
    def model(self) -> FloatArray:
        """The mean model over nodes and trials, shape (p,)."""
        return self.models.mean(axis=(0, 1))

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

        ``what="disagreement"`` draws the distance of models from their mean, ``"bias"`` the
        gradient bias, ``"gradient-error"`` how far sketched gradients may be off.
        """
        from pairgossip.results.plots import plot_fit

        return plot_fit(self, what, against=against, ax=ax)

    def __repr__(self) -> str:
        private = "" if self.privacy is None else f" epsilon {self.privacy.epsilon:g},"
        how = f"sketch, {self.schedule}" if self.has_rounds else self.clock
        return (
            f"<Fit {self.loss}, {how}, on {self._extent},{private} objective "
            f"{self.objective[-1]:.6g}, spread {self.spread[-1]:.2g}, {self.status}>"
        )


def _stack(arrays: Sequence[Any]) -> Any:
    """Put arrays on top of each other; one alone may stay the view of a single row that it is."""
    return arrays[0][None] if len(arrays) == 1 else np.array(arrays)
