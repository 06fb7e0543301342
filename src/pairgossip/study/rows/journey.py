"""A question whose rows travel, as one member sees it, and its result: an estimate.

The rounds of a study bring members to the point where rows may leave, and no further: all yeses,
and one sum whose words are shown only after all have signed the same set. In that sum each member
has its own place for its number of rows, so nobody learns the number before all are bound. From
then on rows travel until the member signs that it has enough.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np

from pairgossip import files
from pairgossip.errors import InputError
from pairgossip.peer.estimates.errors import Errors
from pairgossip.peer.protocol.messages import MOST_TRAVELING, Rows
from pairgossip.peer.protocol.program import (
    SIZE_STEP,
    Ask,
    Disagreement,
    Kind,
    Words,
)
from pairgossip.peer.specification.spec import Spec
from pairgossip.study.protocol.records import MemberList, Piece, Yes, digest_of
from pairgossip.study.storage.writing import write_file
from pairgossip.text import join_names

_LARGEST = 1 << 22
"""Largest size of a kept estimate, in bytes; a longer one is refused."""
_PURPOSE = b"pairgossip study rows 1\x00"


class OwnEstimate(Errors, frozen=True, kw_only=True):
    """The estimate of one member by exchanging rows: its own, which no other has or has signed."""

    specification: str
    """The canonical text of the question."""
    estimate: tuple[float, ...] | None
    """The statistic as the only entry, or a model's parameters; None before there is an
    estimate."""
    exchanges: int
    met: int
    """The number of members whose rows have passed by, this one included."""
    members: int
    rows: int
    """The number of rows of all members."""
    updated: float
    is_final: bool = False
    """Whether rows have stopped traveling, and those of others are erased here."""
    labels: tuple[float, ...] = ()
    """The labels of this member's rows."""


@dataclass
class Journey:
    """One question whose rows travel.

    Parameters
    ----------
    name, spec, expires
        The question's name, its specification, and the time at which it ends in any case.
    members
        The list at which it was asked: rows travel only between these members.
    me, rows
        The id of this member, and its rows as they travel.
    yeses
        The yeses of all members, to which everything is bound.
    draws
        Gives secret bytes for a run: the same bytes for the same run.
    """

    name: bytes
    spec: Spec
    expires: int
    members: MemberList
    me: str
    rows: Rows
    yeses: Mapping[str, Yes]
    draws: Callable[[bytes], bytes]
    counts: Mapping[str, int] | None = None
    """The rows of each member; None before all have told."""
    has_enough: bool = False
    """Whether this member may sign that it has exchanged enough."""
    failure: str = ""
    """The reason why this member cannot continue, which ends the question for all."""
    estimate: OwnEstimate | None = None
    run: bytes = field(init=False)
    """The digest of all yeses: rows signed for one run are worthless in any other."""

    def __post_init__(self) -> None:
        yeses = b"".join(digest_of(self.yeses[one]) for one in self.members.ids)
        self.run = hashlib.sha256(_PURPOSE + self.name + yeses).digest()
        if lacking := [one for one in self.members.ids if not self._pieces(one)]:
            names = join_names([f"'{self.members.cards[one].name}'" for one in lacking])
            raise InputError(f"{names} could add no rows, and rows travel only if all members do.")

    def _pieces(self, member: str) -> list[Piece]:
        return [piece for piece in self.yeses[member].pieces if piece.rows]

    def check(self, member: str, rows: int) -> None:
        """Raise `Disagreement` for a number of rows that contradicts the member's yes."""
        pieces = self._pieces(member)
        least = sum(piece.rows for piece in pieces)
        if not least <= rows <= min(least + (SIZE_STEP - 1) * len(pieces), MOST_TRAVELING):
            raise Disagreement("a member has another number of rows than its yes says")


class RowsProgram:
    """The rounds of a question whose rows travel."""

    most_rounds = 2

    def __init__(self, journey: Journey) -> None:
        self._journey = journey
        self._public: bytes | None = None
        """The bytes that all sign in the end; None before each member's rows are known."""
        self._is_asked = False
        """Whether rows were asked for: they are, even if only to learn that it is too late."""

    def ask(self) -> Ask:
        """Return the next step: a sum, the exchange itself, or the statement."""
        if self._journey.failure:
            raise InputError(self._journey.failure)
        if self._public is None:
            return Ask(Kind.SUM, b"rows", len(self._journey.members.ids))
        if self._journey.has_enough and self._is_asked:
            return Ask(Kind.STATEMENT, self._public)
        self._is_asked = True
        return Ask(Kind.EXCHANGE, self._public)

    def contribute(self, ask: Ask) -> Words:
        """Return this member's number of rows, in its own place."""
        words = np.zeros(ask.words, dtype=np.uint64)
        words[self._journey.members.ids.index(self._journey.me)] = len(self._journey.rows)
        return words

    def follow(self, public: bytes, *, is_repeated: bool = True) -> Ask:
        """Ask what another member asks, which is the same as this one."""
        ask = self.ask()
        if ask.public != public:
            raise Disagreement("a member asks for something else")
        return ask

    def take(self, ask: Ask, total: Words) -> None:
        """Note the numbers of rows of members; refuse impossible ones."""
        if ask.kind is not Kind.SUM:
            return
        journey = self._journey
        counts = dict(zip(journey.members.ids, map(int, total), strict=True))
        for member, rows in counts.items():
            journey.check(member, rows)
        if counts[journey.me] != len(journey.rows):
            raise Disagreement("a member has written into another's place")
        journey.counts = counts
        self._public = msgspec.msgpack.encode(("rows", journey.run, sorted(counts.items())))


def keep_estimate(results: Path, name: bytes, estimate: OwnEstimate) -> None:
    """Keep this member's estimate; for good once it is final."""
    content = msgspec.json.encode(estimate)
    write_file(_path(results, name), content, durable=estimate.is_final)


def read_estimate(results: Path, name: bytes) -> OwnEstimate | None:
    """Return this member's estimate from exchanging rows; None if there is none."""
    path = _path(results, name)
    if not path.exists():
        return None
    description = "a peer's own estimate: remove it"
    return files.read_struct(path, _LARGEST, OwnEstimate, description)


def _path(results: Path, name: bytes) -> Path:
    return results / f"{name.hex()}.own.json"
