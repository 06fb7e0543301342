"""Poisson clocks: when the exchanges of an asynchronous run happen."""

from __future__ import annotations

import numpy as np
from numpy.random import SeedSequence

from pairgossip.arrays import FloatArray
from pairgossip.engine.seeds import stream


class PoissonClock:
    """The event times of a Poisson process, drawn only where somebody looks.

    A run makes hundreds of millions of exchanges and reads the time at a few dozen. The duration
    of a block of B events is Gamma(B), and given that duration the times inside the block are
    spread as normalized exponential gaps, independently of it. So block durations are drawn in
    order, and the inside of a block only when a time in it is asked for; the same event always
    has the same time, whoever asks.
    """

    block = 4096

    def __init__(self, seed: SeedSequence, rate: float) -> None:
        self._seed = seed
        self._rate = rate
        self._rewind()

    def _rewind(self) -> None:
        """Stand before the first block; a duration is drawn anew rather than remembered."""
        self._durations = stream(self._seed, 0)
        self._number, self._start, self._end = -1, 0.0, 0.0  # times in units of 1/rate

    def time_of(self, event: int) -> float:
        """Return the time of the event with this number; event 0 is the start, time 0."""
        if event == 0:
            return 0.0
        number, position = divmod(event - 1, self.block)
        return float(self._inside(number)[position])

    def times(self, first: int, last: int) -> FloatArray:
        """Return the times of events ``first`` to ``last``, both included."""
        numbers = range((first - 1) // self.block, (last - 1) // self.block + 1)
        inside = np.concatenate([self._inside(number) for number in numbers])
        offset = numbers[0] * self.block
        return inside[first - 1 - offset : last - offset]

    def _inside(self, number: int) -> FloatArray:
        if number < self._number:
            self._rewind()
        while self._number < number:
            self._number += 1
            self._start = self._end
            self._end += self._durations.gamma(self.block)
        start, end = self._start, self._end
        gaps = np.cumsum(stream(self._seed, number + 1).standard_exponential(self.block))
        return (start + (end - start) * gaps / gaps[-1]) / self._rate
