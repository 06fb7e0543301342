"""The check of a study's answers, from the members' folders after they have stopped.

Sums under masks are computed again from the members' sources, without masks; signed results are
checked by their signatures; and the values of one member's rows are searched for in the files of
the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import msgspec

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.peer.identity.certificates import is_signed
from pairgossip.peer.identity.identity import load_identity
from pairgossip.peer.protocol.program import Disagreement
from pairgossip.peer.reports.catalog import has_statistic
from pairgossip.peer.signed_result import SignedResult
from pairgossip.peer.sums.results import Result
from pairgossip.peer.sums.tables import digest_table
from pairgossip.study.protocol.records import (
    AnyRecord,
    BadRecord,
    MemberList,
    Question,
    Statement,
    Yes,
    decode,
    payload_of,
)
from pairgossip.study.service.reading import StudyReading
from pairgossip.study.service.reporter import title_of
from pairgossip.study.storage.disclosures import Disclosures, Entry
from pairgossip.study.storage.folder import StudyHome
from pairgossip.study.storage.journal import StudyJournal
from pairgossip.study.storage.signed import list_of, read_answer
from pairgossip.swarm.plain_answers import Plain, PlainAnswers
from pairgossip.swarm.plan import exact_value
from pairgossip.swarm.row_search import RowSearch, numbers_in
from pairgossip.text import format_count

_TOLERANCE = 1e-9
"""Largest relative error of sums that are computed in another order."""
"""The room of notes with the last line of the record of disclosures."""
_FAILURES = (InputError, Disagreement, ArithmeticError, LookupError, ValueError)
"""Errors of a check on altered files, which it reports."""


class Answered(NamedTuple):
    """A question that all members have answered, and have signed alike."""

    name: bytes
    title: str
    result: Result
    exact: float | None
    """The statistic of all rows that it uses, from all their pairs or ranks."""
    adding: int
    """The number of members with such rows."""
    seconds: float | None = None
    """The time from the question until all had the answer, if it was measured."""


@dataclass(frozen=True)
class StudyAudit:
    """The contents of the members' folders, and whether they are right."""

    answers: tuple[Answered, ...]
    signatures: int
    """The number of signatures checked."""
    disclosures: int
    """The number of lines of all records of disclosures, each chained to the one before."""
    searched: int
    """The number of values of rows searched for in the files of other members."""
    violations: tuple[str, ...]
    """The violations, one sentence each."""

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong, and all questions are answered, if the run was not
        interrupted."""
        return not self.violations

    @property
    def due(self) -> int:
        """The number of values there must be."""
        return sum(one.exact is not None for one in self.answers)

    def errors(self, exact: float | None) -> list[float]:
        """Return the relative error of each answer for which the value of all rows is known."""
        both = ((one.result.value, one.exact) for one in self.answers)
        return [
            abs(value - own) / (abs(own) or 1.0)
            for value, own in both
            if value is not None and own is not None
        ]


@dataclass
class _Member:
    """One member's folder, opened."""

    home: StudyHome
    journal: StudyJournal
    id: str
    name: str
    log: Path | None
    record: Sequence[Entry] = ()
    """Its disclosures; empty if they were changed."""
    results: dict[bytes, SignedResult] = field(default_factory=dict)
    """The results that are as they were signed."""


def audit_study(
    homes: Sequence[StudyHome], logs: Sequence[Path] = (), missing: Sequence[str] = ()
) -> StudyAudit:
    """Read all members' folders, and their logs if there are any; no member may be running.

    ``missing`` describes expected events that have not happened.
    """
    audit = _Audit(list(missing))
    try:
        for number, home in enumerate(homes):
            with audit.noting(home.folder.name):
                audit.open(home, logs[number] if logs else None)
        return audit.make()
    finally:
        for one in audit.members:
            one.journal.close()


