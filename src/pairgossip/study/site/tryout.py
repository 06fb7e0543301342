"""A dry run of a question: the effect of a yes, shown to the operator alone.

A no that follows a look at the rows reveals something about them; the last sentence says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pairgossip.peer.sums.disclosure import (
    describe_crowded_cells,
    describe_small_cells,
    describe_small_site,
    describe_unfilled,
)
from pairgossip.peer.sums.statistics import cells_of, count_combinations
from pairgossip.study.site.counting import Counted, Counting
from pairgossip.text import format_count, join_names

if TYPE_CHECKING:
    from pairgossip.study.site.kinds import Kind

_LOOKED = (
    "You have looked at the rows now: a no that depends on them reveals something about them to "
    "the other members."
)


def try_counting(counting: Counting, kind: Kind, left: Sequence[str] = ()) -> list[str]:
    """Describe what the rows of a site would add; ``left`` has the reasons for other batches."""
    sentences = [*left, *(_describe_batch(one, kind) for one in counting.counted)]
    if not counting.counted:
        sentences.append("No rows are left to count in these columns: this site would add zeros.")
    if counting.spec.is_counted:
        sentences += _describe_counts(counting)
    return [*sentences, *counting.accepted, _LOOKED]


def _describe_batch(one: Counted, kind: Kind) -> str:
    count = format_count(one.batch.rows, "row")
    where = f"Batch {one.batch.number} ({one.batch.source}, {count})"
    if one.because:
        return f"{where} would add nothing, which members see, but not why: {one.because}"
    return f"{where} would {kind.describe_batch(one)}."


def _describe_counts(counting: Counting) -> list[str]:
    """Describe the counts that would leave, and the effect of the rule about few rows."""
    if not (adding := counting.adding):
        return []
    spec, cells = counting.spec, counting.count_cells(adding)
    counts = np.sum([counting.count(one) for one in adding], axis=0)
    combined = [f"{name}: {count:,}" for name, count in count_combinations(spec, cells).items()]
    filled, shown = int((cells > 0).sum()), int((counts[1:] > 0).sum())
    sentences = [f"The rows of each class: {join_names(combined)}."] if combined else []
    least = cells_of(spec).columns.least
    rule = f", where each holds {least} or more" if least > 1 else ""
    sentences.append(
        f"They fill {format_count(filled, 'cell')}, and would be shown as {shown:,} counts{rule}."
    )
    warnings = (
        describe_unfilled(spec, cells),
        describe_small_site(spec, cells),
        describe_small_cells(spec, np.asarray(counts[1:])),
        describe_crowded_cells(spec, cells),
    )
    return sentences + [sentence for sentence in warnings if sentence is not None]
