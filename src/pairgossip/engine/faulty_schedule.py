"""Exchanges of which some do not take place: lost messages, busy, absent and crashed nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import SeedSequence

from pairgossip.arrays import BoolArray, PairArray
from pairgossip.engine.exchanges.spoil import Spoil
from pairgossip.engine.schedule import TRIAL_FAULTS, Rings, Schedule, child, stream
from pairgossip.errors import needed_for_speed
from pairgossip.faults import presence
from pairgossip.faults.gaps import Gaps
from pairgossip.faults.network import FaultyNetwork

_GAPS_AT_ONCE = 1 << 10
_LOSS, _CHURN, _SPOILED, _START = range(4)
"""The numbers of the children that are drawn from; one is of exchanges that go wrong by half."""


class FaultySchedule(Schedule):
    """Leaves exchanges of another schedule out, the same ones whatever the size of the blocks.

    Parameters
    ----------
    schedule
        The exchanges that ring.
    network
        The faults, and whom they concern.
    seed
        What they are drawn from.
    keeps_iterations
        Whether an exchange that does not take place still counts as an iteration, in which a node
        meets itself: where all nodes act at every iteration, or time is counted in them.
    compiled
        Whether to use numba where a loop over all exchanges is needed.
    """

    def __init__(
        self,
        schedule: Schedule,
        network: FaultyNetwork,
        seed: SeedSequence,
        *,
        keeps_iterations: bool,
        compiled: bool,
    ) -> None:
        self._schedule, self._keeps_iterations = schedule, keeps_iterations
        faults = network.faults
        self._losses = Gaps(faults.loss, stream(seed, _LOSS))
        self._has_sites = network.site_of is not None
        self._looks_at_nodes = bool(
            self._has_sites or faults.churn is not None or faults.delay or faults.crashed
        )
        self._presence = presence.start_presence(network, stream(seed, _START))
        self._churn = stream(seed, _CHURN)
        self._gaps = np.empty(0)
        self._loops: Any = presence
        if compiled:
            with needed_for_speed():
                from pairgossip.engine import presence_loops
            self._loops = presence_loops
        self._rung = 0
        self._block = Rings((), ())

    def draw(self, iterations: int) -> tuple[PairArray, ...]:
        """Return those of the next exchanges that take place."""
        walks = self._schedule.draw(iterations)
        lost = self._mark_lost(walks)
        self._rung += len(walks[0])
        self._block = Rings(walks, lost)
        return tuple(map(self._leave_out, walks, lost))

    def _leave_out(self, exchanges: PairArray, lost: BoolArray) -> PairArray:
        """Return the exchanges that take place, and those in which a node meets itself."""
        left = np.empty_like(exchanges)
        return left[: self._loops.leave_out(exchanges, lost, self._keeps_iterations, left)]

    def _mark_lost(self, walks: tuple[PairArray, ...]) -> tuple[BoolArray, ...]:
        """Return which of the next exchanges do not take place."""
        count = len(walks)
        lost = np.zeros(count * len(walks[0]), dtype=np.bool_)
        lost[self._losses.take(len(lost))] = True
        if self._looks_at_nodes:
            exchanges = walks[0] if count == 1 else np.stack(walks, axis=1).reshape(-1, 2)
            at, first = 0, self._rung + 1
            while at < len(exchanges):
                known = exchanges, count, first, at, lost, self._presence, self._gaps
                at, used = self._loops.find_lost(*known)
                self._gaps = self._gaps[used:]
                if at < len(exchanges):
                    more = self._churn.standard_exponential(_GAPS_AT_ONCE)
                    self._gaps = np.concatenate([self._gaps, more])
        return tuple(lost[walk::count] for walk in range(count))

    def account(self, exchanges: tuple[PairArray, ...], made: int | None = None) -> Rings:
        """Return the exchanges that rang, and add up those that did not take place."""
        walks, lost = self._block
        if made is not None:
            end = made
            if not self._keeps_iterations and made:
                end = int(np.flatnonzero(~lost[0])[made - 1]) + 1
            walks = tuple(walk[:end] for walk in walks)
            lost = tuple(gone[:end] for gone in lost)
        self.lost += sum(int(np.count_nonzero(gone)) for gone in lost)
        return Rings(walks, lost)

    def time_of(self, exchange: int) -> float:
        """Return the time at which the exchange with this number rang on Poisson clocks."""
        return self._schedule.time_of(exchange)


def with_faults(
    schedule: Schedule,
    faulty: FaultyNetwork | None,
    seed: SeedSequence,
    *,
    keeps_iterations: bool,
    compiled: bool,
) -> Schedule:
    """Leave out the exchanges of a trial that do not take place, if there are any."""
    if faulty is None or not faulty.faults.filters:
        return schedule
    seed = child(seed, TRIAL_FAULTS)
    return FaultySchedule(
        schedule, faulty, seed, keeps_iterations=keeps_iterations, compiled=compiled
    )


def spoil_trial(faulty: FaultyNetwork | None, seed: SeedSequence) -> Spoil | None:
    """Return what goes wrong on one side of a trial's exchanges; None if nothing does."""
    if faulty is None or not faulty.faults.spoils:
        return None
    return Spoil(faulty, child(seed, TRIAL_FAULTS, _SPOILED))
