"""Local differential privacy: every observation is randomized once, before any other use."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from pairgossip.arrays import FloatArray, PairFunction
from pairgossip.checks import ROUNDINGS, choice, whole
from pairgossip.errors import InputError
from pairgossip.kernels.data import check_data, column_count
from pairgossip.kernels.rows import check_classes, code_labels
from pairgossip.privacy.response import (
    Bins,
    Cells,
    Classes,
    Column,
    Grid,
    Probabilities,
    Response,
    byte_source,
    check_epsilon,
    odds_below,
)
from pairgossip.text import format_count, format_rows

if TYPE_CHECKING:
    from pairgossip.kernels import Combination, Kernel
    from pairgossip.privacy.debiased import DebiasedKernel


_LARGEST_RESPONSE = 2**20
"""Largest number of cells of one report: with more, reports are noise alone."""


def _check_columns(bins: Any, range_: Any, classes: Any, rounding: Any) -> tuple[Column, ...]:
    """Return one column for every pair of bins and range, and one for the classes if given."""
    kind = Grid if choice("rounding", rounding, ROUNDINGS) == "stochastic" else Bins
    labels = () if classes is None else (Classes(_check_classes(classes)),)
    if bins is None and range_ is None and labels:
        return labels
    if bins is None:
        raise InputError(
            "The number of bins is missing: give {argument}, such as 16, or let "
            "pg.privacy.advise_bins choose it.",
            "bins",
        )
    if range_ is None:
        raise InputError(
            "The range of the values is missing: declare range=(lowest, highest) from what is "
            "possible, not from the data, which it would reveal."
        )
    ranges, counts = _ranges(range_), _counts(bins)
    columns = max(len(ranges), len(counts))
    if len(ranges) not in (1, columns) or len(counts) not in (1, columns):
        raise InputError(
            f"There are bins for {len(counts)} columns but ranges for {len(ranges)}: give one for "
            f"all columns, or one per column (the label's column has its classes instead)."
        )
    ranges = ranges * columns if len(ranges) == 1 else ranges
    counts = counts * columns if len(counts) == 1 else counts
    intervals = (kind(low, high, count) for (low, high), count in zip(ranges, counts, strict=True))
    return (*intervals, *labels)


def _check_classes(classes: Any) -> tuple[float, ...]:
    """Return the classes as increasing numbers; text is numbered 0, 1, ... in the order given."""
    given = check_classes(classes)
    if is_text(given):
        return tuple(map(float, range(len(given))))
    if not all(isinstance(label, Real | np.number | np.bool_) for label in given):
        raise InputError("The classes must be all numbers or all text.")
    numbers = [float(label) for label in given]
    if not all(map(math.isfinite, numbers)):
        raise InputError("The classes hold NaN or an infinite label: give finite ones.")
    return tuple(sorted(numbers))


def is_text(classes: Sequence[Any]) -> bool:
    """Return whether all classes are text."""
    return all(isinstance(label, str) for label in classes)


def _counts(bins: Any) -> list[int]:
    several = isinstance(bins, Sequence | np.ndarray) and not isinstance(bins, str)
    counts = []
    for entry in bins if several and len(bins) else [bins]:
        if entry == 1:
            raise InputError("One bin says nothing about a value: give at least 2 bins.")
        counts.append(whole("The number of bins", entry, least=2))
        if counts[-1] > _LARGEST_RESPONSE:
            raise InputError(
                f"{counts[-1]:,} bins would drown every report in noise: give at most "
                f"{_LARGEST_RESPONSE:,}."
            )
    return counts


def _ranges(range_: Any) -> list[tuple[float, float]]:
    try:
        limits = np.asarray(range_, dtype=np.float64)
    except (TypeError, ValueError):
        limits = np.empty(0)
    if limits.ndim == 1:
        limits = limits[None, :]
    if limits.ndim != 2 or limits.shape[1] != 2:
        raise InputError(
            f"The range is (lowest, highest), or one such pair per column, not {range_!r}."
        )
    for low, high in limits.tolist():
        if math.isnan(low) or math.isnan(high):
            raise InputError("The range has an end that is NaN: give two numbers.")
        if not math.isfinite(high - low):
            raise InputError(f"The range ({low:g}, {high:g}) is infinite: give finite ends.")
        if low >= high:
            raise InputError(
                f"The range ({low:g}, {high:g}) is empty: give the lower end first, then a "
                f"higher one."
            )
    return [(low, high) for low, high in limits.tolist()]


def _label_numbers(mechanism: RandomizedResponse, labels: Any) -> Any:
    """Return labels as numbers; text is looked up among the declared classes."""
    if not isinstance(mechanism.columns[-1], Classes):
        raise InputError(
            "Labels are given, but the privacy mechanism declares no classes: say which labels "
            "are possible, as in classes=(0, 1)."
        )
    if mechanism.names is not None:
        return code_labels(labels, mechanism.names, is_private=True)
    array = np.asarray(labels.to_numpy() if hasattr(labels, "to_numpy") else labels)
    if array.dtype.kind in "fiub" or all(isinstance(one, Real) for one in array.ravel().tolist()):
        return labels
    raise InputError(
        "Labels are text, but the declared classes are numbers: declare the text, as in "
        "classes=('no', 'yes')."
    )


def _check_declared(mechanism: RandomizedResponse, table: FloatArray) -> None:
    """Raise `InputError` if the data do not have the declared columns and values."""
    given, declared = column_count(table), len(mechanism.columns)
    if given != declared:
        labeled = isinstance(mechanism.columns[-1], Classes)
        advice = "give bins or a range for each column, as in range=((0, 1), (0, 5))"
        if labeled and given == declared - 1:
            advice = "give the labels as the last column or with {argument}"
        raise InputError(
            f"The data have {format_count(given, 'column')}, but the privacy mechanism declares "
            f"{declared}{', the label included' * labeled}: {advice}.",
            "labels",
        )
    rows = table.reshape(len(table), -1)
    complaints = []
    for at, column in enumerate(mechanism.columns):
        outside = np.flatnonzero(~column.contains(rows[:, at]))
        if len(outside):
            complaints.append(
                f"{format_count(len(outside), 'value')} of column {at} outside {column.domain} "
                f"({format_rows(outside)})"
            )
    if complaints:
        raise InputError(
            f"The data have {' and '.join(complaints)}, counting from 0: correct them or declare "
            f"more, as nothing is clipped."
        )


def _check_reports(mechanism: RandomizedResponse, reports: Any) -> Cells:
    """Return reports as whole numbers, shape (m, columns), or raise `InputError`."""
    array = np.asarray(reports)
    columns = len(mechanism.columns)
    if array.ndim == 1 and columns == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[1] != columns or array.dtype.kind not in "iuf":
        raise InputError(
            f"A report is a row of {format_count(columns, 'whole number')}, but got an array of "
            f"shape {array.shape}."
        )
    cells = array.astype(np.int64, copy=False) if array.dtype.kind != "f" else _whole(array)
    # Unsigned negative numbers are too large: a peer often checks single reports.
    if (cells.view(np.uint64) >= mechanism._bins.view(np.uint64)).any():
        limits = ", ".join(f"0 to {high}" for _, high in mechanism.report_limits)
        raise InputError(f"A report is outside of its limits ({limits} by columns).")
    return cells


def _whole(array: FloatArray) -> Cells:
    if not (array == np.floor(array)).all():  # false for NaN, and infinity is caught by limits
        raise InputError("A report holds a number that is not whole.")
    return np.minimum(np.maximum(array, -1), 2**62).astype(np.int64)  # `clip` is slow


@dataclass(frozen=True, init=False)
class RandomizedResponse:
    """k-ary randomized response: the true cell with odds e^epsilon to 1 against any other.

    A reader of a report learns little: no two observations differ in its likelihood by more than a
    factor e^epsilon, for any report. Randomize each observation once and reuse the report, as the
    guarantees of further reports add up.

    Parameters
    ----------
    epsilon
        The guarantee, from 1e-9 for each report of an observation to 40; about 1 is usual,
        smaller is more private.
    bins, range
        The number of equal cells for values, and the interval (lowest, highest) of possible values;
        one for all columns or one per column. The range is public: declare what is possible, never
        what the data show. With neither, the data are one column of labels.
    classes
        The possible labels, if the last column is a label: it is reported among its classes,
        without bins. Text stands for 0, 1, ... in the order given.
    rounding
        ``"bins"`` reports the bin, which its midpoint represents. ``"stochastic"`` rounds at
        random to one of the two nearest of k points from lowest to highest, which is unbiased
        for kernels that are affine in each argument.
    together
        Whether the columns of an observation form one value, reported with all of epsilon, out
        of as many cells as there are combinations; otherwise every column is reported separately
        with an equal part of epsilon. The default is together with ``classes`` and separate
        without: together is better while there are few combinations.

    Attributes
    ----------
    epsilon, together
        The arguments, or the default.
    columns
        The domain of each column of the data.
    names
        The classes if they are text, in the order of their cells; otherwise None.
    responses
        The randomized responses that make up a report: one for all columns, or one per column.

    Examples
    --------
    >>> mechanism = RandomizedResponse(1.0, bins=4, range=(0, 1))
    >>> mechanism.encode([0.1, 0.6, 1.0]).tolist()
    [[0], [2], [3]]
    >>> reports = mechanism.randomize([0.1, 0.6, 1.0], np.random.default_rng(0))
    >>> reports.shape
    (3, 1)
    """

    epsilon: float
    columns: tuple[Column, ...]
    together: bool
    names: tuple[str, ...] | None
    responses: tuple[Response, ...] = field(repr=False, compare=False)

    def __init__(
        self,
        epsilon: float,
        bins: Any = None,
        range: Any = None,
        *,
        classes: Any = None,
        rounding: str = "bins",
        together: bool | None = None,
    ) -> None:
        epsilon = check_epsilon(epsilon)
        columns = _check_columns(bins, range, classes, rounding)
        if together is None:
            together = classes is not None
        if not isinstance(together, bool):
            raise InputError(f"together must be True, False or None, not {together!r}.")
        named = classes is not None and is_text(list(classes))
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "together", together or len(columns) == 1)
        object.__setattr__(self, "names", tuple(classes) if named else None)
        object.__setattr__(self, "responses", self._responses())

    @property
    def bins(self) -> tuple[int, ...]:
        """The number of cells of each column."""
        return tuple(column.cells for column in self.columns)

    @cached_property
    def _bins(self) -> Cells:
        return np.array(self.bins)

    @cached_property
    def _strides(self) -> Cells:
        """The factor of each of its columns in a report's number."""
        strides = [math.prod(self.bins[at + 1 :]) for at in range(len(self.bins))]
        return np.array(strides, dtype=np.int64)

    @property
    def cells(self) -> int:
        """The number of different reports."""
        return math.prod(self.bins)

    @property
    def report_limits(self) -> tuple[tuple[int, int], ...]:
        """The smallest and largest number of every column of a report, 0 and k - 1."""
        return tuple((0, count - 1) for count in self.bins)

    @property
    def probabilities(self) -> tuple[Probabilities, ...]:
        """The exact probabilities of every response: of the true cell, and of a given other one."""
        return tuple(response.probabilities for response in self.responses)

    @property
    def odds(self) -> Fraction:
        """The largest likelihood ratio of any report between any two observations, exactly."""
        return math.prod((response.odds for response in self.responses), start=Fraction(1))

    @property
    def representatives(self) -> FloatArray:
        """The value that each report stands for, shape (K,) for one column and (K, d) for more."""
        axes = np.meshgrid(*(column.values for column in self.columns), indexing="ij")
        table = np.stack([axis.ravel() for axis in axes], axis=1)
        return table[:, 0] if table.shape[1] == 1 else table

    def numbers(self, data: Any, labels: Any = None) -> FloatArray:
        """Return the observations as checked numbers, refusing undeclared ones."""
        if labels is not None:
            labels = _label_numbers(self, labels)
        table = check_data(data, labels)
        _check_declared(self, table)
        return table

    def encode(
        self, data: Any, source: np.random.Generator | None = None, labels: Any = None
    ) -> Cells:
        """Return the true cells, shape (n, columns); never send them.

        Stochastic rounding draws from the source; bins and classes are not random.
        """
        table = self.numbers(data, labels)
        rows, draw = table.reshape(len(table), -1), byte_source(source)
        encoded = [column.encode(rows[:, at], draw) for at, column in enumerate(self.columns)]
        return np.stack(encoded, axis=1)

    def randomize(
        self, data: Any, source: np.random.Generator | None = None, labels: Any = None
    ) -> Cells:
        """Draw the reports of observations: whole numbers, shape (n, columns).

        Parameters
        ----------
        data, labels
            The observations; the label is the last column, or in ``labels``.
        source
            None for the operating system's secure source. A numpy Generator makes reports
            repeatable, which is for simulation only: a person who knows its seed undoes them.
        """
        cells = self.encode(data, source, labels)
        draw = byte_source(source)
        if self.together:
            reported = self.responses[0].report(self.flat(cells), draw)
            return np.stack(np.unravel_index(reported, self.bins), axis=1).astype(np.int64)
        columns = zip(self.responses, cells.T, strict=True)
        return np.stack([response.report(column, draw) for response, column in columns], axis=1)

    def flat(self, reports: Any) -> Cells:
        """Number reports 0, 1, ..., K - 1, in the order of `representatives`."""
        return _check_reports(self, reports) @ self._strides

    def debiased(self, kernel: Kernel | Combination | PairFunction | str) -> DebiasedKernel:
        """Return the kernel on reports whose expectation is the kernel on true cells."""
        from pairgossip.privacy.debiased import DebiasedKernel

        return DebiasedKernel(self, kernel)

    def guarantee(self) -> str:
        """Return the guarantee in one sentence."""
        how = f"by {self.responses[0].cells}-ary randomized response"
        if len(self.columns) > 1:
            how += f" on its {len(self.columns)} columns as one value"
        if not self.together:
            sizes = ", ".join(f"{response.cells}-ary" for response in self.responses)
            how = (
                f"by randomized response column by column ({sizes}), with epsilon = "
                f"{self.epsilon / len(self.responses):g} each"
            )
        return (
            f"Each observation is reported once, {how}: epsilon = {self.epsilon:g}, so no two "
            f"observations differ in the likelihood of any report by more than a factor of "
            f"{float(self.odds):.4g}."
        )

    def _responses(self) -> tuple[Response, ...]:
        sizes = (self.cells,) if self.together else self.bins
        odds = odds_below(Fraction(check_epsilon(self.epsilon, len(sizes))) / len(sizes))
        if max(sizes) > _LARGEST_RESPONSE:
            raise InputError(
                f"The columns together have {self.cells:,} cells, and a report among this many is "
                "noise alone: give fewer bins, or {argument}.",
                "together",
                value=False,
            )
        return tuple(Response(size, odds) for size in sizes)
