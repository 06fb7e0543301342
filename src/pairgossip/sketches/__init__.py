"""Sketches: features whose mean over all rows tells a pairwise statistic."""

from __future__ import annotations

from pairgossip.errors import InputError
from pairgossip.kernels import AnyKernel, Formula
from pairgossip.kernels.builtin.spread import DISTANCE, SCATTER_SQUARED, VARIANCE
from pairgossip.sketches.bins import OF_ONE_COLUMN, OF_SCORES, Bins
from pairgossip.sketches.moments import Moments
from pairgossip.sketches.sketch import BracketingSketch, Recipe, Sketch, formulas
from pairgossip.sketches.smooth import Chebyshev, Directions
from pairgossip.sketches.tables import OF_ORDER, OF_SURVIVAL, TwoWayBins

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

_DEFAULTS: tuple[tuple[frozenset[Formula], Recipe], ...] = (
    (frozenset({VARIANCE}), Moments()),
    (frozenset({SCATTER_SQUARED}), Moments()),
    (OF_ONE_COLUMN, Bins()),
    (OF_SCORES, Bins()),
    (OF_ORDER, TwoWayBins()),
    (OF_SURVIVAL, TwoWayBins()),
    (frozenset({DISTANCE}), Directions()),
)
"""The default sketch for each set of kernels."""


def default_sketch(kernel: AnyKernel) -> Recipe:
    """Return the sketch of a built-in kernel, or raise `InputError` naming the alternatives."""
    asked = set(formulas(kernel))
    known = next((recipe for told, recipe in _DEFAULTS if asked <= told), None)
    if known is None:
        raise InputError(
            f"Kernel '{kernel.name}' has no sketch: use method 'tracking' (any kernel, messages as "
            "long as GoSta's) or 'collect' (exact, all rows to all nodes), or in Python give "
            "sketch= a sketch of your own, such as pg.sketches.Chebyshev(12) for a smooth kernel."
        )
    return known
