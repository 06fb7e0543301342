"""Schedules with exchanges that do not take place: lost messages, busy, absent, crashed nodes."""

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
"""The number of times between changes of presence in one draw."""
_LOSS, _CHURN, _SPOILED, _START = range(4)
"""The numbers of the child seeds; one is for exchanges that go wrong on one side."""


class FaultySchedule(Schedule):
    """Leaves out exchanges of another schedule, the same ones for any size of blocks.

    Parameters
    ----------
    schedule
        The exchanges that ring.
    network
        The faults, and the nodes that they concern.
    seed
        The seed of the faults.
    keeps_iterations
        Whether an exchange that does not take place still counts as an iteration, in which a node
        meets itself. This is so where all nodes act in every iteration, or where iterations count
        time.
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
        self._loses, self._losses = faults.loss > 0, Gaps(faults.loss, stream(seed, _LOSS))
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
        edges, places = self._schedule.choose(iterations) or (None, None)
        # Places in the list are replaced by exchanges in the same array.
        walks = self._schedule.draw(iterations) if places is None else (_as_pairs(places),)
        count = len(walks)
        lost, left = self._leave_out(
            walks[0] if count == 1 else np.stack(walks, axis=1).reshape(-1, 2),
            edges,
            None if count == 1 else count,
        )
        self._rung += len(walks[0])
        lost_of = (lost,)
        if count > 1:
            lost_of = tuple(lost[lost % count == walk] // count for walk in range(count))
        self._block = Rings(walks, lost_of)
        return tuple(map(_meet_oneself, walks, lost_of)) if self._keeps_iterations else (left,)

    def _leave_out(
        self, exchanges: PairArray, edges: PairArray | None, per_iteration: int | None
    ) -> tuple[IntArray, PairArray]:
        """Return the places of exchanges that do not take place, and those that do."""
        rung = len(exchanges)
        pairs, listed = _as_numbers(exchanges), None if edges is None else _as_numbers(edges)
        lost, left = np.empty(rung, dtype=np.int32), np.empty_like(pairs)
        messages_lost = np.append(self._losses.take(rung), rung) if self._loses else None
        at = gone = 0
        while at < rung:
            at, used, gone = self._find_lost(
                pairs, listed, per_iteration, self._rung + 1, *self._presence, self._gaps,
                messages_lost, at, gone, lost, left,
            )  # fmt: skip
            self._gaps = self._gaps[used:]
            if at < rung:
                if messages_lost is not None:
                    messages_lost = messages_lost[messages_lost >= at]
                more = self._churn.standard_exponential(_GAPS_AT_ONCE)
                self._gaps = np.concatenate([self._gaps, more])
        return lost[:gone], _as_pairs(left[: rung - gone])

    def account(self, exchanges: tuple[PairArray, ...], made: int | None = None) -> Rings:
        """Return the exchanges that rang, and count those that did not take place."""
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


def _as_numbers(exchanges: PairArray) -> IntArray:
    """Return a view of each exchange as one number, which is copied in half the time."""
    return np.ascontiguousarray(exchanges).view(np.int64).reshape(-1)


def _as_pairs(numbers: IntArray) -> PairArray:
    """Return a view of numbers as exchanges, the reverse of `_as_numbers`."""
    return numbers.view(np.int32).reshape(-1, 2)


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
    """Return the faults on one side of a trial's exchanges; None if there are none."""
    if faulty is None or not faulty.faults.spoils:
        return None
    return Spoil(faulty, child(seed, TRIAL_FAULTS, _SPOILED))
