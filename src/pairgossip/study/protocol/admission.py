"""Which records of others are taken: those that fit what is known, and whose signature is right.

What does not fit yet, such as a record of a round ahead, is not kept: it is asked for again at the
next contact. So what a member can make others keep is bounded. Signatures are checked last, and
once: what is held is known to be genuine.
"""

from __future__ import annotations

from typing import Any

from pairgossip.study.protocol import ratchet
from pairgossip.study.protocol.desk import Desk
from pairgossip.study.protocol.lists import Lists
from pairgossip.study.protocol.question import Run
from pairgossip.study.protocol.questions import Questions
from pairgossip.study.protocol.records import (
    AnyRecord,
    Digests,
    Echo,
    Ending,
    Question,
    Statement,
    Words,
    Yes,
    digest_of,
    payload_of,
    topic_of,
)

MOST_OPEN = 8
"""Questions of one member that are open at once; more are not taken until some have ended."""


class Admission:
    """Looks at what others give."""

    def __init__(self, desk: Desk, lists: Lists, questions: Questions) -> None:
        self._desk, self._lists, self._questions = desk, lists, questions
        self._runs, self._archive = questions.runs, questions.archive

    def look_at(self, record: AnyRecord, now: int) -> AnyRecord | None:
        """Return a record if it is new, fits, and is genuine; else None."""
        about = topic_of(record)
        if about in self._archive.lines or self._desk.store.find(digest_of(record)) is not None:
            return None
        certificate = self._find_certificate(record)
        if certificate is None or not self._fits(record, now):
            return None
        is_genuine = self._desk.keys.verify(certificate, payload_of(record), record.signature)
        return record if is_genuine else None

    def _find_certificate(self, record: AnyRecord) -> str | None:
        run: Run | None
        match record:
            case Question():
                about = record.list
            case Yes() | Ending() | Digests() | Echo() | Words() | Statement():
                run = self._runs.get(record.question)
                if run is None:
                    return None
                about = run.question.list
            case _:
                return self._lists.find_certificate(record)
        named = self._lists.known.get(about)
        if named is None or not self._lists.exists(about):
            return None
        card = named.cards.get(record.member)
        return None if card is None else card.certificate

    def _fits(self, record: AnyRecord, now: int) -> bool:
        if isinstance(record, Question):
            return self._is_in_turn(record) and self._is_asked_here(record, now)
        run = self._runs.get(topic_of(record))
        if run is None:
            return True
        if self._desk.me not in run.members:
            return isinstance(record, Yes)
        return self._fits_phase(record, run)

    def _is_in_turn(self, question: Question) -> bool:
        """Whether its number is new, and its member has not too many open."""
        if (question.member, question.number) in self._archive.numbers:
            return False
        own = [one for one in self._runs.values() if one.question.member == question.member]
        if any(one.question.number == question.number for one in own):
            return False
        return sum(one.ending is None and not one.is_done for one in own) < MOST_OPEN

    def _is_asked_here(self, question: Question, now: int) -> bool:
        """Whether its member may ask this one; of others' questions only the past is learned.

        One that has asked before it has heard of the present list is told no.
        """
        if self._desk.me not in self._lists.known[question.list].ids:
            return True
        here, asker = self._lists.current, question.member
        is_there = here is not None and asker in here.ids
        return is_there and self._questions.pace.allows(asker, now)

    def _fits_phase(self, record: Any, run: Run) -> bool:
        match record:
            case Yes():
                is_about = run.question.adds and record.list == run.question.list
                is_told = self._questions.releases.are_announced(record)
                return is_about and is_told and ratchet.is_usable(record.key)
            case Ending():
                return record.kind != "withdrawn" or record.member == run.question.member
            case Digests() | Echo():
                return run.question.adds and record.round <= run.round + 1
            case Words():
                return run.is_committed_to(record)
        return True
