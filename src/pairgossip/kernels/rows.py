"""Preparation of a user's rows: incomplete rows, and classes as numbers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pairgossip.arrays import BoolArray, FloatArray, IntArray
from pairgossip.checks import DROP, MISSING, choice
from pairgossip.errors import InputError, RowsDropped, notify
from pairgossip.kernels.data import (
    column_count,
    depends_on_numbering,
    format_label,
    name_higher,
)
from pairgossip.kernels.kernel import AnyKernel, evaluate, follows_rows
from pairgossip.kernels.named_tests import NamedTest
from pairgossip.rows.columns import Coded, as_array, as_ordered, is_missing
from pairgossip.rows.rows import Chosen, choose_columns, count_from_zero
from pairgossip.text import MOST_NAMED, join_first, join_names

_SINGLE = {"classes": "class", "groups": "group", "strata": "stratum"}


class Rows(NamedTuple):
    """The rows that are used, column by column."""

    columns: dict[str, Any]
    """The columns by the names of arguments, without those that were not given."""
    dropped: int
    """The number of rows that were left out."""
    positive: str | None = None
    """The name of the higher of two labels in results; None for other labels."""


def prepare_rows(
    missing: str,
    classes: Sequence[Any] | None,
    columns: Mapping[str, Any],
    positive: Any = None,
    chosen: Sequence[Any] | str | None = None,
    kernel: Any = None,
) -> Rows:
    """Return the complete rows of all columns, with labels as numbers if classes are declared.

    Parameters
    ----------
    missing
        "refuse" raises `InputError` for rows that lack an entry, "drop" leaves them out of all
        columns together and warns.
    classes
        The classes of the column "labels", from the lowest to the highest; None for any labels.
    columns
        The columns by the names of arguments, the data first; None for arguments that were not
        given. Text is the name of a column of the data.
    positive
        The higher one of two labels, instead of ``classes``.
    chosen
        The columns of the data, by name; None for all columns that no other argument names.
    kernel
        The kernel. If it takes a column of scores for each class, and the columns have the names of
        the classes, the classes get the order of the columns.
    """
    first = next(iter(columns))
    if columns[first] is None:
        raise InputError(f"{first} is None: give rows, such as a list, an array or a table.")
    given = {name: column for name, column in columns.items() if column is not None}
    refuse_other_indexes(given)
    words = classes if positive is None else [positive]
    read = choose_columns(first, given, chosen, words)
    given = dict(read.columns)
    if follows_rows(kernel) and (found := order_by_columns(read.names, given.get("labels"))):
        classes, positive = found, None
    if positive is not None:
        classes = order_classes(positive, given.get("labels"), classes)
    if classes is not None:
        owner = f"{name} holds" if (name := read.owners.get("labels")) else "labels hold"
        given["labels"] = code_labels(given.get("labels"), classes, owner, read.describe)
    given, lost, count = keep_complete(given, read, missing)
    if len(lost):
        notify(rows_dropped(len(lost), count, read.describe(lost)))
    higher = name_higher(given["labels"]) if "labels" in given else None
    if classes is not None and higher is not None:
        higher = format_label(check_classes(classes)[int(higher)])
    return Rows(given, len(lost), higher)


def order_by_columns(names: Sequence[Any], labels: Any) -> list[Any] | None:
    """Return the classes in the order of the columns of scores that have their names.

    Return None if no column has; raise `InputError` if only some have.
    """
    entries = [] if labels is None else as_array(labels, "labels", objects=True).ravel().tolist()
    different = dict.fromkeys(one for one in entries if isinstance(one, Hashable))
    classes = {format_label(one): one for one in different if not _is_gap(one)}
    named = [str(name).strip() for name in names]
    if not any(name in classes for name in named):
        return None
    if sorted(named) != sorted(classes):
        listed = [join_first(some[:MOST_NAMED], len(some)) for some in (named, list(classes))]
        raise InputError(
            f"Columns of scores with the names of classes are matched by name, but the columns are "
            f"{listed[0]}, and the classes {listed[1]}: name every column like its class, or none."
        )
    return [classes[name] for name in named]


def keep_complete(
    given: Mapping[str, Any], read: Chosen, missing: str
) -> tuple[dict[str, Any], IntArray, int]:
    """Return the columns without incomplete rows, these rows, and the number of rows before.

    Raise `InputError` if rows must not be left out. ``read`` has the owners of the columns.
    """
    gaps = {name: find_gaps(column, name) for name, column in given.items()}
    if choice("treatment of missing values", missing, MISSING) != DROP:
        _refuse_gaps(gaps, read)
    # Columns of different lengths are refused later, where their use is known.
    counts = {len(rows) for rows in gaps.values()}
    if len(counts) > 1:
        return dict(given), np.zeros(0, np.intp), max(counts)
    lost = np.logical_or.reduce(list(gaps.values()))
    if lost.any():
        given = {name: _take(column, name, ~lost) for name, column in given.items()}
    return dict(given), np.flatnonzero(lost), len(lost)


def refuse_other_indexes(columns: Mapping[str, Any]) -> None:
    """Raise `InputError` if columns are pandas objects whose indexes differ.

    Rows are matched by position here, which is a mistake where pandas would align them.
    """
    every: dict[str, Any] = {}
    for name, column in columns.items():
        is_table = isinstance(column, Mapping)
        every |= {f"{name}[{k!r}]": v for k, v in column.items()} if is_table else {name: column}
    indexed = [
        (name, column.index)
        for name, column in every.items()
        if type(column).__module__.partition(".")[0] == "pandas" and hasattr(column, "iloc")
    ]
    for name, index in indexed[1:]:
        first, other = indexed[0]
        if len(index) == len(other) and not index.equals(other):
            raise InputError(
                f"{first} and {name} are pandas objects with different indexes, so that their rows "
                f"may not belong together: align them, or pass {name}.to_numpy() to match rows by "
                "position."
            )


def order_classes(positive: Any, labels: Any, classes: Any = None) -> list[Any]:
    """Return the two classes that labels hold, the positive one last, or raise `InputError`."""
    if classes is not None:
        raise InputError(
            "The last one of the classes is already positive: leave {argument} out.", "positive"
        )
    if labels is None:
        raise InputError(
            "A positive class is named, but there are no labels: give {argument}.", "labels"
        )
    positive = positive.item() if isinstance(positive, np.generic) else positive
    entries = as_array(labels, "labels", objects=True).ravel().tolist()
    found = list(
        dict.fromkeys(one for one in entries if isinstance(one, Hashable) and not _is_gap(one))
    )
    named = join_first([repr(one)[:42] for one in found[:MOST_NAMED]], len(found))
    if not isinstance(positive, Hashable) or positive not in found:
        raise InputError(
            f"The positive class is {positive!r}, but the labels are {named}: give one of them."
        )
    if len(found) == 1:
        raise InputError(
            f"A positive class is one of two, but all labels are {named}: add observations of "
            "another class."
        )
    if len(found) > 2:
        raise InputError(
            f"A positive class is one of two, but the labels are {named}: give {{argument}}, from "
            "the lowest to the highest.",
            "classes",
        )
    return [one for one in found if one != positive] + [positive]


def name_positive(
    measure: AnyKernel | NamedTest,
    data: FloatArray,
    name: str | None,
    *,
    has_labels: bool,
) -> str | None:
    """Return the name of the positive class in results; None if the choice does not matter.

    Parameters
    ----------
    measure
        The kernel or test.
    data
        The observations, whose last column may be the label.
    name
        The higher one of two labels, if it has a name.
    has_labels
        Whether labels were given separately.
    """
    last = (measure.columns or ("",))[-1]
    if column_count(data) == 1 or not (has_labels or last == "label"):
        return None
    found = name or name_higher(data[:, -1])
    if isinstance(measure, NamedTest):
        return found if measure.favors else None
    if found is None or measure.contrast is not None:
        return None
    parts = (partial(evaluate, part) for part in measure.for_rows(data).components)
    return found if any(depends_on_numbering(data, values) for values in parts) else None


def find_gaps(column: Any, name: str = "data") -> BoolArray:
    """Return for every row whether one of its entries is missing: NaN, None, NA or blank text."""
    if isinstance(column, Coded):
        entries, places = column.list_entries()
        return np.append(find_gaps(entries, name), True)[places][column.codes]
    try:
        array = np.atleast_1d(as_array(column, name, objects=True))
    except InputError:  # refused later, where the column's use is known
        return np.zeros(0, dtype=bool)
    if array.dtype.kind in "fcmM":
        gaps = array != array
    elif array.dtype.kind in "OU":
        gaps = np.array([_is_gap(item) for item in array.ravel()], bool).reshape(array.shape)
    else:
        gaps = np.zeros(array.shape, dtype=bool)
    return gaps.reshape(len(gaps), -1).any(axis=1) if gaps.size else np.zeros(len(array), bool)


def _is_gap(item: Any) -> bool:
    return not item.strip() if isinstance(item, str) else is_missing(item)


def rows_dropped(dropped: int, count: int, places: str) -> RowsDropped:
    """Build the warning for rows that were left out; raise `InputError` if no row is left."""
    if dropped == count:
        raise InputError(f"All {count:,} rows have missing values: fill in some.")
    return RowsDropped(
        f"Left out {dropped:,} of {count:,} rows, which have missing values: {places}."
    )


def _refuse_gaps(gaps: Mapping[str, BoolArray], read: Chosen) -> None:
    """Raise `InputError` for missing values, with the names of the data's columns."""
    named = {
        column: np.isnan(read.columns[name].reshape(len(gaps[name]), -1)[:, place])
        for name, columns in read.parts.items()
        for place, column in enumerate(columns)
        if gaps[name].any()
    }
    for name, rows in gaps.items():
        if name not in read.parts:
            named[read.owners.get(name, name)] = rows
    places = [
        f"{name[0].lower()}{name[1:]} ({read.describe(np.flatnonzero(rows), alone=False)})"
        for name, rows in named.items()
        if rows.any()
    ]
    if places:
        raise InputError(
            f"Values are missing in {join_names(places)}{read.counting}: fill them in, or leave "
            "these rows out with {argument}.",
            "missing",
            DROP,
        )


