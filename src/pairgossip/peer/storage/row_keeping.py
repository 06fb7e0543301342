"""The rows that a folder keeps and is asked to keep: a copy where they travel, else their sources.

Either is a file of all rows that the peer is to have, beside what it has; `growth` says when which
of them counts.
"""

from __future__ import annotations

import contextlib
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec
import numpy as np

from pairgossip import files
from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.files import LARGEST_TOML, parse_toml, quote_toml, read_bytes, sync
from pairgossip.peer.identity.identity import Identity, load_identity
from pairgossip.peer.protocol.held import Batch, Held
from pairgossip.peer.protocol.messages import MOST_TRAVELING, Rows, digest_rows
from pairgossip.peer.protocol.program import SIZE_STEP
from pairgossip.peer.protocol.state import Standing
from pairgossip.peer.specification.keys import EXCHANGE, SUMS
from pairgossip.peer.specification.spec import Spec
from pairgossip.peer.storage.folder import Home, OperatorSettings
from pairgossip.peer.storage.journal_file import read_about, read_saved_state
from pairgossip.peer.storage.rows import SiteRows, copy_text, read_copy
from pairgossip.text import format_count

_LARGEST_REQUEST = 1 << 30
"""Bytes of a request that names sources; a longer one is refused."""
About = Mapping[str, str]
_Own = TypeVar("_Own", Rows, Held)


class Keeping(ABC, Generic[_Own]):
    """How the folder of one peer keeps its rows."""

    def __init__(self, home: Home, spec: Spec, file: Path) -> None:
        """Keep where a request for more rows is."""
        self._home, self._spec, self.file = home, spec, file

    @abstractmethod
    def read(self, file: Path) -> _Own:
        """Return all rows that the peer is to have by a request."""

    @abstractmethod
    def read_own(self) -> _Own:
        """Return the rows that the peer has."""

    def read_latest(self) -> _Own:
        """Return the rows that the peer is to have, or else those that it has."""
        return self.read(self.file) if self.file.exists() else self.read_own()

    @abstractmethod
    def read_in_force(self, state: Standing) -> _Own:
        """Return the rows of a peer with this state, which may be running."""

    @abstractmethod
    def read_to_run(self, about: About, identity: Identity, state: Standing) -> tuple[_Own, str]:
        """Return what a peer that runs needs, and what is wrong, if it can go on so."""

    @staticmethod
    def name_source(settings: OperatorSettings, data: Path) -> OperatorSettings:
        """Return the settings of a peer whose rows are those of a source."""
        return settings

    @abstractmethod
    def read_rows(self) -> FloatArray:
        """Read the latest rows."""

    @abstractmethod
    def check(self, data: Path, more: SiteRows) -> None:
        """Raise `InputError` for a source that the peer cannot take more rows from."""

    def refuse_few(self, rows: int) -> None:
        """Refuse to have so many rows if few were added, and others could tell them."""

    @abstractmethod
    def extend(self, data: Path, more: SiteRows) -> tuple[_Own, bytes]:
        """Return all rows with those of a source, and what a request for them holds."""

    @abstractmethod
    def continues(self, rows: _Own, before: _Own) -> bool:
        """Return whether rows begin with those before."""

    def complete(self, rows: _Own, before: _Own) -> _Own:
        """Return the rows of a request as a peer with those before needs them."""
        return rows

    @abstractmethod
    def is_taken_up(self, rows: _Own) -> bool:
        """Return whether the peer's state has these rows."""

    @abstractmethod
    def put_in_place(self) -> None:
        """Let the folder have the rows that the state has by now, and end the request."""


