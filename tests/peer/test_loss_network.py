"""Three real processes on this machine: one is killed, and the other two continue without it."""

from __future__ import annotations

import signal
from pathlib import Path

from pairgossip.peer.service.reporter import NEVER_AGAIN
from pairgossip.peer.service.status import read_status
from pairgossip.peer.storage.folder import Home
from pairgossip.peer.storage.home import create_home
from pairgossip.swarm.audit import audit
from tests.peer.homes import GINI, introduce_each_other
from tests.peer.test_growth_network import launched, told, written
from tests.peer.zenoh_people import free_address, until

ROWS = {"a": [1.0, 2.0, 3.0, 4.0], "b": [8.0, 9.0, 10.0], "c": [30.0, 31.0]}
SPEC = "algorithm.rate = 50.0\n" + GINI


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
