"""The other members: those that this one connects with, and what each of them may see."""

from __future__ import annotations

from collections.abc import Sequence

from pairgossip.study.protocol.desk import Desk
from pairgossip.study.protocol.lists import Lists
from pairgossip.study.protocol.questions import Questions
from pairgossip.study.protocol.records import NO_DIGEST, Card, Question, Yes, decode
from pairgossip.study.protocol.site import Action, ContactSoon, Reconnect
from pairgossip.study.protocol.spreading import ARCHIVE


class Audience:
    """The members that may hear of questions, by the lists at which these were asked."""

    def __init__(self, desk: Desk, lists: Lists, questions: Questions) -> None:
        self._desk, self._lists, self._questions = desk, lists, questions
        self._runs, self._archive = questions.runs, questions.archive
        self._connected: tuple[Card, ...] = ()

    def follow_lists(self, now: int) -> list[Action]:
        """Apply a new list."""
        return [*self._questions.review(now), *self.reconnect(), ContactSoon()]

    def reconnect(self) -> list[Action]:
        """Announce the members to connect with, if they have changed."""
        cards = tuple(self._cards().values())
        if cards == self._connected:
            return []
        self._connected = cards
        return [Reconnect(cards)]

    def _cards(self) -> dict[str, Card]:
        """Return the others that this member may connect with, by id."""
        cards = dict(self._lists.accepted)
        for run in self._runs.values():
            if self._desk.me in run.members:
                cards |= self._lists.known[run.question.list].cards
        if self._lists.current is not None:
            cards |= self._lists.current.cards
        hidden = {self._desk.me, *self._lists.evicted}
        return {one: cards[one] for one in sorted(cards) if one not in hidden}

    def others(self) -> tuple[str, ...]:
        """Return the ids of all members that this member may connect with."""
        return tuple(self._cards())

    def visible(self, other: str) -> list[bytes]:
        """Return the topics that another member may see, and that are not archived."""
        me = self._desk.me
        shared = [
            name for name, run in self._runs.items() if other in run.members and me in run.members
        ]
        return [NO_DIGEST, *shared]

    def archived_for(self, other: str) -> tuple[bytes, ...]:
        """Return the names of archived questions that only one of two members has gone through."""
        known, both = self._lists.known, {self._desk.me, other}
        shared = {digest for digest, one in known.items() if both <= set(one.ids)}
        return tuple(
            name
            for name, line in self._archive.lines.items()
            if line.is_disclosed and line.list not in shared
        )

    def recall(self, other: str, topic: bytes) -> Sequence[bytes] | None:
        """Return the archived records of a question that another member may have."""
        line = self._archive.lines.get(topic)
        if topic == ARCHIVE or line is None:
            return None
        contents = self._desk.site.recall(topic)
        if other in self._lists.known[line.list].ids:
            return contents
        if not line.is_disclosed:
            return ()
        return [one for one in contents if isinstance(decode(one), Question | Yes)]
