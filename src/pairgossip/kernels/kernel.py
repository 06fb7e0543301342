"""Kernels h(x, y), which are averaged over pairs, and functions of several averages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, Self, TypeVar

import numpy as np

from pairgossip.arrays import FloatArray, PairFunction
from pairgossip.checks import choice
from pairgossip.errors import InputError, canonical
from pairgossip.kernels.calling import value_per_pair
from pairgossip.kernels.data import check_columns, check_label_sizes
from pairgossip.kernels.named_tests import refuse_test

Scale = Literal["plain", "log", "logit", "fisher"]
"""The scale on which intervals are computed: the logarithm for sizes, which are positive and whose
errors grow with them; the logit for shares; Fisher's z for correlations."""


@dataclass(frozen=True, eq=False, repr=False)
class Formula:
    """A built-in pair function: its number in compiled code, and its sums in closed form.

    Parameters
    ----------
    name, number
        Its name in messages, and its number in compiled code; no two formulas share either. The
        number is -1 if compiled code does not have the formula.
    function
        The pair function in NumPy, as for `Kernel`.
    total, row_totals, column_totals
        Its closed forms, as for `Kernel`; the forms of rows and columns take weights.
    takes
        The keyword by which the function and all closed forms take `Kernel.parameter`, such as
        "ties" or "threshold"; None if they take no parameter.
    is_bounded
        Whether values are between -1 and 1 for any rows.
    """

    NONE: ClassVar[Formula]
    """Stands for any other function."""

    name: str
    number: int
    function: Callable[..., FloatArray]
    total: Callable[..., float] | None = None
    row_totals: Callable[..., FloatArray] | None = None
    column_totals: Callable[..., FloatArray] | None = None
    takes: str | None = None
    is_bounded: bool = True

    def __post_init__(self) -> None:
        for other in FORMULAS.values():
            if other.name == self.name or other.number == self.number >= 0:
                raise InputError(
                    f"{self!r} has the name or the number of {other!r}: choose others."
                )
        FORMULAS[self.name] = self
        setattr(Formula, self.name, self)  # `Formula.GINI`, for kernels made outside this package

    def __int__(self) -> int:
        return self.number

    def __repr__(self) -> str:
        return f"<Formula.{self.name}: {self.number}>"

    def __reduce__(self) -> tuple[Any, ...]:
        # Each formula is a single object, in other processes too.
        return getattr, (Formula, self.name)

    def bind(self, part: Callable[..., Any], parameter: float) -> Callable[..., Any]:
        """Return the function, or a closed form, with its parameter if it takes one."""
        return part if self.takes is None else partial(part, **{self.takes: parameter})

    def kernel(self, parameter: float = 0.0, **facts: Any) -> Kernel:
        """Make a kernel of the formula, by default symmetric and 0 at own pairs."""
        closed_forms = {
            role: self.bind(form, parameter)
            for role in ("total", "row_totals", "column_totals")
            if (form := getattr(self, role)) is not None
        }
        defaults = {"symmetric": True, "zero_diagonal": True, "weighs": True}
        function = self.bind(self.function, parameter)
        known = defaults | closed_forms | facts
        return Kernel(function, formula=self, parameter=parameter, **known)


FORMULAS: dict[str, Formula] = {}
"""All formulas by name; each enters itself."""


def _no_value(first: FloatArray, second: FloatArray) -> FloatArray:
    raise AssertionError("this stands for functions that are not built in")


Formula.NONE = Formula("NONE", -1, _no_value, is_bounded=False)


class _Measure:
    """The common base of a kernel and of a function of several kernels' averages."""

    name: str
    contrast: Kernel | None = None
    follows_rows: ClassVar[bool] = False
    """Whether its kernels depend on the classes of rows, each with its column of scores."""

    @property
    def components(self) -> tuple[Kernel, ...]:
        """The kernels whose averages make the statistic."""
        raise NotImplementedError

    def for_rows(self, data: FloatArray) -> Self:
        """Return the statistic for these rows: itself, unless its kernels depend on them."""
        return self

    def check(self, data: FloatArray, labels: Any = None) -> None:
        """Raise `InputError` unless the data has the columns that the kernels take.

        The original ``labels`` show whether the last column was text.
        """
        # A contrast of two classes does not depend on their order.
        labels = None if self.contrast is not None else labels
        owner = f"Kernel '{self.name}'"
        for kernel in self.components:
            check_columns(owner, kernel.columns, data)
        for kernel in self.components:
            check_label_sizes(owner, kernel.label_sizes, labels, data, partial(evaluate, kernel))
        for kernel in self.components:
            if kernel.validate is not None:
                kernel.validate(data)


