"""Arrow tables, and the files that only pyarrow reads; no other module imports pyarrow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, reduce
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pairgossip.errors import InputError, needed_for
from pairgossip.files import unreadable
from pairgossip.rows.batches import Piece
from pairgossip.rows.columns import Coded, Ordered, join_columns, join_orders
from pairgossip.rows.places import column_name
from pairgossip.rows.unchanged import Unchanged

_EXTRA = "pairgossip[tables]"
_BATCH = 1 << 17
"""Rows read at once; smaller batches are joined until they have as many."""
_PIECE = 1 << 20
"""Smallest number of rows in a piece of a file."""
_BUFFER = 1 << 20
"""Bytes of a column read at once."""


Columns = tuple[Sequence[str], Callable[[Sequence[int]], Sequence[Any]]]
"""The names of the columns, and a function that returns the columns at given indices."""


class ArrowTable(NamedTuple):
    """Columns read by Arrow's library."""

    names: Sequence[str]
    read: Callable[[Sequence[int]], Sequence[Piece]]
    """Return the pieces of the columns at given indices."""
    rows: int | None = None
    """The number of rows; None if it is not known."""
    is_once: bool = False
    """Whether it can be read only once."""

    def load(self, places: Sequence[int]) -> list[Any]:
        """Return whole columns."""
        batches = [columns for piece in self.read(places) for columns in piece.read()]
        names = (f"Column '{self.names[place]}'" for place in places)
        parts = zip(names, zip(*batches, strict=True), strict=False)
        return [join_columns(some, name) for name, some in parts]


def open_stream(data: Any) -> ArrowTable:
    """Open any object with an Arrow stream, such as a DuckDB relation."""
    with needed_for("A table of this kind", _EXTRA):
        import pyarrow as pa
    if not hasattr(data, "__arrow_c_stream__"):
        data = pa.Table.from_batches([pa.record_batch(data)])
    first: list[Any] = [pa.RecordBatchReader.from_stream(data)]

    def read(places: Sequence[int]) -> Iterator[Sequence[Any]]:
        stream = first.pop() if first else pa.RecordBatchReader.from_stream(data)
        return _convert(stream, stream.schema, places)

    rows = data.num_rows if isinstance(data, pa.Table) else None
    names = first[0].schema.names
    is_once = isinstance(data, pa.RecordBatchReader)
    return ArrowTable(names, lambda at: [Piece(0, partial(read, at))], rows, is_once)


def open_path(path: Path) -> ArrowTable:
    """Open a Parquet or Arrow file, or a folder of Parquet files in the order of their names."""
    files = [path]
    if path.is_dir():
        files = list_parts(path)
        if not files:
            raise InputError(f"{path} is a folder without Parquet files: give a file.")
    with needed_for(f"Reading {path}", _EXTRA):
        import pyarrow  # noqa: F401
    if path.is_dir() or path.suffix.lower() == ".parquet":
        return _open_parquet([*map(Unchanged, files)])
    return _open_arrow(Unchanged(path))


def list_parts(folder: Path) -> list[Path]:
    """Return the Parquet files of a table that is a folder, in the order of their names."""
    return sorted(filter(partial(_is_part, folder), folder.rglob("*")))


def _is_part(folder: Path, file: Path) -> bool:
    """Return whether a file belongs to a table; names such as _temporary mark drafts."""
    is_draft = any(part[0] in "._" for part in file.relative_to(folder).parts)
    return file.suffix.lower() == ".parquet" and file.is_file() and not is_draft


def _open_arrow(file: Unchanged) -> ArrowTable:
    from pyarrow import OSFile, ipc

    with _reading(file) as path, OSFile(str(path)) as stream:
        names = ipc.open_file(stream).schema.names
    return ArrowTable(names, lambda at: [Piece(0, partial(_read_arrow, file, at))])


def _open_parquet(files: Sequence[Unchanged]) -> ArrowTable:
    """Open Parquet files with the same columns, one after the other."""
    from pyarrow import parquet

    schemas, starts, rows = [], [], 0
    for file in files:
        with _reading(file) as path:
            whole = parquet.ParquetFile(path, pre_buffer=False)
        schemas.append(whole.schema_arrow)
        starts.append(rows)
        rows += whole.metadata.num_rows
        _check_same_names(files[0].file, schemas[0].names, file.file, schemas[-1].names)

    def read(places: Sequence[int]) -> list[Piece]:
        for file, schema in zip(files, schemas, strict=True):
            _check_same_kinds(files[0].file, schemas[0], file.file, schema, places)
        each = zip(files, starts, strict=True)
        return [piece for file, start in each for piece in _cut_parquet(file, start, places)]

    return ArrowTable(schemas[0].names, read, rows)


def _check_same_names(one: Path, names: Sequence[str], other: Path, others: Sequence[str]) -> None:
    if names != others:
        raise InputError(
            f"Files of a folder have the same columns, but {one} has {', '.join(names)}, and "
            f"{other} has {', '.join(others)}: give one of them."
        )


def _check_same_kinds(
    one: Path, schema: Any, other: Path, others: Any, places: Sequence[int]
) -> None:
    """Raise `InputError` unless columns hold the same kind of entries in both files."""
    for place in places:
        kinds = _find_kind(schema.field(place).type), _find_kind(others.field(place).type)
        if len({*kinds} - {"nothing"}) > 1:
            raise InputError(
                f"Column '{column_name(schema.names[place])}' holds {kinds[0]} in {one}, and "
                f"{kinds[1]} in {other}: write both alike, or give one of the files."
            )


