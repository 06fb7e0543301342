"""Connections that dawdle: they are cut, and nobody else has to wait for a place."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Iterator

import pytest

from pairgossip.watch.server import guard
from pairgossip.watch.server.guard import MOST_CONNECTIONS
from pairgossip.watch.server.server import ServerAddress

from .serving import GINI, Served

UPLOT = "/vendor/uPlot.iife.min.js"


@pytest.fixture
def server() -> Iterator[Served]:
    """A server of its own: its connections are counted."""
    server = Served(ServerAddress())
    yield server
    server.stop()


def connected(server: Served, request: str = "") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=30)
    connection.sendall(request.replace("HERE", f"127.0.0.1:{server.port}").encode())
    return connection


def has_ended(connection: socket.socket) -> bool:
    try:
        while connection.recv(65_536):
            pass
    except ConnectionResetError:
        pass
    return True  # else it has timed out


def is_open(server: Served, client: tuple[str, int]) -> bool:
    known = list(server._service._server.server_state.connections)
    return any(getattr(one, "client", None) == client for one in known)


HALF = {
    "nothing": "",
    "half a head": "GET / HTTP/1.1\r\nHost: HERE\r\n",
    "half a body": (
        "POST /api/sessions HTTP/1.1\r\nHost: HERE\r\nOrigin: http://HERE\r\n"
        "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    ),
}


@pytest.mark.parametrize("request_", HALF.values(), ids=HALF)
def test_a_request_that_never_ends_is_cut(
    server: Served,
    request_: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(guard, "CHECK_SECONDS", 0.02)
    monkeypatch.setattr(guard, "HEAD_SECONDS", 0.2)
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.2)
    with caplog.at_level(logging.ERROR), connected(server, request_) as connection:
        assert has_ended(connection)
        assert server.ask("/api/views").status_code == 200
    assert not caplog.records  # it is no error of the server's


@pytest.mark.parametrize("request_", HALF.values(), ids=HALF)
def test_many_that_never_end_leave_a_place(server: Served, request_: str) -> None:
    held = [connected(server, request_) for _ in range(MOST_CONNECTIONS + 20)]
    try:
        assert server.ask("/api/views").status_code == 200
    finally:
        for connection in held:
            connection.close()


def test_a_watcher_keeps_its_place_however_many_come(server: Served) -> None:
    key = server.open(**GINI)
    with server.watching(key) as events:
        assert next(events)[0] == "setup"
        held = [connected(server) for _ in range(MOST_CONNECTIONS + 20)]
        try:
            server.control(key, "step")
            done = (content["runs"][0]["done"] for name, content in events if name == "frame")
            assert 1 in done
        finally:
            for connection in held:
                connection.close()


def test_an_answer_that_is_never_read_is_cut(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "CHECK_SECONDS", 0.02)
    monkeypatch.setattr(guard, "UNREAD_SECONDS", 0.3)
    size, times = len(server.ask(UPLOT).content), 400
    asked = f"GET {UPLOT} HTTP/1.1\r\nHost: HERE\r\n\r\n" * times
    with connected(server, asked) as connection:
        taken = len(connection.recv(1))  # it has been accepted
        end = time.monotonic() + 30
        while is_open(server, connection.getsockname()):
            assert time.monotonic() < end, "nobody cut it"
            time.sleep(0.05)
        try:
            while part := connection.recv(1 << 20):
                taken += len(part)
        except ConnectionResetError:
            pass
    assert taken < size * times


def test_whoever_reads_on_is_left_alone(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "CHECK_SECONDS", 0.02)
    monkeypatch.setattr(guard, "HEAD_SECONDS", 0.2)
    monkeypatch.setattr(guard, "UNREAD_SECONDS", 0.2)
    key = server.open(**GINI, speed="20", iterations="20")
    with server.watching(key) as events:
        server.control(key, "start")
        assert any(name == "frame" and content["status"] == "done" for name, content in events)
