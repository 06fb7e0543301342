"""Refuse sums that no rows have: whoever signs a result has seen that it is possible.

A member can contribute anything under its mask. Counts that are negative or do not add up, totals
beyond what their rows allow, and values outside their range prove that somebody did; a sum does not
tell who. Contributions of rows that a member does not have remain possible.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.kernels import as_kernel
from pairgossip.peer.protocol.program import Disagreement, Words
from pairgossip.peer.sums.brackets import POSSIBLE
from pairgossip.peer.sums.cells import Block, Cells, Sums
from pairgossip.peer.sums.noise import NoiseLaw
from pairgossip.peer.sums.programs import Generation
from pairgossip.peer.sums.questions import find_order_question
from pairgossip.peer.sums.readings import Found

if TYPE_CHECKING:
    from pairgossip.peer.spec.spec import Spec
    from pairgossip.solvers.moments import GradeMoments

_CHANCE = 1e-9
"""Probability at most that noise alone makes a sum look impossible."""
_ROUNDING = 1e-9
"""Rounding error per row, relative to the largest measure of a row, and of a value."""


def check_sums(cells: Cells, sums: Sums, generation: Generation, law: NoiseLaw | None) -> None:
    """Raise `Disagreement` if no rows of the members have these sums."""
    if sums.n != generation.rows:
        raise Disagreement(
            f"members have {generation.rows:,} rows by their list, but counted {sums.n:,.0f}"
        )
    if law is not None:
        _check_noisy_counts(cells, sums, law, len(generation.members))
        return
    _check_counts(cells, sums)


def _check_counts(cells: Cells, sums: Sums) -> None:
    if any((table < 0).any() for table in sums.tables):
        raise Disagreement("a cell holds fewer rows than none")
    for block, table in zip(cells.blocks, sums.tables, strict=True):
        if block.only is None and table.sum() != sums.n:
            raise Disagreement(
                f"the cells hold {table.sum():,.0f} rows, and members have {sums.n:,.0f}"
            )
        if block.only is not None and (table > _whole_table(cells, sums, block)).any():
            raise Disagreement("a cell holds more events than rows")
    by_class = _class_counts(cells, sums)
    if any((one != by_class[0]).any() for one in by_class):
        raise Disagreement("a class has another number of rows in one table than in another")


def _whole_table(cells: Cells, sums: Sums, block: Block) -> FloatArray:
    """Return the counts of all rows in the cells of a block that counts some rows only."""
    return sums.tables[cells.blocks.index(block._replace(only=None))]


def _class_counts(cells: Cells, sums: Sums) -> list[FloatArray]:
    """Return the number of rows of each class, by every table of all rows that has classes."""
    counts, label = list[FloatArray](), cells.columns.label
    for block, table in zip(cells.blocks, sums.tables, strict=True):
        places = [at for at, axis in enumerate(block.axes) if axis is label]
        if block.only is None and places:
            others = tuple(at for at in range(table.ndim) if at != places[0])
            counts.append(np.asarray(table.sum(axis=others)))
    return counts


def _refuse_outside(
    values: FloatArray, low: FloatArray, high: FloatArray, names: Sequence[str]
) -> None:
    outside = ~((values >= low) & (values <= high))
    if outside.any():
        name = names[int(np.argwhere(outside)[0][-1])]
        raise Disagreement(f"{name} is beyond what so many rows in their ranges can have")


def _check_noisy_counts(cells: Cells, sums: Sums, law: NoiseLaw, members: int) -> None:
    """Refuse counts that are farther off than noise ever is."""
    chance = _CHANCE / (cells.counts + len(cells.blocks))
    reach = law.reach(members, 1, chance)
    for block, table in zip(cells.blocks, sums.tables, strict=True):
        if (table < -reach).any() or (table > sums.n + reach).any():
            raise Disagreement("a count is farther from those of rows than noise takes it")
        apart = abs(float(table.sum()) - sums.n)
        if block.only is None and apart > law.reach(members, table.size, chance):
            raise Disagreement("counts do not add up to the rows, by more than noise")


def check_value(spec: Spec, found: Found) -> None:
    """Raise `Disagreement` unless a value without noise is in its range and in its bracket."""
    if math.isnan(found.value):
        return
    asked = find_order_question(str(spec.kernel))
    least, most = (-math.inf, math.inf)
    if asked is None:
        least, most = POSSIBLE[as_kernel(spec.kernel).interval_scale]
    low, high = found.bracket
    if not math.isnan(low):
        least, most = max(low, least), min(high, most)
    slack = _ROUNDING * max(1.0, abs(found.value))
    if not least - slack <= found.value <= most + slack:
        raise Disagreement(f"the value would be {found.value:.6g}, which it cannot be")
    if not math.isnan(found.p) and not 0.0 <= found.p <= 1.0:
        raise Disagreement(f"p would be {found.p:.6g}")


def check_moments(total: Words, layout: GradeMoments, bits: int, rows: int) -> IntArray:
    """Return how many rows each class has by a sum of moments; raise `Disagreement` if none can.

    Features run from -1 to 1, so that no total exceeds the number of its rows.
    """
    parts = total.view(np.int64).reshape(layout.grades, -1)
    counts = _whole_counts(parts[:, 0], bits)
    if counts.sum() != rows:
        raise Disagreement(f"classes have {counts.sum():,} rows, and members have {rows:,}")
    means, d = parts[:, 1:] / 2.0**bits, layout.dimension
    slack, most = _ROUNDING * rows, np.asarray(counts[:, None], dtype=np.float64)
    names = [*["the sum of a feature"] * d, *["the sum of a product"] * (means.shape[1] - d)]
    _refuse_outside(means, -most - slack, most + slack, names)
    if any(_is_indefinite(layout, *one, slack) for one in zip(counts.tolist(), means, strict=True)):
        raise Disagreement("some combination of features has less than no variance")
    return counts


def _is_indefinite(layout: GradeMoments, count: int, moments: FloatArray, slack: float) -> bool:
    """Return whether no rows of a class have these sums of features and of their products."""
    d = layout.dimension
    if not layout.full:  # products of two features are not known
        return bool((moments[d:] * count < moments[:d] ** 2 - 4 * slack * count).any())
    matrix = np.zeros((1 + d, 1 + d))
    matrix[0, 0], matrix[0, 1:] = count, moments[:d]
    matrix[1:, 1:][np.triu_indices(d)] = moments[d:]
    return bool(np.linalg.eigvalsh(matrix, UPLO="U")[0] < -(1 + d) * slack)


def check_scores(total: Words, counts: IntArray, bits: int, *, is_smooth: bool) -> None:
    """Raise `Disagreement` if no rows of classes of this size have these sums of their scores.

    They are sums of polynomials from -1 to 1, the first of which is 1, or counts in cells.
    """
    parts = total.view(np.int64).reshape(len(counts), -1)
    if is_smooth:
        most = np.asarray(counts[:, None] + _ROUNDING * counts.sum(), dtype=np.float64)
        names = ["the sum of a polynomial of scores"] * parts.shape[1]
        _refuse_outside(parts / 2.0**bits, -most, most, names)
        in_classes = _whole_counts(parts[:, 0], bits)
    else:
        in_classes = _whole_counts(parts, bits).sum(axis=1)
    if (in_classes != counts).any():
        raise Disagreement("a class has another number of rows than before")


def _whole_counts(numbers: IntArray, bits: int) -> IntArray:
    """Return counts that were cut into parts of 2^-bits; refuse parts of a row."""
    if (numbers < 0).any() or (numbers % (1 << bits)).any():
        raise Disagreement("a part of a row, or fewer rows than none")
    return numbers >> bits