def _find_kind(kind: Any) -> str:
    """Return the kind of an Arrow type: all types of numbers are one kind, and so is all text."""
    from pyarrow import types

    if types.is_dictionary(kind):
        return _find_kind(kind.value_type)
    if types.is_null(kind):
        return "nothing"
    if types.is_boolean(kind) or types.is_decimal(kind) or _is_plain_number(kind):
        return "numbers"
    return "text" if _is_text(kind) else str(kind)


def _is_plain_number(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind))


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _cut_parquet(file: Unchanged, first: int, places: Sequence[int]) -> list[Piece]:
    """Return the pieces of a Parquet file: groups of rows that can be read separately."""
    from pyarrow import parquet

    with _reading(file) as path:
        facts = parquet.ParquetFile(path, pre_buffer=False).metadata
    pieces, groups, rows = [], [], 0
    for group in range(facts.num_row_groups):
        groups.append(group)
        rows += facts.row_group(group).num_rows
        if rows >= _PIECE or group == facts.num_row_groups - 1:
            pieces.append(Piece(first, partial(_read_parquet, file, groups, places)))
            first, groups, rows = first + rows, [], 0
    return pieces or [Piece(first, partial(_read_parquet, file, [], places))]


def _read_parquet(
    file: Unchanged, groups: Sequence[int], places: Sequence[int]
) -> Iterator[Sequence[Any]]:
    from pyarrow import parquet

    with _reading(file) as path:
        whole = parquet.ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER)
        names = [whole.schema_arrow.names[k] for k in places]
        batches = whole.iter_batches(_BATCH, groups, names, use_threads=False)
        yield from _convert(batches, whole.schema_arrow, places, names)


def _read_arrow(file: Unchanged, places: Sequence[int]) -> Iterator[Sequence[Any]]:
    from pyarrow import OSFile, ipc

    with _reading(file) as path, OSFile(str(path)) as stream:
        chosen = ipc.IpcReadOptions(included_fields=sorted(places))
        whole = ipc.open_file(stream, options=chosen)
        order = [sorted(places).index(place) for place in places]
        batches = map(whole.get_batch, range(whole.num_record_batches))
        yield from _convert(batches, whole.schema, order)


@contextmanager
def _reading(file: Unchanged) -> Iterator[Path]:
    """Turn read errors, and changes of the file while it is read, into `InputError`."""
    import pyarrow as pa

    file.check()
    try:
        yield file.file
    except pa.ArrowMemoryError:
        raise
    except pa.ArrowException:
        file.check()
        raise _not_of_kind(file.file) from None
    except OSError as problem:
        raise unreadable(file.file, problem) from None
    file.check()


def _not_of_kind(file: Path) -> InputError:
    kind = "Parquet" if file.suffix == ".parquet" else "Arrow"
    return InputError(f"{file} is not a file of {kind}, or is damaged: check how it was made.")


def _convert(
    batches: Iterable[Any], schema: Any, places: Sequence[int], names: Sequence[str] = ()
) -> Iterator[Sequence[Any]]:
    """Yield columns of batches, with small batches joined; one empty batch if there is none."""
    import pyarrow as pa

    some: list[Any] = []
    is_empty = True
    for batch in batches:
        is_empty = False
        some.append(batch)
        if sum(map(len, some)) >= _BATCH:
            yield _as_columns(pa.Table.from_batches(some), places, names)
            some = []
    if some:
        yield _as_columns(pa.Table.from_batches(some), places, names)
    elif is_empty:
        yield _as_columns(schema.empty_table(), places)


def _as_columns(table: Any, places: Sequence[int], names: Sequence[str] = ()) -> list[Any]:
    return [_as_column(table.column(at)) for at in names or places]


def read_content(content: bytes, file: Path, largest: int) -> tuple[*Columns, int]:
    """Read uploaded Parquet of at most ``largest`` bytes unpacked, and count its rows."""
    with needed_for(f"Reading {file}", _EXTRA):
        import pyarrow as pa
        from pyarrow import parquet
    try:
        table = parquet.ParquetFile(pa.BufferReader(content))
        size = sum(table.metadata.row_group(k).total_byte_size for k in range(table.num_row_groups))
    except pa.ArrowMemoryError:
        raise
    except pa.ArrowException:
        raise _not_of_kind(file) from None
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
    """Return an Arrow column as an array, or as a `Coded` column."""
    import pyarrow as pa
    from pyarrow import compute

    kind = column.type
    if _is_text(kind):
        column = compute.cast(column, pa.large_string()).dictionary_encode()
    if pa.types.is_dictionary(column.type):
        if column.type.ordered and column.num_chunks > 1:
            orders = [one.dictionary.to_pylist() for one in column.chunks]
            reduce(partial(join_orders, name="A column"), orders)
        whole = column.unify_dictionaries().combine_chunks()
        codes = whole.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
        made = Ordered if column.type.ordered else Coded
        return made(codes, whole.dictionary.to_pylist())
    if pa.types.is_integer(kind) and column.null_count:
        try:  # the cast fails for integers that would be rounded
            return compute.cast(column, pa.float64()).to_numpy()
        except pa.ArrowInvalid:
            return np.array(column.to_pylist(), dtype=object)
    if pa.types.is_decimal(kind):
        return np.array(column.to_pylist(), dtype=object)
    one = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return one.to_numpy(zero_copy_only=False)
