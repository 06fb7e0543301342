"""Weighted pairs: weights of rows, and pairs within or between strata.

All three multiply the kernel at a pair by a factor from one more column, and divide by the average
of the factor: w w' for weights, 1{s = s'} or 1{s != s'} for strata. So every statistic is still a
function of averages over pairs, which all methods estimate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray, IntArray, PairFunction
from pairgossip.checks import LARGEST_NUMBER
from pairgossip.errors import InputError, ManyRows, notify
from pairgossip.kernels.data import check_data
from pairgossip.kernels.kernel import AnyKernel, Combination, Formula, Kernel
from pairgossip.rows.columns import as_array
from pairgossip.text import format_count, format_rows

_USUAL_FREQUENCY = 5.0
"""The mean of whole-number weights above which a warning says that they count as frequencies."""
Forms = Callable[..., FloatArray]
"""A closed form of the sums over the pairs of every row, given rows and their weights."""


@dataclass(frozen=True)
class _Factor:
    """The weight of a pair, as a function of the last column."""

    name: str
    pair: PairFunction
    """The factor at pairs, from two blocks of that column."""
    rows: Callable[[Forms, FloatArray, FloatArray, FloatArray], FloatArray]
    """A closed form with the factor, from one without: (form, rows, column, weights)."""
    own: bool = True
    """Whether a row's pair with itself counts."""


def _weighted_rows(
    form: Forms, rows: FloatArray, column: FloatArray, weights: FloatArray
) -> FloatArray:
    return column * form(rows, weights * column)


def _rows_within(
    form: Forms, rows: FloatArray, column: FloatArray, weights: FloatArray
) -> FloatArray:
    sums = np.empty(len(rows))
    order = np.argsort(column, kind="stable")
    for stratum in np.split(order, np.flatnonzero(np.diff(column[order])) + 1):
        sums[stratum] = form(rows[stratum], weights[stratum])
    return sums


def _rows_between(
    form: Forms, rows: FloatArray, column: FloatArray, weights: FloatArray
) -> FloatArray:
    return form(rows, weights) - _rows_within(form, rows, column, weights)


_WEIGHT = _Factor("weights", np.multiply, _weighted_rows)
_WITHIN = _Factor("within", np.equal, _rows_within)
_BETWEEN = _Factor("between", np.not_equal, _rows_between, own=False)


def add_weights(
    kernel: AnyKernel, data: FloatArray, weights: FloatArray
) -> tuple[Combination, FloatArray]:
    """Return the statistic in which row k counts w_k times, and the rows with their weights."""
    return _multiply(kernel, _WEIGHT), np.column_stack((data, weights))


def add_strata(
    kernel: AnyKernel, data: FloatArray, within: Any, between: Any
) -> tuple[AnyKernel, FloatArray]:
    """Return the statistic over pairs within strata, or between them, and the rows with strata."""
    if within is None and between is None:
        return kernel, data
    if within is not None and between is not None:
        raise InputError(
            "Pairs are either within strata or between them: leave {argument} out.", "between"
        )
    name, labels = ("within", within) if between is None else ("between", between)
    strata = number_labels(labels, len(data), name, "stratum")
    sizes = np.bincount(strata)
    if between is not None and len(sizes) == 1:
        raise InputError(
            "All rows are of one stratum, so there is no pair between two: leave {argument} out.",
            "between",
        )
    if between is None and (sizes < 2).any():
        alone = np.flatnonzero(sizes[strata] < 2)
        raise InputError(
            f"Strata of one row have no pairs: drop {format_rows(alone)} (counting from 0), or "
            "join strata."
        )
    factor = _WITHIN if between is None else _BETWEEN
    return _multiply(kernel, factor), np.column_stack((data, strata.astype(np.float64)))


def restrict_to_strata(kernel: AnyKernel) -> Combination:
    """Return the statistic over pairs within strata, which are the last column of its rows."""
    return _multiply(kernel, _WITHIN)


def check_weights(weights: Any, n: int) -> FloatArray | None:
    """Return the weights of rows, or None; raise `InputError` unless all are positive."""
    if weights is None:
        return None
    found = check_data(weights, name="weights")
    if found.shape != (n,):
        raise InputError(
            f"weights have shape {found.shape} but there are {format_count(n, 'row')}: "
            "give one weight per row."
        )
    wrong = np.flatnonzero(found <= 0)
    if len(wrong):
        raise InputError(
            f"Weights say how often a row counts and must be positive, but {format_rows(wrong)} "
            f"(counting from 0) {'has' if len(wrong) == 1 else 'have at most'} "
            f"{found[wrong].max():g}: drop such rows."
        )
    return found


