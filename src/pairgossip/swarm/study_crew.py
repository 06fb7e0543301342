"""The members of a swarm that is a study: created, asked, joined, left; and their books."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import msgspec

from pairgossip.files import write_text
from pairgossip.peer.identity.identity import load_identity
from pairgossip.peer.reading import PeerReading, SwarmReading
from pairgossip.study.protocol.records import Card
from pairgossip.study.service.invitations import read_invitations, write_invitation
from pairgossip.study.service.membership import find_card, read_list
from pairgossip.study.service.outside import read_member
from pairgossip.study.service.reading import explain
from pairgossip.study.service.requests import AnyRequest, Ask, Join, Leave, Reply, Requests
from pairgossip.study.service.status import StudyStatus, read_question, read_status
from pairgossip.study.storage.folder import StudyHome
from pairgossip.study.storage.signed import path_of, read_answer
from pairgossip.swarm.member import detours_of
from pairgossip.swarm.processes import PeerProcess, Remains
from pairgossip.swarm.study_audit import StudyAudit, audit_study

if TYPE_CHECKING:
    from pairgossip.swarm.running import Place
    from pairgossip.swarm.study_plan import Planned, StudyPlan

PROGRAM: Sequence[str] = ("-P", "-m", "pairgossip.study")
"""The module behind `peer run`; a start through the command line would cost twice as much."""
DETOURED: Sequence[str] = ("-P", "-m", "pairgossip.swarm.member")
"""The module for members whose links can be cut."""
_DAY = 86_400
"""Number of seconds for which a question stays open."""
_MOST_TRIES = 5
"""Largest number of times that a question is asked if it ends without an answer."""
_UNFINISHED = 30.0
"""Seconds after which a question that has ended after its words were shown is given up: until then
its missing statements may come, as from a member that has left meanwhile."""
_AGAIN = 1.0
"""Seconds after which a peer gets a request again that it could not carry out."""


class MemberPeer(PeerProcess):
    """A study's member."""

    @property
    def program(self) -> Sequence[str]:
        """The arguments of Python, before the folder, that run the peer."""
        return DETOURED if detours_of(self.folder).exists() else PROGRAM

    @property
    def home(self) -> StudyHome:
        """The folder."""
        return StudyHome(self.folder)

    @property
    def list(self) -> frozenset[str]:
        """The ids of the members on its list; empty before there is a list."""
        signed = read_list(self.home)
        return frozenset() if signed is None else frozenset(signed.list.ids)

    @property
    def card(self) -> Card:
        """Its card for the lists of others, from its invitation."""
        identity = load_identity(self.folder)
        line = write_invitation(find_card(self.home, identity), identity.sign)
        return read_invitations(line)[0].card

    def _read_status(self) -> StudyStatus | None:
        return read_status(self.home)

    def _describe(self) -> PeerReading:
        status = self.status
        return read_member(
            self.home, status if isinstance(status, StudyStatus) else None, self.state
        )

    @property
    def has_worked(self) -> bool:
        """Whether the present process has reported anything."""
        return self.status is not None

    def remains(self) -> Remains:
        """Read the state that a killed process has left; the next one begins with it."""
        status = read_status(self.home)
        has_open = status is not None and bool(status.phases)
        return Remains(has_worked=True, lacks_answers=has_open)


@dataclass
class _Errand:
    """A request to a peer, repeated until it is carried out."""

    peer: MemberPeer
    make: Callable[[], AnyRequest]
    reply: Reply | None = None
    refusal: str = ""
    """The reason why it failed the last time."""
    _key: str | None = None
    _next: float = 0.0

    def look(self, now: float) -> Reply | None:
        """Return the answer once it is done; None until then."""
        requests = Requests(self.peer.folder)
        if self._key is None and now >= self._next and self.reply is None:
            self._key = requests.write(self.make())
        elif self._key is not None and (reply := requests.wait(self._key, -1.0)) is not None:
            self._key, self._next = None, now + _AGAIN
            self.refusal = "" if reply.is_done else reply.sentence
            self.reply = reply if reply.is_done else None
        return self.reply


