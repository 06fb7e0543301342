"""The front door to tests: of all rows at once, or by gossip on a graph."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

from pairgossip.algorithms.methods import METHODS
from pairgossip.arrays import IntArray, PairFunction
from pairgossip.checks import REFUSE, WHOLE_SETS, choice
from pairgossip.engine.schedule import root_seed
from pairgossip.errors import InputError, canonical
from pairgossip.estimation import estimate
from pairgossip.graphs import Graph
from pairgossip.inference.questions import (
    ALTERNATIVES,
    check_test_rows,
    find_null,
    probability,
    refuse_kind,
    refuse_options,
)
from pairgossip.inference.questions import test as test_rows
from pairgossip.kernels import Combination, Kernel, as_kernel
from pairgossip.kernels.named_tests import NAMED_TESTS
from pairgossip.kernels.rows import prepare_rows
from pairgossip.order_statistics.comparisons import TESTS, ClassTest
from pairgossip.order_statistics.laws import map_law
from pairgossip.rank_estimation import BinsRequest, check_options, run_request
from pairgossip.results.provenance import null_mark
from pairgossip.results.run import Run
from pairgossip.sketches.samples import Sample, SketchedColumns, SketchedSample

_BINS, _BINS_PER_COLUMN = 64, 16
_CORRELATION, _LEVEL = "spearman", 0.95


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
    missing: str = REFUSE,
    classes: Sequence[Any] | None = None,
    seed: int | None = 0,
    graph: Graph | str | None = None,
    **options: Any,
) -> Any:
    """Test whether a statistic differs from what it is without an effect.

    Parameters
    ----------
    data, kernel, kind, labels, groups, weights, within, between, missing, classes
        As in `exact`. p is that of a normal z, as in other software, and with fewer than 30 groups
        that of Student's t; intervals also allow for few rows. With ``"auc-difference"`` this is
        DeLong's paired test of two scores. Or one of the tests by ranks, ``"mann-whitney"``,
        ``"mann-whitney-continuity"``, ``"wilcoxon-rank-sum"``, ``"brunner-munzel"``,
        ``"kolmogorov-smirnov"`` and ``"spearman"``, which know their null; or
        ``"distance-correlation"`` of the last column with the others.
    null
        What the statistic is without an effect; known for the AUC (0.5), differences and rank
        correlations (0).
    alternative
        ``"two-sided"``, ``"greater"`` or ``"less"``.
    seed
        Of the permutations by which ``"energy-distance"``, ``"mmd"`` and
        ``"distance-correlation"`` are tested, or of the exchanges on a graph.
    graph
        If given, nodes hold the rows and every one makes the test by gossip: tests by ranks from
        averaged bins, others with the sampling error that `estimate` tells. Groups are then sites,
        and p is that of rows drawn, or of sites drawn where they swap whole sets.
    options
        With a graph, arguments of `estimate`, such as ``iterations``, ``schedule`` and ``until``;
        of kernels also ``method``.

    Returns
    -------
    TestResult or Run
        Without a graph ``value``, ``error``, ``z`` and ``p``. With one what `estimate` returns:
        ``estimates``, ``sampling_error`` and ``p_value`` are those of every node.

    Examples
    --------
    >>> score, ill = [0.1, 0.3, 0.4, 0.2, 0.5, 0.7, 0.6, 0.9], [0, 0, 0, 0, 1, 1, 0, 1]
    >>> print(test(score, "auc", labels=ill))
    0.933333 (standard error 0.094): z = 4.596, p < 0.0001
    >>> run = test(score, "mann-whitney", labels=ill, graph="cycle", schedule="tree")
    >>> run.p_value.shape
    (1, 8)
    """
    rows = {"data": data, "labels": labels, "groups": groups, "weights": weights}
    rows |= {"within": within, "between": between}
    chosen: dict[str, Any] = {"missing": missing, "classes": classes}
    if graph is None:
        check_options(options, on_graph=False)
        root_seed(seed)  # refuses what is none
        how: dict[str, Any] = {"null": null, "alternative": alternative, "kind": kind, "seed": seed}
        return test_rows(kernel=kernel, **rows, **chosen, **how)
    side = choice("alternative", alternative, ALTERNATIVES)
    on_graph = {"graph": graph, "seed": seed, **options}
    if isinstance(kernel, str) and canonical(kernel) in NAMED_TESTS:
        refuse_kind(canonical(kernel), kind)
        others = {name: rows[name] for name in ("weights", "within", "between")}
        refuse_options(canonical(kernel), others | {"null": null, "alternative": side})
        return _test_ranks(canonical(kernel), rows, on_graph, **chosen)
    measured = as_kernel(kernel)
    without = find_null(measured, null)
    if isinstance(measured, Combination) and measured.contrast is not None:
        raise _needs_all_rows(measured.name)
    if "target" in options:
        raise InputError("The target of a test is its kind: leave {argument} out.", "target")
    if on_graph.get("interval") is None:
        on_graph["interval"] = _LEVEL
    run = estimate(kernel=measured, target=kind, **rows, **chosen, **on_graph)
    assert run.sampling_error is not None
    z = (run.estimates - without) / run.sampling_error
    by_site = run.construction == WHOLE_SETS and METHODS[run.method].tracks_rows
    freedom = run.freedom if by_site else math.inf
    law = partial(probability, alternative=side, freedom=freedom)
    fingerprint = {**run.fingerprint, "test": null_mark(without, side)}
    return replace(run, p_value=map_law(law, z), fingerprint=fingerprint)


test.__test__ = False  # type: ignore[attr-defined]  # not one of pytest's


def _needs_all_rows(name: str) -> InputError:
    return InputError(
        f"'{name}' is tested by permuting the entries of all rows, which no node has: leave "
        "{argument} out.",
        "graph",
    )


def _test_ranks(
    name: str,
    columns: dict[str, Any],
    on_graph: dict[str, Any],
    missing: str,
    classes: Sequence[Any] | None,
) -> Run:
    """Let every node make a test by ranks, from averaged bins."""
    if name not in TESTS:
        raise _needs_all_rows(name)
    check_options({key: value for key, value in on_graph.items() if key != "graph"}, on_graph=True)
    rows = prepare_rows(missing, classes, columns)
    found = rows.columns
    data = check_test_rows(name, found)
    TESTS[name](data)  # refuses what no test can judge
    how: dict[str, Any] = {"groups": found.get("groups"), "interval": _LEVEL, "method": "sketch"}
    of_columns = name == _CORRELATION
    sample = Sample(data) if of_columns else Sample(data[:, 0], data[:, 1])
    statistic = None if of_columns else ClassTest(name)
    bins = _BINS_PER_COLUMN if of_columns else _BINS
    request = _TestRequest(
        data=data, sample=sample, statistic=statistic, bins=bins, declared=None, **on_graph, **how
    )
    return run_request(request, rows.dropped)


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
