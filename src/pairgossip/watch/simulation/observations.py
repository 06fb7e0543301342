"""The data to watch: what ships with the package, what is made up openly, what is uploaded."""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import secrets
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pairgossip.algorithms.methods import METHODS
from pairgossip.arrays import FloatArray
from pairgossip.datasets import CATALOG, Dataset
from pairgossip.datasets import CATALOG as DATASETS
from pairgossip.errors import InputError, unknown_name
from pairgossip.graphs import FAMILIES
from pairgossip.kernels import describe
from pairgossip.losses import CATALOG as LOSSES
from pairgossip.tables import DELIMITERS, Table, read_columns, shown
from pairgossip.watch.simulation.settings import MOST_NODES, Settings

UPLOADED = "upload-"
MOST_UPLOADS = 8
LARGEST_UPLOAD = 8 << 20
"""Bytes: far more than the rows that can be drawn need."""
LARGEST_UPLOADS = 16 << 20
"""Of all files kept; a table in memory is many times its file."""
WIDEST_UPLOAD = 2_000
"""Columns to choose from."""
TWO_NORMALS = "two-normals"
TWO_NORMALS_ROWS = 1_000


class Observations(NamedTuple):
    """One observation per node."""

    values: FloatArray
    labels: Any
    columns: tuple[str, ...]


class Uploads:
    """Uploaded tables, in memory only, each under a name nobody can guess."""

    def __init__(self) -> None:
        self._tables: OrderedDict[str, tuple[Table, int]] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, content: bytes, name: str) -> tuple[str, Table]:
        """Read a CSV file and keep it; the oldest makes room."""
        called = _printable(name) or "the file"
        if _has_too_many_rows(content):
            raise InputError(
                f"{called} has more than {MOST_NODES:,} rows, and every row is a node: "
                "so many cannot be watched."
            )
        table = _parsed(content, called)
        if len(table.header) > WIDEST_UPLOAD:
            raise InputError(
                f"{called} has {len(table.header):,} columns: leave all but {WIDEST_UPLOAD:,} out."
            )
        key = UPLOADED + secrets.token_urlsafe(12)
        with self._lock:
            self._tables[key] = (table, len(content))
            while len(self._tables) > MOST_UPLOADS or self._size() > LARGEST_UPLOADS:
                self._tables.popitem(last=False)
        return key, table

    def find(self, key: str) -> Table:
        """Return a table that was uploaded to this server and not yet forgotten."""
        with self._lock:
            kept = self._tables.get(key)
        if kept is None:
            raise InputError("The uploaded file is no longer here: choose it again.")
        return kept[0]

    def _size(self) -> int:
        return sum(size for _, size in self._tables.values())


def two_normals(rows: int) -> Dataset:
    """Scores that are normal, one higher in class 1: made up, and always the same."""
    random = np.random.default_rng(0)
    label = random.integers(0, 2, rows).astype(np.float64)
    values = np.column_stack([random.normal(size=rows) + label, label])
    return Dataset(
        TWO_NORMALS,
        ("score", "class"),
        values,
        "Made-up scores, normal, one higher on average in class 1; as many as there are nodes.",
        "generated",
        "none needed",
    )


def observations(settings: Settings, uploads: Uploads) -> Observations:
    """Pick rows, columns and labels out of the chosen data."""
    if settings.label in settings.columns:
        raise InputError(f"Column '{settings.label}' is the label: use other columns beside it.")
    if settings.data.startswith(UPLOADED):
        found = _of_table(uploads.find(settings.data), settings.columns, settings.label)
    else:
        found = _of_dataset(_dataset(settings), settings.columns, settings.label)
    return _some(found, settings.nodes)


def _dataset(settings: Settings) -> Dataset:
    if settings.data == TWO_NORMALS:
        return two_normals(settings.nodes or TWO_NORMALS_ROWS)
    if settings.data not in CATALOG:
        raise unknown_name("data set", settings.data[:40], [*CATALOG, TWO_NORMALS])
    return CATALOG[settings.data]()


def _of_dataset(data: Dataset, columns: Sequence[str], label: str | None) -> Observations:
    names = _chosen(columns, data.columns, label)
    values = np.column_stack([data[name] for name in names])
    return Observations(values, None if label is None else data[label], tuple(names))


def _of_table(table: Table, columns: Sequence[str], label: str | None) -> Observations:
    names = _chosen(columns, [name for name in table.header if table.holds_numbers(name)], label)
    labels: Any = None
    table.refuse_gaps([*names, *([] if label is None else [label])])
    if label is not None:
        labels = table.text(label)
        if table.holds_numbers(label):
            labels = table.numbers(label)
    return Observations(table.with_columns(names).matrix(), labels, tuple(names))


