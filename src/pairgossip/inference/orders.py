"""Tests of order by the law under the null: the statistics that have one, and their p.

Wald's z, from the sampling error of these rows, rejects far too often if there are few rows. For
the AUC and for rank correlations the law without an effect is known, given the ties (`null_laws`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.kernels import AnyKernel, Pairs
from pairgossip.kernels.builtin.classes import AUC_COMPARED, AUC_ORDERED
from pairgossip.kernels.builtin.ranks import BOTH_APART, FIRST_APART, KENDALL, SECOND_APART
from pairgossip.kernels.orders import order_both, order_column
from pairgossip.kernels.weighing import are_frequencies
from pairgossip.order_statistics.laws import map_law
from pairgossip.order_statistics.null_laws import (
    EXACT,
    FEW_TIED,
    NULL_VARIANCE,
    NullTest,
    auc_error,
    judge_auc,
    judge_order,
    normal_p,
    order_variance,
)

SAMPLING_ERROR = "sampling error"
TIES_BY_CELLS, TIES_UNKNOWN = "null variance, ties by cells", "null variance, ties not counted"
"""Sources of p: Wald's z; nodes that see ties only as far as cells show them, or not at all, so
that their error is too large and never too small."""
ORDER_KERNELS = {
    "auc": (AUC_ORDERED, AUC_COMPARED),
    "kendall": (KENDALL,),
    "kendall-b": (KENDALL, FIRST_APART, SECOND_APART),
    "somers-d": (KENDALL, FIRST_APART),
    "goodman-kruskal-gamma": (KENDALL, BOTH_APART),
}
"""The statistics of order, and the averages of which each is made."""
_WHOLE = 0.01
"""Largest distance from whole numbers of a node's counts of cells, in rows, that are known."""


def is_of_order(kernel: AnyKernel) -> bool:
    """Return whether a statistic has a law under the null that only depends on ties."""
    formulas = tuple(part.formula for part in kernel.components)
    return formulas == ORDER_KERNELS.get(kernel.name)


def has_null_law(pairs: Pairs, null: float | None) -> bool:
    """Return whether rows have the law under the null: plain rows, and the statistic's own null.

    Raise `InputError` if ties do not count half, so that the usual null is not the null.
    """
    kernel = pairs.unweighted[0]
    if pairs.has_strata or not is_of_order(kernel) or not are_frequencies(pairs.weights):
        return False
    ties = kernel.components[0].parameter
    if kernel.name == "auc" and ties != 0.5 and _count_ties(pairs, 0).max() > 1:
        if null is None:
            raise InputError(
                f"Where tied scores count {ties:g} and not 0.5, the AUC without an effect is not "
                "0.5: test 'auc', which counts them half, or give the value with {argument}.",
                "null",
            )
        return False
    return null is None or null == kernel.null


def judge_rows(pairs: Pairs, value: float, alternative: str) -> NullTest:
    """Test a statistic of order of all rows."""
    name = pairs.unweighted[0].name
    first, second = (_count_ties(pairs, column) for column in (0, 1))
    if len(first) == 1 or len(second) == 1:
        raise InputError(
            f"All rows are tied in one of the columns of '{name}': there is no order to test."
        )
    if name == "auc":
        return judge_auc(value, second, first, alternative)
    compared = _count_compared(pairs, name, first, second)
    test = judge_order(round(value * compared), first, second, alternative)
    return test._replace(error=test.error / compared)


def measure_ties(pairs: Pairs) -> float:
    """Return the standard error without ties over that with ties, both without an effect."""
    first, second = (_count_ties(pairs, column) for column in (0, 1))
    n = float(first.sum())
    untied = _untied_variance(n) if pairs.classes is None else float(second.prod()) * (n + 1) / 3
    return math.sqrt(untied / order_variance(first, second))


def _untied_variance(n: float) -> float:
    """Return the variance of S for this number of rows without ties."""
    return n * (n - 1) * (2 * n + 5) / 18


def _count_compared(pairs: Pairs, name: str, first: FloatArray, second: FloatArray) -> float:
    """Return the number of pairs by which a rank correlation divides S."""
    n, apart = float(first.sum()), (_count_apart(first), _count_apart(second))
    if name == "kendall":
        return n * (n if pairs.target == "v" else n - 1) / 2
    if name == "kendall-b":
        return math.sqrt(apart[0] * apart[1])
    if name == "somers-d":
        return apart[0]
    return sum(apart) - _count_apart(_count_ties(pairs, 0, 1))


def _count_ties(pairs: Pairs, *columns: int) -> FloatArray:
    """Return the number of rows of each value of a column, or each pair of values of two."""
    find = order_column if len(columns) == 1 else order_both
    order = find(*(pairs.unweighted[1][:, column] for column in columns))
    return np.bincount(order.places, pairs.weights).astype(np.float64)


