"""What liars send instead of their values.

An attack is ``attack(z, liar, partner, clip, network)``, plain Python that numba compiles: ``z``
holds the honest values of all nodes, one number each or one row, ``clip`` is the largest difference
that moves the partner most. It returns what the liar sends instead of ``z[liar]``. Liars know
everything and collude. Engines cut what is sent at 1e100 either way, whose squares are numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pairgossip.arrays import BoolArray, IntArray

__all__ = ["Network", "constant", "dissensus", "inside_the_clip", "sign", "usual_distance"]

_PUSH = 10.0
"""How many times the pull of its honest neighbors a partner is pushed back by dissensus."""
_USUAL = 1.5
"""How many times the usual distance between neighbors passes unnoticed."""


class Network(NamedTuple):
    """What attacks know of the network."""

    is_liar: BoolArray
    indptr: IntArray
    indices: IntArray
    """Neighbors in compressed rows: k has ``indices[indptr[k]:indptr[k + 1]]``."""
    lie: Any
    """What a constant attack sends: one number, or one for each entry of a row of values."""


def constant(z: Any, liar: int, partner: int, clip: Any, network: Network) -> Any:
    """Send the same number always."""
    return network.lie + 0.0 * z[partner]


def sign(z: Any, liar: int, partner: int, clip: Any, network: Network) -> Any:
    """Send the own value with the other sign."""
    return -z[liar]


def inside_the_clip(z: Any, liar: int, partner: int, clip: Any, network: Network) -> Any:
    """Send what moves the partner most, always in the same direction."""
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
    """Return the clip where a method has none: 1.5 times the rms distance of honest neighbors."""
    total, count = 0.0 * z[partner], 0
    for at in range(network.indptr[partner], network.indptr[partner + 1]):
        other = network.indices[at]
        if not network.is_liar[other]:
            total += (z[other] - z[partner]) ** 2
            count += 1
    return _USUAL * (total / max(count, 1)) ** 0.5


ATTACKS: Mapping[str, Callable[..., Any]] = {
    "constant": constant,
    "sign": sign,
    "inside-the-clip": inside_the_clip,
    "dissensus": dissensus,
}
"""The built-in attacks, by name."""
