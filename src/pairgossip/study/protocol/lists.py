"""The versions of the list of members, and which of them this member signs.

Theory of operation
-------------------
A list names its parent, and exists once all of its members have signed it: these are all newcomers,
and all members of the parent but those that leave or are evicted. There is no vote and no leader. A
list may follow one that is still pending: so a newcomer that never signs can be evicted.

A member that has not signed a list may declare that it never will (`Never`): then the list is dead.
All lists that a member signs, but for the dead ones, form one line, in which each leads to the
next. So of two lists that both exist and have an honest member in common, one leads to the other,
whatever their parents are. Only a member that signs a list, and that it never will, can break that;
both records name it (`liars`).

If two lists are proposed at once, neither is signed by all. One of them goes first, and members
that have signed it declare `Never` for the other: then those that have signed that are free. First
goes one that leaves a member out, then the longest, then the lowest digest. If their parents
differ, the lists are compared at which their lines part. A member also gives up a list that follows
a dead one, that has a newcomer that its operator has evicted, or that does not follow its present
one, as the list of a newcomer that meant to begin a study of its own.

A member signs by itself the decisions of its operator: the accepted cards, and the evicted members.
One successor makes one kind of change, and evicts one member at most. When its operator proposes, a
member gives up lists without a member that it keeps: an eviction that is regretted blocks nobody.
A list without a member that others give up is signed again, as another attempt; by itself a member
does so a few times only, since operators may disagree for long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec

from pairgossip.errors import InputError
from pairgossip.study.protocol.known_lists import ACCEPTED, EVICTED, KnownLists, is_in_order
from pairgossip.study.protocol.records import (
    MOST_MEMBERS,
    NO_DIGEST,
    Assent,
    Card,
    Leave,
    MemberList,
    Never,
)
from pairgossip.study.protocol.site import Action, NotYet

_MOST_REPEATS = 8
"""Largest number of times that a member signs a list again by itself after others have given it
up; then its operator must."""


class Lists(KnownLists):
    """All lists that this member knows, and its signatures of them."""

    # Decisions of the operator

    def accept(self, card: Card) -> list[Action]:
        """Accept a member by hand."""
        self.evicted.discard(card.id)
        self.accepted[card.id] = card
        return [self._save(), *self.sign_what_is_decided(is_asked=True)]

    def evict(self, member: str) -> list[Action]:
        """Decide to continue without a member, or a newcomer that is accepted or does not sign.

        This member signs a list without it, or gives up those that it has not signed.
        """
        head = self.known.get(self.head)
        signed = () if head is None else head.ids
        lists = [*self.proposals, *([self.current] if self.current else [])]
        is_here = member in self.accepted or any(member in one.ids for one in lists)
        if member == self.card.id or not is_here:
            raise InputError(
                "That is no other member of the present list, or of one that is proposed, and not "
                "accepted: see who is."
            )
        if member in signed:
            self._refuse_few(len(signed) - 1)
        self.evicted.add(member)
        self.accepted.pop(member, None)
        return [self._save(), *self.sign_what_is_decided(is_asked=True)]

    def leave(self, *, totals_visible: bool = False) -> list[Action]:
        """Ask to be left out of the next list; what is said of totals can be added later."""
        if self.current is None or self.evicted_by() is not None:
            raise InputError("This peer is on no list of members that it could leave.")
        about = self.current.digest
        said = [held.record.totals_visible for held in self._find_leaves(about, self.card.id)]
        if any(is_visible >= totals_visible for is_visible in said):
            return []
        if not said:
            self._refuse_few(len({*self.current.ids} - self.leavers - {self.card.id}))
        leave = Leave(member=self.card.id, list=about, totals_visible=totals_visible)
        return self.desk.say(leave)

    def propose(self) -> list[Action]:
        """Sign a pending list of the operator's decisions; if there is none, a new one."""
        if not self.may_sign:
            raise NotYet
        before, actions = self.head, self._keep_members()
        actions += self.sign_what_is_decided(is_asked=True)
        if self.head != before:
            return actions
        try:
            return [*actions, *self._propose_new()]
        except InputError:
            if not actions:
                raise
            return actions  # they are saved already

    def _keep_members(self) -> list[Action]:
        """Give up lists without a member that this operator keeps.

        Those who have signed one may have changed their minds, and it would go before all others.
        """
        actions, mine = list[Action](), self.card.id
        for new in self.pending:
            parent = self.known.get(new.parent)
            if parent is None or mine not in parent.ids:
                continue
            if not set(parent.ids) - set(new.ids) <= self.evicted | self.leavers:
                actions += self._give_up(new)
        return actions

    def _propose_new(self) -> list[Action]:
        parent = self.known.get(self.head)
        if parent is None:
            return self._sign_new(lambda _: True, self.accepted.values())
        leavers = self.leavers.intersection(parent.ids)
        newcomers = [one for who, one in self.accepted.items() if who not in parent.ids]
        is_long = len(parent.ids) - len(leavers) >= self.least_members
        if leavers and (is_long or not newcomers):  # otherwise they leave once others have joined
            return self._sign_new(lambda one: one.id not in leavers)
        if not newcomers:
            return []
        return self._sign_new(lambda _: True, newcomers)

    def _sign_new(
        self,
        stays: Callable[[Card], bool],
        newcomers: Iterable[Card] = (),
        *,
        is_asked: bool = True,
    ) -> list[Action]:
        """Sign a new list after the last that this member has signed, if it may.

        If the operator has not asked for it now, a list that others give up again and again is not
        repeated for ever: members whose operators disagree would make lists as fast as frames go.
        """
        parent = self.known.get(self.head)
        before = (self.card,) if parent is None else parent.members
        cards = {one.id: one for one in before if stays(one)}
        cards |= {one.id: one for one in newcomers}
        members = tuple(cards[one] for one in sorted(cards))
        attempt = 0
        while self.is_dead((new := MemberList(self.head, members, attempt)).digest):
            attempt += 1
        if not is_asked and attempt > _MOST_REPEATS:
            return []
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
            ACCEPTED: msgspec.msgpack.encode(self.accepted),
            EVICTED: msgspec.msgpack.encode(sorted(self.evicted)),
        }
        return self.desk.save(notes=notes)

    # Signatures without a request

    def sign_what_is_decided(self, *, is_asked: bool = False) -> list[Action]:
        """Sign a pending list of the operator's decisions; give up others."""
        actions = [*self._forget_left(), *self._leave_still()]
        for new in self.pending if self.may_sign else ():
            if self._may_sign(new):
                actions += self._sign(new)
            elif self._must_give_up(new):
                actions += self._give_up(new)
        return actions + self._let_go(is_asked=is_asked)

    def _give_up(self, new: MemberList) -> list[Action]:
        return self.desk.say(Never(member=self.card.id, parent=new.parent, list=new.digest))

    def _forget_left(self) -> list[Action]:
        """Let former members come back only if the operator accepts them again."""
        left = self._left.intersection(self.accepted)
        self._left.clear()
        for one in left:
            del self.accepted[one]
        return [self._save()] if left else []

    def _leave_still(self) -> list[Action]:
        """Ask anew to be left out, where another list has come to exist since this was asked."""
        here, mine = self.current, self.card.id
        if here is None or not self.may_sign or self._find_leaves(here.digest, mine):
            return []
        asked = self._find_leaves(here.parent, mine)
        before = self.known.get(here.parent)
        if not asked or before is None or mine not in before.ids:
            return []
        is_visible = any(one.record.totals_visible for one in asked)
        return self.desk.say(Leave(member=mine, list=here.digest, totals_visible=is_visible))

    def _let_go(self, *, is_asked: bool) -> list[Action]:
        """Sign a list without evicted or leaving members.

        Of the remaining members, the one with the lowest id does so for a leaving one.
        """
        head = self.known.get(self.head)
        if head is None or not self.may_sign:
            return []
        if out := sorted(self.evicted.intersection(head.ids))[:1]:
            stay = [one for one in head.ids if one not in out]
            is_due = len(stay) >= self.least_members
        else:
            stay = [one for one in head.ids if one not in self.leavers or self.is_busy(one)]
            is_due = len(head.ids) > len(stay) >= self.least_members and stay[0] == self.card.id
        return self._sign_new(lambda one: one.id in stay, is_asked=is_asked) if is_due else []

    def _sign(self, new: MemberList) -> list[Action]:
        actions = self.desk.say(Assent(member=self.card.id, list=new))
        self.known.setdefault(new.digest, new)
        self._advance()
        return actions

    def _must_give_up(self, new: MemberList) -> bool:
        """Return whether this member will never sign a pending list, for which others may wait.

        A newcomer also gives up lists with another card of it, from an old invitation.
        """
        here = () if self.current is None else self.current.ids
        may_choose = self.current is not None or new.parent == NO_DIGEST
        if may_choose and not self.evicted.isdisjoint(set(new.ids) - set(here)):
            return True
        if self.current is None and new.cards[self.card.id] != self.card:
            return True
        if self.is_dead(new.parent) or self._is_beside(new, self._past):
            return True
        return any(self._goes_before(one, new) for one in self.ahead)

    def _goes_before(self, one: MemberList, new: MemberList) -> bool:
        """Return whether a list that is signed here goes before another, where their lines part."""
        ours, theirs = self._line(one), self._line(new)
        shared = {here.digest for here in ours} & {here.digest for here in theirs}
        if one.digest in shared or new.digest in shared:
            return False
        ours = [here for here in ours if here.digest not in shared]
        theirs = [here for here in theirs if here.digest not in shared]
        first, other = ours[-1], theirs[-1]
        if first.parent != other.parent or self.is_dead(first.digest):
            return False
        has_begun = any(self.exists(here.digest) for here in theirs)
        if not has_begun and any(self.exists(here.digest) for here in ours):
            return True  # a study that newcomers have joined, beside one that they meant to begin
        mine = self.card.id
        is_alone = all(self.signers(here.digest) <= {mine} for here in ours)
        if mine not in other.ids and (is_alone or has_begun):
            return False  # a newcomer's own study gives way to one that comes to exist without it
        return self._rank(first) < self._rank(other)

    def _may_sign(self, new: MemberList) -> bool:
        """Return whether a list has the operator's decisions, and follows the last one signed.

        A newcomer signs any list whose members its operator has all accepted, and later those
        before it that it did not know.
        """
        if self.is_dead(new.digest) or self.is_dead(new.parent) or not is_in_order(new):
            return False
        if self.card.id in self._spoken(new):
            return False
        is_before = any(self._leads(new, one) for one in self.ahead)
        if not is_before and not all(self._leads(one, new) for one in self.ahead):
            return False
        if is_before or self._is_newcomer(new):
            wanted = {**self.accepted, self.card.id: self.card}
            return all(wanted.get(one.id) == one for one in new.members)
        return new.parent == self.head and self._is_decided(new, self.known.get(new.parent))

    def _is_newcomer(self, new: MemberList) -> bool:
        """Return whether a list takes this member into a study, or follows one that does."""
        if self.current is not None or new.parent == NO_DIGEST:
            return False
        before = [self.card.id in one.ids for one in self._line(new)[1:]]
        return not before or not all(before)

    def _is_decided(self, new: MemberList, parent: MemberList | None) -> bool:
        """Return whether all changes are the operator's."""
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
