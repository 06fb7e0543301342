"""The exchange between two peers, without any input or output: events in, actions out.

Theory of operation
-------------------
A swap that one side makes and the other does not duplicates one record and loses another, for
ever. So an exchange happens on both sides exactly once or not at all, whatever is lost, repeated,
reordered or killed.

The initiator writes down that it asks, durably, before it asks. From then on the node concerned is
frozen, and the offer is repeated until there is an answer: giving up alone would be the half-made
swap. The responder decides, once: it swaps, averages, updates and writes the outcome down in one
durable transaction before it tells anyone, and tells the same outcome again whenever the same
offer comes again. It forgets an outcome only for a later offer of the same neighbor, which the
neighbor cannot make before it has learned the earlier outcome: at most one offer to a neighbor is
in doubt, and offers to different neighbors concern different nodes.

So a neighbor that is gone freezes one node, and the others go on. One that is known to be away is
offered nothing until it is heard again. Before a peer offers its last free node it asks the
neighbor whether it is there: it stands still only if the neighbor dies within that round trip.

A responder never waits, so there is no deadlock. One whose nodes are all frozen rejects; or it
lets a neighbor with a lower id wait until one of its own answers has come: waits then only run from
lower to higher ids, and never in a circle. Nobody waits longer than until one of the own offers is
repeated, or one peer that is gone would stop its neighbors' neighbors too.

A generation is one run of the network from the members' own records. When a member is lost for
ever, with a record in doubt, the others begin a new one without it. When a member adds rows, all
begin a new one with them.

The actions of one event are to be carried out in their order: what is saved with ``sync`` must be
on the disk before anything after it is sent.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from dataclasses import replace as with_fields

from msgspec.structs import replace

from pairgossip.peer.protocol.context import Setting
from pairgossip.peer.protocol.generations import FIRST, Changes, Growth, following, is_consistent
from pairgossip.peer.protocol.messages import (
    Accept,
    AnyMessage,
    BadFrame,
    Hello,
    Mass,
    Notice,
    Offer,
    Reason,
    Reject,
    decode,
    encode,
)
from pairgossip.peer.protocol.records import Record
from pairgossip.peer.protocol.state import (
    Action,
    Node,
    Outcome,
    Pending,
    RepeatLater,
    Save,
    Send,
    State,
    Vector,
    as_vector,
    picks_per_exchange,
)
from pairgossip.peer.protocol.transitions import ASKING, FREE, Phase
from pairgossip.peer.storage.rows import Rows

REPEATS_UNTIL_AWAY = 3
"""A neighbor is taken to be away once so many repeated offers brought no word from it."""


class RestoredBackup(Exception):
    """A neighbor has seen later offers of this peer than this peer remembers."""


class ForgottenRows(RestoredBackup):
    """The others have this peer's own word for more rows than this peer remembers."""


class BrokenInvariant(Exception):
    """This peer's own state is not what it must be: our defect, never a neighbor's."""


class NotFinite(ArithmeticError):
    """An update gave a number that is none; nothing was changed."""


