"""Tests of a study's members together: lists, questions, ends, restarts and archives."""

import numpy as np
import pytest

from tests.study.fakes import Node, exchange, found


def ask(node: Node, **facts: object) -> bytes:
    name, actions = node.study.ask("auc", 1, 100, **facts)  # type: ignore[arg-type]
    node.do(actions)
    return name


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


@pytest.mark.parametrize("seed", range(4))
def test_questions_at_once_survive_loss_and_restarts(seed: int) -> None:
    nodes = found(5)
    rng = np.random.default_rng(seed)
    names = [ask(nodes[int(rng.integers(5))]) for _ in range(5)]
    for turn in range(12):
        exchange(nodes, seed=100 * seed + turn, contacts=1, loss=0.4)
        nodes[int(rng.integers(5))].begin()
    exchange(nodes, seed=seed, contacts=4)
    for name in names:
        assert all(name in node.study.archived for node in nodes)
        assert {node.study.archived[name].kind for node in nodes} == {"done"}
        assert len({node.site.finished[name] for node in nodes}) == 1
    assert not any(node.secrets or node.records.keys() & set(names) for node in nodes)
    shown = [one for node in nodes for one in node.site.disclosed]
    assert len({words for _, _, words in shown}) == 5 * len(names)


def test_a_sixth_joins_while_a_question_runs() -> None:
    nodes = found(5)
    for node in nodes[1:]:
        node.site.verdict = node.site.verdict._replace(answer="ask")
    name = ask(nodes[0])
    exchange(nodes)
    for node in nodes[1:]:
        node.do(node.study.accept(name))
    nodes[0].do(nodes[0].study.contact(1))
    sixth = Node(5)
    everybody = [*nodes, sixth]
    for node in nodes:
        node.do(node.study.accept_card(sixth.card))
        sixth.do(sixth.study.accept_card(node.card))
    nodes[3].do(nodes[3].study.propose())
    exchange(everybody, contacts=4)
    assert all(node.study.members.ids == tuple(one.id for one in everybody) for node in everybody)
    assert [node.study.archived[name].kind for node in nodes] == ["done"] * 5
    assert len({node.study.name for node in everybody}) == 1
    line = sixth.study.archived[name]
    assert line.kind == "history"
    assert line.pieces == nodes[0].study.archived[name].pieces
    assert not any(b"statement" in content for content in sixth.old[name])


def test_a_sum_that_would_tell_the_newcomers_rows_is_not_made() -> None:
    nodes = found(3)
    ask(nodes[0])
    exchange(nodes)
    nodes.append(Node(3))
    for node in nodes:
        for other in nodes:
            if node is not other:
                node.do(node.study.accept_card(other.card))
    nodes[0].do(nodes[0].study.propose())
    exchange(nodes)
    name = ask(nodes[1])
    exchange(nodes)
    assert [node.study.archived[name].kind for node in nodes] == ["cannot"] * 4
    assert "site-3 alone" in nodes[0].study.archived[name].because
    assert all(one[0] != name for node in nodes for one in node.site.disclosed)


@pytest.mark.parametrize("who", [0, 3])
def test_no_and_withdrawn_end_a_question_for_all(who: int) -> None:
    nodes = found(5)
    for node in nodes[1:]:
        node.site.verdict = node.site.verdict._replace(answer="ask")
    name = ask(nodes[0])
    exchange(nodes)
    assert all(node.study.question(name).needs_operator for node in nodes[1:])
    if who:
        nodes[who].do(nodes[who].study.refuse(name, "too much"))
    else:
        nodes[who].do(nodes[who].study.withdraw(name, "too much"))
    exchange(nodes)
    kinds = {node.study.archived[name].kind for node in nodes}
    assert kinds == {"no" if who else "withdrawn"}
    assert all(node.site.given_up[name] == ("too much", False) for node in nodes)
    assert not any(node.secrets for node in nodes)


def test_an_expired_question_ends() -> None:
    nodes = found(3)
    nodes[2].site.verdict = nodes[2].site.verdict._replace(answer="ask")
    name = ask(nodes[0])
    exchange(nodes)
    nodes[0].do(nodes[0].study.tick(99))
    assert nodes[0].study.question(name).phase == "asked"
    nodes[0].do(nodes[0].study.tick(100))
    exchange(nodes)
    assert {node.study.archived[name].kind for node in nodes} == {"expired"}


def test_a_restored_backup_adopts_what_it_forgot_and_cannot_contribute() -> None:
    nodes = found(4)
    nodes[3].site.verdict = nodes[3].site.verdict._replace(answer="ask")
    name = ask(nodes[0])
    backup = dict(nodes[1].records), dict(nodes[1].notes)
    exchange(nodes)
    nodes[1].records, nodes[1].notes = dict(backup[0]), dict(backup[1])
    nodes[1].secrets.clear()
    nodes[1].begin()
    nodes[3].do(nodes[3].study.accept(name))
    exchange(nodes)
    assert {node.study.archived[name].kind for node in nodes} == {"cannot"}
    assert nodes[1].study.halted is None
    later = ask(nodes[1])
    exchange(nodes)
    nodes[3].do(nodes[3].study.accept(later))
    exchange(nodes)
    assert {node.study.archived[later].kind for node in nodes} == {"done"}


def test_a_copied_folder_that_says_something_else_stops() -> None:
    nodes = found(4)
    nodes[3].site.verdict = nodes[3].site.verdict._replace(answer="ask")
    name = ask(nodes[0])
    copy = dict(nodes[1].records), dict(nodes[1].notes), dict(nodes[1].secrets)
    exchange(nodes)
    nodes[1].records, nodes[1].notes, nodes[1].secrets = copy
    nodes[1].begin()
    run = nodes[1].study._runs.get(name)
    assert run is None
    exchange([nodes[1]])  # nobody answers
    assert nodes[1].study.questions == ()


def test_the_thousandth_question_costs_what_the_first_did() -> None:
    nodes = found(3)
    sizes, records = [], []
    for _ in range(30):
        for node in nodes:
            node.site.batches += 1
        ask(nodes[0])
        exchange(nodes, contacts=1)
        exchange(nodes, contacts=1)
        nodes[0].do(nodes[0].study.contact(1))
        sizes.append(max(len(one.frame) for one in nodes[0].outbox))
        records.append(len(nodes[0].records))
        nodes[0].outbox.clear()
    assert sizes[-1] == sizes[1]
    assert records[-1] == records[1]
