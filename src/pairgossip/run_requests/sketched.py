"""Method "sketch" of `minimize`: checks first, then the solver, then a `Fit`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pairgossip.algorithms.methods import find_method
from pairgossip.arguments.argument import vary
from pairgossip.arguments.minimize import SKETCH, MinimizeArguments
from pairgossip.arrays import FloatArray, IntArray
from pairgossip.checks import TREE, WHOLE_SETS, checkpoint_grid, whole
from pairgossip.engine.solver_trials.trial import SolverProblem, SolverSetup
from pairgossip.engine.timetable import Timetable, settle_timetable
from pairgossip.errors import InputError, NotEnough, notify
from pairgossip.graphs import Graph
from pairgossip.graphs.laws import NamedOrGiven
from pairgossip.kernels.weighing import check_weights
from pairgossip.losses import PSD, Ball, Proximal, SquaredL2, as_proximal
from pairgossip.losses.learning import LearningProblem, why_not_sketched
from pairgossip.losses.proximal import Unconstrained
from pairgossip.results.fit import Fit
from pairgossip.results.provenance import solving_fingerprint
from pairgossip.run_requests.request import Request

_ROUNDS, _MOST_ROUNDS = 200, 1_000_000
"""Default and largest number of rounds; each may be a checkpoint."""
LARGEST_JUDGED = 2_000
"""Largest number of nodes whose models are all judged, and for which a gradient bias is
computed."""
MOST_GRADES = 32
"""Largest number of grades: a sketch of the scores of each is still short enough to send."""
_WARN_GAIN = 1e-4
"""Gain that a run may leave, relative to the zero model's objective; a warning is given above."""
_WARN_SLOPE_ERROR = 0.1
"""Error of slopes, relative to their mean; a warning is given above."""
_WARN_OUTLIER_IQR = 200.0
"""Distance of a value from its feature's median, in quartile distances; above it, a warning."""
_ROWS_FOR_QUARTILES = 500
"""Number of rows whose quartiles are computed; of more rows, every k-th is taken."""
_TOLERANCE, _ACCURACY = 1e-7, 1e-6
"""Default tolerance and accuracy."""


@dataclass(kw_only=True)
class SketchedRequest(MinimizeArguments, Request):
    """A run of L-BFGS on sketched gradients; `minimize` documents the arguments."""

    row_arguments: ClassVar[Sequence[str]] = (*Request.row_arguments, "weights")

    method: str = SKETCH
    iterations: int | None = vary(
        MinimizeArguments, "iterations", noun="number of rounds", most=_MOST_ROUNDS
    )
    engine: str = vary(MinimizeArguments, "engine", choices=("auto", "plain"))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.asked_faults is not None:
            raise InputError(
                "Method 'sketch' averages to the last digit in every round, which no network with "
                "faults does: leave {argument} out, or use method 'dual-averaging'.",
                "faults",
            )

    def execute(self) -> Fit:
        """Run the trials, and warn the caller about limits of the result."""
        setup = self.setup()
        loss = setup.problem.learning.loss.name
        outcome = self.run(setup, f"{loss} on {setup.graph.n:,} nodes")
        fit = Fit.from_solver(setup, outcome, self.entropy, solving_fingerprint(setup))
        _warn_if_unfinished(fit, setup, max(record.promised for record in outcome.records))
        if not _warn_if_separated(fit, setup):
            _warn_if_coarse(fit, setup)
        return self.finish(fit, setup.iterations)

    def setup(self) -> SolverSetup:
        """Check the other arguments and return all that a trial needs besides its seed."""
        self.prepare_rows()
        learning = self._learning()
        self.positive_class = learning.name_positive(self.label_name)
        if self.groups is not None:
            self.construction = WHOLE_SETS  # one sum per site
        graph, site_of = self.place(learning.n)
        law = self.settle_law(graph)
        judged = whole("The number of judged nodes", self.judged, 0, default=LARGEST_JUDGED)
        weights = None if self.weights is None else check_weights(self.weights, learning.n)
        return SolverSetup(
            problem=SolverProblem(learning, site_of, weights),
            proximal=self._proximal(learning),
            graph=graph,
            law=law,
            timetable=self._timetable(graph, law),
            checkpoints=self._rounds(),
            judged=self.spread_nodes(graph.n, judged),
            tolerance=_TOLERANCE if self.tolerance is None else self.tolerance,
            accuracy=_ACCURACY if self.accuracy is None else self.accuracy,
            engine=self.engine,
        )

    def _timetable(self, graph: Graph, law: NamedOrGiven) -> Timetable:
        return settle_timetable(self.schedule or TREE, graph, law, find_method(SKETCH))

    def _proximal(self, learning: LearningProblem) -> Proximal:
        if isinstance(self.constraint, PSD):
            raise InputError(
                f"Models of loss '{learning.loss.name}' are vectors, which pg.PSD does not fit: "
                "use {argument}, or leave it out.",
                "constraint",
                Ball(1.0),
            )
        return as_proximal(self.constraint, self.penalty)

    def _rounds(self) -> IntArray:
        last = _ROUNDS if self.iterations is None else self.iterations
        if self.checkpoints is None:
            return np.arange(1, last + 1)
        return checkpoint_grid(last, self.checkpoints)

    def _learning(self) -> LearningProblem:
        learning = LearningProblem(self.data, self.loss, self.labels)
        if (why := why_not_sketched(learning.loss)) is not None:
            raise InputError(
                f"Loss '{learning.loss.name}' {why}, so sums over the rows do not give its "
                "gradient: use {argument}.",
                "method",
                "dual-averaging",
            )
        grades = len(np.unique(learning.data[:, -1]))
        if grades > MOST_GRADES:
            raise InputError(
                f"The labels have {grades:,} different values, and a sketch of the scores of each "
                f"is too much to send; up to {MOST_GRADES} grades are possible: use fewer, or "
                "{argument}.",
                "method",
                "dual-averaging",
            )
        return learning