def _chosen(columns: Sequence[str], known: Sequence[str], label: str | None) -> list[str]:
    """Take the columns named, or the first there is."""
    if columns:
        return list(dict.fromkeys(columns))
    first = next((name for name in known if name != label), None)
    if first is None:
        raise InputError("The data has no column of numbers besides the label: choose other data.")
    return [first]


def _some(found: Observations, nodes: int | None) -> Observations:
    """Take as many rows as there shall be nodes, evenly spaced: data sets are often sorted."""
    rows = len(found.values)
    if nodes is None or nodes == rows:
        return found
    if nodes > rows:
        raise InputError(f"The data has {rows:,} rows, one per node: choose at most as many nodes.")
    kept = np.linspace(0, rows - 1, nodes).astype(np.intp)
    labels = found.labels
    if labels is not None:
        labels = [labels[k] for k in kept] if isinstance(labels, list) else labels[kept]
    return Observations(found.values[kept], labels, found.columns)


def _has_too_many_rows(content: bytes) -> bool:
    """Count rows before they are all read: millions of short ones would fill the memory."""
    counts = []
    for delimiter in DELIMITERS:
        text = io.TextIOWrapper(io.BytesIO(content), "utf-8-sig", errors="replace")
        reader = csv.reader(text, delimiter=delimiter, skipinitialspace=True, strict=True)
        rows = (row for row in reader if row and row != [""])
        # One that does not fit tells nothing; if none does, reading the table says why.
        with contextlib.suppress(csv.Error):
            counts.append(sum(1 for _ in itertools.islice(rows, MOST_NODES + 2)))
    return bool(counts) and min(counts) > MOST_NODES + 1  # the header is one


def _parsed(content: bytes, called: str) -> Table:
    """Read a table as from a file, and let messages call it by its own name."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "upload.csv"
        file.write_bytes(content)
        try:
            table = read_columns(file, ())
        except InputError as problem:
            raise InputError(str(problem).replace(str(file), called)) from None
    return replace(table, path=Path(called))


def _printable(name: str) -> str:
    """Keep the last part of a path, short and without control characters."""
    last = name.replace("\\", "/").rpartition("/")[2]
    return "".join(character for character in last if character.isprintable())[:80].strip()


def _likely_label(table: Table) -> str | None:
    """Guess which column says the class of a row: the last of two values, if there is one."""
    for name in reversed(table.header):
        if name and table.count_values(name, 3) == 2:
            return name
    return None


def described(key: str, table: Table) -> dict[str, Any]:
    """Say what a page needs to know of an uploaded table."""
    columns = [{"name": name, "numbers": table.holds_numbers(name)} for name in table.header]
    return {
        "id": key,
        "name": str(table.path),
        "rows": len(table),
        "columns": columns,
        "label": _likely_label(table),
        "shown": [shown(name) for name in table.header],
    }


# What a viewer can choose from, for the page's form.


LABELS = ("class",)
"""The columns of the data sets that are labels."""


def choices() -> dict[str, Any]:
    """List data sets, kernels, losses, families and methods with what each takes."""
    return {
        "data": [
            *(_dataset_choice(build()) for build in DATASETS.values()),
            _dataset_choice(two_normals(TWO_NORMALS_ROWS)),
        ],
        "kernels": [
            {
                "name": kernel.name,
                "columns": None if kernel.columns is None else list(kernel.columns),
                "description": kernel.description,
                "expression": kernel.expression,
            }
            for kernel in describe()
        ],
        "losses": [
            {"name": name, "description": build().description} for name, build in LOSSES.items()
        ],
        "graphs": [
            {
                "name": name,
                "description": family.description,
                "parameters": [each for each in family.parameters if each != "seed"],
                "defaults": {
                    key: value
                    for key, value in family.defaults(100).items()
                    if key not in family.derived_from_n
                },
            }
            for name, family in FAMILIES.items()
        ],
        "methods": [
            {
                "name": method.name,
                "description": method.description,
                "clocks": list(method.clocks),
                "pairs": method.estimates != "mean",
            }
            for method in METHODS.values()
        ],
        "most_nodes": MOST_NODES,
        "largest_upload": LARGEST_UPLOAD,
    }


def _dataset_choice(data: Dataset) -> dict[str, Any]:
    return {
        "name": data.name,
        "rows": len(data),
        "columns": list(data.columns),
        "label": next((name for name in LABELS if name in data.columns), None),
        "description": data.description,
    }
