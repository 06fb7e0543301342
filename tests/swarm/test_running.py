"""Real processes: created, disturbed, stopped and audited."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from pairgossip.errors import InputError
from pairgossip.peer.reading import DOWN, SwarmReading, process_of
from pairgossip.peer.service.assembly import assemble
from pairgossip.peer.storage.folder import open_home
from pairgossip.swarm import running
from pairgossip.swarm.audit import Audit
from pairgossip.swarm.chaos import Faults
from pairgossip.swarm.running import Report, SwarmOptions, run_swarm

from .brisk import use_brisk_peers
from .plans import gini_plan

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals as on Unix")


@pytest.fixture(autouse=True)
def brisk(monkeypatch: pytest.MonkeyPatch) -> None:
    use_brisk_peers(monkeypatch)


def run(
    folder: Path, options: SwarmOptions, peers: int = 3, rows: int = 7
) -> tuple[Report[Audit], list[SwarmReading]]:
    readings: list[SwarmReading] = []

    def keep(reading: SwarmReading, faults: Mapping[str, int]) -> None:
        readings.append(reading)

    return run_swarm(gini_plan(peers, rows), folder, options, keep), readings


def is_alive(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    return process_of(pid) is not None


def test_a_quiet_swarm(tmp_path: Path) -> None:
    folder = tmp_path / "swarm"
    report, readings = run(folder, SwarmOptions(seconds=None, exchanges=60))
    assert report.is_sound, (report.books.violations, report.failures)
    audit = report.books
    assert (audit.records, report.refused, report.is_interrupted) == (7, 0, False)
    assert audit.exchanges >= 60 and readings[-1].exchanges >= 60
    assert audit.weight == pytest.approx(audit.weight_due, rel=1e-9)
    assert len(report.errors()) == 3 and report.cpu_seconds > 0
    told = json.loads((folder / "swarm.json").read_text())
    assert told["running"] is False and told["result"] == {"sound": True, "violations": []}
    assert [peer["name"] for peer in told["peers"]] == ["peer-01", "peer-02", "peer-03"]
    assert sorted(map(tuple, told["links"])) == [
        ("peer-01", "peer-02"),
        ("peer-01", "peer-03"),
        ("peer-02", "peer-03"),
    ]
    assert told["exact"] == pytest.approx(report.exact)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert not (folder / ".rows.csv").exists()
    for name in ("peer-01", "peer-02", "peer-03"):  # each can be continued separately
        parts = assemble(open_home(folder / name))
        assert parts.problems == () and len(parts.members.listed) == 2
        parts.close()


@pytest.mark.slow
def test_chaos_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_SHORTEST_CALM", 3.0)
    faults = Faults(kills=4, freezes=2, partitions=1, window=4.0)
    report, _ = run(tmp_path / "swarm", SwarmOptions(seconds=4.0, faults=faults), peers=3, rows=6)
    assert report.is_sound, (report.books.violations, report.failures)
    assert report.faults["kills"] == 4 and report.faults["freezes"] == 2
    assert report.faults["partitions"] == 1
    assert report.books.records == 6
    assert report.books.weight == pytest.approx(report.books.weight_due, rel=1e-9)
    # A peer that is cut off for half of the run biases the estimates in proportion to its rows, so
    # no error bound is certain; but an estimate is always an average of kernel values.
    incomes = [income for rows in gini_plan(3, 6).rows for (income,) in rows]
    assert report.exact is not None and len(report.errors()) == 3
    assert max(report.errors()) <= (max(incomes) - min(incomes)) / report.exact


def test_a_folder_nowhere(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^There is no folder .*: make it first\.$"):
        run(tmp_path / "a" / "b", SwarmOptions())


SCRIPT = """
import sys
from pathlib import Path
from types import SimpleNamespace
from pairgossip.swarm.running import SwarmOptions, run_swarm
from tests.swarm.brisk import use_brisk_peers
from tests.swarm.plans import gini_plan

use_brisk_peers(SimpleNamespace(setattr=setattr))  # pytest itself takes a while to import

def told(*_):
    print("reading", flush=True)

report = run_swarm(gini_plan(2, 4), Path(sys.argv[1]), SwarmOptions(seconds=600), told)
print(report.is_sound, report.is_interrupted, flush=True)
"""


def started(folder: Path) -> tuple[subprocess.Popen[str], list[int]]:
    """Start a swarm in a separate process, and return it with its peers' processes."""
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(folder)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    for _ in range(2):  # the list of processes is written right after the first reading
        assert process.stdout.readline() == "reading\n"
    told = json.loads((folder / "swarm.json").read_text())
    pids = [peer["pid"] for peer in told["peers"]]
    assert all(map(is_alive, pids)) and told["pid"] == process.pid
    return process, pids


def all_end(pids: list[int]) -> bool:
    end = time.monotonic() + 30.0
    while any(map(is_alive, pids)) and time.monotonic() < end:
        time.sleep(0.05)
    return not any(map(is_alive, pids))


def test_an_interrupted_swarm_stops_and_audits(tmp_path: Path) -> None:
    folder, pids = tmp_path / "swarm", list[int]()

    def interrupt(*_: object) -> None:
        told = json.loads((folder / "swarm.json").read_text())
        pids.extend(peer["pid"] for peer in told["peers"])
        assert all(map(is_alive, pids))
        os.kill(os.getpid(), signal.SIGINT)

    report = run_swarm(gini_plan(2, 4), folder, SwarmOptions(seconds=600), interrupt)
    assert report.is_sound and report.is_interrupted
    assert len(pids) == 2 and not any(map(is_alive, pids))


def test_a_terminated_swarm_stops_and_audits(tmp_path: Path) -> None:
    process, pids = started(tmp_path / "swarm")
    with process:
        process.terminate()
        out, _ = process.communicate(timeout=120)
    assert out.splitlines()[-1] == "True True"
    assert process.returncode == 0 and not any(map(is_alive, pids))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells children")
def test_a_killed_swarm_leaves_nobody_behind(tmp_path: Path) -> None:
    process, pids = started(tmp_path / "swarm")
    with process:
        os.kill(pids[0], signal.SIGSTOP)  # not even one that is frozen
        process.kill()
        process.communicate(timeout=60)
    assert all_end(pids)


def test_a_peer_that_ends_by_itself_is_reported(tmp_path: Path) -> None:
    folder = tmp_path / "swarm"
    removed: list[int] = []

    def remove(reading: SwarmReading, faults: Mapping[str, int]) -> None:
        if any(peer.state == DOWN for peer in reading.peers):
            raise KeyboardInterrupt  # enough
        if reading.exchanges and not removed and (folder / "swarm.json").exists():
            told = json.loads((folder / "swarm.json").read_text())
            removed.append(told["peers"][1]["pid"])
            os.kill(removed[0], signal.SIGKILL)

    report = run_swarm(gini_plan(2, 4), folder, SwarmOptions(seconds=60.0), remove)
    (failure,) = report.failures
    assert failure.startswith("peer-02 ended by itself (code -9): see ")
    assert removed and not report.is_sound
    assert report.books.violations == ()  # a kill loses nothing
