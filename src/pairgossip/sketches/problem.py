"""A sketch on the nodes of a network: the averaged features, and each node's statistic."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.errors import InputError
from pairgossip.inference.answer import Law
from pairgossip.kernels import Pairs
from pairgossip.kernels.blocks import Progress
from pairgossip.kernels.problem import Averages
from pairgossip.order_statistics.statistics import Sampling
from pairgossip.sketches import (
    Bins,
    BracketingSketch,
    Moments,
    Recipe,
    Sketch,
    TwoWayBins,
    default_sketch,
)
from pairgossip.sketches.moments import Scatter
from pairgossip.sketches.order import OrderTable
from pairgossip.sketches.sampling import find_points, sampling_errors, sampling_law
from pairgossip.sketches.sketch import PointSketch

if TYPE_CHECKING:
    from pairgossip.inference.orders import NodeTest


class SketchedPairs(Averages):
    """The features of every node's rows, and the statistic computed from their mean.

    Parameters
    ----------
    pairs
        The rows, their kernel and their target.
    sketch
        A recipe, or a fitted sketch; None for the default of the kernel.
    site_of
        The site of every row, where nodes are sites. A site adds up its rows' features, and
        averages the number of its rows along with them.
    errors
        Whether nodes need their sampling errors, for which some sketches average more.

    Attributes
    ----------
    limit
        The value to which all nodes converge: the statistic of the exact mean.
    """

    nodes_at_once = 1 << 14
    """The number of nodes read at a time: a readout makes several arrays of their size."""

    def __init__(
        self, pairs: Pairs, sketch: Any, site_of: IntArray | None, errors: bool = False
    ) -> None:
        self.pairs, self.kernel, self.target = pairs, pairs.kernel, pairs.target
        self.site_of, self.weights = site_of, pairs.weights
        self._rows = rows = pairs.without_weights()
        self.data = pairs.data
        recipe = self._choose(sketch)
        self.sketch_name = _name(recipe)
        if errors and isinstance(recipe, Bins | Moments | TwoWayBins):
            recipe = replace(recipe, errors=True)
        self.sketch = recipe.fit(rows) if isinstance(recipe, Recipe) else recipe
        if errors:
            find_points(self.sketch, pairs.kernel.name)
        if isinstance(recipe, Recipe):
            self._flood(recipe.flooded(rows))
        self._sum_up(_check_features(self.sketch, rows.data))
        self.limit = _check_readout(self.sketch, self._mean)

    def _flood(self, rows: IntArray) -> None:
        """Let all nodes learn the numbers of these rows before they know their features."""
        self.holders = rows if self.site_of is None else self.site_of[rows]

    def _sum_up(self, features: FloatArray) -> None:
        """Let nodes average the features of all rows."""
        self._mean = np.asarray(np.average(features, axis=0, weights=self.weights))
        self.average_rows(features)

    def _choose(self, sketch: Any) -> Sketch | Recipe:
        chosen = None if sketch is None else _check_sketch(sketch)
        if self.pairs.has_strata and (chosen is None or isinstance(chosen, Recipe)):
            raise InputError(
                "No sketch separates pairs within strata from pairs between them: use method "
                "'tracking' (messages as long as GoSta's) or 'collect' (all rows to all nodes)."
            )
        return default_sketch(self._rows.kernel) if chosen is None else chosen

    def read(self, averaged: FloatArray) -> FloatArray:
        """Return each node's statistic, from the averages it has, shape (n, r)."""
        return np.concatenate([self.sketch.readout(means) for _, means in self._parts(averaged)])

    def _parts(self, averaged: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        """Yield blocks of nodes, and their means."""
        for start in range(0, len(averaged), self.nodes_at_once):
            at = slice(start, start + self.nodes_at_once)
            yield at, self.means(averaged[at])

    def sampling(self, averaged: FloatArray, level: float) -> Sampling:
        """Return each node's sampling error, from its averages; NaN where there is none."""
        found = [self._read_sampling(means, level) for _, means in self._parts(averaged)]
        return Sampling(*map(np.concatenate, zip(*found, strict=True)))

    def _read_sampling(self, means: FloatArray, level: float) -> Sampling:
        errors = sampling_errors(self._points, self._rows, means)
        unknown = np.full_like(errors, np.nan)
        return Sampling(errors, unknown, unknown, unknown)

    def null_errors(self, averaged: FloatArray, test: NodeTest) -> FloatArray:
        """Return each node's standard error without an effect, from the averages it has."""
        table, parts = self.table, self._parts(averaged)
        assert table is not None
        return np.concatenate(
            [test.errors(table.averages(means), table.tie_sizes(means)) for _, means in parts]
        )

    def tie_sizes(self, averaged: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the numbers of rows that each node takes for tied, in either column."""
        assert self.table is not None
        return self.table.tie_sizes(self.means(averaged))

    @property
    def ties_known(self) -> bool | None:
        """Whether nodes know which rows are tied; None where nodes average no cells."""
        return None if self.table is None else self.table.ties_known

    @property
    def table(self) -> OrderTable | None:
        """The cells of two columns, or of one and the class, if these are averaged."""
        return self.sketch if isinstance(self.sketch, OrderTable) else None

    @property
    def _points(self) -> PointSketch:
        return find_points(self.sketch, self._rows.kernel.name)

    def limit_error(self, level: float) -> float:
        """Return the sampling error to which nodes converge, for intervals at a level."""
        return float(self._read_sampling(self._mean[None], level).error[0])

    def limit_law(self, freedom: float) -> Law:
        """Return the law of the statistic over its error, to which nodes converge."""
        if isinstance(self.sketch, Scatter):  # the averaged powers give the error only
            return Law(freedom)
        return sampling_law(self._points, self._rows, self._mean, freedom)

    def exact(self, progress: Progress | None = None) -> float:
        """Return the target."""
        return self.pairs.exact(progress)

    @property
    def bracket(self) -> tuple[float, float] | None:
        """The interval that certainly holds the statistic; None if the sketch has none."""
        if not isinstance(self.sketch, BracketingSketch):
            return None
        ends = self.sketch.bracket(self._mean)
        return None if ends is None else (float(ends[0]), float(ends[1]))

    def linearized(self) -> tuple[FloatArray, float]:
        """Return numbers that average like the estimates converge, and the error that remains.

        To first order a node's error is the error of averaging its features times their slopes.
        """
        features = self.features
        rows = (len(self.data) if self.weights is None else self.weights.sum()) / self.n
        typical = np.sqrt(np.mean(features[:, : len(self._mean)] ** 2, axis=0)) / rows
        size = np.maximum(1e-6 * typical, np.finfo(np.float64).tiny)
        above, below = (self.sketch.readout(self._mean + sign * np.diag(size)) for sign in (1, -1))
        slopes = (above - below) / (2 * size)
        if self.is_counted:  # the mean is a quotient of two averages
            off = (features[:, :-1] - features[:, -1:] * self._mean) / rows
        else:
            off = features - self._mean
        return np.asarray(off @ slopes), abs(self.limit - self.exact())


def _check_sketch(sketch: Any) -> Sketch | Recipe:
    if not isinstance(sketch, Sketch | Recipe) or isinstance(sketch, type):
        raise InputError(
            "A sketch has the methods features(rows) and readout(mean), but got "
            f"{sketch.__name__ if isinstance(sketch, type) else type(sketch).__name__}: use one of "
            "pg.sketches, such as pg.sketches.Bins(16).",
        )
    return sketch


def _name(sketch: Sketch | Recipe) -> str:
    """Return the text of a sketch, or the name of its class if it has no text of its own."""
    plain = type(sketch).__repr__ is object.__repr__  # an address, different in every process
    return type(sketch).__name__ if plain else repr(sketch)


def _check_readout(sketch: Sketch, mean: FloatArray) -> float:
    value = np.asarray(sketch.readout(mean), dtype=np.float64)
    if value.shape != () or not np.isfinite(value):
        raise InputError(
            f"The sketch's readout of one mean of shape {mean.shape} must be one finite number, "
            f"but is {value!r}: correct its `readout`, or the rows if no pair of them counts."
        )
    several = np.asarray(sketch.readout(np.stack([mean] * 3)), dtype=np.float64)
    if several.shape != (3,) or not np.allclose(several, value):
        raise InputError(
            f"The sketch's readout of three means, shape (3, {len(mean)}), must equal that of "
            "each: index features as in mean[..., 0]."
        )
    return float(value)


def _check_features(sketch: Sketch, data: FloatArray) -> FloatArray:
    features = np.ascontiguousarray(sketch.features(data), dtype=np.float64)
    if features.ndim == 1:
        features = features[:, None]
    if features.ndim != 2 or len(features) != len(data) or not features.shape[1]:
        raise InputError(
            f"The sketch's features of {len(data)} rows have shape {features.shape}: they must "
            f"have one row each, shape ({len(data)}, r)."
        )
    if not np.isfinite(features).all():
        raise InputError("The sketch's features of some rows are NaN or infinite.")
    return features
