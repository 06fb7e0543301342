"""Tests of records: canonical bytes, names, slots."""

import msgspec
import numpy as np
import pytest

from pairgossip.study.protocol.records import (
    NO_DIGEST,
    BadRecord,
    Batch,
    Ending,
    Question,
    Yes,
    decode,
    digest_of,
    encode,
    slot_of,
)

ONE, TWO = bytes([1] * 32), bytes([2] * 32)
QUESTION = Question(member="a", list=ONE, number=1, text="auc", expires=9)
YES = Yes(
    member="a",
    question=ONE,
    list=TWO,
    disclosure=ONE,
    commitment=ONE,
    pieces=((1, 10),),  # type: ignore[arg-type]
    key=ONE,
    seen={"b": 1},
)


@pytest.mark.parametrize("record", [QUESTION, YES])
def test_records_come_back_from_their_bytes(record: Question) -> None:
    assert encode(decode(encode(record))) == encode(record)


def test_another_signature_makes_no_other_record() -> None:
    signed = msgspec.structs.replace(QUESTION, signature=b"1" * 64)
    assert digest_of(signed) == digest_of(QUESTION)
    assert digest_of(msgspec.structs.replace(QUESTION, text="tau")) != digest_of(QUESTION)


def test_a_member_may_say_later_that_totals_are_visible_and_nothing_else() -> None:
    first = Batch(member="a", number=1, rows=10, commitment=ONE)
    other = msgspec.structs.replace(first, commitment=TWO)
    visible = msgspec.structs.replace(first, totals_visible=True)
    assert slot_of(first) == slot_of(other) != slot_of(visible)


@pytest.mark.parametrize("change", range(300))
def test_bytes_that_are_no_record_are_refused(change: int) -> None:
    rng = np.random.default_rng(change)
    content = bytearray(encode(YES))
    for _ in range(int(rng.integers(1, 4))):
        content[int(rng.integers(len(content)))] = int(rng.integers(256))
    try:
        assert encode(decode(bytes(content))) == bytes(content)
    except BadRecord as problem:
        assert str(problem)


def test_two_encodings_of_one_record_are_not_both_taken() -> None:
    as_map = msgspec.msgpack.encode(["ending", "a", b"", ONE, "no", 1.0, "because"])
    right = Ending(member="a", question=ONE, kind="no", round=1, because="because")
    assert decode(encode(right)) == right
    with pytest.raises(BadRecord):
        decode(as_map)
    with pytest.raises(BadRecord):
        decode(encode(right).replace(b"\x01\xa7because", b"\xcc\x01\xa7because"))
    assert NO_DIGEST != ONE
