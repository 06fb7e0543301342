"""Tables to which members add rows: each row once, and the same table at all of them."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from pairgossip.arrays import IntArray
from pairgossip.peer.protocol.program import Ask, Kind, Words
from pairgossip.peer.protocol.rounds import Rounds
from pairgossip.peer.protocol.state import Counted, Released, SumsAction
from pairgossip.peer.sums.batches import digest_table
from pairgossip.peer.sums.programs import Generation
from pairgossip.peer.sums.statistics import StatisticsProgram, cells_of
from tests.peer.audit import Violated
from tests.peer.batches import SALT, as_rows, auc_spec, run_counting_schedule

SEEDS = 8


@pytest.mark.parametrize("least", [3, 1])
@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_table_is_that_of_the_rows_and_no_row_counts_twice(seed: int, least: int) -> None:
    run_counting_schedule(seed, least)


def test_the_schedules_make_tables_of_several_batches() -> None:
    worlds = (run_counting_schedule(seed) for seed in range(3 * SEEDS))
    assert any(len(world.auditor.tables) > 2 for world in worlds)


class CountsAnyhow(StatisticsProgram):
    """Counts rows that its card has left out."""

    def contribute(self, ask: Ask) -> Words:
        words = super().contribute(ask)
        if not any(end > self._base.rows for end in self._parts) and len(self._rows):
            words[: self._counts] += self._count_all().view(np.uint64)
        return words

    def _count_all(self) -> IntArray:
        tables = [one.count(self._rows, 1).ravel() for one in self._cells.tables]
        total = np.zeros(self._counts, dtype=np.int64)
        total[0] = len(self._rows)
        total[-len(tables[0]) :] = tables[0]
        return total


class FillsAnyhow(StatisticsProgram):
    """Says that its rows fill every class whatever they are."""

    def _is_filled(self, rows: Any) -> bool:
        return True

    def _count(self, rows: Any) -> IntArray:
        total = super()._count(rows)
        total[0] = len(rows)
        return total


class FewAreEnough(StatisticsProgram):
    """Makes a table of the rows of any number of members."""

    @property
    def _least_sites(self) -> int:
        return 1


class AddsTwice(StatisticsProgram):
    """Adds the table before twice."""

    def _take(self, total: Words) -> None:
        if self._base.table:
            from pairgossip.peer.sums.batches import read_table

            total = total.copy()
            total[: self._counts] += read_table(self._base.table).numbers.view(np.uint64)
        super()._take(total)

    def _check(self, new: IntArray, least: int, most: int) -> None:
        pass


class Unsalted(StatisticsProgram):
    """States the digest of the table alone, which outsiders can try tables for."""

    def _conclude(self, kept: bytes) -> dict[str, Any]:
        fields = super()._conclude(kept)
        return fields | ({"table": hashlib.sha256(kept[32:]).hexdigest()} if kept else {})


class CountsAll(StatisticsProgram):
    """Contributes all rows to every table."""

    def _split_rows(self) -> tuple[tuple[int, ...], int]:
        table = self._before.finished.table
        waiting = self._before.waiting
        self._before = Released(Counted(table), Counted(table), waiting=waiting)
        return super()._split_rows()


class RidesAlong(StatisticsProgram):
    """Adds new rows to a sum that is made again, though somebody may know it without them."""

    _repeats = False


class AsksAgain(StatisticsProgram):
    """Says of rows that were too few that they are enough with those added since."""

    def _split_rows(self) -> tuple[tuple[int, ...], int]:
        self._before = self._before._replace(waiting=0)
        return super()._split_rows()


class NamesOneTable(StatisticsProgram):
    """Names only the table of which it has all signatures."""

    def card(self) -> bytes:
        card = super().card()
        return 2 * card[:40]

    def take_cards(self, cards: Mapping[str, bytes]) -> None:
        self._before = self._before._replace(stated=self._before.finished)
        super().take_cards(cards)


class ForgetsParts(Rounds):
    """Writes nothing down of the rows that it has contributed."""

    def _contribute(self) -> list[SumsAction]:
        before = self.state.released
        actions = super()._contribute()
        if self.state.released.present is None:
            self.state = replace(self.state, released=before)
        return [
            one._replace(state=replace(one.state, released=self.state.released))  # type: ignore[union-attr, call-arg]
            for one in actions
        ]


DEFECTS: dict[str, tuple[dict[str, Any], str]] = {
    "a card that says no is ignored": ({"program_class": CountsAnyhow}, "counts other rows"),
    "all are said to fill": ({"program_class": FillsAnyhow}, "fewer than|counts other|missing"),
    "few members are enough": ({"program_class": FewAreEnough}, "rows of few members"),
    "the table before is added twice": ({"program_class": AddsTwice}, "found another table"),
    "the salt is not in the digest": ({"program_class": Unsalted}, "another digest"),
    "a batch counts all rows": ({"program_class": CountsAll}, "counts other|two parts|twice"),
    "new rows ride along": ({"program_class": RidesAlong}, "other rows to the same table"),
    "a card is told again about few rows": ({"program_class": AsksAgain}, "rows were missing"),
    "a stated table is not named": ({"program_class": NamesOneTable}, "stands in round"),
    "parts are not written down": ({"rounds_class": ForgetsParts}, "counts other rows"),
}
"""What is planted, and what a schedule must say of it."""


@pytest.mark.parametrize("defect", DEFECTS)
def test_planted_defects_are_caught(defect: str) -> None:
    planted, said = DEFECTS[defect]
    with pytest.raises(Violated, match=said):
        for seed in range(70 if planted.get("program_class") is NamesOneTable else 0, 120):
            run_counting_schedule(seed, **planted)


def _count_once(
    rows: dict[str, np.ndarray], released: dict[str, Released], named: bytes | None = None
) -> tuple[np.ndarray, dict[str, StatisticsProgram]]:
    """Let honest members contribute; return their sum, which a last one knows that withholds."""
    members = {name: len(own) for name, own in rows.items()} | {"liar": 140}
    programs = {
        name: StatisticsProgram(
            auc_spec(3), own, Generation(members), None, released[name], bytes(32)
        )
        for name, own in rows.items()
    }
    cards = {name: one.card() for name, one in programs.items()}
    first = digest_table(next(iter(released.values())).stated.table) if named is None else named
    cards["liar"] = 2 * struct.pack("<32sQ", first, 140)
    for one in programs.values():
        one.take_cards(cards)
    ask = programs["a"].ask()
    assert ask is not None and ask.kind is Kind.SUM
    total = sum((one.contribute(ask) for one in programs.values()), np.uint64(0))
    return np.asarray(total), programs


@pytest.mark.parametrize("what", ["words withheld", "statement withheld", "few rows before"])
def test_a_second_sum_never_shows_the_rows_that_one_member_has_added(what: str) -> None:
    random = np.random.default_rng(5)

    def draw(count: int) -> np.ndarray:
        return as_rows(tuple((float(one),) for one in random.integers(0, 64, count)))

    rows = {name: draw(140) for name in "abcd"}
    if what == "few rows before":
        rows["d"], rows["f"] = rows["d"][:2], draw(140)
    known, programs = _count_once(rows, dict.fromkeys(rows, Released()))
    grown = "d" if what == "few rows before" else "a"
    if what == "statement withheld":
        own = cells_of(auc_spec(3)).add_up(draw(140)).view(np.uint64)
        ask = programs["a"].ask()
        assert ask is not None
        for one in programs.values():
            one.take(ask, known + np.append(own, np.zeros(SALT, dtype=np.uint64)))
    released = {name: one.released.leave(is_finished=False) for name, one in programs.items()}
    rows[grown] = np.concatenate([rows[grown], draw(20)])
    again, _ = _count_once(rows, released, bytes(32))
    assert (again == known).all()
