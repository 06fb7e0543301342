"""Check the checker: each planted defect must be detected within a few hundred seeds."""

from __future__ import annotations

import pytest

from tests.peer.audit import Violated
from tests.peer.crash_points import A, Kill, Script, a_growth, one_exchange, run, sweep_doubly
from tests.peer.defects import DEFECTS
from tests.peer.schedules import Defect, run_schedule

MOST_SEEDS = 400
RARE: dict[str, tuple[Script, tuple[Kill, Kill]]] = {
    "what a killed process had written is told before it is safe": (
        one_exchange,
        (Kill(A, 2, None), Kill(A, 10, 1)),
    ),
    "added rows found half done are taken for safe": (
        a_growth,
        (Kill(A, 7, None), Kill(A, 8, 1)),
    ),
}
"""Defects that need two kills in the right places: hundreds of seeds, or the sweep of a script.

The kills are those that the sweep found last; if they no longer break anything, it searches
again."""
FIRST_SEEDS = {"of two growths of a member the smaller counts": 227}
"""Seeds at which searches begin that would take long from 0."""


def caught_by(defect: Defect, first: int) -> int | None:
    """Return the first seed whose schedule fails with the defect."""
    for seed in range(first, first + MOST_SEEDS):
        try:
            run_schedule(seed, defect)
        except AssertionError:
            return seed
    return None


@pytest.mark.parametrize("name", [name for name in DEFECTS if name not in RARE])
def test_a_planted_defect_is_noticed(name: str) -> None:
    assert caught_by(DEFECTS[name], FIRST_SEEDS.get(name, 0)) is not None


@pytest.mark.parametrize("name", RARE)
def test_a_rare_defect_is_noticed_by_the_sweep(name: str) -> None:
    script, kills = RARE[name]
    with pytest.raises(Violated):
        run(script, 1, kills, DEFECTS[name])
        sweep_doubly(script, DEFECTS[name])


def test_no_defect_is_lost() -> None:
    """Two with the same name would count as one."""
    assert len(DEFECTS) == 35
