"""The result of an estimation: named arrays over trials, checkpoints and nodes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from pairgossip.algorithms.methods import METHODS
from pairgossip.arrays import FloatArray, IntArray, root_mean_square
from pairgossip.engine.estimation.trial import Setup, TrialRecord
from pairgossip.engine.trials import Outcome
from pairgossip.errors import InputError, needed_for
from pairgossip.graphs import GroupedGraph
from pairgossip.inference.answer import Answer, Law, interval, intervals
from pairgossip.kernels.kernel import Combination, Kernel, Scale
from pairgossip.privacy import PrivacyError, PrivateMeans, PrivatePairs, PrivateSets
from pairgossip.privacy.moments import choose_scale
from pairgossip.results.provenance import Fingerprint, method_mark
from pairgossip.results.result import Result, shared_fields, site_means
from pairgossip.sketches.problem import SketchedPairs
from pairgossip.theory import TheoryCurves, theory_curves
from pairgossip.theory.curves import check_known

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.axes import Axes


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Run(Result):
    """What `estimate` returns. Curves run over the checkpoints in ``iterations``."""

    kind: ClassVar[Literal["run"]] = "run"

    kernel: str
    method: str
    order: str
    schedule: str
    """Which exchanges followed each other: "random", "ordered", "continuized" or "tree"."""
    target_kind: str
    """``"v"`` or ``"u"``; ``"mean"`` for gossip averaging."""
    target: float | FloatArray
    """The exact value; for U1-gossip one per node; NaN if it was too costly to compute."""
    trial_mean: FloatArray
    """Mean over nodes, shape (trials, checkpoints)."""
    trial_spread: FloatArray
    """Standard deviation over nodes of estimate minus target, shape (trials, checkpoints)."""
    trial_error: FloatArray
    """Root mean square over nodes of estimate minus target, shape (trials, checkpoints)."""
    estimates: FloatArray
    """Final estimates, shape (trials, nodes)."""
    history: FloatArray | None
    """Estimates at all checkpoints, shape (trials, checkpoints, nodes); None for summaries."""
    relaxation: float | None = None
    """How far two nodes went toward each other's values; None where they took the mean."""
    sketch: str | None = None
    """The sketch whose features nodes averaged; None for other methods."""
    sketch_value: float | None = None
    """What nodes agree on in the end: the statistic of the exactly averaged sketch."""
    bracket: tuple[float, float] | None = None
    """The interval that holds the exact value for sure, once nodes agree; None if none is known."""
    private_values: FloatArray | None = None
    """The statistic of each trial's reports, which its nodes converge to, shape (trials,)."""
    privacy_error: PrivacyError | None = None
    """How far these are expected to be off the target: predicted exactly, whatever was drawn."""
    level: float | None = None
    """The level of the intervals; None if nodes did not learn their sampling errors."""
    interval_scale: Scale = "plain"
    """On which scale the intervals are computed; they are symmetric on it without a skewness."""
    freedom: float = math.inf
    """Degrees of freedom of the sampling errors: rows, or rows of the smaller class, less one;
    sites less one where these swap whole sets."""
    skewness: float | None = None
    """Skewness of the mean of what rows add to the statistic; None if nodes know errors only."""
    shift: float = 0.0
    """Bias of the statistic that the intervals allow for, in standard errors."""
    effective_freedom: float = math.inf
    """Degrees of freedom where some rows matter most, if nodes know how much each adds."""
    sampling_error: FloatArray | None = None
    """What each node says of how far the statistic of these rows may be from the population's:
    a standard error, which falls with more rows only, shape (trials, nodes)."""
    widening: FloatArray | None = None
    """The factor in each sampling error that allows for rows that have not come around to the node
    yet, and whose part in the statistic it can only assume: 1 where all have, shape (trials,
    nodes). None where nodes read the error from a sketch, or know all rows."""
    site_error: FloatArray | None = None
    """The same if sites are drawn whole, with groups whose rows are nodes."""
    interval_low: FloatArray | None = None
    """The lower ends of intervals that are not symmetric, shape (trials, nodes)."""
    interval_high: FloatArray | None = None
    p_value: FloatArray | None = None
    """Of a test: how often chance alone would bring each node's statistic as far off, shape
    (trials, nodes)."""
    p_law: str | None = None
    """Where p comes from: "exact", a null variance with ties "counted", "by cells" or "not
    counted", or the "sampling error" of the intervals; None for tests by ranks."""
    null_error: FloatArray | None = None
    """What each node takes for the standard error without an effect, of which p is made where it
    is not made of the sampling error, shape (trials, nodes)."""
    gossip_error: FloatArray | None = None
    """How far each node's estimate moved in the second half of the run, shape (trials, nodes):
    about how far it still is from the statistic of these rows, which falls with messages."""
    trial_sampling_error: FloatArray | None = None
    """Root mean square over nodes at the checkpoints, shape (trials, checkpoints)."""
    trial_gossip_error: FloatArray | None = None
    """Root mean square over nodes at the checkpoints, shape (trials, checkpoints)."""
    enough: IntArray | None = None
    """After how many iterations all nodes had enough, 0 if not, shape (trials,)."""
    _theory: TheoryCurves | None = None
    _setup: Setup | None = None

    @classmethod
    def from_records(
        cls, setup: Setup, outcome: Outcome[TrialRecord], seed: int, fingerprint: Fingerprint
    ) -> Run:
        """Collect what the trials wrote down; the fingerprint says what was estimated."""
        records, problem = outcome.records, setup.problem
        sketched = problem if isinstance(problem, SketchedPairs) else None
        shared = shared_fields(setup, outcome, seed, _sites_of_rows(problem))
        kept = len(shared["iterations"])

        def curves(name: str) -> FloatArray:
            return np.array([getattr(record, name)[:kept] for record in records])

        is_private = setup.privacy_error is not None
        return cls(
            **shared,
            kernel=getattr(problem, "title", "") or getattr(problem.kernel, "name", ""),
            method=setup.method.name,
            clock=setup.clock,
            order=setup.order,
            schedule=setup.timetable.name,
            relaxation=setup.timetable.relaxation,
            sketch=None if sketched is None else sketched.name,
            sketch_value=None if sketched is None or np.ndim(setup.target) else sketched.limit,
            bracket=None if sketched is None else sketched.bracket,
            target_kind=problem.target,
            target=setup.target,
            trial_mean=curves("mean"),
            trial_spread=curves("spread"),
            trial_error=curves("error"),
            times=curves("time") if setup.clock == "async" else None,
            estimates=np.array([record.estimates for record in records]),
            history=curves("history") if setup.keep_history else None,
            fingerprint={
                **fingerprint,
                "method": method_mark(setup, int(setup.checkpoints[kept - 1])),
            },
            privacy=getattr(problem, "mechanism", None),
            private_values=(
                np.array([record.private_value for record in records]) if is_private else None
            ),
            privacy_error=setup.privacy_error,
            **_errors(setup, records, kept),
            _setup=setup,
        )

    @property
    def interval(self) -> tuple[FloatArray, FloatArray]:
        """The ends of each node's interval for the population's value, shape (trials, nodes).

        It allows for the sampling error, and for the noise of private reports; not for the gossip
        error, which is to be small beside it.
        """
        if self.level is None or self.sampling_error is None:
            if self.p_value is not None:
                raise InputError("This test has p-values and no interval: see run.p_value.")
            raise InputError(
                "This run has no sampling errors: estimate again with {argument}.", "interval", 0.95
            )
        if self.interval_low is not None and self.interval_high is not None:
            return self.interval_low, self.interval_high
        errors = np.hypot(self.sampling_error, self._noise)
        return intervals(self.estimates, errors, self.level, self.interval_scale, self._law)

    @property
    def answer(self) -> Answer | None:
        """The mean estimate, its sampling error by all nodes and trials, and the interval.

        The interval allows for the same as `interval`. None if nodes did not learn the error.
        """
        if self.level is None or self.sampling_error is None:
            return None
        return self.answer_about(float(self.mean[-1]), self._noise)

    def answer_about(self, value: float, noise: float = 0.0) -> Answer:
        """Return a value with the sampling error and an interval that allows for some noise too."""
        assert self.level is not None and self.sampling_error is not None
        error, scale = root_mean_square(self.sampling_error), self.interval_scale
        if self.interval_low is not None and self.interval_high is not None:
            low, high = (value + float(np.mean(ends - self.estimates)) for ends in self.interval)
        else:
            low, high = interval(value, math.hypot(error, noise), self.level, scale, self._law)
        return Answer(value, error, low, high, self.level, scale, self.positive)

    @property
    def _law(self) -> Law:
        """The law of estimates over their sampling errors."""
        return Law(self.freedom, self.skewness, self.shift, self.effective_freedom)

    @property
    def _noise(self) -> float:
        """The standard error of private reports."""
        return 0.0 if self.privacy_error is None else self.privacy_error.standard_error

    @property
    def sketch_error(self) -> float | None:
        """How far the exactly averaged sketch is off the exact value; None without a sketch."""
        return None if self.sketch_value is None else abs(self.sketch_value - float(self.target))

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
                if known is not None:
                    check_known(known, self.clock, self.schedule)
                limits = "; of sketches they are known where no range is flooded, no row private"
                raise InputError(
                    "This run was loaded from a file that holds no theory curves: call "
                    "run.theory() before run.save()"
                    f"{limits if known is not None and known.sketches else ''}."
                )
            problem = self._setup.problem
            curves = theory_curves(
                problem.expected() if isinstance(problem, PrivateMeans) else problem,
                self.graph,
                self.iterations,
                method=self._setup.method,
                clock=self.clock,
                order=self.order,
                course=self._setup.course,
            )
            if self.privacy is not None:  # these do not know the noise of the reports
                unknown = np.full(len(self.iterations), np.nan)
                curves = curves._replace(deviation_bound=unknown, error=unknown, sampling=unknown)
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
        from pairgossip.results.plots import plot_graph

        return plot_graph(self, trial=trial, checkpoint=checkpoint, ax=ax)

    def to_pandas(self) -> pandas.DataFrame:
        """Return the curves as a table, one row per trial and checkpoint."""
        with needed_for("Run.to_pandas"):
            import pandas
        from pairgossip.results.storage import RUN_ERROR_CURVES

        rows, count = self.trials, len(self.iterations)
        columns: dict[str, Any] = {
            "trial": np.repeat(np.arange(rows), count),
            "iteration": np.tile(self.iterations, rows),
            "exchanges": (self.network_exchanges + self.local_exchanges).ravel(),
            "messages": self.traffic.messages.ravel(),
            "bytes": self.trial_bytes.ravel(),
        }
        if self.construction is not None:
            columns["network_exchanges"] = self.network_exchanges.ravel()
            columns["local_exchanges"] = self.local_exchanges.ravel()
        if self.times is not None:
            columns["time"] = self.times.ravel()
        columns |= {
            "mean": self.trial_mean.ravel(),
            "spread": self.trial_spread.ravel(),
            "error": self.trial_error.ravel(),
        }
        for name in RUN_ERROR_CURVES:
            if getattr(self, name) is not None:
                columns[name.removeprefix("trial_")] = getattr(self, name).ravel()
        if self.private_values is not None:
            columns["private_value"] = np.repeat(self.private_values, count)
        return pandas.DataFrame(columns)

    def to_xarray(self) -> xarray.Dataset:
        """Return all arrays with named dimensions; the checkpoints are labeled by iteration."""
        with needed_for("Run.to_xarray"):
            import xarray
        from pairgossip.results.storage import RUN_ERROR_CURVES, RUN_ERRORS, RUN_FACTS

        curves = ("trial", "iteration")
        variables: dict[str, Any] = {
            "mean": (curves, self.trial_mean),
            "spread": (curves, self.trial_spread),
            "error": (curves, self.trial_error),
            "estimates": (("trial", "node"), self.estimates),
            "exchanges": (("iteration",), self.exchanges),
            "messages": (("iteration",), self.messages),
            "bytes": (curves, self.trial_bytes),
            "target": (("node",) if np.ndim(self.target) else (), self.target),
        }
        if self.construction is not None:
            variables |= {
                "network_exchanges": (curves, self.network_exchanges),
                "local_exchanges": (curves, self.local_exchanges),
            }
        if self.groups is not None and self.groups.size == self.nodes:
            variables["site"] = (("node",), self.groups)
        if self.times is not None:
            variables["time"] = (curves, self.times)
        if self.history is not None:
            variables["history"] = (("trial", "iteration", "node"), self.history)
        for name in RUN_ERRORS:
            if getattr(self, name) is not None:
                variables[name] = (("trial", "node"), getattr(self, name))
        for name in RUN_ERROR_CURVES:
            if getattr(self, name) is not None:
                variables[name] = (curves, getattr(self, name))
        if self.enough is not None:
            variables["enough"] = (("trial",), self.enough)
        privacy: dict[str, Any] = {}
        if self.privacy is not None and self.privacy_error is not None:
            variables["private_values"] = (("trial",), self.private_values)
            privacy = {"epsilon": self.privacy.epsilon} | self.privacy_error._asdict()
        names = ["kernel", "method", "clock", "order", "law", "schedule", "target_kind", "status"]
        names += [] if self.construction is None else ["construction"]
        names += [] if self.positive is None else ["positive"]
        names += [name for name in RUN_FACTS if getattr(self, name) is not None]
        attributes = {name: getattr(self, name) for name in names} | {"seed": str(self.seed)}
        return xarray.Dataset(
            variables,
            coords={
                "trial": np.arange(self.trials),
                "iteration": self.iterations,
                "node": np.arange(self.nodes),
            },
            attrs=attributes | privacy,
        )

    def __repr__(self) -> str:
        from pairgossip.results.curves import what_ran

        target = "per node" if np.ndim(self.target) else f"{self.target:.6g}"
        what = what_ran(self)
        if self.privacy is not None:
            target += f" (epsilon {self.privacy.epsilon:g})"
        p = "no interval, " if self.level is None else "interval: sampling error, "
        p = "" if self.null_error is None else f"p: {self.p_law}, {p}"
        return (
            f"<Run {what} on {self._extent}, target {target}, "
            f"mean {self.mean[-1]:.6g}, error {self.error[-1]:.2g}, {p}{self.status}>"
        )


