"""Sketches: features whose mean over all rows gives a pairwise statistic."""

from __future__ import annotations

from pairgossip.counts.layouts import find_kind
from pairgossip.errors import InputError
from pairgossip.kernels import AnyKernel
from pairgossip.sketches.bins import Bins
from pairgossip.sketches.moments import Moments
from pairgossip.sketches.order import TwoWayBins
from pairgossip.sketches.sketch import BracketingSketch, Recipe, Sketch
from pairgossip.sketches.smooth import Chebyshev, Directions

__all__ = [
    "Bins",
    "BracketingSketch",
    "Chebyshev",
    "Directions",
    "Moments",
    "Recipe",
    "Sketch",
    "TwoWayBins",
    "default_sketch",
]

_DEFAULTS: dict[str, Recipe] = {
    "spread": Moments(),
    "column": Bins(),
    "scores": Bins(),
    "order": TwoWayBins(),
    "distance": Directions(),
}
"""The default sketch for each kind of cells, from which kernels are computed."""


def default_sketch(kernel: AnyKernel) -> Recipe:
    """Return the sketch of a built-in kernel, or raise `InputError` naming the alternatives."""
    kind = find_kind(kernel)
    if kind is None:
        raise InputError(
            f"Kernel '{kernel.name}' has no sketch: use method 'tracking' (any kernel, messages as "
            "long as GoSta's) or 'collect' (exact, all rows to all nodes), or in Python give "
            "sketch= a sketch of your own, such as pg.sketches.Chebyshev(12) for a smooth kernel."
        )
    return _DEFAULTS[kind]
