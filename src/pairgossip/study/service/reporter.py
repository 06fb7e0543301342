"""Writes the state of a study's peer to files, for commands, pages and metrics."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from pairgossip.errors import InputError
from pairgossip.peer.identity.members import Member as Neighbor
from pairgossip.peer.protocol.events import Event
from pairgossip.peer.reports.catalog import find_report
from pairgossip.peer.service.status import NeighborStatus
from pairgossip.peer.specification.canonical_text import decode_spec
from pairgossip.study.protocol.records import NO_DIGEST, Card, MemberList
from pairgossip.study.protocol.study import Phase, Progress, Study
from pairgossip.study.rows.journey import OwnEstimate, read_estimate
from pairgossip.study.service import status as files
from pairgossip.study.service.links import Certificates, Links
from pairgossip.study.service.membership import keep_list
from pairgossip.study.service.requests import Requests
from pairgossip.study.service.status import (
    Ending,
    Member,
    Proposal,
    QuestionStatus,
    StudyStatus,
)
from pairgossip.study.site.layouts import rows_travel
from pairgossip.study.site.member_site import MemberSite
from pairgossip.study.storage.folder import StudyHome
from pairgossip.study.storage.journal import StudyJournal
from pairgossip.study.storage.signed import read_answer
from pairgossip.study.storage.snapshots import find_unheeded
from pairgossip.text import clean_text, join_names

_OVER = ("done", "ended")
"""Phases after which nothing more happens."""
_SETTLED = (
    *("asked_by", "is_own", "text", "title"),
    *("expires", "reads", "adds", "corrects", "travels"),
)
"""The parts of a question that never change."""
_LONGEST = 2_000
"""Largest number of characters of a member's sentence; a longer one is cut."""
_LONGEST_KEPT = 4_000
"""Largest number of characters of a specification that is kept after a question without result."""
_LEFT_OUT = (
    "The others have left this peer out of their list: it answers no question any more, and can "
    "come back only by a new invitation."
)
_LET_GO = (
    "The others have left this peer out of their list, as it has asked: it answers no question any "
    "more, and its process can be stopped."
)
_FORGOTTEN = "Nothing has left: the question ended, and its long text is not kept."


