"""The versions of the list of members, and which of them this member signs.

Theory of operation
-------------------
A list names its parent, and exists once all of its members have signed it: these are all newcomers,
and all members of the parent but those that leave or are evicted. There is no vote and no leader. A
member signs one list after a parent. So two lists that both exist and follow the same parent have
no honest member in common.

Where two lists are proposed at once, neither is signed by all. A member that has not signed a list
may say that it never will (`Never`): then the list is dead, and whoever has signed it is free to
sign another. Of two lists that both wait, one goes first, and those who have signed it say so
of the other: first one that leaves somebody out, then the longest, then the lowest digest.

A list may also follow one that waits, if a member that has not signed that is evicted: all others
have signed both, so that no third list can come to exist beside them.

A member signs by itself what its operator has decided by hand: whose cards are accepted, and who is
evicted. One successor makes one kind of change, and evicts one member at most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import msgspec

from pairgossip.errors import InputError
from pairgossip.study.protocol.desk import Desk
from pairgossip.study.protocol.records import (
    MOST_MEMBERS,
    NO_DIGEST,
    AnyRecord,
    Assent,
    Batch,
    Card,
    Leave,
    MemberList,
    Never,
)
from pairgossip.study.protocol.site import Action
from pairgossip.study.protocol.store import Held

_ACCEPTED = "accepted"
_EVICTED = "evicted"
_MOST_LISTS = 64
"""Lists signed by one member that are kept though they do not exist; more are refused."""
_CARDS = msgspec.msgpack.Decoder(dict[str, Card])
_IDS = msgspec.msgpack.Decoder(list[str])


@dataclass
class Lists:
    """All lists that this member knows, and the one that it is on."""

    desk: Desk
    card: Card
    least_members: int
    may_sign: bool = True
    """Whether this member may sign lists: after a start not before it has heard from another."""
    is_busy: Callable[[str], bool] = lambda _: False
    """Whether a question runs that needs a member, which is not let go before."""
    current: MemberList | None = None
    """The last list in the chain of those that this member has signed and that exist."""
    accepted: dict[str, Card] = field(default_factory=dict)
    """Members that the operator has accepted by hand."""
    evicted: set[str] = field(default_factory=set)
    _left: set[str] = field(default_factory=set)
    """Who is not on the list any more: its operator's acceptance has served."""
    known: dict[bytes, MemberList] = field(default_factory=dict)
    """Lists that somebody has signed whom this member knows."""

    def load(self) -> None:
        """Take up what was decided and signed before."""
        notes = self.desk.notes
        self.accepted = _CARDS.decode(notes.get(_ACCEPTED, b"\x80"))
        self.evicted = set(_IDS.decode(notes.get(_EVICTED, b"\x90")))
        for held in self.desk.store.all_of(NO_DIGEST):
            self._note(held.record)
        self._advance()
        self._left.clear()

    # What others say

    def find_certificate(self, record: AnyRecord) -> str | None:
        """Return the certificate that a record about lists is to be checked with."""
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
        """Whether a signer is known here, or the list led to the present one, or was signed here.

        Whom this operator has not accepted signs nothing else: a member can make up any number.
        """
        if not _is_in_order(new):
            return False
        known = self._known_card(card.id)
        if known is None:
            return new.digest in self._past or self.card.id in self.signers(new.digest)
        is_new = new.digest not in self.known
        if is_new and self._count_signed(card.id) >= _MOST_LISTS:
            return False
        return known.certificate == card.certificate

    def _count_signed(self, member: str) -> int:
        """Return how many lists a member has signed that do not exist, or lead nowhere."""
        past = self._past
        signed = (one for one in self.known if self._said("assent", one, member))
        return sum(one not in past if past else not self.exists(one) for one in signed)

    @property
    def _past(self) -> dict[bytes, None]:
        """The digests of the present list and of those before it, as far as they are known."""
        here, past = self.current, dict[bytes, None]()
        while here is not None:
            past |= {here.digest: None, here.parent: None}
            here = self.known.get(here.parent)
        return past

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
        """Return the certificate of a member of this study, also of one that was."""
        if (card := self._known_card(member)) is not None:
            return card.certificate
        found = (self._certificate_in(digest, member) for digest in self._past)
        return next((one for one in found if one is not None), None)

    def take(self, held: Held) -> None:
        """Go on with a record about lists that is held now."""
        self._note(held.record)
        self._advance()

    def _note(self, record: AnyRecord) -> None:
        if isinstance(record, Assent):
            self.known.setdefault(record.list.digest, record.list)

    # What is signed

    def _said(self, kind: str, about: bytes, member: str) -> list[Held]:
        return self.desk.store.said(NO_DIGEST, (about, kind, 0, member))

    def signers(self, digest: bytes) -> set[str]:
        """Return who has signed a list."""
        named = self.known.get(digest)
        if named is None:
            return set()
        return {one for one in named.ids for held in self._said("assent", digest, one)}

    def refusers(self, digest: bytes) -> set[str]:
        """Return who will never sign a list."""
        named = self.known.get(digest)
        return {one for one in (named.ids if named else ()) if self._said("never", digest, one)}

    def exists(self, digest: bytes) -> bool:
        """Whether all members of a list have signed it."""
        return digest in self.known and self.signers(digest) == set(self.known[digest].ids)

    def is_dead(self, digest: bytes) -> bool:
        """Whether a list can never exist."""
        return bool(self.refusers(digest) - self.signers(digest))

    def _children(self, parent: bytes) -> list[MemberList]:
        return [one for one in self.known.values() if one.parent == parent]

    def _signed_here(self, parent: bytes) -> list[MemberList]:
        mine = self.card.id
        return [one for one in self._children(parent) if mine in self.signers(one.digest)]

    def _advance(self) -> None:
        """Go on to the lists that this member has signed and that exist, one after the other."""
        while (new := next(self._later(), None)) is not None:
            self.current = new
            before = self.known.get(new.parent)
            self._left |= set(before.ids if before else ()) - set(new.ids)

    def _later(self) -> Iterator[MemberList]:
        """Yield lists that are signed here, exist, and follow the present one; or any, at first."""
        if self.current is not None:
            starts = self._signed_here(self.current.digest)
        else:
            parents = dict.fromkeys(one.parent for one in self.known.values())
            starts = [one for parent in parents for one in self._signed_here(parent)]
        while starts:
            here = starts.pop(0)
            if self.exists(here.digest):
                yield here
            starts += self._signed_here(here.digest)

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
        here = NO_DIGEST if self.current is None else self.current.digest
        waiting = [one for one in self._signed_here(here) if not self.is_dead(one.digest)]
        while waiting:
            here = waiting[0].digest
            waiting = [one for one in self._signed_here(here) if not self.is_dead(one.digest)]
        return here

    @property
    def proposals(self) -> tuple[MemberList, ...]:
        """Lists that may come to exist after the present one."""
        here = NO_DIGEST if self.current is None else self.current.digest
        after = [*self._children(here)]
        if self.current is None:
            after = [one for one in self.known.values() if self.card.id in one.ids]
        alive = [one for one in after if not self.is_dead(one.digest)]
        for one in alive if self.current is not None else ():
            alive += [two for two in self._children(one.digest) if not self.is_dead(two.digest)]
        waiting = [one for one in alive if not self.exists(one.digest)]
        return tuple(sorted(waiting, key=self._rank))

    def _rank(self, new: MemberList) -> tuple[bool, int, bytes]:
        """Return which of the lists that wait goes first: one that leaves somebody out."""
        parent = self.known.get(new.parent)
        is_smaller = parent is not None and not set(parent.ids) <= set(new.ids)
        return not is_smaller, -len(new.members), new.digest

    @property
    def leavers(self) -> frozenset[str]:
        """Members of the present list that have asked to be left out."""
        if self.current is None:
            return frozenset()
        here = self.current
        return frozenset(one for one in here.ids if self._said("leave", here.digest, one))

    @property
    def former(self) -> frozenset[str]:
        """Members of the list before the present one that are not on it any more."""
        here = self.current
        before = None if here is None else self.known.get(here.parent)
        return frozenset(() if before is None or here is None else set(before.ids) - set(here.ids))

    def evicted_by(self) -> MemberList | None:
        """Return the list that follows the present one without this member, if there is one."""
        if self.current is None:
            return None
        after = self._children(self.current.digest)
        without = (one for one in after if self.card.id not in one.ids)
        return next((one for one in without if self.exists(one.digest)), None)

    # What the operator decides

    def accept(self, card: Card) -> list[Action]:
        """Accept a member by hand."""
        self.evicted.discard(card.id)
        self.accepted[card.id] = card
        return [self._save(), *self.sign_what_is_decided()]

    def evict(self, member: str) -> list[Action]:
        """Decide to go on without a member, or a newcomer that does not sign, and sign that."""
        head = self.known.get(self.head)
        waiting = () if head is None else head.ids
        listed = {*(self.current.ids if self.current else ()), *waiting}
        if self.current is None or member not in listed or member == self.card.id:
            raise InputError("That is no other member of the present list: see who is on it.")
        if member in waiting:
            self._refuse_few(len(waiting) - 1)
        self.evicted.add(member)
        self.accepted.pop(member, None)
        return [self._save(), *self.sign_what_is_decided()]

    def leave(self, *, totals_visible: bool = False) -> list[Action]:
        """Ask to be left out of the next list."""
        if self.current is None:
            raise InputError("This peer is on no list of members that it could leave.")
        about = self.current.digest
        if self._said("leave", about, self.card.id):
            return []
        leave = Leave(member=self.card.id, list=about, totals_visible=totals_visible)
        return self.desk.say(leave)

    def propose(self) -> list[Action]:
        """Sign what waits and was decided; if nothing does, a list of what was decided."""
        if not self.may_sign:
            raise InputError("This peer has not heard from another yet: try again in a moment.")
        if actions := self.sign_what_is_decided():
            return actions
        parent = self.known.get(self.head)
        if parent is None:
            return self._sign_new(lambda _: True, self.accepted.values())
        leavers = self.leavers
        if leavers:
            return self._sign_new(lambda one: one.id not in leavers)
        newcomers = [one for who, one in self.accepted.items() if who not in parent.ids]
        if not newcomers:
            return []
        return self._sign_new(lambda _: True, newcomers)

    def _sign_new(
        self, stays: Callable[[Card], bool], newcomers: Iterable[Card] = ()
    ) -> list[Action]:
        """Sign a new list after the last that this member has signed, unless one waits there."""
        parent = self.known.get(self.head)
        before = (self.card,) if parent is None else parent.members
        cards = {one.id: one for one in before if stays(one)}
        cards |= {one.id: one for one in newcomers}
        members = tuple(cards[one] for one in sorted(cards))
        attempt = 0
        while self.is_dead((new := MemberList(self.head, members, attempt)).digest):
            attempt += 1
        if len(members) > MOST_MEMBERS:
            raise InputError(f"A study has at most {MOST_MEMBERS} members.")
        self._refuse_few(len(members))
        return self._sign(new) if self._may_sign(new) else []

    def _refuse_few(self, members: int) -> None:
        if members < self.least_members:
            raise InputError(
                f"That would be a list of {members}, where at least {self.least_members} "
                "members hide each other's rows: accept more first."
            )

    def _save(self) -> Action:
        notes: Mapping[str, bytes | None] = {
            _ACCEPTED: msgspec.msgpack.encode(self.accepted),
            _EVICTED: msgspec.msgpack.encode(sorted(self.evicted)),
        }
        return self.desk.save(notes=notes)

    # What this member signs by itself

    def sign_what_is_decided(self) -> list[Action]:
        """Sign a list that waits and is what the operator has decided; give up on others."""
        actions = self._forget_left()
        for new in self.proposals if self.may_sign else ():
            if self._may_sign(new):
                actions += self._sign(new)
            elif self._is_beaten(new):
                never = Never(member=self.card.id, parent=new.parent, list=new.digest)
                actions += self.desk.say(never)
        return actions + self._let_go()

    def _forget_left(self) -> list[Action]:
        """Let who has left come back only if the operator accepts it anew."""
        left = self._left.intersection(self.accepted)
        self._left.clear()
        for one in left:
            del self.accepted[one]
        return [self._save()] if left else []

    def _let_go(self) -> list[Action]:
        """Sign a list without those who are evicted here, or who leave.

        Of those who stay the one with the lowest id lets go by itself who leaves.
        """
        head = self.known.get(self.head)
        if head is None or self.current is None or not self.may_sign:
            return []
        if out := sorted(self.evicted.intersection(head.ids))[:1]:
            stay = [one for one in head.ids if one not in out]
            is_due = len(stay) >= self.least_members
        else:
            stay = [one for one in head.ids if one not in self.leavers or self.is_busy(one)]
            is_due = len(head.ids) > len(stay) >= self.least_members and stay[0] == self.card.id
        return self._sign_new(lambda one: one.id in stay) if is_due else []

    def _sign(self, new: MemberList) -> list[Action]:
        actions = self.desk.say(Assent(member=self.card.id, list=new))
        self.known.setdefault(new.digest, new)
        self._advance()
        return actions

    def _is_beaten(self, new: MemberList) -> bool:
        """Whether this member has signed another list that goes before one that waits."""
        mine = self.card.id
        if mine not in new.ids or mine in self.signers(new.digest) | self.refusers(new.digest):
            return False
        others = [one for one in self._signed_here(new.parent) if not self.is_dead(one.digest)]
        return any(self._rank(one) < self._rank(new) for one in others)

    def _may_sign(self, new: MemberList) -> bool:
        """Whether a list is what the operator has decided, and follows what was signed before.

        A newcomer signs what has only members that its operator has accepted, whatever it follows.
        """
        if self.is_dead(new.digest) or not _is_in_order(new):
            return False
        if self.card.id in self.signers(new.digest) | self.refusers(new.digest):
            return False
        if any(not self.is_dead(one.digest) for one in self._signed_here(new.parent)):
            return False
        if self.current is None and new.parent != NO_DIGEST:
            wanted = {**self.accepted, self.card.id: self.card}
            return all(wanted.get(one.id) == one for one in new.members)
        return new.parent == self.head and self._is_decided(new, self.known.get(new.parent))

    def _is_decided(self, new: MemberList, parent: MemberList | None) -> bool:
        """Whether all changes are the operator's."""
        if len(new.members) < self.least_members or new.cards.get(self.card.id) != self.card:
            return False
        wanted = {**self.accepted, self.card.id: self.card}
        if parent is None:
            return new.cards == wanted
        added = [one for one in new.members if one.id not in parent.ids]
        gone = [one for one in parent.ids if one not in new.ids]
        kept = [one for one in new.members if one.id in parent.ids]
        if any(wanted.get(one.id) != one for one in added):
            return False
        if any(parent.cards[one.id] != one for one in kept):
            return False
        if not gone:
            return bool(added)
        if added:
            return False
        leavers = self.leavers
        return all(one in leavers for one in gone) or (len(gone) == 1 and gone[0] in self.evicted)


def _is_in_order(new: MemberList) -> bool:
    """Whether ids are sorted, and each is there once."""
    return list(new.ids) == sorted(set(new.ids)) and len(new.members) > 0
