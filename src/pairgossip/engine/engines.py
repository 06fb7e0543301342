"""What every engine offers, and which one runs a given problem."""

from __future__ import annotations

from typing import Literal, Protocol

import numpy as np

from pairgossip.algorithms import Method
from pairgossip.arrays import FloatArray, PairArray
from pairgossip.engine.plain import PlainEngine
from pairgossip.errors import InputError, unknown_name
from pairgossip.extras import needed_for
from pairgossip.kernels import PairProblem, Pairs
from pairgossip.kernels.means import Means

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

    def __init__(self, problem: PairProblem | Means) -> None:
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
            f"clock='{clock}': use engine='auto' or engine='plain'."
        )
    if name != "fused" or isinstance(problem, Means) or problem.fusible:
        return
    if isinstance(problem, Pairs):
        raise InputError(
            f"Kernel '{problem.kernel.name}' is not compiled into the engine for "
            f"target='{problem.target}': use engine='tokens'."
        )
    raise InputError(
        "Engine 'fused' compiles the kernel of two single observations, which is not what nodes "
        "evaluate here: use engine='tokens'."
    )


def build_engine(
    name: str,
    problem: PairProblem | Means,
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
    with needed_for("The fast engine (engine='plain' runs without it)"):
        from pairgossip.engine.fused import AveragingEngine, FusedEngine
        from pairgossip.engine.tokens import TokenEngine
    if isinstance(problem, Means):
        return AveragingEngine(problem)
    if isinstance(problem, Pairs) and name != "tokens" and problem.fusible:
        return FusedEngine(problem, method, clock, order, weights)
    return TokenEngine(problem, method, clock, order, weights)
