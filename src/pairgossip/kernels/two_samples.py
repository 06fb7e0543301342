"""Distances between two samples, made of three averages of one kernel: energy distance and MMD."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from pairgossip.arrays import BoolArray, FloatArray, PairFunction
from pairgossip.errors import InputError
from pairgossip.kernels.data import check_two_classes
from pairgossip.kernels.functions import euclidean_distance, squared_distance
from pairgossip.kernels.kernel import CATALOG, Combination, Kernel

_SIDES = ("between classes", "within class 0", "within class 1")


def energy_distance() -> Combination:
    """Twice the mean distance between two classes, less those within each; 0 if alike."""
    return _compare(
        euclidean_distance,
        -1.0,
        name="energy-distance",
        expression="2 mean ||x - y|| - mean ||x - x'|| - mean ||y - y'||",
        description="difference of two samples: their energy distance",
        same_as="V: dcor.energy_distance",
    )


def mmd(bandwidth: float = 1.0) -> Combination:
    """The squared maximum mean discrepancy of two classes, with a Gaussian kernel.

    Parameters
    ----------
    bandwidth
        The distance at which two rows count as half alike, about: k = exp(-d^2 / (2 bandwidth^2)).
    """
    if not (math.isfinite(bandwidth) and bandwidth > 0):
        raise InputError(f"The bandwidth is a distance, but got {bandwidth}: give a number > 0.")
    return _compare(
        partial(_likeness, bandwidth=float(bandwidth)),
        1.0,
        name="mmd",
        expression="mean k(x, x') + mean k(y, y') - 2 mean k(x, y)",
        description="difference of two samples: their squared maximum mean discrepancy",
        same_as="V: hyppo.ksample.MMD with a Gaussian kernel",
    )


def _likeness(first: FloatArray, second: FloatArray, bandwidth: float) -> FloatArray:
    return np.asarray(np.exp(-squared_distance(first, second) / (2 * bandwidth**2)))


def _compare(function: PairFunction, sign: float, *, name: str, **texts: Any) -> Combination:
    """Compare averages of a symmetric function within two classes with that between them."""
    parts = [
        Kernel(
            partial(_value, function if sums else None, side),
            name=f"{name} {_SIDES[side]}{'' if sums else ', pairs'}",
            symmetric=True,
            zero_diagonal=side == 0,
            columns=("features...", "label"),
            label_sizes=False,
            two_classes=True,
            validate=partial(_check_labels, name),
        )
        for side in range(3)
        for sums in (True, False)
    ]
    contrast = Kernel(function, name=name, symmetric=True)
    return Combination(
        tuple(parts),
        partial(_contrast, sign),
        partial(_contrast_slopes, sign),
        name=name,
        null=0.0,
        contrast=contrast,
        **texts,
    )


def _value(
    function: PairFunction | None, side: int, first: FloatArray, second: FloatArray
) -> FloatArray:
    counted = _counted(side, first[:, -1], second[:, -1])
    if function is None:
        return counted.astype(np.float64)
    return np.where(counted, function(first[:, :-1], second[:, :-1]), 0.0)


def _counted(side: int, first: FloatArray, second: FloatArray) -> BoolArray:
    if side == 0:
        return np.asarray(first != second)
    return np.asarray((first == side - 1) & (second == side - 1))


def _contrast(sign: float, averages: FloatArray) -> FloatArray:
    between, low, high = (averages[..., 2 * k] / averages[..., 2 * k + 1] for k in range(3))
    return np.asarray(sign * (low + high - 2 * between))


def _contrast_slopes(sign: float, averages: FloatArray) -> FloatArray:
    slopes = []
    for k, times in enumerate((-2.0, 1.0, 1.0)):
        top, bottom = averages[..., 2 * k], averages[..., 2 * k + 1]
        slopes += [sign * times / bottom, -sign * times * (top / bottom) / bottom]
    return np.stack(slopes, axis=-1)


def _check_labels(name: str, data: FloatArray) -> None:
    check_two_classes(f"Kernel '{name}'", "two of them", data)
    found = np.unique(data[:, -1])
    if found.tolist() != [0.0, 1.0]:
        raise InputError(
            f"Kernel '{name}' needs labels 0 and 1, but they are {found[0]:g} and {found[1]:g}: "
            "recode them, or declare {argument}.",
            "classes",
            [float(label) for label in found],
        )


CATALOG.update({"energy-distance": energy_distance, "mmd": mmd})