class StudyReporter:
    """Follows one peer, in its thread."""

    def __init__(
        self,
        home: StudyHome,
        study: Study,
        site: MemberSite,
        journal: StudyJournal,
        me: Card,
    ) -> None:
        self._home, self._study, self._me = home, study, me
        self._site, self._journal = site, journal
        self._requests = Requests(home.folder)
        self._links = Links(home.read_settings().relay)
        self._certificates = Certificates(home, me)
        self._unreached: tuple[str, ...] = ()
        self._known: dict[bytes, Progress] = {}
        self._written: dict[bytes, QuestionStatus] = {}
        self._estimates: dict[bytes, OwnEstimate | None] = {}
        """This peer's estimates when they were last written."""
        self._list: MemberList | None = None
        self._heard_at: dict[str, float] = {}
        self._started = time.time()
        self._fatal: str | None = None
        self._names: dict[str, str] = {me.id: me.name}
        self._is_settled = False
        self.status: StudyStatus | None = None

    def note_frame(self, sender: str) -> None:
        """Note that a neighbor was heard."""
        self._heard_at[sender] = time.time()

    def fail(self, sentence: str) -> None:
        """Keep the reason why the peer ends."""
        self._fatal = sentence

    def report(
        self,
        counts: Mapping[str, int],
        neighbors: Sequence[Neighbor],
        connected: set[str],
        versions: Mapping[str, int],
        *,
        is_due: bool,
        is_last: bool,
    ) -> None:
        """Write the news of questions; of the membership if that is due, or has changed."""
        # After a failure memory is ahead of the disk, which has no numbers for new questions.
        has_changed = self._fatal is None and self.follow(is_due=is_due)
        if has_changed or is_due or is_last:
            self._unreached = tuple(self._links.problems(neighbors, connected, versions))
            self.status = self._describe(counts, neighbors, connected, is_last)
            files.write_status(self._home, self.status)

    def follow(self, *, is_due: bool = False) -> bool:
        """Write the news of the list and of questions; return whether there is any.

        If due, also write what would leave now for questions without a yes of this peer.
        """
        has_list = self._follow_list()
        return self._follow_questions(is_due=is_due) or has_list

    def _follow_list(self) -> bool:
        """Keep the list with its signatures once it has changed."""
        current = self._study.members
        if current is None or current == self._list:
            return False
        self._list = current
        keep_list(self._home, current, self._journal.records_of(NO_DIGEST))
        return True

    def _follow_questions(self, *, is_due: bool) -> bool:
        """Write the questions that have changed."""
        now = {one.name: one for one in self._study.questions}
        changed = [
            one
            for name, one in now.items()
            if self._has_changed(name, one) or (is_due and self._is_reworded(name, one))
        ]
        gone = [one for name, one in self._known.items() if name not in now]
        for one in changed:
            self._write(one)
        for one in gone:
            if one.phase not in _OVER:  # it ended between two reports
                self._write(one._replace(phase=self._end_of(one)))
        if not self._is_settled:
            self._settle(set(now))
        self._known = now
        self._estimates = {name: self._find_estimate(name) for name in now}
        self._written = {name: one for name, one in self._written.items() if name in now}
        return bool(changed or gone)

    def _has_changed(self, name: bytes, progress: Progress) -> bool:
        """Return whether a question has moved on, or the estimate of one whose rows travel."""
        estimate = self._find_estimate(name)
        is_newer = estimate is not None and estimate is not self._estimates.get(name)
        return is_newer or self._known.get(name) != progress

    def _find_estimate(self, name: bytes) -> OwnEstimate | None:
        """Return the last estimate of a question whose rows travel; None before this process's."""
        journey = self._site.journeys.get(name)
        return None if journey is None else journey.estimate

    def _is_reworded(self, name: bytes, progress: Progress) -> bool:
        """Return whether the words about what would leave have changed."""
        before = self._written.get(name)
        if before is None or progress.phase != "asked":
            return False
        return before.leaves != self._say_what_leaves(progress, before)

    def _settle(self, known: set[bytes]) -> None:
        """Record the end of questions that ended in an earlier process."""
        self._is_settled = True
        for number in files.list_numbers(self._home):
            before = files.read_question(self._home, number)
            if before is None or before.is_over or (name := bytes.fromhex(before.name)) in known:
                continue
            line = self._study.archived.get(name)
            changes: dict[str, Any] = {"phase": "ended", "awaited": (), "needs_operator": False}
            if before.travels:
                changes["own"] = read_estimate(self._home.results, name)
            if line is not None and line.kind == "done":
                changes |= {"phase": "done", **self._find_answer(name)}
            elif line is not None:
                changes["ending"] = Ending(line.kind, "", clean_text(line.because, _LONGEST))
            is_disclosed = before.is_disclosed or (line is not None and line.is_disclosed)
            changes["is_disclosed"] = is_disclosed
            self._keep(msgspec.structs.replace(before, **changes))

    def _keep(self, question: QuestionStatus) -> None:
        """Write a question, but leave out the long text of others' questions without result."""
        is_nothing = question.phase == "ended" and not question.is_disclosed
        if is_nothing and not question.is_own and len(question.text) > _LONGEST_KEPT:
            question = msgspec.structs.replace(question, text="", leaves=(_FORGOTTEN,))
        files.write_question(self._home, question)

    def _end_of(self, progress: Progress) -> Phase:
        """Return the end of a question that is not followed any more."""
        try:
            read_answer(self._home, progress.name)
        except InputError:
            return "ended"
        return "done"

    def _write(self, progress: Progress) -> None:
        """Write the state of a question, with the parts that never change."""
        number = self._journal.number_of(progress.name)
        before = files.read_question(self._home, number)
        now = time.time()
        facts = self._find_answer(progress.name) if progress.phase == "done" else {}
        written = QuestionStatus(
            number=number,
            name=progress.name.hex(),
            seen=now if before is None else before.seen,
            changed=before.changed if before and before.phase == progress.phase else now,
            **(self._describe_question(progress) if before is None else _settled(before)),
            leaves=self._say_what_leaves(progress, before),
            **self._describe_progress(progress),
            own=self._find_own(progress),
            **facts,
        )
        self._written[progress.name] = written
        self._keep(written)

    def _describe_question(self, progress: Progress) -> dict[str, Any]:
        """Return the parts of a question that never change."""
        question = progress.question
        return {
            "asked_by": self._name(question.member),
            "is_own": question.member == self._me.id,
            "text": question.text,
            "title": title_of(question.text),
            "expires": float(question.expires),
            "reads": tuple(self._numbers(question.reads)),
            "adds": question.adds,
            "travels": rows_travel(question.text),
            "corrects": next(self._numbers([question.corrects]), None),
        }

    def _say_what_leaves(
        self, progress: Progress, before: QuestionStatus | None
    ) -> tuple[str, ...]:
        """Return the words for what leaves; they stay the same once this peer has said yes."""
        if before is not None and self._me.name in before.yeses:
            return before.leaves
        try:
            return tuple(self._site.describe(progress.question))
        except InputError as problem:
            return (clean_text(problem, _LONGEST),)

    def _find_own(self, progress: Progress) -> OwnEstimate | None:
        """Return this peer's own estimate where rows travel, or have."""
        if not rows_travel(progress.question.text):
            return None
        return read_estimate(self._home.results, progress.name)

    def _numbers(self, names: Iterable[bytes | None]) -> Iterator[int]:
        """Yield the numbers of questions; those that were never seen here have none."""
        for name in names:
            if name is not None:
                with contextlib.suppress(KeyError):
                    yield self._journal.number_of(name)

    def _describe_progress(self, progress: Progress) -> dict[str, Any]:
        ending = progress.ending
        return {
            "phase": progress.phase,
            "yeses": self._names_of(progress.yeses),
            "awaited": self._names_of(progress.awaited),
            "round": progress.round,
            "ending": None
            if ending is None
            else Ending(ending.kind, self._name(ending.who), clean_text(ending.because, _LONGEST)),
            "is_disclosed": progress.is_disclosed,
            "lie": None if progress.lie is None else self._name(progress.lie),
            "needs_operator": progress.needs_operator,
            "notice": self._site.say_if_nothing(progress.name),
        }

    def _find_answer(self, name: bytes) -> dict[str, Any]:
        """Return the figures that all have signed."""
        self._site.keep_signed()
        try:
            result = read_answer(self._home, name).result
        except InputError:
            return {}
        return {"value": result.value, "interval": result.interval, "rows": result.rows}

    def _describe(
        self,
        counts: Mapping[str, int],
        neighbors: Sequence[Neighbor],
        connected: set[str],
        is_last: bool,
    ) -> StudyStatus:
        return StudyStatus(
            name=self._me.name,
            id=self._me.id,
            study=None if self._list is None else self._study.name.hex(),
            list=None if self._present is None else self._present.digest.hex(),
            members=tuple(self._members()),
            proposals=tuple(map(self._describe_proposal, self._study.proposals)),
            leavers=self._names_of(self._study.lists.leavers),
            **self._count_questions(),
            disk_free=shutil.disk_usage(self._home.folder).free,
            requests=self._requests.count(),
            batches=tuple(batch.rows for batch in self._site.batches),
            neighbors={one.name: self._neighbor(one, connected) for one in neighbors},
            counts=dict(counts),
            refused={
                one: count
                for one, count in counts.items()
                if isinstance(one, Event) and one.is_refusal
            },
            problems=tuple(self._problems(neighbors)),
            pid=os.getpid(),
            started=self._started,
            updated=time.time(),
            stopped=is_last,
        )

    def _count_questions(self) -> dict[str, Any]:
        """Count the questions that are open, and those that have ended."""
        open_ = [one for one in self._written.values() if not one.is_over]
        waiting = [one for one in open_ if one.needs_operator]
        over = [one for one in self._study.archived.values() if one.kind != "history"]
        shown = (one.is_disclosed for one in over)
        phases: dict[str, list[QuestionStatus]] = {}
        for one in open_:
            phases.setdefault(one.phase, []).append(one)
        return {
            "phases": {phase: len(found) for phase, found in phases.items()},
            "awaited": {
                phase: len({who for one in found for who in one.awaited})
                for phase, found in phases.items()
            },
            "since": {phase: min(one.changed for one in found) for phase, found in phases.items()},
            "waiting": tuple(sorted(one.number for one in waiting)),
            "waiting_since": min((one.seen for one in waiting), default=None),
            "over": dict(Counter(one.kind for one in over)),
            "disclosed": [*shown, *(one.is_disclosed for one in open_)].count(True),
            "lies": len({one.lie for one in self._written.values()} - {None}),
        }

    def _members(self) -> Iterator[Member]:
        """Yield all members of the list, and all that a proposal would add, by name."""
        listed = () if self._present is None else self._present.members
        proposed = [card for one in self._study.proposals for card in one.members]
        accepted = self._study.accepted
        cards = {card.id: card for card in (*accepted, *proposed, *listed, self._me)}
        self._names |= {card.id: card.name for card in cards.values()}
        by_hand = {self._me.id, *(card.id for card in accepted)}
        for card in sorted(cards.values(), key=lambda one: one.name):
            yield Member(card, card in listed, card.id in by_hand)

    @property
    def _present(self) -> MemberList | None:
        """The list that the others follow, with this peer or without it."""
        return self._study.lists.evicted_by() or self._list

    def _describe_proposal(self, proposal: MemberList) -> Proposal:
        before = set() if self._list is None else set(self._list.ids)
        signed = self._study.lists.signers(proposal.digest)
        return Proposal(
            self._names_of(one for one in proposal.ids if one not in before),
            self._names_of(one for one in before if one not in proposal.ids),
            self._names_of(signed),
            self._names_of(one for one in proposal.ids if one not in signed),
        )

    def _neighbor(self, neighbor: Neighbor, connected: set[str]) -> NeighborStatus:
        heard_at = self._heard_at.get(neighbor.id)
        return NeighborStatus(
            agreed=heard_at is not None,
            connected=neighbor.id in connected,
            heard=None if heard_at is None else time.time() - heard_at,
            address=neighbor.address,
        )

    def _problems(self, neighbors: Sequence[Neighbor]) -> Iterator[str]:
        """Yield the problems for the operator, each with its remedy."""
        if self._fatal is not None:
            yield self._fatal
        if self._study.lists.evicted_by() is not None:
            yield _LET_GO if self._me.id in self._study.lists.leavers else _LEFT_OUT
        yield from map(self._describe_misnamed, sorted(self._study.lists.misnamed))
        for name in self._names_of(self._study.lists.liars):
            yield f"'{name}' has signed a list, and that it never will: ask why, and who is on it."
        for sentence in self._requests.unread_refusals():
            yield f"In the last day a request was refused that had waited for this peer: {sentence}"
        yield from self._find_unheeded()
        yield from self._unreached
        yield from self._certificates.problems(neighbors)
        for one in self._written.values():
            if one.lie is not None:
                who, number = one.lie, one.number
                yield f"'{who}' has signed two different things about question {number}: ask why."

    def _find_unheeded(self) -> Iterator[str]:
        """Yield the operator's settings that have no effect, though they look as if they had."""
        try:
            settings = self._home.read_settings()
        except InputError as problem:
            yield f"{problem} {files.UNREAD}"
        else:
            yield from find_unheeded(settings, list(self._site.batches), self._me.name)

    def _describe_misnamed(self, member: str) -> str:
        if member == self._me.id:
            return (
                "Another member was invited by an earlier invitation of this peer, made with "
                "another address or policy: start this peer again, run peer invite, and let all "
                "others join what it prints."
            )
        return (
            f"'{self._name(member)}' has another address or policy than its invitation here says: "
            "ask its operator for a new invitation, and join it."
        )

    def _name(self, member: str) -> str:
        """Return a member's name, or the beginning of its id if the name is not known."""
        if member not in self._names:
            for _ in self._members():  # reads all names
                pass
        return self._names.get(member, member[:16])

    def _names_of(self, members: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted(map(self._name, members)))


def title_of(text: str) -> str:
    """Describe a specification's question in words; members' words are made harmless."""
    try:
        spec = decode_spec(text)
    except InputError:
        return "a specification that this version cannot read"
    if spec.report is not None:
        return clean_text(find_report(spec.report).title(spec))
    columns = join_names(spec.columns)
    label = "" if spec.label is None else f" by {spec.label}"
    return clean_text(f"{spec.kernel or spec.loss} of {columns}{label}")


def _settled(before: QuestionStatus) -> dict[str, Any]:
    return {name: getattr(before, name) for name in _SETTLED}
