"""The relay that can cut links, between sockets of this process."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from pairgossip.swarm.chaos import FaultyLinks
from pairgossip.swarm.processes import HOST

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


def test_bytes_pass_both_ways(links: FaultyLinks, far: socket.socket) -> None:
    with ExitStack() as stack:
        near, there = map(stack.enter_context, connected(links, 0, 1, far))
        near.sendall(b"hello")
        assert there.recv(100) == b"hello"
        there.sendall(b"hello yourself")
        assert near.recv(100) == b"hello yourself"


def test_a_cut_link_holds_back_and_others_do_not(links: FaultyLinks, far: socket.socket) -> None:
    with ExitStack() as stack:
        near, there = map(stack.enter_context, connected(links, 0, 1, far))
        other, beyond = map(stack.enter_context, connected(links, 1, 2, far))
        links.cut([(1, 0)])  # whichever end is named first
        near.sendall(b"late")
        other.sendall(b"now")
        assert beyond.recv(100) == b"now"
        assert hears_nothing(there)
        links.heal()
        assert there.recv(100) == b"late"


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
