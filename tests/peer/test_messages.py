"""Messages and records: decoding reverses encoding, and only valid ones are accepted."""

from __future__ import annotations

import hashlib
import math

import hypothesis.strategies as st
import msgspec
import pytest
from hypothesis import given, settings

from pairgossip.peer.links.zenoh_link import signed_part
from pairgossip.peer.protocol import messages
from pairgossip.peer.protocol.events import Event
from pairgossip.peer.protocol.messages import (
    _LARGEST_NUMBER,
    FIRST_GENERATION,
    VERSION,
    Accept,
    AnyMessage,
    BadFrame,
    Growth,
    Hello,
    Notice,
    Offer,
    Record,
    RecordCheck,
    Reject,
    decode,
    encode,
    frame_limit,
    generation_name,
    signed_payload,
    with_signature,
)
from tests.peer.contexts import is_sealed, seal

WHOLE = st.integers(0, _LARGEST_NUMBER)
NAMES = st.one_of(st.just(FIRST_GENERATION), st.text("0123456789abcdef", min_size=72, max_size=72))
"""Names of generations."""
POSITIVE = st.integers(1, _LARGEST_NUMBER)
TEXT = st.text('a\0\n"\\\x7f\xe9\u0301\u4e2d\uffff\U0001f600', max_size=70)
"""Texts with one character of each length and kind, as a table of Unicode takes seconds to make."""
NUMBERS = st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=5).map(tuple)
RECORDS = st.builds(Record, TEXT, st.integers(0, 1 << 40), NAMES, NUMBERS, st.binary(max_size=64))
GROWTHS = st.builds(Growth, TEXT, WHOLE, WHOLE, st.binary(max_size=64))
MESSAGES = st.one_of(
    st.builds(Hello, TEXT, TEXT, NAMES, st.booleans()),
    st.builds(Offer, NAMES, POSITIVE, RECORDS, NUMBERS),
    st.builds(Accept, NAMES, POSITIVE, RECORDS, NUMBERS),
    st.builds(Reject, NAMES, POSITIVE, st.sampled_from(["busy", "member", "stale", "generation"])),
    st.builds(
        Notice,
        NAMES,
        st.lists(TEXT, max_size=3).map(tuple),
        TEXT,
        st.binary(max_size=64),
        st.lists(GROWTHS, max_size=2).map(tuple),
    ),
)


@given(MESSAGES)
def test_a_message_comes_out_as_it_went_in(message: AnyMessage) -> None:
    assert decode(encode(message)) == message


@settings(max_examples=300)
@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_a_bad_frame(frame: bytes) -> None:
    try:
        decode(frame)
    except BadFrame as problem:
        assert problem.event in {Event.MALFORMED, Event.NOT_FINITE, Event.TOO_LONG}


@given(MESSAGES, st.data())
def test_a_frame_cut_short_is_bad(message: AnyMessage, data: st.DataObject) -> None:
    frame = encode(message)
    cut = data.draw(st.integers(0, len(frame) - 1))
    with pytest.raises(BadFrame, match="malformed"):
        decode(frame[:cut])


FIRST, LATER = FIRST_GENERATION, generation_name(2, ("gone",))
RECORD = Record("o" * 64, 1, LATER, (1.0, 2.0), b"s" * 64)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "0",
        "00000001",
        "0" * 9,
        LATER[:-1],
        LATER + "0",
        LATER.upper(),
        LATER[:-1] + "g",
        LATER[:-1] + "\n",
        " " + LATER[1:],
        "\N{FULLWIDTH DIGIT ONE}" + LATER[1:],
        generation_name(1 << 32, ("gone",)),
        0,
        -1,
        1 << 32,
        None,
    ],
)
def test_a_name_that_no_generation_has_is_bad(name: object) -> None:
    for message in (
        Hello("", "", name, True),  # type: ignore[arg-type]
        Notice(name, (), "", b"", ()),  # type: ignore[arg-type]
    ):
        with pytest.raises(BadFrame, match="malformed"):
            decode(encode(message))


def test_a_frame_longer_than_a_run_can_have_is_bad() -> None:
    limit = frame_limit(2, 3)
    longest = Offer(LATER, _LARGEST_NUMBER, RECORD, (1.0,) * 3)
    assert len(encode(longest)) < limit
    with pytest.raises(BadFrame, match="too long"):
        decode(b"\x00" * (limit + 1), limit)


def test_the_longest_text_still_fits() -> None:
    hello = Hello("s" * 64, "x" * (1 << 16), LATER, True)
    assert decode(encode(hello), frame_limit(1, 1)) == hello


