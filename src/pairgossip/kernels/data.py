"""Conversion of a user's data to one array of observations, on which all other code works."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairgossip.arrays import FloatArray, IntArray, distinct
from pairgossip.errors import InputError
from pairgossip.rows.columns import as_array as as_array
from pairgossip.rows.columns import as_ordered, is_missing, is_number, read_numbers
from pairgossip.text import format_count, format_rows, join_names

_CLASSES_TRIED, _ROWS_TRIED, _COLUMNS_TRIED = 4, 12, 8
"""The numbers of classes, of rows of each, and of columns with their extreme rows, that are tried
to see whether a function depends on the numbering of classes."""
_PAIRS_AT_ONCE = 256
"""The number of pairs tried together, as a loss may return many numbers for one."""


def check_data(data: Any, labels: Any = None, name: str = "data") -> FloatArray:
    """Return observations as a new float64 array: (n,) for one column, (n, d) for more.

    Parameters
    ----------
    data
        A list, an array, a `Dataset`, or a series or frame with `to_numpy`; one row per
        observation.
    labels
        One label per observation, appended as the last column. Numbers do not change, and an
        ordered categorical becomes 0, 1, ... in its order. Anything else, such as text, becomes
        0, 1, ... in sorted order, numerals by their size. This is for classes only: see
        `check_label_sizes`.
    name
        The name of the data in messages.
    """
    table = read_numbers(data, name)
    if table.ndim not in (1, 2):
        raise InputError(
            f"{name} has {table.ndim} dimensions: "
            f"give one number per observation, or a table of observations by columns."
        )
    if table.size == 0:
        raise InputError(f"{name} is empty: give at least one observation.")
    _refuse_gaps(~np.isfinite(table), f"{name} has NaN or infinite")
    if labels is not None:
        table = np.column_stack((table, _label_numbers(labels, len(table), name)))
    if table.ndim == 2 and table.shape[1] == 1:
        table = table[:, 0]
    # With labels the array is already new.
    return np.array(table, dtype=np.float64, order="C", copy=True if labels is None else None)


def column_count(data: FloatArray) -> int:
    """Count the columns of checked data."""
    return 1 if data.ndim == 1 else int(data.shape[1])


def check_columns(owner: str, columns: tuple[str, ...] | None, data: FloatArray) -> None:
    """Raise `InputError` unless the data has the number of columns that the names allow."""
    if columns is None:
        return
    fewest = sum(not column.endswith("?") for column in columns)
    most = np.inf if any(column.endswith("...") for column in columns) else len(columns)
    found = column_count(data)
    if fewest <= found <= most:
        return
    if most == np.inf:
        expected = f"{fewest} or more columns"
    elif fewest < most:
        expected = f"{fewest} or {most} columns"
    else:
        expected = format_count(fewest, "column")
    advice = "choose the ones to use" if found > most else "add the missing ones"
    if found < fewest and columns[-1] in ("label", "cluster"):
        advice = f"give the {columns[-1]}s as the last column or with {{argument}}"
    listed = [f"optional {name[:-1]}" if name.endswith("?") else name for name in columns]
    raise InputError(
        f"{owner} takes {expected} ({', '.join(listed)}), "
        f"but the data has {format_count(found, 'column')}: {advice}.",
        "labels",
    )


def class_example(labels: Any) -> str | None:
    """Describe labels that are not numbers, as in "text such as 'high'"; else return None."""
    if labels is None or as_ordered(labels) is not None:
        return None
    array = as_array(labels, "labels").ravel()
    if array.dtype.kind in "fiubc":
        return None
    first = next((item for item in array if not (is_missing(item) or is_number(item))), None)
    kind = "text" if isinstance(first, str | bytes) else f"{type(first).__name__} values"
    return None if first is None else f"{kind} such as '{str(first)[:40]}'"


def check_label_sizes(
    owner: str,
    sizes: bool | None,
    labels: Any,
    data: FloatArray,
    values: Callable[[FloatArray, FloatArray], FloatArray],
) -> None:
    """Raise `InputError` if the user's labels are text and their sizes matter.

    If it is not known whether ``sizes`` matter, or which of two classes is the higher one, the
    classes of the data's last column are renumbered in another order, to see whether ``values`` at
    pairs of observations change.
    """
    example = class_example(labels)
    if example is None:
        return
    names = two_texts(labels)
    if names is not None and depends_on_numbering(data, values):
        raise unknown_positive(owner, names)
    if sizes is True:
        raise InputError(
            f"{owner} compares labels by size, but the labels are {example}: pass numbers, or give "
            "their order with {argument}.",
            "classes",
        )
    if sizes is None and depends_on_numbering(data, values):
        raise InputError(
            f"{owner} gives other values if classes are numbered in another order, but the labels "
            f"are {example}: pass numbers, give their order with {{argument}}, or set "
            f"label_sizes=False for 0, 1, ... in alphabetical order.",
            "classes",
        )


def check_several_classes(owner: str, data: FloatArray) -> int:
    """Return the number of classes in the last column; raise `InputError` if there is only one."""
    classes = distinct(data[:, -1])
    if len(classes) == 1:
        raise InputError(
            f"{owner} needs two classes, but the labels hold one class only ({classes[0]:g}): "
            f"add observations of another class."
        )
    return len(classes)


def check_two_classes(owner: str, instead: str, data: FloatArray) -> None:
    """Raise `InputError` unless the last column holds two labels; ``instead`` is for more."""
    count = check_several_classes(owner, data)
    if count > 2:
        raise InputError(
            f"{owner} needs two classes, but the labels hold {count}: "
            f"use {instead} for graded labels."
        )


def depends_on_numbering(
    data: FloatArray, values: Callable[[FloatArray, FloatArray], FloatArray]
) -> bool:
    """Return whether values change if the classes of the last column are numbered differently.

    Two classes may be any numbers; more classes are 0, 1, ...
    """
    classes = _distinct_classes(data[:, -1])
    # The last class becomes the first; classes without it would keep their order.
    tried = classes[-_CLASSES_TRIED:]
    rows = np.concatenate([_varied_rows(data, np.flatnonzero(data[:, -1] == one)) for one in tried])
    some = data[rows]
    first, second = (index.ravel() for index in np.indices((len(some), len(some))))
    moved = some.copy()
    # Rotated, not reversed: reversed classes would keep their distances.
    at = np.searchsorted(classes, some[:, -1])
    moved[:, -1] = classes[(at + 1) % len(classes)]
    for start in range(0, len(first), _PAIRS_AT_ONCE):
        ends = [index[start : start + _PAIRS_AT_ONCE] for index in (first, second)]
        with np.errstate(all="ignore"):
            before, after = (values(table[ends[0]], table[ends[1]]) for table in (some, moved))
        if not np.allclose(before, after, rtol=1e-9, atol=0, equal_nan=True):
            return True
    return False


def _varied_rows(data: FloatArray, rows: IntArray) -> IntArray:
    """Return some of these rows, evenly spread, and those at the ends of columns.

    Adjacent rows may be tied, as in a sorted file, and ties show nothing.
    """
    features = data[:, :-1][:, :_COLUMNS_TRIED][rows]
    spread = np.linspace(0, len(rows) - 1, _ROWS_TRIED).astype(np.int64)
    ends = (features.argmin(axis=0), features.argmax(axis=0))
    return rows[np.unique(np.concatenate((spread, *ends)))]


def _distinct_classes(labels: FloatArray) -> FloatArray:
    """Return the result of `np.unique`; for two classes do not sort all rows."""
    low, high = labels.min(), labels.max()
    is_two = low < high and np.all((labels == low) | (labels == high))
    return np.array([low, high]) if is_two else np.unique(labels)


def two_texts(labels: Any) -> list[Any] | None:
    """Return two labels that are text, and so have no order but the alphabet's, else None.

    Numerals have the order of their numbers. Dates and other objects count as text.
    """
    if class_example(labels) is None:
        return None
    found = {item for item in as_array(labels, "labels").ravel().tolist() if not is_missing(item)}
    return sorted(found, key=str) if len(found) == 2 and not _are_numerals(found) else None


def unknown_positive(owner: str, names: list[Any]) -> InputError:
    """Build the error for two labels without a known positive one."""
    quoted = join_names([repr(name)[:42] for name in names])
    # As tools write them; of other words nobody knows which one is meant.
    is_boolean = [str(name).lower() for name in names] == ["false", "true"]
    return InputError(
        f"{owner} depends on which of two classes is the positive one, but the labels are "
        f"{quoted}: give {{argument}}, or the other.",
        "positive",
        names[1 if is_boolean else 0],
    )


def name_higher(labels: Any) -> str | None:
    """Return the higher of two labels that have an order, None for other labels."""
    ordered = as_ordered(labels)
    array = as_array(labels if ordered is None else ordered.codes, "labels").ravel()
    if array.dtype == object and all(map(is_number, array)):
        are_booleans = all(isinstance(item, bool | np.bool_) for item in array)
        array = array.astype(bool if are_booleans else np.float64)
    if array.dtype.kind not in "fiub":
        found = set(array.tolist())
        return max(found, key=float) if len(found) == 2 and _are_numerals(found) else None
    if len(array) == 0:
        return None
    low, high = array.min(), array.max()
    if low == high or not np.all((array == low) | (array == high)):
        return None
    if ordered is not None:
        return format_label(ordered.categories[high])
    return format_label(high.item())


def format_label(label: Any) -> str:
    """Return the name of a class in results."""
    return f"{label:.15g}" if isinstance(label, float) else str(label)


def _refuse_gaps(gaps: NDArray[np.bool_], complaint: str) -> None:
    if gaps.any():
        rows = np.unique(np.nonzero(gaps)[0])
        raise InputError(
            f"{complaint} values in {format_rows(rows)} (counting from 0): "
            f"drop or impute them first."
        )


def _label_numbers(labels: Any, n: int, name: str) -> FloatArray:
    ordered = as_ordered(labels)
    array = as_array(labels if ordered is None else ordered.codes, "labels", objects=True)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(f"labels have {array.ndim} dimensions: give one label per observation.")
    if len(array) != n:
        raise InputError(
            f"labels have {len(array)} entries but {name} has {format_count(n, 'row')}: "
            f"give one label per observation."
        )
    if array.dtype.kind in "fiub" or all(map(is_number, array)):
        numbers = read_numbers(array, "labels")
        gaps = ~np.isfinite(numbers) if ordered is None else numbers < 0
    else:
        gaps = np.array([is_missing(item) for item in array])
        numbers = np.empty(0) if gaps.any() else _encode(array)
    _refuse_gaps(gaps, "labels have missing or infinite")
    return numbers


def _are_numerals(classes: set[Any]) -> bool:
    """Return whether all classes are numerals of different numbers."""
    try:
        numbers = {float(label) for label in classes if isinstance(label, str)}
    except ValueError:
        return False
    return len(numbers) == len(classes) and all(map(math.isfinite, numbers))


def _encode(array: NDArray[Any]) -> FloatArray:
    classes = set(array.tolist())
    try:
        # "9" is lower than "10", as in a table that is read.
        ordered = sorted(classes, key=float if _are_numerals(classes) else None)
        order = {label: code for code, label in enumerate(ordered)}
    except TypeError as unsortable:
        raise InputError(
            "labels mix kinds that cannot be sorted: give all numbers or all text."
        ) from unsortable
    return np.array([order[label] for label in array.tolist()], dtype=np.float64)
