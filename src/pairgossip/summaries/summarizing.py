"""The front door `summarize`: rows, counted per cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pairgossip.checks import REFUSE
from pairgossip.counts.cells import Cells
from pairgossip.errors import InputError
from pairgossip.kernels import Combination, Kernel
from pairgossip.progress import Show
from pairgossip.summaries.partitions import is_partitioned
from pairgossip.summaries.summary import Summary
from pairgossip.summaries.summary_request import SummaryRequest


def summarize(
    data: Any,
    kernel: Kernel | Combination | str,
    kind: str = "v",
    labels: Any = None,
    *,
    columns: Sequence[Any] | str | None = None,
    cells: Cells | Sequence[Cells] | None = None,
    least_cell: int = 1,
    missing: str = REFUSE,
    classes: Sequence[Any] | None = None,
    positive: Any = None,
    by: Any = None,
    groups: Sequence[Any] | None = None,
    within: Any = None,
    strata: Sequence[Any] | None = None,
    weights: Any = None,
    n_jobs: int | None = -1,
    progress: Show = None,
) -> Summary:
    """Count rows per cell, to read statistics and to add up parts.

    Parameters
    ----------
    data, labels, columns, kind, missing, classes, positive
        As in `exact`. Parts of the rows need the same ``classes``, unless each part has all labels.
        A Dask DataFrame is counted on its workers; without ``cells`` a first pass finds them.
    kernel
        The first statistic to read: the name of a kernel, of an order statistic, such as
        ``"median"`` or ``"quantile-0.9"``, or of a rank test. It decides the columns, one or two
        beside a label.
    cells
        The cells of every column, or of all: see `pairgossip.cells`. The default is fine cells over
        range of the values, which other rows do not share: to add up parts, give cells.
    least_cell
        1 to keep counts as they are; from 3 on, every count is 0 or at least this number, because
        rows are counted in blocks of cells of a public tree. Then give cells: cells that are
        derived from the values reveal something about them.
    by, groups
        The group of every row, such as the sex of patients, and all possible groups, by default
        those of the rows. Statistics can be read for all rows, or for one group, as in
        ``s.answer(0.95, group="f")``.
    within, strata
        The stratum of every row, and all possible strata. Only pairs of rows in the same stratum
        are compared, as with ``exact(..., within=)``.
    weights
        The number of times that each row counts: whole numbers, 1 to 16. Intervals are those of
        the repeated rows.
    n_jobs
        The number of threads that read and count the parts of a file; -1 for one per core. Counts
        do not depend on it.
    progress
        True or False to show a bar or not; by default if standard error is a terminal. Or a
        function, which is called with the number of rows counted so far.

    The data is read in batches and never kept, so it may be larger than memory. It is read once if
    ``cells`` are given, and twice otherwise.

    Every combination of class, group, stratum and weight is counted separately; there are at most
    64. With ``least_cell`` a combination with fewer rows counts as empty, so list only a few.

    Examples
    --------
    >>> import pairgossip as pg
    >>> score, ill = [0.1, 0.3, 0.4, 0.2, 0.5, 0.7, 0.6, 0.9], [0, 0, 0, 0, 1, 1, 0, 1]
    >>> s = summarize(score, "auc", labels=ill, cells=pg.cells.Even(0, 1, 10))
    >>> s
    <Summary for auc: 8 rows in Even(0, 1, 10), 2 classes; 315 bytes>
    >>> print(s.answer(0.95))
    0.933 (95 %: 0.020 to 1.000; positive: 1); certain: 0.933 to 0.933
    """
    if data is None:
        raise InputError("data is None: give rows, such as a list, an array or a table.")
    request = SummaryRequest(
        data=data,
        kernel=kernel,
        kind=kind,
        labels=labels,
        columns=columns,
        cells=cells,
        least_cell=least_cell,
        missing=missing,
        classes=classes,
        positive=positive,
        by=by,
        groups=groups,
        within=within,
        strata=strata,
        weights=weights,
        n_jobs=n_jobs,
        progress=progress,
    )
    return request.summarize_partitions() if is_partitioned(data) else request.summarize()
