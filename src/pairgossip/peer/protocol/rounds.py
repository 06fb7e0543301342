"""Rounds of sums of which nothing but the sum becomes known, without any input or output.

Theory of operation
-------------------
In every round each member contributes once: numbers under a mask that cancels in the sum, signed.
Contributions spread by set union: neighbors tell each other which they have, and ask for those they
lack. Union does not mind loss, repetition, reordering or restarts, so nothing here has to happen
exactly once. When the contributions of all members are there, everyone adds them and knows the sum;
what the next round asks follows from the sums so far, and is the same at every member.

A contribution is durable before anyone hears of it, and what it depends on is in the transcript and
the question that its mask is made for (see `masks`): a peer that comes back from a crash, or from
an old backup, contributes the same bytes or is found out. If it has sent its contribution to nobody
since it started, it asks the first neighbor that has it for it, and stops if it is another.

Round 0 is about the members: each commits to its rows, for a transcript that is the digest of the
list of members. So members with different lists, or other rows than before, never get to a mask.
A list may grow until there is a sum: members then commit again. Once there is one it may not, for
two sums over lists that differ by one member tell what that member has contributed. For the same
reason a peer that has contributed to a sum contributes to none in a later generation, until its own
operator has agreed to all that has changed, and stays where it is (see `consent`). So one honest
member is enough to keep the others from evicting somebody, or adding rows, in order to see numbers
by difference.

Two different contributions of one member for one transcript are proof of a lie. It shows in the
next round at the latest, as transcripts differ; the two are then found, kept and passed on, and the
generation ends there. A member whose numbers differ by a rounding from the others' asks for
something else in clear: then the round is repeated with what the member with the lowest id asked.

A member that is missing stops the round. It is waited for, or evicted.

What a round asks for, and what follows from it, is in `summation`; here is how contributions
spread.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from pairgossip.peer.protocol.events import Event
from pairgossip.peer.protocol.held import Batch
from pairgossip.peer.protocol.membership import RestoredBackup
from pairgossip.peer.protocol.messages import (
    FIRST_GENERATION,
    LONGEST_PUBLIC,
    AnyMessage,
    Contribution,
    Have,
    Notice,
    Proof,
    Roster,
    Want,
    encode,
    is_roster,
    signed_payload,
)
from pairgossip.peer.protocol.program import Kind
from pairgossip.peer.protocol.state import ContactSoon, Place, SaveSums, Send, SumsAction, SumsState
from pairgossip.peer.protocol.summation import COMMITMENT, Halt, Summation

_DIGEST = 32
"""Bytes of a digest."""
_MOST_SENT = 64
"""Contributions sent in answer to one request; the rest are asked for again."""
_MOST_BYTES = 1 << 22
"""How much one request brings at once: more would only be dropped on its way."""
_MOST_REPEATS = 8
"""How often a neighbor gets the same contribution between two contacts: enough for a network that
loses every other frame, and no more than that, for a request is short and what it brings is not."""
_MOST_PARTINGS = 8
"""Contacts after which an evicted peer that knows all leaves, whoever has not answered."""


@dataclass
class Rounds(Summation):
    """One peer's side of all rounds."""

    backup_evidence = "holds a contribution signed by this peer that is not the one this peer makes"

    other_lists: dict[str, dict[str, int]] = field(default_factory=dict)
    """Members and rows as neighbors have them whose lists differ; empty until they tell."""
    _theirs: dict[str, Have] = field(default_factory=dict)
    """How far neighbors are, as they last said."""
    _requests: int = 0
    """Whose contributions were asked for and may be on their way."""
    _turn: int = 0
    """Which neighbor is asked next for everything, whoever was asked before."""
    _has_turn: bool = True
    """Whether that one has not been asked yet."""
    _sent: dict[int, set[str]] = field(default_factory=dict)
    """Who was sent this peer's contribution to a round, or has shown it to be the same."""
    _compared: dict[str, int] = field(default_factory=dict)
    """Whose contributions neighbors were asked for whose transcripts differ, a bit each."""
    _times_sent: dict[str, Counter[Place]] = field(default_factory=dict)
    """How often each contribution was sent to a neighbor on request since the last contact."""
    _partings: int = 0
    """Contacts of a peer that is evicted since it knows all."""
    _bits_cache: tuple[Mapping[Place, Contribution], int, tuple[str, ...], int] = ({}, -1, (), 0)
    """Contributions, round and members, and which of the members' are there, a bit each."""

    def describe_backup(self, neighbor: str) -> str:
        """Say what a neighbor knows that shows that this state is a restored backup."""
        return (
            f"Neighbor '{neighbor}' holds a contribution signed by this peer that is not the one "
            "this peer makes:"
        )

    def _begin(self) -> None:
        self._theirs.clear()
        self._sent.clear()
        self._compared.clear()
        self._times_sent.clear()
        self.other_lists.clear()
        self._requests, self._has_turn, self._partings = 0, True, 0
        super()._begin()

    @property
    def is_settled(self) -> bool:
        """Whether nothing is left to tell any neighbor."""
        level = (self.round, self.transcript)
        return self.ask is None and all(
            who in self._theirs and (self._theirs[who].round, self._theirs[who].transcript) == level
            for who in self.present
        )

    def _is_needed(self) -> bool:
        """Return whether others may need this peer for the result of the present generation."""
        if self.halt is not None or self.state.summed_in != self.state.generation:
            return False
        return self.ask is not None or not (self.is_settled or self._partings >= _MOST_PARTINGS)

    # Events

    def start(self) -> list[SumsAction]:
        """Begin, for the first time or again; the state is written down once more, all of it."""
        hellos = [Send(neighbor, self._hello(neighbor)) for neighbor in self.present]
        return [SaveSums(self.state, True, everything=True), *hellos, *self._proceed()]

    def contact(self, *, has_news: bool = False) -> list[SumsAction]:
        """Tell neighbors how far this peer is, and ask again for what has not come.

        With news, those are told that may lack it, and what was asked for may still come: else a
        slow network would be asked for the same at every piece of news.
        """
        self._times_sent.clear()
        if not has_news:
            self._requests, self._has_turn = 0, True
            self._turn += 1
        messages: list[SumsAction] = []
        if not has_news and (waiting := self.next_notice) is not None:
            if not self._is_leaving:
                messages += [Send(neighbor, waiting) for neighbor in self.present]
            else:
                self._partings += self.ask is None
                messages += self._leave(waiting)
        have = self._have(wants_answer=not has_news)
        for neighbor in self.present:
            if neighbor not in self.agreed:
                messages.append(Send(neighbor, self._hello(neighbor)))
            elif self.state.proof is not None:
                messages.append(Send(neighbor, self.state.proof))
            elif self._is_to_be_told(neighbor, have, has_news=has_news):
                messages.append(Send(neighbor, have))
            messages += self._ask_on(neighbor)
        return messages

    def _ask_on(self, neighbor: str) -> list[SumsAction]:
        """Ask a neighbor for what it has, and nobody was asked for yet."""
        theirs = self._theirs.get(neighbor)
        if theirs is None or neighbor not in self.agreed:
            return []
        is_same = (theirs.round, theirs.transcript) == (self.round, self.transcript)
        return self._compare(neighbor, theirs) if is_same or theirs.round > self.round else []

    def _is_to_be_told(self, neighbor: str, have: Have, *, has_news: bool) -> bool:
        theirs = self._theirs.get(neighbor)
        if theirs is None or (self.ask is not None and not has_news):
            return True
        if has_news and theirs.round == have.round:
            return bool(_bits(have.held) & ~_bits(theirs.held))
        return replace(theirs, wants_answer=have.wants_answer) != have

    def begin_generation(self, notice: Notice) -> list[SumsAction]:
        """Forget all contributions, and notify the neighbors."""
        waiting = self.next_notice
        self.context = self.context.with_changes(notice.changes)
        has_more = len(self.context.own) != self.state.rows
        self.state = SumsState(
            rows=len(self.context.own),
            batches=self.context.batches,
            generation=notice.generation,
            evicted=notice.evicted,
            notice=encode(notice),
            grown=notice.grown,
            summed_in=self.state.summed_in,
            summed=self.state.summed,
            consent=self.state.consent,
            released=self.state.released.leave(is_finished=self.ask is None and self.halt is None),
        )
        self._begin()
        self.counts[Event.GENERATION_BEGUN] += 1
        notices = [Send(neighbor, notice) for neighbor in self.context.neighbors]
        save = SaveSums(self.state, True, everything=True, has_more_rows=has_more)
        if waiting is not None and not notice.changes.include(waiting.changes):
            follow = self._leave if self.context.me in waiting.evicted else self._follow
            return [save, *notices, *follow(waiting)]
        return [save, *notices, *self._proceed()]

    def _handle(self, sender: str, message: AnyMessage) -> list[SumsAction]:
        match message:
            case Have() if self._is_set(message.held):
                return self._handle_have(sender, message)
            case Have() if message.round == 0 and message.transcript != self.transcript:
                # It is about another list, which is found out; the set tells nothing of this one.
                return self._handle_have(sender, replace(message, held=self._pack(0)))
            case Want() if self._is_set(message.members):
                return self._handle_want(sender, message)
            case Have() | Want():
                self.counts[Event.OTHER_SET] += 1
            case Contribution():
                return self._handle_contribution(sender, message)
            case Proof():
                return self._handle_proof(sender, message)
            case Roster() if not is_roster(message.rows, len(self.context.rows)):
                self.counts[Event.MALFORMED] += 1
            case Roster():
                if self.round == 0:
                    self.other_lists[sender] = dict(message.rows)
            case _:
                self.counts[Event.OTHER_PROTOCOL] += 1
        return []

    def _greeted_back(self, sender: str) -> list[SumsAction]:
        return [Send(sender, self._have())] if sender in self.agreed else []

    def _proceed(self) -> list[SumsAction]:
        """Contribute and add up as long as all is there; then tell the neighbors."""
        actions, before = list[SumsAction](), self.round
        while self.halt is None and self.ask is not None:
            actions += self._contribute()
            if not self._is_complete():
                break
            self._finish_round()
        if self.round > before:
            self._requests, self._has_turn = 0, True
            level = [who for who in self.present if who in self.agreed]
            actions += [Send(who, self._have(wants_answer=False)) for who in level]
            for who, theirs in list(self._theirs.items()):
                actions += self._compare(who, theirs)
        return [*actions, ContactSoon()]

    # Union

    def _have(self, *, wants_answer: bool = True) -> Have:
        packed = self._pack(self._bits_here())
        return Have(self.state.generation, self.round, self.transcript, packed, wants_answer)

    def _handle_have(self, sender: str, have: Have) -> list[SumsAction]:
        self._theirs[sender] = have
        if sender not in self.agreed:
            return [Send(sender, self._hello(sender))]
        actions = self._compare(sender, have)
        is_behind = have.round < self.round or self._lacks(have)
        if have.wants_answer and is_behind:
            actions.append(Send(sender, self._have(wants_answer=False)))
        return actions

    def _lacks(self, have: Have) -> bool:
        """Return whether this peer has contributions to the present round that a neighbor lacks."""
        return have.round == self.round and bool(self._bits_here() & ~_bits(have.held))

    def _bits_here(self) -> int:
        """Return the members whose contributions to the present round are here, as bits.

        Neighbors tell and ask much more often than a contribution comes, so the bits are kept.
        """
        kept, number, members = self.state.contributions, self.round, self.members
        if self._bits_cache[0] is not kept or self._bits_cache[1:3] != (number, members):
            bits = sum(1 << place for place, one in enumerate(members) if (number, one) in kept)
            self._bits_cache = kept, number, members, bits
        return self._bits_cache[3]

    def _compare(self, sender: str, have: Have) -> list[SumsAction]:
        """Send a neighbor this peer's contribution, and ask for what it has and this peer lacks."""
        if have.round < self.round:
            return []
        if have.round > self.round:
            return self._request(sender, (1 << len(self.members)) - 1)
        if have.transcript != self.transcript:
            return self._look_into(sender, have)
        self.other_lists.pop(sender, None)
        theirs, own = _bits(have.held), self.contribution(self.context.me)
        actions = self._request(sender, theirs)
        mine = 1 << self.members.index(self.context.me)
        sent = self._sent.setdefault(self.round, set())
        if own is not None and not theirs & mine and sender not in sent:
            sent.add(sender)
            actions.append(Send(sender, own))
        return actions

    def _request(self, sender: str, offered: int) -> list[SumsAction]:
        """Ask for what is missing here, and for one's own unless it was sent to somebody."""
        if self.ask is None or self.halt is not None:
            return []
        missing = (1 << len(self.members)) - 1 & ~self._bits_here()
        if not self._sent.get(self.round):
            missing |= 1 << self.members.index(self.context.me)
        # One that offers all and sends nothing keeps nobody from asking the others: each of them
        # is asked in its turn, whoever was asked before.
        has_turn = self._has_turn and sender == self.present[self._turn % len(self.present)]
        request = offered & missing & (-1 if has_turn else ~self._requests)
        self._has_turn = self._has_turn and not (has_turn and request)
        request = _lowest(request, self._most_requested)
        self._requests |= request
        return [Send(sender, self._want(self.round, request))] if request else []

    @property
    def _most_requested(self) -> int:
        """How many contributions one answer holds."""
        return min(_MOST_SENT, _MOST_BYTES // (8 * self.program.longest) + 1)

    def _want(self, number: int, members: int) -> Want:
        return Want(self.state.generation, number, self._pack(members))

    def _is_set(self, packed: bytes) -> bool:
        """Return whether this has a bit for each present member, and no other is set."""
        size = len(self.members)
        return len(packed) == (size + 7) // 8 and not _bits(packed) >> size

    def _pack(self, members: int) -> bytes:
        return members.to_bytes((len(self.members) + 7) // 8, "little")

    def _look_into(self, sender: str, have: Have) -> list[SumsAction]:
        """Find out why a neighbor's transcript differs: another list, or a lie a round ago."""
        if self.round == 0:
            self.other_lists.setdefault(sender, {})
            self.counts[Event.OTHER_LIST] += 1
            rows = tuple(sorted(self.context.present_rows.items()))
            return [Send(sender, Roster(self.state.generation, rows))]
        self.counts[Event.TRANSCRIPT_DIFFERS] += 1
        # An answer holds some members' contributions only, so those not seen yet are asked for.
        everyone = (1 << len(self.members)) - 1
        left = everyone & ~self._compared.get(sender, 0) or everyone
        request = _lowest(left, self._most_requested)
        self._compared[sender] = (everyone & ~left) | request
        return [Send(sender, self._want(self.round - 1, request))]

    def _handle_want(self, sender: str, want: Want) -> list[SumsAction]:
        bits, answers, size = _bits(want.members), list[SumsAction](), 0
        counts = self._times_sent.setdefault(sender, Counter())
        for place, one in enumerate(self.members):
            contribution = self.contribution(one, want.round) if bits >> place & 1 else None
            if contribution is None or len(answers) >= _MOST_SENT or size >= _MOST_BYTES:
                continue
            if counts[want.round, one] >= _MOST_REPEATS:
                self.counts[Event.REQUEST_UNANSWERED] += 1
                continue
            counts[want.round, one] += 1
            answers.append(Send(sender, contribution))
            size += len(contribution.words) + len(contribution.public)
        return answers

    def _handle_contribution(self, sender: str, contribution: Contribution) -> list[SumsAction]:
        if contribution.member not in self.members:
            self.counts[Event.CONTRIBUTION_OF_STRANGER] += 1
            return []
        last = self.round - (self.ask is None)  # no round is open without a question
        if contribution.round > last:
            self.counts[Event.CONTRIBUTION_AHEAD] += 1
            return []
        before = self.contribution(contribution.member, contribution.round)
        if before is not None and self._digest(before) == self._digest(contribution):
            if contribution.member == self.context.me:
                self._sent.setdefault(contribution.round, set()).add(sender)
            self.counts[Event.CONTRIBUTION_AGAIN] += 1
            return []
        if self._is_too_long(contribution):
            self.counts[Event.MALFORMED] += 1
            return []
        if not self._is_genuine(contribution):
            self.counts[Event.CONTRIBUTION_NOT_GENUINE] += 1
            return []
        if before is not None and before.transcript == contribution.transcript:
            return self._handle_proof(sender, Proof(self.state.generation, before, contribution))
        if before is not None or self.halt is not None or not self._fits(contribution):
            return []
        if contribution.member == self.context.me:
            raise RestoredBackup(sender)
        return [self._keep(contribution, sync=False), *self._proceed()]

    def _fits(self, contribution: Contribution) -> bool:
        """Return whether a contribution to the present round is one that can be added."""
        if contribution.transcript != self.transcript:
            self.counts[Event.OTHER_TRANSCRIPT] += 1
        elif not self._is_well_formed(contribution):
            self.counts[Event.MALFORMED] += 1
        else:
            return True
        return False

    def _is_well_formed(self, contribution: Contribution) -> bool:
        """Return whether lengths are those asked for, or those of another question."""
        assert self.ask is not None
        if self.ask.kind is Kind.CARDS:
            length = COMMITMENT + len(self.program.card())
            return (len(contribution.public), contribution.words) == (length, b"")
        if contribution.public == self.ask.public:
            return len(contribution.words) == 8 * self.ask.words
        return len(contribution.words) % 8 == 0

    def _is_too_long(self, contribution: Contribution) -> bool:
        """Return whether a contribution is longer than any; no frame might hold two such."""
        return (
            len(contribution.words) > 8 * self.program.longest
            or len(contribution.public) > LONGEST_PUBLIC
            or len(contribution.transcript) != _DIGEST
        )

    def _is_genuine(self, contribution: Contribution) -> bool:
        signed = signed_payload(contribution, self.context.spec)
        return contribution.generation == self.state.generation and self.context.verify(
            contribution.member, signed, contribution.signature
        )

    def _handle_proof(self, sender: str, proof: Proof) -> list[SumsAction]:
        """Keep two contributions that contradict each other, and pass them on."""
        first, second = proof.first, proof.second
        places = [(one.member, one.round, one.transcript) for one in (first, second)]
        if self.state.proof is not None or first.member not in self.members:
            return []
        is_contradiction = places[0] == places[1] and self._digest(first) != self._digest(second)
        if not (is_contradiction and self._is_genuine(first) and self._is_genuine(second)):
            self.counts[Event.NO_PROOF] += 1
            return []
        if first.member == self.context.me:
            raise RestoredBackup(sender)
        self.state = replace(self.state, proof=proof)
        self.halt = Halt("lie", (first.member,))
        self.counts[Event.LIE_PROVED] += 1
        return [SaveSums(self.state, True), *(Send(who, proof) for who in self.present)]


def _bits(packed: bytes) -> int:
    """Return a set of members, a bit each."""
    return int.from_bytes(packed, "little")


def _lowest(bits: int, count: int) -> int:
    """Return the lowest bits that are set, at most this many."""
    kept = 0
    while bits and kept.bit_count() < count:
        kept |= bits & -bits
        bits &= bits - 1
    return kept


def first_sums(rows: int, batches: tuple[Batch, ...] = ()) -> SumsState:
    """Return the state of a peer with this many rows that has never run."""
    return SumsState(FIRST_GENERATION, rows=rows, batches=batches)
