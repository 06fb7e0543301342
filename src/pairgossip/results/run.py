"""The result of an estimation: named arrays over trials, checkpoints and nodes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from pairgossip.arrays import FloatArray, IntArray, mean_of_defined, root_mean_square
from pairgossip.engine.estimation.trial import Setup, TrialRecord
from pairgossip.engine.trials import Outcome
from pairgossip.errors import InputError
from pairgossip.inference.answer import Answer, Law, interval, intervals
from pairgossip.kernels.kernel import Scale
from pairgossip.privacy import PrivacyError
from pairgossip.results.fields import (
    ITERATION,
    JSON,
    NODE,
    PAGE,
    PER_TRIAL,
    TRIAL,
    Fact,
    about,
    at_end,
    curve,
    has_ends,
    has_faults,
    has_null_errors,
    has_site_errors,
    is_private,
    is_test,
    learns_errors,
    learns_rows,
    parts_of,
    per_node,
    stops_early,
)
from pairgossip.results.provenance import Fingerprint, method_mark
from pairgossip.results.result import Result, collect_fields, site_means
from pairgossip.results.theory import find_theory
from pairgossip.theory import TheoryCurves

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.axes import Axes


def _as_bracket(ends: Any) -> tuple[float, float]:
    low, high = ends
    return float(low), float(high)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Run(Result):
    """The result of `estimate`. Curves run over the checkpoints in ``iterations``."""

    kind: ClassVar[Literal["run"]] = "run"

    kernel: str = field(metadata=about(alike=True))
    method: str = field(metadata=about(alike=True))
    order: str = field(metadata=about(alike=True))
    schedule: str = field(metadata=about(alike=True))
    """The order of exchanges: "random", "ordered", "continuized" or "tree"."""
    relaxation: float | None = field(
        default=None,
        metadata=about(alike=True, decode=float, fact=Fact("relaxation", places=(PAGE,))),
    )
    """The step of two nodes toward each other's values; None where they took the mean."""
    sketch: str | None = field(
        default=None, metadata=about(alike=True, fact=Fact("sketch", str, places=(PAGE,)))
    )
    """The sketch whose features nodes averaged; None for other methods."""
    sketch_value: float | None = field(
        default=None,
        metadata=about(
            alike=True,
            decode=float,
            fact=Fact("error of the sketch", of="sketch_error", places=(PAGE,)),
        ),
    )
    """The statistic of the exactly averaged sketch, on which nodes agree in the end."""
    bracket: tuple[float, float] | None = field(
        default=None,
        metadata=about(
            decode=_as_bracket,
            fact=Fact(
                "exact value for sure between", "{0[0]:.6g} and {0[1]:.6g}".format, places=(PAGE,)
            ),
        ),
    )
    """The interval that certainly holds the exact value, once nodes agree; None if not known."""
    target_kind: str = field(metadata=about(alike=True))
    """``"v"`` or ``"u"``; ``"mean"`` for gossip averaging."""
    target: float | FloatArray = field(
        metadata=about(
            dims=(NODE,), alike=True, decode=lambda value: value if value.ndim else float(value)
        )
    )
    """The exact value; for U1-gossip one per node; NaN if it was too costly to compute."""
    trial_mean: FloatArray = field(metadata=curve("mean"))
    """Mean over nodes, shape (trials, checkpoints)."""
    trial_spread: FloatArray = field(metadata=curve("spread"))
    """Standard deviation over nodes of estimate minus target, shape (trials, checkpoints)."""
    trial_error: FloatArray = field(metadata=curve("error"))
    """Root mean square over nodes of estimate minus target, shape (trials, checkpoints)."""
    trial_honest_error: FloatArray | None = field(
        default=None,
        metadata=curve(
            "honest_error", has_faults, Fact("RMS error of honest nodes", at_end, "honest_error")
        ),
    )
    """The same over the nodes that neither lie nor crash; None without faults."""
    estimates: FloatArray = field(metadata=per_node("estimates"))
    """Final estimates, shape (trials, nodes)."""
    history: FloatArray | None = field(
        default=None, metadata=about(dims=(TRIAL, ITERATION, NODE), source="history")
    )
    """Estimates at all checkpoints, shape (trials, checkpoints, nodes); None for summaries."""
    privacy_error: PrivacyError | None = field(
        default=None,
        metadata=about(encode=list, decode=lambda parts: PrivacyError(*parts), omitted=True),
    )
    """The expected error of private values, relative to the target: exact, for any draw."""
    level: float | None = field(default=None, metadata=about(alike=True, decode=float))
    """The level of the intervals; None if nodes did not learn their sampling errors."""
    interval_scale: Scale = field(default="plain", metadata=about())
    """The scale on which the intervals are computed; without a skewness they are symmetric on
    it."""
    freedom: float = field(default=math.inf, metadata=about(decode=float))
    """Degrees of freedom of the sampling errors: one less than the rows, or the rows of the smaller
    class, or than the sites where these swap whole sets."""
    skewness: float | None = field(default=None, metadata=about(decode=float))
    """Skewness of the mean of the rows' contributions to the statistic; None if only errors are
    known.
    """
    shift: float = field(default=0.0, metadata=about(decode=float))
    """Bias of the statistic that the intervals allow for, in standard errors."""
    effective_freedom: float = field(default=math.inf, metadata=about(decode=float))
    """Degrees of freedom where some rows matter most, if nodes know each row's contribution."""
    sampling_error: FloatArray | None = field(
        default=None,
        metadata=per_node(
            "sampling_error",
            learns_errors,
            Fact("sampling error", root_mean_square, places=(JSON, PAGE)),
        ),
    )
    """Each node's estimate of the distance of the statistic of these rows from the population's: a
    standard error, which falls only with more rows, shape (trials, nodes)."""
    widening: FloatArray | None = field(
        default=None,
        metadata=per_node(
            "widening",
            learns_rows,
            Fact("factor in the sampling error for rows not seen", np.mean, places=(JSON, PAGE)),
        ),
    )
    """The factor in each sampling error that allows for rows that have not come around to the node
    yet, whose part in the statistic it can only assume: 1 where all rows have, shape (trials,
    nodes). None where nodes read the error from a sketch, or know all rows."""
    site_error: FloatArray | None = field(
        default=None,
        metadata=per_node(
            "site_error",
            has_site_errors,
            Fact("sampling error by site", root_mean_square, places=(JSON,)),
        ),
    )
    """The same errors if sites are drawn whole, with groups whose rows are nodes."""
    interval_low: FloatArray | None = field(
        default=None, metadata=per_node("interval_low", has_ends)
    )
    """The lower ends of intervals that are not symmetric, shape (trials, nodes)."""
    interval_high: FloatArray | None = field(
        default=None, metadata=per_node("interval_high", has_ends)
    )
    p_value: FloatArray | None = field(default=None, metadata=per_node("p_value", is_test))
    """The probability that chance alone takes each node's statistic of a test as far off, shape
    (trials, nodes)."""
    p_law: str | None = field(default=None, metadata=about())
    """The source of p: "exact", a null variance with ties "counted", "by cells" or "not counted",
    or the "sampling error" of the intervals; None for tests by ranks."""
    null_error: FloatArray | None = field(
        default=None, metadata=per_node("null_error", has_null_errors)
    )
    """Each node's standard error without an effect, from which p is computed where it does not come
    from the sampling error, shape (trials, nodes)."""
    gossip_error: FloatArray | None = field(
        default=None,
        metadata=per_node(
            "gossip_error",
            learns_errors,
            Fact("gossip error", root_mean_square, places=(JSON, PAGE)),
        ),
    )
    """The movement of each node's estimate in the second half of the run, shape (trials, nodes):
    about its distance from the statistic of these rows, which falls with messages."""
    trial_sampling_error: FloatArray | None = field(
        default=None,
        metadata=curve("trial_sampling_error", column="sampling_error", when=learns_errors),
    )
    """Root mean square over nodes at the checkpoints, shape (trials, checkpoints)."""
    trial_gossip_error: FloatArray | None = field(
        default=None,
        metadata=curve("trial_gossip_error", column="gossip_error", when=learns_errors),
    )
    """Root mean square over nodes at the checkpoints, shape (trials, checkpoints)."""
    enough: IntArray | None = field(
        default=None,
        metadata=about(
            dims=PER_TRIAL,
            source="enough",
            when=stops_early,
            fact=Fact("enough after", np.asarray, places=(JSON,)),
        ),
    )
    """The number of iterations after which all nodes had enough, 0 if they had not, shape
    (trials,)."""
    private_values: FloatArray | None = field(
        default=None,
        metadata=about(
            dims=PER_TRIAL, source="private_value", column="private_value", when=is_private
        ),
    )
    """The statistic of each trial's reports, to which its nodes converge, shape (trials,)."""
    _theory: TheoryCurves | None = field(
        default=None,
        metadata=about(dims=(ITERATION,), parts=parts_of(TheoryCurves, "theory")),
    )
    _setup: Setup | None = None

    @classmethod
    def from_records(
        cls, setup: Setup, outcome: Outcome[TrialRecord], seed: int, fingerprint: Fingerprint
    ) -> Run:
        """Collect the records of the trials; the fingerprint says what was estimated."""
        records, problem = outcome.records, setup.problem
        is_sketch = problem.sketch_name is not None
        collected = collect_fields(cls, setup, outcome, setup.clock, problem.site_of)
        collected |= _describe_errors(setup)
        if setup.node_test is not None:
            collected |= setup.node_test.judge(records)
        mark = method_mark(setup, int(collected["iterations"][-1]))
        return cls(
            **collected,
            seed=seed,
            kernel=problem.name,
            method=setup.method.name,
            order=setup.order,
            schedule=setup.timetable.name,
            relaxation=setup.timetable.relaxation,
            sketch=problem.sketch_name,
            # The value on which nodes agree in the end, where all read one number from a sketch.
            sketch_value=problem.limit if is_sketch and not np.ndim(setup.target) else None,
            bracket=problem.bracket,
            target_kind=problem.target,
            target=setup.target,
            fingerprint={**fingerprint, "method": mark},
            privacy=problem.mechanism,
            privacy_error=setup.privacy_error,
            _setup=setup,
        )

    @property
    def interval(self) -> tuple[FloatArray, FloatArray]:
        """The ends of each node's interval for the population's value, shape (trials, nodes).

        It allows for the sampling error, and for the noise of private reports; not for the gossip
        error, which should be small beside it.
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

        The interval allows for the same errors as `interval`. None if nodes did not learn the
        error.
        """
        if self.level is None or self.sampling_error is None:
            return None
        return self.answer_about(float(self.mean[-1]), self._noise)

    def answer_about(self, value: float, noise: float = 0.0) -> Answer:
        """Return a value with the sampling error and an interval that also allows for some
        noise."""
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
        """The error of the exactly averaged sketch in the exact value; None without a sketch."""
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
        return mean_of_defined(self.trial_mean)

    @property
    def spread(self) -> FloatArray:
        """Standard deviation over nodes, averaged over trials, shape (checkpoints,)."""
        return mean_of_defined(self.trial_spread)

    @property
    def error(self) -> FloatArray:
        """Root mean square error to the target over nodes and trials, shape (checkpoints,)."""
        return _over_trials(self.trial_error)

    @property
    def honest_error(self) -> FloatArray | None:
        """The same over the nodes that neither lie nor crash; None without faults."""
        return None if self.trial_honest_error is None else _over_trials(self.trial_honest_error)

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
        deviation = mean_of_defined(self.history) - self.target
        return np.sqrt(mean_of_defined(deviation.T**2))

    @property
    def known_theory(self) -> TheoryCurves | None:
        """The theory curves if they were computed or loaded, without computing them."""
        return self._theory

    def theory(self) -> TheoryCurves:
        """Return the exact expectation and the bounds at the checkpoints (computed once).

        For a private run it is the expectation over reports and exchanges.
        """
        if self._theory is None:
            object.__setattr__(self, "_theory", find_theory(self, self._setup))
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
        with their spread over nodes around the exact value, ``"spread"`` the spread alone.
        ``theory=None`` adds the exact expectation and the bounds where they are known and cheap.
        """
        from pairgossip.results.plots import plot_result

        return plot_result(self, what, against=against, theory=theory, label=label, ax=ax)

    def plot_graph(self, *, trial: int = 0, checkpoint: int = -1, ax: Axes | None = None) -> Axes:
        """Draw the network colored by the nodes' estimates and return the matplotlib axes."""
        from pairgossip.results.plots import plot_graph

        return plot_graph(self, trial=trial, checkpoint=checkpoint, ax=ax)

    def to_pandas(self) -> pandas.DataFrame:
        """Return the curves as a table, one row per trial and checkpoint."""
        from pairgossip.results.tables import curves_table

        return curves_table(self)

    def to_xarray(self) -> xarray.Dataset:
        """Return all arrays with named dimensions; the checkpoints are labeled by iteration."""
        from pairgossip.results.tables import as_dataset

        return as_dataset(self)

    def __repr__(self) -> str:
        from pairgossip.results.curves import what_ran

        target = "per node" if np.ndim(self.target) else f"{self.target:.6g}"
        if self.privacy is not None:
            target += f" (epsilon {self.privacy.epsilon:g})"
        interval = "no interval" if self.level is None else "interval: sampling error"
        error = f"error {self.error[-1]:.2g}"
        if self.has_dishonest and self.honest_error is not None:
            error = f"error of honest nodes {self.honest_error[-1]:.2g}"
        p = "" if self.null_error is None else f"p: {self.p_law}, {interval}, "
        return (
            f"<Run {what_ran(self)} on {self._extent}, target {target}, "
            f"mean {self.mean[-1]:.6g}, {error}, {p}{self.status}>"
        )


def _over_trials(errors: FloatArray) -> FloatArray:
    """Return the root mean square over trials of errors, shape (trials, checkpoints)."""
    # Squares of very large or small errors would overflow or vanish.
    largest = np.nanmax(errors, initial=0.0) or 1.0
    return largest * np.sqrt(mean_of_defined((errors / largest) ** 2))


def _describe_errors(setup: Setup) -> dict[str, Any]:
    """Return the level, scale and law of the errors that nodes learn, if they learn them."""
    if setup.level is None:
        return {}
    return {
        "level": None if setup.tests else setup.level,
        "interval_scale": setup.problem.interval_scale,
        **setup.sampling_law._asdict(),
    }
