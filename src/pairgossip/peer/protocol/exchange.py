"""The exchange between two peers, without any input or output: events in, actions out.

Theory of operation
-------------------
A swap that one side makes and the other does not duplicates one record and loses another, forever.
So an exchange happens on both sides exactly once or not at all, even if messages are lost, repeated
or reordered, or processes are killed.

The initiator saves its offer durably before it sends it. From then on the node of the offer is
frozen, and the offer is repeated until there is an answer: giving up alone would be a half-made
swap. The responder decides, once: it swaps, averages, updates and writes the outcome down in one
durable transaction before it answers, and gives the same answer again whenever the same offer comes
again. It forgets an outcome only for a later offer of the same neighbor, which the neighbor cannot
make before it has learned the earlier outcome: at most one offer to a neighbor is in doubt, and
offers to different neighbors concern different nodes.

So a neighbor that is gone freezes one node, and the others go on. One that is known to be away is
offered nothing until it is heard again. Before a peer offers its last free node it asks the
neighbor whether it is there: it stands still only if the neighbor dies within that round trip.

A responder never waits, so there is no deadlock. One whose nodes are all frozen rejects; or it
lets a neighbor with a lower id wait until one of its own answers has come: waits then only run from
lower to higher ids, and never in a circle. No neighbor waits longer than until one of the peer's
own offers is repeated: otherwise one lost peer would stop its neighbors' neighbors, too.

A record that is in doubt with a member lost for good ends the generation: see `membership`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import chain

from msgspec.structs import replace

from pairgossip.peer.protocol.events import Event
from pairgossip.peer.protocol.membership import RestoredBackup
from pairgossip.peer.protocol.messages import (
    Accept,
    AnyMessage,
    Notice,
    Offer,
    Reason,
    Reject,
    encode,
)
from pairgossip.peer.protocol.nodes import Nodes, first_nodes
from pairgossip.peer.protocol.state import (
    Action,
    Answered,
    Outcome,
    Pending,
    RepeatLater,
    Save,
    Send,
    State,
)

_REJECTED: dict[Reason, Event] = {
    "busy": Event.REJECTED_BUSY,
    "member": Event.REJECTED_MEMBER,
    "stale": Event.REJECTED_STALE,
    "generation": Event.REJECTED_GENERATION,
}
"""The event of an offer that a neighbor rejects, by its reason."""
_REJECTING: dict[Reason, Event] = {
    "busy": Event.REJECTING_BUSY,
    "member": Event.REJECTING_MEMBER,
    "stale": Event.REJECTING_STALE,
    "generation": Event.REJECTING_GENERATION,
}
"""The event of a neighbor's offer that this peer rejects, by its reason."""
_REPEATS_UNTIL_AWAY = 3
"""Number of repeated offers without any answer after which a neighbor counts as away."""


