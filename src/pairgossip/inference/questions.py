"""The statistic of all rows with its sampling error, and whether it differs from a value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, overload

import numpy as np

from pairgossip.arguments.argument import check_declared
from pairgossip.arguments.exact import ExactArguments, SignificanceArguments, StatisticArguments
from pairgossip.arrays import FloatArray, IntArray, PairFunction
from pairgossip.checks import REFUSE, real
from pairgossip.errors import InputError, canonical
from pairgossip.inference.answer import Answer, check_level, judge
from pairgossip.inference.answering import answer
from pairgossip.inference.by_groups import GroupQuestion, Measured, measure
from pairgossip.inference.group_table import GroupTable
from pairgossip.inference.orders import (
    ORDER_KERNELS,
    SAMPLING_ERROR,
    has_null_law,
    judge_rows,
)
from pairgossip.inference.permutations import permute_labels, permute_rows
from pairgossip.inference.projection import Projection, project
from pairgossip.kernels import AnyKernel, Combination, Kernel, Pairs, check_data
from pairgossip.kernels.blocks import Progress
from pairgossip.kernels.data import class_example, two_texts, unknown_positive
from pairgossip.kernels.named_tests import DISTANCE_CORRELATION, NAMED_TESTS
from pairgossip.kernels.orders import sharing_orders
from pairgossip.kernels.rows import Rows, name_positive, prepare_rows
from pairgossip.kernels.weighing import number_labels
from pairgossip.order_statistics.comparisons import TESTS, TestResult
from pairgossip.order_statistics.laws import two_sided_by_t

USUAL_LEVEL = 0.95
"""Default level of the interval beside a test."""
_FACTORS = ("groups", "weights", "within", "between")
"""The arguments that say how rows depend on each other, and how much their pairs count."""


@overload
def exact(
    data: Any,
    kernel: Kernel | Combination | PairFunction | str,
    kind: str = ...,
    labels: Any = ...,
    progress: Progress | None = ...,
    *,
    interval: None = ...,
    groups: Any = ...,
    weights: Any = ...,
    within: Any = ...,
    between: Any = ...,
    by: None = ...,
    columns: Sequence[Any] | str | None = ...,
    missing: str = ...,
    classes: Sequence[Any] | None = ...,
    positive: Any = ...,
) -> float: ...
@overload
def exact(
    data: Any,
    kernel: Kernel | Combination | PairFunction | str,
    kind: str = ...,
    labels: Any = ...,
    progress: Progress | None = ...,
    *,
    interval: float,
    groups: Any = ...,
    weights: Any = ...,
    within: Any = ...,
    between: Any = ...,
    by: None = ...,
    columns: Sequence[Any] | str | None = ...,
    missing: str = ...,
    classes: Sequence[Any] | None = ...,
    positive: Any = ...,
) -> Answer: ...
@overload
def exact(
    data: Any,
    kernel: Kernel | Combination | PairFunction | str,
    kind: str = ...,
    labels: Any = ...,
    progress: Progress | None = ...,
    *,
    interval: float | None = ...,
    groups: Any = ...,
    weights: Any = ...,
    within: Any = ...,
    between: Any = ...,
    by: Any,
    columns: Sequence[Any] | str | None = ...,
    missing: str = ...,
    classes: Sequence[Any] | None = ...,
    positive: Any = ...,
) -> GroupTable: ...
def exact(
    data: Any,
    kernel: Kernel | Combination | PairFunction | str,
    kind: str = "v",
    labels: Any = None,
    progress: Progress | None = None,
    *,
    interval: float | None = None,
    groups: Any = None,
    weights: Any = None,
    within: Any = None,
    between: Any = None,
    by: Any = None,
    columns: Sequence[Any] | str | None = None,
    missing: str = REFUSE,
    classes: Sequence[Any] | None = None,
    positive: Any = None,
) -> float | Answer | GroupTable:
    """Average a kernel over all ordered pairs of observations.

    Parameters
    ----------
    data, labels
        The observations, one per row: a list or an array, a frame of pandas or polars (lazy ones
        too), a dict of columns, anything with ``__arrow_c_stream__`` such as a relation of DuckDB,
        or the path of a file, ``.csv`` or ``.csv.gz``. Labels are an array too, or the name of a
        column of the data; so are groups, weights and strata.
    columns
        The names of the data's columns to use; by default all columns that no other argument names.
    kernel
        A kernel, a function of several averages such as a ratio (NaN if the lower one is 0), the
        name of a built-in kernel, or a function of two blocks of observations.
    kind
        "v" averages over all n^2 pairs, including each row with itself; "u" over the n(n - 1)
        others.
    progress
        Called with the fraction that is done, from 0 to 1.
    interval
        The level of an interval, such as 0.95. The result is then an `Answer`, with the sampling
        error of the statistic by Hoeffding's projection (for the AUC, DeLong's).
    groups
        The site, or the patient, of every row: rows of one group may depend on each other, and the
        error is that of drawing whole groups.
    weights
        The number of times that each row counts. Whole numbers are frequencies: intervals are those
        of the repeated rows, with a warning (`ManyRows`) if they are above 5 on average. For other
        weights intervals need groups, if necessary one per row.
    within, between
        The stratum of every row: only pairs within one stratum count, or only those between two.
    by
        The group of every row, such as a sex, to compare. The result is then a `GroupTable`, with
        the statistic of every group's rows and the differences between groups.
    missing
        ``"refuse"`` rows that lack a value or a label (NaN, None), or ``"drop"`` them, which warns
        (`RowsDropped`).
    classes
        The labels from the lowest to the highest, as in ``["no", "yes"]``: they count as 0, 1, ...
        in this order.
    positive
        The higher one of two labels, instead of ``classes``. By default the higher of two numbers
        is positive; text has no order, and is refused if one is needed.

    Examples
    --------
    >>> import pairgossip as pg
    >>> incomes = pg.datasets.engel()["income"]
    >>> print(exact(incomes, "gini-coefficient", interval=0.95))
    0.255 (95 %: 0.226 to 0.318)
    """
    request = _ExactRequest(
        data=data,
        kernel=kernel,
        kind=kind,
        labels=labels,
        progress=progress,
        interval=interval,
        groups=groups,
        weights=weights,
        within=within,
        between=between,
        by=by,
        columns=columns,
        missing=missing,
        classes=classes,
        positive=positive,
    )
    return request.answer() if by is None else request.compare()


@dataclass(kw_only=True)
class _StatisticRequest(StatisticArguments):
    """A statistic of all rows; creating one checks the arguments that need no data."""

    def __post_init__(self) -> None:
        check_declared(self)

    @property
    def by_name(self) -> str:
        """The name of the groups' column in messages."""
        return self.by if isinstance(self.by, str) else "group"

    def prepare_rows(self) -> Rows:
        """Return the complete rows, with labels as numbers if classes are declared."""
        names = ("data", "labels", "groups", "weights", "within", "between", "by")
        columns = {name: getattr(self, name) for name in names}
        how = (self.missing, self.classes, columns, self.positive, self.columns)
        return prepare_rows(*how, kernel=self.kernel)

    def prepare_pairs(self, prepared: Rows) -> tuple[Pairs, IntArray | None]:
        """Return the pairs of rows, and the group of each row."""
        rows, _, positive = prepared
        factors = {name: rows.get(name) for name in ("weights", "within", "between")}
        pairs = Pairs(
            rows["data"], self.kernel, self.kind, rows.get("labels"), **factors, positive=positive
        )
        return pairs, check_groups(rows.get("groups"), pairs.n)


