"""The checks of all losses, and a loss of any form, given by its value and gradient."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray, PairFunction
from pairgossip.checks import whole
from pairgossip.errors import InputError
from pairgossip.kernels.calling import row_per_pair, value_per_pair
from pairgossip.kernels.data import check_columns, check_label_sizes, column_count
from pairgossip.kernels.exact import check_alone, check_finite, sample_pairs

# The requirements of losses on data and models, beyond being numbers.


def check_functions(takes: str, **functions: Any) -> None:
    """Raise `InputError` for the first part of a loss that is not a function."""
    for role, function in functions.items():
        if not callable(function):
            raise InputError(
                f"The {role} of a loss must be a function of {takes}, "
                f"but got {type(function).__name__}."
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
            f"Loss '{loss}' returns rows of {measured} numbers but declares the dimension "
            f"{declared}: correct the dimension."
        )


def as_dimension(dimension: Any) -> Callable[[int], int]:
    """Turn a number of parameters into a function of the number of data columns."""
    if callable(dimension):
        return dimension
    return partial(_fixed_dimension, whole("The dimension of a loss", dimension))


def _fixed_dimension(dimension: int, columns: int) -> int:
    return dimension


# A first look at a loss on a few pairs of the data, before any long work starts.


_GRADIENT_TOLERANCE = 0.05
"""The largest error of a gradient against the difference quotient, relative to the larger one."""

_ModelFunction = Callable[[FloatArray], FloatArray]


def probe(loss: Any, parts_at: PairFunction, data: FloatArray, labels: Any) -> FloatArray:
    """Return a loss's parts at `sample_pairs`, or raise `InputError` if it cannot take the data.

    The loss must be finite and depend on nothing but the pair.
    """
    owner = f"Loss '{loss.name}'"
    check_columns(owner, loss.columns, data)
    check_label_sizes(owner, loss.label_sizes, labels, data, parts_at)
    if loss.validate is not None:
        loss.validate(data)
    nodes, held = sample_pairs(data)
    with np.errstate(all="ignore"):
        parts = parts_at(data[nodes], data[held])
        alone = parts_at(data[nodes[-1:]], data[held[-1:]])
    check_finite(owner, parts, nodes, held)
    check_alone(owner, parts[-1:], alone)
    return parts


def _check_gradient(
    name: str, value: _ModelFunction, gradient: _ModelFunction, dimension: int
) -> None:
    """Raise `InputError` if the gradient is far from difference quotients of the value.

    Kinks are allowed: at each pair, the gradient has to agree at one of three models.
    """
    rng = np.random.default_rng(0)
    worst: list[FloatArray] = []
    for _ in range(3):
        theta, direction = rng.normal(size=(2, dimension))
        step = 1e-4 * direction
        with np.errstate(all="ignore"):
            slope = (value(theta + step) - value(theta - step)) / 2e-4
            claimed = gradient(theta) @ direction
        scale = np.maximum(np.abs(slope), np.abs(claimed)) + 1e-6
        worst.append(np.abs(slope - claimed) / scale)
    errors = np.min(worst, axis=0)
    # NaN agrees with nothing.
    if not np.all(errors <= _GRADIENT_TOLERANCE):
        raise InputError(
            f"The gradient of loss '{name}' disagrees with differences of its value: "
            f"it must be the derivative of the value in theta, one row per pair."
        )


_ModelPairFunction = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
"""Takes one model (p,) and two blocks of m observations; returns m values or m rows."""


@dataclass(frozen=True, init=False)
class GeneralLoss:
    """A loss f(theta; x, y) given by two functions of a model and two blocks of observations.

    Parameters
    ----------
    value, gradient
        Take theta (p,) and two blocks of m observations, and return f, shape (m,), and its
        gradient in theta, shape (m, p).
    name
        Its name in messages.
    dimension
        The number of parameters p, or a function of the number of data columns that returns it.
        The default is the number of columns, without the label if `columns` names one.
    columns, validate, description, shape, label_sizes
        As for `Loss`.
    batched
        Whether both functions also take one model per pair, theta (m, p); if not, they are
        called pair by pair where models differ, which is slow.
    """

    functions: tuple[_ModelPairFunction, _ModelPairFunction]
    name: str
    dimension: Callable[[int], int]
    columns: tuple[str, ...] | None
    validate: Callable[[FloatArray], object] | None
    description: str
    shape: str
    batched: bool
    label_sizes: bool | None

    def __init__(
        self,
        value: _ModelPairFunction,
        gradient: _ModelPairFunction,
        name: str = "custom",
        dimension: int | Callable[[int], int] | None = None,
        columns: tuple[str, ...] | None = None,
        validate: Callable[[FloatArray], object] | None = None,
        description: str = "",
        shape: str = "vector",
        batched: bool = False,
        label_sizes: bool | None = None,
    ) -> None:
        check_functions("a model and two blocks of observations", value=value, gradient=gradient)
        labeled = columns is not None and columns[-1] == "label"
        count_features = partial(_count_features, labeled)
        vars(self).update(
            functions=(value, gradient),
            name=name,
            dimension=count_features if dimension is None else as_dimension(dimension),
            columns=columns,
            validate=validate,
            description=description,
            shape=shape,
            batched=batched,
            label_sizes=label_sizes,
        )

    def value(self, theta: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return f at m pairs; theta is one model (p,), or one model per pair (m, p)."""
        return self._evaluate(0, value_per_pair, theta, first, second)

    def gradient(self, theta: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return the gradient of f in theta at m pairs, shape (m, p)."""
        rows = self._evaluate(1, row_per_pair, theta, first, second)
        check_dimension(self.name, rows.shape[1], np.shape(theta)[-1])
        return rows

    def check(self, data: FloatArray, labels: Any = None) -> None:
        """Raise `InputError` unless the loss does on a few pairs what it should on all.

        The original ``labels`` show whether the last column was text.
        """
        probe(self, self.parts_at, data, labels)
        dimension = self.dimension(column_count(data))
        first, second = (data[rows] for rows in sample_pairs(data))
        if self.batched:
            self._check_batched(dimension, first, second)
        _check_gradient(
            self.name,
            lambda model: self.value(model, first, second),
            lambda model: self.gradient(model, first, second),
            dimension,
        )

    def _check_batched(self, dimension: int, first: FloatArray, second: FloatArray) -> None:
        models = np.cos(np.arange(1.0, len(first) * dimension + 1.0)).reshape(len(first), -1)
        with np.errstate(all="ignore"):
            together = self._parts(models, first, second)
            last = self._parts(models[-1], first[-1:], second[-1:])
        if not np.allclose(together[-1:], last, rtol=1e-5, atol=1e-9, equal_nan=True):
            raise InputError(
                f"Loss '{self.name}' declares batched=True, but with one model per pair it gives "
                f"other values than with each model alone: set batched=False."
            )

    def _parts(self, theta: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return value and gradient side by side."""
        return np.column_stack(
            (self.value(theta, first, second), self.gradient(theta, first, second))
        )

    def parts_at(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return value and gradient of pairs at a model whose entries are all equal."""
        return self._parts(np.full(self.dimension(column_count(first)), 0.25), first, second)

    def _evaluate(
        self,
        which: int,
        call: Callable[..., FloatArray],
        theta: FloatArray,
        first: FloatArray,
        second: FloatArray,
    ) -> FloatArray:
        models: Any = np.asarray(theta, dtype=np.float64)
        check_models(self.name, models, models.shape[-1] if models.ndim else 0, len(first))
        owner = f"The {('value', 'gradient')[which]} of loss '{self.name}'"
        function = self.functions[which]
        if models.ndim == 1 or self.batched:
            return call(owner, partial(function, models), first, second)
        one_by_one = [
            call(owner, partial(function, model), first[row : row + 1], second[row : row + 1])
            for row, model in enumerate(models)
        ]
        return np.concatenate(one_by_one)


def _count_features(labeled: bool, columns: int) -> int:
    return columns - labeled
