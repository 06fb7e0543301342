"""Tables of Arrow's, and files that only its library reads: the one importer of pyarrow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pairgossip.errors import InputError, needed_for
from pairgossip.files import unreadable
from pairgossip.rows.columns import Ordered

_EXTRA = "pairgossip[tables]"
Columns = tuple[Sequence[str], Callable[[Sequence[int]], Sequence[Any]]]
"""The names of columns, and a function that returns those at given places."""


def read_stream(data: Any) -> Columns:
    """Read anything that gives a stream of Arrow's, such as a relation of DuckDB's."""
    with needed_for("A table of this kind", _EXTRA):
        import pyarrow as pa
    if hasattr(data, "__arrow_c_stream__"):
        table = pa.RecordBatchReader.from_stream(data).read_all()
    else:
        table = pa.Table.from_batches([pa.record_batch(data)])
    return table.column_names, lambda places: [_as_column(table.column(k)) for k in places]


def read_path(path: Path) -> Columns:
    """Read a file of Parquet or Arrow, or a folder of Parquet files in the order of their names."""
    files = [path]
    if path.is_dir():
        files = sorted(file for file in path.rglob("*.parquet") if file.name[0] not in "._")
        if not files:
            raise InputError(f"{path} is a folder without Parquet files: give a file.")
    with needed_for(f"Reading {path}", _EXTRA):
        import pyarrow as pa
        from pyarrow import ipc, parquet

    def read(file: Path, names: Sequence[str] | None) -> Any:
        try:
            if file.suffix.lower() == ".parquet":
                return parquet.ParquetFile(file, pre_buffer=False).read(columns=names)
            with pa.OSFile(str(file)) as stream:
                return ipc.open_file(stream).read_all()
        except pa.ArrowException:
            raise InputError(f"{file} is not a file of this kind: check how it was made.") from None
        except OSError as problem:
            raise unreadable(file, problem) from None

    def load(places: Sequence[int]) -> list[Any]:
        wanted = [names[k] for k in places]
        tables = [read(file, wanted).select(wanted) for file in files]
        table = pa.concat_tables(tables)
        return [_as_column(table.column(name)) for name in wanted]

    names = read(files[0], None).column_names
    return names, load


def read_content(content: bytes, file: Path, largest: int) -> tuple[*Columns, int]:
    """Read Parquet that somebody sent, of at most so many bytes unpacked, and count its rows."""
    with needed_for(f"Reading {file}", _EXTRA):
        import pyarrow as pa
        from pyarrow import parquet
    try:
        table = parquet.ParquetFile(pa.BufferReader(content))
        size = sum(table.metadata.row_group(k).total_byte_size for k in range(table.num_row_groups))
    except pa.ArrowException:
        raise InputError(f"{file} is not a file of this kind: check how it was made.") from None
    if size > largest:
        raise InputError(
            f"{file} takes more than {largest / 2**20:.3g} MiB unpacked: leave columns out."
        )
    names = table.schema_arrow.names

    def load(places: Sequence[int]) -> list[Any]:
        read = table.read(columns=[names[k] for k in places])
        return [_as_column(read.column(names[k])) for k in places]

    return names, load, table.metadata.num_rows


def _as_column(column: Any) -> Any:
    """Return a column of Arrow's as an array, or as classes with an order."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        if kind.ordered:
            whole = column.unify_dictionaries().combine_chunks()
            codes = whole.indices.fill_null(-1).to_numpy(zero_copy_only=False)
            return Ordered(codes.astype(np.int64), whole.dictionary.to_pylist())
        column = column.cast(kind.value_type)
    if pa.types.is_decimal(column.type) or (
        column.null_count and pa.types.is_integer(column.type)
    ):  # as numbers of NumPy's they would be rounded
        return np.array(column.to_pylist(), dtype=object)
    return column.to_numpy()
