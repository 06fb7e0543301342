"""The book of a site's yeses: the rows reserved for each question, and the released ones.

A yes reserves the score columns of its pieces, in the transaction that stores it. They are released
for good once own words are shown, and free again if the question ends before that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from pairgossip.errors import InputError
from pairgossip.study.protocol.records import Piece
from pairgossip.study.storage.journal import StudyJournal

_OFFERS, _VECTORS = "offers", "vectors"

State = Literal["accepted", "shown", "answered", "unfinished", "ended"]
"""The state of a question here. All but the last keep the columns of its pieces."""


class Prepared(NamedTuple):
    """A release of a batch, as registers know it."""

    batch: int
    key: str
    registers: tuple[str, ...]


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """This site's record of a question that it has accepted."""

    question: bytes
    asker: str
    text: str
    state: State = "accepted"
    pieces: tuple[Piece, ...]
    """The pieces that the yes names."""
    scores: frozenset[str]
    """Its score columns, by the names of this site."""
    layout: bytes
    disclosure: bytes
    commitment: bytes
    salt: bytes
    card: bytes = b""
    shown: int = 0
    """The last round whose own words were shown."""
    repeats: bytes | None = None
    """The question whose numbers these are."""
    prepared: tuple[Prepared, ...] = ()
    columns: Mapping[str, str] = {}
    """The source's names of columns, as the settings had them: the yes is about these columns."""

    @property
    def releases(self) -> list[tuple[str, tuple[Path, ...]]]:
        """The keys of the releases of the batches that it adds, and their registers."""
        prepared = (one for one in self.prepared if one.batch in self.batches)
        return [(one.key, tuple(map(Path, one.registers))) for one in prepared]

    @property
    def is_open(self) -> bool:
        """Whether it may still have a result."""
        return self.state in ("accepted", "shown")

    @property
    def is_shown(self) -> bool:
        """Whether own words were shown."""
        return self.state in ("shown", "answered", "unfinished")

    @property
    def named(self) -> frozenset[int]:
        """The batches that it is about, whether or not they add rows."""
        return frozenset(piece.batch for piece in self.pieces)

    @property
    def batches(self) -> frozenset[int]:
        """The batches whose rows it adds."""
        return frozenset(piece.batch for piece in self.pieces if piece.rows)


class Offers:
    """All questions that this site has accepted."""

    def __init__(self, journal: StudyJournal) -> None:
        self._journal = journal
        decoder = msgspec.msgpack.Decoder(Entry)
        entries = map(decoder.decode, journal.notes(_OFFERS).values())
        self._entries = {one.question: one for one in entries}

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def get(self, question: bytes) -> Entry | None:
        """Return the entry of a question."""
        return self._entries.get(question)

    def find(self, question: bytes) -> Entry:
        """Return the entry of a question that this site has accepted, and not given up."""
        entry = self.get(question)
        if entry is None or entry.state == "ended":
            raise InputError("This site has not accepted the question, or has given it up.")
        return entry

    def take_yes(self, question: bytes, pieces: tuple[Piece, ...]) -> Entry:
        """Return an accepted entry with the pieces of its yes; some wait for others' rows."""
        if self.find(question).pieces != pieces:
            self.change(question, pieces=pieces)
        return self.find(question)

    def put(self, entry: Entry) -> None:
        """Keep an entry, with the next save."""
        self._entries[entry.question] = entry
        self._journal.stage(_OFFERS, entry.question.hex(), msgspec.msgpack.encode(entry))

    def change(self, question: bytes, **fields: Any) -> None:
        """Note the end of a question, with the next save."""
        if (entry := self._entries.get(question)) is not None:
            self.put(msgspec.structs.replace(entry, **fields))

    def put_vector(self, question: bytes, name: str, vector: bytes) -> None:
        """Keep numbers that were, or will be, contributed, with the next save."""
        self._journal.stage(f"{_VECTORS} {question.hex()}", name, vector)

    def vector(self, question: bytes, name: str) -> bytes | None:
        """Return kept numbers; None if there are none."""
        return self._journal.note(f"{_VECTORS} {question.hex()}", name)

    def drop_vectors(self, question: bytes) -> None:
        """Drop the numbers of a question that is never repeated, with the next save."""
        for name in self.vectors(question):
            self._journal.stage(f"{_VECTORS} {question.hex()}", name, None)

    def vectors(self, question: bytes) -> Mapping[str, bytes]:
        """Return the kept numbers of a question, by their names."""
        return self._journal.notes(f"{_VECTORS} {question.hex()}")

    def put_counts(self, question: bytes, batch: int, counts: bytes) -> None:
        """Keep the counts of a batch, with the next save."""
        self.put_vector(question, f"batch {batch}", counts)

    def counts(self, question: bytes) -> Mapping[int, bytes]:
        """Return the kept counts of a question, by batch."""
        vectors = self.vectors(question).items()
        return {int(name[6:]): it for name, it in vectors if name.startswith("batch ")}

    @property
    def keys(self) -> list[str]:
        """The keys of this study's releases that were sent, or will be."""
        return [key for one in self if one.state != "ended" for key, _ in one.releases]

    def find_rival(self, scores: frozenset[str], besides: bytes) -> Entry | None:
        """Return another question that has not ended and reserves one of these columns."""
        return next(
            (
                one
                for one in self._entries.values()
                if one.is_open and one.question != besides and one.batches and one.scores & scores
            ),
            None,
        )

    def is_free(self, batch: int, scores: frozenset[str], besides: bytes | None = None) -> bool:
        """Return whether no other question has released one of these columns of a batch.

        Columns reserved by open questions may become free again: until then a yes waits.
        """
        return not any(
            batch in one.batches and one.scores & scores
            for one in self._entries.values()
            if one.is_shown and one.question != besides
        )
