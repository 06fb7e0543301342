"""Peers as seen from outside: by their folders, by their metrics, and repeatedly."""

from __future__ import annotations

import itertools
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
from pairgossip.peer import reading
from pairgossip.peer.estimates.errors import UNKNOWN
from pairgossip.peer.reading import (
    DOWN,
    FolderReader,
    PeerReading,
    SwarmReader,
    SwarmReading,
    process_of,
    state_of,
)
from pairgossip.peer.service.metrics import MetricsServer
from pairgossip.peer.service.status import _LARGEST_STATUS, write_status
from pairgossip.peer.storage.folder import Home
from pairgossip.watch.metrics import MetricsReader, parse_metrics_address
from tests.watch.peers_to_watch import HOSTILE, Scripted, status, told, until


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    yield process
    process.kill()
    process.wait()


def read(folder: Path, started_as: int | None = None, **more: Any) -> PeerReading:
    if more:
        write_status(folder / "status.json", status(**more))
    return FolderReader("clinic", "ab", Home(folder), started_as).read()


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
    assert (found.estimate, found.exchanges) == (1.5, 7)
    assert (found.errors.gossip_error, found.errors.gossip_interval) == (0.12, (1.25, 1.75))
    assert (found.errors.sampling_error, found.errors.sampling_interval) == (0.062, (1.375, 1.625))
    assert (found.refused, found.generation, found.covers) == (2, 1, (2, 3))


def test_states(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    pid, now = sleeper.pid, time.time()
    assert read(tmp_path).state == "down"  # nothing is there
    assert read(tmp_path, pid).state == "starting"
    assert read(tmp_path, pid=pid, updated=now + 1).state == "up"
    assert read(tmp_path, pid).state == "up"
    assert read(tmp_path, pid=pid, updated=now - 1000).state == "down"  # another's number by now
    assert read(tmp_path, pid=pid, updated=now + 1, stopped=True).state == "stopped"
    assert read(tmp_path, pid=None, stopped=True).state == "stopped"
    assert read(tmp_path, pid, pid=1, updated=now + 1).state == "starting"  # again
    sleeper.send_signal(signal.SIGSTOP)
    until(lambda: read(tmp_path, pid=pid, updated=time.time()).state == "frozen", "frozen")
    sleeper.kill()
    until(lambda: read(tmp_path, pid=pid, updated=time.time()).state == "down", "down")


def test_a_silent_peer_is_frozen(tmp_path: Path) -> None:
    me = process_of(os.getpid())
    assert me is not None
    write_status(tmp_path / "status.json", status(updated=me.began + 1))
    late = FolderReader("clinic", "ab", Home(tmp_path))
    assert state_of(status(updated=me.began), None, me.began + 60) == "frozen"
    assert late.read().exchanges == 7


def test_a_model_has_no_single_estimate(tmp_path: Path) -> None:
    found = read(tmp_path, estimate=(1.0, 2.0, 3.0))
    assert (found.estimate, found.parameters) == (None, 3)


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
        "is not a peer's status: remove it."
    )


def test_a_huge_status(tmp_path: Path) -> None:
    with open(tmp_path / "status.json", "wb") as file:
        file.truncate(_LARGEST_STATUS + 1)
    assert "is longer than" in read(tmp_path).problems[0]


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
    assert parse_metrics_address(text) == place


@pytest.mark.parametrize("text", ["10.0.0.1:9464", "example.org:80", "127.0.0.1:70000"])
def test_places_elsewhere(text: str) -> None:
    with pytest.raises(InputError, match=r"^Metrics cannot be read from .* their own machine only"):
        parse_metrics_address(text)


def test_metrics_of_a_peer() -> None:
    current = status(generation=2)
    server = MetricsServer("127.0.0.1:0", lambda: current)
    try:
        found = MetricsReader("127.0.0.1", server.port).read()
    finally:
        server.close()
    assert (found.state, found.estimate) == ("up", 1.5)
    assert found.errors.as_fields() == {
        "gossip_error": 0.12,
        "gossip_interval": (1.25, 1.75),
        "sampling_error": 0.062,
        "sampling_interval": (1.375, 1.625),
        "privacy_error": None,
    }
    assert (found.exchanges, found.refused, found.generation) == (7, 2, 2)
    assert found.covers == (2, 3) and found.problems == ()
    assert MetricsReader("127.0.0.1", server.port).read() == PeerReading("down")


def test_metrics_of_a_peer_that_begins_or_hangs() -> None:
    said: list[Any] = [None]
    server = MetricsServer("127.0.0.1:0", lambda: said[0])
    try:
        reader = MetricsReader("127.0.0.1", server.port)
        assert reader.read() == PeerReading("starting")
        said[0] = status(updated=time.time() - 600, estimate=(1.0, 2.0))
        found = reader.read()
        assert (found.state, found.estimate, found.parameters) == ("frozen", None, 2)
    finally:
        server.close()


