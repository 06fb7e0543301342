"""The runs of a page: trials advanced in small steps, and their numbers for viewers.

Each is the first trial of the run with the same settings, with the same numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.random import SeedSequence

from pairgossip.arrays import FloatArray, PairArray
from pairgossip.checks import RANDOM
from pairgossip.engine.descent.trial import DescentSetup, DescentTrial, disagreement
from pairgossip.engine.estimation.trial import EstimationTrial, Setup, measure
from pairgossip.engine.schedule import child
from pairgossip.engine.solver_trials.trial import SolverSetup
from pairgossip.errors import InputError
from pairgossip.faults.network import FaultyNetwork
from pairgossip.inference.answer import Answer
from pairgossip.kernels import Problem
from pairgossip.text import format_count
from pairgossip.theory import theory_curves
from pairgossip.watch.simulation.again import Recipe
from pairgossip.watch.simulation.node_curves import NodeCurves
from pairgossip.watch.simulation.places import Follower, Places

_RECENT = 48
"""Number of last exchanges that a viewer is shown."""
_MOST_NAMED = 10
"""Largest number of nodes that lie or crash whose numbers are listed."""
_LARGEST_THEORY = 750
"""Largest number of nodes for the exact expectation, which takes seconds."""


class WatchedRun(ABC):
    """One network on its way to its last iteration."""

    curve_names: tuple[str, ...]

    follower: Follower | None = None
    """None where no observations travel."""
    remark = ""
    """Other facts about the run for viewers."""
    again: Recipe
    """The same run without the page."""
    _swaps = True
    _setup: Setup | DescentSetup | SolverSetup
    _trial: Any

    def __init__(
        self, setup: Setup | DescentSetup | SolverSetup, root: SeedSequence, groups: Any
    ) -> None:
        self.graph, self.checkpoints = setup.graph, setup.checkpoints
        self.places = Places(setup.graph, groups)
        self._setup, self._seed = setup, child(root, 0)
        faulty = getattr(setup, "faulty", None)
        if faulty is not None:
            self.remark = f"{self.remark} {_describe_faults(faulty)}".strip()
        self.restart()

    @property
    @abstractmethod
    def _how(self) -> str:
        """The algorithm, for the title."""

    @property
    def title(self) -> str:
        """The algorithm and the network."""
        return f"{self._how} on {self.places.network.family}"

    @property
    def iterations(self) -> int:
        """The number of iterations that the run makes."""
        return int(self.checkpoints[-1])

    @property
    def done(self) -> int:
        """The number of iterations that the run has made."""
        return int(self._trial.done)

    @property
    def is_over(self) -> bool:
        """Whether the run has ended."""
        return self.done >= self.iterations

    @property
    def share(self) -> float:
        """The share of the run that is done, from 0 to 1."""
        return self.done / self.iterations

    def step(self) -> None:
        """Make the smallest visible step."""
        self.advance(1)

    def advance(self, iterations: int) -> None:
        """Make this many iterations, or all that are left, and add to the curves on the way."""
        last = min(self.done + iterations, self.iterations)
        while self.done < last:
            checkpoint = self._trial.next_checkpoint
            assert checkpoint is not None
            self._trial.advance(min(last, checkpoint) - self.done, self._remember)
            # A run that ends by itself writes all remaining checkpoints.
            while len(self.curves) < self._trial.record.written:
                self.curves.append(self._curve_point(len(self.curves)))

    def sent(self) -> dict[str, int]:
        """Return the number of exchanges made, of those at one site, and of messages and bytes
        sent."""
        network, local, messages, sent = self._trial.traffic()
        return {"made": network + local, "local": local, "messages": messages, "bytes": sent}

    def node_curves(self) -> dict[str, Any]:
        """Return the curves that nodes know now, if there are any."""
        return {}

    def restart(self) -> None:
        """Go back to before the first exchange, and keep following the same observation."""
        followed = None if self.follower is None else self.follower.token
        self._trial = self._setup.start(self._seed)
        self.curves: list[tuple[float, ...]] = []
        self.follower = Follower(self.graph.n, self.places) if self._swaps else None
        self._recent: list[PairArray] = []
        self.follow(followed)

    def follow(self, token: int | None) -> None:
        """Follow the observation of this node, if observations travel; None to stop."""
        if self.follower is not None:
            self.follower.follow(token)

    def take_recent(self) -> list[list[int]]:
        """Return the places of the last exchanges since this was last called."""
        recent = np.concatenate(self._recent)[-_RECENT:] if self._recent else ()
        self._recent.clear()
        places: list[list[int]] = self.places.of(recent).tolist()
        return places

    def _remember(self, _: int, exchanges: tuple[PairArray, ...]) -> None:
        if self.follower is not None:
            self.follower.advance(exchanges[0])
        last = np.concatenate([walk[-_RECENT:] for walk in exchanges])
        self._recent.append(last[last[:, 0] != last[:, 1]])  # the others did not take place
        del self._recent[:-_RECENT]

    @abstractmethod
    def _curve_point(self, at: int) -> tuple[float, ...]:
        """Return the values of the curves at a checkpoint that was just written."""

    @abstractmethod
    def values(self) -> FloatArray:
        """Return the value that colors each node now; NaN where it is not known yet."""

    @abstractmethod
    def deviations(self, values: FloatArray) -> tuple[FloatArray, float | None]:
        """Return the distance of each value from the middle of the colors, and a common middle.

        The middle is None if every node has its own.
        """

    @abstractmethod
    def readouts(self, values: FloatArray) -> dict[str, Any]:
        """Return the numbers shown beside the picture."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return the constant facts: the kind of run and the meaning of colors."""

    @abstractmethod
    def theory(self) -> dict[str, Any]:
        """Return the exact expectation and the bounds, or the reason for having none."""


