"""What a mechanism asks of data and of reports, each refusal in one sentence."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.kernels.data import column_count, spell_rows
from pairgossip.privacy.columns import Cells, Classes

if TYPE_CHECKING:
    from pairgossip.privacy.mechanism import RandomizedResponse


def label_numbers(mechanism: RandomizedResponse, labels: Any) -> Any:
    """Return labels as numbers; text is looked up among the declared classes."""
    if not isinstance(mechanism.columns[-1], Classes):
        raise InputError(
            "Labels are given, but the privacy mechanism declares no classes: say which labels "
            "are possible, as in classes=(0, 1)."
        )
    array = np.asarray(labels.to_numpy() if hasattr(labels, "to_numpy") else labels)
    numeric = array.dtype.kind in "fiub" or all(
        isinstance(label, Real) for label in array.ravel().tolist()
    )
    if mechanism.names is None:
        if not numeric:
            raise InputError(
                "Labels are text, but the declared classes are numbers: declare the text, as in "
                "classes=('no', 'yes')."
            )
        return labels
    codes = {name: code for code, name in enumerate(mechanism.names)}
    found = [codes.get(label, -1) for label in array.ravel().tolist()]
    unknown = np.flatnonzero(np.array(found) < 0)
    if len(unknown):
        raise InputError(
            f"{_counted(len(unknown), 'label')} ({spell_rows(unknown)}, counting from 0) "
            f"{'is' if len(unknown) == 1 else 'are'} not among the declared classes "
            f"({', '.join(mechanism.names)}): correct them, or declare all classes."
        )
    return np.array(found, dtype=np.float64)


def check_declared(mechanism: RandomizedResponse, table: FloatArray) -> None:
    """Raise `InputError` unless the data have the declared columns and values."""
    given, declared = column_count(table), len(mechanism.columns)
    if given != declared:
        labeled = isinstance(mechanism.columns[-1], Classes)
        advice = "give bins or a range for each column, as in range=((0, 1), (0, 5))"
        if labeled and given == declared - 1:
            advice = "give the labels as the last column or as labels"
        raise InputError(
            f"The data have {_counted(given, 'column')}, but the privacy mechanism declares "
            f"{declared}{', the label included' * labeled}: {advice}."
        )
    rows = table.reshape(len(table), -1)
    complaints = []
    for at, column in enumerate(mechanism.columns):
        outside = np.flatnonzero(~column.contains(rows[:, at]))
        if len(outside):
            complaints.append(
                f"{_counted(len(outside), 'value')} of column {at} outside {column.domain} "
                f"({spell_rows(outside)})"
            )
    if complaints:
        raise InputError(
            f"The data have {' and '.join(complaints)}, counting from 0: correct them or declare "
            f"more, as nothing is clipped."
        )


def check_reports(mechanism: RandomizedResponse, reports: Any) -> Cells:
    """Return reports as whole numbers, shape (m, columns), or raise `InputError`."""
    array = np.asarray(reports)
    columns = len(mechanism.columns)
    if array.ndim == 1 and columns == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[1] != columns or array.dtype.kind not in "iuf":
        raise InputError(
            f"A report is a row of {_counted(columns, 'whole number')}, but got an array of shape "
            f"{array.shape}."
        )
    whole = array.astype(np.int64, copy=False) if array.dtype.kind != "f" else _whole(array)
    if ((whole < 0) | (whole >= np.array(mechanism.bins))).any():
        limits = ", ".join(f"0 to {high}" for _, high in mechanism.report_limits)
        raise InputError(f"A report is outside of its limits ({limits} by columns).")
    return whole


def _whole(array: FloatArray) -> Cells:
    if not (array == np.floor(array)).all():  # false for NaN, and infinity is caught by limits
        raise InputError("A report holds a number that is not whole.")
    return np.clip(array, -1, 2**62).astype(np.int64)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