@dataclass(kw_only=True)
class _ExactRequest(ExactArguments, _StatisticRequest):
    """The arguments of `exact`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.progress is not None and not callable(self.progress):
            raise InputError(
                "Progress is reported to a function of the fraction that is done, not to "
                f"{self.progress!r}: leave {{argument}} out, or give a function.",
                "progress",
            )
        self.level = None if self.interval is None else check_level(self.interval)

    def answer(self) -> float | Answer:
        """Return the statistic, with its sampling error if it has an interval."""
        pairs, clusters = self.check_pairs(self.prepare_rows())
        if self.level is None:
            return pairs.exact(self.progress)
        with sharing_orders(rows_follow=True):
            value = pairs.exact(self.progress)
            projected = project(pairs, clusters)._replace(value=value)
        return answer(projected, self.level)

    def compare(self) -> GroupTable:
        """Return the statistic of all rows and of every group, and the differences of groups."""
        rows, how = self.prepare_rows(), partial(measure, level=self.level)
        question = GroupQuestion(self.prepare_pairs, how, self.by_name, self.progress)
        return question.ask(rows, *self.check_pairs(rows))

    def check_pairs(self, rows: Rows) -> tuple[Pairs, IntArray | None]:
        """Return the pairs of all rows, and their groups, which only an error needs."""
        pairs, clusters = self.prepare_pairs(rows)
        pairs.check()
        if self.level is None and self.groups is not None:
            raise InputError(
                "Groups change the error of a statistic, not its value: give {argument} too.",
                "interval",
                0.95,
            )
        return pairs, clusters


@dataclass(kw_only=True)
class SignificanceRequest(SignificanceArguments, _StatisticRequest):
    """A test of all rows at once."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.level = check_level(USUAL_LEVEL if self.interval is None else self.interval)

    @property
    def named_test(self) -> str | None:
        """The name of a test without a kernel; None for a kernel."""
        name = canonical(self.kernel) if isinstance(self.kernel, str) else ""
        return name if name in NAMED_TESTS else None

    def refuse_options(self, name: str, unused: Sequence[str]) -> None:
        """Raise `InputError` for arguments that tests of plain rows do not take."""
        for argument in (*unused, "null", "alternative"):
            value = getattr(self, argument)
            if value is not None and not (isinstance(value, str) and value == "two-sided"):
                raise InputError(
                    f"Test '{name}' takes plain rows, and differences on either side: leave "
                    "{argument} out, or test kernel 'auc' or 'kendall-b'.",
                    argument,
                )

    def refuse_kind(self) -> None:
        """Raise `InputError` for a kind of average if the test is not an average over pairs."""
        if self.kind != "v":
            raise InputError(
                f"Test '{self.named_test}' is not an average over pairs, with own pairs or "
                f"without: "
                "leave {argument} out.",
                "kind",
            )

    def judge(self) -> TestResult:
        """Test all rows at once."""
        if self.named_test is not None:
            return self._judge_by_name(self.named_test)
        pairs, clusters = self.prepare_pairs(self.prepare_rows())
        without = find_null(pairs.kernel, self.null)
        pairs.check()
        return self._judge_pairs(pairs, clusters, without)

    def compare(self) -> GroupTable:
        """Test all rows and those of every group, and whether groups differ."""
        if self.named_test is not None:
            self.refuse_options(self.named_test, ("by",))
        rows = self.prepare_rows()
        pairs, clusters = self.prepare_pairs(rows)
        how = partial(self._measure, without=find_null(pairs.kernel, self.null))
        pairs.check()
        question = GroupQuestion(self.prepare_pairs, how, self.by_name)
        return question.ask(rows, pairs, clusters)

    def _measure(
        self, pairs: Pairs, clusters: IntArray | None, progress: Progress | None, without: float
    ) -> Measured:
        """Test the rows of one group."""
        result = self._judge_pairs(pairs, clusters, without)
        return measure(pairs, clusters, progress, level=self.level)._replace(test=result)

    def _judge_by_name(self, name: str) -> TestResult:
        self.refuse_kind()
        self.refuse_options(name, _FACTORS)
        rows = self.prepare_rows()
        table = check_test_rows(name, rows.columns)
        is_permuted = name == DISTANCE_CORRELATION
        result = permute_rows(table, self.seed) if is_permuted else TESTS[name](table)
        return replace(result, positive=name_tested_class(name, table, rows))

    def _judge_pairs(self, pairs: Pairs, clusters: IntArray | None, without: float) -> TestResult:
        result = self._judge(pairs, clusters, without)
        return replace(result, positive=pairs.positive)

    def _judge(self, pairs: Pairs, clusters: IntArray | None, without: float) -> TestResult:
        level = self.level
        if pairs.kernel.contrast is not None:
            self.refuse_options(pairs.kernel.name, _FACTORS)
            return _add_interval(permute_labels(pairs, self.seed), project(pairs), level)
        if clusters is None and has_null_law(pairs, self.null):
            with sharing_orders(rows_follow=True):
                value = pairs.exact()  # separated classes give exactly 0 or 1
                error, z, p, law = judge_rows(pairs, value, self.alternative)
                projected = project(pairs)._replace(value=value)
            result = TestResult(value, math.nan, z, p, law, error)
            return _add_interval(result, projected, level)
        return self._judge_by_error(project(pairs, clusters), without)

    def _judge_by_error(self, projection: Projection, null: float) -> TestResult:
        """Return Wald's test: by the interval for statistics of order, by z for others."""
        statistic = answer(projection, self.level)
        value, error = statistic.value, statistic.error
        clusters, kernel = projection.clusters, projection.pairs.kernel
        freedom = math.inf if clusters is None else float(clusters.max())
        z = (value - null) / error
        p = probability(z, self.alternative, freedom)
        if kernel.name in ORDER_KERNELS:
            on_scale = judge(
                np.array(value), np.array(error), null, kernel.interval_scale, projection.law()
            )
            z, either_side = map(float, on_scale)
            p = choose_side(either_side, z, self.alternative)
        ends = (statistic.low, statistic.high)
        return TestResult(value, error, z, p, SAMPLING_ERROR, interval=ends, level=self.level)


