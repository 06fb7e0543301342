"""Learning with exchanges that are half lost, or in which one of the two nodes lies.

They are rare, so any asynchronous engine carries out the others in blocks. Of an exchange that goes
wrong, the rows of one or the other node are put back, as in ``engine.exchanges.spoil``.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from pairgossip.arrays import FloatArray, PairArray
from pairgossip.engine.descent.engines import NodeParts, Snapshot
from pairgossip.engine.exchanges.spoil import LARGEST_LIE, Spoil
from pairgossip.faults.attacks import usual_distance


class RowsEngine(Protocol):
    """An asynchronous engine whose state can be changed between blocks."""

    def advance(self, exchanges: PairArray) -> None:
        """Carry out a block of exchanges."""

    def parts(self) -> NodeParts:
        """Return the state in place."""

    def snapshot(self) -> Snapshot:
        """Read the state of every node without disturbing the run."""

    def restore(self, state: Snapshot, iterations: int) -> None:
        """Go on from where another run stopped, after this many iterations."""


class SpoiledDescent:
    """A network in motion in which exchanges go wrong on one side."""

    def __init__(self, engine: RowsEngine, spoil: Spoil) -> None:
        self._engine, self._network = engine, spoil.faulty.network
        self._attack, self._half_losses = spoil.faulty.attack, spoil.half_losses()
        self._knows_neighbors = len(self._network.indices) > 0
        self.half_lost = 0
        """How many exchanges were half lost until now."""
        self.snapshot, self.restore = engine.snapshot, engine.restore

    def skip(self, exchanges: PairArray) -> None:
        """Pass over exchanges that were carried out already."""
        self.half_lost += len(self._half_losses.take(exchanges)[0])

    def advance(self, exchanges: PairArray) -> None:
        """Carry out a block of exchanges."""
        places, sides = self._half_losses.take(exchanges)
        self.half_lost += len(places)
        lost_side = dict(zip(places.tolist(), sides.tolist(), strict=True))
        lies = np.flatnonzero(np.diff(self._network.is_liar[exchanges].astype(np.int8)))
        start = 0
        for at in sorted({*lost_side, *lies.tolist()}):
            self._engine.advance(exchanges[start:at])
            self._spoil(exchanges[at : at + 1], lost_side.get(at))
            start = at + 1
        self._engine.advance(exchanges[start:])

    def _spoil(self, exchange: PairArray, lost_side: int | None) -> None:
        """Carry out one exchange, with a lie if one of the two lies; one side may not learn."""
        ((i, j),) = exchange.tolist()
        before = self._read(i, j)
        is_liar = self._network.is_liar
        if is_liar[i] != is_liar[j]:
            liar, partner = (i, j) if is_liar[i] else (j, i)
            lie = self._lie(liar, partner)
            self._engine.advance(exchange)
            (honest,) = self._read(liar)
            self._write((i, j), before)
            self._engine.parts().z[liar] = lie
            self._engine.advance(exchange)
            self._write((liar,), [honest])
        else:
            self._engine.advance(exchange)
        if lost_side is not None:
            self._write(((i, j)[lost_side],), [before[lost_side]])

    def _lie(self, liar: int, partner: int) -> FloatArray:
        """Return what a liar sends."""
        z, network = self._engine.parts().z, self._network
        clip = usual_distance(z, partner, network) if self._knows_neighbors else 0 * z[partner]
        lie: FloatArray = self._attack(z, liar, partner, clip, network)
        return np.clip(lie, -LARGEST_LIE, LARGEST_LIE)

    def _read(self, *nodes: int) -> list[list[Any]]:
        arrays = self._engine.parts().arrays
        return [[array[node].copy() for array in arrays] for node in nodes]

    def _write(self, nodes: tuple[int, ...], rows: list[list[Any]]) -> None:
        arrays = self._engine.parts().arrays
        for node, row in zip(nodes, rows, strict=True):
            for array, entry in zip(arrays, row, strict=True):
                array[node] = entry
