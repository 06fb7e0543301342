"""Tests of one question: phases, sums, endings, lies and crashes."""

import numpy as np
import pytest
from msgspec.structs import replace

from pairgossip.peer.protocol.program import Words as Vector
from pairgossip.study.protocol.archive import find_rest
from pairgossip.study.protocol.desk import Store
from pairgossip.study.protocol.records import Digests, Echo, Ending, Words, decode, encode
from tests.study.fakes import FakeSite, Peer, ask_all, deliver

MEMBERS = ("a", "b", "c", "d", "e")


def make_peers(rounds: int = 1) -> list[Peer]:
    sites = [FakeSite(one.encode(), rounds) for one in MEMBERS]
    return [Peer(one, number, sites[number]) for number, one in enumerate(MEMBERS)]


def plain_totals(peers: list[Peer], name: bytes) -> list[Vector]:
    """Return the expected sums, from each member's numbers alone."""
    totals: list[Vector] = []
    program = peers[0].site.programs[name]
    for _ in range(program.rounds):
        total = np.zeros(program.size, dtype=np.uint64)
        for peer in peers:
            fresh = peer.site.make_program(name, peer.run.question, {})
            fresh.totals = list(totals)
            ask = fresh.ask()
            assert ask is not None
            total += fresh.contribute(ask)
        totals.append(total)
    return totals


@pytest.mark.parametrize("rounds", [1, 4])
@pytest.mark.parametrize("seed", range(5))
def test_sums_are_the_plain_sums_bit_for_bit(rounds: int, seed: int) -> None:
    peers = make_peers(rounds=rounds)
    name = ask_all(peers)
    deliver(peers, np.random.default_rng(seed), loss=0.2)
    assert [peer.run.phase for peer in peers] == ["done"] * 5
    found = [peer.site.programs[name].totals for peer in peers]
    expected = plain_totals(peers, name)
    for totals in found:
        assert len(totals) == rounds
        assert all(np.array_equal(one, two) for one, two in zip(totals, expected, strict=True))


@pytest.mark.parametrize("rounds", [1, 3])
def test_members_that_round_otherwise_follow_the_lowest_id(rounds: int) -> None:
    peers = make_peers(rounds=rounds)
    peers[2].site.last_digit = "2"
    name = ask_all(peers)
    deliver(peers, np.random.default_rng(1))
    assert [peer.run.phase for peer in peers] == ["done"] * 5
    assert peers[0].run.round == 2 * rounds + 1
    totals = [peer.site.programs[name].totals[-1] for peer in peers]
    assert all(np.array_equal(one, totals[0]) for one in totals)
    # Words of rounds that were only repeated were not shown to anybody.
    assert {number for _, number, _ in peers[0].site.disclosed} == {
        2 * k for k in range(1, rounds + 1)
    }


def test_an_ending_holds_in_rounds_that_were_repeated() -> None:
    """This also holds for a member that lacks commitments to such a round, which others drop."""
    peers = make_peers()
    peers[2].site.last_digit = "2"
    ask_all(peers)
    for _ in range(2):  # yeses, then commitments, of which the first member lacks the last
        sent = [(peer, content) for peer in peers for content in peer.outbox]
        for peer in peers:
            peer.outbox.clear()
        for peer in peers:
            for sender, content in sent:
                is_kept_back = (peer, sender) == (peers[0], peers[4])
                if not (is_kept_back and peer.run.round):
                    peer.take(content)
    assert [peer.run.round for peer in peers] == [1, 2, 2, 2, 2]
    peers[1].outbox.clear()
    peers[1].carry_out(peers[1].run.end("no", "It is too much."))
    peers[0].take(peers[1].outbox[-1])
    assert peers[0].run.ending is not None and peers[0].run.is_final


def test_members_that_ask_for_something_else_again_and_again_end_it() -> None:
    peers = make_peers()
    peers[2].site.last_digit, peers[2].site.is_stubborn = "2", True
    ask_all(peers)
    deliver(peers, np.random.default_rng(1))
    kinds = {peer.run.ending.kind for peer in peers if peer.run.ending}
    assert kinds == {"cannot"}
    assert not any(peer.site.disclosed for peer in peers)