@dataclass
class Exchange(Nodes):
    """One peer's side of all its exchanges."""

    greeted: set[str] = field(default_factory=set)
    """Neighbors to be asked once they say hello, since the clock has rung for them."""
    _waiting: dict[str, Offer] = field(default_factory=dict)
    _overdue: set[int] = field(default_factory=set)
    """The numbers of offers that had to be repeated."""
    _unheard: Counter[str] = field(default_factory=Counter)
    """The number of repeated offers since each neighbor was last heard."""

    def describe_backup(self, neighbor: str) -> str:
        """Describe the evidence at a neighbor that this state is a restored backup."""
        return f"Neighbor '{neighbor}' has seen later offers of this peer than its own state knows:"

    # Events

    def start(self) -> list[Action]:
        """Begin, for the first time or again: say hello, and repeat offers without an answer.

        The state is written down once more first, all of it, since a database syncs nothing if
        nothing changed. A process killed between the commit and the sync of a save finds that save
        again, and nobody may hear of it while a loss of power can still undo it.
        """
        hellos = [Send(neighbor, self._hello(neighbor)) for neighbor in self.present]
        actions: list[Action] = [Save(self.state, sync=True, everything=True), *hellos]
        for neighbor in self.state.pending:
            actions += self.repeat(neighbor)
        return actions

    def ring(self, to: str) -> list[Action]:
        """Offer an exchange to the neighbor drawn when the clock rang, if it is there."""
        if to not in self.present:
            self.counts[Event.NEIGHBOR_EVICTED] += 1
        elif to in self.state.pending:
            self.counts[Event.OFFER_IN_DOUBT] += 1
        elif not self.free_rows:
            self.counts[Event.NO_ROW_FREE] += 1
        elif to not in self.agreed:
            return self._greet(to, Event.NEIGHBOR_UNHEARD)
        elif to in self.away:
            return self._greet(to, Event.NEIGHBOR_AWAY)
        elif self.free_rows == 1:
            return self._greet(to, Event.NEIGHBOR_ASKED)
        else:
            return self.ask(to)
        return []

    def ask(self, to: str) -> list[Action]:
        """Offer a neighbor an exchange with a row that is free."""
        (node,) = self._free_nodes("offer", 1)
        seq = self.state.seq + 1
        pending = {**self.state.pending, to: Pending(seq, node)}
        self.state = replace(self.state, seq=seq, pending=pending)
        self.counts[Event.OFFER] += 1
        return [Save(self.state, sync=True), Send(to, self._offer(to)), RepeatLater(to)]

    def repeat(self, to: str) -> list[Action]:
        """Repeat the offer to a neighbor that has not answered in time."""
        if to not in self.state.pending:
            return []
        seq = self.state.pending[to].seq
        self.counts[Event.OFFER_REPEATED] += 1
        # The neighbor may be gone, if not even a repeated offer was answered. Two peers that both
        # wait for lost ones would otherwise never speak again, and never join what each knows of
        # evictions and added rows.
        waits_long = seq in self._overdue
        others = [who for who in self.present if who != to and waits_long]
        news = [Send(who, self._hello(who)) for who in others]
        self._overdue.add(seq)
        self._unheard[to] += 1
        if self._unheard[to] >= _REPEATS_UNTIL_AWAY:
            self.away.add(to)
        hello = [] if to in self.agreed else [self._hello(to)]
        messages: list[AnyMessage] = [*hello, self._offer(to)]
        again = [Send(to, message) for message in messages]
        return [*again, *news, RepeatLater(to), *self._reject_waiting()]

    def _handle(self, sender: str, message: AnyMessage) -> list[Action]:
        match message:
            case Reject():
                return self._handle_reject(sender, message)
            case Offer() if self._is_sound(message):
                return self._handle_offer(sender, message)
            case Accept() if self._is_sound(message):
                return self._handle_accept(sender, message)
        return []

    def _heard(self, sender: str) -> None:
        super()._heard(sender)
        self._unheard.pop(sender, None)

    def begin_generation(self, notice: Notice) -> list[Action]:
        """Put every node's own record back, forget the rest, and notify the neighbors."""
        self.context = self.context.with_changes(notice.changes)
        own = self.context.own if len(self.context.own) != len(self.state.nodes) else None
        self.state = State(
            generation=notice.generation,
            evicted=notice.evicted,
            seq=self.state.seq,  # a number is never used twice, not even in another generation
            nodes=first_nodes(self.context, notice.generation),
            pending={},
            outcomes={},
            exchanges=0,
            notice=encode(notice),
            grown=notice.grown,
        )
        self._waiting.clear()
        self._overdue.clear()
        self.counts[Event.GENERATION_BEGUN] += 1
        # Evicted neighbors too, while they listen: their operators should know.
        notices = [Send(neighbor, notice) for neighbor in self.context.neighbors]
        return [Save(self.state, sync=True, everything=True, own=own), *notices]

    # The initiator's side

    def _offer(self, to: str) -> Offer:
        pending = self.state.pending[to]
        node = self.state.nodes[pending.node]
        return Offer(self.state.generation, pending.seq, node.record, node.mass)

    def _handle_accept(self, sender: str, answer: Accept) -> list[Action]:
        pending = self._pending_offer(sender, answer.seq)
        if pending is None or not self._apply(pending.node, answer.record, answer.mass):
            return []
        self._set_free(sender)
        touched = (pending.node, *self._exchange_locally())
        # If this is lost, the offer is repeated and the answer comes again.
        saved = Save(self.state, sync=False, nodes=touched)
        return [saved, Answered(sender), *self._answer_waiting()]

    def _handle_reject(self, sender: str, answer: Reject) -> list[Action]:
        pending = self._pending_offer(sender, answer.seq)
        if pending is None:
            return []
        if answer.reason == "stale":
            raise RestoredBackup(sender)
        self.counts[_REJECTED[answer.reason]] += 1
        self._set_free(sender)
        answered = Answered(sender, is_busy=answer.reason == "busy")
        return [Save(self.state, sync=False), answered, *self._answer_waiting()]

    def _pending_offer(self, sender: str, seq: int) -> Pending | None:
        """Return the offer that a neighbor answers; None if it was answered before."""
        pending = self.state.pending.get(sender)
        if pending is None or pending.seq != seq:
            self.counts[Event.ANSWER_AGAIN] += 1
            return None
        return pending

    def _set_free(self, neighbor: str) -> None:
        """Forget the offer to this neighbor, whose outcome is known."""
        rest = {who: pending for who, pending in self.state.pending.items() if who != neighbor}
        self.state = replace(self.state, pending=rest)
        self._overdue &= {pending.seq for pending in rest.values()}

    def _answer_waiting(self) -> list[Action]:
        """Answer the offers that waited while no row was free."""
        waiting, self._waiting = self._waiting, {}
        return list(chain.from_iterable(self._handle_offer(*one) for one in waiting.items()))

    def _reject_waiting(self) -> list[Action]:
        """Reject all waiting offers, since the peer whose answer they wait for may be gone."""
        waiting, self._waiting = self._waiting, {}
        rejected = (self._reject(who, offer.seq, "busy") for who, offer in waiting.items())
        return list(chain.from_iterable(rejected))

    # The responder's side

    def _handle_offer(self, sender: str, offer: Offer) -> list[Action]:
        outcome_before = self.state.outcomes.get(sender)
        if outcome_before is not None and offer.seq < outcome_before.seq:
            self.counts[Event.OFFER_OUTDATED] += 1
            return [Send(sender, Reject(self.state.generation, offer.seq, "stale"))]
        if outcome_before is not None and offer.seq == outcome_before.seq:
            self.counts[Event.ANSWER_REPEATED] += 1
            return [Send(sender, self._answer_of(outcome_before))]
        if not self.context.check.is_member(offer.record):
            return self._reject(sender, offer.seq, "member")
        node = self._free_node()
        if node is None:
            if sender < self.context.me and self._expects_an_answer():
                self.counts[Event.OFFER_WAITS] += 1
                self._waiting[sender] = offer
                return []
            return self._reject(sender, offer.seq, "busy")
        before = self.state.nodes[node]
        outcome = Outcome(offer.seq, before.record, before.mass)
        if not self._apply(node, offer.record, offer.mass):
            return []
        touched = (node, *self._exchange_locally())
        self._keep(sender, outcome)
        self.counts[Event.OFFER_ACCEPTED] += 1
        return [Save(self.state, True, touched, sender), Send(sender, self._answer_of(outcome))]

    def _expects_an_answer(self) -> bool:
        """Return whether an answer to one of the peer's own offers is not overdue yet."""
        return any(pending.seq not in self._overdue for pending in self.state.pending.values())

    def _reject(self, sender: str, seq: int, reason: Reason) -> list[Action]:
        outcome = Outcome(seq, None, reason=reason)
        self._keep(sender, outcome)
        self.counts[_REJECTING[reason]] += 1
        return [Save(self.state, True, (), sender), Send(sender, self._answer_of(outcome))]

    def _keep(self, sender: str, outcome: Outcome) -> None:
        self.state = replace(self.state, outcomes={**self.state.outcomes, sender: outcome})

    def _answer_of(self, outcome: Outcome) -> Accept | Reject:
        generation = self.state.generation
        if outcome.record is None:
            return Reject(generation, outcome.seq, outcome.reason)  # type: ignore[arg-type]
        return Accept(generation, outcome.seq, outcome.record, outcome.mass)

    def _is_sound(self, message: Offer | Accept) -> bool:
        check, record = self.context.check, message.record
        if not self.context.rule.is_plausible(message.mass):
            self.counts[Event.MASS_IMPLAUSIBLE] += 1
        elif not check.is_member(record):
            if isinstance(message, Offer):
                return True  # it is rejected later, so that the neighbor can go on
            self.counts[Event.RECORD_OF_STRANGER] += 1
        elif not check.is_sound(record, self.state.generation):
            self.counts[Event.RECORD_NOT_GENUINE] += 1
        else:
            return True
        return False

    def _greet(self, to: str, why: Event) -> list[Action]:
        """Say hello first; the exchange is offered when the neighbor says hello too."""
        self.counts[why] += 1
        self.greeted.add(to)
        return [Send(to, self._hello(to))]

    def _greeted_back(self, sender: str) -> list[Action]:
        if sender not in self.greeted or sender not in self.agreed:
            return []
        self.greeted.discard(sender)
        can_ask = self.free_rows and sender not in self.state.pending
        return self.ask(sender) if can_ask else []