def _scale(problem: Any, kernel: Kernel | Combination) -> Scale:
    """Return the scale of intervals, which is that of the kernel unless reports are noisy."""
    if not isinstance(problem, PrivatePairs | PrivateSets):
        return kernel.interval_scale
    rows = len(problem.data)
    return choose_scale(problem.mechanism, rows, kernel.interval_scale)


def _errors(setup: Setup, records: list[TrialRecord], kept: int) -> dict[str, Any]:
    """Return what nodes learned of their errors, if they were asked to."""
    kernel = setup.problem.kernel
    if setup.level is None:
        return {} if setup.node_test is None else setup.node_test.judge(records)

    def collect(name: str) -> FloatArray:
        return np.array([getattr(record, name) for record in records])

    has_sites = isinstance(setup.graph, GroupedGraph) and setup.learns_rows
    has_ends = kernel is None and not setup.tests
    return {
        "level": None if setup.tests else setup.level,
        "interval_scale": "plain" if kernel is None else _scale(setup.problem, kernel),
        **setup.sampling_law._asdict(),
        "sampling_error": collect("sampling_error"),
        "widening": collect("widening") if setup.learns_rows else None,
        "site_error": collect("site_error") if has_sites else None,
        "interval_low": collect("interval_low") if has_ends else None,
        "interval_high": collect("interval_high") if has_ends else None,
        "p_value": collect("p_value") if setup.tests else None,
        **({} if setup.node_test is None else setup.node_test.judge(records)),
        "gossip_error": collect("gossip_error"),
        "trial_sampling_error": collect("trial_sampling_error")[:, :kept],
        "trial_gossip_error": collect("trial_gossip_error")[:, :kept],
        "enough": collect("enough") if setup.stops_early else None,
    }


def _sites_of_rows(problem: Any) -> IntArray | None:
    """Return the site of every row, where nodes are sites with all their rows."""
    sets = getattr(problem, "sets", None)
    return getattr(problem, "site_of", None) if sets is None else sets.site_of


def _mean_of_known(values: FloatArray) -> FloatArray:
    """Mean over the first axis of the entries that are defined; NaN where none is."""
    known = ~np.isnan(values)
    count = known.sum(axis=0)
    total = np.where(known, values, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
