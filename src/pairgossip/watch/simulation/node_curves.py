"""ROC curves that nodes know while they average the numbers of rows of each class in every bin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.curves.scores import Scores
from pairgossip.kernels import Problem
from pairgossip.sketches.problem import SketchedPairs
from pairgossip.sketches.scores import AucTable

MOST_NODES = 12
"""Largest number of nodes whose curves are drawn; more would be one gray blot."""
_MOST_POINTS = 200
"""Number of points of the exact curve sent to a viewer."""
_DIGITS = 4
Path = list[list[float]]
"""False and true positive rates of a curve, by falling threshold."""


@dataclass(frozen=True)
class NodeCurves:
    """The curves of some nodes, and that of all rows."""

    problem: SketchedPairs
    table: AucTable
    exact: Path
    nodes: tuple[int, ...]

    @classmethod
    def of(cls, problem: Problem) -> Self | None:
        """Return the curves of a run whose nodes average bins of scores by class; otherwise
        None."""
        if not isinstance(problem, SketchedPairs) or not isinstance(problem.table, AucTable):
            return None
        scores = Scores.of_pairs(problem.pairs)
        exact = _path(scores.cells / scores.sizes[:, None])
        shown = np.linspace(0, problem.n - 1, min(MOST_NODES, problem.n)).astype(int)
        return cls(problem, problem.table, exact, tuple(shown.tolist()))

    def read(self, averages: FloatArray) -> list[Path | None]:
        """Return the curve of every drawn node; None where it knows rows of one class only."""
        means = self.problem.means(averages[list(self.nodes)])
        cells = self.table.cells(means)[..., self.table.x.counts, :]
        # A path down a tree passes on sums and counts, so shares may have rounding errors.
        shares = np.maximum(np.swapaxes(cells, 1, 2), 0.0)
        sizes = shares.sum(axis=2, keepdims=True)
        return [
            _path(share / size) if size.min() > 0 else None
            for share, size in zip(shares, sizes, strict=True)
        ]


def _path(shares: FloatArray) -> Path:
    """Return the curve of shares of both classes by rising score, the negative one first."""
    above = np.concatenate([np.zeros((2, 1)), np.cumsum(shares[:, ::-1], axis=1)], axis=1)
    last = above.shape[1] - 1
    kept = np.unique(np.linspace(0, last, min(_MOST_POINTS, last + 1)).astype(int))
    path: Path = np.minimum(above[:, kept], 1.0).round(_DIGITS).tolist()
    return path
