"""All members of a run on sums in one process: what they would find, without masks and network.

Masks cancel and frames change nothing, so the result is the one of real peers, bit for bit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.peer.protocol.messages import Rows
from pairgossip.peer.protocol.program import Kind, Words
from pairgossip.peer.specification.local_part import program_for
from pairgossip.peer.specification.spec import Spec
from pairgossip.peer.sums.programs import SumsProgram
from pairgossip.peer.sums.results import Result
from pairgossip.peer.sums.statistics import noise_law


def start_programs(
    spec: Spec, rows: Mapping[str, FloatArray | Rows], shown: Collection[str] = ()
) -> list[SumsProgram]:
    """Make the programs of members with these rows; noise is drawn once for each round.

    ``shown`` are those who show their line where sites are compared.
    """
    members = {name: len(own) for name, own in rows.items()}

    def start(name: str, own: FloatArray | Rows) -> SumsProgram:
        kept: dict[tuple[int, bytes, int], IntArray] = {}

        def noise(*asked: Any) -> IntArray:
            if asked not in kept:
                kept[asked] = noise_law(spec, len(members)).draw(asked[-1])
            return kept[asked]

        drawn = noise if spec.has_noise else None
        return program_for(spec, own, members, noise=drawn, me=name, shows=name in shown)

    return [start(*one) for one in rows.items()]


def run_programs(
    programs: Sequence[SumsProgram],
    contributions: list[list[Words]] | None = None,
    *,
    is_read_once: bool = False,
) -> Result:
    """Let members add up contributions until they state a result; the list gets those of rounds.

    All read the same of a single sum, so the first may do it for everybody (``is_read_once``).
    """
    cards = dict(zip(programs[0].members, (one.card() for one in programs), strict=True))
    for program in programs:
        program.take_cards(cards)
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
