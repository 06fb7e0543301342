"""The statistic of all rows with its sampling error, and whether it differs from a value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, overload

import numpy as np

from pairgossip.arrays import FloatArray, IntArray, PairFunction
from pairgossip.checks import REFUSE, STATISTICS, choice, real
from pairgossip.errors import InputError, canonical
from pairgossip.inference.answer import Answer, check_level, interval, judge
from pairgossip.inference.orders import (
    ORDER_KERNELS,
    SAMPLING_ERROR,
    has_null_law,
    judge_rows,
)
from pairgossip.inference.permutations import permute_labels, permute_rows
from pairgossip.inference.projection import ROUNDING, Projection, project
from pairgossip.kernels import Combination, Kernel, Pairs, check_data
from pairgossip.kernels.blocks import Progress
from pairgossip.kernels.data import class_example, two_texts, unknown_positive
from pairgossip.kernels.named_tests import DISTANCE_CORRELATION, NAMED_TESTS
from pairgossip.kernels.orders import sharing_orders
from pairgossip.kernels.rows import prepare_rows
from pairgossip.kernels.weighing import are_frequencies, number_labels, warn_of_frequencies
from pairgossip.order_statistics.comparisons import TESTS, TestResult
from pairgossip.order_statistics.laws import two_sided_by_t

ALTERNATIVES = ("two-sided", "greater", "less")
USUAL_LEVEL = 0.95
"""The level of the interval beside a test, unless one is given."""


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
    missing: str = ...,
    classes: Sequence[Any] | None = ...,
    positive: Any = ...,
) -> Answer: ...
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
    missing: str = REFUSE,
    classes: Sequence[Any] | None = None,
    positive: Any = None,
) -> float | Answer:
    """Average a kernel over all ordered pairs of observations.

    Parameters
    ----------
    data, labels
        The observations, as `check_data` takes them.
    kernel
        A kernel, a function of several averages such as a ratio (NaN if the lower one is 0), the
        name of a built-in kernel, or a function of two blocks of observations.
    kind
        "v" averages over all n^2 pairs, own pairs included; "u" over the n(n - 1) others.
    progress
        Called with the fraction done, from 0 to 1.
    interval
        The level of an interval, such as 0.95: what is returned is then an `Answer`, with the
        sampling error of the statistic, by Hoeffding's projection (for the AUC: DeLong's).
    groups
        The site, or the patient, of every row: rows of one group may depend on each other, and the
        error is that of drawing whole groups.
    weights
        How often each row counts. Whole numbers are frequencies: intervals are those of the rows
        repeated as often, which warns (`ManyRows`) if they are above 5 on average. For other
        weights intervals need groups, one per row if need be.
    within, between
        The stratum of every row: only pairs within one stratum count, or only those between two.
    missing
        ``"refuse"`` rows that lack a value or a label (NaN, None), or ``"drop"`` them, which warns
        (`RowsDropped`).
    classes
        The labels from the lowest to the highest, as in ``["no", "yes"]``: they count as 0, 1, ...
        in this order.
    positive
        The higher one of two labels, instead of ``classes``. Of numbers the higher one is positive
        unless this says otherwise; text has no order, and is refused where one is needed.

    Examples
    --------
    >>> import pairgossip as pg
    >>> incomes = pg.datasets.engel()["income"]
    >>> print(exact(incomes, "gini-coefficient", interval=0.95))
    0.255 (95 %: 0.226 to 0.318)
    """
    level = None if interval is None else check_level(interval)
    given = {"data": data, "labels": labels, "groups": groups, "weights": weights}
    pairs, clusters = _prepare(kernel, kind, missing, (classes, positive), given, within, between)
    pairs.check()
    if level is None:
        if groups is not None:
            raise InputError(
                "Groups change the error of a statistic, not its value: give {argument} too.",
                "interval",
                0.95,
            )
        return pairs.exact(progress)
    with sharing_orders(rows_follow=True):
        value = pairs.exact(progress)
        found = project(pairs, clusters)._replace(value=value)
    return answer(pairs, found, sampling_error(pairs, found, clusters), level, clusters)


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
    seed: int = 0,
    interval: float | None = None,
) -> TestResult:
    """Test all rows at once; `pairgossip.test` documents the arguments."""
    side = choice("alternative", alternative, ALTERNATIVES)
    level = check_level(USUAL_LEVEL if interval is None else interval)
    given = {"data": data, "labels": labels, "groups": groups, "weights": weights}
    if isinstance(kernel, str) and canonical(kernel) in NAMED_TESTS:
        others = {"groups": groups, "weights": weights, "within": within, "between": between}
        refuse_kind(canonical(kernel), kind)
        refuse_options(canonical(kernel), others | {"null": null, "alternative": side})
        rows = prepare_rows(missing, classes, given).columns
        table = check_test_rows(canonical(kernel), rows)
        if canonical(kernel) == DISTANCE_CORRELATION:
            return permute_rows(table, seed)
        return TESTS[canonical(kernel)](table)
    pairs, clusters = _prepare(kernel, kind, missing, (classes, None), given, within, between)
    without = find_null(pairs.kernel, null)
    pairs.check()
    if isinstance(pairs.kernel, Combination) and pairs.kernel.contrast is not None:
        others = {"groups": groups, "weights": weights, "within": within, "between": between}
        refuse_options(pairs.kernel.name, others | {"null": null, "alternative": side})
        return _add_interval(permute_labels(pairs, seed), pairs, project(pairs), level)
    if clusters is None and has_null_law(pairs, null):
        with sharing_orders(rows_follow=True):
            value = pairs.exact()  # separated classes are exactly so
            error, z, p, law = judge_rows(pairs, value, side)
            projected = project(pairs)._replace(value=value)
        found = TestResult(value, math.nan, z, p, law, error)
        return _add_interval(found, pairs, projected, level)
    projected = project(pairs, clusters)
    return _test_by_sampling_error(pairs, projected, clusters, without, side, level)


def _add_interval(
    found: TestResult, pairs: Pairs, projected: Projection, level: float
) -> TestResult:
    """Return what a test found with the interval, or with the reason why there is none."""
    try:
        known = answer(pairs, projected, sampling_error(pairs, projected, None), level)
    except InputError as why:
        return replace(found, reason=str(why))
    error = known.error if math.isnan(found.error) else found.error
    return replace(found, error=error, interval=(known.low, known.high), level=level)


def _test_by_sampling_error(
    pairs: Pairs,
    found: Projection,
    clusters: IntArray | None,
    null: float,
    side: str,
    level: float,
) -> TestResult:
    """Return Wald's test: of statistics of order as their interval says, of others by plain z."""
    error = sampling_error(pairs, found, clusters)
    freedom = math.inf if clusters is None else float(clusters.max())
    z = (found.value - null) / error
    p = probability(z, side, freedom)
    if pairs.kernel.name in ORDER_KERNELS:
        scale, law = pairs.kernel.interval_scale, found.law(clusters)
        z, either_side = map(float, judge(np.array(found.value), np.array(error), null, scale, law))
        p = choose_side(either_side, z, side)
    known = answer(pairs, found, error, level, clusters)
    ends = (known.low, known.high)
    return TestResult(found.value, error, z, p, SAMPLING_ERROR, interval=ends, level=level)