class _Audit:
    """An audit while it runs."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        self.members: list[_Member] = []
        self._signatures = self._lines = 0
        self._keys: Counter[bytes] = Counter()

    def open(self, home: StudyHome, log: Path | None) -> None:
        """Open a folder."""
        identity = load_identity(home.folder)
        journal = StudyJournal(home.database, home.secrets)
        self.members.append(_Member(home, journal, identity.id, identity.name, log))

    @contextmanager
    def noting(self, who: str) -> Iterator[None]:
        """Note the reason why a check cannot be made."""
        try:
            yield
        except _FAILURES as problem:
            self.problems.append(f"{who}: {problem}")

    def make(self) -> StudyAudit:
        """Make all checks."""
        for one in self.members:
            with self.noting(one.name):
                one.record = self._read_record(one)
            self._read_results(one)
        plain, answers = PlainAnswers(self.members), list[Answered]()
        names = dict.fromkeys(name for one in self.members for name in one.results)
        for name in names:
            with self.noting(f"question {name.hex()[:12]}"):
                answers.append(self._check_answer(name, plain))
        for one in self.members:
            with self.noting(one.name):
                self.problems += [*_check_record(one), *_check_secrets(one)]
        searched = self._search(plain, answers)
        return StudyAudit(
            tuple(answers), self._signatures, self._lines, searched, tuple(self.problems)
        )

    def _read_record(self, one: _Member) -> Sequence[Entry]:
        """Return a member's disclosures, if no line was changed, and none is missing at the end."""
        record = Disclosures(one.home.disclosures)
        self._lines += record.verify(one.journal)
        return record.entries()

    def _read_results(self, one: _Member) -> None:
        """Read a member's results; the signatures of all members must be right."""
        done = [entry.question for entry in one.record if entry.event in ("answered", "read")]
        files = [path.stem for path in one.home.results.glob("*.json")]
        for name in dict.fromkeys([*done, *files]):
            with self.noting(one.name):
                signed = read_answer(one.home, bytes.fromhex(name))
                one.results[bytes.fromhex(name)] = signed
                self._signatures += len(signed.signatures)

    # Answers

    def _check_answer(self, name: bytes, plain: PlainAnswers) -> Answered:
        """Compare an answer at all members, and with that of their sources."""
        having = [one for one in self.members if name in one.results]
        signed = having[0].results[name]
        question, yeses, members = self._read_question(having, name)
        title = title_of(question.text)
        called = {one.id: one.name for one in self.members}
        for one in self.members:
            if one.id in members.ids and one not in having:
                self.problems.append(f"{one.name} has no answer to '{title}', which others have.")
        for one in having:
            other = one.results[name]
            if (other.result, other.transcript) != (signed.result, signed.transcript):
                self.problems.append(f"{one.name} has another answer to '{title}' than others.")
            if one.id not in members.ids:
                self.problems.append(f"{one.name} was no member when '{title}' was asked.")
            self._check_table(one, title, other.result)
        if set(yeses) - set(members.ids) or (question.adds and set(yeses) != set(members.ids)):
            who = [called.get(it, it[:12]) for it in sorted(set(yeses) ^ set(members.ids))]
            self.problems.append(f"'{title}' is not by the yeses of its members: {who[0]}.")
        found = plain.answer(name, question, yeses, members)
        exact = self._compare(title, signed.result, found)
        return Answered(name, title, signed.result, exact, found.members)

    def _read_question(
        self, having: Sequence[_Member], name: bytes
    ) -> tuple[Question, dict[str, Yes], MemberList]:
        """Return a question, its yeses, and its members, as kept by all members that answered
        it."""
        kept = {}
        for one in having:
            for content, record in _read_records(one, name):
                if isinstance(record, Question | Yes | Statement):
                    kept[content] = record
        question = next((one for one in kept.values() if isinstance(one, Question)), None)
        if question is None:
            raise InputError("No member that has answered it keeps the question itself.")
        lists = (list_of(one.journal, question.list) for one in having)
        members = next(filter(None, lists), None)
        if members is None:
            raise InputError("No member that has answered it keeps the list of members.")
        yeses: dict[str, Yes] = {}
        for record in kept.values():
            card = members.cards.get(record.member)
            if card is None or not is_signed(
                card.certificate, payload_of(record), record.signature
            ):
                kind = type(record).__name__.lower()
                self.problems.append(f"A {kind} is not signed by its member, {record.member[:12]}.")
            self._signatures += 1
            if isinstance(record, Yes):
                if record.member in yeses:
                    self.problems.append(f"Two yeses of {record.member[:12]} are kept.")
                yeses[record.member] = record
                self._note_key(record)
        return question, yeses, members

    def _note_key(self, yes: Yes) -> None:
        """Check that a key serves once: masks follow from the keys of yeses, and would be the
        same."""
        self._keys[yes.key] += 1
        if self._keys[yes.key] == 2:
            self.problems.append(f"A key of {yes.member[:12]} has served for two questions.")

    def _check_table(self, one: _Member, title: str, result: Result) -> None:
        if result.table is None:
            return
        path = one.home.tables / f"{result.generation[8:]}.table"  # type: ignore[index]
        if not path.exists() or digest_table(path.read_bytes()).hex() != result.table:
            self.problems.append(f"The table of '{title}' at {one.name} is not the one signed.")

    def _compare(self, title: str, result: Result, plain: Plain) -> float | None:
        """Compare a result with that of the sources; return the value from all pairs of rows."""
        if plain.result is not None:
            same = msgspec.structs.replace(plain.result, versions=result.versions)
            if same != result:
                self.problems.append(f"The answer to '{title}' is not that of the members' rows.")
        if not len(plain.rows) or result.value is None or not has_statistic(plain.spec):
            return None
        exact = exact_value(plain.spec, plain.rows)
        if exact is not None and result.bracket is not None:
            low, high = result.bracket
            slack = _TOLERANCE * max(abs(low), abs(high))
            if not low - slack <= exact <= high + slack:
                self.problems.append(
                    f"The value of all rows, {exact:.6g}, is not in the bracket of '{title}'."
                )
        return exact

    # Files

    def _search(self, plain: PlainAnswers, answers: Sequence[Answered]) -> int:
        """Search for the rows of each member in the files of the others."""
        rows, public = dict[str, FloatArray](), list[float]()
        for one in self.members:
            with self.noting(one.name):
                rows[one.name] = plain.numbers_of(one.id)
                public += _numbers_in_questions(one)
        for answer in answers:
            public += numbers_in(msgspec.json.encode(answer.result))
        if not rows:
            return 0
        search = RowSearch(rows, [*public, *(-one for one in public)])
        for one in self.members:
            folder = one.home.folder
            files = [*folder.rglob("*"), *(() if one.log is None else (one.log,))]
            self.problems += search.find(one.name, filter(Path.is_file, files))
        return search.count


