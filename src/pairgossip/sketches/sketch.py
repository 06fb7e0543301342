"""Sketches that bound their statistic, and recipes that cut a sketch to rows."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol, runtime_checkable

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.errors import InputError
from pairgossip.kernels import CATALOG, AnyKernel, Formula, Pairs
from pairgossip.summaries.features.sketch import Sketch, formulas
from pairgossip.text import join_names


@runtime_checkable
class BracketingSketch(Sketch, Protocol):
    """A sketch whose mean also bounds the statistic."""

    def bracket(self, mean: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the ends of intervals that hold the statistic, if means (..., r) are exact."""


@runtime_checkable
class Recipe(Protocol):
    """A sketch that is still to be cut to a statistic and to where its rows lie."""

    def fit(self, pairs: Pairs) -> Sketch:
        """Return the sketch of this statistic; raise `InputError` if it is for another."""

    def flooded(self, pairs: Pairs) -> IntArray:
        """Return which rows' numbers all nodes must learn before they can sketch, one by one."""


def kernels_of(*sets: Collection[Formula]) -> tuple[str, ...]:
    """Name the kernels whose averages are all in one of these sets."""
    asked = {name: set(formulas(make())) for name, make in CATALOG.items()}
    return tuple(name for name in asked if any(asked[name] <= set(known) for known in sets))


def wrong_kernel(sketch: str, kernel: AnyKernel, known: tuple[str, ...]) -> InputError:
    """Build the error for a sketch that was given for another kernel."""
    names = join_names([f"'{name}'" for name in known])
    return InputError(
        f"Sketch '{sketch}' is for {names}, not for kernel '{kernel.name}': leave {{argument}} "
        "out, or use method 'tracking'.",
        "sketch",
    )
