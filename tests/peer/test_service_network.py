"""Peers as they run in the field, over real sessions on 127.0.0.1, with somebody who listens in."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import zenoh

from pairgossip.peer import access
from pairgossip.peer.access import configuration, inbox_of
from pairgossip.peer.evictions import request_eviction
from pairgossip.peer.home import Home
from pairgossip.peer.identity import load_identity
from pairgossip.peer.messages import VERSION
from pairgossip.peer.service import connect
from pairgossip.peer.status import Status, read_status
from pairgossip.peer.view import view

from .homes import GINI, introduce_each_other, make_home
from .test_service import Running
from .zenoh_people import PATIENCE, Person, free_address, site_of, until

FAST = GINI + "[algorithm]\nrate = 200.0\n"


class Field:
    """The network in which peers run."""

    connect = staticmethod(connect)


@pytest.fixture
def homes(tmp_path: Path) -> list[Home]:
    made = [
        make_home(tmp_path, name, [10.0 + k, 50.0 + k], FAST, listen=free_address())
        for k, name in enumerate("abc")
    ]
    introduce_each_other(made)
    return made


@contextmanager
def running(*homes: Home) -> Iterator[list[Running]]:
    started = [Running(home, Field()) for home in homes]
    try:
        yield started
    finally:
        for one in started:
            one.service.stop()
        for one in started:
            one.wait()


def exchanges(home: Home) -> int:
    return view(home).state.exchanges


class Intruder:
    """The neighbor c, who has issued itself a certificate in the name of b, and listens at a."""

    def __init__(self, folder: Path, a: Home, b: Home, c: Home) -> None:
        self.id = load_identity(b.folder).id
        forged = Person(folder, "forged", pretended_id=self.id, issuer=_as_person(c, folder))
        config = configuration(
            site_of(forged, [_as_person(a, folder)], connect=a.read_settings().listen)
        )
        config["access_control"] = {"enabled": False}
        self._session = zenoh.open(zenoh.Config.from_json5(json.dumps(config)))
        self.overheard: list[bytes] = []
        self._session.declare_subscriber(
            inbox_of(self.id), lambda sample: self.overheard.append(bytes(sample.payload))
        )

    def is_connected(self) -> bool:
        return bool(self._session.info.links())

    def close(self) -> None:
        self._session.close()  # type: ignore[no-untyped-call]


def _as_person(home: Home, folder: Path) -> Person:
    """The person behind a peer's folder."""
    person = Person(folder, f"of-{home.folder.name}", key_file=home.key)
    person.certificate = home.cert.read_text()
    return person


@contextmanager
def intruding(folder: Path, homes: list[Home]) -> Iterator[Intruder]:
    intruder = Intruder(folder, *homes)
    try:
        yield intruder
    finally:
        intruder.close()


def check_shut_out(intruder: Intruder, homes: list[Home]) -> None:
    """It is disconnected, and stays so while the others go on exchanging."""
    assert until(lambda: not intruder.is_connected())
    intruder.overheard.clear()
    before = exchanges(homes[0])
    assert until(lambda: exchanges(homes[0]) > before + 100 or intruder.is_connected())
    assert not intruder.is_connected()
    assert intruder.overheard == []


def test_an_evicted_neighbor_cannot_listen_any_more(homes: list[Home], tmp_path: Path) -> None:
    with running(*homes[:2]), intruding(tmp_path, homes) as intruder:
        assert until(lambda: len(intruder.overheard) > 20)
        request_eviction(homes[0], load_identity(homes[2].folder).id)
        check_shut_out(intruder, homes)
    # After the next start neither.
    with running(*homes[:2]), intruding(tmp_path, homes) as intruder:
        before = exchanges(homes[0])
        assert until(lambda: exchanges(homes[0]) > before + 100)
        assert not intruder.is_connected() and intruder.overheard == []


def test_a_neighbor_whose_certificate_expires_meanwhile_is_shut_out(
    homes: list[Home], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expired: set[str] = set()
    monkeypatch.setattr(access, "is_expired", lambda certificate: certificate in expired)
    with running(*homes[:2]), intruding(tmp_path, homes) as intruder:
        assert until(lambda: len(intruder.overheard) > 20)
        expired.add(load_identity(homes[2].folder).certificate)
        check_shut_out(intruder, homes)


def test_who_is_evicted_is_told_before_it_is_shut_out(homes: list[Home]) -> None:
    with running(*homes) as (_, _, c):
        assert until(lambda: all(exchanges(home) > 10 for home in homes))
        request_eviction(homes[0], load_identity(homes[2].folder).id)
        assert c.wait() == 3


OF_VERSION = """
import sys
from pairgossip.peer import messages
messages.VERSION = {version}
from pairgossip.peer.__main__ import main
sys.exit(main({folder!r}))
"""


def test_peers_of_different_versions_say_so_and_do_not_exchange(homes: list[Home]) -> None:
    for home in homes[:2]:
        home.status.unlink(missing_ok=True)
    versions = (VERSION, VERSION + 1)
    peers = [
        subprocess.Popen(
            [sys.executable, "-c", OF_VERSION.format(version=version, folder=str(home.folder))],
            stderr=subprocess.PIPE,
            text=True,
        )
        for home, version in zip(homes, versions, strict=False)
    ]
    try:
        both = homes[:2]
        assert until(lambda: all(_told(home) and _told(home).problems for home in both))
        found = [_told(home) for home in both]
    finally:
        for peer in peers:
            peer.send_signal(signal.SIGTERM)
        logs = [peer.communicate(timeout=PATIENCE)[1] for peer in peers]
    older, newer = (status.problems[0] for status in found)
    assert older == (
        f"Neighbor 'b' speaks version {VERSION + 1} of the messages and this peer version "
        f"{VERSION}: update pairgossip at this peer; until then the two do not exchange."
    )
    assert newer == (
        f"Neighbor 'a' speaks version {VERSION} of the messages and this peer version "
        f"{VERSION + 1}: update pairgossip at 'a'; until then the two do not exchange."
    )
    assert logs[0].count("of the messages") == logs[1].count("of the messages") == 1
    for status, other, version in zip(found, "ba", reversed(versions), strict=True):
        assert status.neighbors[other].other_version == version
        assert not status.neighbors[other].agreed and status.exchanges == 0
        assert "offers" not in status.counts


def _told(home: Home) -> Status:
    return read_status(home.status) or view(home).status()