def _warn_if_unfinished(fit: Fit, setup: SolverSetup, promised: float) -> None:
    """Warn that the run ended before the model was at its best."""
    if fit.status == "interrupted":
        return
    if fit.iterations[-1] == setup.iterations and promised > setup.tolerance:
        notice = NotEnough(
            "The run ended before the model was at its best: use {argument} or more.",
            "iterations",
            4 * setup.iterations,
        )
    elif promised > _WARN_GAIN and fit.schedule != TREE:
        notice = NotEnough(
            "The run ended while some nodes expected to gain, since nodes' averages differ by too "
            "much to decide: use {argument}.",
            "accuracy",
            setup.accuracy / 100,
        )
    else:
        return
    notify(notice)


def _warn_if_coarse(fit: Fit, setup: SolverSetup) -> None:
    """Warn that scores are too far apart for a sketch to give slopes."""
    assert fit.gradient_error is not None
    is_coarse = (fit.gradient_error[:, -1] > _WARN_SLOPE_ERROR).any()
    # At the optimum of the hinge many pairs may be at its kink, where slopes are any.
    if (is_coarse and not setup.phi.has_jump) or _is_far(setup):
        notify(
            NotEnough(
                "Some rows are so far from the others that gradients may be wrong, and the model "
                "not the best: bring far-off values of the features closer, or use {argument}.",
                "method",
                "dual-averaging",
            ),
        )


def _is_far(setup: SolverSetup) -> bool:
    """Return whether a feature has a value far from its quartiles; it does not harm squares."""
    if setup.phi.is_quadratic:
        return False
    rows = setup.problem.learning.data[:, :-1]
    some = rows[:: max(1, len(rows) // _ROWS_FOR_QUARTILES)]
    lowest, highest = rows.min(axis=0), rows.max(axis=0)
    unsure = ~_are_near(some, lowest, highest)
    if not unsure.any():
        return False
    low, middle, high = np.quantile(some[:, unsure], (0.25, 0.5, 0.75), axis=0)
    reach = np.maximum(highest[unsure] - middle, middle - lowest[unsure])
    return bool(((reach > _WARN_OUTLIER_IQR * (high - low)) & (high > low)).any())


def _are_near(some: FloatArray, lowest: FloatArray, highest: FloatArray) -> Any:
    """Return whether each feature has no far-off value for sure, without its quartiles.

    More than a quarter of the values are well above the mean, and as many are well below it.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        center, apart = some.mean(axis=0), (highest - lowest) / _WARN_OUTLIER_IQR
        counts = (some > center + apart).sum(axis=0), (some < center - apart).sum(axis=0)
    return np.minimum(*counts) > len(some) / 4 + 1


def _warn_if_separated(fit: Fit, setup: SolverSetup) -> bool:
    """Warn that the loss falls forever, as a longer model is better.

    Return whether that is so.
    """
    # The loss of a pair falls with its margin, however large, and no term limits the model.
    if np.isfinite(setup.phi.flat_from) or not isinstance(setup.proximal, Unconstrained):
        return False
    data = setup.problem.learning.data
    scores, labels = data[:, :-1] @ fit.model, data[:, -1]
    grades = np.unique(labels)
    lowest = np.array([scores[labels == grade].min() for grade in grades])
    highest = np.array([scores[labels == grade].max() for grade in grades])
    if not (lowest[1:] > highest[:-1]).all():
        return False
    notify(
        NotEnough(
            "A score separates the grades without error, so a longer model always has a smaller "
            "loss, and no model is best: the run ended when there was almost nothing to gain. Use "
            "{argument} for a model of definite length.",
            "penalty",
            SquaredL2(1e-6),
        ),
    )
    return True
