"""The runs of a page: trials advanced in small steps, and what is shown of them.

Each is the first trial of the run with the same settings, with the same numbers.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.random import SeedSequence

from pairgossip.algorithms import find_method
from pairgossip.algorithms.steps import own_observations
from pairgossip.arrays import FloatArray, PairArray
from pairgossip.checks import RANDOM
from pairgossip.engine.descent.trial import DescentSetup, DescentTrial, disagreement
from pairgossip.engine.estimation.trial import EstimationTrial, Setup, measure
from pairgossip.engine.schedule import child
from pairgossip.engine.trials import Trial
from pairgossip.errors import InputError
from pairgossip.estimation import EstimationRequest
from pairgossip.graphs import FAMILIES, Graph, build
from pairgossip.inference import Answer, exact
from pairgossip.kernels import as_kernel
from pairgossip.kernels.pairs import Averages
from pairgossip.losses import Ball, as_loss, inverse_sqrt
from pairgossip.minimization import LearningRequest
from pairgossip.sketches.problem import SketchedPairs
from pairgossip.theory import theory_curves
from pairgossip.watch.simulation.observations import Observations, Uploads, select_rows
from pairgossip.watch.simulation.settings import MOST_NODES, RunChoice, Settings

_TRAIL = 120
"""The length of the trail of an observation that is followed, in places."""
_RECENT = 48
"""The number of last exchanges that a viewer is shown."""
_LARGEST_THEORY = 750
"""Up to this many nodes the exact expectation takes seconds."""
_LARGEST_COLLECTION = 1_000
"""Up to this many nodes what all know of all rows is compared several times a second."""
_LARGEST_BLOCKED = 2_000
"""Up to this many rows what each adds to a statistic without closed form takes no time."""
_SLOWER = "Ordered exchanges would be slower than random ones on this graph, so they are random."
_MOST_JUDGED = 64
"""The number of nodes whose models are judged: enough for a curve, few enough for a film."""
_MOST_EDGES = 5_000_000
"""The largest network; several are kept in memory at once."""
_SMALLEST_BLOCK, _LARGEST_BLOCK = 16, 1 << 16


class Follower:
    """Knows who holds whose observation, which an engine keeps to itself, and follows one."""

    def __init__(self, n: int) -> None:
        self._held = own_observations(n)
        self.token: int | None = None
        self.trail: deque[int] = deque(maxlen=_TRAIL)
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
            self.trail.extend(places[-_TRAIL:].tolist())
            self.moves += len(places)

    def follow(self, token: int | None) -> None:
        """Follow the observation of this node from where it is now; None to stop."""
        self.token, self.moves = token, 0
        self.trail.clear()
        if token is not None:
            self.trail.append(int(np.flatnonzero(self._held == token)[0]))

    def held_at(self, node: int) -> int:
        """Return whose observation a node holds."""
        return int(self._held[node])


class WatchedRun(ABC):
    """One network on its way to its last iteration."""

    title: str
    curve_names: tuple[str, ...]

    follower: Follower | None = None
    """None where no observations travel."""
    remark = ""
    """What a viewer should know of the run besides."""
    _swaps = True
    _setup: Setup | DescentSetup
    _trial: Trial[Any]

    def __init__(self, setup: Setup | DescentSetup, root: SeedSequence) -> None:
        self.graph, self.checkpoints = setup.graph, setup.checkpoints
        self._setup, self._seed = setup, child(root, 0)
        self.restart()

    @property
    def iterations(self) -> int:
        """How many iterations the run makes."""
        return int(self.checkpoints[-1])

    @property
    def done(self) -> int:
        """How many iterations the run has made."""
        return self._trial.done

    def advance(self, iterations: int) -> None:
        """Make this many iterations, or as many as are left, and add to the curves on the way."""
        last = min(self.done + iterations, self.iterations)
        while self.done < last:
            checkpoint = self._trial.next_checkpoint
            assert checkpoint is not None
            self._trial.advance(min(last, checkpoint) - self.done, self._remember)
            # A run that ends by itself writes all checkpoints that are left.
            while len(self.curves) < self._trial.record.written:
                self.curves.append(self._curve_point(len(self.curves)))

    def sent(self) -> dict[str, int]:
        """Return how many exchanges were made, and what was sent in them."""
        network, local, messages, sent = self._trial.traffic()
        return {"made": network + local, "messages": messages, "bytes": sent}

    def restart(self) -> None:
        """Go back to before the first exchange; an observation that is followed still is."""
        followed = None if self.follower is None else self.follower.token
        self._trial = self._setup.start(self._seed)
        self.curves: list[tuple[float, ...]] = []
        self.follower = Follower(self.graph.n) if self._swaps else None
        self._recent: list[PairArray] = []
        self.follow(followed)

    def follow(self, token: int | None) -> None:
        """Follow the observation of this node, if observations travel; None to stop."""
        if self.follower is not None:
            self.follower.follow(token)

    def take_recent(self) -> list[list[int]]:
        """Return the last exchanges since this was last called."""
        recent = np.concatenate(self._recent)[-_RECENT:].tolist() if self._recent else []
        self._recent.clear()
        return recent

    def _remember(self, _: int, exchanges: tuple[PairArray, ...]) -> None:
        if self.follower is not None:
            self.follower.advance(exchanges[0])
        self._recent.append(np.concatenate([walk[-_RECENT:] for walk in exchanges]))
        del self._recent[:-_RECENT]

    @abstractmethod
    def _curve_point(self, at: int) -> tuple[float, ...]:
        """Return the values of the curves at a checkpoint that was just written."""

    @abstractmethod
    def values(self) -> FloatArray:
        """Return the value that colors each node now; NaN where nothing is known yet."""

    @abstractmethod
    def deviations(self, values: FloatArray) -> tuple[FloatArray, float | None]:
        """Return how far each value is from the middle of the colors, and the middle if it is one.

        None where every node has a middle of its own.
        """

    @abstractmethod
    def readouts(self, values: FloatArray) -> dict[str, Any]:
        """Return the numbers shown beside the picture."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return what stays the same all along: the kind of run and what colors mean."""

    @abstractmethod
    def theory(self) -> dict[str, Any]:
        """Return the exact expectation and the bounds, or why there are none."""


