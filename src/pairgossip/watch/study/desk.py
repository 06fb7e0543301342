"""A member's folder as its operator sees it, and the operator's decisions as requests in it."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

import msgspec

from pairgossip.errors import InputError
from pairgossip.peer.specification.canonical_text import write_toml
from pairgossip.study.protocol.records import Card
from pairgossip.study.service import requests
from pairgossip.study.service.asking import parse_question
from pairgossip.study.service.invitations import check_card
from pairgossip.study.service.reading import StudyReading
from pairgossip.study.service.reporter import title_of
from pairgossip.study.service.requests import AnyRequest, Reply
from pairgossip.study.service.status import QuestionStatus, StudyStatus
from pairgossip.study.site.words import digest_words
from pairgossip.text import clean_text, format_count, printable
from pairgossip.watch.study.answers import make_answer

_MOST_OVER = 50
"""Largest number of ended questions listed, the newest; others are found by their numbers."""
_MOST_LINES = 20
"""Largest number of lines of the record of disclosures that are listed, the newest."""
_MOST_ANSWERS = 8
"""Largest number of answers in memory; others are made again, which takes seconds for a report."""
_PATIENCE = 20.0
"""Seconds to wait for a reply of the peer, which may have to read all rows; it may come later."""
_DAY = 86_400
_MOMENT = 2_000_000_000
"""Nanoseconds after a change during which a place is read again at every look."""
_EVENTS = {
    "accepted": "Accepted",
    "shown": "Masked numbers shown",
    "answered": "Answered",
    "not answered": "Not answered",
    "read": "Tables read",
}
"""The names of events in the record of disclosures, in words."""
_CHANGED = (
    "What would leave this machine is described in other words now than those that you were "
    "shown: read them again."
)
_WRITTEN = "Written down: the peer does it once it runs."
_LATE = "Written down: the peer has not answered yet."
_NO_PREVIEW = "The peer has not said yet what would leave: try again in a moment."
T = TypeVar("T")


class _Decision(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="request"):
    """The base of an operator's decisions on the page."""


class Accept(_Decision, frozen=True, tag="accept"):
    """Say yes to a question, after reading these words."""

    question: str
    leaves: tuple[str, ...]


class Refuse(_Decision, frozen=True, tag="refuse"):
    """Say no to a question."""

    question: str
    because: requests.Reason


class Withdraw(_Decision, frozen=True, tag="withdraw"):
    """End a question that was asked here."""

    question: str
    because: requests.Reason


class TryOut(_Decision, frozen=True, tag="try"):
    """Read the rows, and report the effect of a yes."""

    question: str


class Join(_Decision, frozen=True, tag="join"):
    """Accept a proposed member by its id."""

    member: str


class Evict(_Decision, frozen=True, tag="evict"):
    """Continue without a member, by its id."""

    member: str


class Ask(_Decision, frozen=True, tag="ask"):
    """Ask all members, after reading these words."""

    text: requests.Text
    leaves: tuple[str, ...]
    days: Annotated[int, msgspec.Meta(ge=1, le=365)] = 7
    is_fresh: bool = False
    """Whether rows added since then are counted, though earlier tables can answer."""


Decision = Accept | Refuse | Withdraw | TryOut | Join | Evict | Ask


class Preview(msgspec.Struct, frozen=True):
    """A question before it is asked."""

    title: str
    leaves: tuple[str, ...]


