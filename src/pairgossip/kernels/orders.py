"""The orders of columns, from which sums over ordered pairs are computed; each is found once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from pairgossip.arrays import BoolArray, FloatArray, IntArray
from pairgossip.kernels.calling import find_counts

T = TypeVar("T")
Numbers = NDArray[Any]
_Found = tuple[Callable[..., Any], tuple[Numbers, ...], Any]
_MOST_STORED = 16
"""The number of orders stored at a time, more than one statistic of all rows needs. With more, as
for many clusters in turn, the oldest are dropped, so that searches stay short."""


class _Shelf(NamedTuple):
    """Orders that were found, with their columns, and whether sums by rows will follow."""

    found: deque[_Found]
    rows_follow: bool


_shelf: ContextVar[_Shelf | None] = ContextVar("orders", default=None)


@contextmanager
def sharing_orders(rows_follow: bool = False) -> Iterator[None]:
    """Store every order that is found inside the block, as a statistic needs each several times.

    Its value, its errors and all its kernels need the orders of the same columns.
    """
    if _shelf.get() is not None:
        yield
        return
    token = _shelf.set(_Shelf(deque(maxlen=_MOST_STORED), rows_follow))
    try:
        yield
    finally:
        _shelf.reset(token)


def rows_follow() -> bool:
    """Return whether sums by rows will need orders that a total does not need."""
    shelf = _shelf.get()
    return shelf is not None and shelf.rows_follow


def _find(find: Callable[..., T], *columns: Numbers) -> T:
    shelf = _shelf.get()
    if shelf is None:
        return find(*columns)
    for function, others, known in tuple(shelf.found):
        if function is find and all(map(np.array_equal, columns, others)):
            return known
    found = find(*columns)
    shelf.found.append((find, tuple(column.copy() for column in columns), found))
    return found


class Order(NamedTuple):
    """The different numbers of a column, from the lowest to the highest."""

    places: IntArray
    """The place of every row's number among them."""
    counts: IntArray
    """The number of rows with each number."""

    @property
    def tied_pairs(self) -> int:
        """The number of unordered pairs of rows with the same number."""
        return int(np.sum(self.counts * (self.counts - 1) // 2))


def order_column(column: Numbers) -> Order:
    """Order the rows by a column."""
    return _find(_sort_column, column)


def order_both(first: Numbers, second: Numbers) -> Order:
    """Give rows that are equal in two columns the same place, in any order."""
    one, other = order_column(first), order_column(second)
    for order in (one, other):
        if len(order.counts) == len(first):  # no two rows are equal in it
            return order
    return order_column(one.places * len(other.counts) + other.places)


def _sort_column(column: Numbers) -> Order:
    order = np.argsort(column)
    ordered = column[order]
    is_new = np.ones(len(column), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    firsts = np.flatnonzero(is_new)
    places = np.empty(len(column), dtype=np.int64)
    places[order] = np.cumsum(is_new) - 1
    return Order(places, np.diff(firsts, append=len(column)))


def lay_out(first: Numbers, second: Numbers) -> tuple[IntArray, IntArray]:
    """Sort rows by rising `first`, and rank them by `second`: return the rows, and their ranks.

    Equal `first` are sorted by falling `second`, and among equal `second` the later row ranks
    lower, so that no pair that is equal in either column ascends.
    """
    return _find(_lay_out, first, second)


def _lay_out(first: Numbers, second: Numbers) -> tuple[IntArray, IntArray]:
    counts = find_counts(len(first))
    if counts is not None:
        order, ranks = counts.lay_out(*order_column(first), *order_column(second))
        return order, ranks
    order = np.lexsort((-second, first))
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[np.argsort(second[order][::-1], kind="stable")] = np.arange(len(order))
    return order, ranks[::-1]


# Counting in O(n log n), without a Python loop over rows.


def count_ascents(ranks: IntArray, marked: BoolArray) -> int:
    """Count the positions i < j with ranks[i] < ranks[j] and i marked; ranks are distinct.

    Two ranks are compared by the highest bit in which they differ. The ranks are split by one
    bit after another, highest first, in a stable way: ranks that agree so far are in one row, and
    within a row every marked 0 ascends to every later 1.
    """
    counts = find_counts(len(ranks))
    if counts is not None:
        return int(counts.count_ascents(ranks, marked))
    bits = max(1, int(len(ranks) - 1).bit_length())
    # Padded to a power of two, every row splits exactly in half. The fillers are the highest ranks
    # in falling order, at the front: they ascend to nothing and nothing ascends to them.
    fillers = np.arange(2**bits - 1, len(ranks) - 1, -1)
    row = np.concatenate((fillers << 1, (ranks << 1) | marked))
    count = 0
    for bit in range(bits, 0, -1):
        size = 1 << bit
        high = (row >> bit & 1).astype(np.bool_)
        marked_lows = np.cumsum((row & 1).astype(np.bool_) & ~high)
        before_rows = np.concatenate(([0], marked_lows[size - 1 : -1 : size]))
        count += int(marked_lows[high].sum()) - size // 2 * int(before_rows.sum())
        halves = (row[~high].reshape(-1, size // 2), row[high].reshape(-1, size // 2))
        row = np.stack(halves, axis=1).ravel()
    return count


def weigh_ascents(
    ranks: IntArray, above: FloatArray, below: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Sum, for every place, weights of later places of higher, and earlier ones of lower rank.

    It uses the same splits as `count_ascents`, and follows every place.
    """
    counts = find_counts(len(ranks))
    if counts is not None:
        larger, smaller = counts.weigh_ascents(ranks, above, below)
        return larger, smaller
    bits = max(1, int(len(ranks) - 1).bit_length())
    missing = 2**bits - len(ranks)
    row = np.concatenate((np.arange(2**bits - 1, len(ranks) - 1, -1), ranks))
    above, below = (np.concatenate((np.zeros(missing), part)) for part in (above, below))
    place = np.arange(2**bits)
    larger, smaller = np.zeros(2**bits), np.zeros(2**bits)
    for bit in range(bits - 1, -1, -1):
        high = (row >> bit & 1).astype(np.bool_).reshape(-1, 2 << bit)
        highs = np.cumsum(np.where(high, above[place].reshape(high.shape), 0.0), axis=1)
        lows = np.cumsum(np.where(high, 0.0, below[place].reshape(high.shape)), axis=1)
        flat = high.ravel()
        larger[place[~flat]] += (highs[:, -1:] - highs).ravel()[~flat]
        smaller[place[flat]] += lows.ravel()[flat]
        shape = (-1, 1 << bit)
        row, place = (
            np.stack((part[~flat].reshape(shape), part[flat].reshape(shape)), axis=1).ravel()
            for part in (row, place)
        )
    return larger[missing:], smaller[missing:]


# Sums over ordered pairs of two columns, for closed forms.


def weights_or_ones(data: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Return the weight of each row, 1 without weights."""
    return np.ones(len(data)) if weights is None else weights


def count_ascending_pairs(first: FloatArray, second: FloatArray, marked: BoolArray) -> int:
    """Count the pairs (i, j) with first[i] < first[j], second[i] < second[j] and i marked."""
    order, ranks = lay_out(first, second)
    return count_ascents(ranks, marked[order])


def weigh_beyond(
    first: FloatArray, second: FloatArray, above: FloatArray, below: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Sum, for every i, `above` over the j larger in both columns, `below` over smaller ones."""
    order, ranks = lay_out(first, second)
    larger, smaller = np.empty(len(first)), np.empty(len(first))
    larger[order], smaller[order] = weigh_ascents(ranks, above[order], below[order])
    return larger, smaller
