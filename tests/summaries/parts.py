"""Rows with groups, strata and weights, drawn at random, and their statistics by brute force."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import pairgossip as pg
from pairgossip.arrays import BoolArray, FloatArray, IntArray
from pairgossip.counts.bounds import Ends

CELLS = pg.cells.Even(0, 1, 16)
OF_CLASSES = ("auc", "within-cluster-scatter")
OF_TWO = ("kendall", "kendall-b", "concordance")
KERNELS = (*OF_CLASSES, *OF_TWO, "gini", "variance", "gini-coefficient")


class Rows:
    """Rows that are drawn at random."""

    def __init__(self, seed: int, n: int, kernel: str) -> None:
        random = np.random.default_rng(seed)
        x = np.round(random.random(n) ** random.choice([1, 3]), random.choice([1, 6]))
        y = np.round((random.random(n) + x) / 2, 2)
        self.data: FloatArray = np.column_stack([x, y]) if kernel in OF_TWO else x
        self.labels: IntArray = random.integers(0, 2, n)
        self.has_labels = kernel in OF_CLASSES
        self.by: IntArray = random.integers(0, 2, n)
        self.within: IntArray = random.integers(0, 3, n)
        self.weights: IntArray = random.integers(1, 4, n)

    def push(self, seed: int, cells: int) -> None:
        """Move all rows of a class and group to the lower, or all to the upper, ends of cells.

        There, differences between classes are nearly the smallest or largest that cells allow.
        """
        sides = np.random.default_rng(seed).integers(0, 2, (2, 2))[self.labels, self.by]
        column = self.data if self.data.ndim == 1 else self.data[:, 0]
        low = np.minimum(np.floor(column * cells), cells - 1) / cells
        column[:] = np.where(sides, np.nextafter(low + 1 / cells, 0.0), low)

    def take(self, chosen: BoolArray, *names: str) -> dict[str, Any]:
        """Return arguments with these columns of some rows."""
        names = ("labels", *names) if self.has_labels else names
        return {name: getattr(self, name)[chosen] for name in ("data", *names)}

    def counted(self, least: int) -> BoolArray:
        """Return which rows have enough others of their class, group and stratum."""
        parts = [self.by, self.within, *([self.labels] if self.has_labels else [])]
        alike = np.logical_and.reduce([one[:, None] == one for one in parts])
        return np.asarray(alike.sum(axis=1) >= least)


def summarize(rows: Rows, kernel: str, least: int, **more: Any) -> pg.Summary:
    """Count rows by group, stratum, class and, where cells are not hidden, weight."""
    every = np.ones(len(rows.by), bool)
    given = rows.take(every, "by", "within", *(["weights"] if least == 1 else []))
    classes = [0, 1] if rows.has_labels else None
    listed: dict[str, Any] = {
        "groups": [0, 1],
        "strata": [0, 1, 2],
        "classes": classes,
        "cells": CELLS,
    } | more
    return pg.summarize(kernel=kernel, least_cell=least, **given, **listed)


def compare(
    rows: Rows, kernel: str, least: int, kind: str, cells: pg.cells.Cells = CELLS
) -> Iterator[tuple[float, Ends]]:
    """Return the statistic within strata of the counted rows, and its bracket, of every group."""
    summary = summarize(rows, kernel, least, kind=kind, cells=cells)
    for group in (None, "0", "1"):
        chosen = rows.counted(least)
        if group is not None:
            chosen &= rows.by == int(group)
        if not chosen.any() or np.bincount(rows.within[chosen]).min(initial=2) == 1:
            continue
        names = ("within", *(["weights"] if least == 1 else []))
        if rows.has_labels and len(np.unique(rows.labels[chosen])) < 2:
            continue
        if not rows.data[chosen].any():  # amounts that are all 0 have no Gini coefficient
            continue
        exact = float(pg.exact(kernel=kernel, kind=kind, **rows.take(chosen, *names)))
        if np.isnan(exact):
            if rows.has_labels:  # no stratum has both classes, as counts by class show
                with pytest.raises(pg.InputError, match="has no value"):
                    summary.bracket(group=group)
            continue  # otherwise a column is constant, which blocks do not show
        yield exact, summary.bracket(group=group)
