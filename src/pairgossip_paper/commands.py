"""The work of `pairgossip reproduce` and `errata`, whose options the library declares."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pairgossip.cli.console import (
    EXIT_INTERRUPTED,
    new_table,
    output,
    tell,
    with_options,
    working_on,
    write_json,
    write_line,
    write_rows,
    write_table,
)
from pairgossip.errors import InputError, needed_for
from pairgossip.text import format_count

if TYPE_CHECKING:
    from pairgossip_paper.reproduction import Reproduction

_CONNECT_SECONDS = 10
"""Seconds to wait for a Dask scheduler; after that it counts as missing."""
_LINES_WIDTH = 9
"""Width of the column of line numbers, in characters; longer lists of lines wrap."""


def write_experiments() -> None:
    """Write the names and titles of all experiments."""
    from pairgossip_paper.reproduction import CATALOG

    rows = [(name, experiment.title) for name, experiment in CATALOG.items()]
    write_rows(("name", "experiment"), rows, numbers=False)


def run_reproduction(only: Iterable[str], *, dask: str | None, **arguments: Any) -> int:
    """Call `reproduce` with experiments separated by commas, and write the outcome."""
    from pairgossip_paper.reproduction import reproduce

    begun = time.monotonic()
    groups = list(only)
    names = [name.strip() for group in groups for name in group.split(",") if name.strip()]
    if groups and not names:
        raise InputError("No experiment is named: see pairgossip reproduce --list.")
    with _use_cluster(dask):
        try:
            outcome = reproduce(names or None, **arguments)
        except KeyboardInterrupt:
            tell("Warning: Interrupted: finished trials are kept, and --resume goes on from them.")
            return EXIT_INTERRUPTED
    _write_outcome(outcome, time.monotonic() - begun)
    return 0


@contextmanager
def _use_cluster(address: str | None) -> Iterator[None]:
    """Let the workers of a Dask cluster run the trials."""
    if address is None:
        yield
        return
    with needed_for("Running on a Dask cluster", "pairgossip[cluster]"):
        from distributed import Client
    from joblib import parallel_config

    try:
        client = Client(address, timeout=_CONNECT_SECONDS)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, TimeoutError):
        raise InputError(
            f"There is no Dask scheduler at {address}: start one with 'dask scheduler' and give "
            "the address it prints, such as tcp://10.0.0.1:8786."
        ) from None
    with client:
        if not client.scheduler_info()["workers"]:
            raise InputError(
                f"The Dask scheduler at {address} has no workers: start some with 'dask worker "
                f"{address}'."
            )
        with parallel_config(backend="dask"):
            yield


def _write_outcome(outcome: Reproduction, seconds: float) -> None:
    from pairgossip_paper.framework.report import MARKS

    rows = [
        (f"{MARKS[claim.verdict]} {claim.verdict}", claim.statement, name)
        for name, section in outcome.sections.items()
        for claim in section.claims
    ]
    title = f"{format_count(len(outcome.claims), 'statement')} checked in {seconds:.0f} s"
    write_rows(("verdict", "statement", "checked by"), rows, title, numbers=False)
    for name, why in outcome.incomplete.items():
        tell(f"Warning: {name} is not in the report: {with_options(why)}")
    write_line(f"Wrote {outcome.report}")


def write_errata(*, markdown: bool, json: bool) -> None:
    """Compute the evidence of all errata and write it: as a table, in Markdown or as JSON."""
    from pairgossip_paper.errata import ERRATA, markdown_table

    with working_on("Computing the evidence"):
        if markdown:
            output().file.write(markdown_table())
            return
        computed = [(row, row.evidence()) for row in ERRATA]
    if json:
        write_json(
            {
                row.lines: {
                    "class": row.severity,
                    "printed": row.printed,
                    "correct": row.correct,
                    "hypotheses": dict(row.assumed),
                    "satisfied": dict(evidence.hypotheses),
                    "evidence": evidence.text,
                    "shown": evidence.shown,
                }
                for row, evidence in computed
            }
        )
        return
    table = new_table(("line", "class", "printed, correct, hypotheses, evidence"), numbers=False)
    table.columns[0].max_width = _LINES_WIDTH
    for row, evidence in computed:
        lines = [f"printed: {row.printed}", f"correct: {row.correct}", evidence.text]
        if row.assumed:
            lines.insert(2, f"hypotheses: {row.hypotheses}")
        table.add_row(row.lines, row.severity, "\n".join(lines), end_section=True)
    write_table(table)
