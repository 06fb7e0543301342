"""The state of a question, which follows from its records alone."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Literal, NamedTuple

from pairgossip.peer.protocol.program import Ask, Kind, Rounds
from pairgossip.study.protocol.desk import Desk, Held
from pairgossip.study.protocol.records import Ending, EndingKind, Question, Words, Yes

Phase = Literal["asked", "digests", "echoes", "words", "rows", "statements", "done", "ended"]


class Ended(NamedTuple):
    """The reason why a question has no result."""

    kind: EndingKind | Literal["lie", "left", "unfinished"]
    """"left": a member is not on the list any more; "unfinished": this member's words were
    shown, whatever has ended it."""
    who: str
    """The id of the member that has ended it, or is the reason."""
    because: str


class Progress(NamedTuple):
    """The state of a question, as this member sees it."""

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
    """One question's records, and its state."""

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
        """Members that are not on this member's present list any more. Others may not wait for
        their missing records, so the question has no result, except where words were shown."""
        self.may_speak = True
        """Whether this member may sign anything new: after a start, only once a neighbor has shown
        that it has no record that this member has forgotten."""
        self.trouble = self.told_trouble = ""
        """The reason why this member's words cannot be shown now, such as a full disk."""
        self._last_shown = 0
        self.note_shown()
        self.round = 0
        self.transcript = b""
        self.is_done = False
        self.travels = False
        """Whether rows travel now, until all have signed: any member can end that."""
        self._program: Rounds | None = None
        self._ask: Ask | None = None
        self._attempt = 0
        self._has_repeated = False
        self._failure = ""

    # The records

    def said(self, kind: str, member: str, number: int = 0) -> list[Held]:
        """Return a member's records of a kind: none, one, or two."""
        return self._desk.store.said(self.name, (self.name, kind, number, member))

    def _first(self, kind: str, number: int = 0) -> dict[str, Held]:
        """Return the first record of each member that has one."""
        here = {one: self.said(kind, one, number) for one in self.members}
        return {one: held[0] for one, held in here.items() if held}

    @property
    def yeses(self) -> dict[str, Yes]:
        """All yeses received so far."""
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
        """Return the first record of each member that meets the condition."""
        found: dict[str, Held] = {}
        for one in self.members:
            for held in self.said(kind, one, number):
                if is_it(held.record):
                    found.setdefault(one, held)
        return found

    def _is_all(self, found: Mapping[str, Held]) -> bool:
        return len(found) == len(self.members)

    def has_echoed(self, member: str, since: int = 1) -> bool:
        """Return whether a member has signed the commitments to a round, this one or a later."""
        return any(self.said("echo", member, one) for one in range(since, self.round + 2))

    @property
    def _states(self) -> bool:
        """Whether the result is known and must be signed."""
        return self._ask is not None and self._ask.kind is Kind.STATEMENT

    @property
    def is_disclosed(self) -> bool:
        """Whether words of this member's were, or are about to be, shown in any round.

        They were if all have signed, even if this member has forgotten it; and they may have been
        if it has echoed, and has lost them.
        """
        is_forgotten = self._has_lost_words or (self.is_done and self.question.adds)
        return self._last_shown > 0 or is_forgotten

    @property
    def has_result(self) -> bool:
        """Whether this member has computed the result."""
        return self._states

    @property
    def has_stated(self) -> bool:
        """Return whether this member has signed a result that others may know all to have signed.

        Nobody does where all have signed and their results differ.
        """
        return any(
            self.said("statement", self._me, attempt) and len(self._find_results(attempt)) < 2
            for attempt in (0, 1)
        )

    def _find_results(self, attempt: int) -> set[tuple[bytes, bytes]]:
        """Return the different results that members have signed; none until all have."""
        here = self._first("statement", attempt)
        about = {(one.record.transcript, one.record.public) for one in here.values()}
        return about if self._is_all(here) else set()

    @property
    def is_committed(self) -> bool:
        """Whether this member's words of the present round are shown, which cannot be undone."""
        is_shown = self._states or self.round <= self._last_shown > 0
        return self.question.adds and is_shown and not self.travels

    @property
    def is_final(self) -> bool:
        """Whether the question can have no result any more, whatever others sign."""
        ending = self.ending
        if ending is None or (ending.kind == "left" and self.has_stated):
            return False  # others may have the signature of whoever has left
        is_stuck = bool(self._failure) or (self._states and self._find_ending() is not None)
        return is_stuck or not self.is_committed

    def is_committed_to(self, words: Words) -> bool:
        """Return whether words are those that their member has committed to."""
        commitments = self.said("digests", words.member, words.round)
        hashed, is_present = hash_of(words.words), words.round == self.round
        size = self._ask.words if self._ask is not None and is_present else None
        is_whole = size is None or len(words.words) == 8 * size
        return is_whole and any(one.record.words == hashed for one in commitments)

    def note_shown(self) -> None:
        """Find out which words of this member's are shown, and which it has lost."""
        words = self._find_rounds("words")
        self._last_shown = max((one for one, is_shown in words.items() if is_shown), default=0)
        self._has_lost_words = not self._find_rounds("echo").keys() <= words.keys()

    def _find_rounds(self, kind: str) -> dict[int, bool]:
        """Return the rounds of this member's records of a kind, and whether they are shown."""
        held = self._desk.store.all_of(self.name)
        mine = [one for one in held if one.slot[1] == kind and one.slot[3] == self._me]
        return {one.slot[2]: one.is_shown for one in mine}

    @property
    def _last_echoed(self) -> int:
        return max(self._find_rounds("echo"), default=0)

    @property
    def _owes_words(self) -> bool:
        """Whether others may wait for words that are here, since this member has echoed them."""
        words, echoed = self._find_rounds("words"), self._last_echoed
        return echoed > 0 and words.get(echoed) is False

    # Views

    @property
    def phase(self) -> Phase:
        """The phase in which the question waits."""
        if self.is_done:
            return "done"
        if self.ending is not None:
            return "ended"
        if self.round == 0:
            return "asked"
        if self._states or self.travels:
            return "rows" if self.travels else "statements"
        if not self._is_all(self._digests()):
            return "digests"
        return "words" if self._is_all(self._echoes()) else "echoes"

    @property
    def awaited(self) -> tuple[str, ...]:
        """The members whose records are missing in the present phase."""
        if self.is_done:
            return ()
        if self.round == 0:
            here: Collection[str] = self.yeses
        elif self._states or self.travels:
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
        """The member that has contradicted itself, and the kind of its records."""
        for who, kind in self._desk.store.liars(self.name).items():
            if kind != "yes" and who in self.members:
                return who, kind
        for one in self.members:
            ending = self._ending_of(one)
            if ending is not None and self.has_echoed(one, max(1, ending.round)):
                return one, "ending"
        return None

    def _ending_of(self, member: str) -> Ending | None:
        held = self.said("ending", member)
        return held[0].record if held else None

    @property
    def ending(self) -> Ended | None:
        """The reason why there will be no result, as far as is known; None if there may be one."""
        if self.is_done:
            return None
        found = self._find_ending()
        if found is None and self._failure:
            found = Ended("cannot", self._me, self._failure)
        if found is None and self.gone and self.awaited:
            found = Ended("left", min(self.gone), "is not on the list of members any more")
        if found is not None and self.is_disclosed:
            return found._replace(kind="unfinished")
        return found

    def _find_ending(self) -> Ended | None:
        if lie := self.lie:
            return Ended("lie", lie[0], f"has signed two different records ({lie[1]})")
        if not self.is_committed and (two := self._said_yes_twice()):
            return Ended("cannot", two, "has said yes twice, with different keys or rows")
        for one in self.members:
            ending = self._ending_of(one)
            if ending is not None and self._counts(ending):
                return Ended(ending.kind, one, ending.because)
        return None

    def _said_yes_twice(self) -> str | None:
        twice = (one for one in self.members if len(self.said("yes", one)) > 1)
        return next(twice, None)

    def _counts(self, ending: Ending) -> bool:
        """Return whether an ending stops the present phase."""
        if self._states and self.question.adds and not self.travels:
            # Too late for a decision; a member that cannot compute the result has none to sign.
            return ending.kind == "cannot" and ending.round <= self.round
        return ending.round <= max(1, self.round) and not self.is_committed


def hash_of(content: bytes) -> bytes:
    """Return the digest of words."""
    return hashlib.sha256(content).digest()


def digest_all(digests: Iterable[bytes]) -> bytes:
    """Return the digest of a sequence of digests."""
    return hash_of(b"pairgossip study set 1\x00" + b"".join(digests))
