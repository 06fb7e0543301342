"""Tests of a study's members together: lists, questions, ends, restarts and archives."""

import numpy as np

from tests.study.fakes import Node, exchange, found


def ask(node: Node, **facts: object) -> bytes:
    name, actions = node.study.ask("auc", 1, 100, **facts)  # type: ignore[arg-type]
    node.do(actions)
    return name


def test_members_who_accept_each_other_come_to_one_list() -> None:
    nodes = found(5)
    assert {node.study.name for node in nodes} == {nodes[0].study.members.digest}
    assert nodes[0].study.members.ids == tuple(node.id for node in nodes)


def test_a_question_is_answered_at_all() -> None:
    nodes = found(5)
    name = ask(nodes[1])
    exchange(nodes)
    assert [node.study.question(name).phase for node in nodes] == ["done"] * 5
    totals = [node.site.programs[name].totals[0] for node in nodes]
    expected = np.zeros(7, dtype=np.uint64)
    for node in nodes:
        program = node.site.make_program(name, node.study.question(name).question, {})
        expected += program.contribute(program.ask())
    assert all(np.array_equal(one, expected) for one in totals)
    assert not any(node.secrets for node in nodes)
