"""The data to watch: data sets of the package, made-up data and uploads; and all choices."""

from __future__ import annotations

import math
import secrets
import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pairgossip.algorithms.methods import METHODS
from pairgossip.arguments.minimize import DUAL_AVERAGING
from pairgossip.arguments.minimize import SCHEDULES as LEARNING_SCHEDULES
from pairgossip.arrays import FloatArray, IntArray
from pairgossip.checks import CLOCKS, RANDOM
from pairgossip.datasets import CATALOG, Dataset
from pairgossip.errors import InputError, unknown_name
from pairgossip.graphs import FAMILIES
from pairgossip.kernels import as_kernel, describe
from pairgossip.losses import CATALOG as LOSSES
from pairgossip.losses.learning import can_sketch
from pairgossip.rows.table_file import TableFile, open_table
from pairgossip.sketches import default_sketch
from pairgossip.tables import Table, column_name, open_content
from pairgossip.watch.simulation.settings import MOST_NODES, Settings, page_arguments

_UPLOADED = "upload-"
_MOST_UPLOADS = 8
LARGEST_UPLOAD = 8 << 20
"""Largest size of a file in bytes, unpacked too: far more than the rows that can be drawn."""
_LARGEST_UPLOADS = 16 << 20
"""Largest size of all files kept, in bytes; a table in memory is many times its file."""
_WIDEST_UPLOAD = 2_000
"""Largest number of columns of an upload."""
_LABELS = ("class",)
"""The columns of the data sets that are labels."""
_SITES = {"wine": "class"}
"""The columns of data sets that may give the sites of rows: wines of a cultivar lie together."""
_SITE = "site"
"""The name of a column that gives the sites of rows."""
_LEAST_ROWS_PER_SITE = 2
"""Least mean number of rows per site; a column with fewer is not offered as one of sites."""
_LEARNING = (
    {
        "name": DUAL_AVERAGING,
        "description": "swap rows and average gradients of the pairs that nodes hold",
        "clocks": CLOCKS,
        "schedules": (RANDOM,),
        "whole_sites": False,
    },
    {
        "name": "sketch",
        "description": "average sums that give the gradient over all pairs; ends at the best model",
        "clocks": CLOCKS[:1],
        "schedules": LEARNING_SCHEDULES,
        "whole_sites": True,
    },
)
"""The methods that minimize a loss, with descriptions like those of estimation."""
TWO_NORMALS = "two-normals"
_TWO_NORMALS_ROWS = 1_000


class Observations(NamedTuple):
    """One observation per node, or several at a site."""

    values: FloatArray
    labels: Any
    groups: Any
    """The site of every row; None where every row is a node."""
    columns: tuple[str, ...]
    of: int
    """The number of rows of the whole data, of which these may be a part."""
    file: str = ""
    """The name of the uploaded file, if it is one."""
    delimiter: str | None = ","
    """The separator of the file's fields; None for a Parquet file."""


class Uploads:
    """Tables of viewers, in memory only.

    Files that were named when the page was started are known by their paths. Those that a viewer
    has uploaded have names that nobody can guess.
    """

    def __init__(self, files: Sequence[Path] = ()) -> None:
        self._given = {str(file): _read_table(open_table(file)) for file in files}
        self._tables: OrderedDict[str, tuple[Table, int]] = OrderedDict()
        self._lock = threading.Lock()

    def __contains__(self, key: str) -> bool:
        return key in self._given or key.startswith(_UPLOADED)

    def describe_given(self) -> list[dict[str, Any]]:
        """Return the page's facts about the files that were named at the start."""
        return [describe_upload(key, table) for key, table in self._given.items()]

    def add(self, content: bytes, name: str) -> tuple[str, Table]:
        """Read a file of CSV or Parquet and keep it; the oldest makes room."""
        name = _shorten(name) or "the file"
        table = _read_table(open_content(content, Path(name), LARGEST_UPLOAD))
        key = _UPLOADED + secrets.token_urlsafe(12)
        with self._lock:
            self._tables[key] = (table, len(content))
            while len(self._tables) > _MOST_UPLOADS or self._size() > _LARGEST_UPLOADS:
                self._tables.popitem(last=False)
        return key, table

    def find(self, key: str) -> Table:
        """Return a table that this server was given and has not dropped."""
        if key in self._given:
            return self._given[key]
        with self._lock:
            kept = self._tables.get(key)
        if kept is None:
            text = "The uploaded file is no longer here: choose it again."
            raise InputError(text, subject="upload")
        return kept[0]

    def _size(self) -> int:
        return sum(size for _, size in self._tables.values())


