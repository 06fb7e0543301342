"""Sites of a simulated study: planted numbers in place of rows, and random decisions."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, NamedTuple

import msgspec
import numpy as np

from pairgossip.errors import InputError
from pairgossip.peer.protocol.program import Ask, Disagreement, Kind, Words
from pairgossip.study.protocol.records import Piece, Question, Yes
from pairgossip.study.protocol.site import Offer, Reserved, Verdict

Table = tuple[int, ...]
"""Sums modulo 2^64 of one round."""


class Layout(msgspec.Struct, frozen=True):
    """The subject of a question of this world, as given by its text."""

    column: str
    rounds: Annotated[int, msgspec.Meta(ge=1, le=3)] = 1
    words: Annotated[int, msgspec.Meta(ge=1, le=9)] = 2
    nonce: int = 0
    """Makes texts differ, as levels and seeds do in real texts."""

    @property
    def text(self) -> str:
        return msgspec.json.encode(self).decode()


def read_layout(question: Question) -> Layout:
    """Return what a question is about; raise InputError for a liar's question."""
    try:
        return msgspec.json.decode(question.text, type=Layout)
    except msgspec.MsgspecError:
        raise InputError("The question cannot be read: write it as the others are.") from None


def draw_vector(member: str, batch: int, column: str, words: int) -> Words:
    """Return the numbers of a piece of rows, which are always the same."""
    about = f"{member} {batch} {column}".encode()
    content = hashlib.shake_128(about).digest(8 * words)
    return np.frombuffer(content, dtype="<u8").copy()


def add_pieces(member: str, pieces: Sequence[Piece], layout: Layout) -> Words:
    """Return what a member adds to the first round of a question."""
    total = np.zeros(layout.words, dtype=np.uint64)
    for piece in pieces:
        if piece.rows:
            total += draw_vector(member, piece.batch, layout.column, layout.words)
    return total


def plain_sums(
    layout: Layout, yeses: Mapping[str, Yes], read: Sequence[Table], shift: int = 0
) -> list[Table]:
    """Return the sums of all rounds, computed in one place without masks."""
    total = np.zeros(layout.words, dtype=np.uint64)
    for member, yes in yeses.items():
        total += add_pieces(member, yes.pieces, layout)
    sums: list[Table] = []
    for _ in range(layout.rounds if yeses else 0):
        factor = next_factor(sums) + shift
        sums.append(tuple((total * np.uint64(factor)).tolist()))
    return with_tables(sums, read)


def next_factor(sums: Sequence[Table]) -> int:
    """Return the number that the contributions of a round are multiplied by."""
    digest = hashlib.sha256(repr(list(sums)).encode()).digest()
    return 1 + digest[0] if sums else 1


def with_tables(sums: Sequence[Table], read: Sequence[Table]) -> list[Table]:
    """Add tables of earlier questions to the first sum, if there is one."""
    tables = [*sums[:1], *read]
    first = tuple(sum(column) % 2**64 for column in zip(*tables, strict=True))
    return [first, *sums[1:]]


def read_table(public: bytes) -> list[Table]:
    """Return the sums that a statement is about."""
    return msgspec.msgpack.decode(public, type=tuple[list[Table], int])[0]


class Contributed(NamedTuple):
    """A vector that a member has made for a round."""

    member: str
    question: bytes
    round: int
    """Its round; rounds that are repeated because members ask for something else do not count."""
    vector: bytes
    rows: bytes
    """The rows' numbers, without the factor of the round."""


@dataclass
class SumsProgram:
    """Rounds of sums, each of which depends on the last, then a statement of all of them."""

    member: str
    layout: Layout
    yeses: Mapping[str, Yes]
    read: Sequence[Table]
    shift: int
    """The error of this machine in the last place."""
    name: bytes
    """The question."""
    contributed: list[Contributed]
    """A list in which the auditor sees which vector is hidden next."""
    sums: list[Table] = field(default_factory=list)
    most_rounds: int = 10

    @property
    def table(self) -> list[Table]:
        return with_tables(self.sums, self.read)

    def ask(self) -> Ask | None:
        if len(self.sums) < self._rounds:
            factor = next_factor(self.sums) + self.shift
            return Ask(Kind.SUM, str(factor).encode(), self.layout.words)
        return Ask(Kind.STATEMENT, msgspec.msgpack.encode((self.table, self.shift)))

    @property
    def _rounds(self) -> int:
        return self.layout.rounds if self.yeses else 0

    def contribute(self, ask: Ask) -> Words:
        own = add_pieces(self.member, self.yeses[self.member].pieces, self.layout)
        vector = own * np.uint64(int(ask.public))
        self.contributed.append(
            Contributed(self.member, self.name, len(self.sums) + 1, vector.tobytes(), own.tobytes())
        )
        return vector

    def follow(self, public: bytes, *, is_repeated: bool = True) -> Ask:
        if len(self.sums) == self._rounds:
            return self._follow_statement(public)
        try:
            factor = int(public)
        except ValueError:
            raise Disagreement("the factor is no number") from None
        if abs(factor - next_factor(self.sums)) > 1:
            raise Disagreement("the factor is another one")
        return Ask(Kind.SUM, public, self.layout.words)

    def _follow_statement(self, public: bytes) -> Ask:
        try:
            if read_table(public) != self.table:
                raise Disagreement("the sums differ")
        except msgspec.MsgspecError:
            raise Disagreement("the statement cannot be read") from None
        return Ask(Kind.STATEMENT, public)

    def take(self, ask: Ask, total: Words) -> None:
        if ask.kind is Kind.SUM:  # otherwise it is the statement that all have signed
            self.sums.append(tuple(total.tolist()))


