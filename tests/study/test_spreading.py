"""Tests of frames: hostile ones, their allowed costs, and what is withheld from whom."""

from collections.abc import Callable

import numpy as np
import pytest
from msgspec.structs import replace

from pairgossip.study.protocol.records import Question, Yes, decode, digest_of, encode
from pairgossip.study.protocol.site import Send
from pairgossip.study.protocol.spreading import (
    LONGEST_FRAME,
    Give,
    Have,
    Want,
    decode_frame,
    encode_frame,
)
from tests.study.fakes import Node, accept_each_other, ask, exchange, found, verify


def frames_of(node: Node) -> list[bytes]:
    """Return the frames of a contact."""
    node.do(node.study.contact(1))
    frames = [send.frame for send in node.outbox]
    node.outbox.clear()
    return frames


def test_mutated_frames_change_nothing_but_what_signatures_allow() -> None:
    nodes = found(3)
    nodes[1].site.verdict = nodes[1].site.verdict._replace(answer="ask")
    ask(nodes[0])
    exchange(nodes)
    node, rng = nodes[2], np.random.default_rng(1)
    good = [
        *frames_of(nodes[0]),
        encode_frame(Give(tuple(k.content for k in nodes[0].records.values()))),
    ]
    before = dict(node.records)
    for _ in range(3000):
        frame = bytearray(good[int(rng.integers(len(good)))])
        for _ in range(int(rng.integers(1, 5))):
            frame[int(rng.integers(len(frame)))] = int(rng.integers(256))
        cut = int(rng.integers(len(frame))) if rng.random() < 0.2 else len(frame)
        node.do(node.study.receive(nodes[0].id, bytes(frame[:cut]), 1))
    assert node.records == before


@pytest.mark.parametrize("frame", [b"", b"\xc1", b"\x91" * 100_000, bytes(LONGEST_FRAME + 1)])
def test_what_is_no_frame(frame: bytes) -> None:
    assert decode_frame(frame) is None


def test_only_one_record_alone_may_be_longer_than_a_frame() -> None:
    assert decode_frame(encode_frame(Give((bytes(LONGEST_FRAME),)))) is not None
    assert decode_frame(encode_frame(Give((bytes(LONGEST_FRAME), b"")))) is None


def test_answers_between_two_contacts_are_bounded() -> None:
    nodes = found(3)
    nodes[1].site.verdict = nodes[1].site.verdict._replace(answer="ask")
    name, actions = nodes[0].study.ask("x" * 50_000, 1, 100)
    nodes[0].do(actions)
    exchange(nodes)
    greedy = encode_frame(Want(name, (name,), b""))
    answers = [nodes[0].study.receive("m02", greedy, 1) for _ in range(1000)]
    sent = sum(len(one.frame) for answer in answers for one in answer if isinstance(one, Send))
    assert 50_000 < sent < 200_000


def test_strangers_get_nothing() -> None:
    nodes, stranger = found(3), Node(9)
    assert list(nodes[0].study.receive("m09", frames_of(nodes[1])[0], 1)) == []
    nodes[0].do(nodes[0].study.accept_card(stranger.card))
    nodes[0].outbox.clear()
    ask(nodes[0])
    told = [send.frame for send in nodes[0].outbox if send.to == "m09"]
    assert not any(b"question" in frame for frame in told)


def _count(me: str, checked: list[tuple[str, bytes]]) -> Callable[[str, bytes, bytes], bool]:
    def count(certificate: str, payload: bytes, signature: bytes) -> bool:
        checked.append((me, payload))
        return verify(certificate, payload, signature)

    return count


def test_each_signature_is_checked_once() -> None:
    nodes = [Node(number) for number in range(4)]
    checked: list[tuple[str, bytes]] = []
    for node in nodes:
        node.study._desk.keys = node.study._desk.keys._replace(verify=_count(node.id, checked))
    accept_each_other(nodes)
    for node in nodes:
        node.do(node.study.propose())
    ask_at = nodes[0]
    exchange(nodes)
    for _ in range(2):
        for node in nodes:
            node.site.batches += 1
        ask(ask_at)
        exchange(nodes, seed=3, contacts=4, loss=0.3)
    assert len(checked) == len(set(checked)) > 50


def test_nobody_is_made_to_keep_what_is_ahead_or_too_much() -> None:
    nodes = found(3)
    for node in nodes[1:]:
        node.site.verdict = node.site.verdict._replace(answer="ask")
    for _ in range(8):
        ask(nodes[0])
    exchange(nodes)
    assert len(nodes[1].study.questions) == 8
    liar = nodes[0].study._desk
    many = [encode(liar.sign(one)) for one in _forge(nodes[0], 30)]
    nodes[1].do(nodes[1].study.receive("m00", encode_frame(Give(tuple(many))), 1))
    assert len(nodes[1].study.questions) == 8


def _forge(node: Node, count: int) -> list[Question]:
    question = node.study.questions[0].question
    return [replace(question, number=10_000 + k, signature=b"") for k in range(count)]


def test_a_key_that_shares_no_secret_is_refused() -> None:
    nodes = found(3)
    for node in nodes[1:]:
        node.site.verdict = node.site.verdict._replace(answer="ask")
    name = ask(nodes[0])
    exchange(nodes)
    own = next(
        decode(kept.content)
        for kept in nodes[0].records.values()
        if isinstance(decode(kept.content), Yes)
    )
    for key in (bytes(32), bytes([1]) + bytes(31)):
        forged = nodes[1].study._desk.sign(replace(own, member="m01", key=key, signature=b""))
        give = encode_frame(Give((encode(forged),)))
        nodes[2].do(nodes[2].study.receive("m01", give, 1))
        assert digest_of(forged) not in nodes[2].records
    assert nodes[2].view(name).yeses == ("m00",)


def test_have_is_the_only_frame_of_a_quiet_contact() -> None:
    nodes = found(3)
    ask(nodes[0])
    exchange(nodes)
    for node in nodes:
        node.do(node.study.contact(1))
        for send in list(node.outbox):
            message = decode_frame(send.frame)
            assert isinstance(message, Have)
            to = next(one for one in nodes if one.id == send.to)
            assert list(to.study.receive(node.id, send.frame, 1)) == []
        node.outbox.clear()
