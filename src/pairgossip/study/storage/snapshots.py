"""The rows of a site, frozen: batches, each with a keyed digest that recognizes it.

A batch has the rows that are complete in all declared columns, and every question uses exactly
these: otherwise two questions could differ by rows that only one of them has. A source is read
again for each question, and compared with its digest; the order of its rows does not matter.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from pairgossip.errors import InputError
from pairgossip.peer.bookkeeping.places import registers_of
from pairgossip.peer.identity.certificates import sealing_key_of
from pairgossip.peer.identity.identity import Identity
from pairgossip.peer.protocol.program import round_size
from pairgossip.rows.columns import Coded
from pairgossip.study.storage.journal import StudyJournal
from pairgossip.study.storage.settings import StudySettings, advise_place
from pairgossip.summaries.row_digest import RowDigest
from pairgossip.tables import STANDARD_INPUT, Table, read_columns
from pairgossip.text import MOST_NAMED, format_count, join_first, join_names

_ROOM = "batches"


class Batch(msgspec.Struct, frozen=True):
    """Rows that were frozen at once."""

    number: int
    """1 for the rows with which the folder was made."""
    source: str
    rows: int
    digest: bytes
    """The keyed digest of the rows in all declared columns, in any order."""
    columns: tuple[str, ...]
    """The declared columns, by the source's names."""

    @property
    def rounded_rows(self) -> int:
        """The number of rows that others learn."""
        return round_size(self.rows)


def absolute_source(data: Path) -> str:
    """Return how settings name a source; refuse one that cannot be read again."""
    if data == STANDARD_INPUT:
        raise InputError(
            "A peer reads its rows again for each question, which standard "
            "input cannot: name a file."
        )
    _refuse_pipe(data)
    try:
        str(data).encode()
    except UnicodeEncodeError:
        raise InputError(
            f"The name of {str(data)!r} is not UTF-8 text, as settings are: rename it."
        ) from None
    return str(data.absolute())


def _refuse_pipe(data: Path) -> None:
    if data.exists() and not (data.is_file() or data.is_dir()):
        raise InputError(
            f"{data} is a pipe or device, which cannot be read again whenever a peer starts: name "
            "a file."
        )


def secret_of(identity: Identity) -> bytes:
    """Return the key of a site's commitments, which never leaves it."""
    return identity.agree(sealing_key_of(identity.certificate))


def commit(identity: Identity, *content: object) -> bytes:
    """Return a keyed digest: the same for the same content, and useless for testing guesses."""
    return hmac.digest(secret_of(identity), msgspec.msgpack.encode(content), hashlib.sha256)


def freeze(
    number: int, source: Path, declared: Sequence[str] | None, identity: Identity
) -> tuple[Batch, Table, list[str]]:
    """Read a source; return the batch, its complete rows, and sentences on those left out."""
    place = absolute_source(source)
    table = read_columns(source, ())
    columns = tuple(table.header if declared is None else declared)
    table.refuse_unknown(columns)
    complete, sentences = _leave_out_gaps(table, columns)
    digest = _digest(complete, columns, identity)
    return Batch(number, place, len(complete), digest, columns), complete, sentences


def describe_folder(source: Path) -> Iterator[str]:
    """Name the files of a source that is a folder: one may be there by mistake."""
    from pairgossip.rows.arrow import list_parts

    if source.is_dir() and (parts := list_parts(source)):  # without any it is refused later
        names = [f"'{one.relative_to(source)}'" for one in parts]
        listed = join_first(names[:MOST_NAMED], len(names))
        yield f"{source} is read whole, {format_count(len(names), 'Parquet file')}: {listed}."


def read_again(batch: Batch, settings: StudySettings, identity: Identity) -> Table:
    """Return the rows of a batch from its source; raise `InputError` if they have changed.

    The sentence goes to all members, and says nothing about rows.
    """
    source = Path(find_source(batch, settings))
    try:
        table = read_columns(source, ())
        table.refuse_unknown(batch.columns)
        complete, _ = _leave_out_gaps(table, batch.columns)
    except InputError:
        raise _changed(batch) from None
    if len(complete) != batch.rows or _digest(complete, batch.columns, identity) != batch.digest:
        raise _changed(batch)
    return complete


def find_source(batch: Batch, settings: StudySettings) -> str:
    """Return the present path of a batch's rows."""
    if batch.number == 1:
        return settings.source
    return settings.batch.get(str(batch.number), batch.source)


