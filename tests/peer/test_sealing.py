from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from pairgossip.peer.identity.certificates import (
    _MOST_KEYS,
    OVERHEAD,
    Opener,
    Sealer,
    _derive,
    static_key,
)

from .zenoh_people import Person


@pytest.fixture
def people(tmp_path: Path) -> list[Person]:
    return [Person(tmp_path, name) for name in "abc"]


def test_only_the_receiver_opens_what_is_sealed_to_it(people: list[Person]) -> None:
    a, b, c = people
    sealed = Sealer(a.id).seal(b.id, b.certificate, b"frame")
    assert len(sealed) == len(b"frame") + OVERHEAD
    assert b"frame" not in sealed
    assert Opener(b.id, b.agree).open(a.id, sealed) == b"frame"
    assert Opener(c.id, c.agree).open(a.id, sealed) is None
    assert Opener(b.id, c.agree).open(a.id, sealed) is None
    # The receiver also refuses it as sealed by another member, or for another member.
    assert Opener(b.id, b.agree).open(c.id, sealed) is None
    assert Opener(c.id, b.agree).open(a.id, sealed) is None


def test_every_change_is_noticed(people: list[Person]) -> None:
    a, b, _ = people
    sealed = Sealer(a.id).seal(b.id, b.certificate, b"frame")
    opener = Opener(b.id, b.agree)
    for place in range(len(sealed)):
        changed = bytearray(sealed)
        changed[place] ^= 1
        assert opener.open(a.id, bytes(changed)) is None
    for length in range(len(sealed)):
        assert opener.open(a.id, sealed[:length]) is None
    assert opener.open(a.id, bytes(len(sealed))) is None, "a key without a shared secret"
    assert opener.open(a.id, sealed) == b"frame"


def test_no_nonce_comes_twice_under_one_key(people: list[Person]) -> None:
    a, b, c = people
    sealer = Sealer(a.id)
    sealed = [sealer.seal(to.id, to.certificate, b"the same") for _ in range(100) for to in (b, c)]
    assert len({one[: 32 + 8] for one in sealed}) == len(sealed)
    assert len({one[40:] for one in sealed}) == len(sealed)
    assert Sealer(a.id).seal(b.id, b.certificate, b"")[:32] != sealed[0][:32]


def test_few_keys_of_a_sender_are_remembered(people: list[Person]) -> None:
    a, b, c = people
    agreed: list[bytes] = []

    def agree(public: bytes) -> bytes:
        agreed.append(public)
        return b.agree(public)

    opener = Opener(b.id, agree)
    from_c = Sealer(c.id).seal(b.id, b.certificate, b"c")
    opener.open(c.id, from_c)
    first = Sealer(a.id)
    for _ in range(3):
        assert opener.open(a.id, first.seal(b.id, b.certificate, b"x")) == b"x"
    assert len(agreed) == 2, "once for each sender"
    for _ in range(3 * _MOST_KEYS):
        opener.open(a.id, Sealer(a.id).seal(b.id, b.certificate, b"x"))
    assert len(agreed) == 2 + 3 * _MOST_KEYS
    assert opener.open(a.id, first.seal(b.id, b.certificate, b"y")) == b"y"
    assert len(agreed) == 3 + 3 * _MOST_KEYS, "forgotten meanwhile"
    assert opener.open(c.id, from_c) == b"c"
    assert len(agreed) == 3 + 3 * _MOST_KEYS, "one sender does not make others forgotten"


def test_the_static_key_follows_from_the_identity_and_is_another() -> None:
    key = Ed25519PrivateKey.generate()
    static = static_key(key).private_bytes_raw()
    assert static == static_key(key).private_bytes_raw()
    assert static != key.private_bytes_raw()
    assert static != static_key(Ed25519PrivateKey.generate()).private_bytes_raw()


def test_keys_for_different_purposes_are_unrelated() -> None:
    keys = {_derive(b"secret", purpose, salt) for purpose in (b"a", b"b") for salt in (None, b"s")}
    assert len(keys) == 4
