"""Dual averaging for `minimize`: checks first, then the engine, then a `Fit`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pairgossip.arguments.minimize import MinimizeArguments
from pairgossip.arrays import IntArray
from pairgossip.checks import WHOLE_SETS, choice, whole
from pairgossip.engine.descent.engines import (
    Descent,
    Snapshot,
    check_descent_engine,
)
from pairgossip.engine.descent.judge import default_judged
from pairgossip.engine.descent.rehearsal import rehearse
from pairgossip.engine.descent.trial import DescentSetup, Origin
from pairgossip.engine.schedule import root_seed
from pairgossip.errors import InputError
from pairgossip.graphs import Graph
from pairgossip.graphs.grouped.grouping import Placement, place_rows
from pairgossip.graphs.laws import NamedOrGiven, name_law
from pairgossip.losses import (
    Loss,
    PowerStep,
    Proximal,
    as_proximal,
    check_steps,
    inverse_sqrt,
)
from pairgossip.losses.learning import LearningProblem, PairwiseLearning, WholeSetsLearning
from pairgossip.losses.steps import AdaptiveStep, AnyStep, adaptive
from pairgossip.privacy import PrivateLearning
from pairgossip.results.fit import Fit
from pairgossip.results.loading import load
from pairgossip.results.notices import warn_if_short, warn_if_slow
from pairgossip.results.provenance import (
    Fingerprint,
    attack_marks,
    difference,
    learning_fingerprint,
    step_mark,
)
from pairgossip.results.result import groups_of
from pairgossip.run_requests.faults import check_descent, lies_about_slopes
from pairgossip.run_requests.request import Request
from pairgossip.run_requests.sketched import LARGEST_JUDGED


@dataclass(kw_only=True)
class LearningRequest(MinimizeArguments, Request):
    """A run of dual averaging; `minimize` documents the arguments."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.starting_point = _Start(self.start)
        self.starting_point.seed(self)

    def execute(self) -> Fit:
        """Run the network, from the start on if there is one."""
        setup = self.setup()
        fingerprint = {**learning_fingerprint(setup.descent), **attack_marks(setup.faulty)}
        self.starting_point.check_same(setup, fingerprint)
        warn_if_short(setup.descent, int(setup.checkpoints[-1]))
        warn_if_slow(setup)
        loss = setup.descent.problem.loss.name
        outcome = self.run(setup, f"{loss} on {setup.graph.n:,} nodes")
        later = Fit.from_records(setup, outcome, self.entropy, fingerprint)
        return self.finish(self.starting_point.join(later), int(setup.checkpoints[-1]))

    def setup(self) -> DescentSetup:
        """Check the other arguments and return all that a trial needs besides its seed."""
        self.prepare_rows()
        rows = self._rows()
        self.positive_class = rows.name_positive(self.label_name)
        graph, site_of = self.starting_point.place(self, rows)
        problem = rows if site_of is None else WholeSetsLearning(rows, site_of)
        grid = self.grid(problem.n)
        law = self.settle_law(graph)
        descent = self._descent(problem, graph, law, int(grid[-1]))
        check_descent_engine(self.engine, descent)
        judged = whole(
            "The number of judged nodes", self.judged, default=default_judged(rows, LARGEST_JUDGED)
        )
        if self.asked_faults is not None:
            check_descent(self.asked_faults, self.clock, graph)
        network = self.find_faulty(graph, problem.dimension, int(grid[-1]))
        nodes = self.spread_nodes(problem.n, judged)
        if network is not None:
            nodes = network.honest[self.spread_nodes(len(network.honest), judged)]
            if network.faults.liars:
                network = network.with_lies(lies_about_slopes(problem, self.root))
        setup = DescentSetup(
            descent=descent,
            graph=graph,
            law=law,
            checkpoints=self.starting_point.later(grid),
            judged=self.starting_point.judged(nodes, is_asked=self.judged is not None),
            keep_bias=self._keep_bias(rows.n, descent),
            engine=self.engine,
            origin=self.starting_point.origin,
            privacy=self.privacy,
            faulty=network,
        )
        return rehearse(setup, self.root)

    def _rows(self) -> LearningProblem:
        """Return the problem of the rows, whose nodes see reports only if it is private."""
        rows = (
            LearningProblem(self.data, self.loss, self.labels)
            if self.privacy is None
            else PrivateLearning(
                self.data, self.loss, self.privacy, self.labels, seeded=self.seed is not None
            )
        )
        if rows.n < 2:
            raise InputError("Learning from pairs takes at least two observations, one per node.")
        return rows

    def _descent(
        self, problem: PairwiseLearning, graph: Graph, law: NamedOrGiven, last: int
    ) -> Descent:
        """Return the problem to minimize and its settings."""
        proximal = as_proximal(self.constraint, self.penalty)
        is_matrix = getattr(problem.loss, "shape", "matrix") == "matrix"
        if proximal.is_cone and not is_matrix:
            raise InputError(
                f"pg.PSD constrains matrices, and loss '{problem.loss.name}' learns a vector: use "
                "a metric loss, or another constraint."
            )
        probabilities = graph.pick_probabilities(law)
        steps = self._steps(problem, proximal, last / float(probabilities.min()))
        return Descent(problem, proximal, steps, self.clock, probabilities)

    def _steps(self, problem: PairwiseLearning, proximal: Proximal, horizon: float) -> Any:
        """Return the given step sizes, or the default, checked up to a time."""
        step = self.step
        if step is None:
            step = adaptive() if self.privacy is None else "paper"
        if isinstance(step, str):
            choice("step", step, ("paper",))
            return _paper_step(problem, proximal)
        check_steps(step, horizon)
        if isinstance(step, AdaptiveStep):
            if self.privacy is not None:
                raise InputError(
                    "The adaptive step mistakes the noise of private reports for slopes: use "
                    "{argument}, or give a step size such as steps.inverse_sqrt(0.1).",
                    "step",
                    "paper",
                )
            _check_features_differ(problem)
        return step if isinstance(step, PowerStep | AdaptiveStep) else AnyStep(step)

    def _keep_bias(self, rows: int, descent: Descent) -> bool:
        """Return whether the gradient bias is computed at checkpoints."""
        is_adaptive = isinstance(descent.steps, AdaptiveStep)
        if self.bias and is_adaptive:
            raise InputError(
                "The gradient bias needs steps that are a function of time, not the adaptive "
                "one: give {argument}, or leave out bias.",
                "step",
                "paper",
            )
        return rows <= LARGEST_JUDGED and not is_adaptive if self.bias is None else self.bias


