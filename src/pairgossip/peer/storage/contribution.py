"""A peer's contribution from a data file: its rows as they are, or under privacy a report of each.

Everything that may be wrong with the rows is found out before anything is written for them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from os import PathLike
from pathlib import Path

import numpy as np

from pairgossip.errors import InputError
from pairgossip.peer.protocol.messages import MOST_ROWS, Rows
from pairgossip.peer.spec.spec import Spec
from pairgossip.peer.storage.folder import OperatorSettings
from pairgossip.peer.storage.rows import read_rows


def contributed_rows(
    data_path: str | PathLike[str],
    spec: Spec,
    ledger: str | PathLike[str] | None = None,
    budget: float | None = None,
    noted: Collection[str] | None = None,
    approve: Callable[[Rows], None] = lambda _: None,
) -> Rows:
    """Read a data file and return what of it may circulate.

    Under privacy every row has been reported once, and its report is on the disk, before this
    returns; the same file gives the same reports again. Where noise is added to sums, rows stay as
    they are, and a ledger is there that can pay for it.

    Parameters
    ----------
    data_path, spec
        The file, and the specification that names its columns.
    ledger, budget
        Under privacy, where spending is accounted for, and how much of it there may be.
    noted
        The ledgers that the folder of a peer knows of, which must be there; None for a new peer.
    approve
        Called with the rows before anything is written; it may refuse them.
    """
    data = Path(data_path)
    if spec.privacy is None and spec.noise is None:
        _refuse_options(ledger, budget)
    elif spec.noise is None or noted is None:
        from pairgossip.peer.storage.ledger import ledger_beside

        place = ledger_beside(data, None if ledger is None else Path(ledger))
    rows = read_rows(data, spec)
    if len(rows) > MOST_ROWS:
        raise InputError(f"{data} has {len(rows)} rows: a peer holds at most {MOST_ROWS}.")
    approve(rows)
    if spec.noise is not None and noted is None:
        open_account(place, rows, spec, budget, is_default=ledger is None)
    if spec.privacy is None:
        return rows
    from pairgossip.peer.spec.mechanism import declared, ledger_rows
    from pairgossip.peer.storage.ledger import refuse_renamed, refuse_without, reports_of

    if noted is not None:
        refuse_without(place, map(Path, noted))
    observations = ledger_rows(rows, spec)
    if ledger is None:
        refuse_renamed(place, observations, spec.observed)
    reports = reports_of(place, observations, declared(spec), budget)
    return tuple(tuple(map(float, report)) for report in reports)


def _refuse_options(ledger: object, budget: object) -> None:
    for option, value in (("--ledger", ledger), ("--budget", budget)):
        if value is not None:
            raise InputError(
                f"{option} is for a specification with a table [privacy], and this one has none: "
                f"leave it out."
            )


def check_contribution(spec: Spec, rows: Rows, settings: OperatorSettings) -> list[str]:
    """Refuse rows of which sums would say too much; return what the operator should know."""
    if not spec.is_sums:
        return []  # and nothing of sums is loaded into a small device
    from pairgossip.peer.sums.disclosure import (
        check_own_rows,
        describe_crowded_cells,
        describe_small_cells,
    )

    matrix = np.array(rows, dtype=np.float64)
    check_own_rows(spec, matrix, settings.least_rows, settings.allow)
    said = (describe_small_cells(spec, matrix), describe_crowded_cells(spec, matrix))
    return [sentence for sentence in said if sentence is not None]


def open_account(
    place: Path, rows: Rows, spec: Spec, budget: float | None, *, is_default: bool
) -> None:
    """See that rows can pay for the noise of a run."""
    from pairgossip.peer.spec.mechanism import ledger_rows
    from pairgossip.peer.storage.kept_noise import check_account
    from pairgossip.peer.storage.ledger import refuse_renamed

    if is_default:
        refuse_renamed(place, ledger_rows(rows, spec), spec.observed)
    check_account(place, rows, spec, budget)
