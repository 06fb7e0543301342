"""What a killed peer has left on its disk."""

from __future__ import annotations

from pathlib import Path

from pairgossip.peer.storage.folder import Home
from pairgossip.swarm.processes import PeerProcess, Remains
from tests.peer.homes import Pair

from .test_audit import exchanging


def process_of(home: Home) -> PeerProcess:
    return PeerProcess(home.folder.name, "id", home, home.folder / "log")


def test_a_life_counts_with_its_first_exchange(tmp_path: Path) -> None:
    homes = exchanging(tmp_path)
    peer = process_of(homes[0])
    assert peer.remains() == Remains(has_exchanged=True)
    assert peer.remains() == Remains(has_exchanged=False), "nothing has happened since"
    pair = Pair(homes)
    pair.deliver()
    pair.ask(0)
    pair.lose()
    asked = peer.remains()
    assert not asked.has_exchanged and len(asked.offers) == 1
    pair.close()
    assert peer.remains() == asked, "the same offer still"


def test_a_disk_that_cannot_be_read_shows_no_exchange(tmp_path: Path) -> None:
    assert process_of(Home(tmp_path)).remains() == Remains(has_exchanged=False)
