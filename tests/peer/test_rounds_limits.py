"""Rounds of many members, of numbers that no rows have, and of another version."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from pairgossip.peer.protocol import rounds as rounds_module
from pairgossip.peer.protocol.messages import (
    FIRST_GENERATION,
    MOST_ROWS,
    Changes,
    Have,
    Hello,
    Roster,
    Want,
    decode,
    encode,
    next_generation,
)
from pairgossip.peer.protocol.program import Ask, Disagreement, Kind, Program, Words
from pairgossip.peer.protocol.rounds import Rounds, first_sums
from pairgossip.peer.protocol.state import Send
from pairgossip.peer.protocol.summation import Halt
from pairgossip.peer.sums.batches import StatisticsProgram
from pairgossip.peer.sums.programs import Generation
from tests.peer.audit import Violated
from tests.peer.contexts import SPEC, name_of
from tests.peer.sums import Powers, make_world, update_in_first_sum
from tests.peer.test_rounds_liars import TwoFaced
from tests.sums.specs import kernel_spec

ME, NEIGHBOR = name_of(0), name_of(1)


@pytest.mark.parametrize("liar", [0, 4, 5])
def test_a_liar_among_many_is_found(liar: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer does not hold the contributions of all members; those of the last come too."""
    monkeypatch.setattr(rounds_module, "_MOST_SENT", 2)
    world = make_world(6, liars={name_of(liar): TwoFaced})
    with pytest.raises(Violated, match="stands in round"):
        world.finish(120.0)
        world.check_sums()
    honest = [name for name in world.names if name != name_of(liar)]
    assert [world.rounds(name).halt for name in honest] == [Halt("lie", (name_of(liar),))] * 5


def test_where_transcripts_differ_all_members_are_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However few contributions one answer holds; and then all over again."""
    monkeypatch.setattr(rounds_module, "_MOST_SENT", 4)
    world = make_world(6)
    world.finish()
    rounds, neighbor = world.rounds(name_of(0)), name_of(1)
    other = Have(rounds.state.generation, rounds.round, bytes(32), b"", False)
    wanted = []
    for _ in range(4):
        (sent,) = rounds._look_into(neighbor, other)
        assert isinstance(sent, Send) and isinstance(sent.message, Want)
        wanted.append(int.from_bytes(sent.message.members, "little"))
    assert wanted == [0b001111, 0b110000, 0b001111, 0b110000]


class Longer(Powers):
    """The program of another version, with more numbers for the same question."""

    def ask(self) -> Ask | None:
        asked = super().ask()
        return asked if asked is None or asked.kind is not Kind.SUM else asked._replace(words=4)


def test_a_version_with_other_numbers_for_a_question_stops() -> None:
    world, me = make_world(3), name_of(1)

    def longer(program: Program) -> Program:
        assert isinstance(program, Powers)
        return Longer(program.rows)

    update_in_first_sum(world, me, wrap=longer)
    assert world.rounds(me).halt == Halt("version", detail="another number of words")


def test_numbers_that_no_rows_have_are_a_disagreement(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever arithmetic makes of them, the peer must not end of it again and again."""
    spec = kernel_spec("gini", ["a"])
    program = StatisticsProgram(spec, np.array([[0.5]]), Generation({"a": 1}))

    def divide(self: StatisticsProgram, total: Words) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(StatisticsProgram, "_take", divide)
    asked = program.ask()
    assert asked is not None
    with pytest.raises(Disagreement, match="division by zero"):
        program.take(asked, np.zeros(asked.words, dtype=np.uint64))


def test_a_long_notice_can_be_passed_on() -> None:
    """It is no longer than a frame of this run, which may be longer than others."""
    world, me = make_world(3), name_of(0)
    world.finish()
    invented = tuple(f"{number:064d}" for number in range(20_000))
    changes = Changes(evicted=invented)
    notice = world.rounds(me).context.announce(
        next_generation((FIRST_GENERATION,), changes), changes
    )
    rounds = world.rounds(me)
    rounds.state = replace(rounds.state, notice=encode(notice))
    (sent,) = rounds._send_notice(name_of(1))
    assert isinstance(sent, Send) and len(encode(notice)) > 1 << 20
    assert decode(encode(sent.message), 1 << 24) == notice


def fresh_rounds() -> Rounds:
    """One of four peers that has met another and has heard nothing else."""
    world = make_world(4)
    rounds = Rounds(world.contexts[ME], first_sums(2))
    rounds.start()
    rounds.receive(NEIGHBOR, encode(Hello(SPEC, "", FIRST_GENERATION, False)))
    rounds.counts.clear()
    return rounds


OTHER_SETS = [b"", bytes(2), b"\x0f\x00", bytes([0b10000]), bytes([0xFF]), b"\xff" * 10_000]
"""None of them is a set of four members."""


@pytest.mark.parametrize("packed", OTHER_SETS, ids=len)
def test_a_set_of_members_has_a_bit_for_each_and_no_more(packed: bytes) -> None:
    rounds = fresh_rounds()
    for message in (
        Want(FIRST_GENERATION, 0, packed),
        Have(FIRST_GENERATION, 0, rounds.transcript, packed, True),
        Have(FIRST_GENERATION, 1, bytes(32), packed, True),
    ):
        before = rounds.state
        assert rounds.receive(NEIGHBOR, encode(message)) == []
        assert rounds.counts == {"refused: set of other members": 1}
        assert rounds.state is before and rounds._theirs == {}
        rounds.counts.clear()
    assert rounds.receive(NEIGHBOR, encode(Want(FIRST_GENERATION, 0, b"\x0f"))) != []


@pytest.mark.parametrize("packed", OTHER_SETS, ids=len)
def test_a_set_of_another_list_shows_that_lists_differ_and_nothing_else(packed: bytes) -> None:
    rounds = fresh_rounds()
    actions = rounds.receive(NEIGHBOR, encode(Have(FIRST_GENERATION, 0, bytes(32), packed, False)))
    assert [type(one.message) for one in actions if isinstance(one, Send)] == [Roster]
    assert rounds.counts == {"refused: another list of members": 1}
    assert rounds._theirs[NEIGHBOR].held == b"\x00"


def listed(*ids: str) -> tuple[tuple[str, int], ...]:
    return tuple((one, 2) for one in ids)


MANY = listed(*(f"{number:064x}" for number in range(25)))
ROSTERS: dict[str, tuple[tuple[tuple[str, int], ...], bool]] = {
    "one of each": (listed("a", "b", "c"), True),
    "twice as many, and some": (MANY[:24], True),
    "too many": (MANY, False),
    "out of order": (listed("b", "a"), False),
    "one twice": (listed("a", "a"), False),
    "no id": (listed(""), False),
    "a long id": (listed("a" * 65), False),
    "an id that no peer has": (listed("a b\n"), False),
    "no rows": ((("a", 0),), False),
    "more rows than a peer has": ((("a", MOST_ROWS + 1),), False),
}


@pytest.mark.parametrize("case", ROSTERS.values(), ids=ROSTERS)
def test_a_roster_is_a_list_of_members(case: tuple[tuple[tuple[str, int], ...], bool]) -> None:
    rows, is_taken = case
    rounds = fresh_rounds()
    assert rounds.receive(NEIGHBOR, encode(Roster(FIRST_GENERATION, rows))) == []
    assert rounds.other_lists == ({NEIGHBOR: dict(rows)} if is_taken else {})
    assert rounds.counts == ({} if is_taken else {"refused: malformed": 1})
