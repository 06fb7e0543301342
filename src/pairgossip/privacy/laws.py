"""How observations fall into cells: a histogram, or with stochastic rounding a law for each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.privacy.columns import Grid
from pairgossip.privacy.mechanism import RandomizedResponse

LARGEST_TABLE = 2**26
"""Numbers of the table of laws: 512 MB."""


class Laws(NamedTuple):
    """The different laws of cells among observations, and how many observations have each."""

    rows: FloatArray
    """Probabilities of the K cells, shape (m, K)."""
    counts: FloatArray
    """Shape (m,); need not be whole for a histogram that is only expected."""

    @property
    def n(self) -> float:
        """How many observations there are."""
        return float(self.counts.sum())

    def scaled(self, n: float) -> Laws:
        """Return the laws of n observations distributed alike."""
        return Laws(self.rows, self.counts * (n / self.n))


def laws_of(mechanism: RandomizedResponse, table: FloatArray) -> Laws:
    """Return the laws of checked data."""
    rows = table.reshape(len(table), -1)
    if not any(isinstance(column, Grid) for column in mechanism.columns):
        shares = [column.shares(rows[:, at])[0] for at, column in enumerate(mechanism.columns)]
        cells, counts = np.unique(mechanism.flat(np.stack(shares, axis=1)), return_counts=True)
        return Laws(np.eye(mechanism.cells)[cells], counts.astype(np.float64))
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    if len(distinct) * mechanism.cells > LARGEST_TABLE:
        raise InputError(
            f"The data have {len(distinct):,} different rows, too many for stochastic rounding to "
            f"{mechanism.cells:,} cells to be followed exactly: give a sample of the rows."
        )
    return Laws(laws_by_row(mechanism, distinct), counts.astype(np.float64))


def laws_by_row(mechanism: RandomizedResponse, table: FloatArray) -> FloatArray:
    """Return the law of every row of checked data, shape (n, K)."""
    rows = table.reshape(len(table), -1)
    everyone = np.arange(len(rows))
    laws = np.ones((len(rows), 1))
    for at, column in enumerate(mechanism.columns):
        below, chance = column.shares(rows[:, at])
        part = np.zeros((len(rows), column.cells))
        part[everyone, below] = 1.0 - chance
        rounded_up = np.flatnonzero(chance)
        part[rounded_up, below[rounded_up] + 1] = chance[rounded_up]
        laws = (laws[:, :, None] * part[:, None, :]).reshape(len(rows), -1)
    return laws
