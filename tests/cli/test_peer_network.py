"""Three real processes on this machine, from `peer init` to `peer result`."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

import pairgossip as pg

from ..peer.zenoh_people import free_address
from ..swarm.brisk import BRISK
from .running import Answer, main

NAMES = ("clinic-a", "clinic-b", "clinic-c")
ROWS = {"clinic-a": [1.0], "clinic-b": [8.0], "clinic-c": [30.0]}
SPEC = """
kernel = "gini"
columns = ["income"]
[ranges]
income = [0, 100]
[algorithm]
name = "exchange"
rate = 100.0
"""
PROGRAM = "import sys; from pairgossip.cli import main; sys.exit(main())"
MEGABYTE = 1 << 20
LARGEST = 32 * MEGABYTE
"""Limit of a peer's own memory, which is 27 MB; that of its libraries depends on the system."""
HEAVY = ("numba", "numpy/random", "scipy/", "sklearn", "pandas", "matplotlib", "llvmlite")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make three peers that have joined each other; c listens at an address nobody knows."""
    folder = tmp_path_factory.mktemp("network")
    (folder / "gini.toml").write_text(SPEC)
    for name in NAMES:
        rows = "".join(f"{value}\n" for value in ROWS[name])
        (folder / f"{name}.csv").write_text("income\n" + rows)
        given = ("--name", name, "--data", f"{name}.csv", "--spec", "gini.toml")
        run_command(folder, "init", *given, "--yes", "--listen", free_address())
        how = ("--unreachable",) if name == "clinic-c" else ()
        line = run_command(folder, "invite", "--home", name, *how)
        (folder / f"{name}.txt").write_text(line)
    for name in NAMES:
        for other in NAMES:
            if other != name:
                run_command(folder, "join", f"{other}.txt", "--home", name)
    return folder


def run_command(folder: Path, *tokens: str) -> str:
    """Run a command of a peer that must succeed, and return what it prints."""
    answer = run_here(folder, *tokens)
    assert answer.code == 0, answer.err
    return answer.out


def refused(folder: Path, *tokens: str) -> str:
    """Run a command of a peer that must be refused, and return the reason."""
    answer = run_here(folder, *tokens)
    assert answer.code == 2
    return answer.err


def run_here(folder: Path, *tokens: str) -> Answer:
    """Run a command of a peer in this process, with the same effect as in a separate one."""
    out, err = io.StringIO(), io.StringIO()
    with chdir(folder), redirect_stdout(out), redirect_stderr(err):
        code = main(["peer", *tokens])
    return Answer(code, out.getvalue(), err.getvalue())


class Processes:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.running: dict[str, subprocess.Popen[str]] = {}

    def start(self, *names: str) -> None:
        """Start peers by the command."""
        self._start(names, "-c", PROGRAM, "peer", "run", "--home")

    def start_brisk(self, *names: str) -> None:
        """Start what the command runs, in half the time, and with more frequent reports."""
        self._start(names, *BRISK)

    def _start(self, names: Iterable[str], *program: str) -> None:
        for name in names:
            self.running[name] = subprocess.Popen(
                [sys.executable, *program, name],
                cwd=self.folder,
                stderr=subprocess.PIPE,
                text=True,
            )

    def status(self, name: str) -> dict[str, object]:
        file = self.folder / name / "status.json"
        return dict(json.loads(file.read_text())) if file.exists() else {}

    def exchanges(self, name: str) -> int:
        found = self.status(name).get("exchanges", 0)
        assert isinstance(found, int)
        return found

    def stop(self, *names: str) -> list[dict[str, object]]:
        """Stop peers as an operator does, and return what they logged."""
        for name in names:
            self.running[name].send_signal(signal.SIGTERM)
        lines: list[dict[str, object]] = []
        for name in names:
            _, err = self.running[name].communicate(timeout=60)
            assert self.running.pop(name).returncode == 0, err
            lines += [json.loads(line) for line in err.splitlines()]
        return lines


@pytest.fixture
def peers(place: Path) -> Iterator[Processes]:
    found = Processes(place)
    yield found
    for process in found.running.values():
        process.kill()
        process.communicate()


def until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 200  # machines may be slow; this limit only prevents hanging
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.timeout(700)
def test_three_processes_agree_and_stop(place: Path, peers: Processes) -> None:
    exact = float(pg.exact([1.0, 8.0, 30.0], "gini"))
    peers.start("clinic-a")
    peers.start_brisk("clinic-b", "clinic-c")
    until(lambda: min(map(peers.exchanges, NAMES)) > 200)
    shown = run_command(place, "status", "--home", "clinic-a")
    assert "running as process" in shown and "records of 3 of 3 members; all have 3 rows" in shown
    check_that_it_is_small(peers.running["clinic-a"].pid)
    second = refused(place, "run", "--home", "clinic-a")
    assert second.startswith("Error: The peer in clinic-a is already running as process ")
    logged = peers.stop(*NAMES)
    assert {line["level"] for line in logged} == {"info"}
    assert all("value" not in line and "mass" not in line for line in logged)

    for name in NAMES:
        assert peers.status(name)["estimate"] == [pytest.approx(exact, rel=0.35)]
    for name in NAMES:
        run_command(place, "export", "--home", name, "--out", "state.json")
        assert json.loads((place / "state.json").read_text())["pending"] == {}
    run_command(place, "result", "--home", "clinic-c", "--out", "result.json")
    result = json.loads((place / "result.json").read_text())
    assert result["estimate"] == pytest.approx(exact, rel=0.35)
    assert result["kernel"] == "gini" and result["covers"]["of_rows"] == 3


def check_that_it_is_small(pid: int) -> None:
    if sys.platform == "linux":  # other systems do not report it
        assert own_memory(pid) < LARGEST
        libraries = Path(f"/proc/{pid}/maps").read_text()
        assert not [heavy for heavy in HEAVY if heavy in libraries]


def own_memory(pid: int) -> int:
    """Return the bytes that no other process shares and that no file backs."""
    status = Path(f"/proc/{pid}/status").read_text()
    (kilobytes,) = (line.split()[1] for line in status.splitlines() if line.startswith("RssAnon"))
    return int(kilobytes) * 1024


def on_port_of_a(place: Path) -> str:
    """Run the peer b at the port of a, and return what it prints."""
    settings = place / "clinic-b" / "peer.toml"
    kept = settings.read_text()
    listen = (place / "clinic-a" / "peer.toml").read_text().split("listen = ")[1].split("\n")[0]
    try:
        settings.write_text(f'name = "clinic-b"\nlisten = {listen}\n')
        return refused(place, "run", "--home", "clinic-b")
    finally:
        settings.write_text(kept)


def test_evicting_on_a_running_peer_and_a_port_in_use(place: Path, peers: Processes) -> None:
    """This test is the last, as it leaves fewer members."""
    peers.start_brisk(*NAMES)
    until(lambda: all(peers.status(name).get("pid") for name in NAMES))
    start = {name: peers.exchanges(name) for name in NAMES}
    until(lambda: all(peers.exchanges(name) > start[name] for name in NAMES))
    answer = run_here(place, "evict", "clinic-c", "--home", "clinic-a", "--yes")
    assert (answer.code, answer.err) == (0, "clinic-c is evicted.\n")
    lost = peers.running.pop("clinic-c")
    _, err = lost.communicate(timeout=60)
    assert lost.returncode == 3
    assert "The other members have evicted this peer" in err
    until(lambda: peers.status("clinic-b").get("evicted") == ["clinic-c"])
    peers.stop("clinic-b")
    assert "is in use by another program: stop it, or give another port" in on_port_of_a(place)
    peers.stop("clinic-a")