class CopyKept(Keeping[Rows]):
    """A copy of the rows that travel, or of the reports of them."""

    def __init__(self, home: Home, spec: Spec) -> None:
        super().__init__(home, spec, home.next_data)

    def read(self, file: Path) -> Rows:
        """Return all rows that the peer is to have by a request."""
        return read_copy(file, self._spec)

    def read_own(self) -> Rows:
        """Return the rows that the peer has."""
        return self._home.read_rows()

    def read_in_force(self, state: Standing) -> Rows:
        """Return the rows that a state has, from either file; the peer may be running."""
        for _ in range(2):  # between two reads the peer may have put one file in the other's place
            with contextlib.suppress(InputError):
                if len(rows := self.read_own()) == state.rows:
                    return rows
                if self.file.exists() and len(rows := self.read(self.file)) == state.rows:
                    return rows
        return self.read_own()

    def read_to_run(self, about: About, identity: Identity, state: Standing) -> tuple[Rows, str]:
        """Return the rows, which must be those of the state."""
        home, rows = self._home, self.read_own()
        if about.get("data") != digest_rows(rows):
            raise other_part(home, home.data)
        return rows, ""

    def read_rows(self) -> FloatArray:
        """Read the latest rows."""
        return np.array(self.read_latest(), dtype=np.float64)

    def check(self, data: Path, more: SiteRows) -> None:
        """Raise `InputError` for more rows than a peer may have."""
        before = len(self.read_latest())
        if before + len(more) > MOST_TRAVELING:
            raise InputError(
                f"{data} has {format_count(len(more), 'row')} and the peer has {before}: a peer "
                f"holds at most {MOST_TRAVELING} that travel."
            )

    def extend(self, data: Path, more: SiteRows) -> tuple[Rows, bytes]:
        """Return all rows with those of a source, and a copy of them."""
        rows = (*self.read_latest(), *more.rows)
        return rows, copy_text(rows, self._spec).encode()

    def continues(self, rows: Rows, before: Rows) -> bool:
        """Return whether rows begin with those before."""
        return rows[: len(before)] == before

    def is_taken_up(self, rows: Rows) -> bool:
        """Return whether the peer's state has these rows."""
        return digest_rows(rows) == read_about(self._home.state).get("data")

    def put_in_place(self) -> None:
        """Let the copy take the place of the one before."""
        rename(self.file, self._home.data)


