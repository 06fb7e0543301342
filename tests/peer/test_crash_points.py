"""Kill a peer at every write and every send, lose every number of unsynced writes, start again."""

from __future__ import annotations

import pytest

from tests.peer.audit import Violated
from tests.peer.crash_points import (
    SCRIPTS,
    A,
    B,
    Script,
    one_exchange,
    rows_of,
    run,
    sweep_doubly,
    sweep_singly,
)
from tests.peer.defects import DEFECTS


# If peers have no more rows than the script needs, the sweep of two kills includes these.
@pytest.mark.parametrize(
    ("name", "rows"),
    [(name, rows) for name in SCRIPTS for rows in (1, 2, 3) if rows != rows_of(SCRIPTS[name])],
)
def test_one_kill_anywhere_breaks_nothing(name: str, rows: int) -> None:
    assert sweep_singly(SCRIPTS[name], rows) >= 13


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_a_kill_is_planned_at_every_kind_of_point(script: Script) -> None:
    stage = run(script, 1, ())
    assert stage.plan.passed[A] >= 4
    assert stage.plan.passed[B] >= 5


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_two_kills_break_nothing(script: Script) -> None:
    """Every pair for one exchange, some for others: `benchmarks.peer_crash_points` has all."""
    stride = 12 if "growth" in script.__name__ else 8  # growth has many more points
    assert sweep_doubly(script, stride=1 if script is one_exchange else stride) > 80


@pytest.mark.parametrize(
    "name",
    [
        "the offer is sent before it is safe",
        "the answer is sent before it is safe",
        "the new generation is told before it is safe",
        "the disk says it is safe and is not",
    ],
)
def test_the_sweep_notices(name: str) -> None:
    with pytest.raises(Violated):
        for script in SCRIPTS.values():
            sweep_singly(script, 1, DEFECTS[name])