class _Start:
    """The start of a run: new, or the end of a fit, whose network, seed and trials it keeps."""

    def __init__(self, start: Fit | str | Path | None) -> None:
        fit = start if start is None or isinstance(start, Fit) else load(start)
        if fit is not None and not isinstance(fit, Fit):
            raise InputError("The start must be a Fit or the file of one, not a Run.")
        if fit is not None and fit.method == "sketch":
            raise InputError(
                "The start is a fit by sketches, from which dual averaging cannot go on: leave "
                "{argument} out.",
                "start",
            )
        self._fit = fit
        self.origin = Origin() if fit is None else _end_of(fit)

    def seed(self, request: LearningRequest) -> None:
        """Set the seed and the trials to those of the start, if there is one."""
        if self._fit is not None:
            request.root = root_seed(self._fit.seed)
            request.trial_numbers = self._fit.trial_numbers.tolist()
            if request.law == name_law(self._fit.law):
                request.law = self._fit.law  # the best law, to the last bit

    def check_same(self, setup: DescentSetup, fingerprint: Fingerprint) -> None:
        """Raise `InputError` if the start minimized another problem or in another way."""
        if self._fit is None:
            return
        law = self._fit.law
        if law != setup.law:
            raise InputError(
                f"The start has another law ({name_law(law)}) than this run "
                f"({name_law(setup.law)})."
            )
        faults = None if setup.faulty is None else str(setup.faulty.faults)
        if self._fit.faults != faults:
            raise InputError(
                f"The start had other faults ({self._fit.faults or 'none'}) than this run "
                f"({faults or 'none'}): give the same to go on from it."
            )
        step = step_mark(setup.descent, self.origin.iterations)
        differing = difference(self._fit.fingerprint, {**fingerprint, "step": step})
        if differing is not None:
            other = "other" if differing.part in ("data", "groups", "privacy") else "another"
            raise InputError(
                f"The start has {other} {differing.part} than this run{differing.how}: "
                "give the same to go on from it."
            )

    def place(self, request: LearningRequest, rows: LearningProblem) -> Placement:
        """Return the network, and the rows of its nodes: both as they were at the start."""
        fit = self._fit
        if fit is None:
            return request.place(rows.n)
        _check_rows(fit, rows, request.clock)
        if isinstance(request.graph, Graph) and request.graph not in (fit.graph, fit.sites):
            raise InputError("The start ran on another graph than this run: give the same.")
        if request.groups is not None:
            place = place_rows(fit.sites, rows.n, request.groups, request.construction, fit.seed)
            site_of, construction = groups_of(*place)
            same = fit.groups is not None and fit.construction == construction
            if not same or not np.array_equal(fit.groups, site_of):  # type: ignore[arg-type]
                raise InputError(
                    "The start had other groups, or another construction: give the same."
                )
        return Placement(fit.graph, fit.groups if fit.construction == WHOLE_SETS else None)

    def later(self, grid: IntArray) -> IntArray:
        """Return the checkpoints after the start's last iteration."""
        done = self.origin.iterations
        if grid[-1] <= done:
            raise InputError(
                f"The start has made {done:,} iterations already: give a larger number in all."
            )
        return grid[grid > done]

    def judged(self, nodes: IntArray, *, is_asked: bool) -> IntArray:
        """Return the nodes that the start judged: a curve is over the same nodes throughout."""
        if self._fit is None:
            return nodes
        before = self._fit.judged
        if is_asked and not np.array_equal(nodes, before):
            raise InputError(
                f"The start judged {len(before)} nodes, and this run is to judge "
                f"{len(nodes)}: give the same number, or none."
            )
        return before

    def join(self, fit: Fit) -> Fit:
        """Return the curves of the start and of this run."""
        return fit if self._fit is None else self._fit.append(fit)


