"""Cells of a column: the intervals, or single numbers, in which a summary counts rows.

Two machines that lay the same cells have the same edges to the last bit, whatever their
mathematical libraries: computed edges are rounded to fewer digits than the ones that differ.
"""

from __future__ import annotations

import math
import operator
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import MISSING, astuple, dataclass, fields
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray, distinct
from pairgossip.checks import real, whole
from pairgossip.counts.axes import Axis, Grid, Labels, Range
from pairgossip.counts.borders import lay_through, sort_thresholds
from pairgossip.errors import InputError, unknown_name
from pairgossip.rows.rows import Describe, count_from_zero
from pairgossip.text import format_count

MOST_CELLS = 1 << 20
"""Largest number of cells of a table, which must fit into memory with its tree."""
_DIGITS = 26
"""Number of binary digits to which computed edges are rounded, of the range or of themselves."""
_LOG_SPAN = 100.0
"""The ratio of a positive range's ends above which its cells have equal ratios by default."""
_ONE_COLUMN, _TWO_COLUMNS = 256, 32
"""Number of cells of a column that is counted alone, and of each of two, where others see
counts."""
_ONE_OWN_COLUMN, _TWO_OWN_COLUMNS = 4096, 64
"""The same numbers where nobody else sees the counts."""
_FEWEST_BITS, _MOST_BITS = 9, 20
"""The bits of sign and exponent of a binary32 number, and the most that `MOST_CELLS` allow."""
_SPELLED = re.compile(r"(?:pg\.)?(?:cells\.)?(\w+)\s*(?:\((.*)\))?", re.DOTALL)
"""Cells as users write them, or as Python prints them."""
_WITH_EDGES = re.compile(r"(.*\w\)?)\s*\.\s*at\s*\((.*)\)", re.DOTALL)
"""Cells followed by the thresholds at which they have edges."""


@dataclass(frozen=True)
class Cells(ABC):
    """The cells of one column."""

    @abstractmethod
    def lay(self) -> Axis:
        """Return the edges of the cells, or the numbers that have a cell each."""

    def fit(self, values: FloatArray) -> Cells:
        """Return the cells for these values: the same cells, except for those that depend on
        values."""
        return self

    def at(self, *thresholds: float) -> Cells:
        """Return as many cells with edges at thresholds, so that counts on each side are exact.

        The blocks of cells are halved at the thresholds first, so that hardly any lies across one.

        >>> Even(0, 1, 8).at(0.1)
        Edges(0, ..., 1: 8 cells)
        """
        numbers = sort_thresholds(thresholds)
        return Edges(lay_through(self.lay().places, numbers).tolist()) if numbers else self

    def check(self, values: FloatArray, owner: str, describe: Describe = count_from_zero) -> None:
        """Raise `InputError` if a value is in no cell.

        ``owner`` names the column in messages, and ``describe`` its rows.
        """
        places = self.lay().places
        outside = np.flatnonzero(~((values >= places[0]) & (values <= places[-1])))
        if len(outside):
            raise InputError(
                f"{self} leaves out values of {owner[0].lower()}{owner[1:]} in "
                f"{describe(outside)}: give wider {{argument}}.",
                "cells",
            )

    def __str__(self) -> str:
        numbers = (
            f"{one:.17g}" if float(f"{one:g}") != one else f"{one:g}" for one in self.numbers
        )
        return f"{type(self).__name__}({', '.join(numbers)})"

    __repr__ = __str__

    @property
    def numbers(self) -> tuple[float, ...]:
        """The numbers from which the cells are laid."""
        return astuple(self)


@dataclass(frozen=True, repr=False)
class Even(Cells):
    """Cells of equal width from ``low`` to ``high``.

    >>> Even(0, 1, 4).lay().places.tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """

    low: float
    high: float
    count: int = _ONE_COLUMN

    def __post_init__(self) -> None:
        _set(self, low=_number(self, self.low), high=_number(self, self.high))
        _check_order(self, self.low, self.high)
        _set(self, count=_check_count(self.count))

    def lay(self) -> Grid:
        """Return edges at equal distances."""
        step = rounding_step(self.high - self.low)
        inner = np.rint(np.linspace(self.low, self.high, self.count + 1)[1:-1] / step) * step
        return _join_edges(self.low, inner, self.high)


