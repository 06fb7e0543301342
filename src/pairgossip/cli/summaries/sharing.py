"""A file of counts as a release: noted in the register before the file is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pairgossip.errors import InputError
from pairgossip.peer.bookkeeping.overlaps import Overlap
from pairgossip.peer.bookkeeping.places import registers_of
from pairgossip.peer.bookkeeping.registers import hold_registers
from pairgossip.peer.bookkeeping.releases import (
    check_release,
    describe_register,
    prepare_release,
    tell_release,
)
from pairgossip.peer.bookkeeping.snapshots import Snapshot, refuse_functions


@dataclass(frozen=True)
class FileRelease:
    """Rows that are to be released in a file."""

    snapshot: Snapshot
    file: Path
    register: Path | None
    digest: str
    """Digest of the rows: for a column of few values, the only way to recognize a copy."""
    is_visible: bool
    """Whether the operator accepts that others can subtract."""

    @property
    def _places(self) -> Sequence[Path]:
        return registers_of(self.snapshot.source, self.register)

    def check(self, row_id: str | None, *, has_several_tables: bool) -> list[str]:
        """Refuse rows that may not be released; return sentences for the operator."""
        if has_several_tables:
            refuse_functions(self.snapshot)
        self._refuse_copy()
        accepted = check_release(self._places, self.snapshot, is_visible=self.is_visible)
        return [*accepted, describe_register(self._places[0], row_id)]

    def _refuse_copy(self) -> None:
        with hold_registers(self._places) as registers:
            told = [old for one in registers.values() for old in one.releases if old.is_told]
        for old in told:
            if old.study == self.digest and not self.is_visible:
                columns = tuple(self.snapshot.columns)
                raise InputError(Overlap(old, columns, len(self.snapshot), True).refusal())

    def note(self) -> str:
        """Note in the register that the rows are released; return the key of the release."""
        key = prepare_release(
            self._places,
            self.snapshot,
            self.digest,
            table=self.file.resolve(),
            is_visible=self.is_visible,
        )
        tell_release(self._places, key)
        return key

    def settle(self, key: str) -> None:
        """Note in the register that the file was written."""
        tell_release(self._places, key, "table")