def _read_table(file: TableFile) -> Table:
    """Read a file whose rows can be drawn as nodes; refuse others before they are read."""
    if len(file.header) > _WIDEST_UPLOAD:
        raise InputError(
            f"{file.file} has {len(file.header):,} columns: leave all but {_WIDEST_UPLOAD:,} out."
        )
    if file.has_more(MOST_NODES):
        raise InputError(
            f"{file.file} has more than {MOST_NODES:,} rows, and every row is a node: "
            "give a file with fewer rows."
        )
    return Table(file.read())


def _two_normals(rows: int) -> Dataset:
    """Make up scores that are normal, one higher in class 1; they are always the same.

    The last of the sites holds about seven times as many rows as the first.
    """
    random = np.random.default_rng(0)
    label = random.integers(0, 2, rows).astype(np.float64)
    score = random.normal(size=rows) + label
    shares = np.linspace(1, 7, 24)
    site = random.choice(24, rows, p=shares / shares.sum())
    return Dataset(
        TWO_NORMALS,
        ("score", "class", _SITE),
        np.column_stack([score, label, site]),
        "Made-up scores, normal, one higher on average in class 1, at 24 sites of unequal size; as "
        "many as you choose.",
        "generated",
        "none needed",
    )


def select_rows(settings: Settings, uploads: Uploads) -> Observations:
    """Return the chosen rows, columns, labels and sites of the chosen data."""
    if settings.label in settings.columns:
        raise InputError(f"Column '{settings.label}' is the label: use other columns beside it.")
    if settings.group_by in settings.columns:
        raise InputError(
            f"Column '{settings.group_by}' says where rows are: use other columns beside it."
        )
    if settings.data in uploads:
        rows = _from_table(uploads.find(settings.data), settings)
    else:
        rows = _from_dataset(_dataset(settings), settings)
    return _thin_out(rows, settings.nodes)


def _dataset(settings: Settings) -> Dataset:
    if settings.data == TWO_NORMALS:
        return _two_normals(settings.nodes or _TWO_NORMALS_ROWS)
    if settings.data not in CATALOG:
        raise unknown_name("data set", settings.data[:40], [*CATALOG, TWO_NORMALS])
    return CATALOG[settings.data]()


def _from_dataset(data: Dataset, settings: Settings) -> Observations:
    names = _choose_columns(settings, data.columns)
    values = np.column_stack([data[name] for name in names])
    labels, groups = (
        None if name is None else data[name] for name in (settings.label, settings.group_by)
    )
    return Observations(values, labels, groups, tuple(names), len(data))


def _from_table(table: Table, settings: Settings) -> Observations:
    names = _choose_columns(settings, [name for name in table.header if table.holds_numbers(name)])
    others = settings.label, settings.group_by
    table.refuse_gaps([*names, *(name for name in others if name is not None)])
    labels, groups = (None if name is None else table.labels(name) for name in others)
    values = table.with_columns(names).matrix()
    file = str(table.path), table.delimiter
    return Observations(values, labels, groups, tuple(names), len(table), *file)


def _choose_columns(settings: Settings, known: Sequence[str]) -> list[str]:
    """Return the named columns, or the first one."""
    if settings.columns:
        return list(dict.fromkeys(settings.columns))
    taken = (settings.label, settings.group_by)
    first = next((name for name in known if name not in taken), None)
    if first is None:
        beside = " and the sites" if settings.group_by else ""
        raise InputError(
            f"The data has no column of numbers besides the label{beside}: choose other data."
        )
    return [first]


def _thin_out(rows: Observations, nodes: int | None) -> Observations:
    """Return this number of rows, evenly spaced: data sets are often sorted."""
    count = len(rows.values)
    if nodes is None or nodes == count:
        return rows
    if nodes > count:
        raise InputError(
            f"The data has {count:,} rows, one per node: choose at most as many nodes."
        )
    kept = np.linspace(0, count - 1, nodes).astype(np.intp)
    labels, groups = (_take(column, kept) for column in (rows.labels, rows.groups))
    return rows._replace(values=rows.values[kept], labels=labels, groups=groups)


def _take(column: Any, rows: IntArray) -> Any:
    """Return these entries of a list, an array, or None."""
    if column is None:
        return None
    return [column[k] for k in rows] if isinstance(column, list) else column[rows]


