"""Minimize a loss of differences of scores from averages alone.

The solver is a generator without input or output: it yields the numbers to average, and is sent the
averages. So the same computation runs on simulated networks, for all nodes at once, and elsewhere.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.losses import Proximal
from pairgossip.losses.margins import Margin
from pairgossip.solvers.moments import GradeMoments, Metric, PairMoments
from pairgossip.solvers.quasi_newton import Evaluation, QuasiNewton, split_penalty
from pairgossip.solvers.scores import Agreement, ScoreRows, ScoreSketch, ends_of_rows

_LARGEST_PRODUCTS = 1 << 24
"""The largest number of feature products, over all nodes, with averaged second moments."""
_LONGEST_MESSAGE = 1 << 16
"""The largest count of numbers in one message: half a megabyte."""
_LEAST_LENGTH = 1e-4
"""The least length of a step, relative to a full one; the sketch's error hides shorter ones."""
_ROUNDING = 1e-9
"""The distance below 0 of a loss that is taken for rounding, relative to the zero model's loss."""
_DONE, _GO_ON, _REPEAT = 0.0, 1.0, 2.0
"""A node's wish for the next round; the largest decides."""
_LOCAL_STEPS = 200
"""The largest number of steps on a quadratic objective, which need no messages."""
_DIGITS_OF_ENDS = 20
"""The number of binary digits of the ends of ranges, where nodes compute apart."""
_FEW_FEATURES = 16
"""Up to this many features, the sum of a model's absolute entries is about the range of scores."""
_CURVATURE_FEATURES = 64
"""Up to this many features, the curvature is averaged with every gradient. Beyond, it is averaged
with the first only, as messages would be long and steps hardly better."""


class GradedRows(NamedTuple):
    """The rows of one node, or of all nodes of a simulated network."""

    features: FloatArray
    grades: IntArray
    """Grades from 0 up, whose order the model learns."""
    weights: FloatArray
    """The weight of each row, as if it occurred this often."""
    owner: IntArray | None
    """The node of each row, in order; None where all nodes know the same, so that one stands for
    all of them."""
    nodes: int
    """The number of nodes; 1 where one stands for all."""


class At(NamedTuple):
    """The models that nodes evaluate, and the range and order of the sketch of their scores."""

    models: FloatArray
    agreed: Agreement


class Averaging(NamedTuple):
    """A request for averages of sums over all nodes, and for the maxima of ``largest``.

    For sums that depend on models, ``at`` has the models. The answer may be another `At`: the
    models to evaluate instead.
    """

    sums: FloatArray
    largest: FloatArray
    at: At | None = None


class Agreeing(NamedTuple):
    """A request for the largest of the nodes' proposals; equal knowledge gives equal proposals."""

    proposals: FloatArray


class Round(NamedTuple):
    """A report of the nodes' state, after the first averages and after each evaluation."""

    models: FloatArray
    """The models in the features' own units, shape (k, d)."""
    objective: FloatArray
    """The objective as each node knows it, penalty included, shape (k,)."""
    gradient_error: float
    """The bound on the error of the slopes of pairs, relative to their mean."""
    promised: float
    """The largest predicted gain of the next step at a node, in units of the zero model's loss."""


Asking = Generator[Averaging | Agreeing | Round, Any, None]
_Asked = Generator[Averaging | Agreeing | Round, Any, Any]


def choose_moments(grades: int, dimension: int, nodes: int) -> GradeMoments:
    """Return the moments to average: all products of two features, unless there are too many."""
    products = grades * dimension * (dimension + 1) // 2
    full = products <= _LONGEST_MESSAGE and products * nodes <= _LARGEST_PRODUCTS
    return GradeMoments(grades, dimension, full)