def find_unheeded(settings: StudySettings, batches: Sequence[Batch], name: str) -> Iterator[str]:
    """Yield the settings that have no effect, though they look as if they had."""
    if settings.name != name:
        yield (
            f"name in peer.toml is '{settings.name}', and this peer's certificate says '{name}', "
            "by which all others know it: put that back."
        )
    last = max(batches, key=lambda batch: batch.number, default=None)
    declared = settings.declared
    if declared is not None and last is not None and set(declared) != set(last.columns):
        yield (
            f"declared in peer.toml is {_name_columns(declared)}, and batch {last.number} was "
            f"frozen with {_name_columns(last.columns)}, which stays: what declared says holds for "
            "batches that are added later alone."
        )
    for key, own in settings.columns.items():
        advice = advise_place(key)
        if advice and last is not None and not any(own in batch.columns for batch in batches):
            yield f"[columns] in peer.toml says {key}, and no column is called '{own}'.{advice}"
    added = [str(batch.number) for batch in batches if batch.number > 1]
    if strange := sorted(set(settings.batch).difference(added)):
        yield (
            f"[batch] in peer.toml names {join_names(strange)}, which changes nothing: the first "
            f"batch is read from source, and the last one has number {1 + len(added)}."
        )


def _name_columns(columns: Sequence[str]) -> str:
    return join_first([f"'{name}'" for name in columns[:MOST_NAMED]], len(columns))


def find_registers(source: Path, settings: StudySettings) -> tuple[Path, ...]:
    """Return the registers of releases of a source's rows."""
    register = None if settings.register is None else Path(settings.register)
    places = registers_of(source, register)
    return places[:1] if settings.rehearsal else places


def refuse_few(batch: Batch, least_rows: int) -> None:
    """Refuse a batch of few rows: a release of only these would show where they lie."""
    if batch.rows < least_rows:
        raise InputError(
            f"{batch.source} has {format_count(batch.rows, 'complete row')}, and "
            f"policy.least_rows is {least_rows}: wait for more rows, or change it in peer.toml."
        )


def describe_repeated(table: Table, before: Sequence[Table], row_id: str | None) -> str | None:
    """Describe rows that were frozen before; refuse equal ids; None if there are no such rows."""
    if row_id is not None:
        ids = {one for other in before for one in other.text(row_id)}
        repeated = len(ids.intersection(table.text(row_id)))
        if repeated:
            raise InputError(
                f"{format_count(repeated, 'row')} of {table.path} with ids that were frozen before "
                "in another batch: give rows that came since alone, each once."
            )
        return None
    earlier = {row for other in before for row in other.cells}
    repeated = sum(row in earlier for row in table.cells)
    if not repeated:
        return None
    return (
        f"{format_count(repeated, 'row')} of {table.path} are the same in all columns as rows that "
        "were frozen before: if they are the same people, give rows that came since alone."
    )


class Batches:
    """The batches that a journal knows."""

    def __init__(self, journal: StudyJournal) -> None:
        self._journal = journal
        notes = journal.notes(_ROOM).values()
        self._batches = [msgspec.msgpack.decode(one, type=Batch) for one in notes]

    def __iter__(self) -> Iterator[Batch]:
        return iter(self._batches)

    def __len__(self) -> int:
        return len(self._batches)

    def add(self, batch: Batch) -> None:
        """Keep a further batch, with the next save."""
        self._journal.stage(_ROOM, f"{batch.number:06}", msgspec.msgpack.encode(batch))
        self._batches.append(batch)


def _leave_out_gaps(table: Table, columns: Sequence[str]) -> tuple[Table, list[str]]:
    counts = {name: len(table.gaps([name])) for name in table.load(columns)}
    gaps = table.gaps(columns)
    if gaps and len(gaps) == len(table):
        raise InputError(
            f"In every row of {table.path} a column has no entry: name the columns that questions "
            "may be about, with --columns of peer init or declared in peer.toml."
        )
    if not gaps:
        return table, []
    listed = [f"'{name}' ({count:,})" for name, count in counts.items() if count]
    sentence = (
        f"{format_count(len(gaps), 'row')} of {len(table):,} are left out of all questions, since "
        f"a column has no entry there: {join_first(listed[:MOST_NAMED], len(listed))}. With "
        "--columns of peer init, only the columns named there need entries."
    )
    return table.without(gaps), [sentence]


def _digest(table: Table, columns: Sequence[str], identity: Identity) -> bytes:
    digest = RowDigest(secret_of(identity))
    entries = []
    for name in table.load(columns):
        numbers = table.floats(name)
        entries.append(Coded(*table.names(name)) if numbers is None else numbers)
    digest.add(entries)
    return digest.finish()


def _changed(batch: Batch) -> InputError:
    return InputError(
        f"The source of this site's batch {batch.number} is not what it was when its rows were "
        "frozen, or cannot be read: its operator has to put back what it held."
    )
