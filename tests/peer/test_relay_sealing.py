"""A relay can stop the frames that it passes on, and do nothing else to them."""

from __future__ import annotations

import itertools
import random
from collections import deque
from collections.abc import Iterator

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from pairgossip.peer.protocol import sealing
from pairgossip.peer.protocol.events import Event
from pairgossip.peer.protocol.messages import VERSION
from pairgossip.peer.protocol.sealing import Received, SealedPair, padded_size

HELLO_SIZE = 131
FUZZED = 100_000


class Holder:
    """A member: its key, and its conversation with each other member."""

    def __init__(self, name: str) -> None:
        self.name, self.key = name, Ed25519PrivateKey.generate()

    def has_signed(self, payload: bytes, signature: bytes) -> bool:
        try:
            self.key.public_key().verify(signature, payload)
        except InvalidSignature:
            return False
        return True

    def start(self, other: Holder) -> SealedPair:
        """Begin as a new process does."""
        return SealedPair(self.name, other.name, self.key.sign, other.has_signed)


@pytest.fixture
def holders() -> tuple[Holder, Holder, Holder]:
    return Holder("a"), Holder("b"), Holder("c")


def pass_on(one: SealedPair, other: SealedPair, content: bytes) -> list[bytes]:
    """Pass something on from one to the other, and all answers; return all messages."""
    said = [content]
    for receiver in (other, one) * 5:
        answer = receiver.receive(said[-1]).answer
        if answer is None:
            return said
        said.append(answer)
    raise AssertionError("they never stop talking")


def frames(pair: SealedPair, content: bytes) -> list[bytes]:
    frame = pair.receive(content).frame
    return [] if frame is None else [frame]


def sealed(pair: SealedPair, frame: bytes) -> bytes:
    content = pair.seal(frame)
    assert content is not None
    return content


def agree(one: Holder, other: Holder) -> tuple[SealedPair, SealedPair]:
    pairs = one.start(other), other.start(one)
    pass_on(*pairs, pairs[0].hello())
    return pairs


def test_three_hellos_give_keys_for_both_ways(holders: tuple[Holder, Holder, Holder]) -> None:
    a, b = holders[0].start(holders[1]), holders[1].start(holders[0])
    assert a.seal(b"x") is None
    said = pass_on(a, b, a.hello())
    assert [len(one) for one in said] == [HELLO_SIZE] * 3
    assert [pair.has_keys for pair in (a, b)] == [True, True]
    for frame in (b"", b"x", b"x" * 100_000):
        assert frames(b, sealed(a, frame)) == [frame]
        assert frames(a, sealed(b, frame)) == [frame]
    # A settled pair has no more messages to send.
    assert b.receive(said[-1]) == Received()


def test_both_may_begin_at_once(holders: tuple[Holder, Holder, Holder]) -> None:
    a, b = holders[0].start(holders[1]), holders[1].start(holders[0])
    under_way = deque([(b, a.hello()), (a, b.hello())])
    for _ in range(20):
        if not under_way:
            break
        to, content = under_way.popleft()
        answer = to.receive(content).answer
        if answer is not None:
            under_way.append((a if to is b else b, answer))
    assert not under_way
    assert frames(b, sealed(a, b"x")) == [b"x"] and frames(a, sealed(b, b"y")) == [b"y"]


def test_lengths_are_powers_of_two(holders: tuple[Holder, Holder, Holder]) -> None:
    a, _ = agree(*holders[:2])
    most = 65_536 - 17 - 4 - 16
    lengths = {0: 65_536, 1: 65_536, most: 65_536, most + 1: 131_072, 200_000: 262_144}
    for length, size in lengths.items():
        assert len(sealed(a, bytes(length))) == padded_size(length) == size


def test_a_frame_is_what_the_description_says(holders: tuple[Holder, Holder, Holder]) -> None:
    """It is opened by hand, with the key that one side has drawn."""
    first, second = holders[:2]
    a, b = first.start(second), second.start(first)
    drawn = a._key
    said = pass_on(a, b, a.hello())
    offered_by_a, offered_by_b = said[0][66:98], said[1][66:98]
    assert said[1][98:130] == offered_by_a and said[2][98:130] == offered_by_b
    secret = drawn.exchange(X25519PublicKey.from_public_bytes(offered_by_b))
    info = b"pairgossip relay keys 1\x00" + b"a/b\x00" + offered_by_a + offered_by_b
    keys = HKDF(SHA256(), 72, None, info).derive(secret)
    content = sealed(a, b"frame")
    assert content[:17] == b"\x01" + keys[64:] + (1).to_bytes(8, "big")
    opened = ChaCha20Poly1305(keys[:32]).decrypt(
        (1).to_bytes(12, "big"), content[17:], content[:17]
    )
    assert opened[:9] == (5).to_bytes(4, "big") + b"frame" and set(opened[9:]) == {0}
    signed = b"pairgossip relay hello 1\x00" + bytes([VERSION]) + b"a/b\x00" + said[0][66:]
    assert first.has_signed(signed, said[0][2:66])