def _take(column: Any, name: str, kept: BoolArray) -> Any:
    """Return some rows of a column; an ordered categorical remains one."""
    rows = np.flatnonzero(kept)
    if hasattr(column, "iloc"):
        return column.iloc[rows]
    if (ordered := as_ordered(column)) is not None:
        return column.take(rows) if hasattr(column, "take") else ordered.take(rows)
    return as_array(column, name, objects=True)[kept]


def check_classes(classes: Any, what: str = "classes") -> list[Any]:
    """Return declared classes, two or more different labels, or raise `InputError`.

    ``what`` is their name in messages.
    """
    # A set has no order, and the order of its text differs between processes.
    if isinstance(classes, str) or not isinstance(classes, Sequence | np.ndarray):
        raise InputError(f"The {what} are a list of labels, such as (0, 1), not {classes!r}.")
    declared = [label.item() if isinstance(label, np.generic) else label for label in classes]
    if not all(isinstance(label, Hashable) for label in declared):
        raise InputError(f"The {what} are one list of labels, not a list of lists.")
    if len(set(declared)) < len(declared):
        raise InputError(f"The {what} name a label twice: give each label once.")
    if len(declared) < 2:
        count = f"one {_SINGLE[what]} is" if declared else f"no {what} are"
        raise InputError(f"Labels need at least two {what}, but {count} declared: give them all.")
    return declared


