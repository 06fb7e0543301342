"""One trial of an estimation: its engine, and what is measured at its checkpoints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.random import SeedSequence

from pairgossip.algorithms import Method, weighted_gosta
from pairgossip.arrays import FloatArray, IntArray, PairArray
from pairgossip.engine.schedule import TRIAL_PROBLEM, Schedule, child
from pairgossip.engine.trials import Meter, Payload, Record, Trial
from pairgossip.errors import InputError, needed_for_speed
from pairgossip.graphs import Graph
from pairgossip.kernels import PairProblem, Pairs, TrialPairs, WholeSets
from pairgossip.kernels.pairs import Means
from pairgossip.privacy import PrivateSets
from pairgossip.privacy.moments import PrivacyError

# The reference engine of estimation, and which engine runs a given problem.


class _PlainEngine:
    """Steps the algorithm of a method as written, one iteration at a time."""

    def __init__(
        self,
        problem: TrialPairs | Means,
        method: Method,
        clock: str,
        order: str,
        weights: FloatArray | None,
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


ENGINES = ("auto", "fused", "tokens", "plain")


class _Engine(Protocol):
    """A network in motion."""

    def advance(self, exchanges: tuple[PairArray, ...]) -> None:
        """Carry out a block of iterations."""

    def estimates(self) -> FloatArray:
        """Read every node's estimate, shape (n, K), without disturbing the run."""


class _LoneNode:
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
    """Raise `InputError` unless the engine can run the method on the problem."""
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
) -> _Engine:
    """Build the engine of this name; "auto" takes the fastest that can run method and problem.

    ``fused`` compiles the kernel into the loop (built-in kernels), ``tokens`` follows who holds
    whose observation and evaluates any NumPy kernel on blocks of pairs, ``plain`` steps the
    reference algorithms one exchange at a time and needs numpy only. ``weights`` are those of
    the nodes, for a method that weighs by picks.
    """
    check_engine(name, problem, method, clock)
    if problem.n == 1:
        return _LoneNode(problem)
    assert (weights is not None) == method.weighs_by_picks
    if name == "plain" or clock not in method.twins:
        return _PlainEngine(problem, method, clock, order, weights)
    with needed_for_speed():
        from pairgossip.engine.estimation.fast import AveragingEngine, FusedEngine, TokenEngine
    if isinstance(problem, Means):
        return AveragingEngine(problem)
    if isinstance(problem, Pairs) and name != "tokens" and problem.fusible:
        return FusedEngine(problem, method, clock, order, weights)
    return TokenEngine(problem, method, clock, order, weights)


@dataclass(frozen=True)
class Setup:
    """All that a trial needs besides its seed."""

    problem: PairProblem | Means
    graph: Graph
    method: Method
    clock: str
    order: str
    law: str
    checkpoints: IntArray
    target: float | FloatArray
    keep_history: bool
    engine: str
    privacy_error: PrivacyError | None = None
    """The error that reports are expected to add, where observations are private."""

    @property
    def iterations(self) -> int:
        """How many iterations a trial makes."""
        return int(self.checkpoints[-1])

    def start(self, seed: SeedSequence) -> EstimationTrial:
        """Return a trial that has not begun yet."""
        return EstimationTrial(self, seed)

    def weights(self) -> FloatArray | None:
        """Return the weight of each node's values, if the method asks for it."""
        if not self.method.weighs_by_picks or self.graph.n == 1:
            return None
        return weighted_gosta.weights(self.graph.pick_probabilities(self.law))

    def meter(self) -> Meter:
        """Return a new meter of what a trial sends."""
        problem, method = self.problem, self.method
        observation = problem.dimension if method.swaps and not isinstance(problem, Means) else 0
        sizes = problem.sets.sizes if isinstance(problem, WholeSets | PrivateSets) else None
        payload = Payload(observation, method.numbers_averaged(problem.components), sizes)
        walks, compiled = method.exchanges_per_iteration, self.engine != "plain"
        return Meter(self.graph, payload, walks, compiled)


class Measures(NamedTuple):
    """How far the estimates of all nodes are off, over the nodes that have one."""

    mean: float
    spread: float
    """Standard deviation over nodes of estimate minus target."""
    error: float
    """Root mean square over nodes of estimate minus target."""


def measure(estimates: FloatArray, target: float | FloatArray) -> Measures:
    """Compare estimates with their target; those that are still undefined (NaN) are left out."""
    defined = ~np.isnan(estimates)
    deviation = (estimates - target)[defined]
    if not deviation.size:
        return Measures(np.nan, np.nan, np.nan)
    # Where every node has a target of its own, nodes differ even without error.
    differing = deviation if np.ndim(target) else estimates[defined]
    return Measures(
        float(estimates[defined].mean()),
        _root_mean_square(differing - differing.mean()),
        _root_mean_square(deviation),
    )


def _root_mean_square(values: FloatArray) -> float:
    """Of values of any size: squares of very large or small ones leave the floating range."""
    largest = float(np.abs(values).max())
    if largest == 0 or not np.isfinite(largest):
        return largest
    return largest * float(np.sqrt(np.mean((values / largest) ** 2)))


class TrialRecord(Record):
    """What one trial of an estimation leaves behind."""

    def __init__(self, setup: Setup) -> None:
        checkpoints, nodes = len(setup.checkpoints), setup.graph.n
        super().__init__(checkpoints)
        self.mean, self.spread, self.error = np.full((3, checkpoints), np.nan)
        self.private_value = np.nan
        """The statistic of the trial's reports, which its nodes agree on in the end."""
        self.estimates = np.full(nodes, np.nan)
        self.history = np.full((checkpoints, nodes), np.nan) if setup.keep_history else None


class EstimationTrial(Trial[TrialRecord]):
    """A network that estimates a statistic."""

    def __init__(self, setup: Setup, seed: SeedSequence) -> None:
        method, record = setup.method, TrialRecord(setup)
        problem = setup.problem.for_trial(child(seed, TRIAL_PROBLEM))
        if setup.privacy_error is not None:
            record.private_value = problem.exact()
        self._setup = setup
        self._engine = build_engine(
            setup.engine, problem, method, setup.clock, setup.order, setup.weights()
        )
        schedule = Schedule(setup.graph, setup.law, seed, method.exchanges_per_iteration)
        super().__init__(
            setup.checkpoints, schedule, setup.meter(), record, timed=setup.clock == "async"
        )

    def read(self) -> FloatArray:
        """Return every node's estimate, shape (n,); NaN where it is not defined yet."""
        problem = self._setup.problem
        if self.done == 0 and not isinstance(problem, Means):
            return np.full(problem.n, np.nan)
        values = self._engine.estimates()
        # Only the ratio of two kernels may be undefined, while its denominator is still zero.
        if not np.isfinite(values).all():
            raise InputError(
                "The estimates left the floating range: the kernel returned NaN or an infinite "
                "value for some pair, or the data are so large that sums of them overflow."
            )
        return values[:, 0] if isinstance(problem, Means) else problem.kernel.combine(values)

    def _exchange(self, exchanges: tuple[PairArray, ...]) -> None:
        self._engine.advance(exchanges)

    def _measure(self, at: int) -> None:
        record, estimates = self.record, self.read()
        record.mean[at], record.spread[at], record.error[at] = measure(
            estimates, self._setup.target
        )
        record.estimates = estimates
        if record.history is not None:
            record.history[at] = estimates
