"""What all members compute for a question: one sum of counts or rounds of learning, or a reading.

The yeses say how many rows each member adds, rounded; who adds none contributes zeros. What this
site contributes was counted when it said yes, and stays the same, so that a question that is
repeated is asked with the same numbers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.peer.protocol.program import (
    LEAST_MEMBERS,
    SIZE_STEP,
    Ask,
    Disagreement,
    Kind,
    Words,
)
from pairgossip.peer.sums.labels import label_values
from pairgossip.peer.sums.learning import LearningProgram
from pairgossip.peer.sums.noise import Noise
from pairgossip.peer.sums.plausibility import check_moments
from pairgossip.peer.sums.programs import Generation
from pairgossip.peer.sums.results import Result
from pairgossip.peer.sums.site_sums import SiteSums
from pairgossip.peer.sums.sites import plan_sites
from pairgossip.peer.sums.tables import StatisticsProgram, Table, pack_table, read_table
from pairgossip.solvers.solver import choose_moments

if TYPE_CHECKING:
    from pairgossip.peer.specification.spec import Spec

_FIRST = f"{0:08x}"
"""The ordinal in the names of generations, which a study has none of."""

Sizes = Mapping[str, Sequence[int]]
"""By members' ids, how many rows each of the pieces has that they add, rounded down."""


class Own(NamedTuple):
    """This site's part in a question."""

    counts: IntArray
    """How many rows, and in which blocks or cells; zeros if it adds none."""
    salt: bytes
    me: str = ""
    """Its id, by which its own line is known there if cards say that it shows it."""


class Keeper(Protocol):
    """Keeps what a computation has come to, before anything of it leaves."""

    def keep_words(self, public: bytes, compute: Callable[[], Words]) -> Words:
        """Return the words for a question of a round: those that are kept, or new ones."""

    def keep_result(self, result: Result, table: bytes | None) -> None:
        """Keep the result that is signed next, and the table that it is read from."""


class _Stating:
    """The part of a program by which its result is kept before it is signed."""

    keeper: Keeper
    result: Result | None
    table: bytes | None

    def ask(self) -> Ask | None:
        """Return what the next round asks for; None if all is known."""
        ask: Ask | None = super().ask()  # type: ignore[misc]
        if ask is not None and ask.kind is Kind.STATEMENT and self.result is not None:
            self.keeper.keep_result(self.result, self.table)
        return ask


class TableProgram(_Stating, StatisticsProgram):
    """A statistic or a report from one sum of counts, and from tables of before.

    Parameters
    ----------
    spec, name
        The specification, and the name of the question.
    own, keeper
        This site's part, and what keeps it before it leaves.
    sizes
        The pieces that members add; none for a reading.
    covered
        How many rows of each member the result is of, those of tables of before among them.
    read
        The tables of before, as they are kept.
    flags
        What members' cards say where sites are compared.
    noise
        Gives what this site adds to its counts, where the specification asks for noise.
    least_members
        The least number of members that add rows; one more where small counts are hidden.
    """

    def __init__(
        self,
        spec: Spec,
        name: bytes,
        own: Own,
        keeper: Keeper,
        sizes: Sizes,
        covered: Mapping[str, int],
        *,
        read: Sequence[bytes] = (),
        flags: Mapping[str, int] | None = None,
        noise: Noise | None = None,
        least_members: int = LEAST_MEMBERS,
    ) -> None:
        self.keeper, self._sizes = keeper, sizes
        self._tables = tuple(map(read_table, read))
        self._before_digest = hashlib.sha256(b"".join(read)).digest() if read else b""
        added = {one: sum(sizes.get(one, ())) for one in covered}
        super().__init__(
            spec,
            own.counts,
            Generation(covered, _FIRST + name.hex()),
            added,
            salt=own.salt,
            noise=noise,
            plan=plan_sites(added, flags) if flags and not read else None,
            me=own.me,
            least_members=least_members,
        )

    def _conclude_without_sum(self) -> None:
        """Read what there is; several tables become one."""
        if self._tables:
            self._kept = pack_table(self._before_digest, self._join())
        self.result = self._state(**self._conclude(self._kept or b""))

    def _join(self, new: IntArray | None = None, sites: SiteSums | None = None) -> Table:
        """Return the tables of before and new counts as one."""
        words = self._cells.words
        numbers, batches = np.zeros(words, dtype=np.int64), tuple[int, ...]()
        for table in self._tables:
            if len(table.numbers) != words:
                raise Disagreement("a table of before has other cells")
            numbers, batches = numbers + table.numbers, batches + table.batches
            sites = sites or table.sites
        if new is not None:
            numbers, batches = numbers + new, (*batches, len(self.members))
        return Table(batches, numbers.astype("<i8").tobytes(), sites)

    def _question(self) -> tuple[bytes, int]:
        public, words = super()._question()
        return hashlib.sha256(public + self._before_digest).digest(), words

    def contribute(self, ask: Ask) -> Words:
        """Return this site's counts and a part of the salt; the same whenever it is asked."""
        return self.keeper.keep_words(ask.public, partial(super().contribute, ask))

    @property
    def _told_sizes(self) -> list[int]:
        """How many rows are added at once, as members tell it: rounded down."""
        return _list_sizes(self._sizes)

    def _pack(self, salt: bytes, new: IntArray, sites: SiteSums | None) -> bytes:
        """Return the table of all counts, as it is kept."""
        return pack_table(salt, self._join(new, sites))

    def _conclude(self, kept: bytes) -> dict[str, Any]:
        fields = super()._conclude(kept)
        if not self._sizes:  # nobody was to add any
            fields |= {"left_out": None, "rounds": len(self._tables)}
        return fields


