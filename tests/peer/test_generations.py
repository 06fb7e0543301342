"""Names of generations, and two peers that begin different ones at once."""

from __future__ import annotations

import itertools

import pytest

import pairgossip as pg
from pairgossip.peer.protocol.events import Event
from pairgossip.peer.protocol.exchange import Exchange
from pairgossip.peer.protocol.messages import (
    _MOST_GENERATIONS,
    MOST_TRAVELING,
    Changes,
    Growth,
    encode,
    generation_name,
    generations_before,
    is_consistent,
    next_generation,
)
from pairgossip.peer.protocol.nodes import first_state
from pairgossip.peer.protocol.state import Send
from tests.peer.audit import check_settled
from tests.peer.books import QuickMixing
from tests.peer.contexts import name_of
from tests.peer.world import Faults, World


def test_a_name_says_how_many_there_were_and_who_is_gone() -> None:
    assert generations_before(generation_name(5, ("a", "b"))) == 5
    names = {generation_name(1, gone) for gone in ((), ("a",), ("b",), ("a", "b"))}
    assert len(names) == 4
    assert generation_name(2, ("b", "a")) == generation_name(2, ("a", "b"))


@pytest.mark.parametrize(
    ("generation", "evicted", "expected"),
    [
        (generation_name(2, ("a", "b")), ("a", "b"), True),
        (generation_name(1, ("a", "b")), ("a", "b"), True),
        (generation_name(3, ("a", "b")), ("a", "b"), False),
        (generation_name(1, ("a", "b")), ("a",), False),
        (generation_name(2, ("a", "b")), ("b", "a"), False),
        (generation_name(2, ("a", "a")), ("a", "a"), False),
        (generation_name(_MOST_GENERATIONS - 1, ("a",)), ("a",), False),
        (generation_name(1, ("a",))[:-1] + "x", ("a",), False),
        (generation_name(1, ("a",))[:16] + 56 * "0", ("a",), False),
    ],
)
def test_a_name_must_fit(generation: str, evicted: tuple[str, ...], expected: bool) -> None:
    assert is_consistent(generation, Changes(evicted)) is expected


def test_what_follows_is_later_than_all_and_without_any_evicted() -> None:
    a, b = generation_name(1, ("a",)), generation_name(1, ("b",))
    generation = next_generation((a, b), Changes(("a", "b")))
    assert generations_before(generation) == 2
    assert generation > max(a, b)
    assert is_consistent(generation, Changes(("a", "b")))


@pytest.mark.parametrize("seed", range(10))
def test_evictions_by_different_peers_at_once_end_in_one_generation(seed: int) -> None:
    world = World(
        pg.graphs.complete(7),
        [float(k) for k in range(7)],
        seed,
        Faults(loss=0.4, repetition=0.3, longest_delay=0.5, until=6.0),
        make_rule=lambda _: QuickMixing(),
    )
    world.run(2.0)
    for by, victim in ((0, 4), (1, 5), (2, 6)):
        world.evict(name_of(by), [name_of(victim)])
    world.run(10.0)
    world.heal()
    world.settle()
    check_settled(world)
    last = world.state(name_of(0))
    assert last.evicted == tuple(name_of(k) for k in (4, 5, 6))
    assert generations_before(last.generation) <= 4


@pytest.mark.parametrize("seed", range(5))
def test_two_that_evict_each_other_do_not_divide_the_rest(seed: int) -> None:
    """Whichever notice arrives first is believed, and the evicted peer's is ignored."""
    world = World(
        pg.graphs.complete(5),
        [1.0, 2.0, 3.0, 4.0, 5.0],
        seed,
        Faults(loss=0.2, until=5.0),
        make_rule=lambda _: QuickMixing(),
    )
    world.run(2.0)
    world.evict(name_of(0), [name_of(1)])
    world.evict(name_of(1), [name_of(0)])
    world.run(30.0)
    gone = world.state(name_of(4)).evicted
    assert set(gone) & {name_of(0), name_of(1)}
    members = [name for name in world.names if name not in gone]
    assert {world.state(name).evicted for name in members} == {gone}
    assert len({world.state(name).generation for name in members}) == 1