def _count_apart(ties: FloatArray) -> float:
    """Return the number of pairs of rows that differ."""
    return float(ties.sum() ** 2 - (ties**2).sum()) / 2


@dataclass(frozen=True)
class NodeTest:
    """The test of a statistic of order that nodes make from their knowledge of all rows.

    They know the number of rows, of each class, and the averages that the statistic is made of;
    they know ties only if they average cells.
    """

    kernel: AnyKernel
    """The kernel of bare rows."""
    alternative: str
    n: float
    """The number of rows, each as often as it counts."""
    scale: float
    """The factor for the kind of statistic."""
    sizes: FloatArray | None
    """The number of rows of each class, for the AUC."""
    sees_ties: bool
    """Whether nodes average cells of the rows."""
    is_certain: bool
    """Whether each of these cells holds one value."""

    @classmethod
    def of(cls, pairs: Pairs, alternative: str, sees_ties: bool, is_certain: bool) -> NodeTest:
        """Return the test of these rows that nodes make."""
        rows = pairs.without_weights()
        sizes = _count_ties(pairs, 1) if pairs.classes is not None else None
        return cls(rows.kernel, alternative, rows.count, rows.scale, sizes, sees_ties, is_certain)

    @property
    def counts_orders(self) -> bool:
        """Whether nodes may count the orders of all rows, for which they need the sizes of ties."""
        return self.is_certain and self.n <= FEW_TIED

    def errors(
        self, averages: FloatArray, ties: tuple[FloatArray, FloatArray] | None
    ) -> FloatArray:
        """Return each node's standard error without an effect; NaN where it is not known yet."""
        if self.sizes is not None:
            first = np.ones((len(averages), 1)) if ties is None else ties[0]
            errors = auc_error(self.sizes, first)
        else:
            n = self.n
            variance = _untied_variance(n) if ties is None else order_variance(*ties)
            with np.errstate(divide="ignore", invalid="ignore"):
                if averages.shape[-1] > len(self.kernel.components):  # the last counts the pairs
                    averages = averages[..., :-1] / averages[..., -1:]
                slopes = np.abs(self.kernel.slopes(averages)[..., 0])
                errors = slopes * np.sqrt(np.maximum(variance, 0.0)) * (2 * self.scale / n**2)
        return np.where(np.isfinite(errors) & (errors > 0), errors, np.nan)

    def judge(self, trials: Iterable[Any]) -> dict[str, Any]:
        """Return p, errors and law of the nodes of all trials, as the fields of a `Run`."""
        nodes = [(*self._p_values(one.estimates, one.null_error, one.ties), one) for one in trials]
        return {
            "p_value": np.array([p for p, _, _ in nodes]),
            "null_error": np.array([one.null_error for _, _, one in nodes]),
            "p_law": " or ".join(sorted({law for _, law, _ in nodes})),
        }

    def _p_values(
        self,
        estimates: FloatArray,
        errors: FloatArray,
        ties: tuple[FloatArray, FloatArray] | None,
    ) -> tuple[FloatArray, str]:
        """Return each node's p, and its source."""
        is_known = np.isfinite(estimates).all() and np.isfinite(errors).all()
        if ties is not None and is_known and all(_are_whole(sizes) for sizes in ties):
            knowledge = np.column_stack([np.round(estimates / errors, 9), *map(np.round, ties)])
            rows, first, of = np.unique(knowledge, axis=0, return_index=True, return_inverse=True)
            split = 1 + ties[0].shape[1]  # nodes with the same numbers are judged once
            tests = [
                self._judge(estimates[at], errors[at], row[1:split], row[split:])
                for at, row in zip(first, rows, strict=True)
            ]
            if all(test.law == EXACT for test in tests):
                return np.array([test.p for test in tests])[of.ravel()], EXACT
        half_step = 0.0 if self.sizes is None else 0.5 / float(np.prod(self.sizes))
        away = estimates - (self.kernel.null or 0.0)
        law = partial(normal_p, alternative=self.alternative, half_step=half_step)
        return map_law(law, away, errors), self.law

    @property
    def law(self) -> str:
        """The source of p where orders are not counted."""
        if not self.sees_ties:
            return TIES_UNKNOWN
        return NULL_VARIANCE if self.is_certain else TIES_BY_CELLS

    def _judge(
        self, estimate: float, error: float, first: FloatArray, second: FloatArray
    ) -> NullTest:
        if self.sizes is not None:
            halves = 2 * float(np.prod(self.sizes))
            auc = round(estimate * halves) / halves  # without rounding errors
            return judge_auc(auc, self.sizes, first, self.alternative)
        score = round(estimate / error * math.sqrt(order_variance(first, second)))
        return judge_order(score, first, second, self.alternative)


def _are_whole(counts: FloatArray) -> bool:
    return bool((np.abs(counts - np.round(counts)) < _WHOLE).all())