test.__test__ = False  # type: ignore[attr-defined]  # not one of pytest's


def find_null(kernel: Kernel | Combination, null: float | None) -> float:
    """Return what a statistic is without an effect; raise `InputError` if nobody says."""
    without = kernel.null if null is None else real("The null value", null, -1e300, 1e300)
    if without is None:
        raise InputError(
            f"What '{kernel.name}' is without an effect is not known: say it with {{argument}}.",
            "null",
        )
    return without


def check_test_rows(name: str, rows: Mapping[str, Any]) -> FloatArray:
    """Return what a test is made of, labels last; raise `InputError` for text without an order."""
    table, labels = check_data(rows["data"], rows.get("labels")), rows.get("labels")
    example = None if NAMED_TESTS[name].columns[-1] == "label" else class_example(labels)
    names = two_texts(labels)
    if names is not None and NAMED_TESTS[name].favors:
        raise unknown_positive(f"Test '{name}'", names)
    if example is not None and len(np.unique(table[:, -1])) > 2:  # two differ by one in any order
        raise InputError(
            f"Test '{name}' compares labels by size, but the labels are {example}: pass numbers, "
            "or say their order with {argument}.",
            "classes",
        )
    return table


def refuse_options(name: str, options: Mapping[str, Any]) -> None:
    """Raise `InputError` for what tests by ranks do not take."""
    for argument, value in options.items():
        if value is not None and not (isinstance(value, str) and value == "two-sided"):
            raise InputError(
                f"Test '{name}' is of plain rows, for differences on either side: leave "
                "{argument} out, or test kernel 'auc' or 'kendall-b'.",
                argument,
            )


