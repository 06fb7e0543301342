"""Files of counts: checks before they are written, and what they show to a reader."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from pairgossip.cli.console import tell
from pairgossip.cli.outputs.files import check_outputs
from pairgossip.errors import InputError
from pairgossip.text import format_count, join_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pairgossip.summaries.summary import Summary
    from pairgossip.summaries.summary_file import SummaryFile

SUFFIX = ".summary"
_FEW_ROWS = 5
"""Cells with fewer rows than this are counted in the warning to whoever writes a file."""


def check_file(out: Path, inputs: Sequence[Path]) -> None:
    """Raise `InputError` unless a file of counts can be written without replacing another file."""
    if out.suffix != SUFFIX:
        raise InputError(f"{out} is to be a table of counts: end its name in {SUFFIX}.")
    check_outputs([out], inputs)
    if out.exists():  # it may be the only copy of released counts
        raise InputError(f"{out} exists already: choose another name, or move it away first.")


def add_files(files: Sequence[Path]) -> tuple[list[tuple[str, SummaryFile]], SummaryFile]:
    """Read files of counts by their names, and add them up; warn of possible mistakes."""
    from pairgossip.results.loading import load_summary
    from pairgossip.summaries.summary_file import join_files

    read = [(str(path), load_summary(path)) for path in files]
    whole = join_files(read)
    _warn(read)
    return read, whole


def _warn(read: list[tuple[str, SummaryFile]]) -> None:
    """Warn of possible mistakes: the same counts twice, and columns of different names."""
    for (name, one), (other_name, other) in combinations(read, 2):
        if one.resembles(other):
            tell(
                f"Warning: {name} and {other_name} have the same counts but were made on different "
                "machines: leave one out if they count the same rows."
            )
    names = {part.columns: part.name for _, file in read for part in file.parts}
    if len(names) > 1:
        listed = [f"{', '.join(columns)} ({part})" for columns, part in names.items()]
        tell(f"Warning: Columns have different names, {join_names(listed)}: they are added up.")


def describe_file(file: SummaryFile, path: Path, names: Sequence[str]) -> list[str]:
    """Return sentences on what a file about the rows of one site shows."""
    from pairgossip.peer.specification.promise import FILE_PROMISE

    summary = file.summary
    if summary.least_cell > 1:
        return [f"What {path} shows, with k = {summary.least_cell}: {FILE_PROMISE}"]
    counts = summary.counts
    filled, few = int((counts > 0).sum()), int(((counts > 0) & (counts < _FEW_ROWS)).sum())
    lone = f"{few:,} of them" if few else "none of them"
    return [
        f"{path} is not masked: its readers know how many of {format_count(summary.rows, 'row')} "
        f"lie in each cell of {_list_tables(summary, names)}.",
        f"{format_count(filled, 'cell')} {'holds' if filled == 1 else 'hold'} rows, and {lone} "
        f"fewer than {_FEW_ROWS}: a row "
        "alone in its cell is known to the width of that cell. To give the file to others, use "
        "--share 3 (or 5, 10), which counts rows in larger blocks where there are few.",
    ]


def _list_tables(summary: Summary, names: Sequence[str]) -> str:
    """Name the columns by which rows are counted, such as 'risk' by 'died'."""
    cells, others = names[: len(summary.cells)], names[len(summary.cells) :]
    tables = [[names[at] for at in table.columns] for table in summary.layout.tables] or [[*cells]]
    return " and of ".join(" by ".join(f"'{name}'" for name in (*one, *others)) for one in tables)
