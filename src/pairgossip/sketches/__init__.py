"""Sketches: features whose mean over all rows tells a pairwise statistic."""

from __future__ import annotations

from pairgossip.errors import InputError
from pairgossip.kernels import Combination, Formula, Kernel
from pairgossip.sketches.bins import Bins
from pairgossip.sketches.moments import Moments
from pairgossip.sketches.sketch import BracketingSketch, Recipe, Sketch, formulas
from pairgossip.sketches.smooth import Chebyshev, Directions
from pairgossip.sketches.tables import TwoWayBins

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

_DEFAULTS: dict[tuple[Formula, ...], Recipe] = {
    (Formula.VARIANCE,): Moments(),
    (Formula.SCATTER_SQUARED,): Moments(),
    (Formula.GINI,): Bins(),
    (Formula.AUC_ORDERED, Formula.AUC_COMPARED): Bins(),
    (Formula.KENDALL,): TwoWayBins(),
    (Formula.RANKING_RISK,): TwoWayBins(),
    (Formula.CONCORDANT, Formula.COMPARABLE): TwoWayBins(),
    (Formula.DISTANCE,): Directions(),
}


def default_sketch(kernel: Kernel | Combination) -> Recipe:
    """Return the sketch of a built-in kernel, or raise `InputError` naming the alternatives."""
    known = _DEFAULTS.get(formulas(kernel))
    if known is None:
        raise InputError(
            f"Kernel '{kernel.name}' has no sketch: use method 'tracking' (any kernel, messages as "
            "long as GoSta's) or 'collect' (exact, all rows to all nodes), or in Python give "
            "sketch= a sketch of your own, such as pg.sketches.Chebyshev(12) for a smooth kernel."
        )
    return known