def test_names_that_agree_in_32_bits_are_two_names() -> None:
    """Finding a collision takes a second; a peer hears of both generations, and joins them."""
    from tests.peer.contexts import sealed_growth, sealed_notice
    from tests.peer.hostile import FAR, HIGH, make_victim

    found: dict[str, int] = {}
    for rows in range(3, MOST_TRAVELING):
        name = generation_name(1, (), (Growth(HIGH, 2, rows, b""),))
        first = found.setdefault(name[:16], rows)
        if first != rows:
            break
    grown = [(sealed_growth(HIGH, 2, count),) for count in (first, rows)]
    names = [generation_name(1, (), one) for one in grown]
    assert names[0][:16] == names[1][:16] and names[0] != names[1]
    for order in ((0, 1), (1, 0)):
        peer = make_victim(is_asking=False)
        for which in order:
            peer._handle_notice(FAR, sealed_notice(names[which], (), FAR, grown[which]))
        assert peer.state.changes.rows() == {HIGH: max(first, rows)}
        assert peer.counts[Event.NOTICE_AGAIN] == 0


def test_an_eviction_that_is_done_is_not_done_again() -> None:
    """It would begin a generation without changes, which the others refuse."""
    from tests.peer.hostile import LOW, make_victim

    peer = make_victim(is_asking=False)
    assert peer.evict([LOW])
    before = peer.state
    assert peer.evict([LOW]) == []
    assert peer.state is before


def test_all_orders_of_three_notices_end_alike() -> None:
    """In any order and with any repetition, all peers end without the three."""
    from tests.peer.contexts import sealed_notice
    from tests.peer.hostile import FAR, make_victim

    notices = [sealed_notice(generation_name(1, (who,)), (who,), FAR) for who in ("x", "y", "z")]
    for order in itertools.permutations(notices):
        peer = make_victim(is_asking=True)
        reached = [peer.state.generation]
        for notice in (*order, *order):
            peer._handle_notice(FAR, notice)
            reached.append(peer.state.generation)
        assert peer.state.evicted == ("x", "y", "z")
        assert reached == sorted(reached)
        assert generations_before(peer.state.generation) == 3


def test_a_liar_cannot_use_up_the_numbers_to_stay_for_ever() -> None:
    """Whatever it announces, the others still learn that it is evicted."""
    from tests.peer.contexts import make_context, sealed_growth, sealed_notice
    from tests.peer.hostile import FAR, HIGH, LOW, ME, ROWS, VALUES

    peers = {}
    for me, other in ((ME, LOW), (LOW, ME)):
        context = make_context(me, (other, FAR), (VALUES[me, 0],), ROWS, QuickMixing())
        peers[me] = Exchange(context, first_state(context))
    growth = (sealed_growth(FAR, 1, MOST_TRAVELING),)
    for counted, gone, grown in (
        (_MOST_GENERATIONS - 1, (), ()),
        (_MOST_GENERATIONS - 1, (HIGH,), ()),
        (_MOST_GENERATIONS - 1, (), growth),
        (MOST_TRAVELING - 1, (), growth),
    ):
        told = encode(sealed_notice(generation_name(counted, gone, grown), gone, FAR, grown))
        for peer in peers.values():
            peer.receive(FAR, told)
    assert {generations_before(peer.state.generation) for peer in peers.values()} == {
        MOST_TRAVELING - 1
    }
    _, *sent = peers[ME].evict([FAR])
    for one in sent:
        if isinstance(one, Send) and one.to == LOW:
            peers[LOW].receive(ME, encode(one.message))
    assert peers[LOW].state.evicted == (FAR,)
    assert peers[LOW].state.generation == peers[ME].state.generation
