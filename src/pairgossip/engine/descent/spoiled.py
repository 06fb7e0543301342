"""Learning with exchanges that are half lost, or in which one of the two nodes lies.

These are rare, so any asynchronous engine carries out the other exchanges in blocks, and
``engine.exchanges.spoil`` carries out those that go wrong.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from pairgossip.arrays import BoolArray, FloatArray, PairArray
from pairgossip.engine.descent.engines import DescentEngine, NodeParts
from pairgossip.engine.exchanges import spoil as faults
from pairgossip.errors import InputError
from pairgossip.faults.attacks import Network, usual_distance


class RowsEngine(DescentEngine, Protocol):
    """An asynchronous engine whose state can be changed between blocks."""

    def parts(self) -> NodeParts:
        """Return the state in place."""


class SpoiledDescent:
    """A network in motion in which exchanges go wrong on one side."""

    def __init__(self, engine: RowsEngine, spoil: faults.Spoil) -> None:
        self._engine, self._faulty = engine, spoil.faulty
        self._half_losses = spoil.half_losses
        self._attack = self._faulty.attack if self._faulty.network.is_liar.any() else None
        self.snapshot, self.restore = engine.snapshot, engine.restore
        self._spare: list[list[Any]] = [[], [], []]

    def advance(self, exchanges: PairArray) -> None:
        """Carry out a block of exchanges."""
        places, sides = self._half_losses.take(exchanges)
        faults.run_spoiled(
            faults.Tools(_run, _meet, _copy_row),
            faults.Actions(None, faults.lie_to_partner, _see, _find_clip, _forge),
            self._attack, self._engine, None, self._engine, self._spare,
            self._faulty.network, exchanges, places, sides,
        )  # fmt: skip


# The actions of `run_spoiled`, with an engine as the state.

_SEARCH_BLOCK = 512
"""The number of exchanges searched at once for the next lie."""


def _run(
    exchange: None, engine: RowsEngine, h: None, block: PairArray, start: int, stop: int,
    is_liar: BoolArray | None,
) -> int:  # fmt: skip
    if is_liar is not None:
        stop = _first_lie(is_liar, block, start, stop)
    engine.advance(block[start:stop])
    return stop


def _meet(exchange: None, engine: RowsEngine, h: None, block: PairArray, s: int) -> None:
    engine.advance(block[s : s + 1])


def _first_lie(is_liar: BoolArray, block: PairArray, start: int, stop: int) -> int:
    for at in range(start, stop, _SEARCH_BLOCK):
        one, other = is_liar[block[at : min(at + _SEARCH_BLOCK, stop)]].T
        lies = np.flatnonzero(one != other)
        if len(lies):
            return at + int(lies[0])
    return stop


def _copy_row(source: Any, at: int, target: Any, to: int) -> None:
    """Copy the state of one node, from an engine to spare rows or back."""
    if isinstance(target, list):
        target[to] = [array[at].copy() for array in source.parts().arrays]
    else:
        for array, entry in zip(target.parts().arrays, source[at], strict=True):
            array[to] = entry


def _see(engine: RowsEngine) -> FloatArray:
    return engine.parts().z


def _find_clip(
    engine: RowsEngine, z: FloatArray, partner: int, liar: int, network: Network
) -> FloatArray:
    return usual_distance(z, partner, network)


def _forge(engine: RowsEngine, liar: int, lie: FloatArray) -> None:
    if np.isnan(lie).any():
        raise InputError(faults.NO_NUMBERS)
    engine.parts().z[liar] = faults.cut_lie(lie)
