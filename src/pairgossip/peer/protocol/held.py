"""What a peer that computes sums holds of its own rows: batches, and not the rows themselves.

A batch is known by its digest, which only the peer itself can make, and by how many rows it has. A
statistic takes their counts per cell and nothing else. Models and noise take the rows, which a peer
that runs has read from its sources.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from pairgossip.peer.protocol.messages import Rows


class Batch(NamedTuple):
    """Rows that a peer began with, or that were added at once."""

    rows: int
    digest: bytes
    """Keyed, and of the rows as they are used, in whatever order."""
    counts: bytes = b""
    """Signed 64-bit numbers: how many rows lie in each cell; empty where rows are needed."""


@dataclass(frozen=True)
class Held:
    """All rows of a peer; a slice has whole batches."""

    batches: tuple[Batch, ...]
    matrix: NDArray[np.float64] | None = field(default=None, compare=False, repr=False)
    """The rows, where they are needed and have been read."""

    def __len__(self) -> int:
        return sum(one.rows for one in self.batches)

    def __getitem__(self, part: slice) -> Held:
        start, stop, _ = part.indices(len(self))
        ends = [0, *accumulate(one.rows for one in self.batches)]
        batches = self.batches[ends.index(start) : ends.index(max(start, stop))]
        return Held(batches, None if self.matrix is None else self.matrix[part])

    def digest(self) -> bytes:
        """Return a digest of all rows."""
        digests = [(one.rows, one.digest) for one in self.batches]
        return hashlib.sha256(msgspec.msgpack.encode(digests)).digest()

    def count_cells(self) -> NDArray[np.int64]:
        """Return how many rows lie in each cell."""
        counts = [np.frombuffer(one.counts, "<i8") for one in self.batches]
        return np.sum(counts, axis=0, dtype=np.int64)

    @property
    def rows(self) -> NDArray[np.float64]:
        """The rows, which must have been read."""
        assert self.matrix is not None
        return self.matrix


Own = Rows | Held
"""A peer's own rows: as they travel, or what a peer holds of them that computes sums."""