class _WatchedEstimation(WatchedRun):
    """A network that estimates a statistic; nodes are colored by their estimates."""

    curve_names = ("error", "spread")
    _setup: Setup
    _trial: EstimationTrial

    def __init__(self, setup: Setup, root: SeedSequence) -> None:
        self.target = setup.target
        followed = "" if setup.timetable.name == RANDOM else f", {setup.timetable.name}"
        self.title = f"{setup.method.name} ({setup.clock}{followed}) on {setup.graph.family}"
        if isinstance(setup.problem, SketchedPairs):
            self.remark = _describe_sketch(setup.problem, float(setup.target))
        self._swaps = setup.method.swaps
        self.answer: Answer | None = None
        super().__init__(setup, root)

    @property
    def schedule(self) -> str:
        """Which exchanges follow each other, as it turned out."""
        return self._setup.timetable.name

    def _curve_point(self, at: int) -> tuple[float, ...]:
        record = self._trial.record
        return float(record.error[at]), float(record.spread[at])

    def values(self) -> FloatArray:
        return self._trial.read()

    def deviations(self, values: FloatArray) -> tuple[FloatArray, float | None]:
        return values - self.target, self._common_target

    def readouts(self, values: FloatArray) -> dict[str, Any]:
        return measure(values, self.target)._asdict()

    @property
    def _common_target(self) -> float | None:
        return None if np.ndim(self.target) else float(self.target)

    def describe(self) -> dict[str, Any]:
        exact = self._common_target
        return {
            "kind": "estimation",
            "exact": exact,
            "sampling": None if self.answer is None else vars(self.answer),
            "colored": "estimate",
            "middle": "exact value" if exact is not None else "the node's own exact value",
        }

    def theory(self) -> dict[str, Any]:
        if self.graph.n > _LARGEST_THEORY:
            return {"absent": f"Theory is computed up to {_LARGEST_THEORY:,} nodes."}
        setup = self._setup
        if isinstance(setup.problem, Averages) and len(setup.problem.holders):
            return {"absent": "Theory does not know when all nodes know where the rows lie."}
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
        found = {
            "error": curves.error,
            "expected_error": curves.expected_error,
            "bound": curves.deviation_bound if on_error else curves.expectation_bound,
        }
        known = {name: values for name, values in found.items() if np.isfinite(values).any()}
        return known | {"bound_on": "error" if on_error else "bias"}


