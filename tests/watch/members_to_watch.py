"""Members of a study for tests of readers: made-up folders, and a real swarm."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import msgspec

from pairgossip.peer.service.status import NeighborStatus
from pairgossip.study.protocol.records import Card
from pairgossip.study.service.status import (
    Member,
    QuestionStatus,
    StudyStatus,
    read_status,
    write_question,
    write_status,
)
from pairgossip.study.storage.folder import StudyHome

from .peers_to_watch import made_up_swarm
from .studies import running

SCRIPT = """
import sys
from pathlib import Path
import pytest
from pairgossip.swarm.chaos import Faults
from pairgossip.swarm.running import SwarmOptions, run_swarm
from tests.swarm.brisk import use_brisk_peers
from tests.swarm.plans import AUC, GINI, study_plan

use_brisk_peers(pytest.MonkeyPatch())
folder = Path(sys.argv[1])
plan = study_plan(folder.parent, AUC, GINI, peers=4, joins=1)
# The second question is asked only after the last fault is due, and the run goes on until then.
faults = Faults(kills=1, freezes=0, partitions=0, window=6.0)
run_swarm(plan, folder, SwarmOptions(seconds=600, faults=faults), lambda *_: None)
"""


def made_up_study(folder: Path, names: list[str], *, absent: int = 0) -> Path:
    """Make a folder like that of a study's swarm; the last members have not joined yet."""
    made_up_swarm(folder, names, is_study=True, measure="auc of risk by died", exact=None)
    present = names[: len(names) - absent]
    for number, name in enumerate(names):
        home = StudyHome(folder / f"home-{number}")
        if name not in present:
            home.status.unlink()
            home.folder.rmdir()
            continue
        neighbor = NeighborStatus(True, True, 0.5, None)
        status = StudyStatus(
            name=name,
            id=f"{number:02d}" * 32,
            members=tuple(Member(_card(k, one), True, True) for k, one in enumerate(present)),
            batches=(20 + number,),
            neighbors={one: neighbor for one in present if one != name},
            refused={"bad frame": number},
            pid=os.getpid(),
            updated=time.time() + 3600,
        )
        write_status(home, status)
    return folder


def _card(number: int, name: str) -> Card:
    return Card(f"{number:02d}" * 32, name, "certificate", None)


def say(folder: Path, *questions: QuestionStatus, **changes: Any) -> None:
    """Let a member know these questions, with other changes to its status."""
    home = StudyHome(folder)
    phases = [one.phase for one in questions if not one.is_over]
    over = ["done" if one.is_done else "no" for one in questions if one.is_over]
    for one in questions:
        write_question(home, one)
    counts = {
        "phases": {phase: phases.count(phase) for phase in phases},
        "over": {how: over.count(how) for how in over},
    }
    before = read_status(home)
    assert before is not None
    write_status(home, msgspec.structs.replace(before, **counts, **changes))


def answered(number: int, value: float, **changes: Any) -> QuestionStatus:
    """Return a question that has its answer."""
    interval = (value - 0.1, value + 0.1)
    return running(number, "done", value=value, interval=interval, rows=63, **changes)
