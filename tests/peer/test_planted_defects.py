"""Check the checker: each defect that is planted must be noticed, within a few hundred seeds."""

from __future__ import annotations

import pytest

from tests.peer.audit import Violated
from tests.peer.crash_points import a_growth, one_exchange, sweep_doubly
from tests.peer.defects import DEFECTS
from tests.peer.schedules import Defect, run_schedule

MOST_SEEDS = 400
RARE = {
    "what a killed process had written is told before it is safe": one_exchange,
    "added rows found half done are taken for safe": a_growth,
}
"""Takes two kills in the right places: some hundred seeds, or the sweep of a script."""


def caught_by(defect: Defect) -> int | None:
    """The first seed whose schedule breaks with the defect."""
    for seed in range(MOST_SEEDS):
        try:
            run_schedule(seed, defect)
        except AssertionError:
            return seed
    return None


@pytest.mark.parametrize("name", [name for name in DEFECTS if name not in RARE])
def test_a_planted_defect_is_noticed(name: str) -> None:
    assert caught_by(DEFECTS[name]) is not None


@pytest.mark.parametrize("name", RARE)
def test_a_rare_defect_is_noticed_by_the_sweep(name: str) -> None:
    with pytest.raises(Violated):
        sweep_doubly(RARE[name], DEFECTS[name])


def test_no_defect_is_lost() -> None:
    """Two of the same name would be one."""
    assert len(DEFECTS) == 35
