"""A study of real protocol objects on a virtual clock, with a seeded network and disks that fail.

A member runs the same code as in the field; only the clock, the random numbers, the network, the
disk, the rows and the operators are simulated. One seed gives one history.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from pairgossip.study.protocol.records import Card, Yes
from pairgossip.study.protocol.site import (
    Action,
    ContactSoon,
    Reconnect,
    Save,
    Send,
    Told,
)
from pairgossip.study.protocol.study import Keys, Progress, Study
from tests.peer.contexts import is_sealed, name_of, seal
from tests.peer.world import Faults
from tests.study.audit import LEAST_MEMBERS, Auditor
from tests.study.disk import Killed
from tests.study.operators import Backup, Member, Operators
from tests.study.sites import PlantedSite

CONTACT_EVERY = 2.0
"""Seconds of the virtual clock between two contacts of a member with all others."""
CONTACT_SOON = 0.4


@dataclass
class World(Operators):
    """Members, the queue of what will happen, and the operators."""

    size: int
    seed: int
    faults: Faults = field(default_factory=lambda: Faults(until=0.0))
    study_class: type[Study] = Study
    site_class: type[PlantedSite] = PlantedSite
    shifted: frozenset[int] = frozenset()
    """Members whose machines round differently."""
    is_careful: bool = False
    """Whether sites count a column for one question at a time."""
    announces: bool = True
    """Whether rows are announced before they are asked about."""
    now: float = 0.0
    events: int = 0
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.begin_time(self.seed)
        self.keys = random.Random(f"keys {self.seed}")
        self.members: dict[str, Member] = {}
        self.evicted: set[str] = set()
        self.liars: set[str] = set()
        """Members in whose name frames are made by hand."""
        self.holds_back: Callable[[str, str, bytes], bool] = lambda *_: False
        """Returns whether a member, or a relay, does not pass a frame on."""
        self._cut: set[tuple[str, str]] = set()
        """Pairs in which the second does not hear the first."""
        self.auditor = Auditor(self)
        for number in range(self.size):
            self.add_member(number)
        for member in self.members.values():
            self.start(member.id)
        if self.faults.partitions:
            self._later(self.chance.expovariate(self.faults.partitions), self._partition)

    def add_member(self, number: int) -> Member:
        name = name_of(number)
        card = Card(name, f"site-{number}", name, f"host-{number}")  # its seal depends on its name
        verdicts = {"open": "yes", "closed": "no"}
        site = self.site_class(name, verdicts, shift=int(number in self.shifted))
        site.is_careful = self.is_careful
        member = Member(name, card, site)
        member.disk.point = self._points_of(member)
        member.disk.committed = lambda record: self.auditor.committed(member, record)
        member.disk.archived = lambda question: member.site.archived(question)
        self._connect(member)
        self.members[name] = member
        return member

    def _connect(self, member: Member) -> None:
        """Connect a site to the points where it may be killed, and to the auditor."""
        member.site.point = member.disk.point
        member.site.archive = lambda name: member.disk.journal.archive.get(name, ())
        member.site.has_promised = lambda name: any(
            isinstance(one, Yes) and (one.question, one.member) == (name, member.id)
            for one in member.disk.decoded.values()
        )
        member.site.contributed = self.auditor.contributed
        member.site.told = self.auditor.closed

    # Life and death

    def start(self, name: str) -> None:
        """Start a member, or start it again from its disk."""
        member = self.members[name]
        if member.is_gone or member.study is not None:
            return
        member.lifetimes += 1
        member.site = self.site_class(
            name, member.site.verdicts, member.site.shift, member.site.folder
        )
        member.site.is_careful = self.is_careful
        self._connect(member)
        member.study = self._make_study(member)
        self._note("start", name)
        self.do(name, lambda study: study.start(int(self.now)))
        self._beat(name, member.lifetimes)
        self._look(name, member.lifetimes)
        if self.faults.crashes and self.is_bad:
            life = member.lifetimes
            self._later(
                self.chance.expovariate(self.faults.crashes), lambda: self._crash(name, life)
            )

    def _make_study(self, member: Member) -> Study:
        def verify(certificate: str, payload: bytes, signature: bytes) -> bool:
            return is_sealed(certificate, payload, signature)

        keys = Keys(lambda payload: seal(member.id, payload), verify, self._draw_key)
        return self.study_class(member.card, keys, member.site, member.disk.load())

    def _draw_key(self) -> bytes:
        return self.keys.randbytes(32)

    def do(self, name: str, what: Callable[[Study], Iterable[Action]]) -> bool:
        """Let a member do something until it is done or killed; return whether it ran."""
        member = self.members[name]
        study = member.study
        if study is None:
            return False
        try:
            self._carry_out(member, what(study))
        except Killed:
            self.stop(name)
            self._later(self.chance.expovariate(1.0), lambda: self.start(name))
            return False
        self.auditor.look(member, study)
        if study.halted is not None and name not in self.evicted | self.liars:
            self.evict(name, is_lost=False)
        return True

    def _carry_out(self, member: Member, actions: Iterable[Action]) -> None:
        for action in actions:
            if isinstance(action, Save):
                member.disk.save(action)
            elif isinstance(action, Send):
                self._transmit(member, action.to, action.frame)
            elif isinstance(action, ContactSoon):
                self._contact_soon(member)
            elif isinstance(action, Told):
                self.counts[f"told: {action.event}"] += 1
            else:
                assert isinstance(action, Reconnect)

    def _contact_soon(self, member: Member) -> None:
        if not member.is_soon:
            member.is_soon, life = True, member.lifetimes
            self._later(CONTACT_SOON, lambda: self._contact(member.id, life))

    def _contact(self, name: str, life: int) -> None:
        member = self.members[name]
        if member.lifetimes == life and member.study is not None:
            member.is_soon = False
            self._note("contact", name)
            self.do(name, lambda study: study.contact(int(self.now)))

    def _beat(self, name: str, life: int) -> None:
        """Contact the others and check the clock repeatedly, as long as this process lives."""
        if self.members[name].lifetimes != life or self.members[name].study is None:
            return
        self._contact(name, life)
        self.do(name, lambda study: study.tick(int(self.now)))
        self._later(CONTACT_EVERY * self.chance.uniform(0.9, 1.1), lambda: self._beat(name, life))

    def _points_of(self, member: Member) -> Callable[[str], None]:
        def point(where: str) -> None:
            if self.faults.kills and self.is_bad and self.chance.random() < self.faults.kills:
                self.counts[f"killed: {where}"] += 1
                raise Killed(where)

        return point

    def _crash(self, name: str, life: int) -> None:
        member = self.members[name]
        if self.is_bad and member.lifetimes == life and member.study is not None:
            self.stop(name)
            self._later(self.chance.expovariate(1.0), lambda: self.start(name))

    def stop(self, name: str) -> None:
        """Cut a member's power: only what was saved remains."""
        self.members[name].study = None
        self.members[name].is_soon = False
        self._note("stop", name)
        self.counts["crashes"] += 1

    def lose_for_ever(self, name: str) -> None:
        """Stop a member that will never start again."""
        self.members[name].is_gone = True
        self.counts["lost for ever"] += 1
        self.stop(name)

    def back_up(self, name: str) -> None:
        """Copy all but the secrets, and keep the secrets apart, as in a snapshot of the machine."""
        member = self.members[name]
        member.backup = Backup(
            member.disk.journal.copy(), member.site.folder.copy(), dict(member.disk.secrets)
        )

    def restore(self, name: str) -> None:
        """Restore the last backup: secrets are lost, or are those of now or those of then."""
        member = self.members[name]
        if member.backup is None or member.is_gone:
            return
        self.stop(name)
        lost, then = dict[str, bytes](), member.backup.secrets
        secrets = self.chance.choice([lost, member.disk.secrets, then])
        member.disk.restore(member.backup.journal, secrets)
        member.site.folder = member.backup.folder.copy()
        member.was_restored = True
        self.auditor.restored(name, member.backup.journal.archive)
        member.accepted.clear()
        member.decided.clear()
        member.announced = 0
        self.counts["backups restored"] += 1
        self._later(self.chance.expovariate(1.0), lambda: self.start(name))

    # The network

    def _transmit(self, member: Member, to: str, frame: bytes) -> None:
        """Lose, repeat or delay a frame."""
        member.disk.point("before sending")
        self.auditor.sent(member, to, frame)
        if not (self.is_bad and self.chance.random() < self.faults.loss):
            copies = 1 + (self.is_bad and self.chance.random() < self.faults.repetition)
            for _ in range(copies):
                delay = self.chance.uniform(0.001, self.faults.longest_delay)
                self._later(delay, lambda: self._deliver(member.id, to, frame))

    def _deliver(self, sender: str, to: str, frame: bytes) -> None:
        if to not in self.members or (self.is_bad and (sender, to) in self._cut):
            return
        if self.holds_back(sender, to, frame):
            return
        self._note("deliver", sender, to)
        self.trace.update(frame)
        self.do(to, lambda study: study.receive(sender, frame, int(self.now)))

    def _partition(self) -> None:
        """Cut the network in two, or let a relay keep some members from hearing others."""
        if not self.is_bad:
            return
        names = list(self.members)
        pairs = list(itertools.permutations(names, 2))
        if self.chance.random() < 0.5:
            side = set(self.chance.sample(names, self.chance.randint(1, len(names) - 1)))
            self._cut = {(a, b) for a, b in pairs if (a in side) != (b in side)}
            self.counts["partitions"] += 1
        else:
            self._cut = set(self.chance.sample(pairs, self.chance.randint(1, len(pairs) // 2)))
            self.counts["views split"] += 1
        self._later(self.chance.expovariate(0.5), self._cut.clear)
        self._later(self.chance.expovariate(self.faults.partitions), self._partition)

    # Time

    def run(self, until: float) -> None:
        """Let everything happen up to a time."""
        while self._happen_next(until):
            pass
        self.now = until

    def settle(self, patience: float) -> None:
        """Start all that are down, and continue until every question has ended."""
        for name in self.members:
            self.start(name)
        begin = self.now
        while self.now < begin + patience and self.open_questions():
            self.run(self.now + 5.0)
            if self.now > begin + patience / 2:
                self._evict_forgetful()

    def _evict_forgetful(self) -> None:
        """Let operators evict members that have echoed and lost their words by a restored backup.

        This includes members that have asked to leave, as they cannot leave before their words
        exist.
        """
        awaited = {
            who
            for _, view in self.open_questions()
            if view.phase == "words"
            for who in view.awaited
        }
        for who in sorted(awaited):
            if self.members[who].was_restored and who not in self.evicted:
                self.evict(who, is_lost=False)

    def running(self) -> list[Member]:
        return [member for member in self.members.values() if member.study is not None]

    def open_questions(self) -> list[tuple[str, Progress]]:
        """Return open questions, except those that wait for a lost member whom the list needs."""
        wanted = [member for member in self.members.values() if member.is_wanted]
        stuck = {one.id for one in self.members.values() if not self._can_answer(one)}
        can_shrink = len(wanted) >= LEAST_MEMBERS
        return [
            (member.id, view)
            for member in wanted
            if member.study is not None and member.study.halted is None
            for view in member.study.questions
            if view.phase not in ("done", "ended")
            and (can_shrink or not stuck.intersection(view.awaited))
        ]

    def _can_answer(self, member: Member) -> bool:
        is_halted = member.study is not None and member.study.halted is not None
        return member.is_wanted and not member.is_gone and not is_halted