def code_labels(
    labels: Any,
    classes: Any,
    owner: str = "labels hold",
    describe: Callable[[Sequence[int]], str] | None = None,
    *,
    is_private: bool = False,
    what: str = "classes",
) -> FloatArray:
    """Return labels as 0, 1, ... in the order of the declared classes; NaN for missing ones.

    Raise `InputError` for labels that were not declared. ``owner`` begins the message, ``describe``
    names rows, and ``what`` names the classes. Private labels are not quoted.
    """
    order = {label: code for code, label in enumerate(check_classes(classes, what))}
    if labels is None:
        raise InputError(
            "Classes are declared, but there are no labels: give {argument}.", "labels"
        )
    array = as_array(labels, "labels", objects=True)
    found = array.ravel().tolist()
    odd = [row for row, label in enumerate(found) if not isinstance(label, Hashable)]
    if odd:
        raise InputError(
            f"{owner} a {type(found[odd[0]]).__name__} in {(describe or count_from_zero)(odd)}: "
            "give one number or text per row."
        )
    strangers: dict[Any, list[int]] = {}
    for row, label in enumerate(found):
        if label not in order and not _is_gap(label):
            strangers.setdefault("" if is_private else label, []).append(row)
    if strangers:
        where = describe or count_from_zero
        named = [
            f"{'others' if is_private else repr(label)[:42]} in {where(rows)}"
            for label, rows in list(strangers.items())[:MOST_NAMED]
        ]
        raise InputError(
            f"{owner} {join_first(named, len(strangers), what=' labels')}, but the declared "
            f"{what} are {join_names([repr(label) for label in order])}: correct the labels, or "
            f"declare all {what}."
        )
    codes = np.array([order.get(label, np.nan) for label in found], dtype=np.float64)
    return codes.reshape(array.shape)
