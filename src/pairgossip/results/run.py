"""The result of an estimation: named arrays over trials, checkpoints and nodes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from pairgossip.algorithms import METHODS
from pairgossip.arrays import FloatArray, IntArray
from pairgossip.engine.estimation.trial import Setup, TrialRecord
from pairgossip.engine.trials import Outcome
from pairgossip.errors import InputError
from pairgossip.graphs import Graph
from pairgossip.kernels import WholeSets
from pairgossip.kernels.pairs import Means
from pairgossip.privacy import (
    PrivacyError,
    PrivateMeans,
    PrivatePairs,
    PrivateSets,
    RandomizedResponse,
)
from pairgossip.results.provenance import Fingerprint, method_mark
from pairgossip.results.traffic import AGAINST, Counts, Traffic, groups_of, site_means
from pairgossip.text import format_count
from pairgossip.theory import TheoryCurves, theory_curves

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.axes import Axes

__all__ = ["AGAINST", "Run"]


@dataclass(frozen=True, repr=False, eq=False)
class Run(Counts):
    """What `estimate` returns. Curves run over the checkpoints in ``iterations``."""

    kind: ClassVar[Literal["run"]] = "run"

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
    """Who exchanges with whom: with groups the rows of all sites, or for whole sets the sites."""
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
    fingerprint: Fingerprint
    """What data, kernel and method were; trials are joined only if they are of the same."""
    traffic: Traffic
    """What was sent."""
    groups: IntArray | None = None
    """The site of every row; None without groups."""
    construction: str | None = None
    """How sites exchange: "lexicographic", "blow-up" or "whole-sets"; None without groups."""
    privacy: RandomizedResponse | None = None
    """By what observations were randomized before nodes used them; None if they were not."""
    private_values: FloatArray | None = None
    """The statistic of each trial's reports, which its nodes converge to, shape (trials,)."""
    privacy_error: PrivacyError | None = None
    """How far these are expected to be off the target: predicted exactly, whatever was drawn."""
    _theory: TheoryCurves | None = None
    _setup: Setup | None = None

    @classmethod
    def from_records(
        cls, setup: Setup, outcome: Outcome[TrialRecord], seed: int, fingerprint: Fingerprint
    ) -> Run:
        """Collect what the trials wrote down; the fingerprint says what was estimated."""
        records = outcome.records
        kept = min(record.written for record in records)
        pairs = None if isinstance(setup.problem, Means) else setup.problem
        site_of = pairs.sets.site_of if isinstance(pairs, WholeSets | PrivateSets) else None
        groups, construction = groups_of(setup.graph, site_of)
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
            fingerprint={
                **fingerprint,
                "method": method_mark(setup, int(setup.checkpoints[kept - 1])),
            },
            groups=groups,
            construction=construction,
            traffic=Traffic.of_records(records, kept),
            privacy=(
                setup.problem.mechanism
                if isinstance(setup.problem, PrivatePairs | PrivateMeans | PrivateSets)
                else None
            ),
            private_values=(
                None
                if setup.privacy_error is None
                else np.array([record.private_value for record in records])
            ),
            privacy_error=setup.privacy_error,
            _setup=setup,
        )

    @property
    def trials(self) -> int:
        """Number of independent repetitions."""
        return len(self.estimates)

    @property
    def nodes(self) -> int:
        """Number of nodes: one per row, or with whole sets one per site."""
        return self.graph.n

    @property
    def site_estimates(self) -> FloatArray:
        """Final estimates of the sites, the mean of their rows', shape (trials, sites)."""
        return self.by_site(self.estimates)

    def by_site(self, values: FloatArray) -> FloatArray:
        """Average values of the nodes, shape (..., nodes), over the rows of each site."""
        if self.groups is None or values.shape[-1] == self.sites.n:
            return values
        return site_means(values, self.groups, self.sites.n)

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
                "This run kept summaries only: estimate again with {argument} for the bias.",
                "record",
                "nodes",
            )
        deviation = _mean_of_known(self.history) - self.target
        return np.sqrt(_mean_of_known(deviation.T**2))

    @property
    def exchanges_per_iteration(self) -> int:
        """How many exchanges an iteration makes: two for U2-gossip."""
        # As counted: a file may come from a session with methods that this one does not know.
        made = self.traffic.network[0, -1] + self.traffic.local[0, -1]
        return int(made // self.iterations[-1])

    @property
    def known_theory(self) -> TheoryCurves | None:
        """The theory curves if they were computed or loaded, without computing them."""
        return self._theory

    def theory(self) -> TheoryCurves:
        """Return the exact expectation and the bounds at the checkpoints (computed once).

        Of a private run it is the expectation over reports and exchanges.
        """
        if self._theory is None:
            if self._setup is None:
                known = METHODS.get(self.method)
                remedy = (
                    "call run.theory() before run.save()."
                    if known is None or self.clock in known.expectations
                    else "none are known for the asynchronous clock."
                    if self.clock == "async"
                    else f"none are known for method '{self.method}'."
                )
                raise InputError(
                    f"This run was loaded from a file that holds no theory curves: {remedy}"
                )
            problem = self._setup.problem
            curves = theory_curves(
                problem.expected() if isinstance(problem, PrivateMeans) else problem,
                self.graph,
                self.iterations,
                method=self._setup.method,
                clock=self.clock,
                order=self.order,
                law=self.law,
            )
            if self.privacy is not None:  # the bound does not know the noise of the reports
                unknown = np.full(len(self.iterations), np.nan)
                curves = curves._replace(deviation_bound=unknown)
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
        from pairgossip.results.storage import save_run

        save_run(self, Path(path))

    def __repr__(self) -> str:
        target = "per node" if np.ndim(self.target) else f"{self.target:.6g}"
        what = f"{self.method}-{self.clock}" + (f" of {self.kernel}" if self.kernel else "")
        where = format_count(self.nodes, "node")
        if self.groups is not None:
            where = (
                f"{format_count(len(self.groups), 'row')} at {format_count(self.sites.n, 'site')}"
            )
        if self.privacy is not None:
            target += f" (epsilon {self.privacy.epsilon:g})"
        return (
            f"<Run {what} on {where}: {format_count(self.trials, 'trial')}, "
            f"{self.iterations[-1]:,} iterations, target {target}, "
            f"mean {self.mean[-1]:.6g}, error {self.error[-1]:.2g}, {self.status}>"
        )


def _mean_of_known(values: FloatArray) -> FloatArray:
    """Mean over the first axis of the entries that are defined; NaN where none is."""
    known = ~np.isnan(values)
    count = known.sum(axis=0)
    total = np.where(known, values, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