def test_words_are_saved_and_what_masks_them_is_erased_before_the_digest_is_shown() -> None:
    peers = make_peers(rounds=2)
    ask_all(peers)
    deliver(peers, np.random.default_rng(3))
    for peer in peers:
        secrets: set[str] = set()
        for save in peer.saved:
            kinds = [type(decode(kept.content)).__name__ for kept in save.records]
            secrets |= {one for one, content in save.secrets.items() if content is not None}
            secrets -= {one for one, content in save.secrets.items() if content is None}
            if "Digests" in kinds:
                record = decode(save.records[-1].content)
                assert kinds == ["Words", "Digests"]
                assert not save.records[0].is_shown
                assert {one.partition("-")[2] for one in secrets} == {f"chains-{record.round + 1}"}  # type: ignore[union-attr]


def make_equivocator(peers: list[Peer]) -> tuple[Peer, list[bytes]]:
    """Let a member make a second digest besides its own."""
    liar = peers[4]
    own = liar.run.said("digests", liar.me, 1)[0].record
    other = replace(own, words=bytes(32), signature=b"")
    return liar, [encode(liar.desk.sign(own)), encode(liar.desk.sign(other))]


def test_digests_shown_differently_to_two_halves_end_in_no_words() -> None:
    peers = make_peers()
    ask_all(peers)
    honest = peers[:4]
    yeses = [content for peer in peers for content in peer.outbox]
    for peer in peers:
        peer.outbox.clear()
        for content in yeses:
            peer.take(content)
    liar, (first, second) = make_equivocator(peers)
    for k, peer in enumerate(honest):
        peer.take(first if k < 2 else second)
    liar.outbox.clear()
    deliver(honest, np.random.default_rng(0))
    assert not any(peer.site.disclosed for peer in honest)
    assert all(peer.run.lie is None for peer in honest)  # the halves cannot know yet
    for peer in honest:
        peer.take(first)
        peer.take(second)
    assert {peer.run.ending[:2] for peer in honest if peer.run.ending} == {("lie", "e")}
    assert not any(peer.site.disclosed for peer in honest)


def test_an_ending_beside_an_echo_is_a_lie() -> None:
    peers = make_peers()
    name = ask_all(peers)
    peers[4].carry_out(peers[4].run.proceed())
    deliver(peers[:4], np.random.default_rng(0))
    yeses = list(peers[4].outbox)
    for peer in peers:
        for content in yeses:
            peer.take(content)
    deliver(peers[:4], np.random.default_rng(0))
    liar = peers[4].desk
    echo = Echo(member="e", question=name, round=1, digests=bytes(32))
    ending = Ending(member="e", question=name, kind="cannot", round=1, because="")
    for peer in peers[:4]:
        peer.take(encode(liar.sign(echo)))
        peer.take(encode(liar.sign(ending)))
    assert {peer.run.ending[:2] for peer in peers[:4] if peer.run.ending} == {("lie", "e")}


def test_nothing_ends_it_for_a_member_that_has_shown_its_words() -> None:
    peers = make_peers()
    ask_all(peers)
    deliver(peers, np.random.default_rng(0))
    early = make_peers()[0]
    held = peers[0].desk.store.all_of(peers[0].run.name)
    early.join(peers[0].run.name, peers[0].run.question, MEMBERS)
    content = [one.content for one in held if one.slot[1] not in ("statement", "words")]
    own = [one.content for one in held if one.slot[1] == "words" and one.slot[3] == "a"]
    for known in (*own, *content):
        early.desk.store.add(decode(known))
    early.join(peers[0].run.name, peers[0].run.question, MEMBERS)
    early.run.gone = frozenset("e")
    early.carry_out(early.run.proceed())
    ending = early.run.ending
    assert ending is not None and ending.kind == "unfinished"
    assert not early.run.is_final
    for one in held:
        early.take(one.content)
    assert early.run.phase == "done"


def test_others_words_are_forgotten_of_a_question_that_is_not_finished() -> None:
    store = Store()
    named = {"question": bytes(32), "before": bytes(32), "public": b"", "words": bytes(32)}
    for member in ("a", "b"):
        for round_ in (1, 2):
            store.add(Digests(member=member, round=round_, **named))
        store.add(Words(member=member, question=bytes(32), round=1, words=b"12345678"))
        hidden = Words(member=member, question=bytes(32), round=2, words=b"12345678")
        store.add(hidden, is_shown=False)
    held = store.all_of(bytes(32))
    rest = set(find_rest(held, "a", "unfinished", is_disclosed=True))
    kept = [(one.slot[1:]) for one in held if one.digest not in rest]
    assert kept == [
        ("digests", 1, "a"),  # no commitment to words that no longer exist
        ("words", 1, "a"),
        ("digests", 1, "b"),
        ("digests", 2, "b"),
    ]