def _shorten(name: str) -> str:
    """Return the last part of a path, short and without control characters."""
    last = name.replace("\\", "/").rpartition("/")[2]
    return "".join(character for character in last if character.isprintable())[:80].strip()


def describe_upload(key: str, table: Table) -> dict[str, Any]:
    """Return the page's facts about an uploaded table."""
    # The class of a row is probably in the last column of two values.
    two_valued = (name for name in reversed(table.header) if table.count_values(name, 3) == 2)
    columns = [{"name": name, "numbers": table.holds_numbers(name)} for name in table.header]
    most = len(table) // _LEAST_ROWS_PER_SITE
    counts = {name: table.count_values(name, most + 1) for name in table.header if name}
    return {
        "id": key,
        "name": str(table.path),
        "rows": len(table),
        "columns": columns,
        "label": next(filter(None, two_valued), None),
        "sites": _site_columns(counts, most),
        "site": _SITE if _SITE in counts else None,
        "shown": [column_name(name) for name in table.header],
    }


def list_choices() -> dict[str, Any]:
    """Return data sets, kernels, losses, families and methods, with the arguments of each."""
    return {
        "data": [
            *(_dataset_choice(build()) for build in CATALOG.values()),
            _dataset_choice(_two_normals(_TWO_NORMALS_ROWS)),
        ],
        "kernels": [
            kernel._asdict() | {"sketches": _has_sketch(kernel.name)} for kernel in describe()
        ],
        "losses": [
            {
                "name": name,
                "description": build().description,
                "sketches": can_sketch(build()),
            }
            for name, build in LOSSES.items()
        ],
        "learning": list(_LEARNING),
        "graphs": [
            {
                "name": name,
                "description": family.description,
                "parameters": [each.name for each in family.parameters],
                "fractions": [each.name for each in family.parameters if each.kind is float],
                "defaults": {
                    each.name: each.default
                    for each in family.parameters
                    if each.default is not None
                },
                "takes_n": family.takes_n,
                "suits_few": family.suits_few,
            }
            for name, family in FAMILIES.items()
        ],
        "methods": [
            {
                "name": method.name,
                "description": method.description,
                "clocks": list(method.clocks),
                "schedules": list(method.known_schedules),
                "pairs": method.estimates != "mean",
                "whole_sites": method.takes_whole_sites,
            }
            for method in METHODS.values()
        ],
        "arguments": {
            "kernel": _describe_arguments(is_loss=False),
            "loss": _describe_arguments(is_loss=True),
        },
        "most_nodes": MOST_NODES,
        "largest_upload": LARGEST_UPLOAD,
    }


def _describe_arguments(*, is_loss: bool) -> list[dict[str, Any]]:
    """Return the fields of the form for the declared arguments."""
    return [
        {
            "name": one.name,
            "label": one.label,
            "choices": _name_choices(one.choices),
            "default": one.default,
            "placeholder": one.placeholder,
            "step": {int: 1, float: "any"}.get(one.kind),
            "least": one.least if math.isfinite(one.least) else None,
            "method": one.belongs_to or None,
        }
        for one in page_arguments(is_loss=is_loss).values()
    ]


def _name_choices(choices: Collection[str]) -> list[list[str]] | None:
    """Return each choice with its name on the page; None where any text is allowed."""
    names = choices if isinstance(choices, Mapping) else {name: name for name in choices}
    return [list(pair) for pair in names.items()] or None


def _has_sketch(kernel: str) -> bool:
    """Return whether sums over the rows can give a statistic."""
    try:
        default_sketch(as_kernel(kernel))
    except InputError:
        return False
    return True


def _site_columns(counts: Mapping[str, int], most: int) -> dict[str, int]:
    """Return the columns that may give the sites of rows, with their numbers of sites."""
    return {name: count for name, count in counts.items() if 2 <= count <= most}


def _dataset_choice(data: Dataset) -> dict[str, Any]:
    counts = {name: len(np.unique(data[name])) for name in data.columns}
    site = _SITES.get(data.name, _SITE)
    return {
        "name": data.name,
        "rows": len(data),
        "columns": list(data.columns),
        "label": next((name for name in _LABELS if name in data.columns), None),
        "sites": _site_columns(counts, len(data) // _LEAST_ROWS_PER_SITE),
        "site": site if site in data.columns else None,
        "made_up": data.name == TWO_NORMALS,
        "description": data.description,
    }
