"""Faults on a simulated clock, for peers that are not processes, and links that can be cut."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pairgossip.peer.reading import DOWN, FROZEN, STARTING, UP
from pairgossip.swarm.chaos import (
    _LONGEST,
    _PATIENCE,
    Chaos,
    Faults,
    FaultyLinks,
    Link,
    all_are_up,
    usual_faults,
)
from pairgossip.swarm.exchange import ExchangePeer
from pairgossip.swarm.processes import HOST, Remains

EDGES = [(0, 1), (1, 2), (2, 3), (0, 3)]


class Puppet(ExchangePeer):
    """A peer that only records what is done to it."""

    def __init__(self, number: int, story: list[str]) -> None:
        super().__init__(f"p{number}", str(number), Path("nowhere"), Path("nowhere"))
        self.now, self.story, self.lives = UP, story, 1
        self.is_quiet = False
        """Whether its disk shows no exchange since its start, whatever it reports."""

    @property
    def state(self) -> str:
        return self.now

    @property
    def pid(self) -> int | None:
        return None if self.now == DOWN else self.lives

    def _tell(self, what: str, state: str) -> None:
        self.story.append(f"{what} {self.name}")
        self.now = state

    def start(self) -> None:
        assert self.now == DOWN
        self.lives += 1
        self._tell("start", STARTING)

    def kill(self) -> None:
        assert self.now in (UP, FROZEN)
        self._tell("kill", DOWN)

    @property
    def has_worked(self) -> bool:
        return self.now in (UP, FROZEN) and self.lives % 3 != 0

    def remains(self) -> Remains:
        # In every second life, an offer of the previous one still has no answer.
        return Remains(not self.is_quiet, frozenset({self.lives // 2}))

    def freeze(self) -> None:
        assert self.now == UP
        self._tell("freeze", FROZEN)

    def thaw(self) -> None:
        if self.now == FROZEN:
            self._tell("thaw", UP)


class Wires(FaultyLinks):
    def __init__(self, story: list[str]) -> None:
        self.story = story
        self.cuts: list[list[Link]] = []

    def cut(self, links: Iterable[Link]) -> None:
        self.story.append("cut")
        self.cuts.append(list(links))

    def heal(self) -> None:
        self.story.append("heal")


def lived_through(
    faults: Faults, seed: int, count: int = 4
) -> tuple[Chaos, list[Puppet], list[str], Wires]:
    story: list[str] = []
    peers, wires = [Puppet(k, story) for k in range(count)], Wires(story)
    chaos = Chaos(faults, list(peers), wires, EDGES, random.Random(seed), 100.0)
    now = 100.0
    while not chaos.is_over:
        now += 0.05
        assert now < 1000.0
        chaos.step(now)
        assert sum(peer.now != UP for peer in peers) <= max(1, count // 3)
        if int(now * 20) % 10 == 0:  # starting takes a while
            for peer in peers:
                if peer.now == STARTING:
                    peer.now = UP
                elif peer.now == UP and not peer.has_worked:
                    peer.lives += 1
    return chaos, peers, story, wires


@pytest.mark.parametrize("seed", range(10))
def test_all_of_it_happens_and_is_mended(seed: int) -> None:
    """`lived_through` checks after every step that two thirds of the peers are running."""
    window, count = (20.0, 4) if seed < 8 else (0.0, 9)
    chaos, peers, story, wires = lived_through(Faults(30, 9, 4, window), seed, count)
    assert chaos.counts == {"kills": 30, "freezes": 9, "partitions": 4}
    for what, number in (("kill", 30), ("start", 30), ("freeze", 9), ("cut", 4), ("heal", 4)):
        assert sum(line.split()[0] == what for line in story) == number
    assert all(peer.state in (UP, STARTING) for peer in peers)
    assert chaos.failure is None
    assert all((cut or count > 4) and set(cut) <= set(EDGES) for cut in wires.cuts)


def test_only_peers_that_have_exchanged_are_killed() -> None:
    peers = [Puppet(k, []) for k in range(9)]
    for peer in peers[1:]:
        peer.lives = 3
    chaos = Chaos(Faults(3, 0, 0, 0.0), list(peers), None, [], random.Random(0), 0.0)
    chaos.step(0.001)
    assert [peer.now for peer in peers] == [DOWN, *[UP] * 8]
    assert chaos.counts == {"kills": 1} and not chaos.is_over


def test_a_kill_that_met_no_exchange_is_made_up_for() -> None:
    """The peer's reports are not enough: its disk shows what happened."""
    peers = [Puppet(k, []) for k in range(9)]
    peers[0].is_quiet = True
    for peer in peers[1:]:
        peer.lives = 3
    chaos = Chaos(Faults(1, 0, 0, 0.0), list(peers), None, [], random.Random(0), 0.0)
    chaos.step(0.001)
    assert peers[0].now == DOWN and not chaos.counts and not chaos.offers_in_flight
    peers[1].lives = 4
    chaos.step(0.002)
    assert chaos.counts == {"kills": 1} and chaos.offers_in_flight == {("1", 2)}


def test_an_offer_in_flight_at_two_kills_counts_once() -> None:
    peers = [Puppet(k, []) for k in range(2)]
    peers[0].lives, peers[1].lives = 4, 3
    chaos = Chaos(Faults(2, 0, 0, 0.0), list(peers), None, [], random.Random(0), 0.0)
    chaos.step(0.0)
    chaos.step(_LONGEST)
    assert peers[0].now == STARTING
    peers[0].now = UP
    chaos.step(_LONGEST)
    assert chaos.counts == {"kills": 2} and chaos.offers_in_flight == {("0", 2)}


