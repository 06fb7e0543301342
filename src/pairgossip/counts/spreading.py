"""Estimates of the number of rows in every cell, from the blocks in which sites report them.

Rows that stay in a large block are not like the others in it: they are the outermost rows of their
site on the side of its light half (`Tree.report`). To spread them like the others would put rows
of tails where most rows are, and would bias spread, means and even medians. So the rule itself is
simulated: sites are drawn from a law, they report, and the drawn rows that stay in a block show
where such rows are. The next law is fitted to these rows and the observed blocks, smoothed, and so
on.

Nothing shows how rows lie in the outer half of a tail. There the law continues as it falls before:
its logarithm is as straight as the rows allow (Eilers and Marx 1996), so an exponential tail keeps
its slope. A few rounds from a law with short tails are enough. With more rounds, tails that no row
shows would grow.

Sizes of sites are not known from a sum, and not needed: smaller sites report in larger blocks, so
the depth of observed blocks shows the size of a typical site. The least number of rows is not
needed either: the smallest number in a block takes its place; if that is twice as large, so is the
typical site.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.counts.tree import Tree

_ROUNDS = 10
"""Number of rounds; in each, sites are drawn from the law that the last one gave."""
_DRAWN_ROWS = 4000
"""Number of rows drawn in a round, in as many sites as they fill."""
_FEWEST_SITES, _MOST_SITES = 4, 24
"""Least and largest number of sites drawn in a round."""
_LARGEST_SITE, _LARGEST_LEAST = 1 << 14, 1 << 10
"""Largest number of rows of a drawn site (the outermost rows of larger ones are few), and largest
value of the least number, whatever a table claims."""
_KNOTS = 64
"""Largest number of points of a law's logarithm, which is straight between them."""
_STIFFNESS = 1.2e-6
"""Weight of squared second differences, relative to the rows and the cube of knots; see
`_Curve`."""
_RIDGE = 1e-6
"""Rows that are added to each knot in Newton's steps, as a share of the mean, so that knots
without rows move alike on every machine."""
_FIRST_STEPS, _STEPS = 12, 2
"""Newton's steps toward the first law, and toward each later one."""
_LARGEST_CHANGE = 1.0
"""Largest change of a logarithm in one step."""
_LEAST_LOG = -60.0
"""Logarithm of the least share of a cell, relative to the largest: rows of any block have a place.
"""


def spread_rows(tree: Tree, blocks: FloatArray) -> FloatArray:
    """Estimate the number of rows in every cell, shape (..., *shape); no row leaves its block.

    ``blocks`` are the rows reported in every block, shape (..., size); leading axes are classes.
    Each class has its own law; one whose blocks show little is taken to be like all together. Two
    columns are spread by `Tree.spread`: blocks of two axes do not show how tails fall.
    """
    if len(tree.shape) > 1:
        return tree.spread(blocks)
    classes, straight = blocks.reshape(-1, tree.size), np.zeros(min(tree.shape[0], _KNOTS))
    rows, law = _Report(tree, classes.sum(axis=0)).spread(None, straight)
    if len(classes) > 1:
        rows = np.stack([_Report(tree, one).spread(rows, law)[0] for one in classes])
    return rows.reshape(*blocks.shape[:-1], *tree.shape)


