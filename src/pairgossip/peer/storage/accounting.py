"""The accounts of what rows reveal: none, or ledgers of reports, which are drawn once.

A peer's folder has a list of the ledgers that account for its rows.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import msgspec
import numpy as np

from pairgossip import files
from pairgossip.errors import InputError
from pairgossip.files import write_json_file
from pairgossip.peer.specification.kinds import ReportsSpec
from pairgossip.peer.specification.spec import Spec

if TYPE_CHECKING:
    from pairgossip.peer.bookkeeping.ledger import Account
    from pairgossip.peer.storage.folder import Home
    from pairgossip.peer.storage.rows import SiteRows

_LARGEST_FILE = 1 << 20
"""Largest number of bytes of the list of a peer's ledgers; a longer one is refused."""


@dataclass(frozen=True)
class Accounting:
    """No account: no ledger is kept of the rows."""

    spec: Spec
    data: Path
    ledger: str | PathLike[str] | None = None
    """The ledger to use instead of the one next to the data."""
    budget: float | None = None

    keeps_ledger: ClassVar[bool] = False

    def open(self) -> None:
        """Raise `InputError` if there can be no account, or if options of one are in vain."""
        for option, value in (("--ledger", self.ledger), ("--budget", self.budget)):
            if value is not None:
                raise InputError(
                    f"{option} is for a specification with a table [privacy], and this one has "
                    "none: leave it out."
                )

    def spend(self, rows: SiteRows, noted: Collection[str] | None) -> SiteRows:
        """Account for rows, and return their contribution.

        ``noted`` are the ledgers in the list of a peer's folder; None for a new peer.
        """
        return rows

    def note(self, home: Home) -> None:
        """Enter the ledger into the list of a peer's folder."""


@dataclass(frozen=True)
class _ReportAccounting(Accounting):
    """Each row is reported once, and the same row gives the same report again."""

    spec: ReportsSpec
    keeps_ledger: ClassVar[bool] = True

    @property
    def _place(self) -> Path:
        from pairgossip.peer.bookkeeping.ledger import ledger_beside

        return ledger_beside(self.data, None if self.ledger is None else Path(self.ledger))

    def open(self) -> None:
        """Raise `InputError` if there can be no ledger."""
        _ = self._place

    def spend(self, rows: SiteRows, noted: Collection[str] | None) -> SiteRows:
        """Draw the missing reports; return all of them, which are on the disk by then."""
        from pairgossip.peer.bookkeeping.ledger import refuse_renamed, refuse_without, reports_of
        from pairgossip.peer.specification.mechanism import declared, ledger_rows

        if noted is not None:
            refuse_without(self._place, map(Path, noted))
        observations = ledger_rows(rows.rows, self.spec)
        if self.ledger is None:  # another ledger may have the rows under another name
            refuse_renamed(self._place, observations, self.spec.observed)
        reports = reports_of(self._place, observations, declared(self.spec), self.budget)
        return replace(rows, matrix=np.array(reports, dtype=np.float64))

    def note(self, home: Home) -> None:
        """Enter the ledger into the list of a peer's folder."""
        ledgers = [*noted_ledgers(home), str(self._place)]
        write_json_file(home.ledgers, {"ledgers": list(dict.fromkeys(ledgers))})


def accounting_of(
    spec: Spec,
    data: Path,
    ledger: str | PathLike[str] | None = None,
    budget: float | None = None,
) -> Accounting:
    """Return the accounting of the rows of a source."""
    if isinstance(spec, ReportsSpec):
        return _ReportAccounting(spec, data, ledger, budget)
    return Accounting(spec, data, ledger, budget)


def accounts(home: Home) -> dict[str, Account | InputError]:
    """Return the account of each ledger of a peer, or the error of one that cannot be read."""
    from pairgossip.peer.bookkeeping.ledger import account_of

    by_path: dict[str, Account | InputError] = {}
    for path in noted_ledgers(home):
        try:
            by_path[path] = account_of(Path(path))
        except InputError as problem:
            by_path[path] = problem
    return by_path


class _Ledgers(msgspec.Struct, forbid_unknown_fields=True):
    ledgers: tuple[str, ...]


def noted_ledgers(home: Home) -> tuple[str, ...]:
    """Return the paths of a peer's ledgers."""
    if not home.ledgers.exists():
        return ()
    description = "a list of ledgers: remove it"
    return files.read_struct(home.ledgers, _LARGEST_FILE, _Ledgers, description).ledgers
