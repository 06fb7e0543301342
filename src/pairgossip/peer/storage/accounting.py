"""How what rows tell is accounted for: not at all, as reports that are drawn once, or as noise."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np

from pairgossip.errors import InputError
from pairgossip.peer.identity.members import KeepNoise
from pairgossip.peer.specification.kinds import NoisySpec, ReportsSpec
from pairgossip.peer.specification.spec import Spec
from pairgossip.peer.storage.kept_ledgers import noise_ledger, note_ledger, refuse_other_ledger

if TYPE_CHECKING:
    from pairgossip.peer.storage.folder import Home
    from pairgossip.peer.storage.rows import SiteRows

_Spec = TypeVar("_Spec", bound=Spec)


@dataclass(frozen=True)
class Accounting(Generic[_Spec]):
    """Rows of which no ledger keeps account."""

    spec: _Spec
    data: Path
    ledger: str | PathLike[str] | None = None
    """In place of the one beside the data."""
    budget: float | None = None

    keeps_ledger: ClassVar[bool] = False

    def open(self) -> None:
        """Raise `InputError` where there can be no account, or none is asked for."""
        for option, value in (("--ledger", self.ledger), ("--budget", self.budget)):
            if value is not None:
                raise InputError(
                    f"{option} is for a specification with a table [privacy], and this one has "
                    "none: leave it out."
                )

    def spend(self, given: SiteRows, noted: Collection[str] | None) -> SiteRows:
        """Account for rows; return what is contributed of them.

        ``noted`` are the ledgers that the folder of a peer knows of; None for a new peer.
        """
        return given

    def note(self, home: Home) -> None:
        """Keep in a new peer's folder which ledger accounts for its rows."""

    def begin_adding(self, home: Home) -> None:
        """Raise `InputError` if another ledger than the peer's accounts for rows to be added."""

    def end_adding(self, home: Home, more: SiteRows) -> None:
        """Note rows that were added."""

    def keep_noise(self, find_ledger: Callable[[], Path]) -> KeepNoise | None:
        """Return what draws noise once and keeps it in a ledger; None if none is added."""
        return None

    def advise(self, ledger: str) -> str:
        """Say what to do with a ledger."""
        return f"Keep {ledger} with the data."


class _Ledgered(Accounting[_Spec]):
    """Rows of which a ledger keeps account."""

    keeps_ledger: ClassVar[bool] = True

    @property
    def _place(self) -> Path:
        from pairgossip.peer.bookkeeping.ledger import ledger_beside

        return ledger_beside(self.data, None if self.ledger is None else Path(self.ledger))

    def open(self) -> None:
        """Raise `InputError` where there can be no ledger."""
        _ = self._place

    def _observe(self, given: SiteRows) -> Sequence[tuple[float, ...]]:
        """Return rows as the ledger knows them, unless another knows them under another name."""
        from pairgossip.peer.bookkeeping.ledger import refuse_renamed
        from pairgossip.peer.specification.mechanism import ledger_rows

        observations = ledger_rows(given.rows, self.spec)
        if self.ledger is None:
            refuse_renamed(self._place, observations, self.spec.observed)
        return observations

    def note(self, home: Home) -> None:
        """Keep in a new peer's folder which ledger accounts for its rows."""
        note_ledger(home, self.data, self.ledger)


class _ReportAccounting(_Ledgered[ReportsSpec]):
    """Each row is reported once, and the same row gives the same report again."""

    def spend(self, given: SiteRows, noted: Collection[str] | None) -> SiteRows:
        """Draw what was not reported yet; return all reports, which are on the disk."""
        from pairgossip.peer.bookkeeping.ledger import refuse_without, reports_of
        from pairgossip.peer.specification.mechanism import declared

        if noted is not None:
            refuse_without(self._place, map(Path, noted))
        observations = self._observe(given)
        reports = reports_of(self._place, observations, declared(self.spec), self.budget)
        return replace(given, matrix=np.array(reports, dtype=np.float64))

    def end_adding(self, home: Home, more: SiteRows) -> None:
        """Keep in the folder which ledger accounts for rows that were added."""
        self.note(home)

    def advise(self, ledger: str) -> str:
        """Say what to do with a ledger."""
        return f"It holds reports of them only. Keep {ledger} with the data: it knows every report."


class _NoiseAccounting(_Ledgered[NoisySpec]):
    """Noise is drawn once for a sum, and every row in it pays."""

    def spend(self, given: SiteRows, noted: Collection[str] | None) -> SiteRows:
        """Refuse rows of a new peer that cannot pay; rows that are added pay in the end."""
        if noted is None:
            self._observe(given)
            self._check(self._place, given)
        return given

    def _check(self, ledger: Path, given: SiteRows) -> None:
        from pairgossip.peer.storage.kept_noise import check_account

        check_account(ledger, given.rows, self.spec, self.budget)

    def begin_adding(self, home: Home) -> None:
        """Raise `InputError` if another ledger than the peer's accounts for rows to be added."""
        refuse_other_ledger(home, self.data, self.ledger)

    def end_adding(self, home: Home, more: SiteRows) -> None:
        """Refuse rows that cannot pay; those in a signed table do not pay again."""
        self._check(noise_ledger(home), more)

    def keep_noise(self, find_ledger: Callable[[], Path]) -> KeepNoise:
        """Return what draws noise once and keeps it in a ledger."""
        from pairgossip.peer.storage.kept_noise import KeptNoise

        return KeptNoise(self.spec, find_ledger(), self.budget)

    def advise(self, ledger: str) -> str:
        """Say what to do with a ledger."""
        return f"Keep {ledger} with the data: it knows the noise that is added for these rows."


_KINDS: dict[type[Spec], type[Accounting[Any]]] = {
    ReportsSpec: _ReportAccounting,
    NoisySpec: _NoiseAccounting,
}


def accounting_of(
    spec: Spec,
    data: Path,
    ledger: str | PathLike[str] | None = None,
    budget: float | None = None,
) -> Accounting[Any]:
    """Return how rows of a source are accounted for."""
    return _KINDS.get(type(spec), Accounting)(spec, data, ledger, budget)
