"""Tests of one question: phases, sums, endings, lies and crashes."""

import numpy as np
import pytest

from pairgossip.peer.protocol.program import Words
from tests.study.fakes import FakeSite, Peer, ask_all, deliver

MEMBERS = ("a", "b", "c", "d", "e")


def make_peers(**site: int) -> list[Peer]:
    sites = [FakeSite(one.encode(), **site) for one in MEMBERS]
    return [Peer(one, number, sites[number]) for number, one in enumerate(MEMBERS)]


def plain_totals(peers: list[Peer], name: bytes) -> list[Words]:
    """Return what the sums must be, from each member's numbers alone."""
    totals: list[Words] = []
    program = peers[0].site.programs[name]
    for _ in range(program.rounds):
        total = np.zeros(program.size, dtype=np.uint64)
        for peer in peers:
            fresh = peer.site.make_program(name, peer.run.question, {})
            fresh.totals = list(totals)
            ask = fresh.ask()
            assert ask is not None
            total += fresh.contribute(ask)
        totals.append(total)
    return totals


@pytest.mark.parametrize("rounds", [1, 4])
@pytest.mark.parametrize("seed", range(5))
def test_sums_are_the_plain_sums_bit_for_bit(rounds: int, seed: int) -> None:
    peers = make_peers(rounds=rounds)
    name = ask_all(peers)
    deliver(peers, np.random.default_rng(seed), loss=0.2)
    assert [peer.run.phase for peer in peers] == ["done"] * 5
    found = [peer.site.programs[name].totals for peer in peers]
    expected = plain_totals(peers, name)
    for totals in found:
        assert len(totals) == rounds
        assert all(np.array_equal(one, two) for one, two in zip(totals, expected, strict=True))
