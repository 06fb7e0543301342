"""One exchange at a time: what each side saves and sends."""

from __future__ import annotations

from collections import Counter

from msgspec.structs import replace

from pairgossip.peer.protocol.exchange import _REPEATS_UNTIL_AWAY, Exchange
from pairgossip.peer.protocol.messages import (
    FIRST_GENERATION,
    Accept,
    Hello,
    Notice,
    Offer,
    Reject,
    encode,
)
from pairgossip.peer.protocol.nodes import first_state
from pairgossip.peer.protocol.state import Answered, Pending, Save, Send
from tests.peer.books import QuickMixing
from tests.peer.contexts import held_records, make_context, sealed_record
from tests.peer.hostile import FAR, HIGH, LOW, ME, VALUES, make_victim


def test_a_neighbor_with_another_specification_is_not_asked() -> None:
    peer = make_victim(is_asking=False)
    peer.receive(HIGH, encode(Hello("another", "its text", FIRST_GENERATION, True)))
    assert peer.disagreeing == {HIGH: "its text"}
    peer.ring(HIGH)
    peer.receive(HIGH, encode(Hello("another", "its text", FIRST_GENERATION, False)))
    assert peer.state.pending == {}
    peer.receive(HIGH, encode(Hello(peer.context.spec, "", FIRST_GENERATION, False)))
    assert peer.disagreeing == {}
    assert HIGH in peer.state.pending


def an_offer(peer: Exchange, seq: int) -> bytes:
    generation = peer.state.generation
    record = sealed_record(FAR, 0, generation, VALUES[FAR, 0])
    return encode(Offer(generation, seq, record, (1.0, 1.0)))


def test_a_lower_id_waits_and_a_higher_is_rejected() -> None:
    peer = make_victim(is_asking=True)
    assert peer.receive(LOW, an_offer(peer, 6)) == []
    _, told = peer.receive(HIGH, an_offer(peer, 6))
    assert told == Send(HIGH, Reject(FIRST_GENERATION, 6, "busy"))
    actions = peer.receive(HIGH, encode(Reject(FIRST_GENERATION, peer.state.seq, "busy")))
    assert [type(action) for action in actions] == [Save, Answered, Save, Send]
    assert actions[1] == Answered(HIGH, is_busy=True)
    answer = actions[-1]
    assert isinstance(answer, Send)
    assert answer.to == LOW
    assert isinstance(answer.message, Accept)


def test_nobody_waits_for_an_offer_that_must_be_repeated() -> None:
    peer = make_victim(is_asking=True)
    peer.receive(LOW, an_offer(peer, 6))
    actions = peer.repeat(HIGH)
    assert actions[-1] == Send(LOW, Reject(FIRST_GENERATION, 6, "busy"))
    _, told = peer.receive(LOW, an_offer(peer, 7))
    assert told == Send(LOW, Reject(FIRST_GENERATION, 7, "busy"))
    assert peer.receive(LOW, an_offer(peer, 6))[-1] == Send(
        LOW, Reject(FIRST_GENERATION, 6, "stale")
    )


def test_one_that_was_away_when_evicted_learns_of_it() -> None:
    peer = make_victim(is_asking=False)
    peer.evict([HIGH])
    (told,) = peer.receive(HIGH, encode(Hello("", "", FIRST_GENERATION, True)))
    assert isinstance(told, Send)
    assert told.to == HIGH
    assert isinstance(told.message, Notice)
    assert told.message.evicted == (HIGH,)


def many_rows(rows: int) -> Exchange:
    own = tuple((float(row),) for row in range(rows))
    context = make_context(ME, (LOW, HIGH), own, {ME: rows, LOW: 1, HIGH: 1, FAR: 1}, QuickMixing())
    return Exchange(context, first_state(context), agreed={LOW, HIGH})


def test_rows_exchange_locally_for_free() -> None:
    peer = many_rows(4)
    save, _ = peer.receive(HIGH, an_offer(peer, 1))
    assert isinstance(save, Save)
    assert len(set(save.nodes)) >= 2
    assert held_records([peer.state]).total() == 4
    updates = sum(node.private[1] for node in peer.state.nodes)
    assert updates == 3  # one by the network, two locally


