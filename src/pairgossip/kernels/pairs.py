"""Data, kernel and target together: the numbers that the algorithms average."""

from __future__ import annotations

from copy import copy
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from pairgossip.arrays import FloatArray, IntArray, PairFunction, distinct
from pairgossip.errors import InputError
from pairgossip.kernels.blocks import (
    NUMBERS_PER_BLOCK,
    Progress,
    SiteSets,
    tile_side,
    tile_values,
    tiles,
)
from pairgossip.kernels.data import check_data, column_count
from pairgossip.kernels.exact import check_kind, checked_row_means, probe, single_kernel, statistic
from pairgossip.kernels.kernel import AnyKernel, Combination, Kernel, as_kernel, evaluate
from pairgossip.kernels.problem import Problem
from pairgossip.kernels.rows import name_positive
from pairgossip.kernels.weighing import add_strata, add_weights, check_weights
from pairgossip.text import format_count


class Pairs(Problem):
    """The number that node k adds when it holds observation l: h(x_k, x_l), in target units.

    Averaged over all n^2 ordered pairs, these numbers give the target. For the V-statistic they
    are h itself. For the U-statistic they are n/(n - 1) h between different observations and 0
    where a node holds its own, whose average over all pairs is the U-statistic.

    Parameters
    ----------
    data, labels
        The observations, as `check_data` takes them.
    kernel
        A kernel, a ratio, the name of a built-in kernel, or a function.
    target
        "v" or "u".
    weights
        The weight of each row, as if it occurred this often; by default 1.
    within, between
        The stratum of every row: only pairs within one stratum count, or only pairs between two.
    positive
        The name of the higher one of two labels, if it is more than a number.

    Attributes
    ----------
    data
        float64, contiguous, (n,) for one column and (n, d) for more.
    n, dimension
        The numbers of observations and of columns.
    kernel, components
        The kernel or combination, and its number of kernels.
    target, scale
        "v" or "u", and its factor.
    weights, unweighted
        The weight of each row, None for 1; and kernel and data without the weights.
    has_strata
        Whether only pairs within strata, or between them, count.
    classes
        The class of every row, where the kernel compares two classes.
    fusible
        Whether compiled code has every component; the scale is applied afterward.
    """

    kernel: AnyKernel

    def __init__(
        self,
        data: Any,
        kernel: Kernel | Combination | PairFunction | str,
        target: str = "v",
        labels: Any = None,
        *,
        weights: Any = None,
        within: Any = None,
        between: Any = None,
        positive: str | None = None,
    ) -> None:
        rows, chosen = check_data(data, labels), as_kernel(kernel)
        chosen.check(rows, labels)
        chosen = chosen.for_rows(rows)
        self._find_positive = partial(
            name_positive, chosen, rows, positive, has_labels=labels is not None
        )
        self.n = len(rows)
        two = any(part.two_classes for part in chosen.components)
        if two:
            self.classes = np.searchsorted(distinct(rows[:, -1]), rows[:, -1])
        self.weights = check_weights(weights, self.n)
        self.has_strata = within is not None or between is not None
        self.unweighted = add_strata(chosen, rows, within, between)
        self.kernel, self.data = self.unweighted
        if self.weights is not None:
            self.kernel, self.data = add_weights(*self.unweighted, self.weights)
        self.dimension = column_count(self.data)
        self.components = len(self.kernel.components)
        self.target = check_kind(target, self.n)
        self.scale = 1.0 if self.target == "v" else self.n / (self.n - 1)
        self._masks_own = self.target == "u" and not self.kernel.zero_diagonal
        compiled = all(part.formula.number >= 0 for part in self.kernel.components)
        self.fusible = compiled and not self._masks_own

    @cached_property
    def positive(self) -> str | None:
        """The name of the positive class in results; None where there is none."""
        return self._find_positive()

    @property
    def count(self) -> float:
        """The number of rows, or the sum of their weights."""
        return self.n if self.weights is None else float(self.weights.sum())

    @property
    def row_weights(self) -> FloatArray:
        """The weight of each row."""
        return np.ones(self.n) if self.weights is None else self.weights

    def without_weights(self) -> Self:
        """Return the same pairs with the unweighted kernel, to be averaged by weight."""
        if self.weights is None:
            return self
        bare, count = copy(self), self.count
        if self.target == "u" and count <= 1:
            raise InputError(
                f"A U-statistic leaves out rows' pairs with themselves, so its weights must be "
                f"numbers of rows, but they add up to {count:g}: use {{argument}}.",
                "target",
                "v",
            )
        bare.kernel, bare.data = self.unweighted
        bare.dimension, bare.components = column_count(bare.data), len(bare.kernel.components)
        bare.scale = 1.0 if self.target == "v" else count / (count - 1)
        return bare

    @property
    def own_share(self) -> FloatArray | float:
        """The part of a row's pair with itself that counts, for every row.

        A row of weight w represents w equal rows, whose pairs with themselves U-statistics omit.
        """
        if self.target == "v":
            return 1.0
        return 0.0 if self.weights is None else 1 - 1 / self.weights

    def values(self, nodes: IntArray, held: IntArray) -> FloatArray:
        """Return each node's number for its held observation, one column per component."""
        first = self.data.take(nodes, axis=0)
        second = self.data.take(held, axis=0)
        added = np.empty((len(first), self.components))
        for index, component in enumerate(self.kernel.components):
            np.multiply(evaluate(component, first, second), self.scale, out=added[:, index])
        if self._masks_own:
            own = np.equal(nodes, held)
            share = np.broadcast_to(self.own_share, self.n)[np.asarray(nodes)[own]]
            added[own] *= share[:, None]
        return added

    def check(self) -> None:
        """Raise `InputError` unless the kernel does on a few pairs what it should on all."""
        probe(self.kernel, self.data)

    def matrix(self, component: int = 0) -> FloatArray:
        """Return the values of one component for all pairs, shape (n, n)."""
        kernel = self.kernel.components[component]
        matrix = np.empty((self.n, self.n))
        for rows, columns in tiles(self.n, tile_side(self.dimension), half=kernel.symmetric):
            block = tile_values(kernel, self.data, rows, columns) * self.scale
            matrix[rows, columns] = block
            if kernel.symmetric:
                matrix[columns, rows] = block.T
        if self.target == "u":
            np.fill_diagonal(matrix, self.own_share * np.diagonal(matrix))
        return matrix

    def exact(self, progress: Progress | None = None) -> float:
        """Return the target."""
        return statistic(self.data, self.kernel, self.target, progress, self.own_share)

    def row_means(self) -> FloatArray:
        """Return the mean of every row of `matrix`, for a single kernel."""
        kernel = single_kernel(self.kernel)
        means = checked_row_means(self.data, kernel)
        if self.target == "v":
            return means
        if not kernel.zero_diagonal:
            means = means - evaluate(kernel, self.data, self.data) / self.n
        return means * self.scale

    def at_sites(self, site_of: IntArray) -> WholeSets:
        """Return the problem of sites that swap all their rows at once."""
        return WholeSets(self, site_of)

    @property
    def visible_pairs(self) -> Self:
        """The pairs themselves, as nodes see the true rows."""
        return self

    @property
    def why_not_fused(self) -> str:
        """The reason why compiled code cannot work on the data: it does not have the kernel."""
        return (
            f"Kernel '{self.kernel.name}' is not compiled into the engine for target "
            f"'{self.target}'"
        )

    def __repr__(self) -> str:
        return (
            f"Pairs({self.kernel.name}, {self.target.upper()}-statistic, "
            f"n={self.n}, {format_count(self.dimension, 'column')})"
        )


