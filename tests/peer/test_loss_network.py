"""Three real processes on this machine: one is killed, and the other two go on without it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

from pairgossip.peer.service.reporter import NEVER_AGAIN
from pairgossip.peer.service.status import read_status
from pairgossip.peer.storage.folder import Home
from pairgossip.peer.storage.home import create_home
from pairgossip.swarm.audit import audit
from tests.peer.homes import GINI, introduce_each_other
from tests.peer.zenoh_people import free_address, until

ROWS = {"a": [1.0, 2.0, 3.0, 4.0], "b": [8.0, 9.0, 10.0], "c": [30.0, 31.0]}
SPEC = "algorithm.rate = 50.0\n" + GINI


def written(file: Path, rows: list[float]) -> Path:
    file.write_text("income\n" + "".join(f"{value}\n" for value in rows))
    return file


HASTY_PEER = """
import sys
from pairgossip.peer.__main__ import main
from pairgossip.peer.service import exchange_reporter, service

service._TICK = service._LINGER = 0.1
exchange_reporter.UNANSWERED = 1.0
sys.exit(main(sys.argv[1]))
"""


def launched(home: Home) -> subprocess.Popen[bytes]:
    """Start a peer that looks about ten times a second, and soon complains of silence."""
    return subprocess.Popen(
        [sys.executable, "-c", HASTY_PEER, str(home.folder)], stderr=subprocess.DEVNULL
    )


def told(home: Home) -> dict[str, object]:
    return dict(json.loads(home.status.read_text())) if home.status.exists() else {}


def founded(folder: Path) -> dict[str, Home]:
    (folder / "spec.toml").write_text(SPEC)
    homes = {
        name: create_home(
            folder / name,
            name,
            folder / "spec.toml",
            written(folder / f"{name}.csv", rows),
            free_address(),
        )
        for name, rows in ROWS.items()
    }
    introduce_each_other(list(homes.values()))
    return homes


def exchanges(home: Home) -> int:
    status = read_status(home.status)
    return 0 if status is None else status.exchanges


def problems(home: Home) -> tuple[str, ...]:
    status = read_status(home.status)
    return () if status is None else status.problems


def complains(home: Home, about: str) -> bool:
    return any(f"'{about}'" in problem for problem in problems(home))


def test_two_peers_go_on_when_the_third_is_killed(tmp_path: Path) -> None:
    homes = founded(tmp_path)
    processes = {name: launched(home) for name, home in homes.items()}
    try:
        assert until(lambda: all(exchanges(home) > 30 for home in homes.values()))
        processes["c"].kill()
        processes["c"].wait()
        assert until(lambda: complains(homes["a"], "c") and complains(homes["b"], "c"))
        problem = next(one for one in problems(homes["a"]) if "'c'" in one)
        assert "exchanges with the others go on" in problem
        assert "(not connected)" in problem and problem.endswith(NEVER_AGAIN)
        before = {name: exchanges(homes[name]) for name in "ab"}
        assert until(lambda: all(exchanges(homes[name]) > before[name] + 50 for name in "ab"))
        processes["c"] = launched(homes["c"])
        assert until(lambda: not any(complains(homes[name], "c") for name in "ab"))
        assert until(lambda: told(homes["c"]).get("pid") == processes["c"].pid)
        since = exchanges(homes["c"])
        assert until(lambda: exchanges(homes["c"]) > since + 5)
    finally:
        for process in processes.values():
            process.send_signal(signal.SIGTERM)
        codes = [process.wait(60) for process in processes.values()]
    assert codes == [0, 0, 0]
    assert audit(list(homes.values())).violations == ()