def test_each_frame_counts_once_and_may_be_overtaken(
    holders: tuple[Holder, Holder, Holder],
) -> None:
    a, b = agree(*holders[:2])
    sent = [sealed(a, b"%d" % number) for number in range(100)]
    order = [3, 0, 1, 50, 49, 2, 99, 40]
    assert [frames(b, sent[one]) for one in order] == [[b"%d" % one] for one in order]
    for one in order:
        assert b.receive(sent[one]) == Received(refusal=Event.FRAME_NOT_SEALED)
    # Frames that were overtaken by more than the window count as repeated.
    assert frames(b, sent[36]) == [b"36"] and frames(b, sent[35]) == []


def test_strangers_and_swapped_senders_are_refused(holders: tuple[Holder, Holder, Holder]) -> None:
    a, b, c = holders
    here = a.start(b)
    refused = Received(refusal=Event.FRAME_NOT_SIGNED)
    assert here.receive(c.start(a).hello()) == refused, "c's as if it were b's"
    pretended = SealedPair("b", "a", c.key.sign, a.has_signed)
    assert here.receive(pretended.hello()) == refused, "in b's name"
    assert here.receive(b.start(c).hello()) == refused, "meant for c"
    assert here.receive(here.hello()) == refused, "its own"
    _, from_b = agree(a, b)
    from_a_to_c, _ = agree(a, c)
    assert frames(from_a_to_c, sealed(from_b, b"x")) == []


def test_own_frames_sent_back_are_refused(holders: tuple[Holder, Holder, Holder]) -> None:
    a, b = agree(*holders[:2])
    assert a.receive(sealed(a, b"x")) == Received(refusal=Event.FRAME_NOT_SEALED)
    assert b.receive(sealed(b, b"x")) == Received(refusal=Event.FRAME_NOT_SEALED)


def test_a_relay_cannot_stand_in_the_middle(holders: tuple[Holder, Holder, Holder]) -> None:
    """It replaces the offered keys by its own."""
    a, b, c = holders
    here, there, middle = a.start(b), b.start(a), c.start(a)
    hello = there.hello()
    swapped = hello[:66] + middle.hello()[66:98] + hello[98:]
    assert here.receive(swapped) == Received(refusal=Event.FRAME_NOT_SIGNED)
    assert not here.has_keys


def test_a_restarted_member_gets_new_keys(holders: tuple[Holder, Holder, Holder]) -> None:
    a, before = agree(*holders[:2])
    early, late = sealed(before, b"early"), sealed(before, b"late")
    assert frames(a, early) == [b"early"]
    b = holders[1].start(holders[0])
    # It does not know the former keys, and says so.
    received = b.receive(sealed(a, b"lost"))
    assert received.frame is None and received.refusal is Event.FRAME_NOT_SEALED
    assert received.answer is not None
    pass_on(b, a, received.answer)
    assert frames(b, sealed(a, b"x")) == [b"x"] and frames(a, sealed(b, b"y")) == [b"y"]
    # Frames in transit arrive, and frames that have arrived do not arrive again.
    assert frames(a, late) == [b"late"]
    assert frames(a, early) == frames(a, late) == []
    later = holders[1].start(holders[0])
    pass_on(later, a, later.hello())
    assert frames(a, sealed(before, b"long ago")) == []


def test_old_hellos_do_not_bring_old_keys_back(holders: tuple[Holder, Holder, Holder]) -> None:
    a, old = holders[0].start(holders[1]), holders[1].start(holders[0])
    recorded = pass_on(old, a, old.hello()) + pass_on(old, a, old.hello())
    b = holders[1].start(holders[0])
    recorded += pass_on(b, a, b.hello())
    chance = random.Random(1)
    for content in chance.choices(recorded, k=200):
        assert a.receive(content).frame is None
        b.receive(content)
        assert frames(b, sealed(a, b"x")) == [b"x"] and frames(a, sealed(b, b"y")) == [b"y"]


def test_a_key_without_a_shared_secret_is_refused(holders: tuple[Holder, Holder, Holder]) -> None:
    a, b = holders[:2]
    here, bad = a.start(b), b.start(a)
    bad._offered = bytes(32)
    answer = here.receive(bad.hello()).answer
    assert answer is not None
    forced = bad._make_hello(bytes(32), answer[66:98])
    assert here.receive(forced) == Received(refusal=Event.FRAME_NOT_SEALED)
    assert not here.has_keys