def exact(
    data: Any,
    kernel: Kernel | Combination | PairFunction | str,
    kind: str = "v",
    labels: Any = None,
    progress: Progress | None = None,
) -> float:
    """Average a kernel over all ordered pairs of observations, as `pairgossip.exact` does."""
    pairs = Pairs(data, kernel, kind, labels)
    pairs.check()
    return pairs.exact(progress)


def row_means(data: Any, kernel: Kernel | PairFunction | str, labels: Any = None) -> FloatArray:
    """Return (1/n) times the sum over l of h(x_k, x_l), for every observation k."""
    pairs = Pairs(data, kernel, labels=labels)
    pairs.check()
    return pairs.row_means()


# Sites that swap their whole sets of rows: pairs of sites instead of pairs of rows.


_LARGEST_TABLE = 2**24
"""The largest table of the sums of pairs of sites, in numbers: 128 MB."""


def set_scale(sites: int, rows: int, target: str) -> float:
    """Return the factor that turns sums over pairs of rows into the statistic of all rows."""
    return sites**2 / (float(rows) * float(rows if target == "v" else rows - 1))


class WholeSets(Problem):
    """The number that site u adds when it holds the set of site v: h summed over their pairs of
    rows.

    The sums are scaled so that their average over all n^2 ordered pairs of sites is the statistic
    of all N rows: by n^2/N^2 for the V-statistic, and by n^2/(N(N - 1)), without a row's pair with
    itself, for the U-statistic. So the weight of a pair of sites is its number of pairs of rows,
    k_u k_v.

    Parameters
    ----------
    pairs
        The rows, their kernel and their target.
    site_of
        The site of every row.
    """

    def __init__(self, pairs: Problem, site_of: IntArray) -> None:
        self.pairs = pairs
        self.sets = SiteSets(site_of)
        self.site_of, self.set_sizes = self.sets.site_of, self.sets.sizes
        self.data, self.dimension = pairs.data, pairs.dimension
        self.kernel, self.components = pairs.kernel, pairs.components
        self.target, self.n = pairs.target, self.sets.n
        self.scale = set_scale(self.n, pairs.n, self.target)
        shape = (self.n, self.n, self.components)
        self._known = np.full(shape, np.nan) if np.prod(shape) <= _LARGEST_TABLE else None

    def values(self, nodes: IntArray, held: IntArray) -> FloatArray:
        """Return the number that each site adds for its held set, one column per component."""
        nodes, held = np.asarray(nodes), np.asarray(held)
        if self._known is None:
            return self._sums(nodes, held)
        added: FloatArray = self._known[nodes, held]
        unknown = np.isnan(added).any(axis=1)
        if unknown.any():
            # Trials in other threads fill in the same table, with the same numbers.
            new = np.unique(np.stack([nodes[unknown], held[unknown]]), axis=1)
            self._known[new[0], new[1]] = self._sums(new[0], new[1])
            added[unknown] = self._known[nodes[unknown], held[unknown]]
        return added

    def matrix(self, component: int = 0) -> FloatArray:
        """Return the values of one component for all pairs of sites, shape (n, n)."""
        everyone = np.arange(self.n)
        values = self.values(np.repeat(everyone, self.n), np.tile(everyone, self.n))
        return np.ascontiguousarray(values[:, component].reshape(self.n, self.n))

    def exact(self, progress: Progress | None = None) -> float:
        """Return the target, the statistic of all rows."""
        return self.pairs.exact(progress)

    def row_means(self) -> FloatArray:
        """Return the mean of every row of `matrix`, for a single kernel."""
        shares = np.bincount(self.sets.site_of, self.pairs.row_means(), self.n)
        return shares * self.n / self.pairs.n

    def _sums(self, first: IntArray, second: IntArray) -> FloatArray:
        """Sum the kernel over all pairs of rows of each pair of sites."""
        sums = np.zeros((len(first), self.components))
        for index, component in enumerate(self.parts):
            one, other = first, second
            if component.symmetric:  # both directions get exactly the same number
                one, other = np.minimum(first, second), np.maximum(first, second)
            for pairs in self.sets.row_pairs(one, other, NUMBERS_PER_BLOCK // self.dimension):
                added = evaluate(component, self.data[pairs.first], self.data[pairs.second])
                if self.target == "u" and not component.zero_diagonal:
                    share = np.broadcast_to(self.pairs.own_share, self.pairs.n)[pairs.first]
                    added = np.where(pairs.first == pairs.second, share * added, added)
                start, stop = int(pairs.owner[0]), int(pairs.owner[-1]) + 1
                sums[start:stop, index] += np.bincount(pairs.owner - start, added)
        return sums * self.scale

    def __repr__(self) -> str:
        return (
            f"WholeSets({self.name}, {self.target.upper()}-statistic, "
            f"{self.pairs.n} rows in {self.n} sites)"
        )
