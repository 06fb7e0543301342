"""Three peers without clock or network: any events in any order that hypothesis finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from pairgossip.peer.protocol.context import Context
from pairgossip.peer.protocol.exchange import Exchange
from pairgossip.peer.protocol.messages import encode
from pairgossip.peer.protocol.nodes import first_state
from pairgossip.peer.protocol.state import Action, Save, Send, State
from tests.peer.audit import Auditor, check_settled
from tests.peer.books import QuickMixing
from tests.peer.contexts import make_context, name_of
from tests.peer.defects import DEFECTS
from tests.peer.disk import Disk

PEERS = [name_of(k) for k in range(3)]
PEER = st.sampled_from(PEERS)
MOST_IN_FLIGHT = 40
MOST_ADDED = 2


class Peers(RuleBasedStateMachine):
    """Events occur one at a time; frames wait until they are delivered, repeated or dropped."""

    names = PEERS
    exchange_class: type[Exchange] = Exchange
    contexts: Mapping[str, Context]

    @initialize(rows=st.tuples(*[st.integers(1, 3)] * 3))
    def begin(self, rows: tuple[int, ...]) -> None:
        counted = dict(zip(PEERS, rows, strict=True))
        self.contexts = {
            me: make_context(
                me,
                [other for other in PEERS if other != me],
                tuple((float(10 * k + row),) for row in range(counted[me] + MOST_ADDED)),
                counted,
                QuickMixing(weight=1.0 + k),
            )
            for k, me in enumerate(PEERS)
        }
        self.disks = {me: Disk() for me in PEERS}
        self.in_flight: list[tuple[str, str, bytes]] = []
        self.auditor = Auditor(self)
        self.peers: dict[str, Exchange] = {}
        for me in PEERS:
            begins = self.context(me, counted[me])
            self.disks[me].save(Save(first_state(begins), True, everything=True))
            self.start(me)

    def context(self, me: str, rows: int) -> Context:
        """Return the context of a peer whose data file has this many rows."""
        context = self.contexts[me]
        return replace(context, own=context.own[:rows])

    def start(self, me: str) -> None:
        state = self.disks[me].load()
        assert state is not None
        context = self.context(me, len(state.nodes))
        self.peers[me] = self.exchange_class(context, state, agreed=set(PEERS) - {me})
        self.carry_out(me, self.peers[me].start())

    def carry_out(self, me: str, actions: list[Action], most: int = 1000) -> None:
        """Carry out what a peer asks for, at most this many actions."""
        for action in actions[:most]:
            if isinstance(action, Save):
                self.disks[me].save(action)
            elif isinstance(action, Send):
                frame = encode(action.message)
                self.auditor.sent(me, action.to, frame)
                self.in_flight = [*self.in_flight, (me, action.to, frame)][-MOST_IN_FLIGHT:]

    def state(self, name: str) -> State:
        return self.peers[name].state

    def is_running(self, name: str) -> bool:
        return True

    def is_away(self, name: str, neighbor: str) -> bool:
        return False  # here peers ask whom the test chooses

    # What may happen

    @rule(me=PEER, to=PEER)
    def ring(self, me: str, to: str) -> None:
        self.carry_out(me, self.peers[me].ring(to))

    @rule(me=PEER, to=PEER)
    def ask(self, me: str, to: str) -> None:
        """Let a peer ask, as after a hello that the clock triggered."""
        peer = self.peers[me]
        if to in peer.present and to not in peer.state.pending and peer.free_rows:
            self.carry_out(me, peer.ask(to))

    @rule(me=PEER, to=PEER)
    def repeat(self, me: str, to: str) -> None:
        self.carry_out(me, self.peers[me].repeat(to))

    @rule(me=PEER, to=PEER)
    def lose_connection(self, me: str, to: str) -> None:
        self.peers[me].away.add(to)

    @precondition(lambda self: self.in_flight)
    @rule(data=st.data(), stays=st.booleans())
    def deliver(self, data: st.DataObject, stays: bool) -> None:
        """Deliver any frame, in any order; it may stay, to be delivered again."""
        at = data.draw(st.integers(0, len(self.in_flight) - 1))
        sender, to, frame = self.in_flight[at]
        if not stays:
            del self.in_flight[at]
        self.carry_out(to, self.peers[to].receive(sender, frame))

    @precondition(lambda self: self.in_flight)
    @rule()
    def deliver_all(self) -> None:
        frames, self.in_flight = self.in_flight, []
        for sender, to, frame in frames:
            self.carry_out(to, self.peers[to].receive(sender, frame))
            # The audit must see generations that a peer begins and leaves in between.
            self.auditor.check()

    @precondition(lambda self: self.in_flight)
    @rule(data=st.data())
    def drop(self, data: st.DataObject) -> None:
        del self.in_flight[data.draw(st.integers(0, len(self.in_flight) - 1))]

    @rule(me=PEER, data=st.data())
    def lose_power(self, me: str, data: st.DataObject) -> None:
        """Start again from the last synced save, or any later one."""
        self.disks[me].lose(data.draw(st.integers(0, self.disks[me].unsafe)))
        self.start(me)

    @precondition(lambda self: self.in_flight)
    @rule(data=st.data(), most=st.integers(0, 2))
    def die_on_the_way(self, data: st.DataObject, most: int) -> None:
        """Do only the first actions that a frame causes, then restart."""
        sender, to, frame = data.draw(st.sampled_from(self.in_flight))
        self.carry_out(to, self.peers[to].receive(sender, frame), most)
        self.start(to)

    @rule(me=PEER, other=PEER)
    def evict(self, me: str, other: str) -> None:
        """Evict at most one, so that two remain to exchange."""
        gone = {who for name in PEERS for who in self.state(name).evicted}
        if me != other and me not in gone and gone <= {other}:
            self.carry_out(me, self.peers[me].evict([other]))

    @rule(me=PEER)
    def grow(self, me: str) -> None:
        """Add a row, as long as there are more."""
        gone = {who for name in PEERS for who in self.state(name).evicted}
        own, rows = self.contexts[me].own, len(self.state(me).nodes)
        if rows < len(own) and me not in gone:
            self.carry_out(me, self.peers[me].grow(own[: rows + 1]))

    @invariant()
    def nothing_is_lost_or_doubled(self) -> None:
        if hasattr(self, "auditor"):
            self.auditor.check()

    def teardown(self) -> None:
        """Check that in the end every exchange is done, and all are in one generation."""
        if not hasattr(self, "auditor"):
            return
        for _ in range(8):
            for me in PEERS:
                self.start(me)
            while self.in_flight:
                self.deliver_all()
                self.auditor.check()
        check_settled(self)


HOW = settings(
    max_examples=60,
    stateful_step_count=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
Peers.TestCase.settings = HOW
TestPeers = Peers.TestCase


@pytest.mark.parametrize(
    "name",
    [
        "the responder decides anew",
        "the responder accepts without swapping",
        "the mass is averaged again when an accept is told again",
        "a new generation keeps the offer of the old one",
        "a growth is told, and its rows are left out",
    ],
)
def test_the_machine_notices(name: str) -> None:
    class Defective(Peers):
        exchange_class = DEFECTS[name].exchange

    quiet = settings(HOW, max_examples=300, database=None, phases=[Phase.generate])
    with pytest.raises(AssertionError):
        run_state_machine_as_test(Defective, settings=quiet)