class _Sources(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The sources of all rows that a peer is to have."""

    sources: tuple[str, ...]
    batches: tuple[Batch, ...]


class SourcesKept(Keeping[Held]):
    """The sources of the rows, by the operator's settings; the state has their digests."""

    def __init__(self, home: Home, spec: Spec) -> None:
        super().__init__(home, spec, home.next_sources)

    def read(self, file: Path) -> Held:
        """Return all rows that the peer is to have by a request."""
        return Held(_read_sources(file).batches)

    def read_own(self) -> Held:
        """Return the rows that the peer has."""
        state, _ = read_saved_state(self._home.state)
        return Held(state.batches)

    def read_in_force(self, state: Standing) -> Held:
        """Return the rows of a state, as far as it knows them without their sources."""
        return Held(state.batches)

    def read_to_run(self, about: About, identity: Identity, state: Standing) -> tuple[Held, str]:
        """Read the sources again, which must be as they were."""
        from pairgossip.peer.storage.sources import read_held

        return read_held(self._home, self._spec, identity, state)

    @staticmethod
    def name_source(settings: OperatorSettings, data: Path) -> OperatorSettings:
        """Return settings that name the source, which is never copied."""
        from pairgossip.peer.storage.sources import absolute_source

        return msgspec.structs.replace(settings, source=absolute_source(data))

    @property
    def _latest(self) -> tuple[str, ...]:
        """The sources that the peer is to have, or else those that it has."""
        if self.file.exists():
            return _read_sources(self.file).sources
        return self._home.read_settings().sources

    def check(self, data: Path, more: SiteRows) -> None:
        """Raise `InputError` for a source that the peer has: it must stay as it is."""
        place, taken = Path(os.path.realpath(data)), [*map(os.path.realpath, self._latest)]
        if str(place) in taken:
            raise InputError(
                f"{data} is a source of this peer already, and must stay as it is: give rows that "
                "came since in a file of their own."
            )
        for folder in filter(place.is_relative_to, taken):
            raise InputError(
                f"{data} is in {folder}, a source of this peer that must stay as it is: put it "
                "into another folder."
            )

    def refuse_few(self, rows: int) -> None:
        """Refuse few more rows after a sum: the difference would show everybody where they lie."""
        state, _ = read_saved_state(self._home.state)
        added, least_rows = rows - state.rows, self._home.read_settings().least_rows
        if self._spec.rounds_sizes and added < SIZE_STEP:
            raise InputError(
                f"{format_count(added, 'row')} would be added, but others are told sizes in steps "
                f"of {SIZE_STEP}: add {SIZE_STEP} rows or more at once."
            )
        if state.summed_in and added < least_rows:
            raise InputError(
                f"{format_count(added, 'row')} would be added to a peer that has contributed to a "
                "sum, and the difference would show everybody where they lie: add "
                f"{least_rows} or more at once, or change least_rows in peer.toml."
            )

    def extend(self, data: Path, more: SiteRows) -> tuple[Held, bytes]:
        """Return all rows with those of a source, and the names of all sources."""
        from pairgossip.peer.storage.sources import absolute_source, make_batch

        batch = make_batch(more, load_identity(self._home.folder))
        batches = (*self.read_latest().batches, batch)
        sources = (*self._latest, absolute_source(data))
        self._settings_with(sources)
        return Held(batches), msgspec.msgpack.encode(_Sources(sources, batches))

    def read_rows(self) -> FloatArray:
        """Read the latest rows again."""
        return self._read_from(0)

    def _read_from(self, first: int) -> FloatArray:
        """Read the latest rows from this batch on."""
        from pairgossip.peer.storage.sources import read_batch

        identity = load_identity(self._home.folder)
        given = list(zip(self._latest, self.read_latest().batches, strict=True))[first:]
        read = [read_batch(Path(one), self._spec, identity, batch) for one, batch in given]
        return np.concatenate(read)

    def continues(self, rows: Held, before: Held) -> bool:
        """Return whether rows begin with those before."""
        return rows.batches[: len(before.batches)] == before.batches

    def complete(self, rows: Held, before: Held) -> Held:
        """Return the rows of a request, read if the peer has read those before."""
        if before.matrix is None:
            return rows
        try:
            added = self._read_from(len(before.batches))
        except InputError as problem:
            raise InputError(
                f"{problem} Or remove {self.file}, which asks for these rows: then none are added."
            ) from None
        return Held(rows.batches, np.concatenate([before.matrix, added]))

    def is_taken_up(self, rows: Held) -> bool:
        """Return whether the peer's state has these rows."""
        return self.read_own() == rows

    def put_in_place(self) -> None:
        """Name the added sources in the settings, and remove the request."""
        home = self._home
        text = self._settings_with(_read_sources(self.file).sources)
        if text != read_bytes(home.peer, LARGEST_TOML):
            files.replace(home.peer, text)
        try:
            self.file.unlink()
            sync(home.folder)
        except OSError as problem:
            raise files.unwritable(self.file, problem, "remove") from None

    def _settings_with(self, sources: Sequence[str]) -> bytes:
        """Return the text of the settings when all these sources are named in it."""
        home, text = self._home, read_bytes(self._home.peer, LARGEST_TOML)
        settings = home.read_settings()
        added = list(enumerate(sources, 1))[len(settings.sources) :]
        if not added:
            return text
        batches = {**settings.batch, **{str(number): source for number, source in added}}
        for form in ("batch.{} = {}\n", "{} = {}\n"):  # the operator may have begun a table
            lines = [form.format(number, quote_toml(source)) for number, source in added]
            more = "".join([text.decode().rstrip("\n"), "\n", *lines])
            with contextlib.suppress(InputError):
                if parse_toml(more).get("batch") == batches:
                    return more.encode()
        named = " ".join(f"batch.{number} = {quote_toml(source)}" for number, source in added)
        raise InputError(f"{home.peer} does not let sources be added: name them there, as {named}.")


KEEPINGS: dict[str, type[CopyKept] | type[SourcesKept]] = {EXCHANGE: CopyKept, SUMS: SourcesKept}
"""How rows are kept, by the algorithm."""


def keeping_of(home: Home) -> Keeping[Any]:
    """Return how a folder keeps its rows."""
    spec = home.read_spec()
    return KEEPINGS[spec.algorithm.name](home, spec)


def other_part(home: Home, file: Path) -> InputError:
    """Build the sentence for a file that does not belong to the state."""
    return InputError(
        f"{file} is not the one that {home.state.name} was made with: put the old one back, or run "
        "peer init in a new folder."
    )


def _read_sources(file: Path) -> _Sources:
    try:
        return msgspec.msgpack.decode(read_bytes(file, _LARGEST_REQUEST), type=_Sources)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise InputError(
            f"{file} is not a request of peer add: remove it, and run peer add again."
        ) from None


def rename(file: Path, name: Path) -> None:
    """Let a file take another's place, on the disk too."""
    try:
        os.replace(file, name)
        sync(name.parent)
    except OSError as problem:
        raise files.unwritable(name, problem) from None


def count_latest(home: Home) -> int:
    """Return how many rows a peer is to have, or else has."""
    return len(keeping_of(home).read_latest())
