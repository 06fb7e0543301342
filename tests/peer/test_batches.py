"""Tables to which members add rows: each row once, and the same table at all of them."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

from pairgossip.arrays import IntArray
from pairgossip.peer.protocol import masks
from pairgossip.peer.protocol.events import Event
from pairgossip.peer.protocol.messages import encode, with_signature
from pairgossip.peer.protocol.program import Ask, Disagreement, Kind, Words
from pairgossip.peer.protocol.rounds import Rounds
from pairgossip.peer.protocol.state import Counted, Released, SumsAction
from pairgossip.peer.sums.batches import StatisticsProgram, digest_table
from pairgossip.peer.sums.programs import Generation
from pairgossip.peer.sums.statistics import cells_of
from tests.peer.audit import Violated
from tests.peer.batches import (
    SALT,
    as_rows,
    auc_spec,
    make_counting_world,
    run_counting_schedule,
)
from tests.peer.contexts import SPEC
from tests.peer.schedules import BAD, GOOD

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
        rows = np.asarray(self._rows)
        tables = [one.count(rows).ravel() for one in self._cells.tables]
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


class TellsExactly(StatisticsProgram):
    """Says in its card exactly how many rows it adds."""

    def card(self) -> bytes:
        bases = (self._before.finished, self._before.stated)
        parts = [(digest_table(one.table), self._end(one) - one.rows) for one in bases]
        return struct.pack("<32sQ32sQ", *parts[0], *parts[1])


class TakesAllForCounted(StatisticsProgram):
    """Takes rows that wait for rows of the table."""

    def _take(self, total: Words) -> None:
        super()._take(total)
        assert self._stated is not None
        self._stated = self._stated._replace(rows=len(self._rows))


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
    "a batch counts all rows": ({"program_class": CountsAll}, "for counted|two parts|twice"),
    "new rows ride along": ({"program_class": RidesAlong}, "other rows to the same table"),
    "a card is told again about few rows": ({"program_class": AsksAgain}, "rows were missing"),
    "a card tells rows exactly": ({"program_class": TellsExactly}, "has exactly"),
    "waiting rows are taken for counted": ({"program_class": TakesAllForCounted}, "other rows for"),
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
    rows: dict[str, np.ndarray],
    released: dict[str, Released],
    named: bytes | None = None,
    claimed: int = 140,
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
    cards["liar"] = 2 * struct.pack("<32sQ", first, claimed)
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


def _draw_members(names: str, count: int = 30) -> dict[str, np.ndarray]:
    random = np.random.default_rng(7)
    return {
        name: as_rows(tuple((float(one),) for one in random.integers(0, 64, count)))
        for name in names
    }


def _state_once(rows: dict[str, np.ndarray], released: dict[str, Released]) -> dict[str, Released]:
    """Let all members sign one more table; return what each has released then."""
    _, programs = _count_once(rows, released)
    ask = programs["a"].ask()
    assert ask is not None
    own = cells_of(auc_spec(3)).add_up(_draw_members("e", 140)["e"]).view(np.uint64)
    total = sum((one.contribute(ask) for one in programs.values()), np.uint64(0))
    for one in programs.values():
        one.take(ask, total + np.append(own, np.zeros(SALT, dtype=np.uint64)))
    return {name: one.released for name, one in programs.items()}


def test_members_go_on_from_the_later_table_that_all_name() -> None:
    rows = _draw_members("abcd")
    first = _state_once(rows, dict.fromkeys(rows, Released()))
    stated = {name: one.leave(is_finished=False) for name, one in first.items()}
    rows = {name: np.concatenate([own, own]) for name, own in rows.items()}
    members = Generation({name: len(own) for name, own in rows.items()})
    programs = {
        name: StatisticsProgram(auc_spec(3), own, members, None, stated[name])
        for name, own in rows.items()
    }
    for one in programs.values():
        one.take_cards({name: other.card() for name, other in programs.items()})  # of both tables
    ask = programs["a"].ask()
    assert ask is not None
    assert msgspec.msgpack.decode(ask.public)[1] == digest_table(stated["a"].stated.table)
    assert programs["a"].released.parts == (30, 60) and programs["a"].released.is_summed
    # A member that names only the table before has the others repeat what they have contributed.
    _, programs = _count_once(rows, stated, bytes(32))
    again = programs["a"].released
    assert again.parts == (30,) and not again.is_summed


def test_a_sum_that_a_later_table_does_not_hold_is_remembered() -> None:
    before, table, after = Counted(b"before", 10), Counted(b"table", 20), Counted(b"after", 20)
    released = Released(before, table, (20, 30), is_summed=True)
    assert not released._replace(present=(table, after)).leave(is_finished=True).is_summed
    assert released._replace(present=(before, after)).leave(is_finished=True).is_summed
    assert released.leave(is_finished=False) == released


@pytest.mark.parametrize(("rows", "is_possible"), [(-1, False), (0, True), (45, True), (46, False)])
def test_as_many_rows_are_counted_as_cards_say(rows: int, is_possible: bool) -> None:
    members = _draw_members("abcd")
    total, programs = _count_once(members, dict.fromkeys(members, Released()))
    ask = programs["a"].ask()
    assert ask is not None
    own = cells_of(auc_spec(3)).add_up(_draw_members("e", 140)["e"])
    fullest = 1 + int(own[1:].argmax())
    own[[0, fullest]] += rows
    total = total + np.append(own.view(np.uint64), np.zeros(SALT, dtype=np.uint64))
    if is_possible:
        programs["a"].take(ask, total)
    else:
        with pytest.raises(Disagreement, match="rows by their cards, but counted"):
            programs["a"].take(ask, total)


def test_a_card_makes_no_room_for_more_rows_than_its_member_has() -> None:
    members = _draw_members("abcd")
    total, programs = _count_once(members, dict.fromkeys(members, Released()), claimed=1 << 62)
    ask = programs["a"].ask()
    assert ask is not None
    own = cells_of(auc_spec(3)).add_up(_draw_members("e", 140)["e"])
    own[[0, 1 + int(own[1:].argmax())]] += 1 << 61
    words = total + np.append(own.view(np.uint64), np.zeros(SALT, dtype=np.uint64))
    with pytest.raises(Disagreement, match="members add 260 to 305 rows by their cards"):
        programs["a"].take(ask, words)


def test_cards_of_another_length_are_refused_and_ones_own_is_recognized() -> None:
    world = make_counting_world(0)
    world.run(BAD + 2 * GOOD)
    world.finish()
    me = world.remaining()[0]
    context, state = world.rounds(me).context, world.state(me)
    cards = {place: one for place, one in state.contributions.items() if place[0] == 0}
    other = next(who for who in context.neighbors if (0, who) in cards)
    rounds = Rounds(context, replace(state, contributions={}))
    rounds.start()
    longer = replace(cards[0, other], public=cards[0, other].public + b"0")
    for card, is_kept in ((longer, False), (cards[0, other], True)):
        signed = with_signature(card, SPEC, world.contexts[other].sign)
        rounds.receive(other, encode(signed))
        assert ((0, other) in rounds.state.contributions) == is_kept
    assert rounds.counts[Event.MALFORMED] == 1
    assert Rounds(context, replace(state, contributions=cards)).halt is None
    cards[0, me] = replace(cards[0, me], public=cards[0, me].public[:-1] + b"1")
    halt = Rounds(context, replace(state, contributions=cards)).halt
    assert halt is not None and (halt.reason, halt.detail) == ("version", "its own card")


def test_every_table_has_a_salt_of_its_own() -> None:
    about: tuple[Any, ...] = (b"secret", "spec", "generation", {"a": 1, "b": 2})
    others = [(b"other", *about[1:]), (about[0], "other", *about[2:])]
    others += [(*about[:2], "other", about[3]), (*about[:3], {"a": 1, "b": 3})]
    assert len({masks.draw_salt(*one) for one in (about, *others)}) == 5
    reordered = (*about[:3], {"b": 2, "a": 1})
    assert masks.draw_salt(*reordered) == masks.draw_salt(*about)
