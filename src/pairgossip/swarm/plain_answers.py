"""The answers of a study's members without masks, network or journal, from their sources.

A question counts the pieces that its yeses name. Their rows are read again, counted, and added up
without masks; the programs of the members then read the same bits from the same sums.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.errors import InputError
from pairgossip.peer.identity.identity import load_identity
from pairgossip.peer.protocol.program import Kind, Words
from pairgossip.peer.specification.spec import Spec
from pairgossip.peer.storage.rows import SiteRows, read_site_rows
from pairgossip.peer.sums.results import Result
from pairgossip.peer.sums.statistics import cells_of
from pairgossip.study.protocol.records import MemberList, Question, Yes
from pairgossip.study.site.computing import AnyProgram, count_covered
from pairgossip.study.site.layouts import layout_of, read_text, rename_columns
from pairgossip.study.site.offers import Offers
from pairgossip.study.site.program import ModelProgram, Own, TableProgram
from pairgossip.study.storage.folder import StudyHome
from pairgossip.study.storage.journal import StudyJournal
from pairgossip.study.storage.snapshots import Batches, find_source, read_again
from pairgossip.study.storage.tables import Answers, join_covered


class Folder(Protocol):
    """One member's folder, opened."""

    @property
    def home(self) -> StudyHome:
        """The folder."""

    @property
    def journal(self) -> StudyJournal:
        """Its journal, which is open."""

    @property
    def id(self) -> str:
        """Its owner's id."""


@dataclass
class _Keeper:
    """Computes a question's answer, and keeps only the table."""

    table: bytes | None = None

    def keep_words(self, public: bytes, compute: Callable[[], Words]) -> Words:
        return compute()

    def keep_result(self, result: Result, table: bytes | None) -> None:
        self.table = table


@dataclass(frozen=True)
class Plain:
    """A question's answer from the sources of all members that added rows to it."""

    spec: Spec
    rows: FloatArray
    """All rows that it uses."""
    members: int
    """The number of members with such rows."""
    result: Result | None
    """None where members have drawn noise, which is not kept."""
    table: bytes | None


class PlainAnswers:
    """Answers questions from the sources of members, by their folders."""

    def __init__(self, members: Sequence[Folder]) -> None:
        self._members = {one.id: one for one in members}
        self._read: dict[tuple[str, int, str], SiteRows] = {}

    def rows_of(self, member: str, batch: int, text: str) -> SiteRows:
        """Return the rows of a member's batch as a question counts them."""
        place = member, batch, text
        if place not in self._read:
            self._read[place] = self._read_batch(*place)
        return self._read[place]

    def _read_batch(self, member: str, number: int, text: str) -> SiteRows:
        one = self._members[member]
        settings, identity = one.home.read_settings(), load_identity(one.home.folder)
        batch = next((batch for batch in Batches(one.journal) if batch.number == number), None)
        if batch is None:
            raise InputError(f"The batch {number} that was counted is not kept.")
        table = read_again(batch, settings, identity)
        spec = rename_columns(text, settings)
        return read_site_rows(find_source(batch, settings), spec, table=table)

    def numbers_of(self, member: str) -> FloatArray:
        """Return all numbers in a member's sources."""
        one = self._members[member]
        settings, identity = one.home.read_settings(), load_identity(one.home.folder)
        columns = [
            numbers
            for batch in Batches(one.journal)
            for table in [read_again(batch, settings, identity)]
            for name in table.load(batch.columns)
            if (numbers := table.floats(name)) is not None
        ]
        return np.concatenate([np.zeros(0), *columns])

    def answer(
        self, name: bytes, question: Question, yeses: Mapping[str, Yes], members: MemberList
    ) -> Plain:
        """Return the answer to a question; raise `InputError` for sources that have changed."""
        spec, someone = read_text(question.text), next(iter(self._members.values()))
        answers, tables = Answers(someone.journal, someone.home.tables).read_tables(
            question.reads, layout_of(question.text)
        )
        pieces = {one: yes.pieces for one, yes in sorted(yeses.items())}
        covered = join_covered(answers, pieces)
        parts = [self.rows_of(one, batch, question.text).matrix for one, batch, _ in covered]
        rows = np.concatenate([np.zeros((0, len(spec.observed))), *parts])
        counted = {one for one, _, _ in covered}
        if spec.noise is not None:
            return Plain(spec, rows, len(counted), None, None)
        keeper = _Keeper()
        if not question.adds:
            told = count_covered(covered, members.ids)
            own = Own(np.zeros(cells_of(spec).words, dtype=np.int64), bytes(32))
            programs: list[AnyProgram] = [
                TableProgram(spec, name, own, keeper, {}, told, read=tables)
            ]
        elif spec.kernel is None:
            programs = self._learn(name, question.text, yeses, members, keeper)
        else:
            told = count_covered(covered, list(pieces))
            programs = self._count(name, question.text, yeses, members, (told, tables), keeper)
        return Plain(spec, rows, len(counted), _add_up(programs), keeper.table)

    def _learn(
        self,
        name: bytes,
        text: str,
        yeses: Mapping[str, Yes],
        members: MemberList,
        keeper: _Keeper,
    ) -> list[AnyProgram]:
        spec, sizes = read_text(text), _sizes(yeses)
        programs: list[AnyProgram] = []
        for one, yes in sorted(yeses.items()):
            parts = [
                self.rows_of(one, piece.batch, text).matrix for piece in yes.pieces if piece.rows
            ]
            rows = np.concatenate([np.zeros((0, len(spec.observed))), *parts])
            rows = rows[np.lexsort(rows.T)]
            least = members.least_members
            programs.append(ModelProgram(spec, name, rows, keeper, sizes, least_members=least))
        return programs

    def _count(
        self,
        name: bytes,
        text: str,
        yeses: Mapping[str, Yes],
        members: MemberList,
        before: tuple[Mapping[str, int], Sequence[bytes]],
        keeper: _Keeper,
    ) -> list[AnyProgram]:
        spec, (told, tables) = read_text(text), before
        flags = {one: yes.card[0] for one, yes in yeses.items() if yes.card}
        programs: list[AnyProgram] = []
        for one, yes in sorted(yeses.items()):
            counts: IntArray = np.zeros(cells_of(spec).words, dtype=np.int64)
            for piece in yes.pieces:
                if piece.rows:
                    cells = self.rows_of(one, piece.batch, text).cells
                    counts = counts + cells_of(spec).report(cells)
            entry = Offers(self._members[one].journal).get(name)
            if entry is None:
                raise InputError("No record of the question's yes is kept.")
            own = Own(counts, entry.salt, one)
            programs.append(
                TableProgram(
                    *(spec, name, own, keeper, _sizes(yeses), told),
                    read=tables,
                    flags=flags,
                    least_members=members.least_members,
                )
            )
        return programs


def _sizes(yeses: Mapping[str, Yes]) -> dict[str, list[int]]:
    """Return the number of rows of each piece, by member."""
    return {one: [piece.rows for piece in yes.pieces] for one, yes in sorted(yeses.items())}


def _add_up(programs: Sequence[AnyProgram]) -> Result | None:
    """Let members add up their contributions, without masks, until they state a result."""
    asks = [one.ask() for one in programs]
    while (ask := asks[0]) is not None and ask.kind is Kind.SUM:
        if any(other != ask for other in asks):
            raise InputError("The programs of the members differ in what they compute.")
        total = np.zeros(ask.words, dtype=np.uint64)
        for one in programs:
            total += one.contribute(ask)
        for one in programs:
            one.take(ask, total)
        asks = [one.ask() for one in programs]
    return programs[0].result
