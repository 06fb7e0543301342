"""Probabilities of rows of two classes, each known up to the ends of its box."""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pairgossip.arrays import BoolArray, FloatArray, IntArray
from pairgossip.counts.bounds import Ends
from pairgossip.curves.scores import Scores
from pairgossip.errors import InputError

CLASSES = np.array([[0.0], [1.0]])
"""The outcomes of the two classes, as numbers."""
FARTHEST = 745.0
"""Bound on the size of logits: no binary64 number strictly between 0 and 1 has a larger one."""


class Box(NamedTuple):
    """Rows that lie between two scores; nothing more is known of their scores."""

    low: FloatArray
    high: FloatArray
    rows: FloatArray
    """The number of rows by class, shape (2, boxes)."""


class Placed:
    """The rows of both classes: in boxes for certain, and at points by estimate."""

    def __init__(self, scores: Scores) -> None:
        self.scores = scores
        self.boxes = _find_boxes(scores)
        held = scores.cells.any(axis=0)
        self.cells: FloatArray = scores.cells[:, held]
        """The estimated number of rows per cell, shape (2, cells)."""
        self._ends = tuple(end[held] for end in scores.axis.ends)
        self._check()

    def _check(self) -> None:
        low, high = float(self.boxes.low.min()), float(self.boxes.high.max())
        if not 0 <= low <= high <= 1:
            reach = "run" if self.is_known else "may run"
            cells = "" if self.is_known else ", or count them in cells from 0 to 1"
            raise InputError(
                f"Calibration is of probabilities, but scores {reach} from {low:.10g} to "
                f"{high:.10g}: give scores from 0 to 1{cells}."
            )

    @property
    def is_known(self) -> bool:
        """Whether the score of every row is known."""
        return self.scores.is_known

    @cached_property
    def n(self) -> float:
        """The number of rows."""
        return float(self.scores.sizes.sum())

    @cached_property
    def positives(self) -> float:
        """The number of rows with the outcome."""
        return float(self.scores.sizes[1])

    @cached_property
    def points(self) -> FloatArray:
        """The probability that represents the rows of each cell."""
        return np.asarray((self._ends[0] + self._ends[1]) / 2)

    @cached_property
    def logits(self) -> FloatArray:
        """The logit that represents the rows of each cell, by class, shape (2, cells).

        It is the middle of the cell's logits. For a cell that ends at 0 or 1 it is the logit of the
        middle score; but for rows of the class that is unlikely at that end it is the other end.
        """
        low, high = (logit(end) for end in self._ends)
        middle = (low + high) / 2
        is_open = (abs(low) >= FARTHEST) != (abs(high) >= FARTHEST)
        middle = np.where(is_open, logit(self.points), middle)
        negative = np.where(is_open & (high >= FARTHEST), low, middle)
        positive = np.where(is_open & (low <= -FARTHEST), high, middle)
        return np.stack([negative, positive])

    @cached_property
    def offsets(self) -> FloatArray:
        """The same logits, infinite where scores are exactly 0 or 1."""
        return _unclip(self.logits)

    @cached_property
    def offset_ends(self) -> tuple[FloatArray, FloatArray]:
        """The lowest and the highest offsets in boxes, equal for both classes, shape (2, boxes)."""
        ends = (self.boxes.low, self.boxes.high)
        low, high = (np.tile(_unclip(logit(end)), (2, 1)) for end in ends)
        return low, high

    @cached_property
    def limits(self) -> Ends | None:
        """The least score of positive rows, and the largest of negative ones, that fits assume.

        A positive row at 0 alone would determine the slope, and counts in a cell that begins at 0
        cannot exclude it. Such a row is therefore placed at the other end of the cell, and a
        negative row in a cell that ends at 1 likewise. None where no row is moved.
        """
        low, high = self.scores.axis.ends
        least = float(high[0]) if low[0] == 0 < high[0] else 0.0
        most = float(low[-1]) if high[-1] == 1 > low[-1] else 1.0
        rows = self.boxes.rows
        is_moved = rows[1, self.boxes.low < least].any() or rows[0, self.boxes.high > most].any()
        return (least, most) if is_moved else None

    @cached_property
    def logit_ends(self) -> tuple[FloatArray, FloatArray]:
        """The lowest and the highest logits of the rows of each box, by class."""
        least, most = self.limits or (0.0, 1.0)
        low = np.stack([self.boxes.low, np.maximum(self.boxes.low, least)])
        high = np.stack([np.minimum(self.boxes.high, most), self.boxes.high])
        low, high = np.minimum(low, high), np.maximum(low, high)
        return logit(low), logit(high)

    def within(self, first: int, stop: int) -> tuple[BoolArray, BoolArray]:
        """Return which boxes lie inside the cells ``first`` to ``stop``, and which overlap them."""
        low, high = self._places
        return (low >= first) & (high < stop), (high >= first) & (low < stop)

    @cached_property
    def _places(self) -> tuple[IntArray, IntArray]:
        """The first and the last cell of each box."""
        return _box_places(self.scores)


def _box_places(scores: Scores) -> tuple[IntArray, IntArray]:
    """Return the first and the last cell of each box that holds rows."""
    if scores.tree is None or scores.counts is None:
        cells = np.flatnonzero(scores.cells.any(axis=0))
        return cells, cells
    held = scores.counts.any(axis=0)
    first, last = (ends[held, 0] for ends in scores.tree.boxes)
    return first, last


def _find_boxes(scores: Scores) -> Box:
    first, last = _box_places(scores)
    low, high = scores.axis.ends
    counts = scores.cells if scores.counts is None else scores.counts
    return Box(low[first], high[last], counts[:, counts.any(axis=0)])


def logit(p: FloatArray) -> FloatArray:
    """Return log(p / (1 - p)), clipped to the logits of numbers strictly between 0 and 1."""
    with np.errstate(divide="ignore"):
        return np.clip(np.log(p) - np.log1p(-p), -FARTHEST, FARTHEST)


def _unclip(x: FloatArray) -> FloatArray:
    """Return logits with the clipped ones made infinite."""
    return np.where(np.abs(x) < FARTHEST, x, np.copysign(np.inf, x))


def expit(x: FloatArray) -> FloatArray:
    """Return 1 / (1 + exp(-x)).

    >>> expit(np.array([-1000.0, 0.0, 1000.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, small) / (1 + small)


def log_odds(share: float) -> float:
    """Return the logit of a share, infinite at 0 and 1."""
    if share <= 0 or share >= 1:
        return math.copysign(math.inf, share - 0.5)
    return math.log(share) - math.log1p(-share)
