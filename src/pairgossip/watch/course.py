"""A run in small steps: what both kinds, estimation and learning, have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.random import SeedSequence

from pairgossip.arrays import FloatArray, IntArray, PairArray
from pairgossip.engine.schedule import Schedule
from pairgossip.engine.seeds import child
from pairgossip.graphs import Graph
from pairgossip.watch.following import Follower

TRIAL = 0
"""A watched run is the first trial of the run with the same seed."""
RECENT = 48
"""How many of the last exchanges a viewer is shown."""


class Course(ABC):
    """One network on its way to its last iteration.

    Curves are written at the checkpoints of the run with the same settings, so that they are the
    same numbers; in between, the state can be read at any time without disturbing the run.
    """

    title: str
    curve_names: tuple[str, ...]
    exchanges_per_iteration = 1
    follower: Follower | None

    def __init__(self, graph: Graph, law: str, root: SeedSequence, checkpoints: IntArray) -> None:
        self.graph, self.law = graph, law
        self.checkpoints = checkpoints
        self.curves: list[tuple[float, ...]] = []
        self.done = 0
        self.recent: list[PairArray] = []
        self._root = root
        self._restart()

    @property
    def iterations(self) -> int:
        """How many iterations the run makes."""
        return int(self.checkpoints[-1])

    def advance(self, iterations: int) -> None:
        """Carry out so many iterations, or as many as are left, writing curves on the way."""
        last = min(self.done + iterations, self.iterations)
        while self.done < last:
            checkpoint = int(self.checkpoints[len(self.curves)])
            block = min(last, checkpoint) - self.done
            drawn = self._schedule.draw(block)
            self._carry_out(drawn)
            self._remember(drawn)
            self.done += block
            if self.done == checkpoint:
                self.curves.append(self._curve_point())

    def restart(self) -> None:
        """Go back to before the first exchange; an observation that is followed still is."""
        token = self.follower.token if self.follower else None
        self.curves.clear()
        self.recent.clear()
        self.done = 0
        self._restart()
        if self.follower is not None and token is not None:
            self.follower.follow(token)

    def take_recent(self) -> list[list[int]]:
        """Return the last exchanges since this was last asked."""
        recent = np.concatenate(self.recent)[-RECENT:].tolist() if self.recent else []
        self.recent.clear()
        return recent

    def _restart(self) -> None:
        self._schedule = Schedule(
            self.graph, self.law, child(self._root, TRIAL), self.exchanges_per_iteration
        )
        self._build()

    def _remember(self, drawn: tuple[PairArray, ...]) -> None:
        if self.follower is not None:
            self.follower.advance(drawn[0])
        self.recent.append(np.concatenate([walk[-RECENT:] for walk in drawn]))
        del self.recent[:-RECENT]

    @abstractmethod
    def _build(self) -> None:
        """Build the engine and the follower anew."""

    @abstractmethod
    def _carry_out(self, drawn: tuple[PairArray, ...]) -> None:
        """Let the engine carry a block of exchanges out."""

    @abstractmethod
    def _curve_point(self) -> tuple[float, ...]:
        """Return the values of the curves now."""

    @abstractmethod
    def values(self) -> FloatArray:
        """Return what colors each node now; NaN where nothing is known yet."""

    @abstractmethod
    def deviations(self, values: FloatArray) -> tuple[FloatArray, float | None]:
        """Return how far each value is from the middle of the colors, and the middle if it is one.

        None where every node has a middle of its own.
        """

    @abstractmethod
    def readouts(self, values: FloatArray) -> dict[str, Any]:
        """Return the numbers shown beside the picture."""

    @abstractmethod
    def described(self) -> dict[str, Any]:
        """Return what stays the same all along."""

    @abstractmethod
    def theory(self) -> dict[str, Any]:
        """Return the exact expectation and the bounds, or why there are none."""