class Noted(NamedTuple):
    """An entry of the record of disclosures."""

    name: bytes
    round: int
    words: bytes
    """The digest of the words."""


@dataclass
class Folder:
    """The contents of a site's disk, and of a backup of it."""

    batches: int = 1
    noted: list[Noted] = field(default_factory=list)
    offered: dict[bytes, tuple[str, tuple[Piece, ...]]] = field(default_factory=dict)
    """The column of each question, and the pieces that this site adds."""
    results: dict[bytes, list[Table]] = field(default_factory=dict)
    given_up: dict[bytes, bool] = field(default_factory=dict)

    def copy(self) -> Folder:
        return copy.deepcopy(self)


@dataclass
class PlantedSite:
    """One member's machine: numbers by formula, random decisions."""

    member: str
    verdicts: Mapping[str, str]
    """The policy's verdict for each column; "ask" for others."""
    shift: int = 0
    folder: Folder = field(default_factory=Folder)
    is_careful: bool = False
    """Whether a yes waits while another question with this site's yes may count its column."""
    is_changed: bool = False
    """Whether the source has changed, so that nothing can be read."""
    contributed: list[Contributed] = field(default_factory=list)
    """All that members of this world have made, in order."""
    programs: dict[bytes, SumsProgram] = field(default_factory=dict)
    leaving: dict[bytes, bool] = field(default_factory=dict)
    """Abandoned questions that are not archived yet, and whether words were shown."""
    point: Callable[[str], None] = lambda _: None
    """Called wherever the process may be killed."""
    told: Callable[[str, bytes, list[Table] | None, bool], None] = lambda *_: None
    """Called with the member, a question, its sums if it has a result, and whether it is shown."""
    archive: Callable[[bytes], Sequence[bytes]] = lambda _: ()
    has_promised: Callable[[bytes], bool] = lambda _: False
    """Whether this site's yes to a question is on its disk."""

    def judge(self, name: bytes, question: Question) -> Verdict:
        answer = self.verdicts.get(read_layout(question).column, "ask")
        return Verdict(answer, "By policy." if answer == "no" else "")  # type: ignore[arg-type]

    def offer(self, name: bytes, question: Question) -> Offer:
        self._read()
        column = read_layout(question).column
        if self.is_careful and question.repeats is None:
            self._refuse_reserved(name, column)
        pieces = self._eligible(name, column, question.repeats)
        self.folder.offered[name] = column, pieces
        disclosure = hashlib.sha256(b"words" + question.text.encode()).digest()
        commitment = hashlib.sha256(b"rows" + self.member.encode()).digest()
        return Offer(disclosure, commitment, pieces, columns=frozenset({column}))

    def _refuse_reserved(self, name: bytes, column: str) -> None:
        over = self.folder.given_up.keys() | self.folder.results.keys() | {name}
        for other, (counted, pieces) in self.folder.offered.items():
            is_open = other not in over and self.has_promised(other)
            if is_open and counted == column and any(one.rows for one in pieces):
                raise Reserved("Another question has this site's yes: wait for it.", other)

    def _eligible(self, name: bytes, column: str, repeats: bytes | None) -> tuple[Piece, ...]:
        """Return the same pieces if words are repeated, else those not promised elsewhere."""
        if repeats in self.folder.offered:
            return self.folder.offered[repeats][1]
        gone = {
            piece.batch
            for other, (counted, pieces) in self.folder.offered.items()
            if other != name and counted == column and self.folder.given_up.get(other, True)
            for piece in pieces
            if piece.rows
        }
        batches = range(1, self.folder.batches + 1)
        return tuple(Piece(batch, 0 if batch in gone else 100) for batch in batches)

    def make_program(
        self, name: bytes, question: Question, yeses: Mapping[str, Yes]
    ) -> SumsProgram:
        self._read()
        if not all(read in self.folder.results for read in question.reads):
            raise InputError("A table that it reads is not here: ask for it first.")
        read = [self.folder.results[one][0] for one in question.reads]
        layout = read_layout(question)
        self.programs[name] = SumsProgram(
            self.member, layout, yeses, read, self.shift, name, self.contributed
        )
        return self.programs[name]

    def _read(self) -> None:
        if self.is_changed:
            raise InputError("The source has changed since its rows were frozen: restore it.")

    def note_disclosure(self, name: bytes, round_: int, words: bytes) -> None:
        self.point("before the record of disclosures")
        self.folder.noted.append(Noted(name, round_, hashlib.sha256(words).digest()))
        self.point("after the record of disclosures")

    def finish(self, name: bytes, question: Question, transcript: bytes) -> None:
        table = self.programs[name].table
        self.folder.results[name] = table
        self.told(self.member, name, table, True)

    def give_up(self, name: bytes, because: str, *, is_disclosed: bool) -> None:
        self.leaving[name] = is_disclosed

    def archived(self, name: bytes) -> None:
        """Record, along with the journal, that a question was abandoned."""
        if name in self.leaving:
            self.folder.given_up[name] = self.leaving[name]
            self.told(self.member, name, None, self.leaving[name])

    def recall(self, name: bytes) -> Sequence[bytes]:
        return self.archive(name)