class Desk:
    """One member's folder, for its operator."""

    def __init__(self, reading: StudyReading) -> None:
        self._reading = reading
        self._questions = _Kept(lambda: list(reading.questions()))
        self._entries = _Kept(reading.disclosures)
        # An answer does not change once all members have signed it.
        self._answer = functools.lru_cache(_MOST_ANSWERS)(functools.partial(make_answer, reading))

    def look(self) -> dict[str, Any]:
        """Return the lists: the membership, questions, pending decisions, the record."""
        status = self._reading.status()
        if status is None:
            raise InputError("This peer has never run: start it with pairgossip peer run.")
        everything = self._questions.read(self._reading.home.folder / "questions")
        return {
            "running": self._reading.is_running,
            "status": _describe_status(status),
            "questions": [_describe_question(one) for one in self._list_questions(everything)],
            "pending": [_describe(one) for one in self._pending()],
            "record": self._describe_record(everything),
        }

    def question(self, number: str) -> dict[str, Any]:
        """Return a question, and its text as a file has it."""
        question = self._reading.question(number)
        return {"question": _describe_question(question), "toml": _write_text(question.text)}

    def result(self, number: str) -> dict[str, Any]:
        """Return a signed result as HTML, and the kinds of files it can be saved as."""
        return {"html": self._answer(number).page.to_markup(), "files": ["html", "json"]}

    def result_file(self, number: str, kind: str) -> bytes:
        """Return a signed result as a file to pass on."""
        return self._answer(number).to_file(kind)

    def check_record(self) -> str:
        """Check the record of disclosures; raise `InputError` for the first line changed."""
        lines = format_count(self._reading.verify_disclosures(), "line")
        return f"The record is as it was written: {lines}, each with the digest of the one before."

    def preview(self, text: str, *, is_fresh: bool) -> Preview:
        """Return what a question would send from this machine, before it is asked."""
        if not self._reading.is_running:
            raise InputError("The peer is stopped: start it with pairgossip peer run, then ask.")
        asked = parse_question(text)
        reply = self._carry_out(requests.Draft(asked, is_fresh))
        if not reply.sentences:
            raise InputError(_NO_PREVIEW)
        return Preview(title_of(asked), reply.sentences)

    def decide(self, decision: Decision) -> Reply:
        """Write a decision as a request, and return the peer's answer."""
        if not self._reading.is_running and isinstance(decision, TryOut):
            raise InputError("The peer is stopped: start it with pairgossip peer run, then try.")
        return self._carry_out(self._make_request(decision))

    def _carry_out(self, request: AnyRequest) -> Reply:
        key = self._reading.requests.write(request)
        if not self._reading.is_running:
            return Reply(_WRITTEN)
        reply = self._reading.requests.wait(key, _PATIENCE) or Reply(_LATE)
        if not reply.is_done:
            raise InputError(reply.sentence)
        return reply

    def _make_request(self, decision: Decision) -> AnyRequest:
        match decision:
            case Accept(question, leaves):
                asked = self._named(question)
                if asked.leaves != leaves:
                    raise InputError(_CHANGED)
                return requests.Accept(asked.name, words=digest_words(leaves).hex())
            case Refuse(question, because):
                return requests.Refuse(self._named(question).name, because)
            case Withdraw(question, because):
                return requests.Withdraw(self._named(question).name, because)
            case TryOut(question):
                return requests.TryOut(self._named(question).name)
            case Join(member):
                return requests.Join((self._find_card(member),))
            case Evict(member):
                return requests.Evict(self._find_card(member).id)
            case Ask(text, leaves, days, is_fresh):
                expires = int(time.time()) + days * _DAY
                words = digest_words(leaves).hex()
                return requests.Ask(parse_question(text), expires, is_fresh, words=words)

    def _named(self, name: str) -> QuestionStatus:
        """Return the question that has exactly this name."""
        question = self._reading.question(name)
        if question.name != name:
            raise InputError(f"There is no question {clean_text(name, 64)} here.")
        return question

    def _find_card(self, member: str) -> Card:
        """Return the card of a proposed member, if its parts belong together."""
        status = self._reading.status()
        for one in () if status is None else status.members:
            if one.card.id == member:
                check_card(one.card)
                return one.card
        raise InputError(f"Nobody with the id {clean_text(member, 64)} is a member, or is to be.")

    def _list_questions(self, everything: Sequence[QuestionStatus]) -> Iterator[QuestionStatus]:
        """Yield all open questions, and the last ended ones; the newest first."""
        newest = sorted(everything, key=lambda one: -one.number)
        over = {one.number for one in [one for one in newest if one.is_over][:_MOST_OVER]}
        return (one for one in newest if not one.is_over or one.number in over)

    def _pending(self) -> Iterator[AnyRequest]:
        for request in self._reading.waiting():
            if not isinstance(request, InputError):
                yield request

    def _describe_record(self, everything: Sequence[QuestionStatus]) -> dict[str, Any]:
        """Return the number of lines, and the contents of the last ones."""
        entries = self._entries.read(self._reading.home.disclosures)
        numbers = {one.name: one.number for one in everything}
        last = [
            {
                "when": one.when,
                "number": numbers.get(one.question),
                "sentence": _EVENTS.get(one.event, clean_text(one.event)),
            }
            for one in reversed(entries[-_MOST_LINES:])
        ]
        return {"lines": len(entries), "last": last}


class _Kept(Generic[T]):
    """The content read from a place, until the place changes."""

    def __init__(self, read: Callable[[], Sequence[T]]) -> None:
        self._read = read
        self._content: Sequence[T] = ()
        self._stamp: tuple[int, int] | None = None

    def read(self, place: Path) -> Sequence[T]:
        """Return the content; it is read again if it may have changed."""
        try:
            facts = place.stat()
        except OSError:
            return ()
        stamp = (facts.st_mtime_ns, facts.st_size)
        # Of two changes in one moment the second leaves the same stamp as the first.
        if stamp != self._stamp or time.time_ns() - facts.st_mtime_ns < _MOMENT:
            self._content, self._stamp = self._read(), stamp
        return self._content


def _describe_question(question: QuestionStatus) -> dict[str, Any]:
    """Return a question without its text, which may be long and is shown on its own page."""
    facts: dict[str, Any] = msgspec.to_builtins(question)
    del facts["text"]
    return facts


def _write_text(text: str) -> str:
    """Return a specification as TOML, or as it is where this version cannot read it."""
    try:
        return write_toml(text)
    except InputError:
        return printable(text)


def _describe(request: AnyRequest) -> dict[str, Any]:
    """Describe a pending request."""
    match request:
        case requests.Join(cards):
            return {"request": "join", "members": [card.id for card in cards]}
        case requests.Evict(member):
            return {"request": "evict", "members": [member]}
        case requests.Accept() | requests.Refuse() | requests.Withdraw():
            return {"request": type(request).__name__.lower(), "question": request.question}
    return {"request": type(request).__name__.lower()}


def _describe_status(status: StudyStatus) -> dict[str, Any]:
    """Return the status without parts that no page needs, such as certificates."""
    members = [
        {
            "card": {"id": one.card.id, "name": one.card.name},
            "is_listed": one.is_listed,
            "is_accepted": one.is_accepted,
        }
        for one in status.members
    ]
    return {**msgspec.to_builtins(status), "members": members}
