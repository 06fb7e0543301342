"""Sites that swap their whole sets of rows: pairs of sites instead of pairs of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.errors import InputError
from pairgossip.kernels.blocks import NUMBERS_PER_BLOCK, Progress
from pairgossip.kernels.kernel import evaluate
from pairgossip.kernels.problem import Problem


class _RowPairs(NamedTuple):
    """Pairs of rows, and to which pair of sites, by its position, each belongs."""

    owner: IntArray
    first: IntArray
    second: IntArray


_MOST_PAIRS_WITHIN_SITES = 2**32
"""Above this many pairs of rows within sites, whole sets would take minutes to start."""


class SiteSets:
    """Which rows belong to which of n sites: the site of every row, and the sites' sizes."""

    def __init__(self, site_of: IntArray) -> None:
        self.site_of = np.asarray(site_of, dtype=np.int64)
        self.sizes = np.bincount(self.site_of)
        self.n = len(self.sizes)
        own = float(np.square(self.sizes, dtype=np.float64).sum())
        if own > _MOST_PAIRS_WITHIN_SITES:
            raise InputError(
                f"Swapping whole sets of up to {self.sizes.max():,} rows takes {own:.0e} pairs of "
                "rows before the first exchange: use {argument}.",
                "construction",
                "lexicographic",
            )
        self._order = np.argsort(self.site_of, kind="stable")
        self._starts = np.cumsum(self.sizes) - self.sizes

    def row_pairs(self, first: IntArray, second: IntArray, at_once: int) -> Iterator[_RowPairs]:
        """Walk through all pairs of rows of each pair of sites, about `at_once` at a time.

        A pair of sites is cut only if it alone has more, and then always at the same places: sums
        over its rows do not depend on which pairs are asked for together.
        """
        widths = self.sizes[second]
        counts = self.sizes[first] * widths
        ends = np.cumsum(counts)
        begins = ends - counts
        start = 0
        while start < len(counts):
            within = np.searchsorted(ends, begins[start] + at_once, side="right")
            stop = max(start + 1, int(within))
            group = np.arange(start, stop)
            total = int(ends[stop - 1] - begins[start])
            for low in range(0, total, at_once):
                high = min(low + at_once, total)
                if stop == start + 1:
                    owner, offset = np.full(high - low, start), np.arange(low, high)
                else:  # a group of several is never cut
                    owner = np.repeat(group, counts[group])
                    offset = np.arange(total) - (begins[owner] - begins[start])
                row, column = np.divmod(offset, widths[owner])
                yield _RowPairs(
                    owner,
                    self._order[self._starts[first[owner]] + row],
                    self._order[self._starts[second[owner]] + column],
                )
            start = stop


_LARGEST_TABLE = 2**24
"""The largest table of what pairs of sites add that is kept, in numbers: 128 MB."""


def set_scale(sites: int, rows: int, target: str) -> float:
    """Return the factor that turns sums over pairs of rows into the statistic of all rows."""
    return sites**2 / (float(rows) * float(rows if target == "v" else rows - 1))


class WholeSets(Problem):
    """What site u adds when it holds the set of site v: the sum of h over all pairs of their rows.

    The sums are scaled so that their average over all n^2 ordered pairs of sites is the statistic
    of all N rows: by n^2/N^2 for the V-statistic, and by n^2/(N(N - 1)), a row's pair with itself
    left out, for the U-statistic. So a pair of sites weighs as many pairs of rows as it has,
    k_u k_v, whatever the sizes.

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
        """Return what each site adds for the set it holds, one column per component."""
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
        """Add the kernel up over all pairs of rows of each pair of sites."""
        sums = np.zeros((len(first), self.components))
        for index, component in enumerate(self.parts):
            one, other = first, second
            if component.symmetric:  # both directions get the very same number
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
