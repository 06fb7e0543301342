"""The kinds of columns: numbers, classes with or without an order, and missing entries."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, time, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.errors import InputError
from pairgossip.text import MOST_NAMED, join_first

LARGEST_EXACT = 2**53
"""Largest integer up to which floating point holds every integer exactly."""
_NESTED = (list, tuple, set, np.ndarray, Mapping)
_KINDS = (*_NESTED, bytes, date, time, timedelta, np.datetime64, np.timedelta64)
"""Types of entries that are neither numbers nor text."""
_GAPS = ("NoneType", "NAType", "NaTType")
"""Types of missing entries; those of pandas by name, as pandas may not be installed."""


def as_array(given: Any, name: str, *, objects: bool = False) -> NDArray[Any]:
    """Return the user's data as an array; ``objects`` keeps missing entries among text."""
    if type(given) is not np.ndarray and isinstance(given, np.ma.MaskedArray):
        is_numeric = given.dtype.kind in "fiub"
        given = np.ma.filled(given.astype(np.float64 if is_numeric else object), np.nan)
    try:
        array = np.asarray(_to_numpy(given) if hasattr(given, "to_numpy") else given)
    except TypeError as unknown:
        raise InputError(
            f"{name} is {type(given).__name__}, not a list or an array: give one entry per "
            "row, or the name of a column of the data."
        ) from unknown
    except ValueError as ragged:
        if isinstance(given, tuple) and [np.ndim(part) for part in given] == [2, 1]:
            raise InputError(
                f"{name} is a pair of features and labels: give them apart, as in X, y = {name}."
            ) from ragged
        raise InputError(
            f"{name} has rows of different lengths: every observation needs the same columns."
        ) from ragged
    # NumPy would turn the missing entry of ["a", nan] into the text "nan".
    if objects and array.dtype.kind == "U" and isinstance(given, list | tuple):
        return np.array(given, dtype=object)
    return array


def read_numbers(given: Any, name: str, first: int = 0) -> FloatArray:
    """Return numbers as float64, NaN for missing entries; raise `InputError` for others.

    ``first`` is the number of the first row.
    """
    array = as_array(given, name)
    if array.dtype == object:
        array = _unwrap(array, name, first)
    if array.dtype.kind == "c":
        raise InputError(f"{name} holds complex numbers: give real ones.")
    if array.dtype.kind in "mM":
        raise _not_numbers(name, timedelta() if array.dtype.kind == "m" else date.min)
    if array.dtype.kind not in "fiub":
        kind = "text" if array.dtype.kind in "US" else f"{array.dtype.name} values"
        raise InputError(
            f"{name} holds {kind}, not numbers: choose numeric columns, and pass classes as labels."
        )
    _refuse_large_integers(array, name)
    with np.errstate(over="ignore"):  # a wider float may become infinite, which is refused later
        return array.astype(np.float64, copy=False)


def _unwrap(array: NDArray[Any], name: str, first: int) -> FloatArray:
    """Read an array of Python objects: numbers, with None and NA for missing entries."""
    read = _unwrap_plain(array)
    if read is not None:
        return read
    numbers, others = np.full(array.shape, np.nan), []
    for index, item in np.ndenumerate(array):
        if is_number(item):
            _refuse_large_integers(np.asarray(item), name)
            numbers[index] = float(item)
        elif isinstance(item, _KINDS):
            raise _not_numbers(name, item)
        elif not is_missing(item):
            others.append(
                f"{f'row {first + index[0]}' if index else 'it'} holds {str(item)[:40]!r}"
            )
    if others:
        raise InputError(
            f"{name} must hold numbers, but {join_first(others[:MOST_NAMED], len(others))}: "
            f"choose numeric columns, and pass classes as labels."
        )
    return numbers


def _unwrap_plain(array: NDArray[Any]) -> FloatArray | None:
    """Read an array of numbers and gaps at once; return None if some entry needs more care."""
    entries = array.ravel().tolist()
    kinds = {*map(type, entries)}
    gaps = {kind for kind in kinds if kind.__name__ in _GAPS}
    if not all(issubclass(kind, Real | Decimal | np.bool_) for kind in kinds - gaps):
        return None
    if gaps:
        entries = [math.nan if type(one) in gaps else one for one in entries]
    try:
        numbers = np.array(entries, dtype=np.float64)
    except (OverflowError, ValueError, TypeError):
        return None
    return None if may_be_rounded(numbers) else numbers.reshape(array.shape)


