"""Statistics from one sum of counts: the table that members keep, and the figures in it.

A member whose rows do not fill every class adds none, and contributes zeros. If too few members add
rows to hide any of them, no table is made.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from pairgossip.arrays import IntArray
from pairgossip.counts.noisy import find_noisy
from pairgossip.counts.readings import Estimate
from pairgossip.counts.tables import Sums
from pairgossip.errors import InputError
from pairgossip.peer.protocol.program import SIZE_STEP, Ask, Disagreement, Words
from pairgossip.peer.reports.catalog import has_statistic
from pairgossip.peer.sums.figures import find_estimate, round_estimate
from pairgossip.peer.sums.noise import Noise
from pairgossip.peer.sums.plausibility import check_sums, check_value
from pairgossip.peer.sums.programs import Generation, SumsProgram
from pairgossip.peer.sums.results import AddedNoise, rounded_or_none
from pairgossip.peer.sums.site_sums import SiteSums
from pairgossip.peer.sums.sites import Plan, read_sites, write_site
from pairgossip.peer.sums.statistics import cells_of, explain_no_interval, noise_law, summary_of
from pairgossip.text import join_names

if TYPE_CHECKING:
    from pairgossip.peer.specification.spec import Spec
    from pairgossip.summaries.summary import Summary

_SALT = 32
"""Length of a salt in bytes; nobody without the salt can guess the table of a digest."""


class Table(NamedTuple):
    """Counts over the rows of all members."""

    batches: tuple[int, ...]
    """The number of members of each sum that was added up."""
    counts: bytes
    """Signed 64-bit integers: the number of rows, then those in cells or blocks."""
    sites: SiteSums | None = None
    """The sums over the sites that added rows to the first table; None if not compared."""

    @property
    def numbers(self) -> IntArray:
        """The counts as numbers."""
        return np.frombuffer(self.counts, dtype="<i8").astype(np.int64)


def pack_table(salt: bytes, table: Table) -> bytes:
    """Return a table as bytes to store: a salt, and the table."""
    return salt + msgspec.msgpack.encode(tuple(table) if table.sites is not None else table[:2])


def read_table(kept: bytes) -> Table:
    """Return the table in bytes of `pack_table`; raise `ValueError` for other bytes."""
    try:
        return msgspec.msgpack.decode(kept[_SALT:], type=Table)
    except (msgspec.MsgspecError, UnicodeDecodeError) as problem:
        raise ValueError(str(problem)) from None


def digest_table(kept: bytes) -> bytes:
    """Return the digest by which members name a table; zeros for none."""
    return hashlib.sha256(kept).digest() if kept else bytes(32)


def read_summary(spec: Spec, table: bytes) -> Summary:
    """Return the counts of a specification's table as a summary.

    Raise `InputError` for noisy counts: other statistics of them need the law of the noise, too.
    """
    if spec.has_noise:
        raise InputError(
            "Counts with noise are read by the agreed statistic alone: see the signed result."
        )
    try:
        return summary_of(spec, read_table(table).numbers[1:])
    except ValueError:
        raise InputError("The table is of another form: use the version that wrote it.") from None


class StatisticsProgram(SumsProgram):
    """A kernel's statistic, or one of order, from one sum of counts.

    Parameters
    ----------
    spec
        The specification.
    own
        This member's counts: the number of its rows, and those in cells or blocks.
    generation
        All members, their numbers of rows, and the name of the question.
    added
        The number of rows that each member adds, rounded; 0 for one that adds none.
    salt
        This member's part of the table's salt.
    noise
        The draw of this member's noise; None if the specification asks for none.
    plan
        The sites that add numbers about themselves; None if sites are not compared.
    me
        This member's id, by which its site is found in the plan.
    least_members
        The least number of members that add rows; one more if small counts are hidden.
    """

    most_sums = 1

    def __init__(
        self,
        spec: Spec,
        own: IntArray,
        generation: Generation,
        added: Mapping[str, int],
        *,
        salt: bytes = bytes(_SALT),
        noise: Noise | None = None,
        plan: Plan | None = None,
        me: str = "",
        least_members: int = 0,
    ) -> None:
        if spec.has_noise and noise is None:
            raise InputError("The specification asks for noise: give what draws it.")
        super().__init__(spec, generation, _describe_question(spec))
        self._cells, self._own, self._added = cells_of(spec), own, added
        self._salt, self._noise = np.frombuffer(salt, "<u8"), noise
        self._plan, self._me = plan, me
        self._least_members = least_members
        self._kept: bytes | None = None
        if not self._is_made:
            self._conclude_without_sum()

    @property
    def _is_made(self) -> bool:
        """Whether enough members add rows for a table."""
        least = 0
        if self._noise is None:  # noise hides the rows of a single member, too
            least = self._least_members + (self._cells.columns.least > 1)
        return sum(count > 0 for count in self._added.values()) >= max(least, 1)

    def _conclude_without_sum(self) -> None:
        """State a result without a table."""
        self.result = self._state(**self._conclude(b""))

    @property
    def _words(self) -> tuple[int, int]:
        """The places in a contribution where counts end, and where numbers about sites end."""
        counts = self._cells.words
        return counts, counts + (0 if self._plan is None else self._plan.words)

    def _question(self) -> tuple[bytes, int]:
        edges = [axis.places.tolist() for axis in self._cells.axes]
        return msgspec.msgpack.encode(edges), self._words[-1] + len(self._salt)

    def contribute(self, ask: Ask) -> Words:
        """Return this member's counts, its numbers about its site, and its part of the salt."""
        total = self._own_total
        return np.concatenate([total.view(np.uint64), self._write_site(total), self._salt])

    @cached_property
    def _own_total(self) -> IntArray:
        """This member's counts with its noise, which is drawn once: two draws would reveal more."""
        total = self._own.copy()
        if self._noise is not None:
            total[1:] += self._noise(self._cells.counts)
        return total

    def _write_site(self, total: IntArray) -> Words:
        """Return the numbers about this site that go with its counts."""
        words = 0 if self._plan is None else self._plan.words
        if self._plan is None or not words or self._me not in self._plan.sites:
            return np.zeros(words, dtype=np.uint64)
        return write_site(self._spec, total[1:], self._plan, self._me).view(np.uint64)

    def _follow(self, public: bytes) -> None:
        raise Disagreement("cells that are elsewhere, or another table before")

    def _take(self, total: Words) -> None:
        counts, of_sites, salt = np.split(total, self._words)
        new, sizes = counts.view(np.int64), self._rounded_sizes
        self._check(new, sum(sizes), sum(sizes) + (SIZE_STEP - 1) * len(sizes))
        sites = None if self._plan is None else read_sites(self._plan, of_sites.view(np.int64))
        self._kept = self._pack(salt.astype("<u8").tobytes(), new, sites)
        self.result = self._state(**self._conclude(self._kept))

    @property
    def _rounded_sizes(self) -> list[int]:
        """The numbers of rows that members add, rounded down as others learn them."""
        return [count for count in self._added.values() if count]

    def _pack(self, salt: bytes, new: IntArray, sites: SiteSums | None) -> bytes:
        """Return the table with these counts, as bytes to store."""
        return pack_table(salt, Table((len(self.members),), new.astype("<i8").tobytes(), sites))

    def _conclude(self, kept: bytes) -> dict[str, Any]:
        """Return the fields of the result that follow from a stored table, or from having none."""
        left_out = tuple(sorted(one for one, count in self._added.items() if not count))
        least = self._cells.columns.least
        fields: dict[str, Any] = {
            "rows": 0,
            "left_out": left_out or None,
            "least_cell": least if least > 1 else None,
        }
        if not kept:
            return fields
        table, digest = read_table(kept), digest_table(kept).hex()
        fields |= {"rows": int(table.numbers[0]), "table": digest, "heterogeneity": table.sites}
        return fields | self._read(table)

    def _check(self, new: IntArray, least: int, most: int) -> None:
        """Raise `Disagreement` for counts that no rows from ``least`` to ``most`` have."""
        members = len(self._generation.members)
        law = None if self._noise is None else noise_law(self._spec, members)
        adding = sum(count > 0 for count in self._added.values())
        check_sums(self._cells, self._cells.read_sums(new), (least, most), law, adding)

    def _read(self, table: Table) -> dict[str, Any]:
        """Return the figures of the result."""
        if self._noise is None:
            self.summary, estimate = find_estimate(self._spec, table.numbers)
            check_value(self._spec, estimate)
            noise = None
        else:
            sums = self._cells.read_sums(table.numbers)
            estimate, noise = self._find_noisy(sums, table.batches)
        return {**round_estimate(estimate), "noise": noise, "batches": len(table.batches)}

    def _find_noisy(self, sums: Sums, batches: Sequence[int]) -> tuple[Estimate, AddedNoise]:
        """Return the estimate from noisy counts, and the noise in it."""
        laws = [noise_law(self._spec, members) for members in batches]
        law, variance = laws[-1], sum(one.variance for one in laws)
        estimate, error = find_noisy(self._cells, sums, variance)
        reason = explain_no_interval(self._cells, variance, sums.n)
        if reason is not None:
            estimate = estimate._replace(low=math.nan, high=math.nan)
        noise = AddedNoise(
            epsilon=law.epsilon,
            honest=law.honest,
            variance=float(f"{variance:.12g}"),
            error=rounded_or_none(error),
            without_interval=reason,
        )
        return estimate, noise

    @property
    def table(self) -> bytes | None:
        """The stored bytes of the result's table; None if there is none."""
        return self._kept


def _describe_question(spec: Spec) -> str:
    by = "" if spec.label is None else f" by {spec.label}"
    kind = ", own pairs left out" if spec.target == "u" else ""
    kind += "" if spec.within is None else f", pairs within {spec.within} alone"
    kind += "" if spec.weight is None else f", each as often as {spec.weight} says"
    subject = spec.kernel if has_statistic(spec) else spec.report
    return f"{subject} of {join_names(spec.columns)}{by}, over the rows of all members{kind}"
