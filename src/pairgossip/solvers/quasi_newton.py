"""L-BFGS for many nodes at once, each with its own iterates, and for penalties with kinks.

Every node runs the same computation on its own numbers. A step minimizes a quadratic model of the
smooth part, with the curvature seen in the last steps, plus the exact penalty.

The solver's features run from -1 to 1, so its coordinate q is theta_q times half the range of
feature q. A squared penalty is part of the smooth objective; all else is a proximal map.
"""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.losses import Proximal, SquaredL2
from pairgossip.losses.proximal import Combined, Unconstrained
from pairgossip.solvers.moments import Metric

_MEMORY = 10
_SUFFICIENT_DECREASE = 1e-4
"""The least decrease of a step, relative to the predicted one."""
_SHRINKAGE = 0.35
"""The factor of a step's length after a step that does not decrease the objective enough."""
_LEAST_STEP = 1e-10
"""The least length of a step, relative to a full one; shorter ones are not shortened further."""
_MOST_SLOPE_LEFT, _GROWTH = 0.5, 8.0
"""A step was too short if more than this part of the slope is left and it met no curvature; the
next one is this many times longer."""
_INNER_STEPS, _INNER_ACCURACY = 500, 1e-10
"""The largest number of steps of the local subproblem, and its relative accuracy."""
_LARGEST_STRENGTH = 1e300
"""The largest strength of a squared penalty per coordinate; larger ones would overflow."""


class Penalty:
    """A penalty or constraint of theta = w / half, in the coordinates w."""

    def __init__(self, proximal: Proximal, half: FloatArray) -> None:
        self._proximal, self._half = proximal, half

    def cost(self, w: FloatArray) -> FloatArray:
        """Return psi of models (n, d), shape (n,)."""
        return self._proximal.psi(self._proximal.project(w / self._half))

    def step(self, target: FloatArray, rates: FloatArray) -> FloatArray:
        """Return argmin of sum_q (w_q - target_q)^2 / (2 rate_q) + psi(w / half)."""
        metric = self._half**2 / rates
        z = -metric * (target / self._half)
        return self._half * self._proximal.map_in_metric(z, metric, np.ones(len(target)))


def split_penalty(proximal: Proximal, half: FloatArray) -> tuple[FloatArray, Penalty | None]:
    """Return the strength of a squared penalty per coordinate, and the rest, if any."""
    rest: Proximal | None = proximal
    strength = 0.0
    if isinstance(proximal, Combined) and isinstance(proximal.penalty, SquaredL2):
        strength, rest = proximal.penalty.strength, proximal.constraint
    elif isinstance(proximal, SquaredL2):
        strength, rest = proximal.strength, None
    elif isinstance(proximal, Unconstrained):
        rest = None
    with np.errstate(over="ignore"):  # where a feature is nearly constant, its penalty is infinite
        squared = np.minimum(strength / half / half, _LARGEST_STRENGTH)
    return squared, None if rest is None else Penalty(rest, half)


class Evaluation(NamedTuple):
    """The nodes' models, and the smooth objective and its gradient there."""

    theta: FloatArray
    value: FloatArray
    gradient: FloatArray


class _Secant(NamedTuple):
    """A step and the change of the gradient along it; zeros where a node made none."""

    s: FloatArray
    y: FloatArray
    product: FloatArray
    """s . y, or 1 where there is none."""


