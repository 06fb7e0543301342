"""The classes, groups, strata and weights of rows, numbered in the order of arrival."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairgossip.arrays import IntArray
from pairgossip.errors import InputError
from pairgossip.kernels.data import format_label
from pairgossip.rows.columns import Coded, Ordered, as_array, as_coded, is_missing, join_orders
from pairgossip.summaries.heads import ALL_WEIGHTS

_TABLE_RANGE = 1 << 16
"""Largest range of whole numbers that are looked up in a table."""
_MOST_CLASSES = 64
"""Largest number of different labels; a column with more of them needs cells."""


class Factor:
    """The different entries of a column, numbered in the order of arrival.

    Parameters
    ----------
    listed
        All possible entries, in the order of their numbers; None for any.
    spell
        The function that gives the spelling of an entry, such as its name: entries of the same
        spelling are one.
    check
        The function that says whether a new entry is allowed.
    """

    def __init__(
        self,
        listed: Sequence[Any] | None = None,
        spell: Callable[[Any], Any] | None = None,
        check: Callable[[Any, Factor], bool] | None = None,
    ) -> None:
        self.items: list[Any] = []
        self.order: list[Any] | None = None
        """The categories of a column that has an order."""
        self._numbers: dict[Any, int] = {}
        self._listed, self._spell, self._check = listed, spell, check
        self._known: tuple[NDArray[Any], IntArray] | None = None
        """The numbers among the entries that were looked up, in ascending order, and their
        codes."""
        self._is_open = True
        for one in listed or ():
            self.find(one)
        self._is_open = listed is None

    def restart(self) -> Factor:
        """Return the same factor before any entry has come."""
        return Factor(self._listed, self._spell, self._check)

    def __len__(self) -> int:
        return len(self.items)

    def find(self, item: Any) -> int:
        """Return the number of an entry; -1 for one that is missing or not allowed."""
        if is_missing(item) or (isinstance(item, str) and not item.strip()):
            return -1
        key = item if self._spell is None else self._spell(item)
        if not isinstance(key, Hashable):
            return -1
        number = self._numbers.get(key)
        if number is None:
            if not self._is_open or (self._check is not None and not self._check(item, self)):
                return -1
            number = self._numbers[key] = len(self.items)
            self.items.append(key)
        return number

    def code(self, column: Any) -> IntArray:
        """Return the number of every row's entry."""
        coded = as_coded(column)
        if coded is not None:
            return self._code_categories(coded)
        array = as_array(column, "labels", objects=True).ravel()
        if array.dtype.kind == "b":
            bits = array.view(np.uint8)
            numbers = [
                0 if array.all() else self.find(False),
                self.find(True) if array.any() else 1,
            ]
            return bits if numbers == [0, 1] else np.array(numbers)[bits]
        if array.dtype.kind in "iu" and len(array):
            low, high = int(array.min()), int(array.max())
            if high - low < _TABLE_RANGE:
                return self._code_offsets(array.astype(np.int64) - low, low)
        if array.dtype.kind in "iuf":
            return self._code_numbers(array)
        entries = array.tolist()
        try:
            table = {one: self.find(one) for one in dict.fromkeys(entries)}
        except TypeError:  # a list, or something else that cannot be an entry
            return np.full(len(entries), -1)
        return np.fromiter(map(table.__getitem__, entries), np.int64, len(entries))

    def _code_categories(self, column: Coded) -> IntArray:
        if isinstance(column, Ordered):
            self.add_order(column.categories)
        codes = np.asarray(column.codes)
        numbers = np.full(len(column.categories) + 1, -1)
        used = np.bincount(codes.astype(np.intp) + 1, minlength=len(numbers))[1:]
        for at in np.flatnonzero(used).tolist():
            numbers[at] = self.find(column.categories[at])
        return numbers[codes]

    def add_order(self, order: Sequence[Any] | None) -> None:
        """Note the order of the categories of some rows; raise `InputError` for a different
        order."""
        if order is not None:
            self.order = list(join_orders(self.order or (), order, "A column"))

    def _code_offsets(self, offsets: IntArray, low: int) -> IntArray:
        """Number whole numbers in a small range from ``low`` on."""
        used = np.bincount(offsets)
        numbers = np.full(len(used), -1)
        for at in np.flatnonzero(used).tolist():
            numbers[at] = self.find(low + at)
        return numbers[offsets]

    def _code_numbers(self, array: NDArray[Any]) -> IntArray:
        """Number any numbers; those seen before are found by a search."""
        if self._known is None:
            self._look_up(array)
        assert self._known is not None
        known, numbers = self._known
        at = np.searchsorted(known, array).clip(max=len(known) - 1)
        is_new = known[at] != array
        if is_new.any():
            self._look_up(np.concatenate([known, array[is_new]]))
            known, numbers = self._known
            at = np.searchsorted(known, array).clip(max=len(known) - 1)
        return np.where(known[at] == array, numbers[at], -1)

    def _look_up(self, array: NDArray[Any]) -> None:
        different = np.unique(array)
        self._known = different, np.array([self.find(one) for one in different.tolist()])


def _check_label(_: str, label: Any, found: Factor) -> bool:
    if len(found) == _MOST_CLASSES:
        raise InputError(
            f"The labels hold more than {_MOST_CLASSES} different values, which is the most that a "
            "summary counts: give them as a column, which has cells."
        )
    return not (isinstance(label, float) and math.isinf(label))


def _check_name(role: str, name: Any, _: Factor) -> bool:
    if not format_label(name).isprintable():
        raise InputError(f"{role} holds text that cannot be printed in a line: rename it.")
    return True


def _check_weight(_: str, weight: Any, __: Factor) -> bool:
    return weight in ALL_WEIGHTS


CHECKS: dict[str, Callable[[str, Any, Factor], bool]] = {
    "classes": _check_label,
    "groups": _check_name,
    "strata": _check_name,
    "weights": _check_weight,
}
"""The functions that say whether a new entry of a factor is allowed."""