@dataclass(frozen=True)
class _Report:
    """The rows that the sites of one class report in the blocks of one column."""

    tree: Tree
    blocks: FloatArray

    def spread(self, first: FloatArray | None, model: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the estimate and the logarithms of its law.

        ``first`` are the rows of all classes, and ``model`` the logarithms of their law.
        """
        curve, size = _lay_curve(self.tree.shape[0]), self.blocks.sum() / _FEWEST_SITES
        rows = self.tree.spread(self.blocks, first)  # with short tails
        logs = curve.fit(rows, model, model, _FIRST_STEPS)
        for number in range(_ROUNDS if self.blocks[~self.tree.is_cell].any() else 0):
            law = curve.draw(logs)
            drawn = self._draw(law, min(size, _LARGEST_SITE), number)
            size = min(max(size * self._compare_depths(drawn), self._least), self.blocks.sum())
            rows = self._place(drawn, law)
            logs = curve.fit(rows, logs, model, _STEPS)
        return rows, logs

    @cached_property
    def _least(self) -> int:
        large = self.blocks[~self.tree.is_cell]
        return int(min(max(large[large > 0].min(), 1), _LARGEST_LEAST))

    def _draw(self, law: FloatArray, size: float, seed: int) -> _Drawn:
        """Draw sites of this size, and the blocks in which they report their rows."""
        rows, cells = max(round(size), self._least), len(law)
        sites = min(max(_DRAWN_ROWS // rows, _FEWEST_SITES), _MOST_SITES)
        numbers = np.random.default_rng(seed).random((sites, rows))
        places = np.searchsorted(np.cumsum(law)[:-1], numbers, side="right")
        flat = (places + cells * np.arange(sites)[:, None]).ravel()
        counts = np.bincount(flat, minlength=sites * cells).reshape(sites, cells)
        start, stop = self.tree.hold(np.cumsum(counts, axis=-1), self._least)
        site, block = np.nonzero(stop > start)
        held = (stop - start)[site, block]
        order = np.argsort(site * rows + start[site, block], kind="stable")
        return _Drawn(
            np.repeat(block[order], held[order]),
            np.repeat(np.tile(np.arange(cells), sites), counts.ravel()),
        )

    def _compare_depths(self, drawn: _Drawn) -> float:
        """Return the factor from drawn to typical sizes of sites: 2 if blocks are a level
        deeper."""
        depths = self.tree.depths
        deeper = self.blocks @ depths / self.blocks.sum() - depths[drawn.blocks].mean()
        return float(2.0 ** min(max(deeper, -1.0), 1.0))

    def _place(self, drawn: _Drawn, law: FloatArray) -> FloatArray:
        """Spread the rows of every block like drawn ones in it, and one more that follows the
        law."""
        parts = self.blocks / (np.bincount(drawn.blocks, minlength=self.tree.size) + 1)
        by_law = parts / self.tree.gather(law)
        return (
            np.bincount(drawn.cells, parts[drawn.blocks], minlength=len(law))
            + law * self.tree.add_containing(by_law)[self.tree.cells]
        )


class _Drawn(NamedTuple):
    """Rows of drawn sites: the blocks in which they are reported, and their cells."""

    blocks: IntArray
    cells: IntArray


@dataclass(frozen=True)
class _Curve:
    """Laws whose logarithm is straight between knots, each the middle of about as many cells."""

    cells: int

    @cached_property
    def knots(self) -> int:
        """The number of knots."""
        return min(self.cells, _KNOTS)

    @cached_property
    def _owners(self) -> IntArray:
        """The knot of every cell."""
        return np.arange(self.cells) * self.knots // self.cells

    @cached_property
    def _bends(self) -> FloatArray:
        """The form of squared second differences."""
        second = np.diff(np.eye(self.knots), 2, axis=0)
        return np.asarray(_STIFFNESS * self.knots**3 * second.T @ second)

    def fit(self, rows: FloatArray, logs: FloatArray, model: FloatArray, steps: int) -> FloatArray:
        """Return the logarithms of rows at knots that are likely, by Newton's steps.

        The likelihood is Poisson's. The penalty is on bends of the difference from a model's
        logarithms. It grows with the rows and with the cube of the knots, so that the law is
        smoothed over the same share of the range, whatever the number of knots.
        """
        counts = np.bincount(self._owners, rows, minlength=self.knots)
        if not (n := counts.sum()) > 0:
            return logs
        bends, ridge = n * self._bends, _RIDGE * n / self.knots
        logs = logs + math.log(n / np.exp(logs).sum())
        for _ in range(steps):
            expected = np.exp(logs)
            slope = counts - expected - bends @ (logs - model)
            step = np.linalg.solve(np.diag(expected + ridge) + bends, slope)
            logs = logs + step.clip(-_LARGEST_CHANGE, _LARGEST_CHANGE)
        return logs

    def draw(self, logs: FloatArray) -> FloatArray:
        """Return the shares of all cells; logarithms are straight lines between knots."""
        middles = (np.arange(self.cells) + 0.5) * self.knots / self.cells - 0.5
        falls = np.maximum(logs - logs.max(), _LEAST_LOG)
        law = np.exp(np.interp(middles, np.arange(self.knots), falls))
        return np.asarray(law / law.sum())


@lru_cache(maxsize=16)
def _lay_curve(cells: int) -> _Curve:
    """Return the laws over this number of cells, the same object every time."""
    return _Curve(cells)
