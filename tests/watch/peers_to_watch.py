"""Peers for tests of readers: scripted ones, made-up folders, and a real swarm."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from pairgossip.peer.reading import UP, PeerReading
from pairgossip.peer.service.status import Coverage, NeighborStatus, Status, write_status

HOSTILE = "<img src=x onerror=document.title='broken'>"
SCRIPT = """
import sys
from pathlib import Path
import pytest
from pairgossip.swarm.running import SwarmOptions, run_swarm
from tests.swarm.brisk import use_brisk_peers
from tests.swarm.plans import gini_plan

use_brisk_peers(pytest.MonkeyPatch())
plan, options = gini_plan(5, 15, rate=10.0), SwarmOptions(seconds=600)
run_swarm(plan, Path(sys.argv[1]), options, lambda *_: None)
"""


@dataclass
class Scripted:
    """A peer that reports one reading after the other, and then repeats the last."""

    name: str
    says: list[PeerReading]
    id: str = ""
    asked: int = field(default=0)

    def read(self) -> PeerReading:
        self.asked += 1
        return self.says[min(self.asked, len(self.says)) - 1]


def told(exchanges: int, estimate: float | None = 1.0, **more: Any) -> PeerReading:
    """Return the reading of a peer that is up."""
    given = {"refused": 0, "generation": 1, "updated": time.time(), **more}
    return PeerReading(given.pop("state", UP), estimate=estimate, exchanges=exchanges, **given)


def status(name: str = "clinic", **more: Any) -> Status:
    """Return a status as a running peer writes it."""
    given: dict[str, Any] = {
        "id": "ab" * 32,
        "measure": "gini",
        "generation": 1,
        "evicted": (),
        "exchanges": 7,
        "estimate": (1.5,),
        "gossip_error": 0.12,
        "gossip_interval": (1.25, 1.75),
        "sampling_error": 0.062,
        "sampling_interval": (1.375, 1.625),
        "covers": Coverage(2, 3, 6),
        "staleness": 0.1,
        "pending": 0,
        "neighbors": {"other": NeighborStatus(True, True, 0.5, None)},
        "counts": {"refused: bad frame": 2, "exchanges": 7},
        "refused": {"refused: bad frame": 2},
        "pid": os.getpid(),
        "started": time.time(),
        # Its time is in the future: otherwise it would count as frozen during long tests.
        "updated": time.time() + 3600,
    }
    return Status(name=name, **{**given, **more})


def made_up_swarm(folder: Path, names: list[str], **more: Any) -> Path:
    """Make a folder like that of a swarm, in which all peers have the id of this process."""
    folder.mkdir()
    peers = []
    for number, name in enumerate(names):
        home = folder / f"home-{number}"
        home.mkdir()
        write_status(home / "status.json", status(name))
        peers.append({"name": name, "id": f"{number:02d}" * 32, "home": home.name, "pid": None})
    links = [[names[k - 1], names[k]] for k in range(1, len(names))]
    content = {
        "format": "pairgossip-swarm",
        "version": 1,
        "running": True,
        "measure": "gini",
        "exact": 1.5,
        "family": "path",
        "peers": peers,
        "links": links,
        **more,
    }
    (folder / "swarm.json").write_text(json.dumps(content))
    return folder


def rewrite_status(folder: Path, **more: Any) -> None:
    """Change the status of a made-up peer."""
    before = msgspec.json.decode((folder / "status.json").read_bytes(), type=Status)
    write_status(folder / "status.json", msgspec.structs.replace(before, **more))


@dataclass(frozen=True)
class RealSwarm:
    """Five real peers on a ring, in processes of their own."""

    folder: Path

    def pid(self, name: str) -> int:
        content = json.loads((self.folder / "swarm.json").read_text())
        return next(int(peer["pid"]) for peer in content["peers"] if peer["name"] == name)

    def signal(self, name: str, number: signal.Signals) -> None:
        os.kill(self.pid(name), number)


@contextmanager
def real_swarm(folder: Path) -> Iterator[RealSwarm]:
    """Start a swarm, wait until all peers run, and finally stop it in an orderly way."""
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(folder)], stdout=subprocess.DEVNULL
    )
    try:
        end = time.monotonic() + 120
        while not (folder / "swarm.json").exists():
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.05)
        yield RealSwarm(folder)
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(90)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def until(happens: Callable[[], bool], what: str, seconds: float = 60.0) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < end, f"waited in vain: {what}"
        time.sleep(0.1)
