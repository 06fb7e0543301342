"""Where a question stands: what follows from its records, and nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Literal, NamedTuple

from pairgossip.peer.protocol.program import Ask, Kind, Program
from pairgossip.study.protocol.desk import Desk
from pairgossip.study.protocol.records import Ending, EndingKind, Question, Yes
from pairgossip.study.protocol.store import Held

Phase = Literal["asked", "digests", "echoes", "words", "statements", "done", "ended"]


class Ended(NamedTuple):
    """Why a question has no result."""

    kind: EndingKind | Literal["lie", "left", "unfinished"]
    """"left": a member that is awaited is not on the list any more, and nothing was shown;
    "unfinished": the same after words were shown."""
    who: str
    """The id of the member that has ended it, or is the reason."""
    because: str


class Progress(NamedTuple):
    """How far a question is, as this member sees it."""

    name: bytes
    """The digest of its question."""
    question: Question
    phase: Phase
    yeses: tuple[str, ...]
    """Ids of members that have said yes."""
    awaited: tuple[str, ...]
    """Ids of members whose records are missing in the present phase."""
    round: int
    """0 until all have said yes."""
    ending: Ended | None
    is_disclosed: bool
    """Whether words of it were, or may have been, shown."""
    lie: str | None
    """The id of a member that has contradicted itself."""
    needs_operator: bool
    """Whether it waits for this member's operator."""


