"""A peer's rows: read from its file, checked against the specification, and kept as they are."""

from __future__ import annotations

import csv
import hashlib
import io
import struct
from os import PathLike
from pathlib import Path

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.kernels.data import spell_rows
from pairgossip.peer.spec import Spec
from pairgossip.tables import Table, read_columns

Rows = tuple[tuple[float, ...], ...]


def read_rows(path: str | PathLike[str], spec: Spec, delimiter: str | None = None) -> Rows:
    """Read the specification's columns; whatever may not circulate is refused, never mended."""
    table = read_columns(Path(path), spec.observed, delimiter)
    for name in spec.observed:
        _check_range(table, name, spec.ranges[name])
    matrix = table.matrix() + 0.0  # minus zero would be signed as another number
    _check_meaning(matrix, spec)
    return tuple(tuple(map(float, row)) for row in matrix)


def rows_text(rows: Rows, spec: Spec) -> str:
    """Write rows as CSV that reads back bit for bit."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(spec.observed)
    writer.writerows([repr(entry) for entry in row] for row in rows)
    return text.getvalue()


def digest(rows: Rows) -> str:
    """Return a fingerprint of rows, by which a change of the file is noticed."""
    packed = b"".join(struct.pack(f"<{len(row)}d", *row) for row in rows)
    return hashlib.sha256(struct.pack("<q", len(rows)) + packed).hexdigest()


def _check_range(table: Table, name: str, limits: tuple[float, float]) -> None:
    low, high = limits
    values = table[name]
    outside = np.flatnonzero(~((low <= values) & (values <= high)))
    if len(outside):
        lines = [table.lines[row] for row in outside]
        count = f"{len(outside)} value{'s' * (len(outside) != 1)}"
        raise InputError(
            f"Column '{name}' of {table.path} has {count} outside the agreed range "
            f"[{low:g}, {high:g}], in {_spell_lines(lines)}: correct the file, or agree on "
            f"another range."
        )


def _spell_lines(lines: list[int]) -> str:
    return spell_rows(lines).replace("row", "line")


def _check_meaning(matrix: FloatArray, spec: Spec) -> None:
    """Check what kernel or loss asks of data, as far as one member's rows can tell."""
    # Rows of one class are no mistake here: others may have the other class.
    if spec.label is not None and len(np.unique(matrix[:, -1])) == 1:
        return
    spec.measure.check(matrix[:, 0] if matrix.shape[1] == 1 else matrix)