class ModelProgram(_Stating, LearningProgram):
    """A linear model of a loss, by members that tell rounded numbers of rows.

    Parameters are those of `TableProgram`; ``rows`` are this site's, in an order of their own.
    """

    def __init__(
        self,
        spec: Spec,
        name: bytes,
        rows: FloatArray,
        keeper: Keeper,
        sizes: Sizes,
        *,
        least_members: int = LEAST_MEMBERS,
    ) -> None:
        self.keeper, self._sizes, self._known = keeper, sizes, 0
        self._has_rows, more = len(rows) > 0, SIZE_STEP - 1
        if not self._has_rows:  # a row to ask for, which nothing is told of
            ranges = [spec.ranges[name][0] for name in spec.columns]
            rows = np.array([[*ranges, label_values(spec)[0]]])
        most = {one: sum(it) + more * sum(map(bool, it)) for one, it in sizes.items()}
        super().__init__(spec, rows, Generation(most, _FIRST + name.hex()))
        if sum(any(it) for it in sizes.values()) < least_members:
            self.result = self._state(finished=False)

    def contribute(self, ask: Ask) -> Words:
        """Return this site's numbers; the same whenever it is asked the same."""
        return self.keeper.keep_words(ask.public, partial(self._sum_own, ask))

    def _sum_own(self, ask: Ask) -> Words:
        if not self._has_rows:
            return np.zeros(ask.words, dtype=np.uint64)
        return super().contribute(ask)

    def _check(self, total: Words) -> None:
        if self._name != "moments":
            super()._check(total)
            return
        layout = choose_moments(self._grades, len(self._spec.columns), 1)
        parts = total.view(np.int64).reshape(layout.grades, -1)[:, 0]
        self._known, told = int((parts >> self._bits).sum()), _list_sizes(self._sizes)
        if not sum(told) <= self._known <= self._generation.rows:
            raise Disagreement(f"members add {sum(told):,} rows or more, not {self._known:,}")
        self._counts = check_moments(total, layout, self._bits, self._known)

    def _state(self, **fields: Any) -> Result:
        told = {one: sum(rows) for one, rows in sorted(self._sizes.items())}
        return super()._state(**({"members": told, "rows": self._known} | fields))


def _list_sizes(sizes: Sizes) -> list[int]:
    """Return the rows of all pieces that have any."""
    return [rows for pieces in sizes.values() for rows in pieces if rows]
