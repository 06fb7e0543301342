"""Statistics on sums: one round adds up the cells of all rows, and one number follows from them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.errors import InputError
from pairgossip.peer.protocol.program import LEAST_MEMBERS, LEAST_SITES, Ask, Disagreement
from pairgossip.peer.protocol.state import Released
from pairgossip.peer.sums.batches import CountingProgram, Table
from pairgossip.peer.sums.labels import check_labels, label_values
from pairgossip.peer.sums.noise import Noise, NoiseLaw
from pairgossip.peer.sums.plausibility import check_sums, check_value
from pairgossip.peer.sums.programs import Generation
from pairgossip.peer.sums.results import (
    CROWDED,
    AddedNoise,
    rounded_bracket,
    rounded_interval,
    rounded_or_none,
)
from pairgossip.summaries.cells import choose_cells
from pairgossip.summaries.noisy import find_noisy, rows_for_interval
from pairgossip.summaries.readings import Estimate
from pairgossip.summaries.summary import Summary
from pairgossip.summaries.summary_reading import EVENT
from pairgossip.summaries.tables import MOST_CELLS, Layout, Sums
from pairgossip.text import format_count, join_names

if TYPE_CHECKING:
    from pairgossip.peer.spec.spec import Spec

_CELLS, _NOISY_CELLS = (256, 32), (32, 8)
"""Cells of a column by itself or by class, and of each of two columns that are counted together.
With noise few: it adds up over cells."""


class StatisticsProgram(CountingProgram):
    """A kernel's statistic, or one of order, from one sum.

    Parameters
    ----------
    spec
        The specification.
    rows
        This member's rows, in the order of the specification's columns, the label last.
    generation
        All members, and their numbers of rows.
    noise
        Draws what this member adds to its counts, where the specification asks for noise.
    released, salt
        How far the rows were released before, and this member's part of the table's salt.
    """

    def __init__(
        self,
        spec: Spec,
        rows: FloatArray,
        generation: Generation,
        noise: Noise | None = None,
        released: Released = Released(),  # noqa: B008 - it is immutable
        salt: bytes = bytes(32),
    ) -> None:
        by = "" if spec.label is None else f" by {spec.label}"
        kind = ", own pairs left out" if spec.target == "u" else ""
        kind += "" if spec.within is None else f", pairs within {spec.within} alone"
        kind += "" if spec.weight is None else f", each as often as {spec.weight} says"
        asked = f"{spec.kernel} of {join_names(spec.columns)}{by}, over the rows of all members"
        if spec.noise is not None and noise is None:
            raise InputError("The specification asks for noise: give what draws and keeps it.")
        self._cells, self._noise = cells_of(spec), noise
        self.summary: Summary | None = None
        """The sum of all members' counts, once it is known; None with noise."""
        if spec.label is not None:
            check_labels(spec, rows[:, len(spec.columns)])
        super().__init__(spec, rows, generation, asked + kind, released, salt)

    @property
    def _counts(self) -> int:
        return self._cells.words

    @property
    def _is_hidden(self) -> bool:
        return self._noise is not None

    @property
    def _least_sites(self) -> int:
        if self._is_hidden:
            return 0
        if self._cells.columns.least > 1:
            return LEAST_SITES
        return LEAST_MEMBERS if self._base.table else 0

    def _describe(self) -> list[list[float]]:
        return [axis.places.tolist() for axis in self._cells.axes]

    def _is_filled(self, rows: FloatArray) -> bool:
        return self._cells.is_filled(rows)

    def _count(self, rows: FloatArray) -> IntArray:
        return self._cells.add_up(rows)

    def _blur(self, ask: Ask, first: int) -> IntArray | int:
        if self._noise is None:
            return 0
        drawn = self._noise(first, ask.public, self._cells.counts)
        return np.concatenate([[0], drawn]).astype(np.int64)

    def _follow(self, public: bytes) -> None:
        raise Disagreement("cells that are elsewhere, or another table before")

    def _check(self, new: IntArray, least: int, most: int) -> None:
        members = len(self._generation.members)
        law = None if self._noise is None else noise_law(self._spec, members)
        adding = sum(count > 0 for count in self._added.values())
        check_sums(self._cells, self._cells.read_sums(new), (least, most), law, adding)

    def _read(self, table: Table) -> dict[str, Any]:
        sums = self._cells.read_sums(table.numbers)
        if self._noise is None:
            self.summary = summary_of(self._spec, table.numbers[1:])
            has_parts = self._spec.groups or self._spec.strata or self._spec.weights
            estimate = self.summary.find() if has_parts else self._cells.find(sums)
            check_value(self._spec, estimate)
            noise = None
        else:
            estimate, noise = self._find_noisy(sums, table.batches)
        return {
            "value": rounded_or_none(estimate.value),
            "sampling_error": rounded_or_none(estimate.error),
            "interval": rounded_interval(estimate.low, estimate.high),
            "p": rounded_or_none(estimate.p),
            "bracket": rounded_bracket(*estimate.bracket),
            "p_bracket": rounded_bracket(*estimate.p_bracket),
            "crowded_cells": _crowded(estimate.fullest_cells),
            "noise": noise,
            "batches": len(table.batches),
        }

    def _conclude(self, kept: bytes) -> dict[str, Any]:
        least = self._cells.columns.least
        return super()._conclude(kept) | {"least_cell": least if least > 1 else None}

    def _find_noisy(self, sums: Sums, batches: Sequence[int]) -> tuple[Estimate, AddedNoise]:
        """Return what noisy counts tell, and what noise does to it."""
        laws = [noise_law(self._spec, members) for members in batches]
        law, variance = laws[-1], sum(one.variance for one in laws)
        estimate, error = find_noisy(self._cells, sums, variance)
        reason = explain_no_interval(self._cells, variance, sums.n)
        if reason is not None:
            estimate = estimate._replace(low=math.nan, high=math.nan)
        noise = AddedNoise(
            epsilon=law.epsilon,
            honest=law.honest,
            variance=float(f"{variance:.12g}"),
            error=rounded_or_none(error),
            without_interval=reason,
        )
        return estimate, noise