@dataclass(frozen=True, repr=False)
class Log(Cells):
    """Cells of equal ratio from ``smallest``, above 0, to ``high``: for sizes, incomes, times.

    >>> Log(1, 16, 4).lay().places.tolist()
    [1.0, 2.0, 4.0, 8.0, 16.0]
    """

    smallest: float
    high: float
    count: int = _ONE_COLUMN

    def __post_init__(self) -> None:
        _set(self, smallest=_number(self, self.smallest), high=_number(self, self.high))
        _check_order(self, self.smallest, self.high)
        if not self.smallest > 0:
            raise InputError(f"{self} begins at {self.smallest:g}: give a number above 0, or Even.")
        _set(self, count=_check_count(self.count))

    def lay(self) -> Grid:
        """Return edges in equal ratios."""
        steps = np.linspace(math.log2(self.smallest), math.log2(self.high), self.count + 1)
        return _join_edges(self.smallest, _round(np.exp2(steps[1:-1])), self.high)


@dataclass(frozen=True, repr=False)
class Logit(Cells):
    """Cells from 0 to 1 that are even in log(p / (1 - p)): for probabilities of rare outcomes.

    The first one ends at ``smallest``, and the last one begins as far from 1.

    >>> Logit(0.25, 4).lay().places.tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """

    smallest: float = 1e-4
    count: int = _ONE_COLUMN

    def __post_init__(self) -> None:
        _set(self, smallest=_number(self, self.smallest), count=_check_count(self.count))
        if not 0 < self.smallest < 0.5 or self.count < 4 or self.count % 2:
            raise InputError(
                f"{self} is no scale of probabilities: give a smallest one between 0 and 0.5, and "
                "an even number of cells, at least 4."
            )

    def lay(self) -> Grid:
        """Return edges that are symmetric about 1/2."""
        start = math.log(self.smallest / (1 - self.smallest))
        lower = _round(1 / (1 + np.exp(-np.linspace(start, 0.0, self.count // 2))))
        return _join_edges(0.0, np.append(lower, 1 - lower[-2::-1]), 1.0)


@dataclass(frozen=True, repr=False)
class Whole(Cells):
    """A cell for every whole number from ``low`` to ``high``: counts say everything about rows.

    >>> Whole(0, 3).lay().places.tolist()
    [0.0, 1.0, 2.0, 3.0]
    """

    low: int
    high: int

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            value = _number(self, getattr(self, name))
            if value != round(value):
                raise InputError(f"Whole counts whole numbers, but its {name} is {value:g}.")
            _set(self, **{name: int(value)})
        _check_order(self, self.low, self.high)
        _check_count(self.high - self.low + 1)

    def lay(self) -> Labels:
        """Return the numbers."""
        return Labels(np.arange(self.low, self.high + 1.0))

    def at(self, *thresholds: float) -> Cells:
        """Return these same cells: every whole number is above or below any threshold.

        With blocks of cells, counts are certain only as far as no block lies across the threshold.
        """
        for one in sort_thresholds(thresholds):
            if not self.low <= one <= self.high or 2 * one != round(2 * one):
                raise InputError(
                    f"Threshold {one:.9g} does not fit {self}: give a whole number from "
                    f"{self.low:,} to {self.high:,}, or the middle between two."
                )
        return self

    def check(self, values: FloatArray, owner: str, describe: Describe = count_from_zero) -> None:
        """Raise `InputError` if a value is in no cell, or is not a whole number."""
        super().check(values, owner, describe)
        broken = np.flatnonzero(values != np.rint(values))
        if len(broken):
            raise InputError(
                f"{owner} is not a whole number in {describe(broken)}: give other {{argument}}, "
                "such as pg.cells.Even.",
                "cells",
            )


@dataclass(frozen=True, repr=False)
class Edges(Cells):
    """Cells between given edges, from the lowest to the highest.

    >>> Edges([0, 1, 10]).lay().places.tolist()
    [0.0, 1.0, 10.0]
    """

    edges: Sequence[float]

    def __post_init__(self) -> None:
        try:
            edges = tuple(map(float, self.edges))
        except (TypeError, ValueError):
            edges = ()
        if (
            len(edges) < 2
            or not all(map(operator.lt, edges, edges[1:]))
            or not np.isfinite(edges).all()
        ):
            raise InputError(
                f"Edges are two or more finite numbers, each larger than the one before, not "
                f"{self.edges!r}: correct them."
            )
        _check_count(len(edges) - 1)
        _set(self, edges=edges)

    def lay(self) -> Grid:
        """Return the edges."""
        return Grid(np.array(self.edges))

    def __str__(self) -> str:
        if len(self.edges) > 6:
            return f"Edges({self.edges[0]:g}, ..., {self.edges[-1]:g}: {len(self.edges) - 1} cells)"
        return f"Edges({', '.join(f'{one:g}' for one in self.edges)})"

    __repr__ = __str__

    @property
    def numbers(self) -> tuple[float, ...]:
        """The edges."""
        return tuple(self.edges)


@dataclass(frozen=True, repr=False)
class Quantiles(Cells):
    """Cells that each hold about the same number of the rows that are summarized first.

    `fit` makes `Edges` of them. Rows that come later must lie between the same ends.
    """

    count: int = _ONE_COLUMN

    def __post_init__(self) -> None:
        _set(self, count=_check_count(self.count))

    def fit(self, values: FloatArray) -> Cells:
        """Return edges at the quantiles of these values."""
        edges = distinct(np.quantile(values, np.linspace(0, 1, self.count + 1)))
        if len(edges) < 2:
            raise InputError(
                f"All values are {edges[0]:g}, so {self} has no edges: give other {{argument}}.",
                "cells",
            )
        return Edges(edges.tolist())

    def lay(self) -> Axis:
        """Refuse: without values there are no quantiles."""
        raise InputError(f"{self} has no edges before rows are seen: use fit, or give Edges.")


@dataclass(frozen=True, repr=False)
class Float(Cells):
    """Cells of all numbers with the same leading bits, in binary32: no range to agree on.

    Relative to the numbers, cells are 2^-(bits - 9) wide.

    >>> places = Float(9).lay().places
    >>> places[(places >= 1) & (places <= 8)].tolist()
    [1.0, 2.0, 4.0, 8.0]
    """

    bits: int = 12

    def __post_init__(self) -> None:
        bits = whole("The number of bits", self.bits, _FEWEST_BITS)
        if bits > _MOST_BITS:
            raise InputError(f"Float takes at most {_MOST_BITS} bits, not {bits}: give fewer.")
        _set(self, bits=bits)

    def lay(self) -> Grid:
        """Return the edges of all finite numbers."""
        step, infinite = 1 << (32 - self.bits), 0x7F800000
        positive = np.arange(0, infinite, step, dtype=np.uint32).view(np.float32)
        edges = np.append(positive.astype(np.float64), float(np.finfo(np.float32).max))
        return Grid(np.concatenate([-edges[:0:-1], edges]))


KINDS: dict[str, type[Cells]] = {
    kind.__name__: kind for kind in (Even, Log, Logit, Whole, Edges, Float)
}
"""The cells that have edges of their own, by name."""


def parse_cells(text: str) -> Cells:
    """Read cells as users write them: a name, and numbers in parentheses.

    >>> parse_cells("log(1, 1e6)"), parse_cells("Whole(0, 10)"), parse_cells("logit")
    (Log(1, 1e+06, 256), Whole(0, 10), Logit(0.0001, 256))
    """
    if found := _WITH_EDGES.fullmatch(text.strip()):
        try:
            thresholds = [float(one) for one in found[2].split(",")]
        except ValueError:
            raise InputError(f"'{text}' holds more than numbers: write .at(0.1, 0.2).") from None
        return parse_cells(found[1]).at(*thresholds)
    found = _SPELLED.fullmatch(text.strip())
    if found is None:
        raise InputError(
            f"'{text}' does not spell cells: write a name and numbers, such as even(0, 1, 256)."
        )
    kinds = {name.lower(): kind for name, kind in (KINDS | {"Quantiles": Quantiles}).items()}
    name, inside = found[1].lower(), (found[2] or "").strip()
    if name not in kinds:
        raise unknown_name("cells", found[1], kinds)
    make: Any = kinds[name]
    try:
        numbers = [_read_number(one) for one in inside.split(",") if inside]
    except ValueError:
        raise InputError(f"'{text}' holds more than numbers: write {_spell(name, make)}.") from None
    if make is Edges:
        return Edges(numbers)
    given = fields(make)
    if not sum(one.default is MISSING for one in given) <= len(numbers) <= len(given):
        count = format_count(len(numbers), "number")
        raise InputError(f"'{text}' has {count}: write {_spell(name, make)}.")
    cells: Cells = make(*numbers)
    return cells


def _spell(name: str, kind: type[Cells]) -> str:
    """Return the way to write cells of a kind."""
    if kind is Edges:
        return "edges(0, 1, 10), all edges from the lowest to the highest"
    given = fields(kind)
    every = f"{name}({', '.join(one.name for one in given)})"
    needed = [one.name for one in given if one.default is MISSING]
    return every if len(needed) == len(given) else f"{name}({', '.join(needed)}) or {every}"


def _read_number(text: str) -> float:
    number = float(text)
    return int(number) if number.is_integer() else number


def default_cells(
    ranges: Sequence[Range], whole_numbers: Sequence[bool] = (), *, is_own: bool = False
) -> tuple[Cells, ...]:
    """Return the cells of columns of which only these ranges are known.

    Whole numbers have one cell each if there are no more of them than cells; positive numbers that
    span more than a factor 100 have cells of equal ratio. The number of rows does not matter.

    Parameters
    ----------
    ranges
        The least and the largest number of every column.
    whole_numbers
        Whether each column holds only whole numbers; missing ones count as False.
    is_own
        Whether nobody else sees the counts, so that cells can be as fine as answers need.

    Examples
    --------
    >>> default_cells([(0, 1)]), default_cells([(1, 1e6), (0, 10)], [False, True])
    ((Even(0, 1, 256),), (Log(1, 1e+06, 32), Whole(0, 10)))
    """
    sizes = (_ONE_OWN_COLUMN, _TWO_OWN_COLUMNS) if is_own else (_ONE_COLUMN, _TWO_COLUMNS)
    count = sizes[len(ranges) > 1]
    given = [*whole_numbers, *(len(ranges) - len(whole_numbers)) * [False]]
    return tuple(
        choose_cells(low, high, count, is_whole)
        for (low, high), is_whole in zip(ranges, given, strict=True)
    )


def choose_cells(low: float, high: float, count: int, is_whole: bool = False) -> Cells:
    """Return the cells of one column with this range."""
    if is_whole and high - low < count:
        return Whole(int(low), int(high))
    if low > 0 and high > _LOG_SPAN * low:
        return Log(low, high, count)
    return Even(low, high, count)


def _join_edges(low: float, inner: FloatArray, high: float) -> Grid:
    edges = np.concatenate([[low], np.clip(inner, low, high), [high]])
    return Grid(distinct(edges))


def rounding_step(width: float) -> float:
    """Return the power of 2 to which edges in a range of this width are rounded."""
    return math.ldexp(1.0, math.frexp(width)[1] - _DIGITS)


def _round(edges: FloatArray) -> FloatArray:
    """Return numbers with fewer binary digits, the same on every machine."""
    mantissas, exponents = np.frexp(edges)
    return np.ldexp(np.rint(np.ldexp(mantissas, _DIGITS)), exponents - _DIGITS)


def _set(cells: Cells, **numbers: Any) -> None:
    """Set checked numbers of frozen cells."""
    for name, value in numbers.items():
        object.__setattr__(cells, name, value)


def _number(cells: Cells, value: Any) -> float:
    return real(f"An end of {type(cells).__name__}", value, -sys.float_info.max, sys.float_info.max)


def _check_order(cells: Cells, low: float, high: float) -> None:
    if not (low < high and math.isfinite(high - low)):
        raise InputError(
            f"{type(cells).__name__} runs from {low:g} to {high:g}: give the smaller end first."
        )


def _check_count(count: Any) -> int:
    number = whole("The number of cells", count, 1)
    if number > MOST_CELLS:
        raise InputError(f"A column has at most {MOST_CELLS:,} cells, not {number:,}: give fewer.")
    return number
