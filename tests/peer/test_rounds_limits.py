"""Rounds of many members, of numbers that no rows have, and of another version."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from pairgossip.peer.protocol import rounds as rounds_module
from pairgossip.peer.protocol.messages import (
    FIRST_GENERATION,
    Changes,
    Have,
    Want,
    decode,
    encode,
    next_generation,
)
from pairgossip.peer.protocol.program import Ask, Disagreement, Kind, Program, Words
from pairgossip.peer.protocol.state import Send
from pairgossip.peer.protocol.summation import Halt
from pairgossip.peer.sums.programs import Generation
from pairgossip.peer.sums.statistics import StatisticsProgram
from tests.peer.audit import Violated
from tests.peer.contexts import name_of
from tests.peer.sums import Powers, make_world, update_in_first_sum
from tests.peer.test_rounds_liars import TwoFaced
from tests.sums.specs import kernel_spec


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
