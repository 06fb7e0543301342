"""What others cannot make a member store, whatever they sign, and how members stay in agreement."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from msgspec.structs import replace

from pairgossip.errors import InputError
from pairgossip.study.protocol import pace
from pairgossip.study.protocol.records import (
    AnyRecord,
    Assent,
    Batch,
    MemberList,
    Piece,
    Question,
    Yes,
    digest_of,
    encode,
)
from pairgossip.study.protocol.site import Offer, Reserved
from pairgossip.study.protocol.spreading import Give, encode_frame
from tests.study.fakes import FakeSite, Node, accept_each_other, ask, exchange, found


def forge(node: Node, record: AnyRecord) -> AnyRecord:
    """Let a member sign what its own rules would refuse."""
    return node.study._desk.sign(record)


def give(to: Node, sender: str, records: Iterable[AnyRecord], now: int = 1) -> None:
    frame = encode_frame(Give(tuple(map(encode, records))))
    to.do(to.study.receive(sender, frame, now))


def let_operators_decide(nodes: Iterable[Node]) -> None:
    for node in nodes:
        node.site.verdict = node.site.verdict._replace(answer="ask")


def ask_and_withdraw(nodes: list[Node]) -> bytes:
    name = ask(nodes[0], text="x" * 50_000)
    exchange(nodes, contacts=1)
    nodes[0].do(nodes[0].study.withdraw(name, "never mind"))
    exchange(nodes, contacts=2)
    return name


def test_asking_and_withdrawing_fills_no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "_DAY", 3 * 300)
    nodes = found(3)
    let_operators_decide(nodes[1:])
    names = [ask_and_withdraw(nodes) for _ in range(3)]
    for node in nodes:
        assert sum(len(content) for name in names for content in node.old[name]) < 2_000
    with pytest.raises(InputError, match="others take no more"):
        ask(nodes[0])
    monkeypatch.setattr(nodes[0].study._questions.pace, "allows", lambda *_: True)
    name = ask(nodes[0])
    exchange(nodes)
    assert [node.study.question(name) is None for node in nodes[1:]] == [True] * 2
    question = nodes[0].view(name).question
    give(nodes[1], "m02", [question], now=1 + 300)  # which passes it on five minutes later
    assert nodes[1].view(name).phase == "asked"
    other = ask(nodes[2])
    exchange(nodes)
    assert nodes[1].view(other).phase == "asked"


def test_an_answered_question_costs_nothing_of_the_days_allowance(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pace, "_DAY", 2 * 300)
    nodes = found(3)
    for number in range(5):
        name = ask(nodes[0], text=f"column {number}")
        exchange(nodes)
        assert {node.study.archived[name].kind for node in nodes} == {"done"}


def test_a_member_that_was_away_hears_that_a_question_has_ended_whose_text_is_gone() -> None:
    nodes = found(3)
    let_operators_decide(nodes[1:])
    name = ask(nodes[0])
    exchange(nodes)
    nodes[0].do(nodes[0].study.withdraw(name, "never mind"))
    exchange(nodes[:2])
    assert not any(b"auc" in content for content in nodes[1].old[name])
    nodes[2].begin()
    exchange(nodes[1:])
    assert nodes[2].study.archived[name].kind == "withdrawn"


def test_a_yes_for_rows_that_nobody_was_told_of_is_not_taken() -> None:
    nodes = found(3)
    for node in nodes:
        node.do(node.study.announce(1, 10, bytes(32)))
    let_operators_decide(nodes[1:])
    name = ask(nodes[0])
    exchange(nodes)
    own = next(
        one.record for one in nodes[0].study._desk.store.all_of(name) if one.slot[1] == "yes"
    )
    assert isinstance(own, Yes)
    liar = nodes[2]
    made_up = forge(liar, replace(own, member="m02", pieces=(Piece(7, 10),)))
    give(nodes[1], "m02", [made_up])
    assert nodes[1].view(name).yeses == ("m00",)
    told = forge(liar, Batch(member="m02", number=7, rows=10, commitment=bytes(32)))
    give(nodes[1], "m02", [told, made_up])
    assert nodes[1].view(name).yeses == ("m00", "m02")


@pytest.mark.parametrize("is_there", [True, False])
def test_only_members_that_are_there_are_told_that_the_list_is_another(is_there: bool) -> None:
    nodes = found(5)
    before = nodes[0].study.name
    for node in nodes[:4]:
        node.do(node.study.evict("m04"))
    exchange(nodes[:4])
    asker = nodes[3] if is_there else nodes[4]
    late = forge(asker, Question(member=asker.id, list=before, number=77, text="auc", expires=100))
    give(nodes[0], "m01", [late])
    name = digest_of(late)
    assert (name in nodes[0].study.archived) == is_there
    assert nodes[0].study.question(name) is None or is_there


def make_up_lists(liar: Node, parent: bytes, numbers: Iterable[int]) -> list[AnyRecord]:
    """Return lists of a member and of two invented ones, signed by all of them."""
    made_up = [Node(20), Node(21)]
    signed: list[AnyRecord] = []
    for number in numbers:
        cards = [replace(one.card, name=f"n{number}") for one in (liar, *made_up)]
        new = MemberList(parent, tuple(cards))
        signed += [forge(one, Assent(member=one.id, list=new)) for one in (liar, *made_up)]
    return signed


def test_members_that_are_made_up_sign_nothing() -> None:
    nodes = found(4)
    here = nodes[0].study.name
    give(nodes[0], "m03", make_up_lists(nodes[3], here, range(100)))
    lists = nodes[0].study.lists
    assert len(lists.known) == 1 + 64
    signers = {who for one in lists.known for who in lists.signers(one)}
    assert signers == {node.id for node in nodes}
    batch = forge(Node(20), Batch(member="m20", number=1, rows=10, commitment=bytes(32)))
    give(nodes[0], "m03", [batch])
    assert digest_of(batch) not in nodes[0].records


def test_a_member_that_joins_learns_the_lists_of_those_who_have_left() -> None:
    nodes = found(5)
    nodes[4].do(nodes[4].study.leave())
    exchange(nodes)
    staying, first = nodes[:4], nodes[0].study.name
    new = Node(7)
    accept_each_other([*staying, new])
    staying[0].do(staying[0].study.propose())
    exchange([*staying, new], contacts=5)
    assert new.study.name == first
    assert new.study.lists.exists(first)


def test_a_backup_from_before_a_newcomer_was_accepted_comes_to_the_present_list() -> None:
    """Its own signatures show whom its operator has accepted."""
    nodes = found(4)
    backup = dict(nodes[1].records), dict(nodes[1].notes)
    everybody = [*nodes, Node(4)]
    accept_each_other(everybody)
    nodes[0].do(nodes[0].study.propose())
    exchange(everybody)
    nodes[1].records, nodes[1].notes = backup
    nodes[1].begin()
    assert len(nodes[1].ids) == 4
    exchange(everybody, contacts=5)
    assert {len(node.ids) for node in everybody} == {5}


def test_lists_that_others_took_and_one_did_not_keep_nobody_unsure_after_a_start() -> None:
    """A liar sends one member other lists than the others, so that nobody accepts them."""
    nodes = found(4)
    here, liar = nodes[0].study.name, nodes[3]
    for node, first in zip(nodes, (0, 64, 0), strict=False):
        give(node, "m03", make_up_lists(liar, here, range(first, first + 64)))
    nodes[1].begin()
    with pytest.raises(InputError, match="has not heard from another"):
        nodes[1].study.propose()
    exchange(nodes[:3])
    nodes[1].do(nodes[1].study.propose())  # it has received enough


class CarefulSite(FakeSite):
    """A site that counts a text for only one question at a time, as real sites do with columns."""

    def __init__(self, seed: bytes) -> None:
        super().__init__(seed)
        self.open: dict[str, bytes] = {}

    def offer(self, name: bytes, question: Question) -> Offer:
        rival = self.open.setdefault(question.text, name)
        if rival != name:
            raise Reserved("Another question counts this, too.", rival)
        return super().offer(name, question)

    def finish(self, name: bytes, question: Question, transcript: bytes) -> None:
        super().finish(name, question, transcript)
        self._free(name)

    def give_up(self, name: bytes, because: str, *, is_disclosed: bool) -> None:
        super().give_up(name, because, is_disclosed=is_disclosed)
        self._free(name)

    def _free(self, name: bytes) -> None:
        self.open = {text: one for text, one in self.open.items() if one != name}


@pytest.mark.parametrize("by_hand", [False, True])
def test_of_two_that_are_asked_at_once_the_one_with_the_lower_name_goes_first(
    by_hand: bool,
) -> None:
    nodes = [Node(number, CarefulSite(b"%d" % number)) for number in range(4)]
    accept_each_other(nodes)
    for node in nodes:
        node.do(node.study.propose())
    exchange(nodes)
    if by_hand:
        let_operators_decide(nodes)
    first, second = sorted(ask(node) for node in nodes[:2])
    exchange(nodes)
    for node in nodes if by_hand else ():
        if node.id not in node.view(first).yeses:
            node.do(node.study.accept(first))
    for _ in range(3):
        exchange(nodes)
        for node in nodes:
            node.do(node.study.tick(1))
    exchange(nodes)
    assert {node.study.archived[first].kind for node in nodes} == {"done"}
    line = nodes[2].study.archived[second]
    assert line.kind in ("withdrawn", "no")
    assert "has asked at the same moment for the same columns" in line.because
