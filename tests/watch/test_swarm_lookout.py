"""Looking again and again: rates, what is remembered, who is gone."""

from __future__ import annotations

import itertools

import pytest

from pairgossip.watch.peers import lookout as swarm_lookout
from pairgossip.watch.peers.lookout import Lookout
from pairgossip.watch.peers.reading import DOWN, Reading
from pairgossip.watch.peers.source import Swarm

from .peers_to_watch import HOSTILE, Scripted, told


def looking(*peers: Scripted, **more: float) -> Lookout:
    return Lookout(Swarm("test", peers, **more))  # type: ignore[arg-type]


def test_counts_survive_restarts_and_generations() -> None:
    says = [told(10, refused=3), told(25, refused=3), told(4, generation=2, refused=1), told(9)]
    lookout = looking(Scripted("a", says))
    totals = [(look.peers[0].exchanges, look.refused) for look in (lookout.look() for _ in says)]
    assert totals == [(10, 3), (25, 3), (29, 4), (34, 4)]


def test_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count(0.0, 2.0)
    monkeypatch.setattr("pairgossip.watch.peers.lookout.monotonic", lambda: next(clock))
    both = [Scripted(name, [told(10 * k) for k in range(40)]) for name in "ab"]
    lookout = looking(*both)
    looks = [lookout.look() for _ in range(20)]
    assert looks[0].rate == 0.0  # nothing to compare with
    assert looks[-1].peers[0].rate == pytest.approx(5.0)
    assert looks[-1].rate == pytest.approx(5.0)  # two peers make each exchange
    assert looks[-1].exchanges == 190


def test_what_was_told_is_known_while_a_peer_is_down() -> None:
    lookout = looking(Scripted("a", [told(5, 2.5), Reading(DOWN)]))
    lookout.look()
    peer = lookout.look().peers[0]
    assert (peer.state, peer.reading.estimate, peer.exchanges, peer.rate) == ("down", 2.5, 5, 0.0)


@pytest.mark.parametrize("named", ["b", "id-b"])
def test_evicted_by_those_of_the_latest_generation(named: str) -> None:
    peers = [
        Scripted("a", [told(1, generation=2, evicted=(named,))], "id-a"),
        Scripted("b", [told(1, 9.0, evicted=("c",))], "id-b"),  # what it says counts no more
        Scripted("c", [told(1, 3.0, generation=2, evicted=(named,))], "id-c"),
    ]
    look = looking(*peers).look()
    assert [peer.state for peer in look.peers] == ["up", "evicted", "up"]
    assert look.generation == 2
    assert look.middle == 2.0  # the median of those that are left


def test_the_middle_is_the_exact_value_if_that_is_known() -> None:
    assert looking(Scripted("a", [told(1, 4.0)]), exact=3.0).look().middle == 3.0
    assert looking(Scripted("a", [told(1, None)])).look().middle is None


def test_history_is_bounded_and_keeps_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(swarm_lookout, "MOST_MOMENTS", 60)
    lookout = looking(Scripted("a", [told(k, float(k)) for k in range(500)]))
    for _ in range(500):
        lookout.look()
        assert len(lookout.history()[0]) <= 60
    seconds, (curve,) = lookout.history()
    assert curve[-1] == 499.0 and sorted(seconds) == seconds and len(seconds) == len(curve) > 25
    assert curve[0] == 0.0 or curve[0] < 60  # the beginning is not forgotten


def test_names_are_cut() -> None:
    lookout = looking(Scripted(HOSTILE, [told(1)]), Scripted("a\x1b[2J\n", [told(1)]))
    assert lookout.names == ("<img src=x onerror=document.t...", "a\\x1b[2J\\n")
