"""The known lists of members: who has signed each, and which of them exist."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import msgspec

from pairgossip.study.protocol.desk import Desk, Held
from pairgossip.study.protocol.records import (
    NO_DIGEST,
    AnyRecord,
    Assent,
    Batch,
    Card,
    Leave,
    MemberList,
    Never,
)

ACCEPTED, EVICTED = "accepted", "evicted"
_MOST_LISTS = 64
"""Largest number of a member's lists that are kept though they do not exist: of those that may
still follow the present one, and of all others; more are refused."""
_CARDS = msgspec.msgpack.Decoder(dict[str, Card])
_IDS = msgspec.msgpack.Decoder(list[str])


@dataclass
class KnownLists:
    """All lists that this member knows, and its current one."""

    desk: Desk
    card: Card
    least_members: int
    may_sign: bool = True
    """Whether this member may sign lists: after a start, only once it has heard from another."""
    is_busy: Callable[[str], bool] = lambda _: False
    """Whether a running question needs a member, which is then not removed before its end."""
    current: MemberList | None = None
    """The last list in the chain of those that this member has signed and that exist."""
    accepted: dict[str, Card] = field(default_factory=dict)
    """Members that the operator has accepted by hand."""
    evicted: set[str] = field(default_factory=set)
    _left: set[str] = field(default_factory=set)
    """Members that are not on the list any more: their operator's acceptance was used up."""
    known: dict[bytes, MemberList] = field(default_factory=dict)
    """Lists that a member known here has signed."""

    def load(self) -> None:
        """Load earlier decisions and signatures."""
        notes = self.desk.notes
        self.accepted = _CARDS.decode(notes.get(ACCEPTED, b"\x80"))
        self.evicted = set(_IDS.decode(notes.get(EVICTED, b"\x90")))
        for held in self.desk.store.all_of(NO_DIGEST):
            self._note(held.record)
        self._advance()
        self._left.clear()

    # Records of others

    def find_certificate(self, record: AnyRecord) -> str | None:
        """Return the certificate for checking a record about lists."""
        match record:
            case Assent():
                card = record.list.cards.get(record.member)
                is_credible = card is not None and self._is_credible(record.list, card)
                return card.certificate if card is not None and is_credible else None
            case Never() | Leave():
                return self._certificate_in(record.list, record.member)
            case Batch():
                return self._certificate_of(record.member)
        return None

    def _is_credible(self, new: MemberList, card: Card) -> bool:
        """Return whether a member's signature of a list is worth checking and keeping.

        Of a member that this operator has not accepted, only signatures of lists that led to the
        present one, or were signed here, are taken: it could make up any number of others.
        """
        if not is_in_order(new):
            return False
        known = self._known_card(card.id)
        if known is None:
            return new.digest in self._past or self.card.id in self.signers(new.digest)
        if known.certificate != card.certificate:
            return False
        if new.digest in self.known or new.digest in self._past:
            return True
        return self._may_matter(new) and self._count_like(new, card.id) < _MOST_LISTS

    def _may_matter(self, new: MemberList) -> bool:
        """Return whether a list may concern this member.

        A newcomer takes only lists that it is on, and those that lead to one of them. The earlier
        ones of its study are taken later, from the present list back.
        """
        if self.current is not None or self.card.id in new.ids:
            return True
        return any(one.parent == new.digest for one in self.known.values())

    def _count_like(self, new: MemberList, member: str) -> int:
        """Return the number of lists of a member that do not exist, or lead nowhere.

        Those of earlier times are counted apart: they must not use up a member's lists for good.
        """
        past = self._past
        signed = [one for one in self.known.values() if self._said("assent", one.digest, member)]
        if not past:
            return sum(not self.exists(one.digest) for one in signed)
        is_beside = self._is_beside(new, past)
        others = (one for one in signed if one.digest not in past)
        return sum(self._is_beside(one, past) == is_beside for one in others)

    @property
    def _past(self) -> dict[bytes, None]:
        """The digests of the present list and of those before it, as far as they are known."""
        line = [] if self.current is None else self._line(self.current)
        return dict.fromkeys(digest for one in line for digest in (one.digest, one.parent))

    def _line(self, new: MemberList) -> list[MemberList]:
        """Return a list and those before it, the last first, as far as they are known."""
        line = [new]
        while (before := self.known.get(line[-1].parent)) is not None:
            line.append(before)
        return line

    def _leads(self, one: MemberList, new: MemberList) -> bool:
        """Return whether a list is another one, or comes before it."""
        return any(before.digest == one.digest for before in self._line(new))

    def _is_beside(self, new: MemberList, past: Mapping[bytes, None]) -> bool:
        """Return whether a list, not one of the past, is known not to follow the present one."""
        while new.parent not in past and (before := self.known.get(new.parent)) is not None:
            new = before
        is_parted = new.parent in past or new.parent == NO_DIGEST
        return self.current is not None and is_parted and new.parent != self.current.digest

    def _known_card(self, member: str) -> Card | None:
        if member == self.card.id:
            return self.card
        on_list = {} if self.current is None else self.current.cards
        return on_list.get(member) or self.accepted.get(member)

    def _certificate_in(self, digest: bytes, member: str) -> str | None:
        named = self.known.get(digest)
        card = None if named is None else named.cards.get(member)
        return None if card is None else card.certificate

    def _certificate_of(self, member: str) -> str | None:
        """Return the certificate of a member of this study, also of a former one."""
        if (card := self._known_card(member)) is not None:
            return card.certificate
        found = (self._certificate_in(digest, member) for digest in self._past)
        return next((one for one in found if one is not None), None)

    def take(self, held: Held) -> None:
        """Act on a record about lists that is held now."""
        self._note(held.record)
        self._advance()

    def _note(self, record: AnyRecord) -> None:
        if isinstance(record, Assent):
            self.known.setdefault(record.list.digest, record.list)

    # Signatures

    def _said(self, kind: str, about: bytes, member: str) -> list[Held]:
        return self.desk.store.said(NO_DIGEST, (about, kind, 0, member))

    def _find_leaves(self, about: bytes, member: str) -> list[Held]:
        """Return the records by which a member has asked to be left out after a list."""
        said = self.desk.store.said
        slots = [(about, "leave", is_visible, member) for is_visible in (0, 1)]
        return [held for slot in slots for held in said(NO_DIGEST, slot)]

    def signers(self, digest: bytes) -> set[str]:
        """Return the members that have signed a list."""
        named = self.known.get(digest)
        if named is None:
            return set()
        return {one for one in named.ids for held in self._said("assent", digest, one)}

    def refusers(self, digest: bytes) -> set[str]:
        """Return the members that will never sign a list."""
        named = self.known.get(digest)
        return {one for one in (named.ids if named else ()) if self._said("never", digest, one)}

    def exists(self, digest: bytes) -> bool:
        """Return whether all members of a list have signed it."""
        return digest in self.known and self.signers(digest) == set(self.known[digest].ids)

    def is_dead(self, digest: bytes) -> bool:
        """Return whether a list can never exist."""
        return bool(self.refusers(digest) - self.signers(digest))

    def _children(self, parent: bytes) -> list[MemberList]:
        return [one for one in self.known.values() if one.parent == parent]

    def _advance(self) -> None:
        """Move on to the lists that this member has signed and that exist, one after the other."""
        while later := self._find_later():
            new = min(later, key=lambda one: len(self._line(one)))
            before = [self.current, self.known.get(new.parent)]
            self.current = new
            self._left |= {who for one in before if one for who in one.ids} - set(new.ids)

    def _find_later(self) -> list[MemberList]:
        """Return lists that are signed here, exist, and follow the present one; or any, at first.

        This member may not have signed those between: a newcomer may sign a later list before it
        knows them.
        """
        here, mine, past = self.current, self.card.id, self._past
        return [
            one
            for digest, one in self.known.items()
            if digest not in past and self._said("assent", digest, mine) and self.exists(digest)
            if here is None or self._leads(here, one)
        ]

    @property
    def study(self) -> bytes:
        """The digest of the first list, as far back as lists are known here."""
        first = NO_DIGEST if self.current is None else self.current.digest
        while first in self.known and self.known[first].parent != NO_DIGEST:
            if self.known[first].parent not in self.known:
                break
            first = self.known[first].parent
        return first

    @property
    def head(self) -> bytes:
        """The last list that this member has signed and that is not dead, or the present one."""
        last = max(self.ahead, key=lambda one: len(self._line(one)), default=self.current)
        return NO_DIGEST if last is None else last.digest

    @property
    def ahead(self) -> list[MemberList]:
        """Lists after the present one that are signed here and not dead, which form one line."""
        here, mine, past = self.current, self.card.id, self._past
        return [
            one
            for digest, one in self.known.items()
            if digest not in past and self._said("assent", digest, mine)
            if not self.is_dead(digest) and (here is None or self._leads(here, one))
        ]

    @property
    def pending(self) -> list[MemberList]:
        """Lists with this member that it has neither signed nor given up, whatever they follow."""
        mine = self.card.id
        return [one for one in self._waiting if mine in one.ids and mine not in self._spoken(one)]

    @property
    def proposals(self) -> tuple[MemberList, ...]:
        """Lists that may follow the present one; before the first, all with this member."""
        here, mine = self.current, self.card.id
        return tuple(
            one
            for one in self._waiting
            if (mine in one.ids if here is None else self._leads(here, one))
        )

    @property
    def _waiting(self) -> list[MemberList]:
        """Lists that do not exist yet and are not dead, in the order in which they are signed."""
        past = self._past
        alive = (one for one in self.known.values() if not self.is_dead(one.digest))
        waiting = [one for one in alive if one.digest not in past and not self.exists(one.digest)]
        return sorted(waiting, key=self._rank)

    def _spoken(self, new: MemberList) -> set[str]:
        """Return the members that have signed a list, or never will."""
        return self.signers(new.digest) | self.refusers(new.digest)

    def _rank(self, new: MemberList) -> tuple[bool, int, bytes]:
        """Return the sort key of pending lists; one that leaves a member out goes first."""
        parent = self.known.get(new.parent)
        is_smaller = parent is not None and not set(parent.ids) <= set(new.ids)
        return not is_smaller, -len(new.members), new.digest

    @property
    def liars(self) -> frozenset[str]:
        """Members that have signed a list, and that they never will: two studies may exist."""
        return frozenset(
            one for digest in self.known for one in self.signers(digest) & self.refusers(digest)
        )

    @property
    def leavers(self) -> frozenset[str]:
        """Members of the present list that have asked to be left out."""
        if self.current is None:
            return frozenset()
        here = self.current
        return frozenset(one for one in here.ids if self._find_leaves(here.digest, one))

    @property
    def former(self) -> frozenset[str]:
        """Members of the previous list that are not on the present one."""
        here = self.current
        before = None if here is None else self.known.get(here.parent)
        return frozenset(() if before is None or here is None else set(before.ids) - set(here.ids))

    @property
    def misnamed(self) -> frozenset[str]:
        """Members whose card on a list that does not exist, dead or not, differs from the one here.

        For this member: others have accepted another invitation of it. For another one: it has
        signed another address, or other limits, than in the invitation that this operator has
        accepted.
        """
        here, me = self.current, self.card.id
        names = {**self.accepted, me: self.card}
        waiting = [
            one
            for one in self.known.values()
            if not self.exists(one.digest) and (here is None or one.parent == here.digest)
        ]
        return frozenset(
            card.id
            for one in waiting
            for card in one.members
            if names.get(card.id) not in (None, card) and card.id in {me, *self.signers(one.digest)}
        )

    def evicted_by(self) -> MemberList | None:
        """Return the list that follows the present one without this member, if there is one."""
        if self.current is None:
            return None
        after = self._children(self.current.digest)
        without = (one for one in after if self.card.id not in one.ids)
        return next((one for one in without if self.exists(one.digest)), None)


def is_in_order(new: MemberList) -> bool:
    """Whether ids are sorted, and each is there once."""
    return list(new.ids) == sorted(set(new.ids)) and len(new.members) > 0
