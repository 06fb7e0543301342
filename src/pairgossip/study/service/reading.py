"""A study's folder as commands, a page and Python read it, whether or not its peer runs.

Nothing is changed here. The peer wrote the contents when it last ran, so a pending request shows
only once the peer has carried it out.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from os import PathLike
from typing import TYPE_CHECKING

from pairgossip.errors import InputError
from pairgossip.peer.identity.certificates import name_in_certificate
from pairgossip.peer.signed_study import SHORT_NAME
from pairgossip.study.service.membership import SignedList, read_list
from pairgossip.study.service.requests import AnyRequest, Requests
from pairgossip.study.service.status import (
    UNREAD,
    QuestionStatus,
    StudyStatus,
    list_numbers,
    read_question,
    read_status,
)
from pairgossip.study.storage.folder import StudyHome, open_study
from pairgossip.text import join_names

if TYPE_CHECKING:
    from pairgossip.peer.signed_result import SignedResult
    from pairgossip.study.rows.journey import OwnEstimate
    from pairgossip.study.storage.disclosures import Entry
    from pairgossip.summaries.summary import Summary

_POLL = 0.05
"""Seconds between two readings of a question that is waited for."""
_UNFINISHED = 30.0
"""Seconds of waiting for a question that has ended after numbers were shown: records of others may
still be on their way, and then it is answered after all."""
_RESTART = 5.0
"""Seconds for which a question is waited for while no peer runs: it may be starting again."""
_SHORTEST_NAME = 6
"""Least number of digits by which a question's name is recognized; numbers seldom have as many."""


class StudyReading:
    """One member's folder, for reading."""

    def __init__(self, home: StudyHome | str | PathLike[str]) -> None:
        self.home = home if isinstance(home, StudyHome) else open_study(home)
        self.requests = Requests(self.home.folder)

    @property
    def name(self) -> str:
        """The member's name, which its certificate holds."""
        return name_in_certificate(self.home.cert.read_text(encoding="utf-8"))

    def problems(self) -> list[str]:
        """Return the problems for the operator: those of the peer's last report, and of its
        settings."""
        status = self.status()
        reported = () if status is None else status.problems
        problems = [one for one in reported if not one.endswith(UNREAD)]  # it may be mended by now
        try:
            self.home.read_settings()
        except InputError as problem:
            return [f"{problem} {UNREAD}", *problems]
        return problems

    @property
    def is_running(self) -> bool:
        """Whether the peer runs."""
        return self.home.is_running()

    def status(self) -> StudyStatus | None:
        """Return the peer's last report about itself; None if it has never run."""
        return read_status(self.home)

    def signed_list(self) -> SignedList | None:
        """Return the list of members with its signatures; None before there is one."""
        return read_list(self.home)

    def waiting(self) -> list[AnyRequest | InputError]:
        """Return the requests that the peer has not carried out yet."""
        return [request for _, request in self.requests.pending()]

    # Questions

    def questions(self) -> Iterator[QuestionStatus]:
        """Yield all questions, in the order of their numbers."""
        for number in list_numbers(self.home):
            question = read_question(self.home, number)
            if question is not None:
                yield question

    def question(self, which: int | str) -> QuestionStatus:
        """Return a question by its number, or by the beginning of its name."""
        text = str(which)
        question = read_question(self.home, int(text)) if _is_number(text) else None
        if question is None and len(text) >= _SHORTEST_NAME:
            matches = [one for one in self.questions() if one.name.startswith(text.lower())]
            question = matches[0] if len(matches) == 1 else None
        if question is None:
            raise InputError(f"There is no question {text[:64]} here: {self._which()}.")
        return question

    def knows(self, which: str) -> bool:
        """Return whether there is a question of this number or name."""
        with contextlib.suppress(InputError):
            return bool(self.question(which).name)
        return False

    def relations(self, which: int | str) -> list[tuple[str, str]]:
        """Return the question that one corrects, and those that correct it."""
        earlier = self.question(which).corrects
        before = [] if earlier is None else [("corrects", f"question {earlier}")]
        return [*before, *self.later(which)]

    def later(self, which: int | str) -> list[tuple[str, str]]:
        """Return the answered questions that correct one, as far as this peer knows them.

        Any member can ask one that claims to correct another: without an answer it does not count.
        """
        number = self.question(which).number
        return [
            ("corrected by", f"question {one.number} ({one.name[:SHORT_NAME]}) of {one.asked_by}")
            for one in self.questions()
            if one.corrects == number and one.is_done
        ]

    def wait(self, which: int | str, seconds: float | None = None) -> QuestionStatus:
        """Return a question once it has ended for good, or as it is when the time is up.

        Without a time, also as it is when the peer was stopped, and nobody starts it again soon.
        """
        wait = _RESTART if seconds is None else seconds
        last = time.monotonic() + wait
        while may_go_on(question := self.question(which)) and time.monotonic() < last:
            time.sleep(_POLL)
            # Rarely, as a peer that starts during such a look cannot lock its folder.
            is_due = seconds is None and last - time.monotonic() < wait / 2
            if is_due and self.is_running:
                last = time.monotonic() + wait
        return question

    def result(self, which: int | str) -> SignedResult:
        """Return the result that all members have signed; raise `InputError` if there is none."""
        from pairgossip.study.storage.signed import read_answer

        question = self.question(which)
        if question.travels:
            raise InputError(
                f"Rows travel for question {question.number}, and each member has an estimate of "
                "its own: nothing is signed by all."
            )
        if not question.is_done:
            raise InputError(f"Question {question.number} has no result: {explain(question)}.")
        return read_answer(self.home, bytes.fromhex(question.name))

    def own(self, which: int | str) -> OwnEstimate:
        """Return this peer's own estimate from exchanging rows, so far or final."""
        question = self.question(which)
        if question.own is None:
            state = explain(question) if question.travels else "it is answered by sums"
            raise InputError(f"This peer has no estimate of its own for it: {state}.")
        return question.own

    def table(self, which: int | str) -> bytes:
        """Return the table of a result; raise `InputError` if there is none."""
        from pairgossip.study.storage.tables import read_table_file

        question = self.question(which)
        result = self.result(question.number).result
        if result.table is None:
            raise InputError(
                f"The answer to question {question.number} is read from no table: it is a model's, "
                "or no table was made."
            )
        name, digest = bytes.fromhex(question.name), bytes.fromhex(result.table)
        return read_table_file(self.home.tables, name, digest)

    def summary(self, which: int | str) -> Summary:
        """Return the counts of a question's table as a summary, which answers further questions."""
        from pairgossip.peer.specification.canonical_text import decode_spec
        from pairgossip.peer.sums.tables import read_summary

        return read_summary(decode_spec(self.question(which).text), self.table(which))

    # The record of disclosures

    def disclosures(self) -> Sequence[Entry]:
        """Return the record of all that has left this machine."""
        from pairgossip.study.storage.disclosures import Disclosures

        return Disclosures(self.home.disclosures).entries()

    def verify_disclosures(self) -> int:
        """Return the number of entries; raise `InputError` if one was changed or is missing."""
        from pairgossip.study.storage.disclosures import Disclosures

        with self.home.open_journal() as journal:
            return Disclosures(self.home.disclosures).verify(journal)

    def _which(self) -> str:
        numbers = list_numbers(self.home)
        if not numbers:
            return "none has been asked, or has come here yet"
        last = numbers[-1]
        return "the only one is 1" if last == 1 else f"they are numbered 1 to {last}"


