"""A run in small steps: what both kinds, estimation and learning, have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from typing import Any

import numpy as np
from numpy.random import SeedSequence

from pairgossip.algorithms import Method, weighted_gosta
from pairgossip.algorithms.steps import own_observations
from pairgossip.arrays import FloatArray, IntArray, PairArray
from pairgossip.engine.descent.state import Descent, build_descent
from pairgossip.engine.descent.trial import penalties
from pairgossip.engine.estimation.engines import build_engine
from pairgossip.engine.estimation.trial import root_mean_square
from pairgossip.engine.judging.judge import build_judge
from pairgossip.engine.schedule import Schedule, child
from pairgossip.errors import InputError
from pairgossip.graphs import Graph
from pairgossip.kernels import Pairs
from pairgossip.kernels.pairs import Means
from pairgossip.theory import theory_curves

# Whose observation is where: one of them can be followed through the network.


TRAIL = 120
"""How many of the last places are remembered."""


class Follower:
    """Walks along with an engine, which keeps to itself who holds whose observation."""

    def __init__(self, n: int) -> None:
        self._held = own_observations(n)
        self.token: int | None = None
        self.trail: deque[int] = deque(maxlen=TRAIL)
        self.moves = 0

    def advance(self, exchanges: PairArray) -> None:
        """Swap along a block of exchanges."""
        # Compiled, so imported where the compiler is already at work.
        from pairgossip.engine.estimation.loops import walk

        nodes = np.empty((2, len(exchanges)), dtype=np.intp)
        tokens = np.empty_like(nodes)
        walk(exchanges, self._held, nodes, tokens)
        if self.token is not None:
            # Transposed, so that the places come in the order of the exchanges.
            places = nodes.T[self.token == tokens.T]
            self.trail.extend(places[-TRAIL:].tolist())
            self.moves += len(places)

    def follow(self, token: int | None) -> None:
        """Follow the observation of this node from where it is now; None to stop."""
        self.token, self.moves = token, 0
        self.trail.clear()
        if token is not None:
            self.trail.append(self.place_of(token))

    def held_at(self, node: int) -> int:
        """Return whose observation a node holds."""
        return int(self._held[node])

    def place_of(self, token: int) -> int:
        """Return the node that holds an observation."""
        return int(np.flatnonzero(self._held == token)[0])


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


# A watched estimation: the same numbers as `pairgossip.estimate` with the same seed.


LARGEST_THEORY = 750
"""Up to this many nodes the exact expectation takes seconds."""
ORDER = "update-first"


class EstimationCourse(Course):
    """A network that estimates a statistic."""

    curve_names = ("error", "spread")

    def __init__(
        self,
        problem: Pairs | Means,
        graph: Graph,
        method: Method,
        clock: str,
        law: str,
        root: SeedSequence,
        checkpoints: IntArray,
    ) -> None:
        self._problem, self._method, self._clock = problem, method, clock
        self.exchanges_per_iteration = method.exchanges_per_iteration
        self.target = _target(problem, method)
        self.title = f"{method.name} ({clock}) on {graph.family}"
        super().__init__(graph, law, root, checkpoints)

    def _build(self) -> None:
        weights = None
        if self._method.weighs_by_picks:
            weights = weighted_gosta.weights(self.graph.pick_probabilities(self.law))
        self._engine = build_engine(
            "auto", self._problem, self._method, self._clock, ORDER, weights
        )
        self.follower = Follower(self.graph.n) if self._method.swaps else None

    def _carry_out(self, drawn: tuple[PairArray, ...]) -> None:
        self._engine.advance(drawn)

    def values(self) -> FloatArray:
        """Return every node's estimate."""
        if self.done == 0 and not isinstance(self._problem, Means):
            return np.full(self.graph.n, np.nan)
        found = self._engine.estimates()
        if not np.isfinite(found).all():
            raise InputError(
                "The estimates left the floating range: the data are so large that sums of them "
                "overflow; rescale them."
            )
        if isinstance(self._problem, Means):
            return found[:, 0]
        return self._problem.kernel.combine(found)

    def deviations(self, values: FloatArray) -> tuple[FloatArray, float | None]:
        """Return the errors of the estimates, and the exact value if all nodes have the same."""
        return values - self.target, None if np.ndim(self.target) else float(self.target)

    def _curve_point(self) -> tuple[float, ...]:
        numbers = self._measured(self.values())
        return numbers["error"], numbers["spread"]

    def _measured(self, values: FloatArray) -> dict[str, float]:
        """Mean, spread and error over the nodes whose estimates are defined already."""
        defined = ~np.isnan(values)
        deviation = (values - self.target)[defined]
        if not deviation.size:
            return {"mean": np.nan, "error": np.nan, "spread": np.nan}
        differing = deviation if np.ndim(self.target) else values[defined]
        return {
            "mean": float(values[defined].mean()),
            "error": root_mean_square(deviation),
            "spread": root_mean_square(differing - differing.mean()),
        }

    def readouts(self, values: FloatArray) -> dict[str, Any]:
        """Return error, spread and mean."""
        return self._measured(values)

    def described(self) -> dict[str, Any]:
        """Return the kind of run, what colors mean and what the curves are called."""
        exact = None if np.ndim(self.target) else float(self.target)
        return {
            "kind": "estimation",
            "exact": exact,
            "colored": "estimate",
            "middle": "exact value" if exact is not None else "the node's own exact value",
        }

    def theory(self) -> dict[str, Any]:
        """Return the exact bias and the bounds at the checkpoints, or why there are none."""
        if self.graph.n > LARGEST_THEORY:
            return {"absent": f"Theory is computed up to {LARGEST_THEORY:,} nodes."}
        try:
            curves = theory_curves(
                self._problem,
                self.graph,
                self.checkpoints,
                method=self._method,
                clock=self._clock,
                order=ORDER,
                law=self.law,
            )
        except InputError as reason:
            return {"absent": str(reason)}
        on_error = bool(np.isfinite(curves.deviation_bound).any())
        return {
            "expected_error": curves.expected_error,
            "bound": curves.deviation_bound if on_error else curves.expectation_bound,
            "bound_on": "error" if on_error else "bias",
        }


