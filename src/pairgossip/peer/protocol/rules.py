"""The local update of a node once it holds another's record and the mean of two masses.

Each rule is the local half of an algorithm of `pairgossip.algorithms`, which simulations run whole.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from pairgossip.algorithms import gosta_async, weighted_gosta
from pairgossip.algorithms.descent import adaptive_dual_averaging, gossip_dual_averaging_async
from pairgossip.algorithms.descent.adaptive_dual_averaging import MetricMap
from pairgossip.algorithms.descent.dual_averaging import ProximalMap
from pairgossip.algorithms.descent.gossip_dual_averaging_async import StepSize
from pairgossip.arrays import FloatArray, IntArray
from pairgossip.inference import row_products
from pairgossip.kernels import Combination, Kernel
from pairgossip.kernels.kernel import evaluate
from pairgossip.losses import GeneralLoss, Loss
from pairgossip.losses.learning import both_orders

if TYPE_CHECKING:
    from pairgossip.privacy import DebiasedKernel, DebiasedLoss


Numbers = tuple[float, ...]
_LARGEST = 1e150
"""Largest plausible number in a mass, far beyond honest ones; squares of larger ones overflow."""


class Rule(Protocol):
    """The local update of a node."""

    @property
    def sizes(self) -> tuple[int, int]:
        """The lengths of the mass and of the private part, whose last number counts updates."""

    def begin(self) -> tuple[Numbers, Numbers]:
        """Return the mass and the private part of a node that has met nobody."""

    def update(
        self, mass: Numbers, private: Numbers, own: Numbers, other: Numbers, is_own: bool
    ) -> tuple[Numbers, Numbers]:
        """Return both parts with the pair of the node's own row and the other one folded in."""

    def is_plausible(self, mass: Numbers) -> bool:
        """Return whether a neighbor can honestly have this mass."""

    def readout(self, mass: Numbers, private: Numbers) -> FloatArray:
        """Return a node's estimate of a statistic's components, or its model; NaN before one."""


class _Zeros:
    """The common part of rules that begin with zeros and have masses of a fixed length."""

    sizes: tuple[int, int]

    def begin(self) -> tuple[Numbers, Numbers]:
        mass, private = self.sizes
        return (0.0,) * mass, (0.0,) * private

    def is_plausible(self, mass: Numbers) -> bool:
        return len(mass) == self.sizes[0] and all(abs(entry) <= _LARGEST for entry in mass)


@dataclass(frozen=True)
class StatisticRule(_Zeros):
    """The common part of rules that estimate: the kernel's values of a pair, and products of rows.

    A mass has the numbers for the averages, then the products for the sampling error: see
    `row_products`. The private part has the means over a node's visits, and their number.
    """

    kernel: Kernel | Combination
    scale: float = 1.0
    counts_own: bool = True
    """Whether a row paired with itself counts, as in the V-statistic."""
    debiased: DebiasedKernel | None = None
    """The kernel as a function of reports, which rows are under privacy; None otherwise."""

    @property
    def averaged(self) -> int:
        """The number of entries of the mass that give the averages."""
        raise NotImplementedError

    def _fold(self, averaged: FloatArray, visits: int, value: FloatArray) -> FloatArray:
        """Fold the pair's value into the entries that give the averages."""
        raise NotImplementedError

    @property
    def sizes(self) -> tuple[int, int]:  # type: ignore[override]
        """The lengths of averages and products, and of the means and the count of visits."""
        components = len(self.kernel.components)
        return self.averaged + row_products.numbers_per_node(components), 2 * components + 1

    def update(
        self, mass: Numbers, private: Numbers, own: Numbers, other: Numbers, is_own: bool
    ) -> tuple[Numbers, Numbers]:
        """Fold in the pair, and bring the products of the node's own row up to date."""
        value = self.values(own, other, is_own)
        both = 2 * value
        if not (is_own or self.kernel.symmetric):
            both = value + self.values(other, own, False)
        after, change = row_products.local_update(np.array(private), both)
        averaged, products = np.array(mass[: self.averaged]), np.array(mass[self.averaged :])
        folded = self._fold(averaged, int(after[-1]), value)
        return (*folded.tolist(), *(products + change).tolist()), tuple(after.tolist())

    def values(self, own: Numbers, other: Numbers, is_own: bool) -> FloatArray:
        """Return the kernel of one pair, component by component."""
        components = self.kernel.components
        if is_own and not self.counts_own:
            return np.zeros(len(components))
        if self.debiased is not None:
            # A report and itself are not independent: its own pair is debiased once, not twice.
            kernel, report = self.debiased, _reports(own)
            both = kernel.own(report) if is_own else kernel.values(report, _reports(other))
            return self.scale * both[0]
        first, second = _block(own), _block(other)
        return self.scale * np.array(
            [evaluate(component, first, second)[0] for component in components]
        )

    def is_plausible(self, mass: Numbers) -> bool:
        """Return whether a neighbor can honestly have this mass; products may be squares."""
        averaged, products = mass[: self.averaged], mass[self.averaged :]
        return (
            len(mass) == self.sizes[0]
            and all(abs(entry) <= _LARGEST for entry in averaged)
            and all(abs(entry) <= _LARGEST**2 for entry in products)
        )


@dataclass(frozen=True)
class PaperMixing(StatisticRule):
    """GoSta-async as in the paper: estimates are averaged, each node counts its own picks."""

    @property
    def averaged(self) -> int:
        """The number of estimates."""
        return len(self.kernel.components)

    def _fold(self, averaged: FloatArray, visits: int, value: FloatArray) -> FloatArray:
        """Fold the pair into the average with weight one over the picks."""
        return gosta_async.local_update(averaged, np.array([visits]), value)

    def readout(self, mass: Numbers, private: Numbers) -> FloatArray:
        """Return the estimates, NaN before the first pick."""
        estimates = np.array(mass[: self.averaged])
        return estimates if private[-1] else np.full(len(estimates), np.nan)


