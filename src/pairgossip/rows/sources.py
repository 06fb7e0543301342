"""The sources of named columns: frames, dicts, records, lazy frames, streams and files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pairgossip.errors import InputError
from pairgossip.rows.batches import LARGEST_BATCH, Piece
from pairgossip.rows.file_sources import ArrowSource, CsvSource
from pairgossip.rows.frames import Frame, Source
from pairgossip.rows.table import Table
from pairgossip.rows.table_file import open_table

if TYPE_CHECKING:
    from pairgossip.rows.arrow import ArrowTable


def open_source(data: Any, name: str) -> Source | None:
    """Return the columns of data that have names; None for lists and arrays without names."""
    if isinstance(data, str | os.PathLike):
        return _open_path(Path(data))
    title = f"the {name}" if name == "data" else name
    if isinstance(data, Mapping):
        return _hold(title, list(data), lambda k: list(data.values())[k])
    if isinstance(data, np.ndarray):
        fields = data.dtype.names
        if fields is None:
            return None
        return _hold(title, fields, lambda k: data[fields[k]])
    return _open_frame(data, title)


def _open_frame(data: Any, title: str) -> Source | None:
    library = type(data).__module__.partition(".")[0]
    if library in ("dask", "dask_expr") and hasattr(data, "compute"):
        raise InputError(
            f"{title} is a Dask table, on its workers: give the result of its compute(), or "
            "count its rows there with pg.summarize."
        )
    if library == "pandas":
        if getattr(data, "ndim", 1) != 2:
            return None
        return _hold(title, list(data.columns), lambda k: data.iloc[:, k])
    if library == "polars":
        return _open_polars(data, title)
    if isinstance(names := getattr(data, "columns", None), tuple):  # a Dataset
        return _hold(title, names, lambda k: data[names[k]])
    has_columns = hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")
    if has_columns and not hasattr(data, "to_numpy"):
        from pairgossip.rows.arrow import open_stream

        return _read(title, open_stream(data))
    return None


def _open_polars(data: Any, title: str) -> Source | None:
    if hasattr(data, "collect_schema") and hasattr(data, "collect"):
        names = data.collect_schema().names()
        return Frame(title, names, lambda at: [Piece(0, partial(_collect, data, names, at))])
    if not hasattr(data, "get_columns"):
        return None
    return _hold(title, data.columns, data.to_series)


def _open_path(path: Path) -> Source:
    table = Table(open_table(path))
    return ArrowSource(table) if table.delimiter is None else CsvSource(table)


def _hold(title: str, names: Sequence[Any], column: Callable[[int], Any]) -> Frame:
    """Return columns that are already in memory, as one batch."""
    return Frame(title, names, lambda places: [Piece(0, lambda: [[*map(column, places)]])])


def _read(title: str, table: ArrowTable) -> Frame:
    return Frame(title, table.names, table.read, table.rows, is_once=table.is_once)


def _collect(data: Any, names: Sequence[str], places: Sequence[int]) -> Iterator[Sequence[Any]]:
    """Yield the batches of a lazy polars frame."""
    chosen = data.select([names[k] for k in places])
    is_empty = True
    if hasattr(chosen, "collect_batches"):
        for batch in chosen.collect_batches(chunk_size=LARGEST_BATCH):
            is_empty = False
            yield batch.get_columns()
    if is_empty:
        yield chosen.collect().get_columns()