@dataclass(eq=False)
class Solver:
    """A loss of differences of scores, minimized by L-BFGS on sketched gradients.

    Parameters
    ----------
    rows
        The rows, whose features are any finite numbers; they are scaled in place.
    grade_count
        The number of grades at all nodes together.
    phi
        The function of differences of scores.
    proximal
        Penalty and constraint of the model.
    tolerance
        The run ends when the predicted gain of a step is less than this part of the zero model's
        objective.
    slack
        The relative differences of values that averaging may cause.
    step
        Models are rounded to multiples of this, and ranges of scores are rounded too, so that
        nodes that compute apart agree; 0 for no rounding.
    is_sparing
        Whether to average as few numbers as will do: bins of scores have counts only, without the
        places in the bin, polynomials are of a low order, and no curvature is averaged.
    """

    rows: GradedRows
    grade_count: int
    phi: Margin
    proximal: Proximal
    tolerance: float
    slack: float
    step: float = 0.0
    is_sparing: bool = False

    @property
    def _dimension(self) -> int:
        return self.rows.features.shape[1]

    def run(self) -> Asking:
        """Yield requests for averages and reports of the nodes, until the model is optimal."""
        yield from self._scale_features()
        moments = yield from self._average_moments()
        squared, self._penalty = split_penalty(self.proximal, self._half)
        self._squared, self._moments = squared, moments
        self._zero = moments.weight * float(self.phi.value(np.zeros(1))[0])
        if self.phi.is_quadratic and moments.products.ndim == 3:
            yield self._report(self._minimize_quadratic(moments))
            return
        start = self.proximal.project(moments.start(self.phi, squared) / self._half)
        yield Round(start, np.full(len(start), np.nan), np.nan, np.inf)
        yield from self._descend(start * self._half)

    def _scale_features(self) -> _Asked:
        """Find the range of every feature over all nodes, and scale features to -1 to 1."""
        rows, d = self.rows, self._dimension
        ends = ends_of_rows(rows.features, rows.owner, rows.nodes)
        _, ends = yield Averaging(np.zeros((rows.nodes, 0)), ends)
        low, high = -ends[0, :d], ends[0, d:]
        middle, half = low / 2 + high / 2, high / 2 - low / 2
        self._half = np.where(half > 0, half, 1.0)
        features = rows.features  # scaled in place, so that ``rows`` has the scaled ones too
        features -= middle
        features /= self._half
        self._rows = ScoreRows(*rows, self.phi, self.grade_count, self.is_sparing)

    def _average_moments(self) -> _Asked:
        """Return the moments of pairs, and store the weight of all rows."""
        rows, d = self._rows, self._dimension
        layout = self._layout = choose_moments(self.grade_count, d, rows.nodes)
        sums = layout.add_up(rows.features, rows.grades, rows.weights, rows.owner, rows.nodes)
        means, _ = yield Averaging(sums, np.zeros((rows.nodes, 0)))
        shares = means.reshape(len(means), self.grade_count, -1)[..., 0]
        self._total = shares.sum(axis=1, keepdims=True)
        return layout.read(means / self._total)

    def _descend(self, models: FloatArray) -> _Asked:
        """Evaluate models and improve them until no node predicts a gain."""
        solver: QuasiNewton | None = None
        ahead: QuasiNewton | None = None
        known = _Known(models, (yield from self._find_range(models)), None, 0, 0.0, 0.0)
        state = np.full(len(models), _GO_ON)
        while True:
            proposals = self._propose(known, models, state)
            *agreed, decision = yield Agreeing(proposals)
            if decision != _REPEAT and ahead is not None:
                solver = ahead
                yield self._report(solver, known)
            if decision == _DONE:
                return
            at = known.models if decision == _REPEAT else models
            if self.step:
                at = np.rint(at / self.step) * self.step
            is_bent = solver is None or self._dimension <= _CURVATURE_FEATURES
            is_bent = is_bent and not self.is_sparing
            known, tried, bent = yield from self._evaluate(
                at,
                self._widen(Agreement(-agreed[0], agreed[1], int(agreed[2]))),
                self._layout if is_bent else None,
            )
            if solver is None:
                # Without moments the curvature is taken as the slope, as for the logistic loss.
                slopes = np.full(len(known.models), 2.0 * known.slope)
                bent = bent or self._moments.curvature(slopes, self._squared)
                ahead = QuasiNewton(tried, bent, self._penalty, self.slack)
            else:
                ahead = solver.advance(tried, bent)
            models = ahead.propose()
            gain = ahead.promised > self.tolerance * self._zero
            state = np.where(gain | (ahead.is_steep & (ahead.promised > 0)), _GO_ON, _DONE)
            state = np.where(ahead.length < _LEAST_LENGTH, _DONE, state)
            if self._is_too_coarse(known):
                state = np.full(len(models), _REPEAT)

    def _widen(self, agreed: Agreement) -> Agreement:
        """Round the ends of a range outward, where models are rounded too."""
        if not self.step:
            return agreed
        ends = np.array([-agreed.low, agreed.high])
        places = np.frexp(ends)[1] - _DIGITS_OF_ENDS
        low, high = np.ldexp(np.ceil(np.ldexp(ends, -places)), places).tolist()
        return Agreement(-low, high, agreed.order)

    def _find_range(self, models: FloatArray) -> _Asked:
        """Return the ends of the first scores; a few features bound them well enough."""
        if self._dimension <= _FEW_FEATURES:
            return np.full((len(models), 2), np.inf)
        rows = self._rows
        _, ends = yield Averaging(np.zeros((rows.nodes, 0)), rows.extremes(rows.scores(models)))
        return ends

    def _propose(self, known: _Known, models: FloatArray, state: FloatArray) -> FloatArray:
        """Return every node's proposal: the range and order of the next sketch, and its state."""
        at = np.where(state[:, None] == _REPEAT, known.models, models)
        reach = np.abs(at).sum(axis=1)
        moved = np.abs(at - known.models).sum(axis=1)
        ends = np.minimum(known.ends + moved[:, None], reach[:, None] * (1 + 1e-9) + 1e-300)
        order = self._choose_order(known._replace(ends=ends))
        return np.column_stack([ends, np.full(len(models), float(order)), state])

    def _is_too_coarse(self, known: _Known) -> bool:
        """Return whether slopes are too inexact, and a sketch of the known range can do better."""
        if known.error <= self.phi.tolerance:
            return False
        narrower = float(known.ends.sum(axis=1).max()) < known.width / 2
        return narrower or self._choose_order(known) > known.order

    def _choose_order(self, known: _Known) -> int:
        """Return the order that a sketch of scores in this range needs."""
        half = float(known.ends.sum(axis=1).max() / 2)
        return self._rows.choose_order(half, known.slope, known.order, known.error)

    def _evaluate(
        self, models: FloatArray, agreed: Agreement, layout: GradeMoments | None
    ) -> _Asked:
        """Evaluate models: return the range of scores, values, gradients and curvature."""
        rows, d = self._rows, self._dimension
        answer: Any = At(models, agreed)
        while isinstance(answer, At):
            models, agreed = answer
            scores = rows.scores(models)
            sketch = ScoreSketch(rows, scores, agreed)
            attached = np.zeros((len(models), 0)) if rows.owner is None else models
            sums = np.concatenate([sketch.add_up(), attached], axis=1)
            answer = yield Averaging(sums, rows.extremes(scores), answer)
        means, ends = answer
        first = means[:, : sketch.size] / self._total
        at = models if rows.owner is None else means[:, sketch.size :]
        means, _ = yield Averaging(sketch.weigh(first, layout), np.zeros((rows.nodes, 0)))
        means = means / self._total
        penalty = np.einsum("nd,d->n", at**2, self._squared)
        # A loss is never below 0: if it seems to be, scores are too far apart for the sketch.
        loss = np.where(means[:, d] < -_ROUNDING * self._zero, np.inf, means[:, d])
        value, gradient = loss + penalty, means[:, :d] + 2.0 * self._squared * at
        slope, error = means[:, d + 1], means[:, d + 2]
        relative = float(np.max(error / np.maximum(slope, 1e-300)))
        width = agreed.high - agreed.low
        known = _Known(at, ends, float(slope.min()), agreed.order, width, relative)
        metric = None
        if layout is not None:
            bent = means[:, d + 3 :]
            shares = bent.reshape(len(bent), self.grade_count, -1)[..., 0].sum(axis=1)
            metric = layout.read(bent).curvature(shares, self._squared)
        return known, Evaluation(at, value, gradient), metric

    def _minimize_quadratic(self, moments: PairMoments) -> QuasiNewton:
        """Return the minimum of the squared loss, which its moments determine."""

        def evaluate(theta: FloatArray) -> Evaluation:
            pull = np.einsum("nij,nj->ni", moments.products, theta) + self._squared * theta
            along = np.einsum("nd,nd->n", theta, pull - 2.0 * moments.apart)
            return Evaluation(theta, moments.weight + along, 2.0 * (pull - moments.apart))

        free = moments.solve_squared(self._squared)
        start = self.proximal.project(free / self._half) * self._half
        metric = Metric(2.0 * moments.products, 2.0 * self._squared)
        solver = QuasiNewton(evaluate(start), metric, self._penalty, 0.0)
        for _ in range(_LOCAL_STEPS if self._penalty is not None else 0):
            if (solver.promised <= 1e-3 * self.tolerance * self._zero).all():
                break
            solver = solver.advance(evaluate(solver.propose()))
        return solver

    def _report(self, solver: QuasiNewton, known: _Known | None = None) -> Round:
        models = solver.best.theta / self._half
        if self._penalty is not None:
            models = self.proximal.project(models)
        error = 0.0 if known is None else known.error
        return Round(models, solver.objective, error, float((solver.promised / self._zero).max()))


class _Known(NamedTuple):
    """The results of the nodes' last evaluation."""

    models: FloatArray
    ends: FloatArray
    """Minus the lowest and the highest score of all rows."""
    slope: float | None
    """The mean slope of a pair; None before the first evaluation."""
    order: int
    width: float
    """The range of scores agreed on before the evaluation, which may be much too wide."""
    error: float
    """The bound on the error of slopes, relative to the mean slope."""
