"""Attacks: the numbers that liars send instead of their values.

An attack is ``attack(z, liar, partner, clip, network)``, plain Python that numba compiles: ``z``
holds the honest values of all nodes, one number each or one row, ``clip`` is the largest difference
that moves the partner most. It returns the value that the liar sends instead of ``z[liar]``. Liars
know everything and collude. Engines cut lies to +-1e100, whose squares do not overflow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pairgossip.arrays import BoolArray, IntArray

__all__ = ["Network", "constant", "dissensus", "inside_the_clip", "sign", "usual_distance"]

_PUSH = 10.0
"""The push of dissensus, in pulls of the partner's honest neighbors."""
_USUAL_FACTOR = 1.5
"""The distance that passes unnoticed, in usual distances between neighbors."""


class Network(NamedTuple):
    """The network, as attacks see it."""

    is_liar: BoolArray
    indptr: IntArray
    indices: IntArray
    """Neighbors in compressed rows: k has ``indices[indptr[k]:indptr[k + 1]]``."""
    lie: Any
    """The lie of a constant attack: one number, or one for each entry of a row of values."""


def constant(z: Any, liar: int, partner: int, clip: Any, network: Network) -> Any:
    """Always send the same number."""
    return network.lie + 0.0 * z[partner]


def sign(z: Any, liar: int, partner: int, clip: Any, network: Network) -> Any:
    """Send the liar's own value with the opposite sign."""
    return -z[liar]


def inside_the_clip(z: Any, liar: int, partner: int, clip: Any, network: Network) -> Any:
    """Send the value that moves the partner most, always in the same direction."""
    return z[partner] + clip


def dissensus(z: Any, liar: int, partner: int, clip: Any, network: Network) -> Any:
    """Push the partner away from its honest neighbors (He, Karimireddy and Jaggi, 2022)."""
    pull = 0.0 * z[partner]
    for at in range(network.indptr[partner], network.indptr[partner + 1]):
        other = network.indices[at]
        if not network.is_liar[other]:
            pull += z[other] - z[partner]
    return z[partner] - _PUSH * pull


def usual_distance(z: Any, partner: int, network: Network) -> Any:
    """Return a clip for methods without one: 1.5 times the rms distance of honest neighbors."""
    total, count = 0.0 * z[partner], 0
    for at in range(network.indptr[partner], network.indptr[partner + 1]):
        other = network.indices[at]
        if not network.is_liar[other]:
            total += (z[other] - z[partner]) ** 2
            count += 1
    return _USUAL_FACTOR * (total / max(count, 1)) ** 0.5


ATTACKS: Mapping[str, Callable[..., Any]] = {
    "constant": constant,
    "sign": sign,
    "inside-the-clip": inside_the_clip,
    "dissensus": dissensus,
}
"""The built-in attacks, by name."""