@dataclass
class Exchange:
    """One peer's side of all its exchanges."""

    setting: Setting
    state: State
    counts: Counter[str] = field(default_factory=Counter)
    agreed: set[str] = field(default_factory=set)
    """Neighbors that run the same specification."""
    disagreeing: dict[str, str] = field(default_factory=dict)
    """By the neighbors that run another, its text."""
    evicted_by: str | None = None
    """Who has announced a generation without this peer."""
    away: set[str] = field(default_factory=set)
    """Neighbors that are not there, as far as is known; a frame of theirs proves the contrary."""
    greeted: set[str] = field(default_factory=set)
    """Neighbors that will be asked when they say hello, since the clock has rung for them."""
    _waiting: dict[str, Offer] = field(default_factory=dict)
    _overdue: set[int] = field(default_factory=set)
    """The numbers of offers that had to be repeated."""
    _unheard: Counter[str] = field(default_factory=Counter)
    """How often offers were repeated since the last word of a neighbor."""

    def __post_init__(self) -> None:
        self.setting = self.setting.with_changes(self.state.changes)

    def phase(self, neighbor: str) -> Phase:
        """Whether an offer to this neighbor waits for its answer."""
        return ASKING if neighbor in self.state.pending else FREE

    @property
    def present(self) -> list[str]:
        """The neighbors that are not evicted."""
        return [who for who in self.setting.neighbors if who not in self.state.evicted]

    @property
    def free_rows(self) -> int:
        """How many rows no offer has frozen."""
        return len(self.state.nodes) - len(self.state.pending)

    # Events

    def start(self) -> list[Action]:
        """Begin, for the first time or again: say hello, and ask again what was not answered.

        The state is written down once more first, all of it, since a database syncs nothing if
        nothing changed. A process killed between the commit and the sync of a save finds that save
        again, and nobody may be told of it while a loss of power can still undo it.
        """
        hellos = [Send(neighbor, self._hello(neighbor)) for neighbor in self.present]
        actions: list[Action] = [Save(self.state, sync=True, everything=True), *hellos]
        for neighbor in self.state.pending:
            actions += self.repeat(neighbor)
        return actions

    def ring(self, to: str) -> list[Action]:
        """The clock rang and a neighbor was drawn: offer it an exchange, if it is there."""
        if to not in self.present:
            self.counts["skipped: neighbor evicted"] += 1
        elif to in self.state.pending:
            self.counts["skipped: an offer to the neighbor is in doubt"] += 1
        elif not self.free_rows:
            self.counts["skipped: no row is free"] += 1
        elif to not in self.agreed:
            return self._greet(to, "skipped: neighbor not heard of")
        elif to in self.away:
            return self._greet(to, "skipped: neighbor away")
        elif self.free_rows == 1:
            return self._greet(to, "asked whether the neighbor is there")
        else:
            return self.ask(to)
        return []

    def ask(self, to: str) -> list[Action]:
        """Offer a neighbor an exchange with a row that is free."""
        (node,) = self._free_nodes("offer", 1)
        seq = self.state.seq + 1
        pending = {**self.state.pending, to: Pending(seq, node)}
        self.state = replace(self.state, seq=seq, pending=pending)
        self.counts["offers"] += 1
        return [Save(self.state, sync=True), Send(to, self._offer(to)), RepeatLater(to)]

    def repeat(self, to: str) -> list[Action]:
        """Time has passed without an answer of this neighbor."""
        if to not in self.state.pending:
            return []
        seq = self.state.pending[to].seq
        self.counts["offers repeated"] += 1
        # Who is not answered more than once may wait for a peer that is gone. Others that wait for
        # one as well would never speak to it again, and their news would not come together.
        waits_long = seq in self._overdue
        others = [who for who in self.present if who != to and waits_long]
        news = [Send(who, self._hello(who)) for who in others]
        self._overdue.add(seq)
        self._unheard[to] += 1
        if self._unheard[to] >= REPEATS_UNTIL_AWAY:
            self.away.add(to)
        hello = [] if to in self.agreed else [self._hello(to)]
        messages: list[AnyMessage] = [*hello, self._offer(to)]
        again = [Send(to, message) for message in messages]
        return [*again, *news, RepeatLater(to), *self._send_away()]

    def lose(self, neighbor: str) -> None:
        """The connection with a neighbor is gone; a hint, which a frame of its takes back."""
        self.away.add(neighbor)

    def calm(self) -> None:
        """Forget for whom the clock has rung: nothing new is to begin."""
        self.greeted.clear()

    def receive(self, sender: str, frame: bytes) -> list[Action]:
        """A frame came from a neighbor; what is not sound changes nothing but a counter."""
        if sender not in self.setting.neighbors:
            self.counts["refused: stranger"] += 1
            return []
        try:
            message = decode(frame, self.setting.frame_limit)
        except BadFrame as problem:
            self.counts[f"refused: {problem}"] += 1
            return []
        if sender in self.state.evicted:
            self.counts["refused: evicted"] += 1
            # One that was away when it was evicted learns of it when it says hello.
            return self._tell_notice(sender) if isinstance(message, Hello) else []
        self.away.discard(sender)
        self._unheard.pop(sender, None)
        if isinstance(message, Hello):
            return self._hear(sender, message)
        if isinstance(message, Notice):
            return self._notice(sender, message)
        if message.generation != self.state.generation:
            return self._out_of_step(sender, message)
        if isinstance(message, Reject):
            return self._rejected(sender, message)
        if not self._is_sound(message):
            return []
        if isinstance(message, Offer):
            return self._answer(sender, message)
        return self._accepted(sender, message)

    def begin_generation(self, notice: Notice) -> list[Action]:
        """Put every node's own record back, forget the rest, and tell the neighbors."""
        self.setting = self.setting.with_changes(notice.changes)
        own = self.setting.own if len(self.setting.own) != len(self.state.nodes) else None
        self.state = State(
            generation=notice.generation,
            evicted=notice.evicted,
            seq=self.state.seq,  # a number is never used twice, in whatever generation
            nodes=_first_nodes(self.setting, notice.generation),
            pending={},
            outcomes={},
            exchanges=0,
            notice=encode(notice),
            grown=notice.grown,
        )
        self._waiting.clear()
        self._overdue.clear()
        self.counts["generations begun"] += 1
        # Those evicted are told too, while they listen: their operators should know.
        told = [Send(neighbor, notice) for neighbor in self.setting.neighbors]
        return [Save(self.state, sync=True, everything=True, own=own), *told]

    # The initiator's side

    def _offer(self, to: str) -> Offer:
        pending = self.state.pending[to]
        node = self.state.nodes[pending.node]
        return Offer(self.state.generation, pending.seq, node.record, node.mass)

    def _accepted(self, sender: str, answer: Accept) -> list[Action]:
        pending = self._answered(sender, answer.seq)
        if pending is None:
            return []
        if not self._apply(pending.node, answer.record, answer.mass):
            return []
        self._set_free(sender)
        touched = (pending.node, *self._exchange_locally())
        # If this is lost the offer is repeated, and the answer told again.
        return [Save(self.state, sync=False, nodes=touched), *self._let_in()]

    def _rejected(self, sender: str, answer: Reject) -> list[Action]:
        pending = self._answered(sender, answer.seq)
        if pending is None:
            return []
        if answer.reason == "stale":
            raise RestoredBackup(sender)
        self.counts[f"rejected by neighbors: {answer.reason}"] += 1
        self._set_free(sender)
        return [Save(self.state, sync=False), *self._let_in()]

    def _answered(self, sender: str, seq: int) -> Pending | None:
        pending = self.state.pending.get(sender)
        if pending is None or pending.seq != seq:
            self.counts["answers told again"] += 1
            return None
        return pending

    def _set_free(self, neighbor: str) -> None:
        """The outcome of the offer to this neighbor is known."""
        rest = {who: pending for who, pending in self.state.pending.items() if who != neighbor}
        self.state = replace(self.state, pending=rest)
        self._overdue &= {pending.seq for pending in rest.values()}

    def _let_in(self) -> list[Action]:
        """Answer the offers that waited while no row was free."""
        waiting, self._waiting = self._waiting, {}
        return [
            action for sender, offer in waiting.items() for action in self._answer(sender, offer)
        ]

    def _send_away(self) -> list[Action]:
        """Let nobody wait any longer: who waits for a peer that is gone would be gone as well."""
        waiting, self._waiting = self._waiting, {}
        return [
            action
            for sender, offer in waiting.items()
            for action in self._reject(sender, offer.seq, "busy")
        ]

    # The responder's side

    def _answer(self, sender: str, offer: Offer) -> list[Action]:
        known = self.state.outcomes.get(sender)
        if known is not None and offer.seq < known.seq:
            self.counts["offers older than the last"] += 1
            return [Send(sender, Reject(self.state.generation, offer.seq, "stale"))]
        if known is not None and offer.seq == known.seq:
            self.counts["answers repeated"] += 1
            return [Send(sender, self._told(known))]
        if not self.setting.check.is_member(offer.record) or self._is_evicted(offer.record):
            return self._reject(sender, offer.seq, "member")
        node = self._free_node()
        if node is None:
            if sender < self.setting.me and self._expects_an_answer():
                self.counts["offers let wait"] += 1
                self._waiting[sender] = offer
                return []
            return self._reject(sender, offer.seq, "busy")
        given = self.state.nodes[node]
        outcome = Outcome(offer.seq, given.record, given.mass)
        if not self._apply(node, offer.record, offer.mass):
            return []
        touched = (node, *self._exchange_locally())
        self._keep(sender, outcome)
        self.counts["offers accepted"] += 1
        return [Save(self.state, True, touched, sender), Send(sender, self._told(outcome))]

    def _expects_an_answer(self) -> bool:
        """Whether an answer to one of my offers is not overdue yet."""
        return any(pending.seq not in self._overdue for pending in self.state.pending.values())

    def _reject(self, sender: str, seq: int, reason: Reason) -> list[Action]:
        outcome = Outcome(seq, None, reason=reason)
        self._keep(sender, outcome)
        self.counts[f"offers rejected: {reason}"] += 1
        return [Save(self.state, True, (), sender), Send(sender, self._told(outcome))]

    def _keep(self, sender: str, outcome: Outcome) -> None:
        self.state = replace(self.state, outcomes={**self.state.outcomes, sender: outcome})

    def _told(self, outcome: Outcome) -> Accept | Reject:
        generation = self.state.generation
        if outcome.record is None:
            return Reject(generation, outcome.seq, outcome.reason)  # type: ignore[arg-type]
        return Accept(generation, outcome.seq, outcome.record, outcome.mass)

    def _free_node(self) -> int | None:
        """Draw a node that no offer of mine has frozen."""
        drawn = self._free_nodes("answer", 1)
        return drawn[0] if drawn else None

    def _free_nodes(self, purpose: str, count: int) -> list[int]:
        """Draw so many different nodes that no offer of mine has frozen, if there are as many."""
        if self.free_rows < count:
            return []
        drawn = self._lots(purpose).sample(range(self.free_rows), count)
        for frozen in self.state.frozen:
            # The numbers from a frozen one on stand for those that follow it.
            drawn = [node + (node >= frozen) for node in drawn]
        return drawn

    # Both sides

    def _apply(self, node: int, record: Record, mass: Mass) -> bool:
        """Hold the other's record, take the mean of both masses, update; or refuse it all."""
        mine = self.state.nodes[node]
        average = tuple((a + b) / 2 for a, b in zip(mine.mass, mass, strict=True))
        try:
            self._update({node: Node(record, average, mine.private)})
        except NotFinite:
            self.counts["refused: update not finite"] += 1
            return False
        self.state = replace(self.state, exchanges=self.state.exchanges + 1)
        return True

    def _exchange_locally(self) -> tuple[int, ...]:
        """Let two rows of this peer exchange, which costs no message."""
        if picks_per_exchange(len(self.state.nodes)) == 1:
            return ()
        drawn = self._free_nodes("local", 2)
        if not drawn:
            # Harmless: it is rare, it depends on no value, and what is reported is divided by the
            # weight of the updates that were made. These rows are only picked later.
            return self._leave_out("no two rows are free")
        i, j = drawn
        first, second = self.state.nodes[i], self.state.nodes[j]
        average = tuple((a + b) / 2 for a, b in zip(first.mass, second.mass, strict=True))
        swapped = {
            i: Node(second.record, average, first.private),
            j: Node(first.record, average, second.private),
        }
        try:
            self._update(swapped)
        except NotFinite:
            return self._leave_out("update not finite")
        return i, j

    def _leave_out(self, why: str) -> tuple[int, ...]:
        self.counts[f"local exchanges left out: {why}"] += 1
        self.state = replace(self.state, left_out=self.state.left_out + 1)
        return ()

    def _update(self, exchanged: dict[int, Node]) -> None:
        updated = {}
        for row, node in exchanged.items():
            is_own = (node.record.origin, node.record.row) == (self.setting.me, row)
            own = self.setting.own[row]
            mass, private = self.setting.rule.update(
                node.mass, node.private, own, node.record.value, is_own
            )
            if not all(map(math.isfinite, (*mass, *private))):
                raise NotFinite
            updated[row] = Node(node.record, mass, private)
        self.state = replace(self.state, nodes=as_vector(self.state.nodes).replaced(updated))

    def _is_sound(self, message: Offer | Accept) -> bool:
        if not self.setting.rule.is_plausible(message.mass):
            self.counts["refused: implausible mass"] += 1
            return False
        record = message.record
        if isinstance(message, Offer) and not self.setting.check.is_member(record):
            return True  # answered with a rejection, so that the neighbor can go on
        if not self.setting.check.is_member(record) or (
            isinstance(message, Accept) and self._is_evicted(record)
        ):
            self.counts["refused: record of no member"] += 1
            return False
        if not self.setting.check.is_sound(record, self.state.generation):
            self.counts["refused: record not genuine"] += 1
            return False
        return True

    def _is_evicted(self, record: Record) -> bool:
        return record.origin in self.state.evicted

    def _lots(self, purpose: str) -> random.Random:
        """Chance that comes out the same again if a crash undoes what was drawn by it.

        Each purpose has its own, or the row exchanged locally would always be the next one offered.
        """
        state = self.state
        drawn = (state.generation, state.seq, state.exchanges)
        return random.Random(repr((self.setting.draw_seed, self.setting.me, purpose, drawn)))

    # Agreement and generations

    def _hello(self, to: str, *, wants_answer: bool = True) -> Hello:
        # Who runs the same has no use for the text of what it runs.
        text = "" if to in self.agreed else self.setting.text
        return Hello(self.setting.spec, text, self.state.generation, wants_answer)

    def _hear(self, sender: str, hello: Hello) -> list[Action]:
        if hello.spec == self.setting.spec:
            self.agreed.add(sender)
            self.disagreeing.pop(sender, None)
        else:
            self.agreed.discard(sender)
            self.disagreeing[sender] = hello.text
            self.counts["refused: another specification"] += 1
        answers: list[Action] = []
        if hello.wants_answer:
            answers.append(Send(sender, self._hello(sender, wants_answer=False)))
        if hello.generation < self.state.generation:
            answers += self._tell_notice(sender)
        elif hello.generation == self.state.generation:
            answers += self._ask_if_greeted(sender)
        return answers

    def _greet(self, to: str, why: str) -> list[Action]:
        """Say hello first; the exchange is offered when the neighbor says hello too."""
        self.counts[why] += 1
        self.greeted.add(to)
        return [Send(to, self._hello(to))]

    def _ask_if_greeted(self, sender: str) -> list[Action]:
        if sender not in self.greeted or sender not in self.agreed:
            return []
        self.greeted.discard(sender)
        can_ask = self.free_rows and sender not in self.state.pending
        return self.ask(sender) if can_ask else []

    def _out_of_step(self, sender: str, message: Offer | Accept | Reject) -> list[Action]:
        """Help a neighbor that is behind; from one that is ahead, ask for news."""
        self.counts["messages of another generation"] += 1
        if message.generation < self.state.generation:
            return self._tell_notice(sender)
        return [Send(sender, self._hello(sender))]

    def _tell_notice(self, sender: str) -> list[Action]:
        notice = decode(self.state.notice)
        assert isinstance(notice, Notice)
        return [Send(sender, notice)]

    def _notice(self, sender: str, notice: Notice) -> list[Action]:
        if notice.generation == self.state.generation:
            self.counts["notices told again"] += 1
            return []
        if not is_consistent(notice.generation, *notice.changes):
            self.counts["refused: malformed"] += 1
            return []
        if not self.setting.is_notice_of_member(notice):
            self.counts["refused: notice not genuine"] += 1
            return []
        if not all(map(self._is_said_by_member, notice.grown)):
            self.counts["refused: growth not genuine"] += 1
            return []
        if self.setting.me in notice.evicted:
            self.counts["evicted by the others"] += 1
            self.evicted_by = notice.announcer
            return []
        if notice.changes.rows().get(self.setting.me, 0) > len(self.setting.own):
            raise ForgottenRows(sender)
        return self._follow(notice)

    def _is_said_by_member(self, growth: Growth) -> bool:
        return growth in self.state.grown or self.setting.is_growth_of_member(growth)

    def _follow(self, notice: Notice) -> list[Action]:
        """Begin the notice's generation, or the one that follows both it and mine, or neither."""
        mine, theirs = self.state.changes, notice.changes
        if notice.generation > self.state.generation and theirs.include(mine):
            return self.begin_generation(notice)
        if notice.generation < self.state.generation and mine.include(theirs):
            self.counts["notices older than mine"] += 1
            return []
        return self._begin_with(theirs, notice.generation)

    def evict(self, members: Collection[str]) -> list[Action]:
        """Begin a new generation without these members, nor any that was evicted before."""
        if set(members) <= set(self.state.evicted):
            return []  # a generation in which nothing has changed is one that nobody follows
        return self._begin_with(Changes(evicted=tuple(members)))

    def grow(self, own: Rows) -> list[Action]:
        """Begin a new generation in which this peer has more rows: all of them are given."""
        before, me = self.setting.own, self.setting.me
        if len(own) <= len(before) or own[: len(before)] != before:
            raise BrokenInvariant("rows were added in the place of others")
        self.setting = with_fields(self.setting, own=own)
        claim = self.setting.claim(self.setting.rows[me], len(own))
        return self._begin_with(Changes(grown=(claim,)))

    def _begin_with(self, changes: Changes, *others: int) -> list[Action]:
        """Begin a new generation with these changes and all there were, after other ones too."""
        all_changes = self.state.changes.joined(changes)
        notice = self.setting.announce(*following((self.state.generation, *others), all_changes))
        return self.begin_generation(notice)


def first_state(setting: Setting) -> State:
    """The state of a peer that has never run: every node holds its own record."""
    return State(FIRST, (), 0, _first_nodes(setting, FIRST), {}, {}, 0)


def _first_nodes(setting: Setting, generation: int) -> Vector[Node]:
    return Vector(
        Node(setting.own_record(row, generation), *setting.rule.begin())
        for row in range(len(setting.own))
    )