@dataclass
class Posed:
    """A question of the swarm, and its progress."""

    planned: Planned
    asker: MemberPeer
    due: float
    """The earliest time of the question, in seconds after the beginning."""
    tries: int = 0
    """The number of times it was asked: one that ends without an answer is asked again."""
    name: bytes | None = None
    seconds: float | None = None
    """The time from the first request until all had the signed answer."""
    failure: str = ""
    """The reason why it is not asked any more."""
    _errand: _Errand | None = None
    _begun: float = 0.0
    _stopped: float | None = None
    """The time at which it ended, though its words were shown."""

    @property
    def is_open(self) -> bool:
        """Whether it was asked, and has not ended."""
        return self._errand is not None and not self.is_over

    @property
    def is_over(self) -> bool:
        """Whether nothing more can come of it."""
        return self.seconds is not None or bool(self.failure)

    @property
    def was_asked(self) -> bool:
        """Whether members know it."""
        return self.name is not None or self.is_over

    def ask(self, now: float) -> None:
        """Send the request to ask it."""
        text = self.planned.text
        self._errand = _Errand(self.asker, lambda: Ask(text, int(time.time()) + _DAY))
        self._begun = self._begun or now
        self.tries += 1

    def follow(self, now: float, peers: Sequence[MemberPeer]) -> None:
        """Follow its progress; ask again if it has ended without an answer."""
        assert self._errand is not None
        reply = self._errand.look(now)
        if reply is None or reply.number is None:
            return
        question = read_question(self.asker.home, reply.number)
        if question is None:
            return
        self.name = bytes.fromhex(question.name)
        if question.is_over and not question.is_done:
            self._end(now, explain(question), is_disclosed=question.is_disclosed)
        elif _is_answered(self.name, self.asker, peers):
            self.seconds = now - self._begun

    def _end(self, now: float, why: str, *, is_disclosed: bool) -> None:
        """Ask again; but if words were shown, wait for a while, and give up."""
        self._stopped = now if self._stopped is None else self._stopped
        is_late = now - self._stopped > _UNFINISHED
        if is_late if is_disclosed else self.tries >= _MOST_TRIES:
            self.failure = why
        if not is_disclosed:
            self._errand = self._stopped = None

    def explain(self) -> str:
        """Return the reason why it has no answer."""
        if self.failure:
            return self.failure
        if self._errand is None:
            return "it was not asked in time"
        if self._errand.refusal:
            return self._errand.refusal.rstrip(".")
        if self._errand.reply is None or self._errand.reply.number is None:
            return f"{self.asker.name} has not asked it"
        question = read_question(self.asker.home, self._errand.reply.number)
        return "its asker does not know it" if question is None else explain(question)


def _is_answered(name: bytes, asker: MemberPeer, peers: Sequence[MemberPeer]) -> bool:
    """Return whether all members of a question have the signed answer."""
    if not path_of(asker.home, name).exists():
        return False
    asked = read_answer(asker.home, name).asked
    members = {} if asked is None else asked.cards()
    return all(path_of(one.home, name).exists() for one in peers if one.id in members)


@dataclass
class _Change:
    """A member that joins, or leaves, while a question is open."""

    peer: MemberPeer
    errands: list[_Errand]
    members: frozenset[str]
    """The ids of the members after the change."""

    def is_done(self, now: float, peers: Sequence[MemberPeer]) -> bool:
        """Return whether all members have signed the list."""
        for errand in self.errands:
            errand.look(now)
        return all(one.list == self.members for one in peers if one.id in self.members)


