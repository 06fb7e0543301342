"""Peers as they run in the field, over real sessions on 127.0.0.1, with an eavesdropper."""

from __future__ import annotations

import contextlib
import datetime
import json
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import zenoh

from pairgossip.peer.identity.identity import load_identity
from pairgossip.peer.links import zenoh_link
from pairgossip.peer.links.zenoh_link import configuration, inbox_of
from pairgossip.peer.service import descriptors
from pairgossip.peer.service.assembly import read_snapshot
from pairgossip.peer.service.service import EXIT_FAILED, connect
from pairgossip.peer.service.status import Status, read_status
from pairgossip.peer.storage.folder import Home, request_eviction

from .homes import GINI, exchanges, introduce_each_other, make_home
from .test_service import Running
from .zenoh_people import PATIENCE, Person, free_address, site_of, until

FAST = "algorithm.rate = 200.0\n" + GINI


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
    """Return the person with the key of a peer's folder."""
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
    """Check that it is disconnected, and stays so while the others continue to exchange."""
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
    # Nor does it after the next start.
    with running(*homes[:2]), intruding(tmp_path, homes) as intruder:
        before = exchanges(homes[0])
        assert until(lambda: exchanges(homes[0]) > before + 100)
        assert not intruder.is_connected() and intruder.overheard == []


def test_a_neighbor_whose_certificate_expires_meanwhile_is_shut_out(
    homes: list[Home], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expired: set[str] = set()
    monkeypatch.setattr(zenoh_link, "is_expired", lambda certificate: certificate in expired)
    with running(*homes[:2]), intruding(tmp_path, homes) as intruder:
        assert until(lambda: len(intruder.overheard) > 20)
        expired.add(load_identity(homes[2].folder).certificate)
        check_shut_out(intruder, homes)


def test_peers_connect_by_themselves_once_a_certificate_is_valid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TLS checks the clock at every attempt, so only time has to pass."""
    a = make_home(tmp_path, "a", [10.0, 50.0], FAST, listen=free_address())
    ahead = datetime.timedelta(seconds=10)
    monkeypatch.setattr("pairgossip.peer.identity.certificates._CLOCK_SKEW", -ahead)
    b = make_home(tmp_path, "b", [11.0, 51.0], FAST, listen=free_address())
    introduce_each_other([a, b])
    with running(a, b) as (first, second):
        assert until(lambda: a.status.exists() and b.status.exists())
        assert [
            one.status().problems[0].partition(" is valid from ")[0] for one in (first, second)
        ] == [
            "The certificate of 'b'",
            "This peer's own certificate",
        ]
        assert not any(
            one.status().neighbors[name].connected for one, name in ((first, "b"), (second, "a"))
        )
        assert until(lambda: exchanges(a) > 10 and exchanges(b) > 10)
        assert until(lambda: first.status().problems == second.status().problems == ())


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, ({most}, {most}))
from pairgossip.peer.service import descriptors, service
service._TICK = service._LINGER = 0.1
from pairgossip.peer.__main__ import main
sys.exit(main({folder!r}))
"""
MOST_OPEN = 128


def is_alive(place: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://{place}/healthz", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def test_a_stranger_with_many_idle_connections_does_not_make_a_peer_deaf(
    tmp_path: Path,
) -> None:
    metrics = free_address().removeprefix("tls/")
    a, b = (make_home(tmp_path, name, [1.0], FAST, listen=free_address()) for name in "ab")
    introduce_each_other([a, b])
    with a.peer.open("a") as settings:
        settings.write(f'metrics = "{metrics}"\n')
    host, _, port = a.read_settings().listen.removeprefix("tls/").partition(":")
    code = LIMITED.format(most=MOST_OPEN, folder=str(a.folder))
    limited = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    idle: list[socket.socket] = []
    try:
        with running(b):
            assert until(lambda: _told(a).exchanges > 10 and is_alive(metrics))
            for _ in range(2 * MOST_OPEN):
                with contextlib.suppress(OSError):
                    idle.append(socket.create_connection((host, int(port)), timeout=1))
            assert until(lambda: _told(a).counts.get(CLEARED, 0) > 0 or limited.poll() is not None)
            for one in idle:
                one.close()
            before = _told(a)
            assert until(lambda: _told(a).exchanges > before.exchanges + 50)
            assert until(lambda: is_alive(metrics)) and _told(a).updated > before.updated
    finally:
        limited.send_signal(signal.SIGTERM)
        _, log = limited.communicate(timeout=PATIENCE)
    assert limited.returncode == 0
    assert "too many connections: opening a new session" in log


CLEARED = "sessions reopened: too many connections"


def test_a_peer_that_has_no_descriptors_left_ends_with_a_sentence(
    homes: list[Home], monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(*homes[:2]) as (first, _):
        assert until(lambda: exchanges(homes[0]) > 10)
        taken = 10_000_000
        monkeypatch.setattr(descriptors, "count_descriptors", lambda: taken)
        assert first.wait() == EXIT_FAILED
        monkeypatch.undo()
    (problem,) = first.status().problems
    assert problem == (
        f"Only {descriptors.descriptor_limit()} files and connections may be open, and nearly all "
        "are: raise the limit (LimitNOFILE= in the unit, or ulimit -n), and see who connects to "
        "this peer's port."
    )


def test_a_crowd_is_sent_away_but_rarely(
    homes: list[Home], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(descriptors, "_SPARE_DESCRIPTORS", -1000)
    with running(homes[0]) as (first,):
        assert until(lambda: _told(homes[0]).counts.get(CLEARED, 0) > 0)
        updated = _told(homes[0]).updated
        assert until(lambda: _told(homes[0]).updated > updated + 1.0)
        assert first.status().counts[CLEARED] == 1


def _told(home: Home) -> Status:
    return read_status(home.status) or read_snapshot(home).status()