@dataclass(frozen=True)
class WeightedMixing(StatisticRule):
    """Averages of sums and weights, to which frozen and restarted peers do no lasting harm."""

    weight: float = 1.0
    """The inverse of the rate at which the node is picked, in a unit that all members share."""

    @property
    def averaged(self) -> int:
        """The number of weighted sums, and one for the weight."""
        return len(self.kernel.components) + 1

    def _fold(self, averaged: FloatArray, visits: int, value: FloatArray) -> FloatArray:
        """Add the pair and its weight."""
        return weighted_gosta.local_update(averaged, self.weight, value)

    def is_plausible(self, mass: Numbers) -> bool:
        """Return whether a neighbor can honestly have this mass; weights are never negative."""
        return super().is_plausible(mass) and mass[self.averaged - 1] >= 0.0

    def readout(self, mass: Numbers, private: Numbers) -> FloatArray:
        """Return the sums over the weight, NaN before there is any."""
        return weighted_gosta.readout(np.array(mass[: self.averaged]))


@dataclass(frozen=True)
class DualAveraging(_Zeros):
    """Asynchronous gossip dual averaging: accumulated gradients are averaged."""

    loss: Loss | GeneralLoss
    dimension: int
    prox: ProximalMap
    gamma: StepSize
    probability: float
    """The mean number of picks of the node per ring of a link; steps are capped at the step of the
    first such unit of time."""
    debiased: DebiasedLoss | None = None
    """The loss as a function of reports, which rows are under privacy; None otherwise."""

    @property
    def sizes(self) -> tuple[int, int]:  # type: ignore[override]
        """The lengths of the accumulator, and of model, mean model and picks together."""
        return self.dimension, 2 * self.dimension + 1

    def update(
        self, mass: Numbers, private: Numbers, own: Numbers, other: Numbers, is_own: bool
    ) -> tuple[Numbers, Numbers]:
        """Take a step on the pair."""
        p = self.dimension
        theta, mean = np.array(private[:p]), np.array(private[p : 2 * p])
        node = gossip_dual_averaging_async.Node(np.array(mass), theta, mean, int(private[-1]))
        gradient = self._gradient(theta[None, :], own, other, is_own)[0]
        after = gossip_dual_averaging_async.local_step(
            node, gradient, self.probability, self.prox, self.gamma
        )
        private = (*after.theta.tolist(), *after.mean.tolist(), float(after.picks))
        return tuple(after.z.tolist()), private

    def _gradient(
        self, theta: FloatArray, own: Numbers, other: Numbers, is_own: bool
    ) -> FloatArray:
        if self.debiased is None:
            return self.loss.gradient(theta, _block(own), _block(other))
        if is_own:
            return self.debiased.own(theta, _reports(own))
        return self.debiased.gradient(theta, _reports(own), _reports(other))

    def readout(self, mass: Numbers, private: Numbers) -> FloatArray:
        """Return the mean model, NaN before the first pick."""
        mean = np.array(private[self.dimension : 2 * self.dimension])
        return mean if private[-1] else np.full(self.dimension, math.nan)


@dataclass(frozen=True)
class AdaptiveAveraging(_Zeros):
    """The adaptive step: gradients, their squares, squared features and a count are averaged."""

    loss: Loss | GeneralLoss
    dimension: int
    prox: MetricMap
    scale: float
    weight: float
    """The inverse of the rate at which the node is picked, in a unit that all members share."""

    @property
    def sizes(self) -> tuple[int, int]:  # type: ignore[override]
        """The lengths of the sums z, s, d and m together, and of model and picks."""
        return 3 * self.dimension + 1, self.dimension + 1

    def update(
        self, mass: Numbers, private: Numbers, own: Numbers, other: Numbers, is_own: bool
    ) -> tuple[Numbers, Numbers]:
        """Take a step on the pair, in both orders."""
        theta, weight = np.array([private[:-1]]), np.array([self.weight])
        parts = both_orders(self.loss, theta, _block(own), _block(other))
        sums = adaptive_dual_averaging.add(np.array([mass]), *parts, weight, weight**2)
        with np.errstate(over="ignore", invalid="ignore"):
            model = adaptive_dual_averaging.model(sums, self.prox, self.scale)
        # A liar's gradients may come with squares that make next to nothing of the metric. The
        # node must have finite margins after that, or it could exchange with nobody.
        theta = np.clip(model, -_LARGEST, _LARGEST)
        return tuple(sums[0].tolist()), (*theta[0].tolist(), private[-1] + 1)

    def is_plausible(self, mass: Numbers) -> bool:
        """Return whether a neighbor can honestly have this mass; all but z are never negative."""
        z, others = mass[: self.dimension], mass[self.dimension :]
        return (
            len(mass) == self.sizes[0]
            and all(abs(entry) <= _LARGEST for entry in z)
            and all(0.0 <= entry <= _LARGEST**2 for entry in others)
        )

    def readout(self, mass: Numbers, private: Numbers) -> FloatArray:
        """Return the model, NaN before the first pick."""
        model = np.array(private[:-1])
        return model if private[-1] else np.full(self.dimension, math.nan)


def _reports(row: Numbers) -> IntArray:
    """Return a report as debiased kernels take it; a liar's, within limits, may not be whole."""
    return np.array([[math.floor(entry) for entry in row]])


def _block(row: Numbers) -> FloatArray:
    """Return a row as kernels and losses take it: (1,) for one column, (1, d) for more."""
    return np.array(row) if len(row) == 1 else np.array([row])
