"""Three real processes on this machine: one gets rows, and all converge to the new value."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pairgossip.cli import main
from pairgossip.peer.storage.folder import Home
from pairgossip.peer.storage.home import create_home
from pairgossip.swarm.audit import audit
from tests.peer.homes import GINI, introduce_each_other
from tests.peer.zenoh_people import free_address, until

ROWS = {"a": [1.0], "b": [8.0, 9.0], "c": [30.0]}
SPEC = "algorithm.rate = 300.0\n" + GINI.replace("[ranges]", 'target = "u"\nmembers = 4\n[ranges]')
ADDED = {"a": [95.0, 99.0, 2.0], "c": [90.0]}


@pytest.fixture
def homes(tmp_path: Path) -> dict[str, Home]:
    (tmp_path / "spec.toml").write_text(SPEC)
    made = {}
    for name, rows in ROWS.items():
        data = written(tmp_path / f"{name}.csv", rows)
        made[name] = create_home(
            tmp_path / name, name, tmp_path / "spec.toml", data, free_address()
        )
    introduce_each_other(list(made.values()))
    return made


def written(file: Path, rows: list[float]) -> Path:
    file.write_text("income\n" + "".join(f"{value}\n" for value in rows))
    return file


def mean_difference(rows: list[float]) -> float:
    """Return the mean difference over all pairs of different rows."""
    return float(np.mean([abs(a - b) for a, b in itertools.combinations(rows, 2)]))


HASTY_PEER = """
import sys
from pairgossip.peer.__main__ import main
from pairgossip.peer.service import reporter, service

service._TICK = service._LINGER = 0.1
reporter._UNANSWERED = 1.0
sys.exit(main(sys.argv[1]))
"""


def launched(home: Home) -> subprocess.Popen[bytes]:
    """Start a peer that checks ten times a second, and soon complains of silence."""
    return subprocess.Popen(
        [sys.executable, "-c", HASTY_PEER, str(home.folder)], stderr=subprocess.DEVNULL
    )


def told(home: Home) -> dict[str, object]:
    return dict(json.loads(home.status.read_text())) if home.status.exists() else {}


def is_near(homes: dict[str, Home], exact: float, generation: int) -> bool:
    statuses = [told(home) for home in homes.values()]
    estimates = [status.get("estimate") for status in statuses]
    return all(status.get("generation") == generation for status in statuses) and all(
        isinstance(one, list) and abs(one[0] / exact - 1) < 0.05 for one in estimates
    )


def test_rows_added_to_one_peer_reach_all(
    homes: dict[str, Home], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = [value for rows in ROWS.values() for value in rows]
    then = [*first, *ADDED["a"], *ADDED["c"]]
    old, new = mean_difference(first), mean_difference(then)
    assert abs(new / old - 1) > 0.5
    processes = {name: launched(homes[name]) for name in ("a", "b")}
    try:
        # c gets its rows before its first start, and a while it runs.
        data = written(tmp_path / "c-more.csv", ADDED["c"])
        assert main(["peer", "add", str(homes["c"].folder), "--data", str(data)]) == 0
        assert "1 row will be added as soon as this peer is started" in capsys.readouterr().err
        assert until(lambda: all(told(homes[name]).get("exchanges") for name in ("a", "b")))
        processes["c"] = launched(homes["c"])
        assert until(lambda: all(told(home).get("generation") == 2 for home in homes.values()))
        data = written(tmp_path / "a-more.csv", ADDED["a"])
        assert main(["peer", "add", "--home", str(homes["a"].folder), "--data", str(data)]) == 0
        assert "Added 3 rows: the peer has 4" in capsys.readouterr().err
        assert until(lambda: is_near(homes, new, 3))
        processes["b"].kill()
        processes["b"].wait()
        processes["b"] = launched(homes["b"])  # it remembers who has grown
        assert until(lambda: told(homes["b"]).get("pid") == processes["b"].pid)
        before = told(homes["b"])["exchanges"]
        assert until(lambda: told(homes["b"])["exchanges"] > before)  # type: ignore[operator]
        assert until(lambda: is_near(homes, new, 3))  # an estimate still moves: not at any moment
    finally:
        for process in processes.values():
            process.send_signal(signal.SIGTERM)
        codes = [process.wait(60) for process in processes.values()]
    assert codes == [0, 0, 0]
    found = audit(list(homes.values()))
    assert (found.records, found.violations) == (8, ())
    for name, home in homes.items():
        status = told(home)
        assert status["covers"]["of_rows"] == 8, name  # type: ignore[index]