def _end_of(fit: Fit) -> Origin:
    """Return the end of a fit, trial by trial."""
    numbers = fit.trial_numbers.tolist()
    states = (Snapshot(*state) for state in zip(*fit.state, strict=True))
    return Origin(
        int(fit.iterations[-1]),
        dict(zip(numbers, states, strict=True)),
        {} if fit.reports is None else dict(zip(numbers, fit.reports, strict=True)),
    )


def _check_rows(fit: Fit, rows: LearningProblem, clock: str) -> None:
    """Raise `InputError` if the start does not have data of the same form."""
    same = {
        "loss": (fit.loss, rows.loss.name),
        "clock": (fit.clock, clock),
        "number of rows": (fit.rows, rows.n),
        "number of parameters": (fit.models.shape[2], rows.dimension),
    }
    for what, (theirs, ours) in same.items():
        if theirs != ours:
            raise InputError(f"The start has another {what} ({theirs}) than this run ({ours}).")


def _check_features_differ(problem: PairwiseLearning) -> None:
    """Raise `InputError` if all rows are the same but for labels, so that pairs have no
    features."""
    loss, data = problem.loss, problem.data
    columns = data[:, :-1] if data.ndim == 2 and data.shape[1] > 1 else data
    if isinstance(loss, Loss) and not np.ptp(columns, axis=0).any():
        rows = np.unique(data, axis=0)[:64]
        nodes, partners = (index.ravel() for index in np.indices((len(rows), len(rows))))
        if not loss.pairs(rows[nodes], rows[partners])[0].any():
            raise InputError(_NOTHING_TO_LEARN)


_NOTHING_TO_LEARN = "The features do not differ within any pair: there is nothing to learn."


def _paper_step(problem: PairwiseLearning, proximal: Proximal) -> Any:
    """Return R/(L sqrt(t)): the radius of the ball (1 without one), the Lipschitz constant."""
    radius = proximal.radius if math.isfinite(proximal.radius) else 1.0
    steepest = problem.steepest(radius, problem.n)
    if steepest == 0:
        raise InputError(_NOTHING_TO_LEARN)
    if not math.isfinite(steepest):
        raise InputError(
            f"Loss '{problem.loss.name}' has no finite Lipschitz constant to choose a step size "
            "by: give {argument}.",
            "step",
        )
    return inverse_sqrt(radius / steepest)