class WatchedEstimation(WatchedRun):
    """A network that estimates a statistic; nodes are colored by their estimates."""

    curve_names = ("error", "spread")
    _setup: Setup
    _trial: EstimationTrial

    def __init__(self, setup: Setup, root: SeedSequence, groups: Any = None) -> None:
        self.target = setup.target
        if setup.problem.sketch_name is not None:
            self.remark = _describe_sketch(setup.problem, float(setup.target))
        self._swaps = setup.method.swaps
        self._curves = NodeCurves.of(setup.problem)
        self.answer: Answer | None = None
        super().__init__(setup, root, groups)

    @property
    def _how(self) -> str:
        followed = "" if self.schedule == RANDOM else f", {self.schedule}"
        return f"{self._setup.method.name} ({self._setup.clock}{followed})"

    @property
    def schedule(self) -> str:
        """The order of exchanges that the run uses."""
        return self._setup.timetable.name

    def _curve_point(self, at: int) -> tuple[float, ...]:
        found = self.readouts(self._trial.record.estimates)  # the ones last recorded
        return found["error"], found["spread"]

    def values(self) -> FloatArray:
        """Return the estimates."""
        return self._trial.read()

    def deviations(self, values: FloatArray) -> tuple[FloatArray, float | None]:
        """Return the distance of estimates from their targets, and the target if all share one."""
        return values - self.target, self._common_target

    def readouts(self, values: FloatArray) -> dict[str, Any]:
        """Return the measures of the estimates; of honest nodes' estimates if some nodes lie or
        crash."""
        return measure(values, self.target, self._setup.faulty)._asdict()

    def node_curves(self) -> dict[str, Any]:
        """Return the ROC curves that some nodes know now, if their averages give them."""
        averages = None if self._curves is None else self._trial.read_averages()
        if self._curves is None or averages is None:
            return {}
        return {"roc": self._curves.read(averages)}

    @property
    def _common_target(self) -> float | None:
        return None if np.ndim(self.target) else float(self.target)

    def describe(self) -> dict[str, Any]:
        """Return the constant facts: the exact value and its sampling error."""
        exact, setup = self._common_target, self._setup
        return {
            "kind": "estimation",
            "exact": exact,
            "ends": setup.method.collects or setup.timetable.length is not None,
            "sampling": None if self.answer is None else vars(self.answer),
            "colored": "estimate",
            "middle": "exact value" if exact is not None else "the node's own exact value",
            "roc": None if self._curves is None else self._curves.exact,
        }

    def theory(self) -> dict[str, Any]:
        """Return the exact expectation and the bounds, or the reason for having none."""
        if self.graph.n > _LARGEST_THEORY:
            what = "nodes" if self.places.sizes is None else "rows"
            return {"absent": f"Theory is computed up to {_LARGEST_THEORY:,} {what}."}
        setup = self._setup
        if len(setup.problem.holders):
            return {"absent": "Theory does not know when all nodes know the range of the rows."}
        try:
            curves = theory_curves(
                setup.problem,
                setup.graph,
                setup.checkpoints,
                method=setup.method,
                clock=setup.clock,
                order=setup.order,
                course=setup.course,
            )
        except InputError as reason:
            return {"absent": str(reason)}
        on_error = bool(np.isfinite(curves.deviation_bound).any())
        by_name = {
            "error": curves.error,
            "expected_error": curves.expected_error,
            "bound": curves.deviation_bound if on_error else curves.expectation_bound,
        }
        finite = {name: values for name, values in by_name.items() if np.isfinite(values).any()}
        return finite | {"bound_on": "error" if on_error else "bias"}


