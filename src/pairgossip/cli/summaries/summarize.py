"""`pairgossip summarize`: rows, counted per cell, as a file to keep or to mail."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from pairgossip.cli.console import spelling, tell, tell_warnings, working_on
from pairgossip.cli.data.row_options import RowOptions
from pairgossip.cli.options import (
    MOST,
    NEEDED,
    STATISTIC,
    Columns,
    Label,
    TargetName,
    Whole,
)
from pairgossip.cli.peer.init import RegisterOptions, RowsOptions
from pairgossip.errors import InputError, canonical

if TYPE_CHECKING:
    from pairgossip.cli.summaries.rows import CountedRows
    from pairgossip.cli.summaries.sharing import FileRelease
    from pairgossip.summaries.summary import Summary
    from pairgossip.summaries.summary_file import SummaryFile

_FILE = Group.create_ordered("The file")
_OPTIONS = {
    "columns": "--column",
    "groups": "--groups",
    "labels": "--label",
    "least_cell": "--share",
    "weights": "--weight",
}
"""The options of arguments that have another name here; `groups` are a list, not sites."""


@Parameter(name="*", group=STATISTIC)
@dataclass(frozen=True, kw_only=True)
class _CountedOptions:
    """The statistic, and the columns and cells to count."""

    kernel: Annotated[
        str,
        Parameter(
            group=MOST,
            help="The first statistic to read: a kernel such as auc, an order statistic such as "
            "median or quantile-0.9, or a rank test. It decides which columns are needed.",
        ),
    ]
    column: Columns = None
    label: Label = None
    cells: Annotated[
        list[str] | None,
        Parameter(
            group=MOST,
            help="The cells in which rows are counted, the same at all sites: even(0, 1, 1024), "
            "log(1, 1e6), logit(1e-4), whole(0, 100), edges(0, 1, 10), float(12) or quantiles(64); "
            "even(0, 1).at(0.1, 0.2) has edges at thresholds. Repeat it if two columns differ. By "
            "default fine cells over the values, which do not add up with other files.",
        ),
    ] = None
    kind: TargetName = None
    by: str | None = None
    """Column of groups whose statistics can be read separately, such as sex."""
    groups: str | None = None
    """All possible groups, such as f,m; by default the groups of the rows."""
    within: str | None = None
    """Column of strata, such as a ward or a year: only pairs of rows within one stratum count."""
    strata: str | None = None
    """All possible strata, such as a,b; by default the strata of the rows."""
    weight: str | None = None
    """Column that says how often each row counts, a whole number from 1 to 16."""

    def choose_rows(self, file: Path, words: list[Any] | None) -> CountedRows:
        """Return the rows in the named columns; ``words`` are labels, never missing entries."""
        from pairgossip.cli.summaries.rows import CountedRows
        from pairgossip.rows.sources import open_source
        from pairgossip.tables import STANDARD_INPUT

        if file == STANDARD_INPUT:
            raise InputError("The rows are read more than once: give a file, not standard input.")
        source = open_source(file, "data")
        assert source is not None
        named = {"labels": self.label, "by": self.by, "within": self.within, "weights": self.weight}
        factors = {key: name for key, name in named.items() if name is not None}
        every = list(map(str, source.names))
        if self.column is None:
            names = [name for name in every if name not in factors.values()]
        else:
            split = (one.split(",") if one not in every else [one] for one in self.column)
            names = [name.strip() for part in split for name in part]
        return CountedRows(file, tuple(names), factors, words)

    def arguments(self, options: RowOptions) -> dict[str, Any]:
        """Return the arguments of `summarize` beside the rows."""
        from pairgossip.counts.cells import parse_cells

        cells = None if self.cells is None else [parse_cells(one) for one in self.cells]
        lists = {"groups": self.groups, "strata": self.strata}
        return {
            "kernel": self.kernel,
            "kind": "v" if self.kind is None else canonical(self.kind),
            "cells": cells[0] if cells is not None and len(cells) == 1 else cells,
            "missing": options.missing,
            "classes": read_labels(options.classes),
            "positive": (read_labels(options.positive) or [None])[0],
            **{key: None if text is None else _split(text) for key, text in lists.items()},
        }


@Parameter(name="*", group=_FILE)
@dataclass(frozen=True, kw_only=True)
class _FileOptions:
    """The file to write."""

    out: Annotated[Path, NEEDED]
    """The file to write, which ends in .summary."""
    name: str | None = None
    """The name of the site; by default the name of the file."""
    share: Annotated[Whole | None, NEEDED] = None
    """Write a file for others: every count is 0 or at least this number (3, 5 or 10), because rows
    are counted in blocks of cells. The rows count as released. By default counts are exact."""

    def check(self, file: Path, register: RegisterOptions, ids: RowsOptions) -> None:
        """Refuse a file that cannot be written, or a release that cannot be noted."""
        from pairgossip.cli.summaries.files import check_file
        from pairgossip.summaries.heads import LEAST_BLOCK

        if self.share is not None and self.share < LEAST_BLOCK:
            raise InputError(
                "--share is the least number of rows in a block, and in a block of two each person "
                f"learns about the other: give {LEAST_BLOCK} or more, or leave it out for exact "
                "counts."
            )
        if self.share is not None and sys.platform == "win32":
            raise InputError(
                "--share keeps a register of releases, which needs Linux or macOS: on Windows, run "
                "pairgossip in WSL 2."
            )
        options = {
            "--register": register.register is not None,
            "--visible": register.visible,
            "--id": ids.id_ is not None,
            "--same": bool(ids.same),
        }
        wrong = next((option for option, is_given in options.items() if is_given), None)
        if self.share is None and wrong is not None:
            raise InputError(f"{wrong} is for a file that others may have: give --share, too.")
        if self.name is not None and not (self.name and self.name.isprintable()):
            raise InputError("--name must be a name of one line: give another one.")
        check_file(self.out, [file])
        if self.share is not None:
            from pairgossip.peer.bookkeeping.places import registers_of
            from pairgossip.peer.bookkeeping.registers import check_registers

            check_registers(registers_of(file, register.register))


def summarize_command(
    file: Annotated[Path, Parameter(name="FILE", group=MOST)],
    /,
    *,
    counted: _CountedOptions,
    written: _FileOptions,
    rows: RowOptions = RowOptions(),
    ids: RowsOptions = RowsOptions(),
    register: RegisterOptions = RegisterOptions(),
) -> None:
    """Count the rows of a file per cell, and write the counts: a file to keep, or to mail.

    The size of the file depends on its cells, not on the number of rows. Files of several sites
    with the same cells add up: `pairgossip answer` reads the statistic of all their rows, with its
    sampling error and its certain range. So sites that may mail a file need no peer. Beside the
    counts it holds the site's name, the number of rows, the time of counting, and a digest that
    prevents counting the same rows twice; only this machine can compute the digest.

    Without --share the counts are exact, and reveal a row that is alone in its cell. With it, the
    release is noted in the register of releases before the file is written, and rows whose columns
    were released before are refused.

    For example:

        pairgossip dataset engel --out a.csv
        pairgossip summarize a.csv --kernel gini --column income --out a.summary

    Parameters
    ----------
    file
        A table: CSV whose first line names its columns, plain or .gz; a file .parquet, .arrow or
        .feather, a folder of Parquet files, or a query for DuckDB in a file .sql.
    """
    from pairgossip.files import replacing
    from pairgossip.summaries.summary_file import SummaryFile

    written.check(file, register, ids)
    with spelling(_OPTIONS):
        arguments = counted.arguments(rows) | {"least_cell": written.share or 1}
        words = arguments["classes"] if rows.positive is None else [arguments["positive"]]
        found = counted.choose_rows(file, words)
        with tell_warnings():
            summary, digest, labels = found.count(arguments)
        classes = found.name_classes(labels, arguments["classes"], arguments["positive"])
        release, said = _plan_release(found, summary, digest.hex(), written, register, ids)
    made = SummaryFile.of(
        summary,
        written.out.stem if written.name is None else written.name,
        digest=digest,
        classes=classes,
        columns=found.names,
        label=counted.label,
    )
    said += _describe(made, written.out, found, has_cells=counted.cells is not None)
    with replacing(written.out) as opened:
        opened.write(made.to_bytes())
        opened.flush()
        key = None if release is None else release.note()
    if release is not None and key is not None:
        release.settle(key)
    for sentence in (*said, f"Wrote {written.out}"):
        tell(sentence)


def _plan_release(
    rows: CountedRows,
    summary: Summary,
    digest: str,
    written: _FileOptions,
    register: RegisterOptions,
    ids: RowsOptions,
) -> tuple[FileRelease | None, list[str]]:
    """Refuse rows that may not be released; return their release, and sentences on it."""
    if written.share is None:
        return None, []
    from pairgossip.cli.summaries.sharing import FileRelease

    with working_on(f"Comparing rows of {rows.file} with those that were released before"):
        snapshot = rows.freeze(len(summary.cells), ids, written.share)
        release = FileRelease(snapshot, written.out, register.register, digest, register.visible)
        several = len(summary.layout.tables) > 1
        return release, release.check(ids.id_, has_several_tables=several)


def _describe(made: SummaryFile, out: Path, rows: CountedRows, *, has_cells: bool) -> list[str]:
    """Return sentences on the content of the file and on what it shows."""
    from pairgossip.cli.summaries.files import describe_file

    said = describe_file(made, out, (*rows.names, *rows.factors.values()))
    if not has_cells:
        said.append("Its cells follow from the values: no other file adds up without --cells.")
    return [str(made.summary)[1:-1], *said]


def read_labels(text: str | None) -> list[Any] | None:
    """Return labels as numbers if all are, since 2 and 2.0 are the same."""
    from pairgossip.tables import parse_number

    if text is None:
        return None
    names = _split(text)
    numbers = [parse_number(name) for name in names]
    return names if None in numbers else numbers


def _split(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]
