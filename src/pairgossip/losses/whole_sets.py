"""Learning at sites that swap their whole sets of rows."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np
from numpy.random import SeedSequence

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.kernels.blocked import NUMBERS_PER_BLOCK
from pairgossip.kernels.data import column_count
from pairgossip.kernels.site_sets import SiteSets
from pairgossip.losses.problem import LearningProblem


class WholeSetsLearning:
    """What site u minimizes when it holds the set of site v.

    That is f summed over all pairs of their rows and scaled by n^2/N^2, so that the average over
    all n^2 ordered pairs of sites is the objective over all N rows: a pair of sites weighs as many
    pairs of rows as it has.
    """

    compilable = False

    def __init__(self, rows: LearningProblem, site_of: IntArray) -> None:
        self.rows = rows
        self.sets = SiteSets(site_of)
        self.data, self.loss, self.dimension = rows.data, rows.loss, rows.dimension
        self.n = self.sets.n

    @property
    def marks(self) -> Mapping[str, str]:
        """What tells it from the same data and loss without groups."""
        sites = hashlib.sha256(self.sets.site_of.tobytes()).hexdigest()
        return {"groups": f"whole sets {sites}", **self.rows.marks}

    def gradient(self, theta: FloatArray, nodes: IntArray, held: IntArray) -> FloatArray:
        """Return each site's gradient at its own model, shape (m, p)."""
        gradients = np.zeros((len(nodes), self.dimension))
        at_once = max(1, NUMBERS_PER_BLOCK // max(self.dimension, column_count(self.data)))
        for pairs in self.sets.row_pairs(np.asarray(nodes), np.asarray(held), at_once):
            each = self.rows.gradient(theta[pairs.owner], pairs.first, pairs.second)
            owners, starts = np.unique(pairs.owner, return_index=True)
            gradients[owners] += np.add.reduceat(each, starts, axis=0)
        return gradients * (self.n / self.rows.n) ** 2

    def objectives(self, models: FloatArray) -> FloatArray:
        """Return F of every model: the mean of f over all ordered pairs of rows, shape (r,)."""
        return self.rows.objectives(models)

    def own_gradients(self, theta: FloatArray) -> FloatArray:
        """Return the gradient of every site's share of the objective at its model, shape (n, p)."""
        return self.shares(self.rows.own_gradients(self.of_rows(theta)))

    def of_rows(self, theta: FloatArray) -> FloatArray:
        """Give every row the model of its site."""
        return theta[self.sets.site_of]

    def shares(self, of_rows: FloatArray) -> FloatArray:
        """Turn the gradients of the rows' shares into those of the sites'."""
        sums = np.zeros((self.n, self.dimension))
        np.add.at(sums, self.sets.site_of, of_rows)
        return sums * (self.n / self.rows.n)

    def for_trial(self, seed: SeedSequence) -> WholeSetsLearning:
        """Return the problem of one trial: itself, unless its rows draw something."""
        drawn = self.rows.for_trial(seed)
        return self if drawn is self.rows else WholeSetsLearning(drawn, self.sets.site_of)
