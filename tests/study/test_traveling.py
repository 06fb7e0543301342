"""Questions whose rows travel, as the protocol of a study sees them: begun, ended, or left."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from pairgossip.errors import InputError
from pairgossip.peer.protocol.program import Ask, Kind
from pairgossip.study.protocol.records import Question, Yes
from tests.study.fakes import FakeProgram, FakeSite, Node, accept_each_other, ask, exchange


class TravelingProgram(FakeProgram):
    """One sum, then rows travel until this member has enough."""

    has_enough = False
    failure = ""

    def ask(self) -> Ask | None:
        given = super().ask()
        if given is None or given.kind is not Kind.STATEMENT or self.has_enough:
            return given
        if self.failure:
            raise InputError(self.failure)
        return given._replace(kind=Kind.EXCHANGE)


class TravelingSite(FakeSite):
    def make_program(
        self, name: bytes, question: Question, yeses: Mapping[str, Yes]
    ) -> FakeProgram:
        self.programs[name] = TravelingProgram(self.seed + name, self.rounds, self.size)
        return self.programs[name]


def traveling(count: int = 4) -> tuple[list[Node], bytes]:
    nodes = [Node(k, TravelingSite(f"m{k:02}".encode())) for k in range(count)]
    accept_each_other(nodes)
    for one in nodes:
        one.do(one.study.propose())
    exchange(nodes)
    name = ask(nodes[0])
    exchange(nodes)
    assert [one.view(name).phase for one in nodes] == ["rows"] * count
    return nodes, name


def finish(node: Node, name: bytes) -> None:
    node.site.programs[name].has_enough = True  # type: ignore[attr-defined]
    node.do(node.study.go_on(name, 1))


def test_a_question_is_done_once_all_have_enough() -> None:
    nodes, name = traveling()
    for one in nodes[:-1]:
        finish(one, name)
    exchange(nodes)
    assert nodes[0].view(name).awaited == (nodes[-1].id,)
    assert [one.view(name).phase for one in nodes] == ["rows"] * 4
    finish(nodes[-1], name)
    exchange(nodes)
    assert [one.view(name).phase for one in nodes] == ["done"] * 4
    assert all(name in one.site.finished for one in nodes)
    assert [len(one.site.disclosed) for one in nodes] == [1] * 4  # once per question


def test_rows_go_on_traveling_after_a_restart() -> None:
    nodes, name = traveling()
    finish(nodes[1], name)
    exchange(nodes)
    for one in nodes[:2]:
        one.begin()
    exchange(nodes)
    assert [one.view(name).phase for one in nodes] == ["rows"] * 4
    assert nodes[1].id not in nodes[0].view(name).awaited  # signed records stay
    for one in nodes:
        finish(one, name)
    exchange(nodes)
    assert all(name in one.site.finished for one in nodes)


@pytest.mark.parametrize("signed", [0, 2])
def test_any_member_ends_it_while_rows_travel(signed: int) -> None:
    nodes, name = traveling()
    for one in nodes[:signed]:  # also for those that have signed that they have enough
        finish(one, name)
    exchange(nodes)
    nodes[3].do(nodes[3].study.refuse(name, "The board has met."))
    exchange(nodes)
    for one in nodes:
        ending = one.view(name).ending
        assert ending is not None and (ending.kind, ending.who) == ("unfinished", nodes[3].id)
        assert one.site.given_up[name] == ("The board has met.", True)


def test_its_asker_withdraws_it_while_rows_travel() -> None:
    nodes, name = traveling()
    nodes[0].do(nodes[0].study.withdraw(name, "It is enough."))
    exchange(nodes)
    assert all(one.site.given_up[name] == ("It is enough.", True) for one in nodes)


def test_a_member_that_cannot_go_on_ends_it() -> None:
    nodes, name = traveling()
    nodes[2].site.programs[name].failure = "The state is gone."  # type: ignore[attr-defined]
    nodes[2].do(nodes[2].study.go_on(name, 1))
    exchange(nodes)
    assert all(one.site.given_up[name] == ("The state is gone.", True) for one in nodes)


def test_nobody_waits_for_rows_to_let_a_member_go() -> None:
    nodes, name = traveling()
    nodes[3].do(nodes[3].study.leave())
    exchange(nodes)
    assert all(len(one.ids) == 3 for one in nodes[:3])
    assert all(one.site.given_up[name][1] for one in nodes[:3])
