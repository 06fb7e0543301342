"""The rows of every site, and all pairs of rows between two sites, in bounded blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pairgossip.arrays import IntArray


class RowPairs(NamedTuple):
    """Pairs of rows, and to which pair of sites, by its position, each belongs."""

    owner: IntArray
    first: IntArray
    second: IntArray


class SiteSets:
    """Which rows belong to which site.

    Attributes
    ----------
    site_of
        The site of every row.
    sizes
        How many rows each site has.
    """

    def __init__(self, site_of: IntArray) -> None:
        self.site_of = np.asarray(site_of, dtype=np.int64)
        self.sizes = np.bincount(self.site_of)
        self._order = np.argsort(self.site_of, kind="stable")
        self._starts = np.cumsum(self.sizes) - self.sizes

    @property
    def n(self) -> int:
        """How many sites there are."""
        return len(self.sizes)

    def rows_of(self, site: int) -> IntArray:
        """Return the rows of one site, in their order."""
        start = self._starts[site]
        return self._order[start : start + self.sizes[site]]

    def row_pairs(self, first: IntArray, second: IntArray, at_once: int) -> Iterator[RowPairs]:
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
                yield RowPairs(
                    owner,
                    self._order[self._starts[first[owner]] + row],
                    self._order[self._starts[second[owner]] + column],
                )
            start = stop
