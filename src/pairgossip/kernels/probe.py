"""A first look at a kernel on a few pairs of the data, before any long work starts."""

from __future__ import annotations

import numpy as np

from pairgossip.arrays import BoolArray, FloatArray
from pairgossip.errors import InputError
from pairgossip.kernels.blocked import infinite_value
from pairgossip.kernels.kernel import Kernel, Ratio, evaluate

SAMPLE = 8
"""How many observations are paired with each other."""


def probe(kernel: Kernel | Ratio, data: FloatArray) -> None:
    """Raise `InputError` unless the kernel keeps its promises on a few pairs of the data.

    It must return one finite value per pair, depend on nothing but the pair, and be symmetric
    and zero at own pairs if it says so.
    """
    chosen = np.unique(np.linspace(0, len(data) - 1, SAMPLE).astype(np.intp))
    nodes, held = (index.ravel() for index in np.meshgrid(chosen, chosen, indexing="ij"))
    for component in kernel.components:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            values = evaluate(component, data[nodes], data[held])
            mirrored = evaluate(component, data[held], data[nodes])
            alone = evaluate(component, data[nodes[-1:]], data[held[-1:]])
        for index in np.flatnonzero(~np.isfinite(values))[:1]:
            raise infinite_value(component, int(nodes[index]), int(held[index]))
        _check_alone(component, values[-1], alone[0])
        _check_flags(component, values, mirrored, nodes == held)


def _check_alone(kernel: Kernel, in_block: np.float64, alone: np.float64) -> None:
    if not np.isclose(in_block, alone, rtol=1e-5, atol=1e-9):
        raise InputError(
            f"Kernel '{kernel.name}' gives the same pair {alone:g} alone and {in_block:g} among "
            f"others: each value must depend on its own pair only."
        )


def _check_flags(
    kernel: Kernel,
    values: FloatArray,
    mirrored: FloatArray,
    own: BoolArray,
) -> None:
    if kernel.zero_diagonal and np.any(values[own] != 0):
        raise InputError(
            f"Kernel '{kernel.name}' says zero_diagonal=True but h(x, x) is "
            f"{values[own][values[own] != 0][0]:g} for some x: set zero_diagonal=False."
        )
    if kernel.symmetric and not np.allclose(values, mirrored, rtol=1e-5, atol=1e-9):
        raise InputError(
            f"Kernel '{kernel.name}' says symmetric=True but h(x, y) and h(y, x) differ: "
            f"set symmetric=False."
        )