def _read_records(one: _Member, name: bytes) -> Iterator[tuple[bytes, AnyRecord]]:
    """Yield a member's records of a question, as bytes and read."""
    for content in one.journal.records_of(name):
        try:
            yield content, decode(content)
        except BadRecord:
            raise InputError(f"A record that {one.name} keeps is damaged.") from None


def _numbers_in_questions(one: _Member) -> Iterator[float]:
    """Yield the numbers in the texts of all questions, which all members have."""
    for name in one.journal.numbers.values():
        for _, record in _read_records(one, name):
            if isinstance(record, Question):
                yield from numbers_in(record.text.encode())


def _check_record(one: _Member) -> Iterator[str]:
    """Find words that were shown twice, or without a yes, or answers without any words."""
    events: dict[str, list[Entry]] = {}
    for entry in one.record:
        events.setdefault(entry.question, []).append(entry)
    for name, entries in events.items():
        kinds = Counter(entry.event for entry in entries)
        shown = [entry.about.get("round") for entry in entries if entry.event == "shown"]
        what = f"question {name[:12]}"
        if len(shown) != len(set(shown)):
            yield f"{one.name} has shown its words for {what} twice."
        if shown and not kinds["accepted"]:
            yield f"{one.name} has shown words for {what} without a yes."
        if kinds["answered"] and not shown:
            yield f"{one.name} has answered {what} without showing words."
        if max(kinds["answered"], kinds["read"]) > 1:
            yield f"{one.name} has answered {what} twice."


def _check_secrets(one: _Member) -> Iterator[str]:
    """Find keys that are kept though they serve no open question."""
    questions = list(StudyReading(one.home).questions())
    left = list(one.home.secrets.glob("*.secret"))
    if left and all(question.is_over for question in questions):
        yield f"{one.name} keeps {format_count(len(left), 'key')} of questions that are over."
