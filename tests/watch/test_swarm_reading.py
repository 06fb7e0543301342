"""One look at one peer: by its folder, and by its metrics."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from pairgossip.errors import InputError
from pairgossip.peer.service.metrics import MetricsServer
from pairgossip.peer.service.status import LARGEST_STATUS, write_status
from pairgossip.peer.storage.folder import Home
from pairgossip.watch.peers import reading
from pairgossip.watch.peers.reading import (
    FolderReader,
    MetricsReader,
    Reading,
    Told,
    metrics_place,
    process_of,
)

from .peers_to_watch import HOSTILE, status, until


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    yield process
    process.kill()
    process.wait()


def read(folder: Path, told: Told = Told(), **more: Any) -> Reading:  # noqa: B008
    if more:
        write_status(folder / "status.json", status(**more))
    return FolderReader("clinic", "ab", Home(folder), told).read()


def test_processes(sleeper: subprocess.Popen[bytes]) -> None:
    mine = process_of(os.getpid())
    assert mine is not None and not mine.is_stopped and mine.began <= time.time()
    found = process_of(sleeper.pid)
    assert found is not None and found.began >= mine.began - 0.1
    sleeper.send_signal(signal.SIGSTOP)
    until(lambda: (process_of(sleeper.pid) or mine).is_stopped, "stopped")
    sleeper.kill()
    until(lambda: process_of(sleeper.pid) is None, "dead, though nobody has asked how it ended")


def test_without_proc(sleeper: subprocess.Popen[bytes]) -> None:
    assert reading._signaled(sleeper.pid) == (False, 0.0)
    sleeper.kill()
    sleeper.wait()
    assert reading._signaled(sleeper.pid) is None


def test_a_peer_that_runs(tmp_path: Path) -> None:
    found = read(tmp_path, started=1.0)
    assert found.state == "up"
    assert (found.estimate, found.interval, found.exchanges) == (1.5, (1.25, 1.75), 7)
    assert (found.refused, found.generation, found.covers) == (2, 1, (2, 3))


def test_states(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    pid, now = sleeper.pid, time.time()
    assert read(tmp_path).state == "down"  # nothing is there
    assert read(tmp_path, Told(pid)).state == "starting"
    assert read(tmp_path, pid=pid, updated=now + 1).state == "up"
    assert read(tmp_path, Told(pid)).state == "up"
    assert read(tmp_path, pid=pid, updated=now - 1000).state == "down"  # another's number by now
    assert read(tmp_path, pid=pid, updated=now + 1, stopped=True).state == "stopped"
    assert read(tmp_path, pid=None, stopped=True).state == "stopped"
    assert read(tmp_path, Told(pid), pid=1, updated=now + 1).state == "starting"  # again
    sleeper.send_signal(signal.SIGSTOP)
    until(lambda: read(tmp_path, pid=pid, updated=time.time()).state == "frozen", "frozen")
    sleeper.kill()
    until(lambda: read(tmp_path, pid=pid, updated=time.time()).state == "down", "down")


def test_a_silent_peer_is_frozen(tmp_path: Path) -> None:
    me = process_of(os.getpid())
    assert me is not None
    write_status(tmp_path / "status.json", status(updated=me.began + 1))
    late = FolderReader("clinic", "ab", Home(tmp_path))
    assert reading._state(status(updated=me.began), Told(), me.began + 60) == "frozen"
    assert late.read().exchanges == 7


def test_a_model_has_no_single_estimate(tmp_path: Path) -> None:
    found = read(tmp_path, estimate=(1.0, 2.0, 3.0), interval=None)
    assert (found.estimate, found.parameters, found.interval) == (None, 3, None)


def test_text_is_cut_and_harmless(tmp_path: Path) -> None:
    found = read(tmp_path, measure="\x1b[2J" + "x" * 500, problems=["a\nb\u202e" * 900] * 99)
    assert len(found.measure) <= 64 and found.measure.isprintable()
    assert len(found.problems) == 5
    assert all(one.isprintable() and len(one) <= 300 for one in found.problems)
    assert read(tmp_path, measure=HOSTILE).measure == HOSTILE  # the page shows it as text


@pytest.mark.parametrize("content", [b"", b"[1]", b'{"name": NaN}', b"\xff", b"[" * 9000])
def test_a_damaged_status(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "status.json").write_bytes(content)
    found = read(tmp_path)
    assert found.state == "unclear" and found.problems[0].endswith(
        "is no status of a peer: remove it."
    )


def test_a_huge_status(tmp_path: Path) -> None:
    with open(tmp_path / "status.json", "wb") as file:
        file.truncate(LARGEST_STATUS + 1)
    assert "too large" in read(tmp_path).problems[0]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("127.0.0.1:9464", ("127.0.0.1", 9464)),
        ("http://localhost:1/metrics", ("localhost", 1)),
        ("[::1]:80", ("::1", 80)),
        ("some/folder", None),
        ("folder", None),
    ],
)
def test_places(text: str, place: tuple[str, int] | None) -> None:
    assert metrics_place(text) == place


@pytest.mark.parametrize("text", ["10.0.0.1:9464", "example.org:80", "127.0.0.1:70000"])
def test_places_elsewhere(text: str) -> None:
    with pytest.raises(InputError, match=r"^Metrics cannot be read from .* their own machine only"):
        metrics_place(text)


def test_metrics_of_a_peer() -> None:
    current = status(generation=2)
    server = MetricsServer("127.0.0.1:0", lambda: current)
    try:
        found = MetricsReader("127.0.0.1", server.port).read()
    finally:
        server.close()
    assert (found.state, found.estimate, found.interval) == ("up", 1.5, (1.25, 1.75))
    assert (found.exchanges, found.refused, found.generation) == (7, 2, 2)
    assert found.covers == (2, 3) and found.problems == ()
    assert MetricsReader("127.0.0.1", server.port).read() == Reading("down")


def test_metrics_of_a_peer_that_begins_or_hangs() -> None:
    said: list[Any] = [None]
    server = MetricsServer("127.0.0.1:0", lambda: said[0])
    try:
        reader = MetricsReader("127.0.0.1", server.port)
        assert reader.read() == Reading("starting")
        said[0] = status(updated=time.time() - 600, estimate=(1.0, 2.0), interval=None)
        found = reader.read()
        assert (found.state, found.estimate, found.parameters) == ("frozen", None, 2)
    finally:
        server.close()


def test_a_port_where_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairgossip.watch.peers.reading.LONGEST_ANSWER", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert MetricsReader("127.0.0.1", silent.getsockname()[1]).read() == Reading("frozen")


@pytest.mark.parametrize("content", [b"<html>", b"\xff\xfe", b'a{b="\n', b"x" * (1 << 21), b""])
def test_a_stranger_behind_the_port(content: bytes) -> None:
    class Stranger(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if content else 500)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Stranger) as server:
        server.handle_error = lambda *_: None  # type: ignore[method-assign]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        found = MetricsReader("127.0.0.1", server.server_address[1]).read()
        server.shutdown()
    assert found.state == "unclear"
    assert found.problems[0].endswith("does not serve a peer's metrics.")
