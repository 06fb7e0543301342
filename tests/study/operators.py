"""The operators of a simulated study: what they ask, accept and refuse, and whom they want in."""

from __future__ import annotations

import functools
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from pairgossip.errors import InputError
from pairgossip.study.protocol.records import Card
from pairgossip.study.protocol.site import Action
from pairgossip.study.protocol.study import Progress, Study
from tests.peer.world import Faults
from tests.study.audit import Auditor
from tests.study.disk import Disk, Journal
from tests.study.sites import Folder, Layout, PlantedSite, read_layout
from tests.timeline import Timeline

Choice = Literal["accept", "refuse", "wait"]
LOOK_EVERY = 0.7
"""Seconds between two looks of an operator at the questions."""


@dataclass
class Backup:
    journal: Journal
    folder: Folder
    secrets: dict[str, bytes]


@dataclass
class Member:
    """One member: what outlives its process, and the process while it runs."""

    id: str
    card: Card
    site: PlantedSite
    disk: Disk = field(default_factory=Disk)
    study: Study | None = None
    backup: Backup | None = None
    is_gone: bool = False
    """Its machine never starts again."""
    is_wanted: bool = True
    """Whether it is to be on the list."""
    accepted: set[str] = field(default_factory=set)
    """Members whose cards its operator has accepted."""
    was_restored: bool = False
    is_soon: bool = False
    """Whether a contact is about to take place."""
    decided: set[bytes] = field(default_factory=set)
    lifetimes: int = 0
    announced: int = 0
    """How many batches it has announced."""


class Operators(Timeline):
    """The actions of people in a world, at random."""

    members: dict[str, Member]
    evicted: set[str]
    counts: Counter[str]
    auditor: Auditor
    faults: Faults
    announces: bool

    def do(self, name: str, what: Callable[[Study], Iterable[Action]]) -> bool:
        """Let a member do something until it is done or killed; return whether it ran."""
        raise NotImplementedError

    def start(self, name: str) -> None:
        """Start a member, or start it again from its disk."""
        raise NotImplementedError

    def lose_for_ever(self, name: str) -> None:
        """Stop a member that will never start again."""
        raise NotImplementedError

    def add_member(self, number: int) -> Member:
        """Make a member with a new machine."""
        raise NotImplementedError

    @property
    def is_bad(self) -> bool:
        """Whether faults happen."""
        return self.now < self.faults.until

    def request(
        self, name: str, what: Callable[[Study], Iterable[Action]], about: bytes = b""
    ) -> None:
        """Let an operator request something; repeat the request if the machine is down."""
        member = self.members[name]

        def requested(study: Study) -> Iterable[Action]:
            try:
                return what(study)
            except InputError as problem:
                self.counts[f"refused: {str(problem)[:40]}"] += 1
                member.decided.discard(about)
                return []

        if not self.do(name, requested) and not member.is_gone:
            self._later(1.0, lambda: self.request(name, what, about))

    def ask(self, name: str, layout: Layout, patience: int = 1000, **more: Any) -> None:
        """Let an operator ask all others."""

        def ask(study: Study) -> Iterable[Action]:
            now = int(self.now)
            question, actions = study.ask(layout.text, now, now + patience, **more)
            self.auditor.agreed(name, question)
            self.counts["asked"] += 1
            return actions

        self.request(name, ask)

    def ask_like(self, name: str, phase: str, more: Callable[[Progress], dict[str, Any]]) -> None:
        """Let an operator ask again a question that reached this phase, if there is one."""
        study = self.members[name].study
        views = [] if study is None else [v for v in study.questions if v.phase == phase]
        if views:
            view = self.chance.choice(views)
            self.ask(name, read_layout(view.question), **more(view))

    def _look(self, name: str, life: int) -> None:
        """Let an operator look at what is pending, and decide some time later."""
        member = self.members[name]
        if member.lifetimes != life or member.study is None:
            return
        for view in member.study.questions:
            if view.needs_operator and view.name not in member.decided:
                self._decide(member, view.name)
        self._look_at_members(member, member.study)
        if self.announces:
            self._announce(member)
        self._later(LOOK_EVERY * self.chance.uniform(0.8, 1.2), lambda: self._look(name, life))

    def choose(self, member: str, question: bytes) -> Choice:
        """Draw an operator's decision about a question."""
        drawn = self.chance.random()
        if drawn < 0.85 or not self.is_bad:
            return "accept"
        return "refuse" if drawn < 0.91 else "wait"

    def _announce(self, member: Member) -> None:
        """Announce the present batches, once there is a list."""
        study = member.study
        if study is None or study.members is None:
            return
        for number in range(member.announced + 1, member.site.folder.batches + 1):
            digest = hashlib.sha256(f"{member.id} {number}".encode()).digest()
            announce = functools.partial(_announce, number=number, commitment=digest)
            self.request(member.id, announce)
        member.announced = member.site.folder.batches

    def _decide(self, member: Member, question: bytes) -> None:
        member.decided.add(question)
        choice = self.choose(member.id, question)
        if choice == "refuse":
            refuse = lambda study: study.refuse(question, "It is too much.")  # noqa: E731
            self._later(
                self.chance.expovariate(1.0), lambda: self.request(member.id, refuse, question)
            )
        elif choice == "accept":
            self._later(self.chance.expovariate(1.0), lambda: self.accept(member.id, question))
        elif self.is_bad:  # it hesitates until faults are over
            later = self.faults.until - self.now
            self._later(later, lambda: member.decided.discard(question))

    def accept(self, name: str, question: bytes) -> None:
        """Let an operator accept a question."""
        self.auditor.agreed(name, question)
        self.request(name, lambda study: study.accept(question), question)

    # What operators want for the list of members

    def _look_at_members(self, member: Member, study: Study) -> None:
        """Bring the list one step closer to the one that operators want."""
        wanted = [other for other in self.members.values() if other.is_wanted]
        have = set(study.members.ids) if study.members is not None else set()
        if member.id in self.evicted or {other.id for other in wanted} == have:
            return
        for other in wanted:
            if other.id not in member.accepted and other is not member:
                member.accepted.add(other.id)
                self.request(member.id, lambda study, card=other.card: study.accept_card(card))  # type: ignore[misc]
        gone = sorted(who for who in have if not self.members[who].is_wanted)
        for who in gone:
            if who in self.evicted:
                self.request(member.id, functools.partial(Study.evict, member=who))
        if not gone and member.is_wanted:
            self.request(member.id, lambda study: study.propose())

    def add_batch(self, name: str) -> None:
        """Give a member more rows."""
        self.members[name].site.folder.batches += 1
        self.counts["batches"] += 1

    def join(self) -> None:
        """Add a new member, which all others accept."""
        member = self.add_member(len(self.members))
        self.counts["joins"] += 1
        self.start(member.id)

    def leave(self, name: str) -> None:
        """Let a member ask to leave."""
        self.members[name].is_wanted = False
        self.counts["leaves"] += 1
        self.request(name, lambda study: study.leave())

    def evict(self, name: str, *, is_lost: bool) -> None:
        """Let all others want a list without a member, whose machine may be gone."""
        self.members[name].is_wanted = False
        self.evicted.add(name)
        self.counts["evictions"] += 1
        if is_lost:
            self.lose_for_ever(name)


def _announce(study: Study, number: int, commitment: bytes) -> Iterable[Action]:
    return study.announce(number, 100, commitment)
