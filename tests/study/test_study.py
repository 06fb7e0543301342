"""Tests of a study's members together: lists, questions, ends, restarts and archives."""

import numpy as np
import pytest

from pairgossip.errors import InputError
from pairgossip.peer.protocol.program import Disagreement
from pairgossip.study.protocol import hearing
from pairgossip.study.protocol.records import Question, digest_of, encode
from pairgossip.study.protocol.spreading import Give, encode_frame
from tests.study.fakes import FakeProgram, Node, accept_each_other, ask, exchange, found


def test_a_question_is_answered_at_all() -> None:
    nodes = found(5)
    name = ask(nodes[1])
    exchange(nodes)
    assert [node.view(name).phase for node in nodes] == ["done"] * 5
    totals = [node.site.programs[name].totals[0] for node in nodes]
    expected = np.zeros(7, dtype=np.uint64)
    for node in nodes:
        program = node.site.make_program(name, node.view(name).question, {})
        asked = program.ask()
        assert asked is not None
        expected += program.contribute(asked)
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
    assert all(node.ids == tuple(one.id for one in everybody) for node in everybody)
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
    assert all(node.view(name).needs_operator for node in nodes[1:])
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
    assert nodes[0].view(name).phase == "asked"
    nodes[0].do(nodes[0].study.tick(100))
    exchange(nodes)
    assert {node.study.archived[name].kind for node in nodes} == {"expired"}
    assert {node.study.archived[name].because for node in nodes} == {
        "It was open until 1970-01-01 00:01 UTC, and not begun when the clock of "
        f"'{nodes[0].card.name}' said 1970-01-01 00:01 UTC."
    }


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
    exchange(nodes[:1])
    exchange(nodes[1:])  # nobody but the first and the third knows the question
    before = dict(nodes[1].records), dict(nodes[1].notes), dict(nodes[1].secrets)
    exchange([nodes[0], nodes[1]])
    assert nodes[1].id in nodes[0].view(name).yeses
    nodes[1].records, nodes[1].notes, nodes[1].secrets = before
    nodes[1].begin()
    give = encode_frame(Give((encode(nodes[0].view(name).question),)))
    nodes[1].do(nodes[1].study.receive(nodes[2].id, give, 1))
    nodes[1].outbox.clear()
    exchange([nodes[0], nodes[1]])
    assert "restored backup" in str(nodes[1].study.halted)
    assert not list(nodes[1].study.contact(1))
    assert [told.event for told in nodes[1].told][-1] == "restored"


def test_rows_announced_by_few_wait_and_block_nobody() -> None:
    nodes = found(4)
    for batch in (1, 2):
        for node in nodes if batch == 1 else nodes[:1]:
            node.do(node.study.announce(batch, 10, bytes(32)))
            node.site.batches = batch
        exchange(nodes)
        name = ask(nodes[1], text=f"column {batch}")
        exchange(nodes)
        line = nodes[2].study.archived[name]
        assert line.kind == "done"
        assert line.pieces == tuple((node.id, 1) for node in nodes)
    for node in nodes[1:3]:
        node.site.batches = 2
        node.do(node.study.announce(2, 10, bytes(32)))
    exchange(nodes)
    name = ask(nodes[1], text="column 2")
    exchange(nodes)
    assert nodes[3].study.archived[name].pieces == (("m00", 2), ("m01", 2), ("m02", 2))


def test_a_newcomer_is_told_apart_only_if_its_operator_lets_it() -> None:
    nodes = found(3)
    for node in nodes:
        node.do(node.study.announce(1, 10, bytes(32)))
    exchange(nodes)
    ask(nodes[0], text="first")
    exchange(nodes)
    new = Node(3)
    everybody = [*nodes, new]
    accept_each_other(everybody)
    new.site.verdict = new.site.verdict._replace(answer="ask")
    nodes[0].do(nodes[0].study.propose())
    exchange(everybody)
    new.do(new.study.announce(1, 10, bytes(32)))
    exchange(everybody)
    waits = ask(nodes[0], text="second")
    exchange(everybody)
    new.do(new.study.accept(waits))
    exchange(everybody)
    assert nodes[0].study.archived[waits].pieces == (("m00", 1), ("m01", 1), ("m02", 1))
    for node in nodes:
        node.site.verdict = node.site.verdict._replace(answer="ask")
    seen = ask(nodes[0], text="third")
    exchange(everybody)
    new.do(new.study.accept(seen, is_visible=True))
    exchange(everybody)
    for node in nodes[1:]:
        node.do(node.study.accept(seen))
    exchange(everybody)
    assert nodes[1].study.archived[seen].pieces[-1] == (new.id, 1)