def may_go_on(question: QuestionStatus) -> bool:
    """Return whether a question is not over, or has ended so lately that it may be answered yet."""
    ending = question.ending
    if not question.is_over or question.is_done or ending is None:
        return not question.is_over
    return ending.kind == "unfinished" and 0 <= time.time() - question.changed < _UNFINISHED


def explain(question: QuestionStatus) -> str:
    """Describe the state of a question in words."""
    if question.is_done:
        return "rows have traveled" if question.travels else "answered, and signed by all"
    if question.lie is not None:
        return f"'{question.lie}' has signed two different things about it"
    if question.ending is not None:
        return f"it has ended, {describe_ending(question)}"
    if question.needs_operator:
        return "it waits for your yes or no"
    if question.awaited and question.phase == "rows":
        names = join_names([f"'{name}'" for name in question.awaited])
        return f"rows travel, and are not enough yet for {names}"
    if question.awaited:
        names = join_names([f"'{name}'" for name in question.awaited])
        return f"it waits for {names} ({WHAT_FOR.get(question.phase, question.phase)})"
    return "it is on its way"


WHAT_FOR = {
    "asked": "a yes or no",
    "digests": "digests of the numbers",
    "echoes": "that all have seen the same digests",
    "words": "the numbers, masked",
    "rows": "that all have exchanged enough rows",
    "statements": "signatures of the result",
}
"""The subjects of waiting in each phase."""
_ENDED = {
    "no": "refused",
    "withdrawn": "withdrawn",
    "expired": "expired",
    "cannot": "given up",
    "lie": "since members received different records",
    "unfinished": "unfinished, though some numbers were shown",
}
"""The ways in which questions end, by kind."""


def describe_ending(question: QuestionStatus) -> str:
    """Name the member that has ended a question, and the reason."""
    ending = question.ending
    if ending is None:
        return ""
    if ending.kind == "left":
        return f"since '{ending.who}' is not a member any more"
    because = f": {ending.because}" if ending.because else ""
    who = f" by '{ending.who}'" if ending.who else ""
    if question.travels and question.is_disclosed:
        return f"stopped{who} after rows had traveled{because}".rstrip(".")
    return f"{_ENDED.get(ending.kind, ending.kind)}{who}{because}".rstrip(".")


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10
