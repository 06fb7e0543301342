"""`pairgossip answer`: statistics of the rows that one file of counts, or several, count."""

from __future__ import annotations

from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from pairgossip.cli.console import tell, write_json, write_line, write_rows
from pairgossip.cli.options import MOST, NEEDED, OUTPUT, Json
from pairgossip.cli.peer.readings import TableReading
from pairgossip.text import clean_text

if TYPE_CHECKING:
    from pairgossip.summaries.summary_file import SummaryFile
    from pairgossip.summaries.summary_reading import SummaryAnswer


def answer_command(
    files: Annotated[list[Path], Parameter(name="FILES", group=MOST)],
    /,
    *,
    interval: Annotated[float, NEEDED] = 0.95,
    reading: TableReading = TableReading(),
    out: Annotated[Path | None, Parameter(group=OUTPUT)] = None,
    json: Annotated[Json, Parameter(group=OUTPUT)] = False,
) -> None:
    """Print a statistic of all rows behind one file of counts, or several together.

    The counts of all files give the value and its sampling error, the distance of these rows from
    the population. They also give two ends between which the statistic certainly lies, wherever the
    rows are in their cells. A table lists the parts that were added up. The same rows are not
    counted twice, and files with other cells or classes do not add up.

    For example:

        pairgossip answer hospital-1.summary hospital-2.summary --interval 0.95
        pairgossip answer hospital-*.summary --reading mann-whitney --out all.summary

    Parameters
    ----------
    files
        Files of `pairgossip summarize`, or of --out.
    interval
        The level of the interval for the value in the population.
    out
        Write the sum of all files, as a file of the same kind.
    """
    from pairgossip.cli.summaries.files import add_files, check_file
    from pairgossip.files import write_bytes

    if out is not None:
        check_file(out, files)
    read, whole = add_files(files)
    answer = reading.answer(whole.summary, whole.columns, interval)
    if json:
        write_json(_facts(answer, reading, read, whole))
    else:
        _print(answer, reading, read, whole)
    if out is not None:
        write_bytes(out, whole.to_bytes())
        tell(f"Wrote {out}")


def _print(
    answer: SummaryAnswer,
    reading: TableReading,
    read: list[tuple[str, SummaryFile]],
    whole: SummaryFile,
) -> None:
    """Print the value as `exact` does, its certain range, and the parts."""
    from pairgossip.cli.outputs.facts import format_sampling_error

    tell(_describe(answer, reading, whole))
    write_line(repr(answer.value))
    if not isnan(answer.error):
        write_line(format_sampling_error(answer))
    for line in filter(None, (answer.describe_p(), answer.describe_bracket())):
        write_line(line)
    write_line("")
    parts = [
        (part, part.describe_rows(is_rounded=file.is_rounded), Path(name).name)
        for name, file in read
        for part in file.parts
    ]
    write_rows(
        ("part", "rows", "counted", "file"),
        [(clean_text(part.name), rows, part.day, name) for part, rows, name in parts],
        numbers=False,
    )


def _describe(answer: SummaryAnswer, reading: TableReading, whole: SummaryFile) -> str:
    """Name the statistic, its rows, columns and classes."""
    label = whole.parts[0].label
    facts = {
        "column" if reading.column or len(whole.columns) == 1 else "columns": reading.column
        or ", ".join(whole.columns),
        "label": label,
        "positive": answer.positive,
        "group": reading.group,
    }
    named = [f"{key}: {clean_text(value)}" for key, value in facts.items() if value]
    rows = f"{reading.count_rows(whole.summary):,} rows"
    return f"{reading.reading or whole.summary.reading} of {rows}; {'; '.join(named)}"


def _facts(
    answer: SummaryAnswer,
    reading: TableReading,
    read: list[tuple[str, SummaryFile]],
    whole: SummaryFile,
) -> dict[str, Any]:
    """Return all facts of the answer by name."""
    summary = whole.summary
    return {
        "reading": reading.reading or summary.reading,
        "kind": summary.kind,
        "columns": whole.columns,
        "column": reading.column,
        "label": whole.parts[0].label,
        "group": reading.group,
        "pooled": reading.pooled,
        "rows": reading.count_rows(summary),
        **answer.to_dict(),
        "cells": list(map(str, summary.cells)),
        "least_cell": summary.least_cell,
        "parts": [
            {
                "name": part.name,
                "rows": part.rows,
                "made": part.made.isoformat(),
                "digest": part.digest.hex(),
                "columns": part.columns,
                "label": part.label,
                "file": name,
            }
            for name, file in read
            for part in file.parts
        ],
    }