@dataclass(frozen=True)
class Kernel(_Measure):
    """A function of two observations, and facts about it.

    Parameters
    ----------
    function
        Takes two blocks of m observations, each of shape (m,) for one column of data and
        (m, d) for d columns, and returns the m values h(a[i], b[i]).
    name
        Its name in messages.
    symmetric
        Whether h(x, y) = h(y, x) for all x and y.
    zero_diagonal
        Whether h(x, x) = 0 for every x.
    columns
        The meaning of the data columns; None for any columns. A name ending in "..." stands for
        one or more columns, a name ending in "?" for a column that may be absent.
    formula, parameter
        The built-in function that it is, for compiled code.
    total
        Closed form of the sum over all ordered pairs, the own pairs (k, k) included; it is compared
        with the function on a few rows of the data.
    row_totals
        Closed form of the sum over l of h(x_k, x_l), for every k; it is compared too.
    column_totals
        Closed form of the sum over l of h(x_l, x_k), for every k, where the kernel is not
        symmetric; it is compared too.
    weighs
        Whether `row_totals` and `column_totals` take weights of the x_l as a second argument.
    validate
        A further check of the data, which raises `InputError`.
    label_sizes
        Whether the sizes of labels matter, so that text labels are refused; False if labels are
        classes, or two classes; None to find out on a few pairs.
    association
        Whether it measures the association of columns.
    two_classes
        Whether it compares rows of two classes, the labels in the last column, each of which is a
        separate sample.
    interval_scale, null
        The scale of its intervals, and its value without an effect, if known.
    expression, description, same_as
        The formula as text, the meaning of the average, and its name in other software.
    """

    function: PairFunction
    name: str = "custom"
    symmetric: bool = False
    zero_diagonal: bool = False
    columns: tuple[str, ...] | None = None
    formula: Formula = Formula.NONE
    parameter: float = 0.0
    total: Callable[[FloatArray], float] | None = None
    row_totals: Callable[..., FloatArray] | None = None
    column_totals: Callable[..., FloatArray] | None = None
    weighs: bool = False
    validate: Callable[[FloatArray], None] | None = None
    label_sizes: bool | None = None
    association: bool = False
    two_classes: bool = False
    interval_scale: Scale = "plain"
    null: float | None = None
    expression: str = ""
    description: str = ""
    same_as: str = ""

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InputError(
                f"A kernel needs a function of two blocks of observations, "
                f"but got {type(self.function).__name__}."
            )

    def __call__(self, first: Any, second: Any) -> FloatArray:
        """Evaluate the kernel at m pairs, given as two blocks of m observations."""
        blocks = (np.atleast_1d(np.asarray(block, dtype=np.float64)) for block in (first, second))
        return evaluate(self, *blocks)

    @property
    def components(self) -> tuple[Kernel, ...]:
        """The kernels whose averages make the statistic: this one alone."""
        return (self,)

    def combine(self, values: FloatArray) -> FloatArray:
        """Turn the components' averages, shape (..., 1), into the statistic, shape (...)."""
        return values[..., 0]

    def slopes(self, averages: FloatArray) -> FloatArray:
        """Return the derivative of the statistic by its average, one, for averages (..., 1)."""
        return np.ones(np.shape(averages))


