"""Membership: what neighbors must agree on, and the generations of a network.

Neighbors say hello, and run the same specification or have nothing to do with each other. A
generation is one run of the network from the members' own rows. When a member is lost for good, the
others begin a new one without it. When a member adds rows, all begin a new one with them. What
peers do in a generation is in `exchange`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from pairgossip.peer.protocol.context import Context
from pairgossip.peer.protocol.events import Event
from pairgossip.peer.protocol.messages import (
    MOST_TRAVELING,
    AnyMessage,
    BadFrame,
    Changes,
    Growth,
    Hello,
    Notice,
    Rows,
    decode,
    is_consistent,
    next_generation,
)
from pairgossip.peer.protocol.state import Send, State


class RestoredBackup(Exception):
    """A neighbor has seen more of this peer than this peer remembers."""


class ForgottenRows(RestoredBackup):
    """The others hold a claim, signed by this peer, of more rows than it remembers."""


class BrokenInvariant(Exception):
    """This peer's own state is impossible: a defect of this program, never a neighbor's fault."""


@dataclass
class Membership(ABC):
    """One peer among the members: hello, notices, evictions and growth.

    Events return actions, which are to be carried out in their order: what is saved with ``sync``
    must be on the disk before anything after it is sent.
    """

    context: Context
    state: State
    counts: Counter[Event] = field(default_factory=Counter)
    """The number of events of each kind since the peer started."""
    agreed: set[str] = field(default_factory=set)
    """Neighbors that run the same specification."""
    disagreeing: dict[str, str] = field(default_factory=dict)
    """The texts of other specifications, by the neighbors that run them."""
    evicted_by: str | None = None
    """The member that has announced a generation without this peer."""
    unlisted: dict[str, str] = field(default_factory=dict)
    """An id that a neighbor calls evicted and that is not on this peer's list, by the neighbor."""
    away: set[str] = field(default_factory=set)
    """The neighbors that seem to be gone: they do not answer, or the caller knows that their
    connection is gone. Any frame from them proves otherwise."""

    def __post_init__(self) -> None:
        self.context = self.context.with_changes(self.state.changes)

    @property
    def present(self) -> list[str]:
        """The neighbors that are not evicted."""
        evicted = self.state.evicted
        return [who for who in self.context.neighbors if who not in evicted]

    @abstractmethod
    def describe_backup(self, neighbor: str) -> str:
        """Describe the evidence at a neighbor that this state is a restored backup."""

    @abstractmethod
    def start(self) -> list[Any]:
        """Begin, for the first time or again."""

    @abstractmethod
    def begin_generation(self, notice: Notice) -> list[Any]:
        """Begin from the peer's own rows, durably, and notify the neighbors."""

    @abstractmethod
    def _handle(self, sender: str, message: AnyMessage) -> list[Any]:
        """Handle a message that is about neither agreement nor generations."""

    def _heard(self, sender: str) -> None:
        """Note that a neighbor is there."""
        self.away.discard(sender)

    def _greeted_back(self, sender: str) -> list[Any]:
        """Go on with a neighbor that has said hello in this generation."""
        return []

    # Events

    def receive(self, sender: str, frame: bytes) -> list[Any]:
        """Handle a frame from a neighbor; an invalid one changes nothing but a counter."""
        if sender not in self.context.neighbors:
            self.counts[Event.STRANGER] += 1
            return []
        try:
            message = decode(frame, self.context.frame_limit)
        except BadFrame as problem:
            self.counts[problem.event] += 1
            return []
        if sender in self.state.evicted:
            self.counts[Event.EVICTED] += 1
            # The network lets no evicted member connect. This is for the moment before its
            # connection is closed, in which it may say hello: it then learns that it was evicted.
            return self._send_notice(sender) if isinstance(message, Hello) else []
        self._heard(sender)
        match message:
            case Hello():
                return self._handle_hello(sender, message)
            case Notice():
                return self._handle_notice(sender, message)
            case _ if message.generation != self.state.generation:
                return self._handle_out_of_step(sender, message)
            case _:
                return self._handle(sender, message)

    def evict(self, members: Collection[str]) -> list[Any]:
        """Begin a new generation without these members, and without any evicted before."""
        if set(members) <= set(self.state.evicted):
            return []  # nobody follows a generation that changes nothing
        return self._begin_with(Changes(evicted=tuple(members)))

    def grow(self, own: Rows) -> list[Any]:
        """Begin a new generation in which this peer has more rows; ``own`` are all of them."""
        before = self.context.own
        if len(own) <= len(before) or own[: len(before)] != before:
            raise BrokenInvariant("the new rows do not begin with the old ones")
        self.context = self.context.with_own(own)
        return self._begin_with(Changes(grown=(self.context.claim_growth(),)))

    # Agreement and generations

    def _hello(self, to: str, *, wants_answer: bool = True) -> Hello:
        # A neighbor that runs the same specification does not need its text.
        text = "" if to in self.agreed else self.context.text
        return Hello(self.context.spec, text, self.state.generation, wants_answer)

    def _handle_hello(self, sender: str, hello: Hello) -> list[Any]:
        if hello.spec == self.context.spec:
            self.agreed.add(sender)
            self.disagreeing.pop(sender, None)
        else:
            self.agreed.discard(sender)
            self.disagreeing[sender] = hello.text
            self.counts[Event.OTHER_SPECIFICATION] += 1
        answers: list[Any] = []
        if hello.wants_answer:
            answers.append(Send(sender, self._hello(sender, wants_answer=False)))
        if hello.generation < self.state.generation:
            answers += self._send_notice(sender)
        elif hello.generation == self.state.generation:
            self.unlisted.pop(sender, None)
            answers += self._greeted_back(sender)
        return answers

    def _handle_out_of_step(self, sender: str, message: AnyMessage) -> list[Any]:
        """Send a neighbor that is behind the notice; ask one that is ahead for it."""
        self.counts[Event.OTHER_GENERATION] += 1
        if message.generation < self.state.generation:
            return self._send_notice(sender)
        return [Send(sender, self._hello(sender))]

    def _send_notice(self, sender: str) -> list[Any]:
        notice = decode(self.state.notice, len(self.state.notice))
        assert isinstance(notice, Notice)
        return [Send(sender, notice)]

    def _handle_notice(self, sender: str, notice: Notice) -> list[Any]:
        if notice.generation == self.state.generation:
            event = Event.NOTICE_AGAIN
        elif not is_consistent(notice.generation, notice.changes):
            event = Event.MALFORMED
        elif not self.context.is_genuine_notice(notice):
            event = Event.NOTICE_NOT_GENUINE
        elif not all(map(self._is_genuine_growth, notice.grown)):
            event = Event.GROWTH_NOT_GENUINE
        elif self.context.me in notice.evicted:
            return self._leave(notice)
        elif strangers := set(notice.evicted) - self.context.rows.keys():
            # Otherwise anybody could begin one generation after another about strangers.
            event = Event.EVICTION_OF_STRANGER
            self.unlisted[sender] = min(strangers)
        elif notice.changes.rows().get(self.context.me, 0) > len(self.context.own):
            raise ForgottenRows(sender)
        else:
            return self._follow(notice)
        self.counts[event] += 1
        return []

    def _leave(self, notice: Notice) -> list[Any]:
        """Note that others have begun a generation without this peer."""
        self.counts[Event.EVICTED_BY_OTHERS] += 1
        self.evicted_by = notice.announcer
        return []

    def _is_genuine_growth(self, growth: Growth) -> bool:
        if growth in self.state.grown:
            return True
        return growth.rows <= MOST_TRAVELING and self.context.is_genuine_growth(growth)

    def _follow(self, notice: Notice) -> list[Any]:
        """Begin the notice's generation, or one that follows both it and this peer's, or none."""
        mine, theirs = self.state.changes, notice.changes
        if notice.generation > self.state.generation and theirs.include(mine):
            return self.begin_generation(notice)
        if notice.generation < self.state.generation and mine.include(theirs):
            self.counts[Event.NOTICE_OUTDATED] += 1
            return []
        return self.begin_generation(self._announce(mine.union(theirs), notice.generation))

    def _announce(self, changes: Changes, *before: str) -> Notice:
        """Announce a generation with these changes, later than this peer's and those ``before``."""
        generation = next_generation((self.state.generation, *before), changes)
        return self.context.announce(generation, changes)

    def _begin_with(self, changes: Changes) -> list[Any]:
        """Begin a generation with these changes and all before."""
        return self.begin_generation(self._announce(self.state.changes.union(changes)))
