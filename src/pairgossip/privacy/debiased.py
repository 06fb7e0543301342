"""Kernels on reports whose expectation is the kernel on the reported values."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pairgossip.arrays import BoolArray, FloatArray, PairFunction
from pairgossip.errors import InputError
from pairgossip.kernels.exact import check_kind, probe, single_kernel
from pairgossip.kernels.kernel import Combination, Formula, Kernel, as_kernel, evaluate
from pairgossip.privacy.response import Classes

if TYPE_CHECKING:
    from pairgossip.privacy.mechanism import RandomizedResponse


_SAMPLE = 24
"""Number of observations paired with each other."""
_COARSE_STEP, _FINE_STEP = 1e-6, 1e-9
"""Two distances, as shares of the range: a jump is the same at both, a slope is not."""


def refuse_equality(
    kernel: Kernel | Combination, mechanism: RandomizedResponse, what: str = "Kernel"
) -> None:
    """Raise `InputError` if the kernel singles out equal values of a column put into cells.

    For a fixed observation, h jumps where the other's value is exactly equal, and is the same on
    both sides. A kernel that compares two values, as the AUC does, differs between the sides.
    """
    for at, column in enumerate(mechanism.columns):
        if isinstance(column, Classes):
            continue
        first, second = _equal_in(mechanism.representatives, at)
        width = column.high - column.low
        finest = 16 * float(np.spacing(max(abs(column.low), abs(column.high))))
        step = max(_FINE_STEP * width, finest)
        jumps, ordered = False, False
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            for part in kernel.components:
                alike, differ = _sides(part, first, second, at, step)
                jumps, ordered = jumps or bool(alike.any()), ordered or bool(differ.any())
        if jumps and not ordered:
            raise InputError(
                f"{what} '{kernel.name}' asks whether two raw values of column {at} are equal, "
                f"which reports of cells cannot show: use a {what.lower()} without equality, or "
                "declare the column as the label, with {argument}.",
                "classes",
            )


def _equal_in(values: FloatArray, at: int) -> tuple[FloatArray, FloatArray]:
    """Pair a few observations with each other, made equal in one column."""
    table = values.reshape(len(values), -1)
    chosen = np.unique(np.linspace(0, len(table) - 1, _SAMPLE).astype(np.intp))
    one, other = (index.ravel() for index in np.meshgrid(chosen, chosen, indexing="ij"))
    first, second = table[one], table[other].copy()
    second[:, at] = first[:, at]
    return first, second


def _sides(
    kernel: Kernel, first: FloatArray, second: FloatArray, at: int, step: float
) -> tuple[BoolArray, BoolArray]:
    """Return where h jumps at equality and is the same on both sides, and where they differ."""
    equal = _evaluate_at(kernel, first, second, at, 0.0)
    below, above = (_evaluate_at(kernel, first, second, at, sign * step) for sign in (-1.0, 1.0))
    coarse = _COARSE_STEP / _FINE_STEP * step
    lower, upper = (_evaluate_at(kernel, first, second, at, sign * coarse) for sign in (-1.0, 1.0))
    size = np.abs(np.stack([equal, below, above, lower, upper])).max()
    small = 1e-7 * size
    # A slope, however steep, shrinks with the step; a jump does not.
    jump = (np.abs(above - equal) > small) & (np.abs(above - equal) > 0.9 * np.abs(upper - equal))
    alike = jump & (np.abs(above - below) <= 0.01 * np.abs(above - equal))
    apart = np.abs(above - below)
    differ = (apart > small) & (apart > 0.9 * np.abs(upper - lower))
    return alike, differ


def _evaluate_at(
    kernel: Kernel, first: FloatArray, second: FloatArray, at: int, step: float
) -> FloatArray:
    other = second.copy()
    other[:, at] += step
    blocks = (first[:, 0], other[:, 0]) if first.shape[1] == 1 else (first, other)
    return evaluate(kernel, *blocks)


_LARGEST_DOMAIN = 2048
"""Largest number of cells of the whole report: a table of all pairs of them takes 32 MB."""
_PAIRS_AT_ONCE = 2**18


class DebiasedKernel:
    """A kernel for reports: unbiased for the kernel at the cells of two different people.

    The kernel's values at all pairs of cells make a table A. With v_y the vector whose
    expectation is the indicator of the true cell, v_y^T A v_y' has expectation A_xx' if the two
    reports are independent. A report and itself are not, so own pairs need `own`.

    Parameters
    ----------
    mechanism
        The randomized response that makes the reports.
    kernel
        A kernel, a ratio, the name of a built-in kernel, or a function, of raw observations.

    Attributes
    ----------
    mechanism, kernel
        The arguments.
    components
        The number of kernels in the statistic.
    cell_tables
        A for every component: its values at all pairs of cells, shape (components, K, K).
    tables
        The debiased values at all pairs of reports, shape (components, K, K).
    own_values
        The debiased value of every report's own pair, shape (components, K).
    """

    def __init__(
        self, mechanism: RandomizedResponse, kernel: Kernel | Combination | PairFunction | str
    ) -> None:
        self.mechanism = mechanism
        self.kernel = as_kernel(kernel)
        if self.kernel.follows_rows:
            raise InputError(
                f"Kernel '{self.kernel.name}' has a column of scores for each class, and reports "
                f"of "
                "all columns together would drown in noise: choose 'auc', for two classes."
            )
        self.components = len(self.kernel.components)
        if mechanism.cells > _LARGEST_DOMAIN:
            product = " x ".join(map(str, mechanism.bins))
            raise InputError(
                f"Reports have {mechanism.cells:,} cells ({product}), and debiasing takes a table "
                f"of all pairs of at most {_LARGEST_DOMAIN:,}: give fewer bins or fewer columns."
            )
        values = mechanism.representatives
        self._check(values)
        parts = self.kernel.components
        self.cell_tables = np.stack([_cell_table(part, values) for part in parts])
        self.tables = debias(mechanism, debias(mechanism, self.cell_tables, 1), 2)
        diagonals = np.diagonal(self.cell_tables, axis1=1, axis2=2)
        self.own_values = debias(mechanism, diagonals, 1)

    def values(self, first: Any, second: Any) -> FloatArray:
        """Return the debiased values at m pairs of reports of two people, shape (m, components)."""
        return self.tables[:, self.mechanism.flat(first), self.mechanism.flat(second)].T

    def own(self, reports: Any) -> FloatArray:
        """Return the estimates of m own pairs h(x, x) from their reports, shape (m, components)."""
        return self.own_values[:, self.mechanism.flat(reports)].T

    def __call__(self, first: Any, second: Any) -> FloatArray:
        """Return the debiased values at m pairs of reports, for a single kernel, shape (m,)."""
        single_kernel(self.kernel)
        return self.values(first, second)[:, 0]

    def as_kernel(self) -> Kernel | Combination:
        """Return the `Kernel` or `Ratio` of two blocks of reports, without the rule for own
        pairs."""
        parts = [
            replace(
                part,
                function=partial(self._component, index),
                zero_diagonal=False,
                columns=None,
                formula=Formula.NONE,
                parameter=0.0,
                total=None,
                row_totals=None,
                column_totals=None,
                validate=None,
            )
            for index, part in enumerate(self.kernel.components)
        ]
        if isinstance(self.kernel, Combination):
            return self.kernel.with_kernels(parts)
        return parts[0]

    def statistic(self, reports: Any, target: str = "u") -> float:
        """Return the unbiased statistic of all reports, from their histogram.

        A ratio is the quotient of two unbiased averages, which is itself only nearly unbiased.
        """
        cells = self.mechanism.flat(reports)
        kind = check_kind(target, len(cells))
        histogram = np.bincount(cells, minlength=self.mechanism.cells).astype(np.float64)
        return float(self.statistic_of(histogram[None], len(cells), kind)[0])

    def statistic_of(self, histograms: FloatArray, n: int, kind: str) -> FloatArray:
        """Return the unbiased statistic of n reports for each of their histograms (m, K)."""
        averages = np.empty((len(histograms), self.components))
        for index, table in enumerate(self.tables):
            pairs = (histograms @ table)[:, None, :] @ histograms[:, :, None]
            total = pairs[:, 0, 0] - histograms @ np.diagonal(table)
            if kind == "v":
                total += histograms @ self.own_values[index]
            averages[:, index] = total / (n * n if kind == "v" else n * (n - 1))
        return np.asarray(self.kernel.combine(averages))

    def combine(self, values: FloatArray) -> FloatArray:
        """Turn averages of the components, shape (..., components), into the statistic."""
        return self.kernel.combine(values)

    def _component(self, index: int, first: FloatArray, second: FloatArray) -> FloatArray:
        one, other = self.mechanism.flat(first), self.mechanism.flat(second)
        return self.tables[index, one, other]

    def _check(self, values: FloatArray) -> None:
        try:
            self.kernel.check(values)
        except InputError as refusal:
            raise InputError(f"The declared columns do not suit the kernel: {refusal}") from refusal
        refuse_equality(self.kernel, self.mechanism)
        probe(self.kernel, values)

    def __repr__(self) -> str:
        return f"DebiasedKernel({self.kernel.name}, {self.mechanism.cells} cells)"


def debias(mechanism: RandomizedResponse, values: FloatArray, axis: int) -> FloatArray:
    """Turn one axis of length K from true cells to reports, with the same expectation."""
    return _by_responses(mechanism, values, axis, "debias")


def expect(mechanism: RandomizedResponse, values: FloatArray, axis: int) -> FloatArray:
    """Turn one axis of length K from reports to true cells, by the expectation."""
    return _by_responses(mechanism, values, axis, "expect")


def _by_responses(
    mechanism: RandomizedResponse, values: FloatArray, axis: int, what: str
) -> FloatArray:
    sizes = [response.cells for response in mechanism.responses]
    split = values.reshape(*values.shape[:axis], *sizes, *values.shape[axis + 1 :])
    for offset, response in enumerate(mechanism.responses):
        split = getattr(response, what)(split, axis + offset)
    return split.reshape(values.shape)


def _cell_table(kernel: Kernel, values: FloatArray) -> FloatArray:
    cells = len(values)
    table = np.empty((cells, cells))
    step = max(1, _PAIRS_AT_ONCE // cells)
    for start in range(0, cells, step):
        rows = values[start : start + step]
        first = np.repeat(rows, cells, axis=0)
        second = np.concatenate([values] * len(rows))
        table[start : start + step] = evaluate(kernel, first, second).reshape(len(rows), cells)
    wrong = np.argwhere(~np.isfinite(table))
    if len(wrong):
        one, other = (values[at].tolist() for at in wrong[0])
        raise InputError(
            f"Kernel '{kernel.name}' is NaN or infinite for {one} and {other}, which stand for "
            f"two cells of the reports: it must be finite for every pair."
        )
    return table
