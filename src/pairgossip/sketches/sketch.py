"""Recipes that cut a sketch to rows."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol, runtime_checkable

from pairgossip.arrays import IntArray
from pairgossip.errors import InputError
from pairgossip.kernels import CATALOG, AnyKernel, Formula, Pairs
from pairgossip.summaries.features.sketch import Sketch, formulas
from pairgossip.text import join_names


@runtime_checkable
class Recipe(Protocol):
    """A sketch that is still to be cut to a statistic and to where its rows lie."""

    def fit(self, pairs: Pairs) -> Sketch:
        """Return the sketch of this statistic; raise `InputError` if it is for another."""

    def flooded(self, pairs: Pairs) -> IntArray:
        """Return which rows' numbers all nodes must learn before they can sketch, one by one."""


def check_kernel(recipe: Recipe, kernel: AnyKernel, *sets: Collection[Formula]) -> None:
    """Raise `InputError` unless the averages of a kernel are all in one of these sets."""
    if not any(set(formulas(kernel)) <= set(known) for known in sets):
        asked = {name: set(formulas(make())) for name, make in CATALOG.items()}
        names = (name for name in asked if any(asked[name] <= set(known) for known in sets))
        raise wrong_kernel(recipe, kernel, *names)


def wrong_kernel(recipe: Recipe, kernel: AnyKernel, *known: str) -> InputError:
    """Build the error for a sketch that was given for another kernel."""
    names = join_names([f"'{name}'" for name in known])
    return InputError(
        f"Sketch '{type(recipe).__name__}' is for {names}, not for kernel '{kernel.name}': leave "
        "{argument} out, or use method 'tracking'.",
        "sketch",
    )