def test_another_version_is_known_for_certain(
    holders: tuple[Holder, Holder, Holder], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = holders[0].start(holders[1]), holders[1].start(holders[0])
    monkeypatch.setattr(sealing, "VERSION", VERSION + 1)
    later = b.hello()
    monkeypatch.undo()
    assert a.receive(later) == Received(None, None, Event.FRAME_OF_OTHER_VERSION, VERSION + 1)
    pretended = later[:1] + bytes([VERSION + 2]) + later[2:]
    assert a.receive(pretended) == Received(refusal=Event.FRAME_NOT_SIGNED)


def spliced(chance: random.Random, genuine: list[bytes]) -> bytes:
    """Return a variant of what was sent, changed in one of several ways."""
    one, other = chance.choices(genuine, k=2)
    match chance.randrange(6):
        case 0:
            return one[: chance.randrange(len(one))]
        case 1:
            return one + chance.randbytes(chance.randrange(1, 40))
        case 2:
            at = chance.choice((1, 2, 9, 17, 66, 98, 130))
            return one[:at] + other[at:]
        case 3:
            at, size = chance.randrange(len(one)), chance.randrange(1, 40)
            return one[:at] + chance.randbytes(size) + one[at + size :]
        case 4:
            return chance.randbytes(chance.randrange(100))
        case _:
            changed = bytearray(one)
            for _ in range(chance.randrange(1, 4)):
                changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
            return bytes(changed)


def test_nothing_that_was_changed_is_accepted(
    holders: tuple[Holder, Holder, Holder], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealing, "_LEAST_PADDED", 256)
    chance = random.Random(35)
    a, b = agree(*holders[:2])
    genuine = [
        content
        for number in range(100)
        for content in (sealed(a, b"%d" % number), sealed(b, b"x"), a.hello(), b.hello())
    ]
    genuine += pass_on(a, b, a.hello())  # so that half of them have the former keys
    known, refusals = set(genuine), set[Event]()
    session = b._session
    for _ in range(FUZZED):
        content = spliced(chance, genuine)
        if content in known:
            continue
        received = b.receive(content)
        assert received.frame is None and received.refusal is not None
        refusals.add(received.refusal)
    assert b._session is session
    assert refusals == {Event.FRAME_NOT_SEALED, Event.FRAME_NOT_SIGNED}
    assert frames(b, sealed(a, b"still")) == [b"still"]


class Network:
    """Two members that send messages through a relay that loses, repeats and delays them."""

    def __init__(self, chance: random.Random, holders: tuple[Holder, Holder, Holder]) -> None:
        self.chance, self.holders = chance, holders[:2]
        self.pairs = [self._start(0), self._start(1)]
        self.under_way: list[tuple[int, bytes]] = []
        self.sealed: tuple[set[bytes], set[bytes]] = set(), set()
        self.opened: tuple[list[bytes], list[bytes]] = [], []
        self._numbers: Iterator[int] = itertools.count()

    def _start(self, who: int) -> SealedPair:
        return self.holders[who].start(self.holders[1 - who])

    def step(self) -> None:
        """Let one random event happen."""
        who = self.chance.randrange(2)
        match self.chance.choices(("send", "hello", "restart", "deliver"), (6, 2, 1, 12))[0]:
            case "send":
                self.send(who)
            case "hello":
                self.under_way.append((1 - who, self.pairs[who].hello()))
            case "restart":
                self.pairs[who] = self._start(who)
            case _ if self.under_way:
                at = self.chance.randrange(len(self.under_way))
                if self.chance.random() < 0.3:
                    self.deliver(*self.under_way[at])  # and once more later
                elif self.chance.random() < 0.5:
                    self.deliver(*self.under_way.pop(at))
                else:
                    self.under_way.pop(at)

    def send(self, who: int) -> bytes:
        frame = b"%d" % next(self._numbers)
        content = self.pairs[who].seal(frame)
        self.under_way.append((1 - who, self.pairs[who].hello() if content is None else content))
        if content is not None:
            self.sealed[who].add(frame)
        return frame

    def deliver(self, to: int, content: bytes) -> None:
        received = self.pairs[to].receive(content)
        if received.frame is not None:
            self.opened[to].append(received.frame)
        if received.answer is not None:
            self.under_way.append((1 - to, received.answer))

    def settle(self) -> None:
        """Deliver everything once, in order."""
        for _ in range(2_000):
            if not self.under_way:
                return
            self.deliver(*self.under_way.pop(0))
        raise AssertionError("they never stop talking")


@pytest.mark.parametrize("seed", range(100))
def test_two_agree_again_whatever_is_lost_repeated_or_overtaken(
    holders: tuple[Holder, Holder, Holder], monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(sealing, "_LEAST_PADDED", 256)
    network = Network(random.Random(seed), holders)
    for _ in range(200):
        network.step()
    network.settle()
    for _ in range(2):  # the first may have to begin again
        for who in (0, 1):
            network.send(who)
            network.settle()
    last = [network.send(who) for who in (0, 1)]
    network.settle()
    assert [opened[-1] for opened in network.opened] == last[::-1]
    for who in (0, 1):
        heard = network.opened[1 - who]
        assert len(set(heard)) == len(heard), "each once"
        assert set(heard) <= network.sealed[who]
