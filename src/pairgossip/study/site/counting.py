"""A site's addition to a question: its free batches, read from their sources, and counted.

A batch that may not be counted adds nothing, and others do not learn the reason: it has rows that
fill no class or lie outside the agreed ranges, or others could subtract its numbers from known
ones. The dry run shows the reason to its operator.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.errors import InputError
from pairgossip.peer.bookkeeping.releases import check_release, prepare_release
from pairgossip.peer.bookkeeping.snapshots import Snapshot, read_beside
from pairgossip.peer.identity.identity import Identity
from pairgossip.peer.storage.rows import SiteRows, read_site_rows
from pairgossip.peer.sums.disclosure import check_own_rows
from pairgossip.peer.sums.statistics import cells_of
from pairgossip.study.protocol.records import Piece
from pairgossip.study.site.layouts import rename_columns
from pairgossip.study.site.offers import Prepared
from pairgossip.study.storage.settings import StudySettings
from pairgossip.study.storage.snapshots import Batch, find_registers, find_source, read_again

if TYPE_CHECKING:
    from pairgossip.peer.specification.spec import Spec


@dataclass
class Counted:
    """A batch in a question."""

    batch: Batch
    rows: SiteRows | None = None
    because: str = ""
    """The reason why it adds nothing; empty if it does."""

    @property
    def piece(self) -> Piece:
        """The part that others learn about it."""
        return Piece(self.batch.number, 0 if self.because else self.batch.rounded_rows)


@dataclass
class Counting:
    """The rows of a site for a question.

    Parameters
    ----------
    text, settings, identity
        The question's text, and the identity of the site.
    batches
        The batches that no other question has counted in these columns.
    check
        Raises `InputError` for rows that must not be added; None for rows that were checked before.
    own
        Keys of the releases of this study that were sent, or will be.
    is_visible
        Whether the operator accepts that others can subtract.
    """

    text: str
    settings: StudySettings
    identity: Identity
    batches: Sequence[Batch]
    check: Callable[[Counting, Counted, SiteRows], None] | None = None
    own: Sequence[str] = ()
    is_visible: bool = False
    counted: list[Counted] = field(default_factory=list, init=False)
    accepted: list[str] = field(default_factory=list, init=False)
    """The risks that the operator accepts with it."""

    def __post_init__(self) -> None:
        self.spec: Spec = rename_columns(self.text, self.settings)
        for batch in self.batches:
            one = self._read(batch)
            if one.rows is not None and self.check is not None:
                try:
                    self.check(self, one, one.rows)
                except InputError as problem:
                    one.because = str(problem)
            self.counted.append(one)

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The facts about the rows in a yes."""
        return tuple(one.piece for one in self.counted)

    @property
    def adding(self) -> list[Counted]:
        """The batches that add rows."""
        return [one for one in self.counted if not one.because]

    def count(self, one: Counted) -> IntArray:
        """Return the number of rows of a batch, and of those in each block or cell."""
        return cells_of(self.spec).report(self.count_cells([one]))

    def count_cells(self, some: Sequence[Counted]) -> IntArray:
        """Return the number of rows of some batches in each cell."""
        parts = [one.rows.cells for one in some if one.rows is not None]
        empty = cells_of(self.spec).count_cells(np.zeros((0, len(self.spec.observed))))
        return np.sum([empty, *parts], axis=0)

    def matrix(self) -> FloatArray:
        """Return all rows that could be read, in an order of their own."""
        parts = [one.rows.matrix for one in self.counted if one.rows is not None]
        rows = np.concatenate([np.zeros((0, len(self.spec.observed))), *parts])
        return rows[np.lexsort(rows.T)]

    def prepare(self, study: str, tables: Path) -> tuple[Prepared, ...]:
        """Note in the registers the releases to come."""
        with withhold_cause():
            return tuple(self._prepare(one, study, tables) for one in self.adding)

    def _prepare(self, one: Counted, study: str, tables: Path) -> Prepared:
        places = self._places(one.batch)
        key = prepare_release(
            places,
            self._snapshot(one),
            study,
            table=tables,
            has_noise=self.spec.has_noise,
            is_visible=self.is_visible,
            peer=self.identity.id,
            own=self.own,
        )
        return Prepared(one.batch.number, key, tuple(map(str, places)))

    def _read(self, batch: Batch) -> Counted:
        table = read_again(batch, self.settings, self.identity)
        source = Path(find_source(batch, self.settings))
        try:
            return Counted(batch, read_site_rows(source, self.spec, is_private=True, table=table))
        except InputError as problem:
            return Counted(batch, None, str(problem))

    def check_model(self, rows: SiteRows) -> None:
        """Refuse rows whose totals would reveal too much about single ones."""
        policy = self.settings.policy
        check_own_rows(self.spec, rows.matrix, policy.least_rows, policy.allow)

    def check_counts(self, one: Counted, rows: SiteRows) -> None:
        """Refuse rows that do not fill every class, or that members of another study know."""
        if not cells_of(self.spec).is_filled(rows.cells):
            least = self.spec.algorithm.least_cell or 1
            raise InputError(
                f"Its rows do not fill every class, group and stratum with {least} each."
            )
        self.accepted += check_release(
            self._places(one.batch),
            self._snapshot(one),
            has_noise=self.spec.has_noise,
            is_visible=self.is_visible,
            own=self.own,
        )

    def _places(self, batch: Batch) -> tuple[Path, ...]:
        return find_registers(Path(find_source(batch, self.settings)), self.settings)

    def _snapshot(self, one: Counted) -> Snapshot:
        assert one.rows is not None
        others = dict(zip(self.spec.observed, one.rows.matrix.T, strict=True))
        columns = {name: others.pop(name) for name in self.spec.columns}
        same = [names for names in self.settings.same if set(names) & set(self.spec.observed)]
        snapshot = Snapshot(
            Path(find_source(one.batch, self.settings)),
            columns,
            others,
            same=same,
            least_cell=self.spec.algorithm.least_cell or 1,
        )
        return read_beside(snapshot, self.settings.row_id, table=one.rows.table)


@contextlib.contextmanager
def withhold_cause() -> Iterator[None]:
    """Return the reason that all members may know if registers fail; the cause names files."""
    try:
        yield
    except InputError:
        raise InputError(
            "This site cannot note in its register what it would release: its operator sees the "
            "cause by a dry run."
        ) from None
