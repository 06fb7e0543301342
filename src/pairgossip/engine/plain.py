"""The reference engine: the algorithms as written, one iteration at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from pairgossip.algorithms import Method
from pairgossip.arrays import FloatArray, PairArray
from pairgossip.errors import InputError
from pairgossip.kernels import PairProblem
from pairgossip.kernels.means import Means


class PlainEngine:
    """Steps the algorithm of a method through a schedule."""

    def __init__(
        self,
        problem: PairProblem | Means,
        method: Method,
        clock: str,
        order: str,
        weights: FloatArray | None = None,
    ) -> None:
        self._method, self._plain = method, method.plain[clock]
        self._shape = (problem.n, problem.components)
        self._given: tuple[Any, ...] = ()
        self._options: dict[str, Any] = {}
        if method.updates == "either" and clock == "sync":
            self._options["order"] = order
        if method.weighs_by_picks:
            self._options["weights"] = weights
        self._state: Any
        if isinstance(problem, Means):
            self._state = self._plain.init(problem.data[:, None])
        else:
            self._given = (problem.values,)
            self._state = self._plain.init(problem.n, problem.components)

    def advance(self, exchanges: tuple[PairArray, ...]) -> None:
        """Carry out a block of iterations."""
        step = self._plain.step
        for iteration in np.stack(exchanges, axis=1):
            self._state = step(self._state, iteration, *self._given, **self._options)

    def estimates(self) -> FloatArray:
        """Read every node's estimate, shape (n, K)."""
        estimates = np.array(self._plain.read(self._state), dtype=np.float64)
        if estimates.shape != self._shape:
            raise InputError(
                f"Method '{self._method.name}' gives estimates of shape {estimates.shape}: it must "
                f"give one row per node and one column per component kernel, {self._shape}."
            )
        return estimates
