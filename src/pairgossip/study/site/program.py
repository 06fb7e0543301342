"""The common computation of a question: a sum of counts, rounds of learning, or a reading.

The yeses have the number of rows of each member, rounded; a member that adds no rows contributes
zeros. A site's contribution was counted when it said yes, and stays the same, so a question that is
repeated has the same numbers.
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
"""Stands before the question's name in results, where results of single runs had a count."""

Sizes = Mapping[str, Sequence[int]]
"""The number of rows of each added piece, rounded down, by members' ids."""


class Own(NamedTuple):
    """This site's part in a question."""

    counts: IntArray
    """The number of rows, and of those in each block or cell; zeros if it adds none."""
    salt: bytes
    me: str = ""
    """Its id, which marks its own line there if cards say that it is shown."""


class Keeper(Protocol):
    """Keeps the results of a computation, before any of them leaves."""

    def keep_words(self, public: bytes, compute: Callable[[], Words]) -> Words:
        """Return the words for a question of a round: the kept ones, or new ones."""

    def keep_result(self, result: Result, table: bytes | None) -> None:
        """Keep the result that is signed next, and its table."""


class _Stating:
    """The part of a program that keeps its result before it is signed."""

    keeper: Keeper
    result: Result | None
    table: bytes | None

    def ask(self) -> Ask | None:
        """Return the request of the next round; None if all is known."""
        ask: Ask | None = super().ask()  # type: ignore[misc]
        if ask is not None and ask.kind is Kind.STATEMENT and self.result is not None:
            self.keeper.keep_result(self.result, self.table)
        return ask


class TableProgram(_Stating, StatisticsProgram):
    """A statistic or a report from one sum of counts, and from earlier tables.

    Parameters
    ----------
    spec, name
        The specification, and the name of the question.
    own, keeper
        This site's part, and the keeper of its words.
    sizes
        The pieces that members add; empty for a reading.
    covered
        The number of rows of each member in the result, those of earlier tables included.
    read
        The earlier tables, as they are kept.
    flags
        The facts on members' cards where sites are compared.
    noise
        Returns this site's addition to its counts, where the specification asks for noise.
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
        """Read the existing tables; several become one."""
        if self._tables:
            self._kept = pack_table(self._before_digest, self._join())
        self.result = self._state(**self._conclude(self._kept or b""))

    def _join(self, new: IntArray | None = None, sites: SiteSums | None = None) -> Table:
        """Return the earlier tables and new counts as one."""
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
        """Return this site's counts and a part of the salt; the same at every request."""
        return self.keeper.keep_words(ask.public, partial(super().contribute, ask))

    @property
    def _rounded_sizes(self) -> list[int]:
        """The numbers of rows added at once, as other members learn them: rounded down."""
        return _list_sizes(self._sizes)

    def _pack(self, salt: bytes, new: IntArray, sites: SiteSums | None) -> bytes:
        """Return the table of all counts, as it is kept."""
        return pack_table(salt, self._join(new, sites))

    def _conclude(self, kept: bytes) -> dict[str, Any]:
        fields = super()._conclude(kept)
        if not self._sizes:  # no member was to add rows
            fields |= {"left_out": None, "rounds": len(self._tables)}
        return fields


class ModelProgram(_Stating, LearningProgram):
    """A linear model of a loss, from members that tell rounded numbers of rows.

    Parameters are those of `TableProgram`; ``rows`` are this site's, in their own order.
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
        if not self._has_rows:  # the program needs a row, which is not counted
            ranges = [spec.ranges[name][0] for name in spec.columns]
            rows = np.array([[*ranges, label_values(spec)[0]]])
        most = {one: sum(it) + more * sum(map(bool, it)) for one, it in sizes.items()}
        super().__init__(spec, rows, Generation(most, _FIRST + name.hex()))
        if sum(any(it) for it in sizes.values()) < least_members:
            self.result = self._state(finished=False)

    def contribute(self, ask: Ask) -> Words:
        """Return this site's numbers; the same at every equal request."""
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
        self._known, sizes = int((parts >> self._bits).sum()), _list_sizes(self._sizes)
        if not sum(sizes) <= self._known <= self._generation.rows:
            raise Disagreement(f"members add {sum(sizes):,} rows or more, not {self._known:,}")
        self._counts = check_moments(total, layout, self._bits, self._known)

    def _state(self, **fields: Any) -> Result:
        members = {one: sum(rows) for one, rows in sorted(self._sizes.items())}
        return super()._state(**({"members": members, "rows": self._known} | fields))


def _list_sizes(sizes: Sizes) -> list[int]:
    """Return the rows of all pieces that have any."""
    return [rows for pieces in sizes.values() for rows in pieces if rows]