def refuse_kind(name: str, kind: str) -> None:
    """Raise `InputError` if a test that is no average over pairs is asked for one of them."""
    if choice("kind of statistic", kind, STATISTICS) != "v":
        raise InputError(
            f"Test '{name}' is no average over pairs, with own pairs or without: leave "
            "{argument} out.",
            "kind",
        )


def _prepare(
    kernel: Kernel | Combination | PairFunction | str,
    kind: str,
    missing: str,
    classes: tuple[Sequence[Any] | None, Any],
    given: Mapping[str, Any],
    within: Any,
    between: Any,
) -> tuple[Pairs, IntArray | None]:
    """Return the pairs of the rows that are used, and the group of each.

    Of ``classes`` there is the list of all, or the positive one.
    """
    strata = {"within": within, "between": between}
    prepared = prepare_rows(missing, classes[0], {**given, **strata}, classes[1])
    rows = prepared.columns
    more = {name: rows.get(name) for name in ("weights", "within", "between")}
    pairs = Pairs(
        rows["data"], kernel, kind, rows.get("labels"), **more, positive=prepared.positive
    )
    return pairs, check_groups(rows.get("groups"), pairs.n)


def probability(z: float, alternative: str, freedom: float) -> float:
    """Return how often Student's t is as far off as z; it is normal if freedom is infinite."""
    return choose_side(two_sided_by_t(z, freedom), z, alternative)


def choose_side(either_side: float, z: float, alternative: str) -> float:
    """Return p of an alternative, given that of both sides."""
    if alternative == "two-sided":
        return either_side
    return either_side / 2 if (z > 0) == (alternative == "greater") else 1 - either_side / 2


def check_groups(groups: Any, n: int) -> IntArray | None:
    """Return the number of every row's group, or None; raise `InputError` unless there are two."""
    if groups is None:
        return None
    numbers = number_labels(groups, n, "groups", "group")
    if numbers.max() < 1:
        raise InputError(
            "All rows are of one group, which says nothing about others: leave {argument} out.",
            "groups",
        )
    return numbers


def answer(
    pairs: Pairs, found: Projection, error: float, level: float, clusters: IntArray | None = None
) -> Answer:
    """Return a statistic with the interval that its kernel's scale asks for."""
    scale = pairs.kernel.interval_scale
    low, high = interval(found.value, error, level, scale, found.law(clusters))
    return Answer(found.value, error, low, high, level, scale, pairs.positive)


def sampling_error(pairs: Pairs, found: Projection, clusters: IntArray | None) -> float:
    """Return the standard error; raise `InputError` where it would be no statement."""
    if clusters is None:
        if not are_frequencies(pairs.weights):
            raise InputError(
                "Weights that are not whole numbers are no frequencies of rows: give {argument}, "
                "one group per row, such as its number, if rows were drawn independently.",
                "groups",
            )
        warn_of_frequencies(pairs.weights)
        if found.freedom < 1:
            what = "row" if pairs.classes is None else "row of each class"
            raise InputError(f"A sampling error needs more than one {what}: add rows.")
    if pairs.kernel.interval_scale == "logit" and found.value in (0.0, 1.0):
        raise degenerate_error(pairs, found.value, found.freedom if clusters is None else None)
    if found.is_degenerate:
        raise InputError(
            f"The rows do not tell how sure '{pairs.kernel.name}' is: every one of them adds the "
            "same to it, as where all are tied or in one order, or where a kernel is degenerate."
        )
    error = found.error(clusters)
    if clusters is not None and error <= ROUNDING * found.size:
        raise InputError(
            f"Every group adds the same to '{pairs.kernel.name}', as where all hold the same rows, "
            "so that they do not tell how sure it is: leave {argument} out.",
            "groups",
        )
    return error


def degenerate_error(pairs: Pairs, value: float, freedom: float | None) -> InputError:
    """Build the error for rows on the border of what the statistic can be.

    For independent rows of two classes, given the degrees of freedom, a bound is known.
    """
    known, advice = "", "add rows"
    if pairs.classes is not None and freedom is not None:
        bound = 0.05 ** (1 / (freedom + 1))
        side = f"above {bound:.3f}" if value == 1.0 else f"below {1 - bound:.3f}"
        known, advice = f", but with 95 % confidence it is {side}", "add rows, or report the bound"
    return InputError(
        f"'{pairs.kernel.name}' is {value:g} on these rows, whose standard error of 0 says "
        f"nothing{known}: {advice}."
    )
