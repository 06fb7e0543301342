"""Exchanges of which some do not take place: lost messages, busy, absent and crashed nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import SeedSequence

from pairgossip.arrays import IntArray, PairArray
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
        self._presence = presence.start_presence(network, stream(seed, _START))
        self._churn = stream(seed, _CHURN)
        self._gaps = np.empty(0)
        self._find_lost: Any = presence.find_lost
        if compiled:
            with needed_for_speed():
                from pairgossip.engine import presence_loops
            self._find_lost = presence_loops.find_lost
        self._rung = 0
        self._block = Rings((), ())

    def draw(self, iterations: int) -> tuple[PairArray, ...]:
        """Return those of the next exchanges that take place."""
        walks = self._schedule.draw(iterations)
        count = len(walks)
        lost, left = self._leave_out(
            walks[0] if count == 1 else np.stack(walks, axis=1).reshape(-1, 2),
            None if count == 1 else count,
        )
        self._rung += len(walks[0])
        places = (lost,)
        if count > 1:
            places = tuple(lost[lost % count == walk] // count for walk in range(count))
        self._block = Rings(walks, places)
        return tuple(map(_meet_oneself, walks, places)) if self._keeps_iterations else (left,)

    def _leave_out(
        self, exchanges: PairArray, per_iteration: int | None
    ) -> tuple[IntArray, PairArray]:
        """Return the places of exchanges that do not take place, and those that do."""
        rung = len(exchanges)
        lost, left = np.empty(rung, dtype=np.int64), np.empty_like(exchanges)
        hits = self._losses.take(rung)
        messages_lost = np.append(hits, rung) if len(hits) else np.array([rung])
        at = gone = 0
        while at < rung:
            at, used, gone = self._find_lost(
                exchanges, per_iteration, self._rung + 1, *self._presence, self._gaps,
                messages_lost, at, gone, lost, left,
            )  # fmt: skip
            self._gaps = self._gaps[used:]
            if at < rung:
                messages_lost = messages_lost[messages_lost >= at]
                more = self._churn.standard_exponential(_GAPS_AT_ONCE)
                self._gaps = np.concatenate([self._gaps, more])
        return lost[:gone], left[: rung - gone]

    def account(self, exchanges: tuple[PairArray, ...], made: int | None = None) -> Rings:
        """Return the exchanges that rang, and add up those that did not take place."""
        walks, lost = self._block
        if made is not None:
            end = made
            if not self._keeps_iterations:
                made_before = lost[0] - np.arange(len(lost[0]))
                end += int(np.searchsorted(made_before, made))
            walks = tuple(walk[:end] for walk in walks)
            lost = tuple(places[: np.searchsorted(places, end)] for places in lost)
        self.lost += sum(map(len, lost))
        return Rings(walks, lost)

    def time_of(self, exchange: int) -> float:
        """Return the time at which the exchange with this number rang on Poisson clocks."""
        return self._schedule.time_of(exchange)


def _meet_oneself(exchanges: PairArray, lost: IntArray) -> PairArray:
    """Let a node meet itself in the exchanges at these places."""
    exchanges = exchanges.copy()
    exchanges[lost, 1] = exchanges[lost, 0]
    return exchanges


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
