"""What losses ask of data and models beyond being numbers."""

from __future__ import annotations

import numpy as np

from pairgossip.arrays import FloatArray
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
