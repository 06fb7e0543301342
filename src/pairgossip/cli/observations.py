"""The options that say which columns of a file to use, and the observations in them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pairgossip.errors import InputError

if TYPE_CHECKING:
    from pairgossip.arrays import FloatArray
    from pairgossip.tables import Table


class Observations(NamedTuple):
    """One observation per row of a file."""

    columns: tuple[str, ...]
    values: FloatArray
    labels: Any
    """Numbers or text, one per row; None unless asked for."""


def read_observations(
    file: Path, columns: Sequence[str] | None, label: str | None = None
) -> Observations:
    """Read columns of numbers, and a column of labels if one is named.

    Without named columns the file must have exactly one column of numbers besides the labels.
    """
    from pairgossip.tables import read_columns

    header = read_columns(file, ())
    names = _named(columns, header) if columns else [_only_column(header, label)]
    table = read_columns(file, names)
    labels = None if label is None else _labels(header, label)
    return Observations(tuple(names), table.matrix(), labels)


def _named(columns: Sequence[str], table: Table) -> list[str]:
    """Split "a,b" into two names unless the file has a column of just that name."""
    names: list[str] = []
    for column in columns:
        parts = [column] if column in table.header else column.split(",")
        names += [part.strip() for part in parts if part.strip()]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise InputError(f"Column '{repeated}' is named twice: name it once.")
    return names


def _only_column(table: Table, label: str | None) -> str:
    numeric = [name for name in table.header if name != label and table.holds_numbers(name)]
    if len(numeric) == 1:
        return numeric[0]
    if not numeric:
        raise InputError(
            f"{table.path} has no column of numbers; its columns are {', '.join(table.header)}."
        )
    raise InputError(
        f"{table.path} has {len(numeric)} columns of numbers: choose with --column, "
        f"one or several of {', '.join(numeric)}."
    )


def _labels(table: Table, label: str) -> Any:
    texts = table.text(label)  # complains about an unknown column and about gaps
    # Sorted as text, 10 would come before 2.
    return table.numbers(label) if table.holds_numbers(label) else texts
