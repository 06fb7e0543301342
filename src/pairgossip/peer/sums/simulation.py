"""All members of a run on sums in one process, without masks and network.

Masks cancel and frames change nothing, so the result is the one of real peers, bit for bit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.peer.protocol.messages import Rows
from pairgossip.peer.protocol.program import LEAST_MEMBERS, Kind, Words, round_size
from pairgossip.peer.sums.labels import check_labels
from pairgossip.peer.sums.programs import Generation, SumsProgram
from pairgossip.peer.sums.results import Result
from pairgossip.peer.sums.sites import flag_site, plan_sites
from pairgossip.peer.sums.statistics import cells_of, noise_law

if TYPE_CHECKING:
    from pairgossip.peer.specification.spec import Spec


def start_programs(
    spec: Spec, rows: Mapping[str, FloatArray | Rows], shown: Collection[str] = ()
) -> list[SumsProgram]:
    """Make the programs of members with these rows; noise is drawn once for each.

    ``shown`` are the members that show their line if sites are compared.
    """
    arrays = {name: np.asarray(own, dtype=np.float64) for name, own in rows.items()}
    whole = Generation({name: len(own) for name, own in arrays.items()})
    if spec.loss is not None:
        from pairgossip.peer.sums.learning import LearningProgram

        return [LearningProgram(spec, own, whole) for own in arrays.values()]
    return _count(spec, arrays, whole, shown)


def _count(
    spec: Spec, rows: Mapping[str, FloatArray], whole: Generation, shown: Collection[str]
) -> list[SumsProgram]:
    from pairgossip.peer.sums.tables import StatisticsProgram

    layout, added, flags = cells_of(spec), dict[str, int](), dict[str, int]()
    own = dict[str, IntArray]()
    for name, one in rows.items():
        if spec.label is not None:
            check_labels(spec, one[:, len(spec.columns)])
        cells = layout.count_cells(one)
        is_filled = layout.is_filled(cells)
        added[name] = round_size(len(one)) if is_filled else 0
        own[name] = layout.report(cells) if is_filled else np.zeros(layout.words, dtype=np.int64)
        if spec.heterogeneity and is_filled:
            flags[name] = flag_site(spec, cells, is_shown=name in shown)
    plan = plan_sites(added, flags) if spec.heterogeneity else None
    noise = noise_law(spec, len(rows)).draw if spec.has_noise else None
    least = LEAST_MEMBERS if layout.columns.least > 1 else 0
    return [
        StatisticsProgram(
            spec, own[name], whole, added, noise=noise, plan=plan, me=name, least_members=least
        )
        for name in rows
    ]


def run_programs(
    programs: Sequence[SumsProgram],
    contributions: list[list[Words]] | None = None,
    *,
    is_read_once: bool = False,
) -> Result:
    """Run members' programs to a result; ``contributions`` receives those of each round.

    All members read the same from a single sum, so the first may read for all (``is_read_once``).
    """
    asks = [program.ask() for program in programs]
    while asks[0] is not None:
        ask = asks[0]
        if any(other != ask for other in asks):
            asks = [program.follow(ask.public) for program in programs]
            continue
        total = np.zeros(ask.words, dtype=np.uint64)
        if ask.kind is Kind.SUM:
            parts = [program.contribute(ask) for program in programs]
            total = np.sum(parts, axis=0, dtype=np.uint64)
            if contributions is not None:
                contributions.append(parts)
        readers = programs[:1] if is_read_once and programs[0].most_sums == 1 else programs
        for program in readers:
            program.take(ask, total)
        asks = [program.ask() for program in readers]
    result = programs[0].result
    assert result is not None
    return result
