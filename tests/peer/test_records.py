"""Records: what a signature covers, and what a check lets pass."""

from __future__ import annotations

import math

import msgspec
import pytest

from pairgossip.peer.protocol import messages
from pairgossip.peer.protocol.messages import Record, RecordCheck, signed_payload, with_signature
from tests.peer.contexts import is_sealed, seal

ROWS = {"a": 2, "b": 1}


def make_check(calls: list[str] | None = None) -> RecordCheck:
    def verify(member: str, told: bytes, signature: bytes) -> bool:
        if calls is not None:
            calls.append(member)
        return is_sealed(member, told, signature)

    return RecordCheck(verify, "spec", ((0.0, 10.0), (0.0, 1.0)), ROWS)


def sign_record(
    origin: str, row: int, generation: int, value: tuple[float, ...], spec: str = "spec"
) -> Record:
    unsigned = Record(origin, row, generation, value, b"")
    return with_signature(unsigned, spec, lambda told: seal(origin, told))


def make_record(**changes: object) -> Record:
    record = sign_record("a", 1, 3, (5.0, 1.0))
    return msgspec.structs.replace(record, **changes)


def test_a_signed_record_is_sound() -> None:
    assert make_check().is_sound(make_record(), 3)


@pytest.mark.parametrize(
    "changes",
    [
        {"origin": "b", "row": 0},
        {"row": 0},
        {"generation": 4},
        {"value": (5.0, 0.0)},
        {"signature": b""},
        {"signature": seal("a", b"pairgossip record 1")},
    ],
    ids=str,
)
def test_the_signature_covers_everything(changes: dict[str, object]) -> None:
    record = make_record(**changes)
    assert not make_check().is_sound(record, record.generation)


def test_the_signature_covers_the_specification() -> None:
    record = sign_record("a", 1, 3, (5.0, 1.0), spec="another")
    assert not make_check().is_sound(record, 3)


def test_a_record_of_another_generation_is_not_sound() -> None:
    assert not make_check().is_sound(make_record(), 4)


@pytest.mark.parametrize(
    "value",
    [(5.0,), (5.0, 1.0, 1.0), (), (11.0, 1.0), (-1e-9, 1.0), (math.nan, 1.0), (math.inf, 1.0)],
)
def test_a_value_outside_its_range_is_not_sound_even_if_signed(value: tuple[float, ...]) -> None:
    record = sign_record("a", 1, 3, value)
    assert not make_check().is_sound(record, 3)


@pytest.mark.parametrize(
    ("origin", "row", "expected"),
    [("a", 0, True), ("a", 1, True), ("a", 2, False), ("a", -1, False), ("c", 0, False)],
)
def test_only_members_rows_are_known(origin: str, row: int, expected: bool) -> None:
    assert make_check().is_member(make_record(origin=origin, row=row)) is expected


def test_what_was_found_genuine_is_not_verified_again() -> None:
    calls: list[str] = []
    check = make_check(calls)
    assert all(check.is_sound(make_record(), 3) for _ in range(5))
    assert calls == ["a"]
    assert not any(check.is_sound(make_record(signature=b"x"), 3) for _ in range(2))
    assert len(calls) == 3


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "_MOST_REMEMBERED", 3)
    check = make_check()
    for k in range(10):
        value = (float(k), 0.0)
        record = sign_record("a", 0, 0, value)
        assert check.is_sound(record, 0)
        assert len(check._genuine) <= 3


def test_a_payload_says_what_it_is_for() -> None:
    assert signed_payload(make_record(), "spec").startswith(b"pairgossip record 1\x00")


def test_reports_are_whole_numbers() -> None:
    check = RecordCheck(is_sealed, "spec", ((0.0, 10.0), (0.0, 1.0)), ROWS, whole=True)
    broken = sign_record("a", 1, 3, (5.5, 1.0))
    assert check.is_sound(make_record(), 3)
    assert not check.is_sound(broken, 3)
    assert make_check().is_sound(broken, 3)
