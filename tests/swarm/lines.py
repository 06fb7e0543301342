"""Three peers on a line, of which the middle one is killed again and again."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

from pairgossip.peer.identity.identity import load_identity
from pairgossip.peer.protocol.state import SumsState
from pairgossip.peer.storage.folder import Home
from pairgossip.peer.storage.journal_file import read_saved_state
from pairgossip.swarm.plan import Plan, create_peers, introduce, make_folder
from pairgossip.swarm.processes import HOST, PeerProcess, free_ports, stop_all
from pairgossip.swarm.sums_audit import SumsAudit, audit_sums

PATIENCE = 60.0


def make_line(plan: Plan, folder: Path) -> list[Home]:
    """Make the folders of a plan's peers."""
    make_folder(folder)
    listen = [f"tls/{HOST}:{port}" for port in free_ports(len(plan.names))]
    homes = create_peers(plan, folder, listen, power_safe=False)
    introduce(plan, homes, lambda _, j: listen[j])
    return homes


def copy_line(homes: list[Home], folder: Path) -> list[Home]:
    """Copy folders whose peers have not run yet."""
    return [Home(shutil.copytree(home.folder, folder / home.folder.name)) for home in homes]


def run_line(homes: list[Home], kills: int) -> tuple[SumsAudit, list[int]]:
    """Run peers until all have the result; return how many contributions the middle had at kills.

    It is killed as soon as it has one contribution more than at the last kill, or all.
    """
    peers = [_process(home) for home in homes]
    middle, held = peers[len(peers) // 2], list[int]()
    try:
        for peer in peers:
            peer.start()
        for _ in range(kills):
            before = held[-1] if held else 0
            _wait(lambda before=before: _count(middle) > before or _is_finished(middle))  # type: ignore[misc]
            middle.kill()
            held.append(_count(middle))
            middle.start()
        _wait(lambda: all(map(_is_finished, peers)))
        stop_all(peers)
    finally:
        for peer in peers:
            peer.kill()
    return audit_sums(homes, [peer.log for peer in peers]), held


def _process(home: Home) -> PeerProcess:
    log = home.folder.with_name(f"{home.folder.name}.log")
    return PeerProcess(home.folder.name, load_identity(home.folder).id, home, log)


def _count(peer: PeerProcess) -> int:
    state = read_saved_state(peer.home.state)[0]
    assert isinstance(state, SumsState)
    return len(state.contributions)


def _is_finished(peer: PeerProcess) -> bool:
    return peer.read().has_result


def _wait(happens: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not happens():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)
