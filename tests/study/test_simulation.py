"""Seeded schedules of studies on a virtual clock: no invariant breaks, and every question ends."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

import pytest

from pairgossip.study.protocol.study import Study
from tests.study.schedules import draw_world, run_schedule

FIRST, BLOCKS, PER_BLOCK = 1, 10, 11
"""A hundred and fifty schedules with those of the tests after this; any number are run by
`benchmarks.study_schedules`."""
BROKEN_BEFORE = {
    72369: "A member that leaves has lost words that all others wait for.",
    1096: "A commitment to words outlives them where a question is archived.",
    2471: "A question ends in a round that others, who have not all commitments, never come to.",
    2828: "As above, by a member that was restored.",
    2826: "A member refuses, unheard, is put back to before, and says yes.",
    10672: "Two first lists are pending, and what follows each is signed by all.",
    14209: "A member that has signed a result withdraws its question, which others finish.",
    11142: "Results differ, and a member that has signed once cannot compute its own again.",
    6185: "A backup has lost a yes that nobody heard, and not the commitment after it.",
    15106: "A member is evicted whose signature others have, and some have not.",
    15237: "As above, where a member leaves.",
    19433: "As above, with seven members.",
}


@pytest.mark.parametrize("block", range(BLOCKS))
def test_no_schedule_breaks_what_must_hold(block: int) -> None:
    begin = FIRST + block * PER_BLOCK
    for seed in range(begin, begin + PER_BLOCK):
        assert run_schedule(seed).checks > 0


@pytest.mark.parametrize("seed", BROKEN_BEFORE)
def test_a_schedule_that_broke_once_breaks_nothing(seed: int) -> None:
    assert run_schedule(seed).checks > 0


def test_the_schedules_are_as_bad_as_they_claim() -> None:
    """Every kind of fault, and every kind of end, occurs."""
    counts = sum((run_schedule(seed).counts for seed in range(1000, 1030)), Counter[str]())
    assert {name for name, count in counts.items() if count} >= {
        "asked",
        "backups restored",
        "batches",
        "crashes",
        "evictions",
        "joins",
        "killed: before sending",
        "killed: before the save",
        "killed: committed",
        "leaves",
        "lost for ever",
        "partitions",
        "question done",
        "question ended: cannot",
        "question ended: expired",
        "question ended: no",
        "question ended: withdrawn",
        "views split",
    }


def test_a_seed_gives_the_same_history_in_another_process() -> None:
    """This also holds if strings hash differently."""
    code = (
        "from tests.study.schedules import run_schedule as run\nprint(run(3).trace, run(5).trace)"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            check=True,
            capture_output=True,
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert len(told) == 1


def test_the_world_runs_the_real_class() -> None:
    world = draw_world(0)
    assert all(type(member.study) is Study for member in world.running())