def name_tested_class(name: str, table: FloatArray, rows: Rows) -> str | None:
    """Return a named test's name of the positive class; None if there is no such class."""
    has_labels = rows.columns.get("labels") is not None
    return name_positive(NAMED_TESTS[name], table, rows.positive, has_labels=has_labels)


def _add_interval(result: TestResult, projected: Projection, level: float) -> TestResult:
    """Return the result of a test with the interval, or with the reason for having none."""
    try:
        statistic = answer(projected, level)
    except InputError as why:
        return replace(result, reason=str(why))
    error = statistic.error if math.isnan(result.error) else result.error
    return replace(result, error=error, interval=(statistic.low, statistic.high), level=level)


def find_null(kernel: AnyKernel, null: float | None) -> float:
    """Return a statistic's value without an effect; raise `InputError` if it is not known."""
    without = kernel.null if null is None else real("The null value", null, -1e300, 1e300)
    if without is None:
        raise InputError(
            f"The value of '{kernel.name}' without an effect is not known: give it with "
            f"{{argument}}.",
            "null",
        )
    return without


def check_test_rows(name: str, rows: Mapping[str, Any]) -> FloatArray:
    """Return the columns of a test, labels last; raise `InputError` for text without an order."""
    table, labels = check_data(rows["data"], rows.get("labels")), rows.get("labels")
    example = None if NAMED_TESTS[name].columns[-1] == "label" else class_example(labels)
    names = two_texts(labels)
    if names is not None and NAMED_TESTS[name].favors:
        raise unknown_positive(f"Test '{name}'", names)
    if example is not None and len(np.unique(table[:, -1])) > 2:  # two differ by 1 in any order
        raise InputError(
            f"Test '{name}' compares labels by size, but the labels are {example}: pass numbers, "
            "or give their order with {argument}.",
            "classes",
        )
    return table


def probability(z: float, alternative: str, freedom: float) -> float:
    """Return the probability that Student's t is as far off as z; normal for infinite freedom."""
    return choose_side(two_sided_by_t(z, freedom), z, alternative)


def choose_side(either_side: float, z: float, alternative: str) -> float:
    """Return the p of an alternative, from that of both sides."""
    if alternative == "two-sided":
        return either_side
    return either_side / 2 if (z > 0) == (alternative == "greater") else 1 - either_side / 2


def check_groups(groups: Any, n: int) -> IntArray | None:
    """Return the number of every row's group, or None; raise `InputError` for fewer than two."""
    if groups is None:
        return None
    numbers = number_labels(groups, n, "groups", "group")
    if numbers.max() < 1:
        raise InputError(
            "All rows are in one group, which says nothing about others: leave {argument} out.",
            "groups",
        )
    return numbers