def test_a_question_that_only_reads_takes_no_yes_and_shows_no_words() -> None:
    nodes = found(3)
    table = ask(nodes[0])
    exchange(nodes)
    shown = [len(node.site.disclosed) for node in nodes]
    name = ask(nodes[1], reads=[table], adds=False)
    exchange(nodes)
    assert [node.study.archived[name].kind for node in nodes] == ["done"] * 3
    assert [len(node.site.disclosed) for node in nodes] == shown
    assert all(name in node.site.finished for node in nodes)
    nodes[2].site.is_broken = True
    broken = ask(nodes[1], reads=[table], adds=False)
    exchange(nodes)
    assert {node.study.archived[broken].kind for node in nodes} == {"cannot"}


def test_who_has_signed_a_result_does_not_take_it_back() -> None:
    """Others may already have all signatures: no member may end what another has finished."""
    nodes = found(3)
    table = ask(nodes[0])
    exchange(nodes)
    name = ask(nodes[1], reads=[table], adds=False)
    with pytest.raises(InputError, match="Too late: this peer has signed the result"):
        nodes[1].study.withdraw(name, "a mistake")
    nodes[1].do(nodes[1].study.tick(10**6))
    assert nodes[1].view(name).phase == "statements"
    exchange(nodes)
    assert [node.study.archived[name].kind for node in nodes] == ["done"] * 3