class _WatchedLearning(WatchedRun):
    """A network that learns a model; nodes are colored by the model's first coordinate."""

    curve_names = ("objective", "objective_of_mean", "disagreement")
    _setup: DescentSetup
    _trial: DescentTrial

    def __init__(self, setup: DescentSetup, root: SeedSequence, first_coordinate: str) -> None:
        self._first_coordinate = first_coordinate
        self.title = f"dual averaging ({setup.descent.clock}) on {setup.graph.family}"
        super().__init__(setup, root)

    def _models(self) -> FloatArray:
        models = self._trial.read().mean
        if not np.isfinite(models).all():
            raise InputError("The models left the floating range: choose a smaller step.")
        return models

    def _curve_point(self, at: int) -> tuple[float, ...]:
        models, record = self._models(), self._trial.record
        of_mean = self._objective_of_mean(models)
        return float(record.objective[at]), of_mean, float(record.disagreement[at])

    def _objective_of_mean(self, models: FloatArray) -> float:
        return float(self._trial.objectives(models.mean(axis=0, keepdims=True))[0])

    def values(self) -> FloatArray:
        return self._models()[:, 0].copy()

    def deviations(self, values: FloatArray) -> tuple[FloatArray, float | None]:
        middle = float(values.mean())
        return values - middle, middle

    def readouts(self, values: FloatArray) -> dict[str, Any]:
        """Return the objective of the mean model, the last one of single nodes, and the spread."""
        models = self._models()
        return {
            "objective": self._objective_of_mean(models),
            "of_nodes": self.curves[-1][0] if self.curves else np.nan,
            "spread": disagreement(models),
        }

    def describe(self) -> dict[str, Any]:
        return {
            "kind": "learning",
            "exact": None,
            "colored": f"weight of {self._first_coordinate}",
            "middle": "mean of the network",
            "judged": len(self._setup.judged),
        }

    def theory(self) -> dict[str, Any]:
        return {"absent": "The bounds on learning need the minimizer, which nobody knows here."}


