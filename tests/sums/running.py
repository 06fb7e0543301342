"""Deal rows to members, and run their programs without a network."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pairgossip.peer.protocol.program import Words
from pairgossip.peer.specification.spec import Spec
from pairgossip.peer.sums import simulation
from pairgossip.peer.sums.programs import SumsProgram
from pairgossip.peer.sums.results import Result
from pairgossip.peer.sums.tables import StatisticsProgram

SALT = 4
"""Number of words at the end of a sum of counts that are not counts."""


def start_programs(spec: Spec, parts: Sequence[np.ndarray]) -> list[SumsProgram]:
    dealt = [tuple(map(tuple, part.reshape(len(part), -1).tolist())) for part in parts]
    return simulation.start_programs(spec, {f"member {k}": own for k, own in enumerate(dealt)})


def run_programs(programs: Sequence[SumsProgram], totals: list[Words] | None = None) -> Result:
    kept, given = [] if totals is None else totals, list[list[Words]]()
    result = simulation.run_programs(programs, given)
    kept += [np.sum(parts, axis=0, dtype=np.uint64) for parts in given]
    assert all(program.result == result for program in programs)
    if isinstance(programs[0], StatisticsProgram):
        kept[:] = [one[:-SALT] for one in kept]
    assert len(kept) + 2 <= programs[0].most_rounds
    return result


def start_and_take(spec: Spec, rows: np.ndarray) -> SumsProgram:
    """Return the program of a single member that has taken its first sum."""
    (program,) = start_programs(spec, [rows])
    ask = program.ask()
    assert ask is not None
    program.take(ask, program.contribute(ask))
    return program


def deal(rows: np.ndarray, members: int, seed: int = 0) -> list[np.ndarray]:
    order = np.random.default_rng(seed).permutation(len(rows))
    return [rows[part] for part in np.array_split(order, members)]
