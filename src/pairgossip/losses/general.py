"""A loss of any form, given by its value and its gradient; it runs on the plain path only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.kernels.data import check_label_sizes, column_count
from pairgossip.kernels.kernel import row_per_pair, value_per_pair
from pairgossip.losses.checks import (
    check_alone,
    check_columns,
    check_dimension,
    check_finite,
    check_gradient,
    check_models,
    sample_pairs,
)
from pairgossip.losses.loss import as_dimension

ModelPairFunction = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
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
        How messages call it.
    dimension
        The number of parameters p, or a function giving it for a number of data columns;
        the number of columns, the label's not counted if `columns` names one, if left out.
    columns, validate, description, shape, label_sizes
        As for `Loss`.
    batched
        Whether both functions also take one model per pair, theta (m, p); if not, they are
        called pair by pair where models differ, which is slow.
    """

    functions: tuple[ModelPairFunction, ModelPairFunction]
    name: str
    dimension: Callable[[int], int]
    columns: tuple[str, ...] | None
    validate: Callable[[FloatArray], None] | None
    description: str
    shape: str
    batched: bool
    label_sizes: bool | None

    def __init__(
        self,
        value: ModelPairFunction,
        gradient: ModelPairFunction,
        name: str = "custom",
        dimension: int | Callable[[int], int] | None = None,
        columns: tuple[str, ...] | None = None,
        validate: Callable[[FloatArray], None] | None = None,
        description: str = "",
        shape: str = "vector",
        batched: bool = False,
        label_sizes: bool | None = None,
    ) -> None:
        for role, function in (("value", value), ("gradient", gradient)):
            if not callable(function):
                raise InputError(
                    f"The {role} of a loss must be a function of a model and two blocks of "
                    f"observations, but got {type(function).__name__}."
                )
        labeled = columns is not None and columns[-1] == "label"
        settled = {
            "functions": (value, gradient),
            "name": name,
            "dimension": partial(_count_features, labeled)
            if dimension is None
            else as_dimension(dimension),
            "columns": columns,
            "validate": validate,
            "description": description,
            "shape": shape,
            "batched": batched,
            "label_sizes": label_sizes,
        }
        for field, content in settled.items():
            object.__setattr__(self, field, content)

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

        Labels as they were given tell whether the last column was text.
        """
        check_columns(self.name, self.columns, data)
        dimension = self.dimension(column_count(data))
        theta = np.full(dimension, 0.25)
        parts_at = partial(self._parts, theta)
        check_label_sizes(f"Loss '{self.name}'", self.label_sizes, labels, data, parts_at)
        if self.validate is not None:
            self.validate(data)
        nodes, held = sample_pairs(data)
        first, second = data[nodes], data[held]
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            parts = parts_at(first, second)
            alone = parts_at(first[-1:], second[-1:])
        check_finite(self.name, parts, nodes, held)
        if self.batched:
            self._check_batched(dimension, first, second)
        check_alone(self.name, parts[-1], alone[-1])
        check_gradient(
            self.name,
            lambda model: self.value(model, first, second),
            lambda model: self.gradient(model, first, second),
            dimension,
        )

    def _check_batched(self, dimension: int, first: FloatArray, second: FloatArray) -> None:
        models = np.cos(np.arange(1.0, len(first) * dimension + 1.0)).reshape(len(first), -1)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            together = self._parts(models, first, second)
            last = self._parts(models[-1], first[-1:], second[-1:])
        if not np.allclose(together[-1:], last, rtol=1e-5, atol=1e-9, equal_nan=True):
            raise InputError(
                f"Loss '{self.name}' says batched=True, but with one model per pair it gives other "
                f"values than with each model alone: set batched=False."
            )

    def _parts(self, theta: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
        return np.column_stack(
            (self.value(theta, first, second), self.gradient(theta, first, second))
        )

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
