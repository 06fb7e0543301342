"""Check the checker: each defect that is planted must be noticed, within a few hundred seeds."""

from __future__ import annotations

import pytest

from tests.peer.audit import Violated
from tests.peer.crash_points import one_exchange, sweep_doubly
from tests.peer.defects import DEFECTS
from tests.peer.schedules import Defect, run_schedule

MOST_SEEDS = 100
RARE = "what a killed process had written is told before it is safe"
"""Takes two kills in the right places: some five hundred seeds, or the sweep."""


LATE = {"two evictions at once are not joined": 200}
"""Defects that break one schedule in some two hundred: where to begin looking."""


def caught_by(defect: Defect, first: int = 0) -> int | None:
    """The first seed whose schedule breaks with the defect."""
    for seed in range(first, first + MOST_SEEDS):
        try:
            run_schedule(seed, defect)
        except AssertionError:
            return seed
    return None


@pytest.mark.parametrize("name", [name for name in DEFECTS if name != RARE])
def test_a_planted_defect_is_noticed(name: str) -> None:
    assert caught_by(DEFECTS[name], LATE.get(name, 0)) is not None


def test_a_rare_defect_is_noticed_by_the_sweep() -> None:
    with pytest.raises(Violated):
        sweep_doubly(one_exchange, DEFECTS[RARE])


def test_there_are_enough_defects() -> None:
    assert len(DEFECTS) >= 7
