"""A study's member as its folder shows it, in the same form as other peers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from time import time

from pairgossip.errors import InputError
from pairgossip.peer.reading import (
    ABSENT,
    PHASES,
    UNCLEAR,
    PeerReading,
    QuestionReading,
    Tally,
    clean_problems,
    state_of,
)
from pairgossip.study.service.reading import describe_ending
from pairgossip.study.service.status import (
    QuestionStatus,
    StudyStatus,
    list_numbers,
    read_question,
    read_status,
)
from pairgossip.study.storage.folder import StudyHome
from pairgossip.text import clean_text

_MOST_QUESTIONS = 50
"""Largest number of a member's questions that are read, the latest."""
_LONGEST_TITLE, _LONGEST_NAME = 100, 32
"""Largest number of characters that are shown; longer texts are cut."""


@dataclass
class MemberReader:
    """Reads a study's member whose folder is on this machine."""

    name: str
    id: str
    home: StudyHome
    pid: int | None = None
    """Its process, if known from elsewhere, such as the swarm that started it."""

    def read(self) -> PeerReading:
        """Read the status files, and ask the system about the process."""
        if not self.home.folder.exists():  # as before a further member of a swarm joins
            return PeerReading(ABSENT)
        try:
            status = read_status(self.home)
            return read_member(self.home, status, state_of(status, self.pid, time()))
        except InputError as problem:
            return PeerReading(UNCLEAR, problems=(clean_text(problem),))
        except OSError as problem:
            why = f"Cannot read {self.home.folder}: {problem.strerror}."
            return PeerReading(UNCLEAR, problems=(clean_text(why),))


def read_member(home: StudyHome, status: StudyStatus | None, state: str) -> PeerReading:
    """Return a member's own report about itself and its questions, in this state."""
    if status is None:
        return PeerReading(state)
    listed = sum(one.is_listed for one in status.members)
    connected = sum(bool(one.connected) for one in status.neighbors.values())
    return PeerReading(
        state,
        exchanges=0,
        refused=sum(status.refused.values()),
        generation=1,
        covers=(connected, max(listed - 1, 0)),
        tally=tally_of(status.phases, status.over),
        questions=tuple(_read_questions(home)),
        members=listed,
        rows=sum(status.batches),
        started=status.started,
        updated=status.updated or None,
        problems=clean_problems(status.problems),
    )


def tally_of(phases: Mapping[str, int], over: Mapping[str, int]) -> Tally:
    """Count questions from a status: those that are open, and those that have ended."""
    answered = over.get("done", 0)
    return Tally(answered, sum(phases.values()), sum(over.values()) - answered)


def _read_questions(home: StudyHome) -> Iterator[QuestionReading]:
    for number in list_numbers(home)[-_MOST_QUESTIONS:]:
        if (question := read_question(home, number)) is not None:
            yield _describe(question)


def _describe(question: QuestionStatus) -> QuestionReading:
    names = tuple(clean_text(one, _LONGEST_NAME) for one in question.awaited)
    return QuestionReading(
        name=question.name,
        title=clean_text(question.title, _LONGEST_TITLE),
        asked_by=clean_text(question.asked_by, _LONGEST_NAME),
        phase=question.phase if question.phase in PHASES else PHASES[0],
        travels=question.travels,
        awaited=names,
        seen=question.seen,
        value=question.value,
        interval=question.interval,
        rows=question.rows,
        ending=clean_text(describe_ending(question), _LONGEST_TITLE),
    )