class Pace:
    """Advances runs together, in blocks that take a fraction of a frame."""

    def __init__(self, runs: Sequence[WatchedRun], frame_seconds: float) -> None:
        self._runs, self._frame_seconds = runs, frame_seconds
        self._block = _SMALLEST_BLOCK

    def advance(self, most: float = math.inf) -> int:
        """Advance all runs by one block; return how many iterations it had."""
        block = int(min(self._block, most))
        began = time.monotonic()
        for run in self._runs:
            run.advance(block)
        took = time.monotonic() - began
        if took < self._frame_seconds / 8:
            self._block = min(2 * self._block, _LARGEST_BLOCK)
        elif took > self._frame_seconds / 2:
            self._block = max(self._block // 2, _SMALLEST_BLOCK)
        return block


def _describe_sketch(problem: SketchedPairs, exact: float) -> str:
    """Say what nodes average, and what they can know from it in the end."""
    off = f"off by {abs(problem.limit - exact):.3g} once they agree"
    sure = ""
    if problem.bracket is not None:
        low, high = problem.bracket
        sure = f"; the exact value lies for sure between {low:.6g} and {high:.6g}"
    return f"Nodes average {problem.name}, {off}{sure}."


def build_runs(settings: Settings, uploads: Uploads) -> list[WatchedRun]:
    """Build the one or two runs, after every check."""
    rows = select_rows(settings, uploads)
    _check_labels(rows, settings)
    n = len(rows.values)
    if not 2 <= n <= MOST_NODES:
        raise InputError(f"The data has {n:,} rows: watch 2 to {MOST_NODES:,} nodes, one per row.")
    if settings.follow is not None and settings.follow >= n:
        raise InputError(f"There is no node {settings.follow} to follow: nodes are 0 to {n - 1}.")
    make = _learning if settings.loss else _estimation
    runs = [make(settings, choice, rows) for choice in settings.runs]
    for run in runs:
        run.follow(settings.follow)
    return runs


def _check_labels(rows: Observations, settings: Settings) -> None:
    if settings.kernel and settings.label is None and _lacks_label(settings.kernel, rows):
        raise InputError(f"Kernel '{settings.kernel}' compares labels: choose the label's column.")
    if not isinstance(rows.labels, list) or not (settings.loss or settings.kernel):
        return
    measure = as_loss(settings.loss) if settings.loss else as_kernel(settings.kernel)
    if measure.label_sizes:
        raise InputError(
            f"'{measure.name}' compares labels by size, but column '{settings.label}' holds "
            f"text such as '{rows.labels[0][:40]}': choose a column of numbers."
        )


def _lacks_label(kernel: str, rows: Observations) -> bool:
    """Return whether the labels' column is the only one missing of those that a kernel takes."""
    takes = [name for name in as_kernel(kernel).columns or () if not name.endswith("?")]
    return takes[-1:] in (["label"], ["cluster"]) and len(rows.columns) == len(takes) - 1


def _graph(run: RunChoice, n: int, seed: int) -> Graph:
    parameters: dict[str, Any] = dict(run.parameters)
    expected = _expected_edges(run, n)
    if expected > _MOST_EDGES:
        raise InputError(
            f"The graph would have about {expected:,.0f} edges, and at most {_MOST_EDGES:,} can be "
            "watched: choose fewer nodes or fewer neighbors."
        )
    if FAMILIES[run.graph].is_random:
        parameters["seed"] = seed
    return build(run.graph, n, **parameters)


def _expected_edges(run: RunChoice, n: int) -> float:
    """Return about how many edges the parameters make; families without any have few."""
    value, pairs = run.parameters.get, n * (n - 1) / 2
    if run.graph == "erdos-renyi":
        return min(value("p", 0.0), 1.0) * pairs
    reach = value("radius", 0.0)
    neighbors = max(value("k", 0.0), value("degree", 0.0), 2 * value("m", 0.0))
    return max(min(math.pi * reach**2, 1.0) * pairs, neighbors * n / 2)


def _estimation(settings: Settings, run: RunChoice, rows: Observations) -> WatchedRun:
    method = find_method(run.method, run.clock)
    is_averaging = method.estimates == "mean"
    if method.collects and len(rows.values) > _LARGEST_COLLECTION:
        raise InputError(
            f"Method '{method.name}' is watched up to {_LARGEST_COLLECTION:,} nodes, as all that "
            "each node knows is compared at every look: choose fewer nodes, or another method."
        )
    request = EstimationRequest(
        data=rows.values,
        kernel=None if is_averaging else settings.kernel,
        labels=None if is_averaging else rows.labels,
        graph=_graph(run, len(rows.values), settings.seed),
        method=run.method,
        clock=run.clock,
        law=settings.law,
        schedule=run.schedule,
        iterations=settings.iterations,
        target=settings.target,
        seed=settings.seed,
        record="summary",
        progress=False,
    )
    watched = _WatchedEstimation(request.setup(), request.root)
    watched.answer = _answer(settings, rows)
    if watched.schedule != request.schedule:
        watched.remark = f"{_SLOWER} {watched.remark}".strip()
    return watched


def _answer(settings: Settings, rows: Observations) -> Answer | None:
    """Return the exact value with its sampling error; None where the rows do not tell it."""
    if settings.kernel is None or settings.interval is None:
        return None
    parts = as_kernel(settings.kernel).components
    if len(rows.values) > _LARGEST_BLOCKED and any(part.row_totals is None for part in parts):
        return None
    with suppress(InputError):
        how = {"labels": rows.labels, "interval": settings.interval}
        return exact(rows.values, settings.kernel, settings.target, **how)
    return None


def _learning(settings: Settings, run: RunChoice, rows: Observations) -> WatchedRun:
    if settings.label is None:
        raise InputError(f"Loss '{settings.loss}' learns from labels: choose the label's column.")
    request = LearningRequest(
        data=rows.values,
        labels=rows.labels,
        loss=settings.loss,
        graph=_graph(run, len(rows.values), settings.seed),
        clock=run.clock,
        law=settings.law,
        iterations=settings.iterations,
        step=None if settings.step is None else inverse_sqrt(settings.step),
        constraint=None if settings.ball is None else Ball(settings.ball),
        seed=settings.seed,
        bias=False,
        judged=_MOST_JUDGED,
        progress=False,
    )
    return _WatchedLearning(request.setup(), request.root, rows.columns[0])