KNOWN_VERSIONS = {5: "698e904fecad7661"}


def test_what_is_sent_in_another_way_has_another_version() -> None:
    """Otherwise peers of two versions would agree, and refuse half of each other's messages."""
    record = Record("origin", 3, LATER, (1.5, -2.0), b"s" * 64)
    notice = Notice(LATER, ("gone",), "announcer", b"s" * 64, (Growth("more", 1, 2, b"s" * 64),))
    messages: list[AnyMessage] = [
        Hello("spec", "text", LATER, True),
        Offer(LATER, 7, record, (0.25, 1.0)),
        Accept(LATER, 7, record, (0.25, 1.0)),
        Reject(LATER, 7, "busy"),
        notice,
    ]
    said: list[Record | Growth | Notice] = [record, *notice.grown, notice]
    signed = [signed_payload(one, "spec") for one in said]
    written = [*map(encode, messages), *signed, signed_part("from", "to", VERSION, b"sealed")]
    found = hashlib.sha256(b"".join(written)).hexdigest()[:16]
    assert KNOWN_VERSIONS.get(VERSION) == found, (
        "Something is written differently: count VERSION up in peer/protocol/messages.py, and add "
        f"{VERSION + 1} here with what this test then finds."
    )


ROWS = {"a": 2, "b": 1}


def make_check(calls: list[str] | None = None) -> RecordCheck:
    def verify(member: str, told: bytes, signature: bytes) -> bool:
        if calls is not None:
            calls.append(member)
        return is_sealed(member, told, signature)

    return RecordCheck(verify, "spec", ((0.0, 10.0), (0.0, 1.0)), ROWS)


def sign_record(
    origin: str, row: int, generation: str, value: tuple[float, ...], spec: str = "spec"
) -> Record:
    unsigned = Record(origin, row, generation, value, b"")
    return with_signature(unsigned, spec, lambda told: seal(origin, told))


def make_record(**changes: object) -> Record:
    record = sign_record("a", 1, LATER, (5.0, 1.0))
    return msgspec.structs.replace(record, **changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"origin": "b", "row": 0},
        {"row": 0},
        {"generation": FIRST},
        {"value": (5.0, 0.0)},
        {"signature": b""},
        {"signature": seal("a", b"pairgossip record 2")},
    ],
    ids=str,
)
def test_the_signature_covers_everything(changes: dict[str, object]) -> None:
    record = make_record(**changes)
    assert not make_check().is_sound(record, record.generation)


def test_the_signature_covers_the_specification() -> None:
    record = sign_record("a", 1, LATER, (5.0, 1.0), spec="another")
    assert not make_check().is_sound(record, LATER)


@pytest.mark.parametrize(
    "value",
    [(5.0,), (5.0, 1.0, 1.0), (), (11.0, 1.0), (-1e-9, 1.0), (math.nan, 1.0), (math.inf, 1.0)],
)
def test_a_value_outside_its_range_is_not_sound_even_if_signed(value: tuple[float, ...]) -> None:
    record = sign_record("a", 1, LATER, value)
    assert not make_check().is_sound(record, LATER)


@pytest.mark.parametrize(
    ("origin", "row", "expected"),
    [("a", 0, True), ("a", 1, True), ("a", 2, False), ("a", -1, False), ("c", 0, False)],
)
def test_only_members_rows_are_known(origin: str, row: int, expected: bool) -> None:
    assert make_check().is_member(make_record(origin=origin, row=row)) is expected


def test_what_was_found_genuine_is_not_verified_again() -> None:
    calls: list[str] = []
    check = make_check(calls)
    assert all(check.is_sound(make_record(), LATER) for _ in range(5))
    assert calls == ["a"]
    assert not any(check.is_sound(make_record(signature=b"x"), LATER) for _ in range(2))
    assert len(calls) == 3


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "_MOST_REMEMBERED", 3)
    check = make_check()
    for k in range(10):
        value = (float(k), 0.0)
        record = sign_record("a", 0, FIRST, value)
        assert check.is_sound(record, FIRST)
        assert len(check._genuine) <= 3


def test_reports_are_whole_numbers() -> None:
    check = RecordCheck(is_sealed, "spec", ((0.0, 10.0), (0.0, 1.0)), ROWS, whole=True)
    broken = sign_record("a", 1, LATER, (5.5, 1.0))
    assert check.is_sound(make_record(), LATER)
    assert not check.is_sound(broken, LATER)
    assert make_check().is_sound(broken, LATER)