class WatchedModels(WatchedRun):
    """A network that learns a model; nodes are colored by the model's first coordinate."""

    _setup: DescentSetup | SolverSetup

    def __init__(
        self,
        setup: DescentSetup | SolverSetup,
        root: SeedSequence,
        first_coordinate: str,
        groups: Any = None,
    ) -> None:
        self._first_coordinate = first_coordinate
        super().__init__(setup, root, groups)

    def _objective_of_mean(self, models: FloatArray) -> float:
        return float(self._trial.objectives(models.mean(axis=0, keepdims=True))[0])

    def deviations(self, values: FloatArray) -> tuple[FloatArray, float | None]:
        """Return the distance of models from their mean, and the mean if it is known."""
        # If all models are the same, their mean differs from them by rounding.
        middle = float(values[0] if np.ptp(values) == 0 else values.mean())
        return values - middle, None if np.isnan(middle) else middle

    def describe(self) -> dict[str, Any]:
        """Return the constant facts: the coordinate that is shown, the number of judged models."""
        return {
            "kind": "learning",
            "exact": None,
            "ends": False,
            "colored": f"weight of {self._first_coordinate}",
            "middle": "mean of the network",
            "judged": len(self._setup.judged),
        }


class WatchedLearning(WatchedModels):
    """A network that learns by dual averaging."""

    curve_names = ("objective", "objective_of_mean", "disagreement")
    _setup: DescentSetup
    _trial: DescentTrial

    @property
    def _how(self) -> str:
        return f"dual averaging ({self._setup.descent.clock})"

    def _models(self, *, honest: bool = True) -> FloatArray:
        models, faulty = self._trial.read().mean, self._setup.faulty
        models = models[faulty.honest] if honest and faulty is not None else models
        if not np.isfinite(models).all():
            raise InputError("The models are beyond floating point: choose a smaller step.")
        return models

    def _curve_point(self, at: int) -> tuple[float, ...]:
        models, record = self._models(), self._trial.record
        of_mean = self._objective_of_mean(models)
        return float(record.objective[at]), of_mean, float(record.disagreement[at])

    def values(self) -> FloatArray:
        """Return the first coordinate of the models."""
        return self._models(honest=False)[:, 0].copy()

    def readouts(self, values: FloatArray) -> dict[str, Any]:
        """Return the objective of the mean model, the last one of single nodes, and the spread."""
        models = self._models()
        return {
            "objective": self._objective_of_mean(models),
            "of_nodes": self.curves[-1][0] if self.curves else np.nan,
            "spread": disagreement(models),
        }

    def theory(self) -> dict[str, Any]:
        """Return the reason for having no theory."""
        return {"absent": "The bounds on learning need the minimizer, which is not known here."}


def _describe_faults(faulty: FaultyNetwork) -> str:
    """Describe the faults, and the nodes that the numbers leave out."""
    others = np.setdiff1d(np.arange(faulty.n), faulty.honest).tolist()
    named = ", ".join(map(str, others[:_MOST_NAMED])) + (", …" if len(others) > _MOST_NAMED else "")
    left_out = f" Numbers are of all nodes but {named}, which lie or crash." if others else ""
    return f"Faults: {faulty.faults}.{left_out}"


def _describe_sketch(problem: Problem, exact: float) -> str:
    """Describe the averages of nodes, and their certain knowledge in the end."""
    off = f"off by {abs(problem.limit - exact):.3g} once they agree"
    sure = ""
    if problem.bracket is not None:
        low, high = problem.bracket
        sure = f"; the exact value lies for sure between {low:.6g} and {high:.6g}"
    numbers = format_count(problem.components, "number")
    return f"Nodes average {numbers} about their rows, {off}{sure}."
