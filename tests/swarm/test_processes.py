"""What a killed peer leaves on its disk, and free ports."""

from __future__ import annotations

from pathlib import Path

import pytest

from pairgossip.errors import InputError
from pairgossip.peer.storage.folder import Home
from pairgossip.swarm.exchange import ExchangePeer
from pairgossip.swarm.processes import _HIGHEST, _LOWEST, Remains, free_ports, ports_from
from tests.peer.homes import Pair

from .test_audit import exchanging


def process_of(home: Home) -> ExchangePeer:
    return ExchangePeer(home.folder.name, "id", home.folder, home.folder / "log")


def test_a_life_counts_with_its_first_exchange(tmp_path: Path) -> None:
    homes = exchanging(tmp_path)
    peer = process_of(homes[0])
    assert peer.remains() == Remains(has_worked=True)
    assert peer.remains() == Remains(has_worked=False), "nothing has happened since"
    pair = Pair(homes)
    pair.deliver()
    pair.ask(0)
    pair.lose()
    asked = peer.remains()
    assert not asked.has_worked and len(asked.offers) == 1
    pair.close()
    assert peer.remains() == asked, "the same offer still"


def test_a_disk_that_cannot_be_read_shows_no_exchange(tmp_path: Path) -> None:
    assert process_of(Home(tmp_path)).remains() == Remains(has_worked=False)


def test_free_ports_differ_and_are_not_those_of_connections() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    assert all(_LOWEST <= port < _HIGHEST for port in ports)


@pytest.mark.parametrize("first", [0, 65_530])
def test_ports_that_do_not_exist(first: int) -> None:
    with pytest.raises(InputError, match=f"10 ports from {first} on do not exist"):
        ports_from(first, 10)
