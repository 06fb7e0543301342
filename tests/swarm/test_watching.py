from __future__ import annotations

from pairgossip.swarm.watching import Look, PeerLook


def test_a_look_in_one_line() -> None:
    peers = (
        PeerLook("a", "up", 1.5, (1.0, 2.0), 1000, 2, 1),
        PeerLook("b", "frozen", 2.5, None, 1502, 0, 1),
        PeerLook("c", "down", None, None, 0, 1, None),
    )
    look = Look(12.3, peers, 41.6, {"freezes": 1, "kills": 3})
    assert look.line() == (
        "12 s: 1 up, 1 frozen, 1 down; estimates 2 (1.5 to 2.5); 1,251 exchanges, 42 per second; "
        "3 refused; generation 1; 3 kills, 1 freeze"
    )


def test_before_anything_is_known() -> None:
    look = Look(0.0, (PeerLook("a", "starting", None, None, 0, 0, None),), 0.0, {})
    assert look.line() == (
        "0 s: 0 up, 1 starting; 0 exchanges, 0 per second; 0 refused; generation 1"
    )
    assert look.generation == 1