def test_what_can_never_happen_is_given_up() -> None:
    peers = [Puppet(k, []) for k in range(3)]
    for peer in peers:
        peer.lives = 3
    chaos = Chaos(Faults(2, 0, 0, 0.0), list(peers), None, [], random.Random(0), 0.0)
    chaos.step(_PATIENCE)
    assert chaos.failure is None
    chaos.step(_PATIENCE + 1.0)
    assert chaos.is_over
    assert chaos.failure == (
        "2 kills could not be carried out: for 120 seconds, not enough peers were running and "
        "exchanging."
    )


def test_a_partition_cuts_whole_sides_apart() -> None:
    *_, wires = lived_through(Faults(0, 0, 8, 5.0), seed=1)
    for cut in wires.cuts:
        left = set(EDGES) - set(cut)
        # On a ring, no cut that parts the peers has an odd number of links.
        assert len(cut) in (2, 4) and len(left) in (2, 0)


def test_the_seed_decides() -> None:
    stories = [lived_through(Faults(12, 6, 2, 10.0), seed)[2] for seed in (3, 3, 4)]
    assert stories[0] == stories[1] != stories[2]


def test_without_links_there_are_no_partitions() -> None:
    peers = [Puppet(k, []) for k in range(4)]
    chaos = Chaos(Faults(0, 0, 5, 1.0), list(peers), None, EDGES, random.Random(0), 0.0)
    assert chaos.is_over


def test_an_early_end_mends_what_can_be() -> None:
    story: list[str] = []
    peers, wires = [Puppet(k, story) for k in range(4)], Wires(story)
    chaos = Chaos(Faults(0, 3, 1, 0.0), list(peers), wires, EDGES, random.Random(2), 0.0)
    chaos.step(0.001)
    assert any(peer.now == FROZEN for peer in peers) and "cut" in story
    chaos.end()
    assert chaos.is_over and all_are_up(list(peers))
    assert story[-1] == "heal"


def test_peers_that_failed_are_not_waited_for() -> None:
    peers = [Puppet(k, []) for k in range(2)]
    peers[0].now = DOWN
    assert not all_are_up(list(peers))
    peers[0].failure = "It broke."
    assert all_are_up(list(peers))


def test_usual_faults_come_in_all_kinds() -> None:
    for window in (0.5, 30.0):
        faults = usual_faults(window)
        assert min(faults.kills, faults.freezes, faults.partitions) >= 1


SHORT, LONG = 0.3, 10.0


@pytest.fixture
def far() -> Iterator[socket.socket]:
    with socket.socket() as listening:
        listening.bind((HOST, 0))
        listening.listen(5)
        listening.settimeout(LONG)
        yield listening


@pytest.fixture
def links(far: socket.socket) -> Iterator[FaultyLinks]:
    port = far.getsockname()[1]
    made = FaultyLinks({(0, 1): port, (1, 0): port, (1, 2): port})
    yield made
    made.close()


def connected(links: FaultyLinks, i: int, j: int, far: socket.socket) -> list[socket.socket]:
    near = socket.create_connection((HOST, links.ports[i, j]), timeout=LONG)
    there, _ = far.accept()
    there.settimeout(LONG)
    return [near, there]


def hears_nothing(one: socket.socket) -> bool:
    one.settimeout(SHORT)
    try:
        one.recv(100)
    except TimeoutError:
        return True
    finally:
        one.settimeout(LONG)
    return False


def test_a_cut_link_holds_back_and_others_do_not(links: FaultyLinks, far: socket.socket) -> None:
    with ExitStack() as stack:
        near, there = map(stack.enter_context, connected(links, 0, 1, far))
        other, beyond = map(stack.enter_context, connected(links, 1, 2, far))
        links.cut([(1, 0)])  # in either order of the ends
        near.sendall(b"late")
        other.sendall(b"now")
        assert beyond.recv(100) == b"now"
        assert hears_nothing(there)
        links.heal()
        assert there.recv(100) == b"late"
        there.sendall(b"back")
        assert near.recv(100) == b"back"


def test_nobody_connects_through_a_cut_link(links: FaultyLinks, far: socket.socket) -> None:
    links.cut([(0, 1)])
    with socket.create_connection((HOST, links.ports[0, 1]), timeout=LONG):
        far.settimeout(SHORT)
        with pytest.raises(TimeoutError):
            far.accept()
        far.settimeout(LONG)
        links.heal()
        far.accept()[0].close()


@pytest.mark.parametrize("who", [0, 1])
def test_an_end_is_told_to_the_other_side(links: FaultyLinks, far: socket.socket, who: int) -> None:
    ends = connected(links, 0, 1, far)
    ends[who].close()
    with ends[1 - who] as left:
        assert left.recv(100) == b""


def test_the_end_of_a_connection_does_not_pass_a_cut_link(
    links: FaultyLinks, far: socket.socket
) -> None:
    near, there = connected(links, 0, 1, far)
    with there:
        links.cut([(0, 1)])
        near.close()
        assert hears_nothing(there)
        links.heal()
        assert there.recv(100) == b""


def test_nobody_listens_there(far: socket.socket) -> None:
    port = far.getsockname()[1]
    far.close()
    links = FaultyLinks({(0, 1): port})
    try:
        with socket.create_connection((HOST, links.ports[0, 1]), timeout=LONG) as near:
            assert near.recv(100) == b""
    finally:
        links.close()