@pytest.mark.parametrize("problem", [InputError("no source"), Disagreement("other figures")])
def test_who_has_signed_a_result_and_cannot_compute_it_again_does_not_end_it(
    problem: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One member has all signatures; another restarts without its source, or computes otherwise."""
    nodes = found(4)
    table = ask(nodes[0])
    exchange(nodes)
    name = ask(nodes[0], reads=[table], adds=False)
    by_id = {node.id: node for node in nodes}
    asked = list(nodes[0].outbox)
    nodes[0].outbox.clear()
    for send in asked:
        by_id[send.to].do(by_id[send.to].study.receive("m00", send.frame, 1))
    for sender in nodes[1:]:
        signed = [send for send in sender.outbox if send.to == "m00"]
        if sender.id != "m03":
            signed += [send for send in sender.outbox if send.to in ("m01", "m02")]
        sender.outbox.clear()
        for send in signed:
            by_id[send.to].do(by_id[send.to].study.receive(sender.id, send.frame, 1))
    assert nodes[0].study.archived[name].kind == "done"
    assert nodes[1].view(name).awaited == nodes[2].view(name).awaited == ("m03",)

    def fail(*_: object) -> FakeProgram:
        raise problem

    monkeypatch.setattr(nodes[2].site, "make_program", fail)
    nodes[2].begin()
    exchange(nodes[1:3])
    assert name not in nodes[1].study.archived
    exchange(nodes)
    assert [node.study.archived[name].kind for node in nodes] == ["done"] * 4


def test_where_results_differ_who_cannot_sign_again_ends_the_question() -> None:
    nodes = found(3)
    table = ask(nodes[0])
    exchange(nodes)
    nodes[2].site.last_digit = "2"
    name = ask(nodes[0], reads=[table], adds=False)
    first = [send for send in nodes[0].outbox if send.to == "m02"]
    for send in first:
        nodes[2].do(nodes[2].study.receive("m00", send.frame, 1))
    assert nodes[2].view(name).phase == "statements"
    nodes[2].site.is_broken = True
    nodes[2].begin()
    exchange(nodes)
    assert {node.study.archived[name].kind for node in nodes} == {"cannot"}


def test_a_repeat_over_other_rows_is_refused() -> None:
    nodes = found(3)
    first = ask(nodes[0])
    exchange(nodes)
    again = ask(nodes[0], repeats=first)
    exchange(nodes)
    assert nodes[1].study.archived[again].kind == "done"
    for node in nodes:
        node.site.batches = 2
    other = ask(nodes[0], repeats=first)
    exchange(nodes)
    assert {node.study.archived[other].kind for node in nodes} == {"cannot"}


def test_who_falls_silent_after_all_echoes_is_evicted_and_the_question_stays_unfinished() -> None:
    nodes = found(4)
    nodes[3].site.verdict = nodes[3].site.verdict._replace(answer="ask")
    name = ask(nodes[0])
    exchange(nodes)
    nodes[3].site.note_disclosure = _fail  # type: ignore[method-assign, assignment]
    nodes[3].do(nodes[3].study.accept(name))
    exchange(nodes)
    assert [node.view(name).phase for node in nodes] == ["words"] * 4
    for node in nodes[:3]:
        node.do(node.study.evict("m03"))
    exchange(nodes[:3])
    assert [told.sentence for told in nodes[3].told if told.event == "trouble"] == [
        "The disk is full: make room."
    ]
    views = [node.view(name) for node in nodes[:3]]
    assert {view.ending and view.ending.kind for view in views} == {"unfinished"}
    assert all(view.is_disclosed for view in views)
    for _ in range(8):  # it no longer counts toward the cap
        ask(nodes[0], text="other")


def test_words_that_a_backup_lacks_are_waited_for_and_may_have_been_shown() -> None:
    nodes = found(4)
    nodes[3].site.verdict = nodes[3].site.verdict._replace(answer="ask")
    name = ask(nodes[0])
    backup = dict(nodes[1].records), dict(nodes[1].notes)
    exchange(nodes)
    nodes[1].site.note_disclosure = _fail  # type: ignore[method-assign, assignment]
    nodes[3].do(nodes[3].study.accept(name))
    exchange(nodes)
    nodes[1].records, nodes[1].notes = backup
    nodes[1].secrets.clear()
    nodes[1].told.clear()
    nodes[1].begin()
    exchange(nodes, contacts=4)
    assert nodes[1].view(name).is_disclosed
    assert nodes[1].view(name).phase == "words"
    told = [one.sentence for one in nodes[1].told if one.event == "trouble"]
    assert len(told) == 1
    assert "have the others evict it" in told[0]


def _fail(*_: object) -> None:
    raise InputError("The disk is full: make room.")


def test_a_decision_outlives_a_restart_in_which_nobody_answers() -> None:
    nodes = found(3)
    for node in nodes[1:]:
        node.site.verdict = node.site.verdict._replace(answer="ask")
    name = ask(nodes[0])
    exchange(nodes)
    nodes[1].begin()
    nodes[1].do(nodes[1].study.accept(name))
    nodes[1].begin()
    exchange(nodes)
    assert set(nodes[0].view(name).yeses) == {"m00", "m01"}


def test_a_question_at_a_list_that_is_not_the_present_one_is_answered_no() -> None:
    nodes = found(4)
    nodes[3].site.verdict = nodes[3].site.verdict._replace(answer="ask")
    name = ask(nodes[0])
    exchange(nodes)
    new = Node(4)
    everybody = [*nodes, new]
    accept_each_other(everybody)
    nodes[0].do(nodes[0].study.propose())
    exchange(everybody)
    assert {node.study.archived[name].kind for node in nodes} == {"no"}


def test_the_thousandth_question_costs_what_the_first_did() -> None:
    nodes = found(3)
    sizes, records = [], []
    for _ in range(30):
        for node in nodes:
            node.site.batches += 1
        ask(nodes[0])
        exchange(nodes, contacts=2)
        nodes[0].do(nodes[0].study.contact(1))
        sizes.append(max(len(one.frame) for one in nodes[0].outbox))
        records.append(len(nodes[0].records))
        nodes[0].outbox.clear()
    assert sizes[-1] == sizes[1]
    assert records[-1] == records[1]


def test_a_member_that_has_forgotten_what_it_released_is_found_out() -> None:
    nodes = found(3)
    backup = dict(nodes[1].records), dict(nodes[1].notes)
    ask(nodes[0])
    exchange(nodes)
    nodes[1].records, nodes[1].notes = dict(backup[0]), dict(backup[1])
    nodes[1].secrets.clear()
    nodes[1].begin()
    exchange(nodes)
    name = ask(nodes[0], text="other")
    exchange(nodes)
    assert {node.study.archived[name].kind for node in nodes} == {"cannot"}
    because = nodes[2].study.archived[name].because
    assert "has seen more releases of this peer than it remembers" in because
    assert "restored backup" in because


def test_a_folder_that_stopped_for_good_says_nothing_after_a_start_either() -> None:
    nodes = found(4)
    nodes[3].site.verdict = nodes[3].site.verdict._replace(answer="ask")
    name = ask(nodes[0])
    before = dict(nodes[1].records), dict(nodes[1].notes), dict(nodes[1].secrets)
    exchange(nodes)
    said = encode(nodes[0].study.question(name).question)  # type: ignore[union-attr]
    nodes[1].records, nodes[1].notes, nodes[1].secrets = before
    nodes[1].begin()
    yes = nodes[1].study.receive("m00", encode_frame(Give((said,))), 1)
    nodes[1].do(yes)  # a second one, with another key
    nodes[1].outbox.clear()
    exchange(nodes)
    for _ in range(2):
        assert "restored backup" in str(nodes[1].study.halted)
        with pytest.raises(InputError, match="restored backup"):
            nodes[1].study.leave()
        with pytest.raises(InputError, match="restored backup"):
            nodes[1].study.announce(1, 10, bytes(32))
        assert not nodes[1].study.contact(1)
        nodes[1].begin()


def test_a_newcomer_learns_a_long_history_of_one_asker_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nodes = found(3)
    for number in range(20):
        ask(nodes[0], text=f"column {number}")
        exchange(nodes)
    monkeypatch.setattr(hearing, "MOST_OPEN", 1)
    new = Node(3)
    everybody = [*nodes, new]
    accept_each_other(everybody)
    nodes[0].do(nodes[0].study.propose())
    exchange(everybody, contacts=3)
    kinds = [line.kind for line in new.study.archived.values()]
    assert kinds == ["history"] * 20


def test_lines_of_the_archive_are_held_once_and_come_back_after_a_start() -> None:
    nodes = found(3)
    names = [ask(nodes[0], text=f"column {number}") for number in range(3)]
    exchange(nodes)
    nodes[1].site.verdict = nodes[1].site.verdict._replace(answer="no", because="too much")
    names.append(ask(nodes[0]))
    exchange(nodes)
    lines = dict(nodes[0].study.archived)
    assert set(lines) == set(names)
    assert not any("archive" in note for note in nodes[0].study._desk.notes)
    nodes[0].begin()
    assert nodes[0].study.archived == lines
    assert sum(note.startswith("columns/") for note in nodes[0].notes) == 3


def start_again_after_an_echo(nodes: list[Node], name: bytes, rounds: int) -> None:
    """Let m01 start with a changed source after it has echoed, so it cannot show its words."""
    for node in nodes:
        node.site.rounds = rounds
    exchange(nodes)
    nodes[1].site.note_disclosure = _fail  # type: ignore[method-assign, assignment]
    nodes[3].do(nodes[3].study.accept(name))
    exchange(nodes)
    del nodes[1].site.note_disclosure
    nodes[1].site.is_broken = True
    nodes[1].begin()
    exchange(nodes)


def test_who_has_echoed_does_not_end_a_question_as_its_source_has_changed() -> None:
    nodes = found(4)
    nodes[3].site.verdict = nodes[3].site.verdict._replace(answer="ask")
    name = ask(nodes[0])
    start_again_after_an_echo(nodes, name, rounds=1)
    assert {node.view(name).phase for node in nodes} >= {"words"}
    assert not any(node.view(name).ending or node.view(name).lie for node in nodes)
    told = [one.sentence for one in nodes[1].told if one.event == "trouble"]
    assert "The source has changed" in told[-1]
    nodes[1].site.is_broken = False
    exchange(nodes)
    assert {node.study.archived[name].kind for node in nodes} == {"done"}


def test_an_ending_after_a_start_is_about_the_round_after_the_last_echo() -> None:
    nodes = found(4)
    for node in nodes:
        node.site.rounds = 3
    nodes[3].site.note_disclosure = _fail_in_second_round  # type: ignore[method-assign]
    name = ask(nodes[0])
    exchange(nodes)
    assert [node.view(name).awaited for node in nodes[:3]] == [("m03",)] * 3
    nodes[1].site.is_broken = True
    nodes[1].begin()
    exchange(nodes)
    assert nodes[1].study.archived[name].kind == "unfinished"
    del nodes[3].site.note_disclosure
    exchange(nodes)
    assert {node.study.archived[name].kind for node in nodes} == {"unfinished"}
    assert not any(told.event == "lie" for node in nodes for told in node.told)


def _fail_in_second_round(name: bytes, round_: int, words: bytes) -> None:
    if round_ == 2:
        _fail()


@pytest.mark.parametrize("method", ["judge", "offer", "make_program"])
def test_a_mistake_of_a_site_ends_the_question_and_tells_others_no_details(method: str) -> None:
    nodes = found(3)
    setattr(nodes[1].site, method, _stumble)
    name = ask(nodes[0])
    exchange(nodes)
    for node in nodes:
        line = node.study.archived[name]
        assert line.kind == "cannot"
        assert line.because == "This peer has failed to compute it (ValueError)."
    told = [one.sentence for one in nodes[1].told if one.event == "trouble"]
    assert told == ["ValueError('row 7: John')"]


def _stumble(*_: object) -> None:
    raise ValueError("row 7: John")


def test_others_hear_of_a_question_at_once() -> None:
    """Contacts of idle members are half a minute apart."""
    nodes = found(3)
    name = ask(nodes[0])
    for send in list(nodes[0].outbox):
        other = next(one for one in nodes if one.id == send.to)
        other.do(other.study.receive("m00", send.frame, 1))
    assert [one.view(name).yeses[0] for one in nodes] == 3 * ["m00"]


def test_who_is_gone_without_whom_rows_wait_is_named() -> None:
    nodes = found(5)
    for node in nodes:
        node.do(node.study.announce(1, 10, bytes(32)))
    exchange(nodes)
    first = ask(nodes[0])
    exchange(nodes)
    assert nodes[0].view(first).phase == "done"
    nodes[4].do(nodes[4].study.leave())
    exchange(nodes)
    with pytest.raises(InputError) as refused:
        ask(nodes[0], text="gini")
    assert str(refused.value) == (
        "Rows of fewer than 3 members would be added, since those that were counted together with "
        "rows of 'site-4' are counted in no further column without them: wait until 3 members add "
        "rows."
    )


def test_a_question_that_would_wait_for_years_is_answered_no() -> None:
    nodes = found(3)
    with pytest.raises(InputError, match="within a year"):
        nodes[0].study.ask("auc", 1, 1 << 39)
    with pytest.raises(InputError, match="would have expired before it is asked"):
        nodes[0].study.ask("auc", 100, 100)
    unsigned = Question(
        member="m00", list=nodes[0].study.name, number=1, text="auc", expires=1 << 39
    )
    signed = nodes[0].study._desk.sign(unsigned)
    for node in nodes[1:]:
        node.do(node.study.receive("m00", encode_frame(Give((encode(signed),))), 1))
        line = node.study.archived[digest_of(signed)]
        assert line.kind == "no"
        assert "in more than a year" in line.because