def _not_numbers(name: str, item: Any) -> InputError:
    """Build the error for a column of dates, durations, bytes or lists."""
    if isinstance(item, _NESTED):
        return InputError(
            f"{name} holds {_name_nested(item)}, not one number or text per row: choose another "
            "column."
        )
    if isinstance(item, bytes):
        return InputError(f"{name} holds bytes, not numbers: choose a column of numbers.")
    if isinstance(item, timedelta):
        return InputError(
            f"{name} holds durations, not numbers: turn them into numbers first, such as hours."
        )
    return InputError(
        f"{name} holds dates or times, not numbers: turn them into numbers first, such as days "
        "since a date."
    )


def _name_nested(item: Any) -> str:
    return "records" if isinstance(item, Mapping) else "lists"


def refuse_unnamed(column: Any, name: str) -> None:
    """Raise `InputError` for a column whose entries cannot name a class, site or stratum."""
    given = column.list_entries()[0] if isinstance(column, Coded) else column
    array = as_array(given, name, objects=True)
    if array.ndim != 1 or array.dtype.kind == "V":
        raise _not_numbers(name, {} if array.dtype.kind == "V" else [])
    odd: Any = timedelta() if array.dtype.kind == "m" else None
    if array.dtype.kind in "OS":
        kinds = (*_NESTED, bytes, timedelta)
        odd = next((item for item in array.tolist() if isinstance(item, kinds)), None)
    if isinstance(odd, bytes):
        raise InputError(f"{name} holds bytes, not numbers or text: decode them first.")
    if odd is not None:
        raise _not_numbers(name, odd)


@dataclass(frozen=True)
class Coded:
    """A column with few different entries, stored as codes."""

    codes: NDArray[Any]
    """The index of each row's entry among the categories; -1 for a missing one."""
    categories: Sequence[Any]
    """The different entries."""

    def __len__(self) -> int:
        return len(self.codes)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self.to_numpy()

    def __getitem__(self, rows: slice) -> Self:
        return replace(self, codes=self.codes[rows])

    def take(self, rows: IntArray) -> Self:
        """Return some of the rows."""
        return replace(self, codes=self.codes[rows])

    def list_entries(self) -> tuple[NDArray[Any], IntArray]:
        """Return the entries that rows have, in the order of their first rows, and their places.

        ``places`` has the place of each category in that list, -1 for unused ones; its last element
        is the place of the missing entry, which the list holds as None.
        """
        rows, first = len(self.codes), np.full(len(self.categories) + 1, len(self.codes))
        first[self.codes[::-1]] = np.arange(rows)[::-1]  # the last that is written stays
        used = np.argsort(first, kind="stable")[: np.count_nonzero(first < rows)]
        places = np.full(len(first), -1)
        places[used] = np.arange(len(used))
        return replace(self, codes=np.append(used, -1)).to_numpy()[:-1], places

    def to_numpy(self) -> NDArray[Any]:
        """Return the entry of each row, None for missing ones."""
        entries = np.empty(len(self.categories) + 1, dtype=object)
        entries[:-1] = self.categories
        return entries[self.codes]


@dataclass(frozen=True)
class Ordered(Coded):
    """A column of classes in the order of the categories."""


def as_ordered(column: Any) -> Ordered | None:
    """Return an ordered categorical, whose order would be lost as text; None for other columns."""
    if isinstance(column, Ordered):
        return column
    dtype: Any = getattr(column, "dtype", None)
    if getattr(dtype, "ordered", False):  # pandas
        inside = getattr(column, "cat", column)
        return Ordered(np.asarray(inside.codes), inside.categories)
    if type(dtype).__name__ == "Enum":  # polars
        codes = column.to_physical().fill_null(strategy="zero").to_numpy().astype(np.int64)
        return Ordered(np.where(column.is_null().to_numpy(), -1, codes), dtype.categories.to_list())
    return None


