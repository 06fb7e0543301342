"""The computation of a question at this site, and the site's contribution to it.

Numbers are kept before they leave, in the transaction of the record that commits to them, and are
the same at every later request. Their release is noted in the registers first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.errors import InputError
from pairgossip.peer.bookkeeping.releases import tell_release
from pairgossip.peer.protocol.program import Words
from pairgossip.peer.specification.spec import Spec
from pairgossip.peer.sums.results import Result
from pairgossip.peer.sums.statistics import cells_of, noise_law
from pairgossip.peer.sums.tables import digest_table
from pairgossip.study.protocol.records import Question, Yes
from pairgossip.study.site.counting import withhold_cause
from pairgossip.study.site.layouts import layout_of, read_text
from pairgossip.study.site.offers import Entry, Offers
from pairgossip.study.site.program import ModelProgram, Own, TableProgram
from pairgossip.study.storage.tables import Answer, Answers, Covered, join_covered

AnyProgram = TableProgram | ModelProgram


@dataclass(frozen=True)
class Computing:
    """The parts of a computation at this site.

    Parameters
    ----------
    me, offers, answers
        The id of the member, its yeses, and its answers.
    read_rows
        Returns the rows that an entry adds, where counts are not enough.
    least_members
        The least number of members whose rows are added together, by the question's list.
    """

    me: str
    offers: Offers
    answers: Answers
    read_rows: Callable[[Entry], FloatArray]
    least_members: int

    def make_program(
        self, name: bytes, question: Question, yeses: Mapping[str, Yes], members: Sequence[str]
    ) -> AnyProgram:
        """Return the computation of a question; ``members`` are those of its list."""
        if not question.adds:
            return self._make_reading(name, question, members)
        spec, entry = read_text(question.text), self.offers.take_yes(name, yeses[self.me].pieces)
        answers, read = self.answers.read_tables(question.reads, layout_of(question.text))
        covered = join_covered(answers, {one: yes.pieces for one, yes in yeses.items()})
        keeper = _Keeper(self, name, question, tuple(yeses), covered)
        sizes = {one: [piece.rows for piece in yes.pieces] for one, yes in sorted(yeses.items())}
        if spec.kernel is None:
            rows = self.read_rows(entry)
            return ModelProgram(spec, name, rows, keeper, sizes, least_members=self.least_members)
        return TableProgram(
            spec,
            name,
            self._own(entry, spec),
            keeper,
            sizes,
            count_covered(covered, list(sizes)),
            read=read,
            flags={one: yes.card[0] for one, yes in yeses.items() if yes.card},
            noise=noise_law(spec, len(yeses)).draw if spec.has_noise else None,
            least_members=self.least_members,
        )

    def _make_reading(
        self, name: bytes, question: Question, members: Sequence[str]
    ) -> TableProgram:
        """Return the computation of a question that tables answer."""
        spec = read_text(question.text)
        answers, read = self.answers.read_tables(question.reads, layout_of(question.text))
        if not read or spec.kernel is None:
            raise InputError("The question reads no table, and adds no rows.")
        if any(not set(members) <= set(one.members) for one in answers):
            raise InputError("A member was not there when a table that is read was made.")
        own = Own(np.zeros(cells_of(spec).words, dtype=np.int64), bytes(32))
        covered = join_covered(answers, {})
        keeper = _Keeper(self, name, question, tuple(members), covered)
        rows = count_covered(covered, members)
        return TableProgram(spec, name, own, keeper, {}, rows, read=read)

    def _own(self, entry: Entry, spec: Spec) -> Own:
        counts: IntArray = np.zeros(cells_of(spec).words, dtype=np.int64)
        for batch, content in self.offers.counts(entry.repeats or entry.question).items():
            if batch in entry.batches:
                counts = counts + np.frombuffer(content, "<i8")
        return Own(counts, entry.salt, self.me)


@dataclass(frozen=True)
class _Keeper:
    """Keeps the words and results of a question's computation."""

    computing: Computing
    name: bytes
    question: Question
    members: tuple[str, ...]
    covered: Covered

    def keep_words(self, public: bytes, compute: Callable[[], Words]) -> Words:
        """Return the words for a question of a round: the kept ones, or new ones."""
        offers, key = self.computing.offers, public.hex()
        entry = offers.find(self.name)
        earlier = offers.vector(entry.repeats or self.name, key)
        if earlier is not None:
            return np.frombuffer(earlier, "<u8").astype(np.uint64)
        if entry.repeats is not None:
            raise InputError("The question that is repeated has asked for other numbers.")
        tell_releases(offers, entry)
        words = compute()
        offers.put_vector(self.name, key, words.astype("<u8").tobytes())
        return words

    def keep_result(self, result: Result, table: bytes | None) -> None:
        """Keep the result that is signed next, and its table."""
        answer = Answer(
            question=self.name,
            layout=layout_of(self.question.text),
            rounds=result.rounds,
            table=b"" if table is None else digest_table(table),
            covered=() if table is None else self.covered,
            members=self.members,
            adds=self.question.adds,
        )
        self.computing.answers.state(answer, msgspec.json.encode(result), table)


def tell_releases(offers: Offers, entry: Entry) -> None:
    """Note in the registers that the rows are released, before anything about them is shown."""
    own = offers.keys
    with withhold_cause():
        for key, places in entry.releases:
            tell_release(places, key, own=own)


def count_covered(covered: Covered, members: Sequence[str]) -> dict[str, int]:
    """Return the number of rows of each of these members in the pieces."""
    rows = dict.fromkeys(sorted(members), 0)
    for member, _, count in covered:
        if member in rows:
            rows[member] += count
    return rows
