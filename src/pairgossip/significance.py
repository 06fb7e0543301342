"""The front door to tests: of all rows at once, or by gossip on a graph."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from pairgossip.algorithms.methods import METHODS
from pairgossip.arguments.estimate import EstimateArguments
from pairgossip.arrays import IntArray, PairFunction
from pairgossip.checks import REFUSE, WHOLE_SETS
from pairgossip.engine.estimation.trial import Setup
from pairgossip.engine.schedule import root_seed
from pairgossip.errors import InputError
from pairgossip.graphs import Graph
from pairgossip.inference.answer import Law, judge
from pairgossip.inference.answering import sampling_error
from pairgossip.inference.orders import (
    ORDER_KERNELS,
    SAMPLING_ERROR,
    NodeTest,
    has_null_law,
    judge_rows,
    measure_ties,
)
from pairgossip.inference.projection import project
from pairgossip.inference.questions import (
    USUAL_LEVEL,
    SignificanceRequest,
    check_test_rows,
    choose_side,
    find_null,
    name_tested_class,
    probability,
)
from pairgossip.kernels import Combination, Kernel, Pairs, Problem, as_kernel
from pairgossip.order_statistics.comparisons import TESTS, ClassTest
from pairgossip.order_statistics.laws import map_law
from pairgossip.rank_estimation import check_options
from pairgossip.results.notices import warn_if_ties_unseen
from pairgossip.results.provenance import null_mark
from pairgossip.results.run import Run
from pairgossip.run_requests.estimation import EstimationRequest
from pairgossip.run_requests.order import BinsRequest
from pairgossip.sketches.samples import Sample, SketchedColumns, SketchedSample

_BINS, _BINS_PER_COLUMN = 64, 16
_CORRELATION = "spearman"
_OF_ROWS = (
    *("data", "labels", "groups", "weights", "within", "between"),
    *("columns", "missing", "classes", "positive"),
)
"""The arguments that `test` and `estimate` share."""


def test(
    data: Any,
    kernel: Kernel | Combination | PairFunction | str,
    *,
    null: float | None = None,
    alternative: str = "two-sided",
    labels: Any = None,
    kind: str = "v",
    groups: Any = None,
    weights: Any = None,
    within: Any = None,
    between: Any = None,
    by: Any = None,
    columns: Sequence[Any] | str | None = None,
    missing: str = REFUSE,
    classes: Sequence[Any] | None = None,
    positive: Any = None,
    seed: int | None = 0,
    interval: float | None = None,
    graph: Graph | str | None = None,
    **options: Any,
) -> Any:
    """Test whether a statistic differs from its value without an effect.

    Parameters
    ----------
    data, kernel, kind, labels, groups, weights, within, between, columns
    missing, classes, positive
        As in `exact`. ``"auc"``, ``"kendall"``, ``"kendall-b"``, ``"somers-d"`` and
        ``"goodman-kruskal-gamma"`` of plain rows are tested by their distribution without an
        effect, given the ties. With few rows p is counted over all their orders; otherwise it is
        that of a normal z with the variance of that distribution, as in `scipy.stats.mannwhitneyu`
        and `scipy.stats.kendalltau`. With groups, strata or another null, p agrees with the
        interval. For other kernels p is that of a normal z with their sampling error, and with
        groups that of Student's t; for ``"auc-difference"`` this is DeLong's paired test of two
        scores. The kernel may also be a rank test, ``"mann-whitney"``,
        ``"mann-whitney-continuity"``, ``"wilcoxon-rank-sum"``, ``"brunner-munzel"``,
        ``"kolmogorov-smirnov"`` and ``"spearman"``, which have a known null; or
        ``"distance-correlation"`` of the last column with the others.
    by
        The group of every row, such as a sex: test every group, and whether groups differ. The
        result is a `GroupTable` with the results as ``tests``. Not on a graph.
    null
        The statistic's value without an effect; known for the AUC (0.5), differences and rank
        correlations (0).
    alternative
        ``"two-sided"``, ``"greater"`` or ``"less"``.
    seed
        Seed of the permutations for ``"energy-distance"``, ``"mmd"`` and
        ``"distance-correlation"``, or of the exchanges on a graph.
    interval
        The level of the interval, by default 0.95; rank tests have none.
    graph
        If given, nodes hold the rows and every node makes the test by gossip: rank tests from
        averaged bins, others with the sampling error of `estimate`. For the AUC and rank
        correlations, p is that of their distribution without an effect. With ``method="sketch"`` it
        is counted if there are few rows and every cell holds one value; otherwise it allows for
        ties as far as cells show them. Methods that swap rows see no ties, and their p is then too
        large. ``run.p_law`` says which applies, and a warning if it matters. Groups are then sites,
        and p is that of drawing rows, or of drawing sites if these swap whole sets.
    options
        With a graph, arguments of `estimate`, such as ``iterations``, ``schedule`` and ``until``;
        for kernels also ``method``.

    Returns
    -------
    TestResult, GroupTable or Run
        Without a graph ``value``, ``error``, ``z``, ``p``, ``interval`` and ``law``, which names
        the source of p. With one, the result of `estimate`: ``estimates``, ``sampling_error``
        and ``p_value`` have one entry per node.

    Examples
    --------
    >>> score, ill = [0.1, 0.3, 0.4, 0.2, 0.5, 0.7, 0.6, 0.9], [0, 0, 0, 0, 1, 1, 0, 1]
    >>> print(test(score, "auc", labels=ill))
    0.933 (standard error 0.094, 95 %: 0.020 to 1.000, positive: 1): z = 1.938, p = 0.0714 (exact)
    Interval: by the standard error; z and p: by the law without an effect, so they may disagree.
    >>> run = test(score, "mann-whitney", labels=ill, graph="cycle", schedule="tree")
    >>> run.p_value.shape
    (1, 8)
    """
    request = SignificanceRequest(
        data=data,
        kernel=kernel,
        null=null,
        alternative=alternative,
        labels=labels,
        kind=kind,
        groups=groups,
        weights=weights,
        within=within,
        between=between,
        by=by,
        columns=columns,
        missing=missing,
        classes=classes,
        positive=positive,
        seed=seed,
        interval=interval,
    )
    if graph is None:
        check_options(options, on_graph=False)
        root_seed(seed)  # refuses a wrong seed
        return request.judge() if by is None else request.compare()
    if by is not None:
        raise InputError("On a graph nodes do not compare groups: leave {argument} out.", "by")
    on_graph = {"graph": graph, "seed": seed, **options}
    if request.named_test is not None:
        return _test_ranks(request, request.named_test, on_graph)
    return _test_kernel(request, on_graph)


test.__test__ = False  # type: ignore[attr-defined]  # not one of pytest's


def _needs_all_rows(name: str) -> InputError:
    return InputError(
        f"'{name}' is tested by permuting the entries of all rows, which no node has: leave "
        "{argument} out.",
        "graph",
    )


def _test_kernel(request: SignificanceRequest, on_graph: dict[str, Any]) -> Run:
    """Let every node test a kernel, with the sampling error that it learns."""
    measured = as_kernel(request.kernel)
    without = find_null(measured, request.null)
    if measured.contrast is not None:
        raise _needs_all_rows(measured.name)
    if "target" in on_graph:
        raise InputError("The target of a test is its kind: leave {argument} out.", "target")
    takes = {each.name for each in fields(EstimateArguments)}
    for name in on_graph:
        if name not in takes:
            raise InputError(
                f"A test has no argument '{name}': leave it out. On a graph it also takes the "
                "arguments of estimate."
            )
    rows = {name: getattr(request, name) for name in _OF_ROWS}
    how = {"kernel": measured, "target": request.kind, "interval": request.level}
    gossip = _KernelRequest(
        null=request.null, alternative=request.alternative, **(rows | how | on_graph)
    )
    run = gossip.execute()
    fingerprint = {**run.fingerprint, "test": null_mark(without, request.alternative)}
    return replace(gossip.judge(run, without), fingerprint=fingerprint)


def _test_ranks(request: SignificanceRequest, name: str, on_graph: dict[str, Any]) -> Run:
    """Let every node make a test by ranks, from averaged bins."""
    request.refuse_kind()
    request.refuse_options(name, ("weights", "within", "between"))
    if name not in TESTS:
        raise _needs_all_rows(name)
    check_options([each for each in on_graph if each != "graph"], on_graph=True)
    rows = request.prepare_rows()
    data = check_test_rows(name, rows.columns)
    TESTS[name](data)  # refuses data that no test can judge
    of_columns = name == _CORRELATION
    gossip = _TestRequest(
        data=data,
        sample=Sample(data) if of_columns else Sample(data[:, 0], data[:, 1]),
        statistic=None if of_columns else ClassTest(name),
        bins=_BINS_PER_COLUMN if of_columns else _BINS,
        declared=None,
        groups=rows.columns.get("groups"),
        interval=USUAL_LEVEL,
        method="sketch",
        **on_graph,
    )
    gossip.positive_class = name_tested_class(name, data, rows)
    gossip.rows_dropped = rows.dropped
    return gossip.execute()


@dataclass(kw_only=True)
class _KernelRequest(EstimationRequest):
    """A run whose nodes test a kernel."""

    null: float | None
    alternative: str
    _pairs: Pairs | None = field(default=None, init=False)
    """The rows, if they are tested by the law under the null."""

    def setup(self) -> Setup:
        """Let nodes learn the numbers that the law under the null needs, where there is one."""
        setup = super().setup()
        pairs, method = self._pairs, setup.method
        if pairs is None or method.collects:
            return setup
        ties_known = setup.problem.ties_known
        if method.sketches and ties_known is None:
            raise InputError(
                f"A sketch of one's own does not give the law of '{pairs.kernel.name}' without an "
                "effect: leave {argument} out.",
                "sketch",
            )
        test = NodeTest.of(pairs, self.alternative, ties_known is not None, bool(ties_known))
        return replace(setup, node_test=test)

    def judge(self, run: Run, null: float) -> Run:
        """Return the run with the p of every node."""
        if self._pairs is None:
            return self._judge_by_sampling_error(run, null)
        value = self._pairs.exact()
        exact = judge_rows(self._pairs, value, self.alternative)
        if run.null_error is not None:
            warn_if_ties_unseen(run, exact.error, measure_ties(self._pairs))
            return run
        has_all_rows = np.isclose(run.estimates, value, rtol=1e-9)
        p, errors = (np.where(has_all_rows, number, np.nan) for number in (exact.p, exact.error))
        return replace(run, p_value=p, null_error=errors, p_law=exact.law)

    def _judge_by_sampling_error(self, run: Run, null: float) -> Run:
        """Return the run with the p of Wald's test; for order statistics, p agrees with the
        interval."""
        errors = run.sampling_error
        assert errors is not None
        if run.privacy_error is not None:
            errors = np.hypot(errors, run.privacy_error.standard_error)
        by_site = run.construction == WHOLE_SETS and METHODS[run.method].tracks_rows
        freedom, z = (run.freedom if by_site else math.inf), (run.estimates - null) / errors
        p = map_law(partial(probability, alternative=self.alternative, freedom=freedom), z)
        if run.kernel in ORDER_KERNELS:
            law = Law(run.freedom, run.skewness, run.shift, run.effective_freedom)
            z, either_side = judge(run.estimates, errors, null, run.interval_scale, law)
            p = map_law(partial(choose_side, alternative=self.alternative), either_side, z)
        return replace(run, p_value=p, p_law=SAMPLING_ERROR)

    def _rows(self) -> Problem:
        rows, method = super()._rows(), self._method
        draws_sites = self.construction == WHOLE_SETS and method.tracks_rows
        pairs = None if self.groups is not None and draws_sites else rows.visible_pairs
        if pairs is not None and has_null_law(pairs, self.null):
            self._pairs = pairs
            try:
                sampling_error(project(pairs))
            except InputError:  # rows in one order have a p, and no interval
                self.interval = None
        return rows


@dataclass(kw_only=True)
class _TestRequest(BinsRequest):
    """A run whose nodes make a test by ranks."""

    tests: ClassVar[bool] = True

    def _problem(self, rows: Any, site_of: IntArray | None) -> SketchedSample:
        if self.statistic is not None:
            return super()._problem(rows, site_of)
        return SketchedColumns(self.sample.values, self.bins, site_of)

    def _rows(self) -> SketchedSample:
        return super()._rows() if self.statistic is not None else self._problem(None, None)