@dataclass
class StudyCrew:
    """All members of a swarm that is a study."""

    plan: StudyPlan
    place: Place
    power_safe: bool
    span: float
    """Seconds over which the questions are spread."""
    peers: list[PeerProcess] = field(default_factory=list)
    posed: list[Posed] = field(default_factory=list)
    changed: int = 0
    """The number of members that have joined or left."""

    begins_together = False
    has_calm = False
    exact = None
    """Each question has its own value."""
    _began: float | None = None
    _change: _Change | None = None

    def __post_init__(self) -> None:
        """Make the founders, who have accepted each other."""
        plan = self.plan
        founders = [self._create(number) for number in range(plan.founders)]
        self.peers += founders
        cards = [one.card for one in founders]
        for one in founders:
            others = tuple(card for card in cards if card.id != one.id)
            Requests(one.folder).write(Join(others))
        self._members = frozenset(one.id for one in founders)
        askers = founders[: plan.founders - plan.leaves]
        pause = self.span / len(plan.questions)
        for number, planned in enumerate(plan.questions):
            self.posed.append(Posed(planned, askers[number % len(askers)], number * pause))

    def _create(self, number: int) -> MemberPeer:
        place, name = self.place, self.plan.names[number]
        listen = place.listen
        made = self.plan.create_member(
            number, place.folder, listen[number], power_safe=self.power_safe
        )
        if place.routes is not None:
            others = (other for other in range(len(listen)) if other != number)
            detours = {listen[other]: place.reached(number, other) for other in others}
            write_text(detours_of(made.folder), [msgspec.json.encode(detours).decode()])
        return MemberPeer(name, load_identity(made.folder).id, made.folder, place.log_of(name))

    @property
    def _all(self) -> list[MemberPeer]:
        return [one for one in self.peers if isinstance(one, MemberPeer)]

    def step(self, now: float) -> None:
        """Ask due questions, follow open ones, and let members join and leave."""
        self._began = now if self._began is None else self._began
        elapsed = now - self._began
        self._go_on_changing(now)
        for number, one in enumerate(self.posed):
            if one.is_open:
                one.follow(now, self._all)
            elif not one.is_over and elapsed >= one.due and self._may_ask(number):
                one.ask(now)

    def _may_ask(self, number: int) -> bool:
        """Return whether a question may be asked now, after changes and others about its
        columns."""
        one = self.posed[number]
        others = [other for other in self.posed if other.is_open]
        is_free = all(one.planned.scores.isdisjoint(other.planned.scores) for other in others)
        changes = min(number, self._changes)
        return is_free and self.changed >= changes and bool(one.asker.list)

    @property
    def _changes(self) -> int:
        return self.plan.joins + self.plan.leaves

    def _go_on_changing(self, now: float) -> None:
        """Let one member after the other join or leave, each after a further question is asked."""
        if self._change is None:
            behind = self.posed[min(self.changed, len(self.posed) - 1)]
            if self.changed < self._changes and behind.was_asked:
                self._change = self._join() if self.changed < self.plan.joins else self._leave()
        elif self._change.is_done(now, self._all):
            self._members, self._change = self._change.members, None
            self.changed += 1

    def _join(self) -> _Change:
        """Let a further member be accepted by all, and accept all."""
        newcomer, members = self._create(len(self.peers)), self._present()
        card, cards = newcomer.card, tuple(one.card for one in members)
        errands = [_Errand(one, lambda: Join((card,))) for one in members]
        self.peers.append(newcomer)
        newcomer.start()
        everybody = [*errands, _Errand(newcomer, lambda: Join(cards))]
        return _Change(newcomer, everybody, self._members | {newcomer.id})

    def _leave(self) -> _Change:
        """Let a founder leave, the last one first."""
        gone = self.plan.founders - 1 - (self.changed - self.plan.joins)
        peer = self._all[gone]
        errand = _Errand(peer, lambda: Leave(totals_visible=True))
        return _Change(peer, [errand], self._members - {peer.id})

    def _present(self) -> list[MemberPeer]:
        return [one for one in self._all if one.id in self._members]

    def is_due(self, reading: SwarmReading) -> bool:
        """Return whether all questions have ended, and all changes are made.

        If a member has ended by itself, the others would wait for it in vain.
        """
        is_done = self.changed == self._changes and all(one.is_over for one in self.posed)
        return is_done or any(one.failure is not None for one in self.peers)

    def audit(self, *, is_interrupted: bool) -> StudyAudit:
        """Read all folders once the peers have stopped."""
        homes = [one.home for one in self._all]
        logs = [one.log for one in self._all]
        missing = () if is_interrupted else tuple(self._missing())
        audit = audit_study(homes, logs, missing)
        seconds = {one.name: one.seconds for one in self.posed}
        answers = (one._replace(seconds=seconds.get(one.name)) for one in audit.answers)
        return replace(audit, answers=tuple(answers))

    def _missing(self) -> Iterator[str]:
        """Yield descriptions of expected events that have not happened."""
        for number, one in enumerate(self.posed, 1):
            if one.seconds is None:
                longer = "" if one.failure else "; let the swarm run longer"
                why = f"{one.explain()}{longer}"
                yield f"Question {number} ({one.planned.title}) has no answer: {why}."
        if self.changed < self._changes:
            yield (
                f"{self._changes - self.changed} of {self._changes} members that were to join or "
                "leave have not."
            )