def are_frequencies(weights: FloatArray | None) -> bool:
    """Return whether weights, if there are any, are whole numbers of equal rows."""
    return weights is None or bool(np.all(weights == np.round(weights)))


def warn_of_frequencies(weights: FloatArray | None) -> None:
    """Warn if whole numbers are so large that they may not be frequencies of rows."""
    if weights is None or not are_frequencies(weights) or weights.mean() <= _USUAL_FREQUENCY:
        return
    count, n = weights.sum(), len(weights)
    notify(
        ManyRows(
            f"The weights are whole numbers, {weights.mean():.3g} on average, and count as "
            f"frequencies: intervals are those of {count:,.0f} rows, not of {n:,}; if they are "
            "not, give {argument}, one group per row, such as its number.",
            "groups",
        )
    )


def number_labels(given: Any, n: int, name: str, what: str) -> IntArray:
    """Return the labels of rows as 0, 1, ... in sorted order; raise `InputError` unless n."""
    labels = as_array(given, name)
    if labels.shape != (n,):
        raise InputError(
            f"The shape of {name} is {labels.shape} but there are {format_count(n, 'row')}: give "
            f"one {what} per row."
        )
    labels = labels if labels.dtype.kind in "fiubUS" else labels.astype(str)
    return np.unique(labels, return_inverse=True)[1]


def _bare(block: FloatArray) -> FloatArray:
    """Return rows without the last column, in the form that kernels take."""
    return block[:, 0] if block.shape[1] == 2 else block[:, :-1]


class _WeightedCombination(Combination):
    """A statistic with the shares of pairs that count, by weights, by strata or by both."""

    most_kernels = LARGEST_NUMBER
    """No limit: the statistic's own kernels were counted when it was made."""


def _multiply(kernel: AnyKernel, factor: _Factor) -> Combination:
    """Return the same function of averages that count pairs by the factor."""
    ones = Kernel(
        _one, name="pairs", symmetric=True, row_totals=_count_rows, weighs=True, label_sizes=False
    )
    parts = tuple(_part(part, factor) for part in (*kernel.components, ones))
    return _WeightedCombination(
        parts,
        partial(_of_quotients, kernel),
        partial(_slopes_of_quotients, kernel),
        name=kernel.name,
        expression=kernel.expression,
        description=kernel.description,
        same_as=kernel.same_as,
        interval_scale=kernel.interval_scale,
        null=kernel.null,
        contrast=kernel.contrast,
    )


def _part(kernel: Kernel, factor: _Factor) -> Kernel:
    forms = {
        role: None if form is None or not kernel.weighs else partial(_rows, form, factor)
        for role, form in (("rows", kernel.row_totals), ("columns", kernel.column_totals))
    }
    return replace(
        kernel,
        function=partial(_values, kernel.function, factor),
        zero_diagonal=kernel.zero_diagonal or not factor.own,
        columns=None,
        formula=Formula.NONE,
        total=None if forms["rows"] is None else partial(_total, forms["rows"]),
        row_totals=forms["rows"],
        column_totals=forms["columns"],
        validate=None,
        label_sizes=False,
    )


def _values(
    function: PairFunction, factor: _Factor, first: FloatArray, second: FloatArray
) -> FloatArray:
    return function(_bare(first), _bare(second)) * factor.pair(first[:, -1], second[:, -1])


def _rows(
    form: Forms, factor: _Factor, data: FloatArray, weights: FloatArray | None = None
) -> FloatArray:
    weights = np.ones(len(data)) if weights is None else weights
    return factor.rows(form, _bare(data), data[:, -1], weights)


def _total(form: Forms, data: FloatArray) -> float:
    return float(form(data).sum())


def _one(first: FloatArray, second: FloatArray) -> FloatArray:
    return np.ones(len(first))


def _count_rows(data: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    return np.full(len(data), float(len(data)) if weights is None else weights.sum())


def _of_quotients(kernel: AnyKernel, averages: FloatArray) -> FloatArray:
    return kernel.combine(averages[..., :-1] / averages[..., -1:])


def _slopes_of_quotients(kernel: AnyKernel, averages: FloatArray) -> FloatArray:
    counted = averages[..., -1:]
    quotients = averages[..., :-1] / counted
    slopes = kernel.slopes(quotients) / counted
    last = -(slopes * quotients).sum(axis=-1, keepdims=True)
    return np.concatenate([slopes, last], axis=-1)