@dataclass(frozen=True)
class Combination(_Measure):
    """A function of several kernels' averages over the same pairs, such as Kendall's tau-b.

    Parameters
    ----------
    kernels
        Up to 8 kernels, names of built-in kernels, or plain functions of two blocks of
        observations.
    function
        Takes the averages, shape (..., number of kernels), and returns the statistics (...); NaN
        where there is no value.
    gradient
        Takes the averages, shape (..., number of kernels), and returns the function's derivatives
        by each, in the same shape; by default they are difference quotients.
    name, expression, description, same_as
        Its name in messages, its formula as text, its meaning, and its name in other software.
    interval_scale, null
        The scale of its intervals, and its value without an effect, if known.
    contrast
        The kernel whose averages it compares within two classes and between them, if it does: such
        a statistic is degenerate without an effect, and is tested by permuting the labels.
    """

    most_kernels: ClassVar[int] = 8
    """The largest number of averages, all of which travel with every message."""

    kernels: tuple[Any, ...]
    function: Callable[[FloatArray], Any]
    gradient: Callable[[FloatArray], Any] | None = None
    name: str = "combination"
    expression: str = ""
    description: str = ""
    same_as: str = ""
    interval_scale: Scale = "plain"
    null: float | None = None
    contrast: Kernel | None = None

    def __post_init__(self) -> None:
        parts = tuple(self.kernels)
        if not 1 <= len(parts) <= self.most_kernels:
            raise InputError(
                f"A combination has 1 to {self.most_kernels} kernels, not {len(parts)}: give as "
                "many."
            )
        if not callable(self.function):
            raise InputError(
                f"A combination needs a function of its kernels' averages, but got "
                f"{type(self.function).__name__}."
            )
        chosen = tuple(map(as_kernel, parts))
        for place, one in enumerate(chosen):
            if isinstance(one, Combination):
                raise InputError(
                    f"The {self._role(place)} must be a single kernel, but '{one.name}' is made of "
                    f"{len(one.components)}: use one of its components."
                )
        object.__setattr__(self, "kernels", chosen)

    def _role(self, place: int) -> str:
        """Return the name of one of the kernels for messages."""
        return f"kernel {place + 1} of combination '{self.name}'"

    @property
    def components(self) -> tuple[Kernel, ...]:
        """The kernels whose averages make the statistic."""
        return self.kernels

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The meaning of the data columns; None for any columns."""
        return next(filter(None, (kernel.columns for kernel in self.components)), None)

    @property
    def label_sizes(self) -> bool | None:
        """Whether the sizes of labels matter to any kernel; None if that is not known."""
        known = [kernel.label_sizes for kernel in self.components]
        return True if True in known else None if None in known else False

    @property
    def association(self) -> bool:
        """Whether it measures the association of columns."""
        return any(kernel.association for kernel in self.components)

    @property
    def symmetric(self) -> bool:
        """Whether all kernels are symmetric."""
        return all(kernel.symmetric for kernel in self.components)

    @property
    def zero_diagonal(self) -> bool:
        """Whether all kernels vanish at every own pair."""
        return all(kernel.zero_diagonal for kernel in self.components)

    def combine(self, values: FloatArray) -> FloatArray:
        """Turn averages of shape (..., components) into statistics (...)."""
        values = np.asarray(values, dtype=np.float64)
        # A function without a value somewhere, such as 0/0, returns NaN.
        with np.errstate(all="ignore"):
            found = np.asarray(self.function(values), dtype=np.float64)
        if found.shape != values.shape[:-1]:
            raise InputError(
                f"The function of combination '{self.name}' returned shape {found.shape} for "
                f"averages of shape {values.shape}: it must return shape {values.shape[:-1]}."
            )
        return found

    def slopes(self, averages: FloatArray) -> FloatArray:
        """Return the derivatives by each average, for averages of shape (..., components)."""
        averages = np.asarray(averages, dtype=np.float64)
        if self.gradient is not None:
            with np.errstate(all="ignore"):
                slopes = np.asarray(self.gradient(averages), dtype=np.float64)
            if slopes.shape != averages.shape:
                raise InputError(
                    f"The gradient of combination '{self.name}' returned shape {slopes.shape} for "
                    f"averages of shape {averages.shape}: it must return the same shape."
                )
            return slopes
        largest = np.abs(averages).max(axis=-1, keepdims=True)
        steps = 1e-6 * np.maximum(np.abs(averages), np.maximum(1e-3 * largest, 1e-12))
        apart = steps[..., None] * np.eye(averages.shape[-1])
        ahead, behind = (self.combine(averages[..., None, :] + s * apart) for s in (1.0, -1.0))
        return (ahead - behind) / (2 * steps)

    def with_kernels(self, kernels: Sequence[Kernel]) -> Self:
        """Return the same function of other kernels' averages."""
        other = copy(self)
        object.__setattr__(other, "kernels", tuple(kernels))
        return other