class Standing:
    """One question's records, and what they tell."""

    def __init__(
        self,
        desk: Desk,
        name: bytes,
        question: Question,
        members: tuple[str, ...],
        hinder: Callable[[Any], str],
    ) -> None:
        self.name, self.question, self.members = name, question, members
        self._desk, self._me, self._hinder = desk, desk.me, hinder
        self.gone: frozenset[str] = frozenset()
        """Members that are not on this member's present list any more."""
        self.may_speak = True
        """Whether this member may sign anything new: after a start not before a neighbor has shown
        that it knows of nothing that this member has forgotten."""
        self.trouble = ""
        """Why this member's words cannot be shown for now, such as a full disk."""
        self.round = 0
        self.transcript = b""
        self.is_done = False
        self._program: Program | None = None
        self._ask: Ask | None = None
        self._attempt = 0
        self._has_repeated = False
        self._failure = ""

    # What is there

    def said(self, kind: str, member: str, number: int = 0) -> list[Held]:
        """Return what a member has said of a kind: nothing, one thing, or two."""
        return self._desk.store.said(self.name, (self.name, kind, number, member))

    def _first(self, kind: str, number: int = 0) -> dict[str, Held]:
        """Return the first record of each member that has one."""
        here = {one: self.said(kind, one, number) for one in self.members}
        return {one: held[0] for one, held in here.items() if held}

    @property
    def yeses(self) -> dict[str, Yes]:
        """All yeses that are there."""
        return {one: held.record for one, held in self._first("yes").items()}

    def _digests(self) -> dict[str, Held]:
        return self._those("digests", self.round, lambda one: one.before == self.transcript)

    def _echoes(self) -> dict[str, Held]:
        digests = self._digests()
        if len(digests) < len(self.members):
            return {}
        seen = digest_all(digests[one].digest for one in self.members)
        return self._those("echo", self.round, lambda one: one.digests == seen)

    def _words(self) -> dict[str, Held]:
        committed = {one: held.record.words for one, held in self._digests().items()}
        return self._those(
            "words", self.round, lambda one: hash_of(one.words) == committed.get(one.member)
        )

    def _statements(self) -> dict[str, Held]:
        return self._those(
            "statement", self._attempt, lambda one: one.transcript == self.transcript
        )

    def _those(self, kind: str, number: int, is_it: Callable[[Any], bool]) -> dict[str, Held]:
        """Return the first record of each member that is as it must be to be counted."""
        found: dict[str, Held] = {}
        for one in self.members:
            for held in self.said(kind, one, number):
                if is_it(held.record):
                    found.setdefault(one, held)
        return found

    def _is_all(self, found: Mapping[str, Held]) -> bool:
        return len(found) == len(self.members)

    def has_echoed(self, member: str, since: int = 1) -> bool:
        """Whether a member has signed the commitments to a round, this one or a later."""
        return any(self.said("echo", member, one) for one in range(since, self.round + 2))

    @property
    def _states(self) -> bool:
        """Whether the result is known and to be signed."""
        return self._ask is not None and self._ask.kind is Kind.STATEMENT

    @property
    def _is_echoed(self) -> bool:
        """Whether nothing but words, or statements, can come of the present round."""
        if not self.question.adds or self.round == 0:
            return False
        return self._states or self._is_all(self._echoes())

    @property
    def is_disclosed(self) -> bool:
        """Whether words were, or may have been, shown: as soon as this member has echoed."""
        return self.question.adds and self.has_echoed(self._me)

    @property
    def is_certainly_hidden(self) -> bool:
        """Whether words can never be shown, whatever others say, for this member echoes nothing."""
        return not self.has_echoed(self._me)

    # Views

    @property
    def phase(self) -> Phase:
        """What the question waits for."""
        if self.is_done:
            return "done"
        if self.ending is not None:
            return "ended"
        if self.round == 0:
            return "asked"
        if self._states:
            return "statements"
        if not self._is_all(self._digests()):
            return "digests"
        return "words" if self._is_all(self._echoes()) else "echoes"

    @property
    def awaited(self) -> tuple[str, ...]:
        """Whose records are missing in the present phase."""
        if self.is_done:
            return ()
        if self.round == 0:
            here: Collection[str] = self.yeses
        elif self._states:
            here = self._statements()
        elif not self._is_all(digests := self._digests()):
            here = digests
        elif not self._is_all(echoes := self._echoes()):
            here = echoes
        else:
            here = self._words()
        return tuple(one for one in self.members if one not in here)

    @property
    def lie(self) -> tuple[str, str] | None:
        """Who has contradicted itself, and in what."""
        for who, kind in self._desk.store.liars(self.name).items():
            if kind != "yes" and who in self.members:
                return who, kind
        for one in self.members:
            if (ending := self._ending_of(one)) and self.has_echoed(one, max(1, ending.round)):
                return one, "ending"
            if len(self.said("words", one, self.round)) and one not in self._words():
                return one, "words"
        return None

    def _ending_of(self, member: str) -> Ending | None:
        held = self.said("ending", member)
        return held[0].record if held else None

    @property
    def ending(self) -> Ended | None:
        """Why there will be no result, as far as is known; None if there may be one."""
        if self.is_done:
            return None
        found = self._find_ending()
        if found is None and self._failure:
            return Ended("cannot", self._me, self._failure)
        silent = self.gone.intersection(self.awaited) if self.round else self.gone
        if found is None and silent:
            kind: Literal["left", "unfinished"] = "unfinished" if self._is_shown else "left"
            return Ended(kind, min(silent), "is not on the list of members any more")
        return found

    @property
    def _is_shown(self) -> bool:
        """Whether words may have been shown for all that is known."""
        return self.question.adds and (self.round > 1 or self._is_echoed)

    def _find_ending(self) -> Ended | None:
        if not self._is_echoed:
            if two := self._said_yes_twice():
                return Ended("cannot", two, "has said yes twice, with different keys or rows")
            if lie := self.lie:
                return Ended("lie", lie[0], f"has signed two different records ({lie[1]})")
        for one in self.members:
            ending = self._ending_of(one)
            if ending is not None and self._counts(ending):
                return Ended(ending.kind, one, ending.because)
        return None

    def _said_yes_twice(self) -> str | None:
        twice = (one for one in self.members if len(self.said("yes", one)) > 1)
        return next(twice, None)

    def _counts(self, ending: Ending) -> bool:
        """Whether an ending stops the present phase."""
        if self._states and self.question.adds:
            # Too late for a decision; a member that cannot compute the result has none to sign.
            return ending.kind == "cannot" and ending.round <= self.round
        is_ahead = ending.round > max(1, self.round)
        return not (is_ahead or self._is_echoed or self.has_echoed(ending.member, ending.round))


def hash_of(content: bytes) -> bytes:
    """Return the digest of words."""
    return hashlib.sha256(content).digest()


def digest_all(digests: Iterable[bytes]) -> bytes:
    """Return the digest of a sequence of digests."""
    return hash_of(b"pairgossip study set 1\x00" + b"".join(digests))