def test_the_row_offered_next_does_not_follow_from_the_last_local_exchange() -> None:
    """Random numbers for two purposes must differ, even from the same state."""
    agreeing = 0
    trials = 400
    for seq in range(1, trials + 1):
        peer = many_rows(4)
        save, _ = peer.receive(HIGH, an_offer(peer, seq))
        assert isinstance(save, Save)
        peer.state = replace(peer.state, seq=seq)
        first_local = peer._exchange_locally()[0]
        peer.ring(HIGH)
        agreeing += peer.state.pending[HIGH].node == first_local
    assert 0.15 < agreeing / trials < 0.35


# Several offers in doubt


def hello(peer: Exchange) -> bytes:
    return encode(Hello(peer.context.spec, "", peer.state.generation, False))


def test_rows_are_offered_evenly_whatever_is_frozen() -> None:
    offered: Counter[int] = Counter()
    trials = 600
    for seq in range(trials):
        peer = many_rows(4)
        peer.state = replace(peer.state, seq=seq, pending={HIGH: Pending(seq, 1)})
        peer.ring(LOW)
        offered[peer.state.pending[LOW].node] += 1
    assert set(offered) == {0, 2, 3}
    assert all(abs(count / trials - 1 / 3) < 0.08 for count in offered.values())


def test_a_row_drawn_before_a_crash_is_drawn_again() -> None:
    first, second = many_rows(9), many_rows(9)
    for peer in (first, second):
        peer.ring(HIGH)
        peer.ring(LOW)
    assert first.state == second.state


def test_the_last_free_row_is_offered_only_to_one_that_has_just_answered() -> None:
    peer = many_rows(2)
    peer.ring(HIGH)
    (asked,) = peer.ring(LOW)
    assert isinstance(asked, Send)
    assert isinstance(asked.message, Hello)
    assert set(peer.state.pending) == {HIGH}
    assert peer.receive(HIGH, hello(peer)) == []  # not the peer that was asked
    peer.receive(LOW, hello(peer))
    assert set(peer.state.pending) == {HIGH, LOW}


def test_one_that_is_away_is_greeted_and_asked_when_it_is_back() -> None:
    peer = many_rows(4)
    peer.away.add(LOW)
    (asked,) = peer.ring(LOW)
    assert isinstance(asked, Send)
    assert isinstance(asked.message, Hello)
    peer.receive(LOW, hello(peer))
    assert (peer.away, set(peer.state.pending)) == (set(), {LOW})


def test_one_that_does_not_answer_is_away_until_any_word_of_it() -> None:
    peer = many_rows(4)
    peer.ring(HIGH)
    for _ in range(_REPEATS_UNTIL_AWAY):
        assert peer.away == set()
        peer.repeat(HIGH)
    assert peer.away == {HIGH}
    peer.receive(HIGH, an_offer(peer, 1))
    assert peer.away == set()
    peer.repeat(HIGH)
    assert peer.away == set()


def test_with_too_few_free_rows_the_local_exchange_is_left_out_and_counted() -> None:
    peer = many_rows(3)
    peer.ring(HIGH)
    peer.ask(LOW)
    save, _ = peer.receive(HIGH, an_offer(peer, 1))
    assert isinstance(save, Save)
    assert len(save.nodes) == 1
    assert peer.state.left_out == 1
    assert sum(node.private[1] for node in peer.state.nodes) == 1


def test_a_lower_id_waits_as_long_as_one_answer_is_not_overdue() -> None:
    """Here neighbors may wait: all rows are in offers, one of which was repeated."""
    peer = make_victim(is_asking=True, rows=2)
    peer.ask(LOW)
    peer.repeat(HIGH)
    assert peer.receive(LOW, an_offer(peer, 6)) == []
    actions = peer.repeat(LOW)
    assert actions[-1] == Send(LOW, Reject(FIRST_GENERATION, 6, "busy"))
    assert peer.receive(LOW, an_offer(peer, 7))[-1] == Send(
        LOW, Reject(FIRST_GENERATION, 7, "busy")
    )
