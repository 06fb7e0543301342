"""What losses ask of data and models beyond being numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.errors import InputError
from pairgossip.kernels.data import column_count


def check_columns(loss: str, columns: tuple[str, ...] | None, data: FloatArray) -> None:
    """Raise `InputError` unless the data has as many columns as the loss's names say."""
    if columns is None:
        return
    given, fewest = column_count(data), len(columns)
    open_ended = any(column.endswith("...") for column in columns)
    if given == fewest or (open_ended and given > fewest):
        return
    labeled = columns[-1] == "label" and given < fewest
    advice = "give the labels as the last column or as labels" if labeled else "give just those"
    raise InputError(
        f"Loss '{loss}' takes {fewest}{' or more' if open_ended else ''} columns "
        f"({', '.join(columns)}), but the data has {given}: {advice}."
    )


def check_two_classes(data: FloatArray) -> None:
    """Raise `InputError` unless the last column holds exactly two labels."""
    classes = np.unique(data[:, -1])
    _refuse_one_class(classes, "AUC loss")
    if len(classes) > 2:
        raise InputError(
            f"An AUC loss needs two classes, but the labels hold {len(classes)}: "
            f"use a ranking loss, such as 'ranking-logistic', for graded labels."
        )


def check_graded(data: FloatArray) -> None:
    """Raise `InputError` unless the last column holds at least two labels."""
    _refuse_one_class(np.unique(data[:, -1]), "ranking loss")


def check_several_classes(data: FloatArray) -> None:
    """Raise `InputError` unless some pairs are alike and others are not."""
    _refuse_one_class(np.unique(data[:, -1]), "metric-learning loss")


def _refuse_one_class(classes: FloatArray, kind: str) -> None:
    if len(classes) == 1:
        article = "An" if kind[0] == "A" else "A"
        raise InputError(
            f"{article} {kind} needs two classes, but the labels hold one class only "
            f"({classes[0]:g}): add observations of another class."
        )


def check_models(loss: str, models: FloatArray, dimension: int, rows: int | None = None) -> None:
    """Raise `InputError` unless models have the loss's dimension, and one per row if many."""
    if models.ndim not in (1, 2) or models.shape[-1] != dimension:
        raise InputError(
            f"A model for loss '{loss}' has {dimension} parameter{'s' * (dimension != 1)} here, "
            f"but got an array of shape {models.shape}: give shape ({dimension},) or one row each."
        )
    if rows is not None and models.ndim == 2 and len(models) != rows:
        raise InputError(
            f"Loss '{loss}' was given {len(models)} models for {rows} pairs: "
            f"give one model, or one per pair."
        )


def check_dimension(loss: str, measured: int, declared: int) -> None:
    """Raise `InputError` unless a loss returns rows of the dimension it declares."""
    if measured != declared:
        raise InputError(
            f"Loss '{loss}' returns rows of {measured} numbers but says that its dimension is "
            f"{declared}: correct the dimension."
        )


# A first look at a loss on a few pairs of the data, before any long work starts.


SAMPLE = 8
"""How many observations are paired with each other."""
GROSS = 0.05
"""How far a gradient may be from the difference quotient, relative to the larger of the two."""

ModelFunction = Callable[[FloatArray], FloatArray]


def sample_pairs(data: FloatArray) -> tuple[IntArray, IntArray]:
    """Pair a few observations, spread over the data, with each other."""
    chosen = np.unique(np.linspace(0, len(data) - 1, SAMPLE).astype(np.intp))
    nodes, held = np.meshgrid(chosen, chosen, indexing="ij")
    return nodes.ravel(), held.ravel()


def check_finite(name: str, parts: FloatArray, nodes: IntArray, held: IntArray) -> None:
    """Raise `InputError` if any pair's row of numbers is not finite."""
    for index in np.flatnonzero(~np.isfinite(parts.reshape(len(nodes), -1)).all(axis=1))[:1]:
        raise InputError(
            f"Loss '{name}' is NaN or infinite for observations {nodes[index]} and {held[index]} "
            f"(counting from 0): it must be finite for every pair."
        )


def check_alone(name: str, in_block: FloatArray, alone: FloatArray) -> None:
    """Raise `InputError` if a pair's numbers depend on the other pairs of its block."""
    if not np.allclose(in_block, alone, rtol=1e-5, atol=1e-9):
        raise InputError(
            f"Loss '{name}' treats the same pair differently alone and among others: "
            f"what it returns for a pair must depend on that pair only."
        )


def check_weights(name: str, weights: FloatArray) -> None:
    """Raise `InputError` if a weight is negative, which would make the loss concave."""
    if np.any(weights < 0):
        raise InputError(
            f"Loss '{name}' has a negative weight, {weights.min():g}, at some pair: "
            f"a pair's weight must be >= 0."
        )


def check_risk(name: str, claimed: FloatArray, mean: FloatArray, sizes: FloatArray) -> None:
    """Raise `InputError` if a closed form of the risk differs from means over all pairs."""
    for index in np.flatnonzero(~(np.abs(claimed - mean) <= 1e-5 * sizes + 1e-9))[:1]:
        raise InputError(
            f"Loss '{name}' has a closed form risk= that gives {claimed[index]:g} for a model "
            f"whose loss is {mean[index]:g} on average over a few rows: correct it, or leave it "
            f"out."
        )


def check_bounds(
    name: str, claimed: tuple[float, float], lengths: FloatArray, offsets: FloatArray
) -> None:
    """Raise `InputError` if pairs exceed the bounds that a loss says they have."""
    longest, lowest = claimed
    if not (lengths.max() <= longest * (1.0 + 1e-9) and offsets.min() >= lowest - 1e-9):
        raise InputError(
            f"Loss '{name}' has bounds= that say w ||a|| <= {longest:g} and b >= {lowest:g}, but "
            f"they reach {lengths.max():g} and {offsets.min():g} on a few rows: correct them, or "
            f"leave them out."
        )


def check_gradient(
    name: str, value: ModelFunction, gradient: ModelFunction, dimension: int
) -> None:
    """Raise `InputError` if the gradient is far from difference quotients of the value.

    Kinks are forgiven: at each pair, one of three models has to agree.
    """
    rng = np.random.default_rng(0)
    worst: list[FloatArray] = []
    for _ in range(3):
        theta, direction = rng.normal(size=(2, dimension))
        step = 1e-4 * direction
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            slope = (value(theta + step) - value(theta - step)) / 2e-4
            claimed = gradient(theta) @ direction
        scale = np.maximum(np.abs(slope), np.abs(claimed)) + 1e-6
        worst.append(np.abs(slope - claimed) / scale)
    errors = np.min(worst, axis=0)
    # NaN agrees with nothing.
    if not np.all(errors <= GROSS):
        raise InputError(
            f"The gradient of loss '{name}' disagrees with differences of its value: "
            f"it must be the derivative of the value in theta, one row per pair."
        )
