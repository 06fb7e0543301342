"""Statistics on sums: one round adds up the cells of all rows, a second one may use finer bins."""

from __future__ import annotations

import math
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.kernels import as_kernel
from pairgossip.peer.protocol.program import Disagreement, Words
from pairgossip.peer.sums.cells import (
    Axis,
    Cells,
    Columns,
    RankCells,
    SampleCells,
    cells_of_kernel,
)
from pairgossip.peer.sums.fixed_point import decode
from pairgossip.peer.sums.noise import Noise, NoiseLaw
from pairgossip.peer.sums.programs import Generation, SumsProgram, read_question
from pairgossip.peer.sums.questions import (
    check_labels,
    count_grades,
    find_order_question,
    label_values,
)
from pairgossip.peer.sums.readings import Reading
from pairgossip.peer.sums.results import AddedNoise, known, known_bracket, known_ends
from pairgossip.sketches.grids import Grid, Labels
from pairgossip.text import join_names

if TYPE_CHECKING:
    from pairgossip.peer.spec.spec import Spec

_ROWS_AT_ONCE = 1 << 10
_MOST_LABELS = 64
_CLOSE = 1e-7
"""How far the edges of another member's bins may be from this one's, as a part of the range."""
_FEWEST_BINS, _MOST_BINS = 32, 512
"""How many bins a column has where the number of rows decides."""
_NOISY_BINS, _TABLE_BINS = 64, 16
"""How many a column has whose counts are noisy, and two that are binned together have each."""


class _Question(NamedTuple):
    """What a sum depends on: which one it is, and the edges of the bins of every column."""

    name: str
    edges: list[list[float]]


class StatisticsProgram(SumsProgram):
    """A kernel's statistic, or one of order, from one or two sums.

    Parameters
    ----------
    spec
        The specification.
    rows
        This member's rows, in the order of the specification's columns, the label last.
    generation
        All members, and their numbers of rows.
    noise
        What this member adds to its counts, where the specification asks for noise.
    """

    def __init__(
        self, spec: Spec, rows: FloatArray, generation: Generation, noise: Noise | None = None
    ) -> None:
        super().__init__(spec, generation, describe_question(spec))
        if spec.noise is not None and noise is None:
            raise InputError("The specification asks for noise: give what draws and keeps it.")
        self._cells = cells_of(spec, generation.rows)
        self._grids = self._cells.grids
        self._rows, self._noise = rows, noise
        self._taken = 0
        if spec.label is not None:
            check_labels(spec, rows[:, -1])

    @cached_property
    def longest(self) -> int:
        """How many words a contribution has at most."""
        return count_words(self._spec, self._generation.rows)

    @property
    def most_sums(self) -> int:
        """How many sums become known at most: each once, and again if members ask differently."""
        return (1 if self._spec.noise else 2) * self._spec.algorithm.refine

    def _question(self) -> tuple[bytes, int]:
        name = f"cells {self._taken}"
        edges = [_places(grid) for grid in self._grids]
        return msgspec.msgpack.encode(_Question(name, edges)), self._width()

    def _width(self) -> int:
        if self._noise is not None:
            return 1 + int(self._cells.is_count(self._grids).sum())
        return 1 + len(self._cells.bounds(self._grids))

    def _add_up(self) -> Words:
        """Return the number of rows, and the sums of their features or their counts."""
        bits = 0 if self._noise is not None else self._bits
        total = np.zeros(self._width(), dtype=np.uint64)
        total[0] = len(self._rows)
        for start in range(0, len(self._rows), _ROWS_AT_ONCE):
            total[1:] += self._encode(self._rows[start : start + _ROWS_AT_ONCE], bits)
        if self._noise is not None:
            drawn = self._noise(self._question()[0], len(total) - 1)
            total[1:] += drawn.astype(np.int64).view(np.uint64)
        return total

    def _encode(self, rows: FloatArray, bits: int) -> Words:
        words = self._cells.encode(rows, self._grids, bits)
        return words if self._noise is None else words[self._cells.is_count(self._grids)]

    def _follow(self, public: bytes) -> None:
        if self._noise is not None:
            raise Disagreement("noise hides rows once only, so that no sum of counts is repeated")
        self._grids = _follow_grids(self._question()[0], public, self._grids)

    def _take(self, total: Words) -> None:
        n = float(total[0])
        if n != self._generation.rows:
            raise Disagreement(
                f"members have {self._generation.rows:,} rows by their list, but counted {n:,.0f}"
            )
        self._taken += 1
        cells, grids = self._cells, self._grids
        if self._noise is None:
            means = decode(total[1:], cells.bounds(grids), self._bits) / n
            counts = means[cells.is_count(grids)] if grids else means
        else:
            counts = decode(total[1:], np.ones(1), 0) / n
            means = cells.spread(counts, grids)
        if self._taken < self._spec.algorithm.refine:
            self._grids = cells.refine(counts, grids)
        else:
            self._conclude(means, counts, n)

    def _conclude(self, means: FloatArray, counts: FloatArray, n: float) -> None:
        reading = self._cells.reading(self._grids, n)
        noise = self._describe_noise(reading, counts, n)
        error = 0.0 if noise is None else math.nan if noise.error is None else noise.error
        found = reading.find(means, error)
        self.result = self._state(
            value=known(found.value),
            sampling_error=known(found.error),
            interval=known_ends(found.low, found.high),
            p=known(found.p),
            bracket=known_bracket(*found.bracket),
            noise=noise,
        )

    def _describe_noise(self, reading: Reading, counts: FloatArray, n: float) -> AddedNoise | None:
        """Return what noise does to the value, by the delta method: slopes along every count."""
        asked, members = self._spec.noise, len(self._generation.members)
        if asked is None:
            return None
        law = noise_law(self._spec, members)
        variance = law.variance(members)
        step = max(1.0, math.sqrt(variance)) / n
        moved = [counts + side * step * np.eye(len(counts)) for side in (1, -1)]
        above, below = (reading.readout(self._cells.spread(one, self._grids)) for one in moved)
        slopes = (above - below) / (2 * step * n)
        return AddedNoise(
            epsilon=asked.epsilon,
            honest=law.honest,
            variance=float(f"{variance:.12g}"),
            # Where a value is at the end of what it can be, slopes say nothing.
            error=known(math.sqrt(variance * float(slopes @ slopes)) or math.nan),
        )