def as_coded(column: Any) -> Coded | None:
    """Return a column as codes if its library stores its different entries; None for others."""
    if isinstance(column, Coded):
        return column
    if (ordered := as_ordered(column)) is not None:
        return ordered
    dtype: Any = getattr(column, "dtype", None)
    if type(dtype).__name__ == "CategoricalDtype":  # pandas
        inside = getattr(column, "cat", column)
        return Coded(np.asarray(inside.codes), inside.categories.tolist())
    if type(dtype).__name__ in ("String", "Categorical") and hasattr(column, "rle_id"):  # polars
        entries = column.drop_nulls().unique(maintain_order=True)
        places = list(range(len(entries)))
        return Coded(
            column.replace_strict(entries, places, default=-1).to_numpy(), entries.to_list()
        )
    return None


def join_columns(parts: Sequence[Any], name: str) -> Any:
    """Concatenate the parts of a column."""
    if len(parts) == 1:
        return parts[0]
    parts = [part if (coded := as_coded(part)) is None else coded for part in parts]
    if all(isinstance(part, Coded) for part in parts):
        return _join_coded(parts, name)
    arrays = [as_array(part, name, objects=True) for part in parts]
    if len({one.dtype.kind for one in arrays}) > 1:  # keep large integers exact
        arrays = [
            one.astype(object) if one.dtype.kind in "iu" and _is_large(one) else one
            for one in arrays
        ]
    return np.concatenate(arrays)


def _join_coded(parts: Sequence[Coded], name: str) -> Coded:
    places: dict[Any, int] = {}
    codes = []
    for part in parts:
        known = [places.setdefault(one, len(places)) for one in part.categories]
        codes.append(np.array([*known, -1])[part.codes])
    is_ordered = all(isinstance(part, Ordered) for part in parts)
    if is_ordered:
        for part in parts:
            join_orders(list(places), part.categories, name)
    return (Ordered if is_ordered else Coded)(np.concatenate(codes), list(places))


def join_orders(one: Sequence[Any], other: Sequence[Any], name: str) -> Sequence[Any]:
    """Return the longer of two orders of classes; raise `InputError` unless it extends the shorter.

    Classes declared as low < high in some rows and as high < low in others have no order.
    """
    shorter, longer = sorted([list(one), list(other)], key=len)
    if longer[: len(shorter)] != shorter:
        raise InputError(
            f"{name} has ordered classes, but {' < '.join(map(str, one))} in some rows and "
            f"{' < '.join(map(str, other))} in others: declare one order for all."
        )
    return longer


def _to_numpy(column: Any) -> Any:
    """Return a series as an array without rounding, which some libraries would do."""
    kind = getattr(column, "dtype", None) or getattr(column, "type", None)
    array = None if type(kind).__name__ == "Decimal" else column.to_numpy()
    # Integers beside missing entries come as floating point.
    is_whole = str(kind).lower().startswith(("int", "uint"))
    if array is None or (is_whole and array.dtype.kind == "f" and may_be_rounded(array)):
        entries = column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()
        return np.array(entries, dtype=object)
    return array


def is_number(item: Any) -> bool:
    """Return whether an entry is a real number; a boolean counts as one."""
    return isinstance(item, Real | Decimal | np.bool_)


def is_missing(item: Any) -> bool:
    """Return whether an entry is None, NaN, NA or NaT."""
    if type(item).__name__ in _GAPS:
        return True
    return isinstance(item, float | np.generic) and bool(item != item)


def _is_large(array: NDArray[Any]) -> bool:
    """Return whether some integers among these are not exact in floating point."""
    if array.dtype.kind == "f" or array.size == 0:
        return False
    low, high = int(array.min()), int(array.max())
    return high > LARGEST_EXACT or low < -LARGEST_EXACT


def _refuse_large_integers(array: NDArray[Any], name: str) -> None:
    if _is_large(array):
        raise rounded_integers(name)


def may_be_rounded(numbers: FloatArray) -> bool:
    """Return whether some numbers are so large that they may be rounded integers."""
    return bool((np.abs(numbers) >= LARGEST_EXACT).any())


def rounded_integers(name: str) -> InputError:
    """Build the error for a column whose whole numbers floating point would round."""
    return InputError(
        f"{name} holds integers beyond 2^53, which are not exact in floating point: subtract an "
        "offset or rescale first."
    )