def _target(problem: Pairs | Means, method: Method) -> float | FloatArray:
    if isinstance(problem, Pairs) and method.estimates == "row-mean":
        return problem.row_means()
    return problem.exact()


# A watched learning run: the same numbers as `pairgossip.minimize` with the same seed.


MOST_JUDGED = 64
"""How many nodes' models are judged at a checkpoint: enough for a curve, few enough for a film."""


class DescentCourse(Course):
    """A network that learns a model; nodes are colored by the model's first coordinate."""

    curve_names = ("objective", "objective_of_mean", "disagreement")

    def __init__(
        self,
        descent: Descent,
        graph: Graph,
        law: str,
        root: SeedSequence,
        checkpoints: IntArray,
        first_coordinate: str,
    ) -> None:
        self._descent = descent
        self._judge = build_judge("auto", descent.problem)
        self._judged = np.unique(
            np.linspace(0, graph.n - 1, min(graph.n, MOST_JUDGED)).astype(np.int64)
        )
        self._first_coordinate = first_coordinate
        self.title = f"dual averaging ({descent.clock}) on {graph.family}"
        super().__init__(graph, law, root, checkpoints)

    def _build(self) -> None:
        self._engine = build_descent("auto", self._descent)
        self.follower = Follower(self.graph.n)
        self._last_objective = np.nan

    def _carry_out(self, drawn: tuple[PairArray, ...]) -> None:
        self._engine.advance(drawn[0])

    def _models(self) -> FloatArray:
        models = self._engine.snapshot().mean
        if not np.isfinite(models).all():
            raise InputError("The models left the floating range: choose a smaller step.")
        return models

    def values(self) -> FloatArray:
        """Return the first coordinate of every node's averaged model."""
        return self._models()[:, 0].copy()

    def deviations(self, values: FloatArray) -> tuple[FloatArray, float | None]:
        """Return how far the coordinates are from their mean, and the mean."""
        middle = float(values.mean())
        return values - middle, middle

    def _objectives(self, models: FloatArray) -> FloatArray:
        with np.errstate(over="ignore", invalid="ignore"):
            return self._judge.objectives(models) + penalties(self._descent.proximal, models)

    def _curve_point(self) -> tuple[float, ...]:
        models = self._models()
        self._last_objective = float(self._objectives(models[self._judged]).mean())
        of_mean = float(self._objectives(models.mean(axis=0, keepdims=True))[0])
        return self._last_objective, of_mean, _disagreement(models)

    def readouts(self, values: FloatArray) -> dict[str, Any]:
        """Return the objective of the mean model, how far models disagree, and the last mean."""
        models = self._models()
        return {
            "objective": float(self._objectives(models.mean(axis=0, keepdims=True))[0]),
            "of_nodes": self._last_objective,
            "spread": _disagreement(models),
        }

    def described(self) -> dict[str, Any]:
        """Return the kind of run and what colors mean."""
        return {
            "kind": "learning",
            "exact": None,
            "colored": f"weight of {self._first_coordinate}",
            "middle": "mean of the network",
            "judged": len(self._judged),
        }

    def theory(self) -> dict[str, Any]:
        """Say why no bound is drawn."""
        return {"absent": "The bounds on learning need the minimizer, which nobody knows here."}


def _disagreement(models: FloatArray) -> float:
    center = models.mean(axis=0)
    return float(np.sqrt(np.mean(np.sum((models - center) ** 2, axis=1))))
