"""The result of an estimation: named arrays over trials, checkpoints and nodes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pairgossip.algorithms import METHODS
from pairgossip.arrays import FloatArray, IntArray
from pairgossip.engine.trial import Setup, TrialRecord
from pairgossip.engine.trials import Outcome
from pairgossip.errors import InputError
from pairgossip.graphs import Graph
from pairgossip.kernels.means import Means
from pairgossip.theory import TheoryCurves, theory_curves

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.axes import Axes

AGAINST = ("exchanges", "time", "messages", "iterations")


@dataclass(frozen=True, repr=False, eq=False)
class Run:
    """What `estimate` returns. Curves run over the checkpoints in ``iterations``."""

    kernel: str
    method: str
    clock: str
    order: str
    law: str
    target_kind: str
    """``"v"`` or ``"u"``; ``"mean"`` for gossip averaging."""
    target: float | FloatArray
    """The exact value; for U1-gossip one per node; NaN if it was too costly to compute."""
    iterations: IntArray
    graph: Graph
    seed: int
    status: str
    """``"done"`` or ``"interrupted"``."""
    trial_mean: FloatArray
    """Mean over nodes, shape (trials, checkpoints)."""
    trial_spread: FloatArray
    """Standard deviation over nodes of estimate minus target, shape (trials, checkpoints)."""
    trial_error: FloatArray
    """Root mean square over nodes of estimate minus target, shape (trials, checkpoints)."""
    times: FloatArray | None
    """Time of each checkpoint on Poisson clocks, shape (trials, checkpoints); None if sync.

    The network makes n exchanges per unit of time.
    """
    estimates: FloatArray
    """Final estimates, shape (trials, nodes)."""
    history: FloatArray | None
    """Estimates at all checkpoints, shape (trials, checkpoints, nodes); None for summaries."""
    trial_numbers: IntArray
    """Which trials these are; an interrupted run may keep the third without the second."""
    _theory: TheoryCurves | None = None
    _setup: Setup | None = None

    @classmethod
    def from_records(cls, setup: Setup, outcome: Outcome[TrialRecord], seed: int) -> Run:
        """Collect what the trials wrote down."""
        records = outcome.records
        kept = min(record.written for record in records)
        pairs = None if isinstance(setup.problem, Means) else setup.problem
        return cls(
            kernel=pairs.kernel.name if pairs else "",
            method=setup.method.name,
            clock=setup.clock,
            order=setup.order,
            law=setup.law,
            target_kind=pairs.target if pairs else "mean",
            target=setup.target,
            iterations=setup.checkpoints[:kept],
            graph=setup.graph,
            seed=seed,
            status="interrupted" if outcome.interrupted else "done",
            trial_mean=np.array([record.mean[:kept] for record in records]),
            trial_spread=np.array([record.spread[:kept] for record in records]),
            trial_error=np.array([record.error[:kept] for record in records]),
            times=(
                np.array([record.time[:kept] for record in records])
                if setup.clock == "async"
                else None
            ),
            estimates=np.array([record.estimates for record in records]),
            history=(
                np.array([record.history[:kept] for record in records])  # type: ignore[index]
                if setup.keep_history
                else None
            ),
            trial_numbers=np.array(outcome.numbers),
            _setup=setup,
        )

    @property
    def trials(self) -> int:
        """Number of independent repetitions."""
        return len(self.estimates)

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return self.graph.n

    @property
    def mean(self) -> FloatArray:
        """Mean over nodes and trials, shape (checkpoints,)."""
        return _mean_of_known(self.trial_mean)

    @property
    def spread(self) -> FloatArray:
        """Standard deviation over nodes, averaged over trials, shape (checkpoints,)."""
        return _mean_of_known(self.trial_spread)

    @property
    def error(self) -> FloatArray:
        """Root mean square error to the target over nodes and trials, shape (checkpoints,)."""
        # Squares of very large or small errors would leave the floating range.
        largest = np.nanmax(self.trial_error, initial=0.0) or 1.0
        return largest * np.sqrt(_mean_of_known((self.trial_error / largest) ** 2))

    @property
    def bias(self) -> FloatArray:
        """Root mean square over nodes of the mean over trials minus the target.

        Needs ``record="nodes"``. The mean over finitely many trials still fluctuates by about
        ``error / sqrt(trials)``.
        """
        if self.history is None:
            raise InputError(
                "This run kept summaries only: estimate again with record='nodes' for the bias."
            )
        deviation = _mean_of_known(self.history) - self.target
        return np.sqrt(_mean_of_known(deviation.T**2))

    @property
    def exchanges(self) -> IntArray:
        """Exchanges made until each checkpoint."""
        return self.iterations * METHODS[self.method].exchanges_per_iteration

    @property
    def messages(self) -> IntArray:
        """Messages sent until each checkpoint: one in either direction per exchange."""
        return self.iterations * METHODS[self.method].messages_per_iteration

    def axis(self, against: str = "exchanges") -> FloatArray:
        """Return the x axis of curves: exchanges, time (mean over trials), messages, iterations."""
        if against not in AGAINST:
            raise InputError(f"Curves are drawn against {', '.join(AGAINST)}, not '{against}'.")
        if against == "time":
            if self.times is None:
                raise InputError("A synchronous run has no clock times: use clock='async'.")
            return self.times.mean(axis=0)
        values: IntArray = getattr(self, against)
        return values.astype(np.float64)

    @property
    def known_theory(self) -> TheoryCurves | None:
        """The theory curves if they were computed or loaded, without computing them."""
        return self._theory

    def theory(self) -> TheoryCurves:
        """Return the exact expectation and the bounds at the checkpoints (computed once)."""
        if self._theory is None:
            if self._setup is None:
                remedy = (
                    "none are known for the asynchronous clock."
                    if self.clock == "async"
                    else "call run.theory() before run.save()."
                )
                raise InputError(
                    f"This run was loaded from a file that holds no theory curves: {remedy}"
                )
            curves = theory_curves(
                self._setup.problem,
                self.graph,
                self.iterations,
                method=self._setup.method,
                clock=self.clock,
                order=self.order,
                law=self.law,
            )
            object.__setattr__(self, "_theory", curves)
        assert self._theory is not None
        return self._theory

    def plot(
        self,
        what: str = "error",
        *,
        against: str = "exchanges",
        theory: bool | None = None,
        label: str | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the run's convergence and return the matplotlib axes.

        ``what="error"`` draws root mean square errors on log axes, ``"estimate"`` the estimates
        with their spread over nodes around the exact value. ``theory=None`` adds the exact
        expectation and the bounds where they are known and cheap.
        """
        from pairgossip.results.plots import plot_run

        return plot_run(self, what, against=against, theory=theory, label=label, ax=ax)

    def plot_graph(self, *, trial: int = 0, checkpoint: int = -1, ax: Axes | None = None) -> Axes:
        """Draw the network colored by the nodes' estimates and return the matplotlib axes."""
        from pairgossip.results.graph_picture import plot_graph

        return plot_graph(self, trial=trial, checkpoint=checkpoint, ax=ax)

    def to_pandas(self) -> pandas.DataFrame:
        """Return the curves as a table, one row per trial and checkpoint."""
        from pairgossip.results.tables import to_pandas

        return to_pandas(self)

    def to_xarray(self) -> xarray.Dataset:
        """Return all arrays with named dimensions trial, checkpoint and node."""
        from pairgossip.results.tables import to_xarray

        return to_xarray(self)

    def save(self, path: str | Path) -> None:
        """Write the run to one .npz file (arrays and a JSON header); `pairgossip.load` reads it.

        The user's data is not in it.
        """
        from pairgossip.results.storage import save

        save(self, Path(path))

    def __repr__(self) -> str:
        target = "per node" if np.ndim(self.target) else f"{self.target:.6g}"
        what = f"{self.method}-{self.clock}" + (f" of {self.kernel}" if self.kernel else "")
        return (
            f"<Run {what} on {_counted(self.nodes, 'node')}: {_counted(self.trials, 'trial')}, "
            f"{self.iterations[-1]:,} iterations, target {target}, "
            f"mean {self.mean[-1]:.6g}, error {self.error[-1]:.2g}, {self.status}>"
        )


def _mean_of_known(values: FloatArray) -> FloatArray:
    """Mean over the first axis of the entries that are defined; NaN where none is."""
    known = ~np.isnan(values)
    count = known.sum(axis=0)
    total = np.where(known, values, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
