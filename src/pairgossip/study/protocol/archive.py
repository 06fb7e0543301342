"""Questions that have ended: one line of each stays, with the pieces that it released."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from pairgossip.study.protocol.desk import Desk, Held
from pairgossip.study.protocol.differences import Pieces
from pairgossip.study.protocol.records import Digest, Question, Yes

_NOTE = "archive/"
_DONE = frozenset({"question", "yes", "statement"})
_HIDDEN = frozenset({"ending"})
"""Records that nobody needs after an ending without words: members with it open have the text."""


class Line(msgspec.Struct, frozen=True, array_like=True):
    """A question that has ended."""

    member: str
    number: int
    list: Digest
    kind: str
    """"done", the kind of its ending, or "history" for one of others before this member's time."""
    because: str
    is_disclosed: bool
    """Whether this member has shown words, or others have before its time."""
    pieces: tuple[tuple[str, int], ...] = ()
    """The released pieces."""


_DECODER = msgspec.msgpack.Decoder(Line)


class Archive:
    """All questions that have ended, by name."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.lines: dict[bytes, Line] = {}
        self.numbers: dict[tuple[str, int], bytes] = {}

    def load(self) -> None:
        """Load the saved lines."""
        notes = self._desk.notes
        for note in [one for one in notes if one.startswith(_NOTE)]:
            self._keep(bytes.fromhex(note.removeprefix(_NOTE)), _DECODER.decode(notes.pop(note)))

    def _keep(self, name: bytes, line: Line) -> None:
        self.lines[name] = line
        self.numbers[line.member, line.number] = name

    def add(self, name: bytes, line: Line) -> dict[str, bytes | None]:
        """Keep a line; return it as the note to write."""
        self._keep(name, line)
        return {_NOTE + name.hex(): msgspec.msgpack.encode(line)}

    @property
    def releases(self) -> list[Pieces]:
        """The pieces of every question whose words were shown."""
        return [frozenset(one.pieces) for one in self.lines.values() if one.is_disclosed]

    @property
    def released(self) -> int:
        """The number of questions whose words this member has shown."""
        return sum(one.is_disclosed and one.kind != "history" for one in self.lines.values())


def pieces_of(yeses: Iterable[Yes]) -> Pieces:
    """Return the pieces that add rows."""
    return frozenset(
        (yes.member, piece.batch) for yes in yeses for piece in yes.pieces if piece.rows
    )


def find_rest(
    held: Collection[Held], me: str, kind: str, *, is_disclosed: bool
) -> tuple[bytes, ...]:
    """Return the digests of records that are not needed any more once a question is archived.

    If words of it were shown and it did not finish, all shown records are kept, except others'
    words: late words, which their members give, may finish it elsewhere. Own words that were not
    shown are dropped, with the commitment to them.
    """
    if kind != "done" and is_disclosed:
        hidden = {one.slot[2] for one in held if not one.is_shown}
        return tuple(one.digest for one in held if _is_over(one, me, hidden))
    kept = _DONE if kind == "done" else _HIDDEN
    places = [one.slot for one in held]
    return tuple(
        one.digest for one in held if one.slot[1] not in kept and places.count(one.slot) == 1
    )


def _is_over(held: Held, me: str, hidden: Collection[int]) -> bool:
    """Return whether a record is useless to others; own words of some rounds were not shown."""
    _, kind, round_, member = held.slot
    if member == me:
        return not held.is_shown or (kind == "digests" and round_ in hidden)
    return kind == "words"


def line_of(
    question: Question, kind: str, because: str, yeses: Iterable[Yes], *, is_disclosed: bool
) -> Line:
    """Return the line that stays of a question."""
    pieces = tuple(sorted(pieces_of(yeses))) if is_disclosed else ()
    return Line(
        question.member,
        question.number,
        question.list,
        kind,
        because[:200],
        is_disclosed,
        pieces,
    )