class QuasiNewton:
    """L-BFGS: ask `propose` for the next models, evaluate them, and `advance`.

    Parameters
    ----------
    first
        The models to start from, evaluated.
    metric
        The curvature to begin with.
    penalty
        The part of the objective that is not smooth; None where all of it is.
    slack
        The relative error of values; a smaller increase does not count as one.
    """

    def __init__(
        self, first: Evaluation, metric: Metric, penalty: Penalty | None, slack: float
    ) -> None:
        self.best = first
        self._metric, self._penalty, self._slack = metric, penalty, slack
        self._secants: list[_Secant] = []
        self._direction = np.zeros_like(first.theta)
        self.length = np.ones(len(first.theta))
        """The length of each node's proposed step, relative to a full step."""
        self._slope = np.zeros(len(first.theta))
        self._scale = np.ones(len(first.theta))
        self.is_steep = np.ones(len(first.theta), dtype=bool)
        """Whether the last step could have been longer; True before the first."""
        self._aim()

    @property
    def objective(self) -> FloatArray:
        """The objective of each node's best model, penalty included."""
        return self.best.value + self._cost(self.best.theta)

    @property
    def promised(self) -> FloatArray:
        """The gain that the model predicts for a full step; it falls to 0 at the optimum."""
        return -self._slope

    def propose(self) -> FloatArray:
        """Return the next models to evaluate, shape (n, d)."""
        return self.best.theta + self.length[:, None] * self._direction

    def advance(self, tried: Evaluation, metric: Metric | None = None) -> QuasiNewton:
        """Return the solver after this evaluation, with a better metric; do not change this one."""
        ahead = copy(self)
        ahead._secants = list(self._secants)
        ahead._accept(tried, metric)
        return ahead

    def _accept(self, tried: Evaluation, metric: Metric | None) -> None:
        """Take the models that are better; shorten the step of the other nodes."""
        before, after = self.objective, tried.value + self._cost(tried.theta)
        allowed = (
            before + _SUFFICIENT_DECREASE * self.length * self._slope + self._slack * np.abs(before)
        )
        better = after <= allowed
        if better.all():
            self._metric = metric or self._metric
            self._learn(tried, better)
            self.best = tried
            self._aim()
            return
        worse = ~better & (self.length > _LEAST_STEP)
        self.length = _where(worse, _SHRINKAGE * self.length, self.length)
        if not better.any():
            return
        self._learn(tried, better)
        keep = better[:, None]
        self.best = Evaluation(
            _where(keep, tried.theta, self.best.theta),
            _where(better, tried.value, self.best.value),
            _where(keep, tried.gradient, self.best.gradient),
        )
        direction, length = self._direction, self.length
        self._aim()
        self._direction = _where(keep, self._direction, direction)
        self.length = _where(better, self.length, length)
        self._slope = self._predict()

    def _learn(self, tried: Evaluation, better: Any) -> None:
        """Store the change of the gradient, where it is that of a convex function."""
        s, y = tried.theta - self.best.theta, tried.gradient - self.best.gradient
        product, size = _dot(s, y), _dot(s, s) * _dot(y, y)
        known = better & (product > 1e-10 * np.sqrt(size)) & (product > 0)
        secant = _Secant(s, y, product)
        if not known.all():
            keep = known[:, None]
            secant = _Secant(
                _where(keep, s, 0.0), _where(keep, y, 0.0), _where(known, product, 1.0)
            )
        self._secants.append(secant)
        del self._secants[:-_MEMORY]
        inner = _dot(y, self._metric.solve(y))
        ratio = np.divide(product, inner, out=np.ones(len(inner)), where=inner > 0)
        # Where steps meet no curvature, as between the kinks of a hinge, they are too short. Noise
        # of averages looks the same along the step, but changes the gradient as a whole.
        before = self.best.gradient
        left = product < (_MOST_SLOPE_LEFT - 1.0) * _dot(before, s)
        flat = ~known & left & (_dot(y, y) < _MOST_SLOPE_LEFT**2 * _dot(before, before))
        self._scale = _where(known, ratio, _where(better & flat, _GROWTH, 1.0) * self._scale)
        self.is_steep = np.where(better, flat, self.is_steep)

    def _aim(self) -> None:
        """Set the direction by the model of the objective at the best point."""
        self.length = np.ones(len(self.best.theta))
        if self._penalty is None:
            self._direction = -self._inverse_times(self.best.gradient)
        else:
            self._direction = self._minimize_model(self._penalty) - self.best.theta
        self._slope = self._predict()

    def _predict(self) -> FloatArray:
        """Return the change of the objective predicted for a full step, to first order."""
        change = _dot(self.best.gradient, self._direction)
        if self._penalty is None:
            return np.minimum(change, 0.0)
        ahead = self._cost(self.best.theta + self._direction)
        return np.minimum(change + ahead - self._cost(self.best.theta), 0.0)

    def _cost(self, theta: FloatArray) -> FloatArray:
        return np.zeros(len(theta)) if self._penalty is None else self._penalty.cost(theta)

    def _inverse_times(self, gradient: FloatArray) -> FloatArray:
        """Return the inverse of the curvature times a gradient, by the two loops of L-BFGS."""
        q, shares = gradient, []
        for s, y, product in reversed(self._secants):
            shares.append(_dot(s, q) / product)
            q = q - shares[-1][:, None] * y
        r = self._scale[:, None] * self._metric.solve(q)
        for (s, y, product), share in zip(self._secants, reversed(shares), strict=True):
            r = r + (share - _dot(y, r) / product)[:, None] * s
        return r

    def _minimize_model(self, penalty: Penalty) -> FloatArray:
        """Return the minimum of the quadratic model plus the penalty, by FISTA, without messages.

        Rates are the inverse of the curvature's diagonal, divided by a bound on its largest
        eigenvalue in units of the diagonal.
        """
        curvature = _Curvature(self._metric, self._scale, self._secants)
        start, gradient = self.best.theta, self.best.gradient
        rates = 1.0 / (curvature.steepest(start.shape) * curvature.diagonal(start.shape))
        theta = before = start
        momentum = 1.0
        for _ in range(_INNER_STEPS):
            faster = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
            ahead = theta + (momentum - 1.0) / faster * (theta - before)
            slope = gradient + curvature.times(ahead - start)
            before, theta = theta, penalty.step(ahead - rates * slope, rates)
            if (_dot(theta - ahead, theta - before) < 0).any():
                faster = 1.0  # it went past the minimum: begin anew
            momentum = faster
            moved = np.abs(theta - before).max(axis=1)
            if (moved <= _INNER_ACCURACY * np.abs(theta - start).max(axis=1)).all():
                break
        return theta


