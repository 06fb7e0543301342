"""The loss of a model at a pair: f(theta; x, y) = w(x, y) phi(theta . a(x, y) + b(x, y))."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray, PairFunction
from pairgossip.errors import InputError
from pairgossip.kernels.blocks import tile_pairs, tile_side, tiles
from pairgossip.kernels.calling import row_per_pair, value_per_pair
from pairgossip.kernels.data import column_count
from pairgossip.kernels.exact import distinct_rows
from pairgossip.losses.general import (
    as_dimension,
    check_dimension,
    check_functions,
    check_models,
    probe,
)
from pairgossip.losses.margins import margin

# The steepness of a loss: the largest norm of its gradient over all pairs of some data.


_EXACT_UP_TO = 2**26
"""The largest number of feature values, over all pairs, for exact bounds; beyond, cheap ones."""


def _steepness(
    loss: Loss, lengths: FloatArray, w: FloatArray, b: FloatArray, radius: float
) -> FloatArray:
    """Return the largest |w phi'(u)| ||a|| at each pair; phi' is steepest at an end of u."""
    pull = lengths * np.abs(w)
    moving = pull > 0
    if math.isinf(radius):
        steep = np.full(len(pull), loss.phi.slope_bound)
    else:
        ends = b - radius * lengths, b + radius * lengths
        steep = np.maximum(*(np.abs(loss.phi.derivative(end)) for end in ends))
    return np.multiply(pull, steep, out=np.zeros(len(pull)), where=moving)


_SHAPES = ("vector", "matrix", "diagonal")


@dataclass(frozen=True)
class Loss:
    """A loss that depends on the model through one number per pair, the margin.

    `Loss(my_features, "logistic")` is complete; all other arguments have defaults.

    Parameters
    ----------
    features
        Takes two blocks of m observations, each of shape (m, d) with any label last, or (m,)
        for one column of data, and returns a(x, y), shape (m, p).
    phi
        The function of the margin: one of `MARGINS` or its name, such as "logistic" or "hinge".
    weights, offsets
        w(x, y) >= 0 and b(x, y), shape (m,); None for 1 and for 0.
    name
        Its name in messages.
    dimension
        The number of parameters p, or a function of the number of data columns that returns it.
        By default it is measured on one pair.
    columns
        The meaning of the data columns, as for a kernel; None for any columns.
    validate
        A further check of the data, which raises `InputError`.
    risk
        Closed form of the average over all ordered pairs, own pairs included: takes models of
        shape (r, p) and the data, returns shape (r,). It is checked on a few rows.
    bounds
        Cheap bounds for data of many pairs: the largest w ||a||, and the smallest b.
    description
        What minimizing it learns.
    shape
        The arrangement of theta: "vector"; "matrix", a symmetric matrix row by row; "diagonal",
        the diagonal of a matrix.
    label_sizes
        Whether the sizes of labels matter, as for a kernel.
    """

    features: PairFunction
    phi: Any = "logistic"
    weights: PairFunction | None = None
    offsets: PairFunction | None = None
    name: str = "custom"
    dimension: Any = None
    columns: tuple[str, ...] | None = None
    validate: Callable[[FloatArray], object] | None = None
    risk: Callable[[FloatArray, FloatArray], FloatArray] | None = None
    bounds: Callable[[FloatArray], tuple[float, float]] | None = None
    description: str = ""
    shape: str = "vector"
    label_sizes: bool | None = None

    def __post_init__(self) -> None:
        optional = {"weights": self.weights, "offsets": self.offsets}
        given = {role: function for role, function in optional.items() if function is not None}
        check_functions("two blocks of observations", features=self.features, **given)
        if self.shape not in _SHAPES:
            raise InputError(
                f"The shape of a loss is one of {', '.join(_SHAPES)}, not '{self.shape}'."
            )
        measured = partial(_measured_dimension, self.features, self.name)
        dimension = measured if self.dimension is None else as_dimension(self.dimension)
        object.__setattr__(self, "phi", margin(self.phi))
        object.__setattr__(self, "dimension", dimension)

    def pairs(
        self, first: FloatArray, second: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return a, w and b at m pairs, shapes (m, p), (m,) and (m,)."""
        owner = f"Loss '{self.name}'"
        a = row_per_pair(owner, self.features, first, second)
        w = b = None
        if self.weights is not None:
            w = value_per_pair(f"The weight of loss '{self.name}'", self.weights, first, second)
        if self.offsets is not None:
            b = value_per_pair(f"The offset of loss '{self.name}'", self.offsets, first, second)
        m = len(a)
        return a, np.ones(m) if w is None else w, np.zeros(m) if b is None else b

    def value(self, theta: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return f at m pairs; theta is one model (p,), or one model per pair (m, p)."""
        a, w, b = self.pairs(first, second)
        return w * self.phi.value(self._margins(theta, a) + b)

    def gradient(self, theta: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return the gradient of f in theta at m pairs, shape (m, p)."""
        a, w, b = self.pairs(first, second)
        return (w * self.phi.derivative(self._margins(theta, a) + b))[:, None] * a

    def lipschitz(self, data: FloatArray, radius: float = math.inf) -> float:
        """Return a bound on the norm of the gradient over all pairs of the data.

        The bound covers all models of norm up to `radius`. It is exact up to a few thousand
        observations, and for more where the loss has no cheap `bounds`. It is infinite if phi is
        arbitrarily steep, as the squared hinge is without a radius.
        """
        if not radius >= 0:
            raise InputError(
                f"The radius is the largest norm of a model, not {radius}: give one >= 0."
            )
        dimension = self.dimension(column_count(data))
        if self.bounds is not None and len(data) ** 2 * dimension > _EXACT_UP_TO:
            length, offset = self.bounds(data)
            ends = np.array([length]), np.ones(1), np.array([offset])
            return float(_steepness(self, *ends, radius)[0])
        side = tile_side(max(dimension, column_count(data)))
        steepest = 0.0
        for tile in tiles(len(data), side, half=False):
            a, w, b = self.pairs(*tile_pairs(data, *tile))
            steepness = _steepness(self, np.sqrt(np.einsum("ij,ij->i", a, a)), w, b, radius)
            steepest = max(steepest, float(steepness.max()))
        return steepest

    def check(self, data: FloatArray, labels: Any = None, *, trusted: bool = False) -> None:
        """Raise `InputError` unless the loss does on a few pairs what it should on all.

        The original ``labels`` show whether the last column was text. With ``trusted`` the closed
        forms are not checked.
        """
        parts = probe(self, self.parts_at, data, labels)
        check_dimension(self.name, parts.shape[1] - 2, self.dimension(column_count(data)))
        lowest = parts[:, -2].min()
        if lowest < 0:  # the loss would be concave
            raise InputError(
                f"Loss '{self.name}' has a negative weight, {lowest:g}, at some pair: "
                f"a pair's weight must be >= 0."
            )
        has_shortcuts = self.risk is not None or self.bounds is not None
        if has_shortcuts and not trusted:
            self._check_shortcuts(distinct_rows(data))

    def _check_shortcuts(self, rows: FloatArray) -> None:
        """Compare closed forms with all pairs of a few rows."""
        nodes, held = (index.ravel() for index in np.indices((len(rows), len(rows))))
        a, w, b = self.pairs(rows[nodes], rows[held])
        if self.risk is not None:
            longest = float(np.abs(a).sum(axis=1).max()) or 1.0
            models = np.cos(np.outer((1.0, 2.0), np.arange(1.0, a.shape[1] + 1.0))) / longest
            with np.errstate(over="ignore", invalid="ignore"):
                each = w * self.phi.value(models @ a.T + b)
                claimed = np.asarray(self.risk(models, rows))
            mean, sizes = each.mean(axis=1), np.abs(each).mean(axis=1)
            for index in np.flatnonzero(~(np.abs(claimed - mean) <= 1e-5 * sizes + 1e-9))[:1]:
                raise InputError(
                    f"Loss '{self.name}' has a closed form risk= that gives {claimed[index]:g} for "
                    f"a model whose loss is {mean[index]:g} on average over a few rows: correct "
                    "it, or leave it out."
                )
        if self.bounds is not None:
            (longest, lowest), lengths = self.bounds(rows), w * np.linalg.norm(a, axis=1)
            if not (lengths.max() <= longest * (1.0 + 1e-9) and b.min() >= lowest - 1e-9):
                raise InputError(
                    f"Loss '{self.name}' has bounds= that promise w ||a|| <= {longest:g} and b >= "
                    f"{lowest:g}, but they reach {lengths.max():g} and {b.min():g} on a few rows: "
                    "correct them, or leave them out."
                )

    def parts_at(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return a, w and b side by side."""
        return np.column_stack(self.pairs(first, second))

    def _margins(self, theta: FloatArray, a: FloatArray) -> FloatArray:
        models = np.asarray(theta, dtype=np.float64)
        check_models(self.name, models, a.shape[-1], len(a))
        return a @ models if models.ndim == 1 else np.einsum("ij,ij->i", a, models)


def _measured_dimension(features: PairFunction, name: str, columns: int) -> int:
    shape = (1,) if columns == 1 else (1, columns)
    with np.errstate(all="ignore"):  # only the shape matters
        measured = row_per_pair(f"Loss '{name}'", features, np.zeros(shape), np.ones(shape))
    return int(measured.shape[1])