def _places(axis: Axis) -> list[float]:
    """Return the edges of bins, or the values that have one each."""
    return (axis.values if isinstance(axis, Labels) else axis.edges).tolist()


def _follow_grids(mine: bytes, theirs: bytes, grids: tuple[Axis, ...]) -> tuple[Axis, ...]:
    """Return bins as another member lays them, if they are the same but for rounding."""
    (name, edges), (other, others) = (read_question(one, _Question) for one in (mine, theirs))
    sizes = [list(map(len, lists)) for lists in (edges, others)]
    if name != other or sizes[0] != sizes[1]:
        raise Disagreement("another number of bins")
    for one, two in zip(edges, others, strict=True):
        near = _CLOSE * (one[-1] - one[0])
        if not all(abs(a - b) <= near for a, b in zip(one, two, strict=True)):
            raise Disagreement("bins that are elsewhere")
        if not all(a < b for a, b in pairwise(two)):
            raise Disagreement("bins that are empty")
    # Values of their own are declared, and as near as that they are the same.
    return tuple(
        grid if isinstance(grid, Labels) else Grid(np.array(edges), grid.powers)
        for edges, grid in zip(others, grids, strict=True)
    )


def columns_of(spec: Spec, rows: int | None = None) -> Columns:
    """Return what a specification says of the columns of a statistic."""
    label = _known_labels(spec)
    names = spec.observed if label is None else spec.columns
    bins, most_bins = (spec.algorithm.bins or default_bins(spec, n) for n in (rows, None))
    ranges = tuple(spec.ranges[name] for name in names)
    whole = tuple(name in (spec.whole or ()) for name in names)
    return Columns(ranges, whole, label, bins, most_bins, spec.target)


def default_bins(spec: Spec, rows: int | None) -> int:
    """Return how many bins a column has unless the specification says.

    Twice the root of the number of all rows: bins then leave open about as much as the sampling
    error does, and no more rows have a bin to themselves than need be. The most if the number of
    rows is not known.
    """
    if len(spec.columns) > 1 and spec.label is None:
        return _TABLE_BINS
    if spec.noise is not None:
        return _NOISY_BINS  # each bin has noise of its own
    most = _MOST_BINS if spec.label is None else 2 * _MOST_BINS // max(count_grades(spec), 2)
    return most if rows is None else min(max(2 * math.isqrt(rows), _FEWEST_BINS), most)


def _known_labels(spec: Spec) -> Labels | None:
    """Return the values of the label, from classes or the range; None if there is no label."""
    if spec.label is None:
        return None
    count = count_grades(spec)
    if not 1 <= count <= _MOST_LABELS:
        raise InputError(
            f"ranges.{spec.label} holds {count:,} whole numbers, but sums are made for 1 to "
            f"{_MOST_LABELS} of them: number the labels 0, 1, ..., list classes, or let rows "
            'travel with algorithm.name = "exchange".'
        )
    return Labels(label_values(spec))


def cells_of(spec: Spec, rows: int | None = None) -> Cells:
    """Return what is added up for a specification with a kernel, and so many rows in all."""
    columns, asked = columns_of(spec, rows), find_order_question(str(spec.kernel))
    if asked is None:
        return cells_of_kernel(columns, as_kernel(spec.kernel))
    return RankCells(columns) if asked.statistic is None else SampleCells(columns, asked.statistic)


def count_words(spec: Spec, rows: int | None = None) -> int:
    """Return how many numbers a member contributes to a sum; at most, if the rows are unknown."""
    cells = cells_of(spec, rows)
    if spec.noise is not None:
        return 1 + int(cells.is_count(cells.grids).sum())
    return 1 + len(cells.bounds(cells.grids))


def noise_law(spec: Spec, members: int) -> NoiseLaw:
    """Return what each of so many members adds to a count in one of the rounds."""
    assert spec.noise is not None
    cells = cells_of(spec)
    # A member knows its own part of the noise, so the others' must be enough to hide rows from it.
    others = max(members - 1, 1)
    honest = min(spec.noise.honest or others, others)
    epsilon = spec.noise.epsilon / spec.algorithm.refine
    return NoiseLaw(epsilon, len(cells.blocks(cells.grids)), honest)


def describe_question(spec: Spec) -> str:
    """Say in words what is asked."""
    of = join_names(spec.columns)
    by = "" if spec.label is None else f" by {spec.label}"
    kind = ", own pairs left out" if spec.target == "u" else ""
    return f"{spec.kernel} of {of}{by}, over the rows of all members{kind}"