class _Curvature:
    """The matrix whose inverse L-BFGS applies, by its compact form (Byrd, Nocedal, Schnabel)."""

    def __init__(self, metric: Metric, scale: FloatArray, secants: list[_Secant]) -> None:
        self._metric, self._scale = metric, scale
        self._columns = self._inverse = None
        if secants:
            s, y = (np.stack([getattr(k, name) for k in secants], axis=1) for name in "sy")
            based = np.stack([self._base(k.s) for k in secants], axis=1)
            products = np.einsum("nad,nbd->nab", s, y)
            lower, kept = np.tril(products, -1), np.stack([k.product for k in secants], axis=1)
            corner = np.einsum("nad,nbd->nab", s, based)
            missing = np.abs(s).max(axis=2) == 0
            corner = corner + np.eye(len(secants)) * missing[:, :, None]
            diagonal = np.eye(len(secants)) * kept[:, :, None]
            middle = np.concatenate(
                [
                    np.concatenate([corner, lower], axis=2),
                    np.concatenate([lower.transpose(0, 2, 1), -diagonal], axis=2),
                ],
                axis=1,
            )
            self._columns = np.concatenate([based, y], axis=1)
            self._inverse = np.linalg.inv(middle)

    def _base(self, v: FloatArray) -> FloatArray:
        return self._metric.times(v) / self._scale[:, None]

    def times(self, v: FloatArray) -> FloatArray:
        """Return the matrix times v."""
        if self._columns is None or self._inverse is None:
            return self._base(v)
        along = np.einsum("nad,nd->na", self._columns, v)
        solved = np.einsum("nab,nb->na", self._inverse, along)
        return self._base(v) - np.einsum("na,nad->nd", solved, self._columns)

    def diagonal(self, shape: tuple[int, ...]) -> FloatArray:
        """Return the diagonal, kept above rounding."""
        diagonal = self._metric.diagonal() / self._scale[:, None]
        if self._columns is not None and self._inverse is not None:
            diagonal = diagonal - np.einsum(
                "nad,nab,nbd->nd", self._columns, self._inverse, self._columns
            )
        least = 1e-8 * diagonal.max(axis=1, keepdims=True)
        return np.broadcast_to(np.maximum(diagonal, _where(least > 0, least, 1.0)), shape)

    def steepest(self, shape: tuple[int, ...]) -> FloatArray:
        """Return a bound of the largest eigenvalue in units of the diagonal, shape (n, 1)."""
        root = 1.0 / np.sqrt(self.diagonal(shape))
        v, size = np.ones(shape) + 0.1 * np.cos(np.arange(shape[1])), np.ones(shape[0])
        for _ in range(30):
            v = v / np.maximum(np.linalg.norm(v, axis=1), 1e-300)[:, None]
            v = root * self.times(root * v)
            size = np.linalg.norm(v, axis=1)
        return 1.2 * np.maximum(size, 1e-12)[:, None]


def _where(keep: Any, one: Any, other: Any) -> FloatArray:
    return np.asarray(np.where(keep, one, other))


def _dot(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.asarray(np.vecdot(a, b))