class Ratio(Combination):
    """The quotient of two kernels' averages, such as the AUC; NaN where the denominator is 0.

    Parameters
    ----------
    numerator, denominator
        Kernels, names of built-in kernels, or plain functions of two blocks of observations.
    name, expression, description, same_as, interval_scale, null
        As for `Combination`.
    """

    def __init__(
        self,
        numerator: Any,
        denominator: Any,
        name: str = "ratio",
        expression: str = "",
        description: str = "",
        same_as: str = "",
        interval_scale: Scale = "plain",
        null: float | None = None,
    ) -> None:
        parts, texts = (numerator, denominator), (name, expression, description, same_as)
        super().__init__(parts, _quotient, quotient_slopes, *texts, interval_scale, null)

    def _role(self, place: int) -> str:
        return ("numerator", "denominator")[place]

    @property
    def numerator(self) -> Kernel:
        """The kernel in the numerator."""
        return self.components[0]

    @property
    def denominator(self) -> Kernel:
        """The kernel in the denominator."""
        return self.components[1]


def _quotient(averages: FloatArray) -> FloatArray:
    top, bottom = averages[..., 0], averages[..., 1]
    quotient = np.full(bottom.shape, np.nan)
    # A vanishing denominator may also be so small that the quotient overflows.
    np.divide(top, bottom, out=quotient, where=bottom != 0)
    return quotient


def quotient_slopes(averages: FloatArray) -> FloatArray:
    """Return the derivatives of the first average over the second, by either."""
    top, bottom = averages[..., 0], averages[..., 1]
    # The square of a very large or small denominator would overflow or underflow.
    return np.stack([1 / bottom, -(top / bottom) / bottom], axis=-1)


AnyKernel = Kernel | Combination
CATALOG: dict[str, Callable[[], AnyKernel]] = {}
"""All kernels by name; `register` enters them."""
Factory = TypeVar("Factory", bound=Callable[..., AnyKernel])


def register(factory: Factory) -> Factory:
    """Enter a function that makes a kernel, so that command line and page find it by its name.

    The kernel has the name of the function, with hyphens for underscores. All arguments of the
    function need defaults.
    """
    CATALOG[factory.__name__.replace("_", "-")] = factory
    return factory


def as_kernel(kernel: Any) -> AnyKernel:
    """Return a kernel, given a kernel, a combination, a name, or a plain function."""
    if isinstance(kernel, AnyKernel):
        return kernel
    if isinstance(kernel, str):
        refuse_test(kernel)
        return CATALOG[choice("kernel", kernel, CATALOG)]()
    if any(kernel is factory for factory in CATALOG.values()):
        raise InputError(
            f"The kernel is the factory '{_function_name(kernel)}' itself: "
            f"call it, as in {_function_name(kernel)}()."
        )
    if not callable(kernel):
        raise InputError(
            f"A kernel is a name such as 'gini', a function of two blocks of observations, "
            f"a Kernel, a Ratio or a Combination, but got {type(kernel).__name__}."
        )
    return Kernel(kernel, name=_function_name(kernel))


def follows_rows(kernel: Any) -> bool:
    """Return whether a kernel, or the kernel of a name, takes a column of scores per class."""
    if isinstance(kernel, str):
        kernel = CATALOG.get(canonical(kernel), lambda: None)()
    return getattr(kernel, "follows_rows", False)


def evaluate(kernel: Kernel, first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the kernel's values at m pairs as m float64 numbers."""
    return value_per_pair(f"Kernel '{kernel.name}'", kernel.function, first, second)


def _function_name(function: Any) -> str:
    name = getattr(function, "__name__", "custom")
    return "custom" if name == "<lambda>" else str(name)
