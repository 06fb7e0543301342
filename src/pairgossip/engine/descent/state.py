"""What defines a run of gossip dual averaging, and its state at one moment."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.losses.learning import PairwiseLearning
from pairgossip.losses.proximal import Proximal, ProximalCode

Steps = Callable[[FloatArray], FloatArray]
L1_CODES = (ProximalCode.L1, ProximalCode.L1_BALL, ProximalCode.L1_BOX)


class Descent(NamedTuple):
    """What defines a run of gossip dual averaging besides its exchanges."""

    problem: PairwiseLearning
    proximal: Proximal
    steps: Steps
    clock: str
    probabilities: FloatArray
    """p_k: how often node k is picked."""


class Snapshot(NamedTuple):
    """A network's state at one moment; ``mean`` holds the averaged models."""

    held: IntArray
    z: FloatArray
    theta: FloatArray
    mean: FloatArray
    picks: IntArray
    """How often each node was picked; zeros where the clock is global."""


def limits_of(proximal: Proximal) -> tuple[float, float, float, float, float]:
    """The numbers compiled code needs: l1 and l2 strengths, radius, and the ends of the box."""
    is_l1 = proximal.code in L1_CODES
    return (
        float(proximal.strength) if is_l1 else 0.0,
        0.0 if is_l1 else float(proximal.strength),
        float(proximal.radius),
        float(proximal.low),
        float(proximal.high),
    )
