"""The reference engine of estimation, and which engine runs a given problem."""

from __future__ import annotations

from typing import Any, Literal, Protocol

import numpy as np

from pairgossip.algorithms import Method
from pairgossip.arrays import FloatArray, PairArray
from pairgossip.errors import InputError, unknown_name
from pairgossip.extras import needed_for_speed
from pairgossip.kernels import PairProblem, Pairs, TrialPairs
from pairgossip.kernels.pairs import Means


class PlainEngine:
    """Steps the algorithm of a method as written, one iteration at a time."""

    def __init__(
        self,
        problem: TrialPairs | Means,
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


EngineName = Literal["auto", "fused", "tokens", "plain"]
ENGINES: tuple[EngineName, ...] = ("auto", "fused", "tokens", "plain")


class Engine(Protocol):
    """A network in motion."""

    def advance(self, exchanges: tuple[PairArray, ...]) -> None:
        """Carry out a block of iterations."""

    def estimates(self) -> FloatArray:
        """Read every node's estimate, shape (n, K), without disturbing the run."""


class LoneNode:
    """A network of one node, which meets nobody: its answer is its own pair."""

    def __init__(self, problem: TrialPairs | Means) -> None:
        own = np.zeros(1, dtype=np.intp)
        if isinstance(problem, Means):
            self._values = problem.data[:, None]
        else:
            self._values = problem.values(own, own)

    def advance(self, exchanges: tuple[PairArray, ...]) -> None:
        """Do nothing: there is nobody to exchange with."""

    def estimates(self) -> FloatArray:
        """Read the node's estimate, shape (1, K)."""
        return self._values.copy()


def check_engine(name: str, problem: PairProblem | Means, method: Method, clock: str) -> None:
    """Raise `InputError` unless the engine exists and can run the method on the problem."""
    if name not in ENGINES:
        raise unknown_name("engine", name, ENGINES)
    if name in ("fused", "tokens") and clock not in method.twins:
        raise InputError(
            f"Engine '{name}' runs compiled code, and method '{method.name}' has none for "
            f"the {clock} clock: use {{argument}}.",
            "engine",
            "auto",
        )
    if name != "fused" or isinstance(problem, Means) or problem.fusible:
        return
    if isinstance(problem, Pairs):
        raise InputError(
            f"Kernel '{problem.kernel.name}' is not compiled into the engine for "
            f"target '{problem.target}': use {{argument}}.",
            "engine",
            "tokens",
        )
    raise InputError(
        "Engine 'fused' compiles the kernel of two single observations, which is not what nodes "
        "evaluate here: use {argument}.",
        "engine",
        "tokens",
    )


def build_engine(
    name: str,
    problem: TrialPairs | Means,
    method: Method,
    clock: str,
    order: str,
    weights: FloatArray | None = None,
) -> Engine:
    """Build the engine of this name; "auto" takes the fastest that can run method and problem.

    ``fused`` compiles the kernel into the loop (built-in kernels), ``tokens`` follows who holds
    whose observation and evaluates any NumPy kernel on blocks of pairs, ``plain`` steps the
    reference algorithms one exchange at a time and needs numpy only. ``weights`` are those of
    the nodes, for a method that weighs by picks.
    """
    check_engine(name, problem, method, clock)
    if problem.n == 1:
        return LoneNode(problem)
    assert (weights is not None) == method.weighs_by_picks
    if name == "plain" or clock not in method.twins:
        return PlainEngine(problem, method, clock, order, weights)
    with needed_for_speed():
        from pairgossip.engine.estimation.fused import AveragingEngine, FusedEngine
        from pairgossip.engine.estimation.tokens import TokenEngine
    if isinstance(problem, Means):
        return AveragingEngine(problem)
    if isinstance(problem, Pairs) and name != "tokens" and problem.fusible:
        return FusedEngine(problem, method, clock, order, weights)
    return TokenEngine(problem, method, clock, order, weights)
