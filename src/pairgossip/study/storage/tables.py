"""The tables that members have counted together, kept for good: a file per question.

With the table of a question, every later one of the same layout is answered at home. A table has
the name of the question that has added its last rows, and includes those of the questions that it
read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from pairgossip.errors import InputError
from pairgossip.files import read_bytes
from pairgossip.peer.sums.tables import digest_table
from pairgossip.study.protocol.records import Piece
from pairgossip.study.storage.journal import StudyJournal
from pairgossip.study.storage.writing import write_file

_ROOM, _STATED, _RESULTS = "answers", "stated", "results"
_ENDING = ".table"
_LARGEST = 1 << 26
"""Largest size of a table, in bytes; a longer one is refused."""

Covered = tuple[tuple[str, int, int], ...]
"""Pieces with rows in a table: member, batch, and the number of rows that others learned."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The record of a question that all members have answered."""

    question: bytes
    layout: bytes
    rounds: int
    """The number of sums that became known for it."""
    table: bytes = b""
    """The digest of the table; that of nothing without a table."""
    covered: Covered = ()
    members: tuple[str, ...] = ()
    """The members of the question's list, who all have the table."""
    adds: bool = True

    @property
    def places(self) -> frozenset[tuple[str, int]]:
        """The pieces."""
        return frozenset((member, batch) for member, batch, _ in self.covered)


class Answers:
    """The answers of a site, and their tables."""

    def __init__(self, journal: StudyJournal, folder: Path) -> None:
        self._journal, self._folder = journal, folder
        notes = journal.notes(_ROOM).values()
        answers = (msgspec.msgpack.decode(one, type=Answer) for one in notes)
        self._answers = {one.question: one for one in answers if one.adds}
        """Answers that have added rows: others may be many, and are never read again."""

    def get(self, question: bytes) -> Answer | None:
        """Return the answer to a question; None if there is none."""
        if question in self._answers:
            return self._answers[question]
        note = self._journal.note(_ROOM, question.hex())
        return None if note is None else msgspec.msgpack.decode(note, type=Answer)

    @property
    def unsigned(self) -> list[bytes]:
        """The questions whose results are not in a file with all signatures yet."""
        return [bytes.fromhex(name) for name in self._journal.notes(_RESULTS)]

    def state(self, answer: Answer, result: bytes, table: bytes | None) -> None:
        """Keep the result that this site signs, with the next save, and its table, already on
        disk."""
        if table is not None:
            write_file(self._path(answer.question), table)
        self._journal.stage(_RESULTS, answer.question.hex(), result)
        self._journal.stage(_STATED, answer.question.hex(), msgspec.msgpack.encode(answer))

    def settle(self, question: bytes) -> Answer | None:
        """Take the result that all members have signed, with the next save.

        Return None if it is not here any more, as in a restored backup.
        """
        note = self._journal.note(_STATED, question.hex())
        if note is None:
            return None
        answer = msgspec.msgpack.decode(note, type=Answer)
        if answer.adds:
            self._answers[question] = answer
        self._journal.stage(_ROOM, question.hex(), note)
        self._journal.stage(_STATED, question.hex(), None)
        return answer

    def drop(self, question: bytes) -> None:
        """Drop a result that only this site has signed."""
        if self._journal.note(_STATED, question.hex()) is not None:
            for room in (_STATED, _RESULTS):
                self._journal.stage(room, question.hex(), None)
            self._path(question).unlink(missing_ok=True)

    def read_result(self, question: bytes) -> bytes | None:
        """Return a result as JSON, until its file of signatures is there."""
        return self._journal.note(_RESULTS, question.hex())

    def forget_result(self, question: bytes) -> None:
        """Drop a result that is in a file with all signatures, with the next save."""
        self._journal.stage(_RESULTS, question.hex(), None)

    def find_tables(self, layout: bytes, members: Sequence[str]) -> tuple[Answer, ...]:
        """Return answers whose tables have a layout and cover pieces once, as many as possible.

        Only tables that all these members have are used.
        """
        usable = [
            one
            for one in self._answers.values()
            if one.layout == layout and one.table and set(members) <= set(one.members)
        ]
        chosen: list[Answer] = []
        for one in sorted(usable, key=lambda it: (-len(it.covered), it.question)):
            if not any(one.places & other.places for other in chosen):
                chosen.append(one)
        return tuple(sorted(chosen, key=lambda it: it.question))

    def read_tables(
        self, questions: Sequence[bytes], layout: bytes
    ) -> tuple[Sequence[Answer], Sequence[bytes]]:
        """Return the answers that a question reads, with their tables; refuse any other name."""
        answers = []
        for name in questions:
            answer = self._answers.get(name)
            if answer is None or not answer.table:
                raise InputError(f"This site has not the table of question {name.hex()[:12]}.")
            if answer.layout != layout:
                raise InputError(
                    f"The table of question {name.hex()[:12]} has other cells, classes or groups."
                )
            answers.append(answer)
        places = [place for one in answers for place in one.places]
        if len(places) != len(set(places)):
            raise InputError("The question reads tables that hold the same rows twice.")
        return answers, [self.read(one) for one in answers]

    def read(self, answer: Answer) -> bytes:
        """Return the table of an answer, if it is the one that all members have signed."""
        return read_table_file(self._folder, answer.question, answer.table)

    def _path(self, question: bytes) -> Path:
        return _find_table(self._folder, question)


def read_table_file(folder: Path, question: bytes, digest: bytes) -> bytes:
    """Return the table of a question; refuse one with another digest than all have signed."""
    path = _find_table(folder, question)
    table = read_bytes(path, _LARGEST)
    if digest_table(table) != digest:
        raise InputError(
            f"{path} is not the table that all members have signed: put another's copy in its "
            "place."
        )
    return table


def _find_table(folder: Path, question: bytes) -> Path:
    return folder / f"{question.hex()}{_ENDING}"


def join_covered(answers: Sequence[Answer], added: Mapping[str, Sequence[Piece]]) -> Covered:
    """Return the pieces of all answers, and those that members add."""
    old = [piece for one in answers for piece in one.covered]
    new = [(member, *piece) for member, pieces in added.items() for piece in pieces if piece.rows]
    return tuple(sorted(old + new))