def explain_no_interval(layout: Layout, variance: float, rows: float) -> str | None:
    """Say why there is no interval, by what is agreed and the number of rows; None if there is one.

    Nothing is said about a statistic that has no interval without noise either.
    """
    least = rows_for_interval(layout, variance)
    if rows >= least:
        return None
    return (
        f"noise is too large beside {format_count(int(rows), 'row')}: an interval takes "
        f"{least:,} rows, or a larger privacy.epsilon, or fewer algorithm.bins"
    )


def _crowded(shares: tuple[float, ...]) -> tuple[float, ...] | None:
    """Return the shares of rows in crowded cells; what else cells hold is not handed on."""
    crowded = tuple(rounded_or_none(one) or 0.0 if one > CROWDED else 0.0 for one in shares)
    return crowded if any(crowded) else None


def cells_of(spec: Spec) -> Layout:
    """Return what is added up for a specification with a kernel."""
    return summary_of(spec).layout


def summary_of(spec: Spec, counts: IntArray | None = None) -> Summary:
    """Return the summary of a specification's cells, with these counts or none."""
    is_table = len(spec.columns) > 1 and spec.label is None
    # The kernel and the label alone decide on cells: counts of fine cells are the rows, rounded.
    bins = spec.algorithm.bins or (_CELLS if spec.noise is None else _NOISY_CELLS)[is_table]
    takes = spec.measure.columns or ()
    has_events = takes[-1:] == (EVENT,) and len(spec.columns) == len(takes)
    values = (0.0, 1.0) if has_events else None
    if spec.label is not None:
        values = tuple(label_values(spec).tolist())
    positive = None
    if spec.has_two_classes and values is not None:
        positive = f"{values[-1]:g}" if spec.classes is None else spec.classes[-1]
    empty = Summary.empty(
        reading=str(spec.kernel),
        kind=spec.target,
        cells=tuple(
            choose_cells(*spec.ranges[name], MOST_CELLS if is_whole else bins, is_whole)
            for name in spec.columns[: -1 if has_events else None]
            for is_whole in [name in (spec.whole or ())]
        ),
        classes=values,
        has_events=has_events,
        positive=positive,
        least_cell=spec.algorithm.least_cell or 1,
        groups=spec.groups,
        strata=spec.strata,
        weights=spec.weights,
    )
    return empty if counts is None else empty.with_counts(counts)


def count_combinations(spec: Spec, rows: FloatArray) -> dict[str, int]:
    """Return how many rows have each combination of label, group, stratum and weight, by its name.

    Empty where rows are not counted apart.
    """
    table = cells_of(spec).tables[0]
    names = spec.observed[len(spec.observed) - len(table.factors) :]
    values = []
    for name, factor in zip(names, table.factors, strict=True):
        shown = spec.words.get(name, [f"{one:g}" for one in factor.values])
        values.append([f"{name} {one}" for one in shown])
    counts = table.count_factors(rows).ravel().tolist()
    combined = map(", ".join, itertools.product(*values))
    return dict(zip(combined, counts, strict=True)) if names else {}


def noise_law(spec: Spec, members: int) -> NoiseLaw:
    """Return the law of the noise that each member adds to a count."""
    assert spec.noise is not None
    # A member knows its own part of the noise, so the others' must be enough to hide rows from it.
    others = max(members - 1, 1)
    honest = min(spec.noise.honest or others, others)
    return NoiseLaw(spec.noise.epsilon, len(cells_of(spec).tables), honest, members)