def test_a_port_where_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairgossip.watch.metrics._LONGEST_ANSWER", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert MetricsReader("127.0.0.1", silent.getsockname()[1]).read() == PeerReading("frozen")


def ask_server(content: bytes) -> PeerReading:
    """Read a peer whose server answers every request with this; no content stands for an error."""

    class Server(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if content else 500)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        server.handle_error = lambda *_: None  # type: ignore[method-assign]
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        found = MetricsReader("127.0.0.1", server.server_address[1]).read()
        server.shutdown()
    return found


@pytest.mark.parametrize(
    "content",
    [b"<html>", b"\xff\xfe", b'a{b="\n', b"x" * (1 << 21), b"", b'{"a":' + b"[" * 100_000],
)
def test_a_stranger_behind_the_port(content: bytes) -> None:
    found = ask_server(content)
    assert found.state == "unclear"
    assert "does not serve a peer's metrics, or those of another version" in found.problems[0]


@pytest.mark.parametrize("count", ["NaN", "1e999", '"7"', "[" * 2000, "-1.5"])
def test_counts_that_are_no_numbers(count: str) -> None:
    known = '"events": {}, "generation": 1, "members": 1, "members_met": 1, "rows": 1'
    assert ask_server(f'{{"exchanges": 7, {known}}}'.encode()).exchanges == 7
    assert ask_server(f'{{"exchanges": {count}, {known}}}'.encode()).state == "unclear"


# All peers, repeatedly


def read_by(*peers: Scripted) -> SwarmReader:
    return SwarmReader(peers)


def test_counts_survive_restarts_and_generations() -> None:
    says = [told(10, refused=3), told(25, refused=3), told(4, generation=2, refused=1)]
    says.append(told(9, generation=2))
    swarm = read_by(Scripted("a", says))
    totals = [(one.peers[0].exchanges, one.refused) for one in (swarm.read() for _ in says)]
    assert totals == [(10, 3), (25, 3), (29, 4), (34, 4)]


def test_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count(0.0, 2.0)
    monkeypatch.setattr("pairgossip.peer.reading.time.monotonic", lambda: next(clock))
    both = [Scripted(name, [told(10 * k) for k in range(40)]) for name in "ab"]
    swarm = read_by(*both)
    readings = [swarm.read() for _ in range(20)]
    assert readings[0].rate == 0.0  # nothing to compare with
    assert readings[-1].peers[0].rate == pytest.approx(5.0)
    assert readings[-1].rate == pytest.approx(5.0)  # each exchange is counted by two peers
    assert readings[-1].exchanges == 190


def test_what_was_told_is_known_while_a_peer_is_down() -> None:
    swarm = read_by(Scripted("a", [told(5, 2.5), PeerReading(DOWN)]))
    swarm.read()
    peer = swarm.read().peers[0]
    assert (peer.state, peer.estimate, peer.exchanges, peer.rate) == ("down", 2.5, 5, 0.0)


@pytest.mark.parametrize("named", ["b", "id-b"])
def test_evicted_by_those_of_the_latest_generation(named: str) -> None:
    peers = [
        Scripted("a", [told(1, generation=2, evicted=(named,))], "id-a"),
        Scripted("b", [told(1, 9.0, evicted=("c",))], "id-b"),  # its values no longer count
        Scripted("c", [told(1, 3.0, generation=2, evicted=(named,))], "id-c"),
    ]
    seen = read_by(*peers).read()
    assert [peer.state for peer in seen.peers] == ["up", "evicted", "up"]
    assert seen.generation == 2
    assert seen.median() == 2.0  # the median of the remaining ones


def test_names_are_cut() -> None:
    swarm = read_by(Scripted(HOSTILE, [told(1)]), Scripted("a\x1b[2J\n", [told(1)]))
    assert swarm.names == ("<img src=x onerror=document.t...", "a\\x1b[2J\\n")


def test_a_new_process_that_has_refused_as_much_is_counted() -> None:
    says = [told(1, refused=2, started=1.0), told(2, refused=2, started=5.0)]
    swarm = read_by(Scripted("a", says))
    assert [swarm.read().refused for _ in says] == [2, 4]


def test_a_summary() -> None:
    peers = (
        PeerReading("up", "a", 1.5, 0, UNKNOWN, 1000, 41.6, 2, 1),
        PeerReading("frozen", "b", 2.5, exchanges=1502, rate=40.0, generation=1),
        PeerReading("down", "c", refused=1),
    )
    assert SwarmReading(12.3, peers).summary() == (
        "12 s: 1 up, 1 frozen, 1 down; estimates 2 (1.5 to 2.5); 1,251 exchanges, 40.8 per second; "
        "3 refused; generation 1"
    )


def test_a_summary_before_anything_is_known() -> None:
    seen = SwarmReading(0.0, (PeerReading("starting", "a"),))
    assert seen.summary() == (
        "0 s: 0 up, 1 starting; 0 exchanges, 0 per second; 0 refused; generation 1"
    )
    assert seen.generation == 1 and seen.median() is None
