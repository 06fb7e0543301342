"""A run of `estimate`: its arguments, checked and turned into the setup of a trial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pairgossip.algorithms.methods import Method, find_method
from pairgossip.arguments.estimate import EstimateArguments
from pairgossip.arrays import FloatArray, IntArray
from pairgossip.checks import WHOLE_SETS
from pairgossip.engine.estimation.building import check_engine
from pairgossip.engine.estimation.trial import LARGEST_COLLECTION, Setup
from pairgossip.engine.exchanges.rehearsal import rehearse
from pairgossip.engine.timetable import Timetable, settle_timetable
from pairgossip.errors import InputError, UnknownTarget, notify
from pairgossip.faults.network import FaultyNetwork
from pairgossip.graphs import Graph
from pairgossip.graphs.laws import NamedOrGiven
from pairgossip.inference.answer import Law, check_level
from pairgossip.inference.answering import degenerate_error, sampling_error
from pairgossip.inference.projection import project
from pairgossip.kernels import Means, Pairs, Problem
from pairgossip.kernels.kernel import Scale, as_kernel
from pairgossip.kernels.weighing import are_frequencies, warn_of_frequencies
from pairgossip.privacy import PrivateMeans, PrivatePairs, RandomizedResponse
from pairgossip.privacy.estimation import check_mechanism
from pairgossip.progress import in_steps, progress_bar
from pairgossip.results.notices import warn_if_coarse, warn_if_not_enough, warn_if_unsettled
from pairgossip.results.provenance import attack_marks, estimation_fingerprint
from pairgossip.results.run import Run
from pairgossip.run_requests import faults as faulty
from pairgossip.run_requests.request import Request
from pairgossip.sketches.problem import SketchedPairs

_LARGEST_HISTORY_BYTES = 1 << 28
"""Largest size, in bytes, at which all estimates at every checkpoint are kept by default."""
_BORDERS: dict[Scale, tuple[float, ...]] = {
    "plain": (),
    "log": (0.0,),
    "logit": (0.0, 1.0),
    "fisher": (-1.0, 1.0),
}
"""Values at the border of a scale, where the sampling error degenerates."""
_LARGEST_BLOCKED_TARGET = 20_000
"""Largest number of rows for which the exact value of a kernel without closed form is computed."""


@dataclass(kw_only=True)
class EstimationRequest(EstimateArguments, Request):
    """A run of `estimate`, which documents the arguments."""

    row_arguments: ClassVar[Sequence[str]] = (
        *Request.row_arguments,
        "weights",
        "within",
        "between",
    )
    tests: ClassVar[bool] = False
    """Whether nodes learn the p of a test."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._method = self._find_method()
        self._order = _choose_order(self.order, self._method, self.clock)
        self._method.check_schedule(self.schedule)
        self._check_statistic()
        self._check_interval()
        if self.asked_faults is not None:
            how = self._method, self.clock, self.schedule, self.engine
            faulty.check_method(self.asked_faults, *how)
            if self.interval is not None:
                faulty.check_errors(self.asked_faults)

    def execute(self) -> Run:
        """Run the trials, and warn the caller about limits of the result."""
        setup = self.setup()
        fingerprint = {**estimation_fingerprint(setup.problem), **attack_marks(setup.faulty)}
        outcome = self.run(setup, f"{setup.method.name} on {setup.graph.n:,} nodes")
        run = Run.from_records(setup, outcome, self.entropy, fingerprint)
        self._warn(run, setup)
        return self.finish(run, setup.iterations)

    def _warn(self, run: Run, setup: Setup) -> None:
        warn_if_not_enough(run)
        warn_if_unsettled(run)
        warn_if_coarse(run, setup)

    def setup(self) -> Setup:
        """Check the other arguments and return all that a trial needs besides its seed."""
        self.prepare_rows()
        rows = self._rows()
        if rows.positive is not None:  # order statistics by class have their own
            self.positive_class = self.label_name or rows.positive
        if self.groups is not None and self._method.takes_whole_sites:
            self.construction = WHOLE_SETS
        graph, site_of = self.place(rows.n)
        problem = self._problem(rows, site_of)
        self._find_method(problem.n)
        check_engine(self.engine, problem, self._method, self.clock)
        law = self.settle_law(graph)
        timetable = self._timetable(graph, law, problem)
        grid = self.grid(problem.n, timetable.length)
        if self.asked_faults is not None:
            faulty.check_problem(self.asked_faults, self._method, problem, graph)
        network = self.find_faulty(graph, problem.components, int(grid[-1]))
        keep_history = len(self.trial_numbers) * len(grid) * problem.n * 8 <= _LARGEST_HISTORY_BYTES
        if self.record is not None:
            keep_history = self.record == "nodes"
        target = self._exact(problem)
        # Nodes that swap whole sets learn the error of drawing sites.
        by_site = problem.set_sizes is not None and self._method.tracks_rows
        freedom = float(problem.n - 1) if by_site else rows.freedom
        if self.interval is not None:
            self._check_errors(rows, by_site, target, freedom)
        if network is not None and network.faults.liars:
            network = network.with_lies(faulty.lies_about(problem, target, self.root))
        setup = Setup(
            problem=self._with_liars(problem, site_of, network),
            graph=graph,
            method=self._method,
            clock=self.clock,
            order=self._order,
            law=law,
            checkpoints=grid,
            target=target,
            keep_history=keep_history,
            engine=self.engine,
            privacy_error=problem.predicted_error(target),
            timetable=timetable,
            level=self.interval,
            stops_early=self.until is not None,
            tests=self.tests,
            sampling_law=self._law(rows, problem, freedom),
            exact_error=self._exact_error(rows),
            faulty=network,
        )
        return rehearse(setup, self.root)

    def _with_liars(
        self, problem: Problem, site_of: IntArray | None, network: FaultyNetwork | None
    ) -> Problem:
        """Return the problem with false rows of liars, where rows are collected."""
        if network is None or not network.faults.liars or not self._method.collects:
            return problem
        lies = network.network.is_liar
        liars = np.flatnonzero(lies if site_of is None else lies[site_of])
        # A separate array of labels is not a column of the data.
        columns = as_kernel(self.kernel).columns if self.labels is None else None
        self.data = faulty.with_false_rows(self.data, liars, network.faults, columns)
        return self._problem(self._rows(), site_of)

    def _find_method(self, nodes: int | None = None) -> Method:
        """Return the method; raise `InputError` if it does not work on this number of nodes."""
        return find_method(self.method, self.clock, nodes)

    def _timetable(self, graph: Graph, law: NamedOrGiven, problem: Problem) -> Timetable:
        ways = 2 if len(problem.holders) else 1
        return settle_timetable(self.schedule, graph, law, self._method, self.relaxation, ways)

    def _problem(self, rows: Problem, site_of: IntArray | None) -> Problem:
        """Return the problem whose values nodes average or evaluate."""
        if self._method.sketches:
            pairs = rows.visible_pairs
            if pairs is None:
                return rows.report_shares(site_of)
            return SketchedPairs(pairs, self.sketch, site_of, errors=self.interval is not None)
        if self._method.collects and rows.n > LARGEST_COLLECTION:
            raise self._refusal(
                f"tracks which nodes have which of {rows.n:,} rows, for at most "
                f"{LARGEST_COLLECTION:,} rows: use {{argument}}."
            )
        return rows if site_of is None else self._whole_sets(rows, site_of)

    def _check_statistic(self) -> None:
        """Raise `InputError` if the method and the statistic do not fit."""
        if self.sketch is not None and (not self._method.sketches or self.privacy is not None):
            why = (
                "takes no sketch of the rows: leave {argument} out, or use method 'sketch'."
                if not self._method.sketches
                else "averages how often each private report was given: leave {argument} out."
            )
            raise InputError(f"Method '{self._method.name}' {why}", "sketch")
        if self._method.estimates == "mean":
            if self.kernel is not None or self.labels is not None:
                raise self._refusal(
                    "averages the data itself and takes no kernel and no labels: leave them out, "
                    "or use {argument}."
                )
        elif self.kernel is None:
            why = "needs a kernel to average over pairs, such as {argument}."
            raise self._refusal(why, "kernel", "gini")

    def _check_interval(self) -> None:
        """Raise `InputError` if nodes cannot learn the errors that an interval needs."""
        if self.until is not None:
            self.interval = 0.95 if self.interval is None else self.interval
        if self.interval is None:
            return
        self.interval = check_level(self.interval)
        method = self._method
        if self.privacy is not None and method.sketches:
            raise self._refusal(
                "averages private reports, whose sampling error it does not know: use {argument}."
            )
        if not (method.tracks_rows or method.sketches or method.collects):
            raise self._refusal(
                "does not let nodes learn the differences between rows, and so no sampling error: "
                "use "
                "{argument}, or leave the interval out."
            )

    def _exact_error(self, rows: Problem) -> float:
        """Return the sampling error of the exact value; raise `InputError` where there is none.

        Nodes that know all rows compute it, and sketches are judged by it; NaN if nobody needs it.
        """
        method, pairs = self._method, rows.visible_pairs
        if self.interval is None or pairs is None:
            return float("nan")
        is_cheap = all(part.row_totals is not None for part in pairs.parts)
        if not (method.collects or (method.sketches and is_cheap)):
            return float("nan")
        return sampling_error(project(pairs))

    def _law(self, rows: Problem, problem: Problem, freedom: float) -> Law:
        """Return the law of the statistic over its error; nodes that know rows know more of it."""
        if self.interval is None:
            return Law(freedom)
        pairs = rows.visible_pairs
        if self._method.collects and pairs is not None:
            return project(pairs).law()
        return problem.limit_law(freedom) or Law(freedom)

    def _check_errors(
        self, rows: Problem, by_site: bool, target: float | FloatArray, freedom: float
    ) -> None:
        """Raise `InputError` if the rows do not give a sampling error."""
        if self.until is None:
            rows.check_interval()
        if freedom < 1:
            of_class = "" if rows.classes is None else " of each class"
            what = "site" if by_site else f"row{of_class}"
            raise InputError(
                f"A sampling error needs more than one {what}: leave {{argument}} out.", "interval"
            )
        pairs = rows.visible_pairs
        if pairs is None:
            return
        if not by_site and not are_frequencies(rows.weights):
            raise InputError(
                "Weights that are not whole numbers are not frequencies of rows, whose sampling "
                "error nodes could learn: leave {argument} out, or use exact, with groups.",
                "interval",
            )
        if not by_site:
            warn_of_frequencies(rows.weights)
        if float(target) in _BORDERS[pairs.interval_scale]:
            raise degenerate_error(pairs, float(target), None if by_site else freedom)

    def _refusal(self, why: str, argument: str = "method", value: str = "gosta") -> InputError:
        """Build the error for a method that cannot do this."""
        return InputError(f"Method '{self._method.name}' {why}", argument, value)

    def _rows(self) -> Problem:
        """Return the problem of the rows, whose nodes see reports only if it is private."""
        if self.privacy is not None:
            return self._private_rows(self.privacy)
        if self._method.estimates == "mean":
            self._refuse_factors(f"Method '{self._method.name}' averages all rows alike")
            return Means(self.data)
        strata = {"within": self.within, "between": self.between}
        factors = {"weights": self.weights, **strata}
        pairs = Pairs(
            self.data, self.kernel, self.target, self.labels, **factors, positive=self.label_name
        )
        if self._method.estimates == "row-mean" and pairs.components > 1:
            raise self._refusal(
                f"estimates the rows of a single kernel, and '{pairs.kernel.name}' is made of "
                f"{pairs.components}: use {{argument}}."
            )
        pairs.check()
        return pairs

    def _refuse_factors(self, why: str) -> None:
        """Raise `InputError` for weights and strata, which pairs cannot have here."""
        for name in ("weights", "within", "between"):
            if getattr(self, name) is not None:
                raise InputError(f"{why}: leave {{argument}} out.", name)

    def _private_rows(self, mechanism: RandomizedResponse) -> Problem:
        self._refuse_factors("Private reports do not show which pairs count")
        check_mechanism(mechanism)
        seeded = self.seed is not None
        if self._method.estimates == "mean":
            return PrivateMeans(self.data, mechanism, seeded=seeded)
        if self._method.estimates == "row-mean":
            raise self._refusal(
                "estimates the mean of every single row of pairs, which depends on one private "
                "report however many others there are: use {argument}."
            )
        pairs = PrivatePairs(
            self.data, self.kernel, mechanism, self.target, self.labels, seeded=seeded
        )
        pairs.check()
        return pairs

    def _whole_sets(self, rows: Problem, site_of: IntArray) -> Problem:
        """Return the problem of sites that swap all their rows at once."""
        if self._method.averages or not (self._method.swaps or self._method.collects):
            why = "swaps no observations, so there are no whole sets to swap: use {argument}."
            raise self._refusal(why, "construction", "lexicographic")
        if self._method.estimates == "row-mean":
            raise self._refusal(
                "estimates the mean of every single row of pairs, but whole sets have one estimate "
                "per site: use {argument}.",
                "construction",
                "lexicographic",
            )
        return rows.at_sites(site_of)

    def _exact(self, problem: Problem) -> float | FloatArray:
        """Return the exact value, one per node where each has its own; NaN if it is too costly."""
        by_rows = self._method.estimates == "row-mean"
        if self.reference is not None:
            return _check_reference(self.reference, (problem.n,) if by_rows else ())
        if problem.kernel is None:
            return problem.exact()
        forms = [part.row_totals if by_rows else part.total for part in problem.parts]
        closed = all(form is not None for form in forms)
        count = len(problem.data)
        if not closed and count > _LARGEST_BLOCKED_TARGET:
            unknown = UnknownTarget(
                f"The exact value of kernel '{problem.kernel.name}' on {count:,} rows takes "
                f"{count**2:.0e} evaluations and was not computed, so errors are unknown: "
                "pass {argument} if you know it.",
                "reference",
            )
            notify(unknown)
            return float("nan")
        if by_rows:
            return problem.row_means()
        # A progress function counts iterations, and the exact value takes none.
        show = False if callable(self.progress) else self.progress
        with progress_bar("exact value", 1000, show) as advance:
            return problem.exact(in_steps(advance))


def _choose_order(order: str | None, method: Method, clock: str) -> str:
    if order is not None and clock == "async":
        raise InputError(
            "The order of update and exchange is a choice of the synchronous clock only: "
            "leave {argument} out.",
            "order",
        )
    chosen = "update-first" if order is None else order
    if chosen != "update-first" and method.updates != "either":
        raise InputError(
            f"Method '{method.name}' has one order of update and exchange only: leave "
            "{argument} out, or use method 'gosta'.",
            "order",
        )
    return chosen


def _check_reference(reference: Any, shape: tuple[int, ...]) -> float | FloatArray:
    try:
        values = np.asarray(reference, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        values = np.full(1, np.nan)
    if values.shape != shape or not np.isfinite(values).all():
        values_needed = f"number per node, {shape[0]} in all" if shape else "number"
        raise InputError(f"The reference must be one finite {values_needed}.")
    return values if shape else float(values)
