"""The interface of engines of estimation, and the engines that need numpy only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pairgossip.algorithms.methods import Method
from pairgossip.arrays import FloatArray, IntArray, PairArray
from pairgossip.engine.timetable import RANDOM_EXCHANGES, Timetable
from pairgossip.errors import InputError
from pairgossip.kernels import Problem


class Procedure(NamedTuple):
    """A method as a run carries it out."""

    method: Method
    clock: str
    order: str = "update-first"
    weights: FloatArray | None = None
    """The weights of the nodes, for a method that weighs by picks."""
    timetable: Timetable = RANDOM_EXCHANGES

    def options(self) -> dict[str, Any]:
        """Return the arguments of steps, except those of the problem."""
        options = self.timetable.options()
        if self.method.updates == "either" and self.clock == "sync":
            options["order"] = self.order
        if self.weights is not None:
            options["weights"] = self.weights
        return options


class Engine:
    """A network in motion."""

    has_undefined = False
    """Whether nodes may have no estimate yet, which is then NaN."""
    is_compiled = True
    """Whether compiled code carries out the exchanges."""

    def advance(self, exchanges: tuple[PairArray, ...]) -> int | None:
        """Carry out a block of iterations; return the number of iterations until the run ended.

        Return None if it continues.
        """
        raise NotImplementedError

    def estimates(self) -> FloatArray:
        """Read every node's estimates, shape (n, components), without disturbing the run."""
        raise NotImplementedError

    def learned(self) -> IntArray | None:
        """Return the number of nodes that know each observation, where nodes collect them."""
        return None


class LoneNode(Engine):
    """A network of one node, whose answer is its own pair."""

    def __init__(self, problem: Problem) -> None:
        self._values = problem.own_values()

    def advance(self, exchanges: tuple[PairArray, ...]) -> None:
        """Do nothing: there is nobody to exchange with."""

    def estimates(self) -> FloatArray:
        """Read the node's estimates, shape (1, components)."""
        return self._values.copy()


class PlainEngine(Engine):
    """Runs the algorithm of a method as written, one iteration at a time."""

    is_compiled = False

    def __init__(self, problem: Problem, how: Procedure) -> None:
        self._method = how.method
        self._plain = how.method.algorithm(how.clock, how.timetable.name)
        self._shape = (problem.n, problem.components)
        self._options = {**how.options(), **problem.step_options}
        self._arguments = problem.step_arguments
        self._state: Any = self._plain.init(*problem.init_arguments)

    def advance(self, exchanges: tuple[PairArray, ...]) -> int | None:
        """Carry out a block of iterations."""
        step = self._plain.step
        for number, iteration in enumerate(np.stack(exchanges, axis=1), 1):
            self._state = step(self._state, iteration, *self._arguments, **self._options)
            learned = self.learned()
            if learned is not None and learned.min() == self._shape[0]:
                return number
        return None

    def estimates(self) -> FloatArray:
        """Read every node's estimates, shape (n, components)."""
        estimates = np.array(self._plain.read(self._state), dtype=np.float64)
        if estimates.shape != self._shape:
            raise InputError(
                f"Method '{self._method.name}' gives estimates of shape {estimates.shape}: it must "
                f"give one row per node and one column per component kernel, {self._shape}."
            )
        return estimates

    def learned(self) -> IntArray | None:
        """Return the number of nodes that know each observation, where nodes collect them."""
        return None if self._plain.learned is None else self._plain.learned(self._state)


Spread = Callable[[PairArray], int | None]
"""Carries out a block of exchanges; returns the number until all know all, or None."""


class Flooding(Engine):
    """Lets all nodes learn some numbers before the actual engine begins, on the same exchanges.

    Nodes pass on the numbers that they know, such as the extremes of the rows, without which they
    cannot lay bins. ``spread`` lets nodes learn along exchanges. Along a tree it takes ``needed``
    messages, once up and down, from any start.
    """

    def __init__(
        self, engine: Engine, numbers: int, spread: Spread, needed: int | None = None
    ) -> None:
        self.is_over = False
        self.exchanges = 0
        """The number of exchanges made for it."""
        self._engine, self._numbers = engine, numbers
        self.has_undefined, self.is_compiled = engine.has_undefined, engine.is_compiled
        self._spread, self._needed = spread, needed

    def advance(self, exchanges: tuple[PairArray, ...]) -> int | None:
        """Carry out a block of iterations."""
        used = 0
        if not self.is_over:
            used = self._flood(exchanges[0])
            one, other = exchanges[0][:used].T
            self.exchanges += int(np.count_nonzero(one != other))
        return self._engine.advance((exchanges[0][used:],))

    def _flood(self, exchanges: PairArray) -> int:
        """Let nodes learn; return the number of exchanges used."""
        if self._needed is None:
            ended = self._spread(exchanges)
        else:
            left = self._needed - self.exchanges
            ended = left if left <= len(exchanges) else None
        self.is_over = ended is not None
        return len(exchanges) if ended is None else ended

    def excess(self, averaged: int) -> int:
        """Return the count of additional numbers in a message during the flooding."""
        return self._numbers - averaged

    def estimates(self) -> FloatArray:
        """Read every node's estimates after the flooding, shape (n, components)."""
        return self._engine.estimates()


def plain_spread(nodes: int, holders: IntArray) -> Spread:
    """Return a `Spread` of numbers, each of which one of the ``holders`` knows from the start."""
    known = np.zeros((nodes, len(holders)), dtype=np.bool_)
    known[holders, np.arange(len(holders))] = True

    def exchange(exchanges: PairArray) -> int | None:
        for number, (i, j) in enumerate(exchanges, 1):
            known[i] = known[j] = known[i] | known[j]
            if known.all():
                return number
        return None

    return exchange
