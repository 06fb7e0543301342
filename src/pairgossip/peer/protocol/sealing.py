"""Frames between two members through a relay, which can stop them but not read or forge them.

The two agree on keys by *hellos*, which each signs with the key of its certificate. A hello offers
a fresh X25519 key, and repeats the key that the other has offered, if one is known:

    A: offers a             B: offers b, for a            A: offers a, for b, settled

Whoever gets a hello for the key it offers itself has the keys of a new session: the secret of both
keys, by HKDF-SHA256 with both names, gives one key for each direction. An offered key serves one
session and is then gone, so no hello of an earlier day counts for anything, and a later thief of a
member's files opens nothing. A hello for any other key, or for none, is answered by one for
the key in it. So both agree again after frames were lost, repeated or overtaken, and after a
restart of either; "settled" says that its sender has the keys, and ends the conversation.

A sealed frame shows its session and its number, both of which the seal covers (ChaCha20-Poly1305,
the number is the nonce). A number counts once; lost frames leave gaps. Frames are padded, so that
their lengths say little. A frame of an unknown session is answered by a hello.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from pairgossip.peer.protocol.events import Event
from pairgossip.peer.protocol.messages import VERSION

_HELLO, _FRAME = 0, 1
"""The kinds of messages: their first byte."""
_HELLO_PURPOSE = b"pairgossip relay hello 1\x00"
"""The prefix of all that hellos sign, so that no other signature is ever taken for one."""
_KEYS_PURPOSE = b"pairgossip relay keys 1\x00"
_KEY, _SIGNATURE, _SESSION, _COUNT, _LENGTH, _TAG = 32, 64, 8, 8, 4, 16
"""The lengths of the parts of hellos and frames, in bytes."""
_NO_KEY = bytes(_KEY)
_SIGNED_AT = 2 + _SIGNATURE
_HELLO_SIZE = _SIGNED_AT + 2 * _KEY + 1
_HEADER = 1 + _SESSION + _COUNT
_LEAST_PADDED = 1 << 16
"""Least number of bytes of a sealed frame; a longer one has the next power of two."""
_WINDOW = 64
"""Number of latest frames that are remembered; an earlier one counts as repeated."""

Sign = Callable[[bytes], bytes]
Verify = Callable[[bytes, bytes], bool]
"""``verify(payload, signature)``: whether the other member has signed this."""


def padded_size(length: int) -> int:
    """Return the number of bytes of a frame of this length once it is sealed."""
    whole = _HEADER + _LENGTH + length + _TAG
    return max(_LEAST_PADDED, 1 << (whole - 1).bit_length())


class Received(NamedTuple):
    """The outcome of a message that a relay has passed on."""

    frame: bytes | None = None
    answer: bytes | None = None
    """The message to send back."""
    refusal: Event | None = None
    other_version: int | None = None
    """The version of the other member's messages, if it is not this one's."""


class _Hello(NamedTuple):
    version: int
    offered: bytes
    for_key: bytes
    """The key of the receiver that it answers; zeros if it answers none."""
    is_settled: bool


class _Session:
    """The keys for both directions, and the numbers of the frames so far."""

    def __init__(self, secret: bytes, ends: bytes, mine: bytes, theirs: bytes, am_first: bool):
        kdf = HKDF(SHA256(), 2 * _KEY + _SESSION, None, _KEYS_PURPOSE + ends)
        derived = kdf.derive(secret)
        keys = derived[:_KEY], derived[_KEY : 2 * _KEY]
        self.name = derived[2 * _KEY :]
        self.mine, self.theirs = mine, theirs
        self._sealing, self._opening = map(ChaCha20Poly1305, keys if am_first else keys[::-1])
        self._sent = self._latest = self._seen = 0

    def is_meant(self, hello: _Hello) -> bool:
        """Return whether a hello is about these keys, which its sender may not have yet."""
        return hello.offered == self.theirs and (hello.for_key == self.mine or not hello.is_settled)

    def seal(self, frame: bytes) -> bytes:
        self._sent += 1
        header = bytes([_FRAME]) + self.name + self._sent.to_bytes(_COUNT)
        size = padded_size(len(frame)) - _HEADER - _TAG
        padded = (len(frame).to_bytes(_LENGTH) + frame).ljust(size, b"\x00")
        return header + self._sealing.encrypt(_nonce(self._sent), padded, header)

    def open(self, content: bytes) -> bytes | None:
        """Return the frame inside; None if the other one has not sealed it, or it is a repeat."""
        header, number = content[:_HEADER], int.from_bytes(content[1 + _SESSION : _HEADER])
        if not self._is_new(number):
            return None
        try:
            padded = self._opening.decrypt(_nonce(number), content[_HEADER:], header)
        except InvalidTag:
            return None
        self._note(number)
        length = int.from_bytes(padded[:_LENGTH])
        frame = padded[_LENGTH : _LENGTH + length]
        return frame if len(frame) == length else None

    def _is_new(self, number: int) -> bool:
        back = self._latest - number
        return back < 0 or (back < _WINDOW and not self._seen >> back & 1)

    def _note(self, number: int) -> None:
        ahead = max(0, number - self._latest)
        self._latest += ahead
        kept = self._seen << ahead if ahead < _WINDOW else 0
        self._seen = (kept | 1 << self._latest - number) & (1 << _WINDOW) - 1


class SealedPair:
    """One member's side of its conversation with another; it sends nothing itself."""

    def __init__(self, me: str, other: str, sign: Sign, verify: Verify) -> None:
        self._me, self._other = me, other
        self._sign, self._verify = sign, verify
        self._draw_key()
        self._session: _Session | None = None
        self._earlier: _Session | None = None
        """The session before, for frames that were under way when the keys changed."""

    @property
    def has_keys(self) -> bool:
        """Whether frames can be sealed."""
        return self._session is not None

    def forget_keys(self) -> None:
        """Drop all keys: the other member has gone, and comes back with new ones."""
        self._session = self._earlier = None

    def hello(self) -> bytes:
        """Return a hello, which begins a new session once the other member answers."""
        return self._make_hello(self._offered, _NO_KEY)

    def seal(self, frame: bytes) -> bytes | None:
        """Return a frame that only the other member can read; None before there are keys."""
        return None if self._session is None else self._session.seal(frame)

    def receive(self, content: bytes) -> Received:
        """Process a message that a relay passes on as the other member's."""
        kind = content[:1]
        if kind == bytes([_HELLO]):
            return self._receive_hello(content)
        if kind != bytes([_FRAME]) or len(content) < _LEAST_PADDED:
            return Received(refusal=Event.FRAME_NOT_SEALED)
        for session in (self._session, self._earlier):
            if session is not None and content[1 : 1 + _SESSION] == session.name:
                frame = session.open(content)
                refusal = Event.FRAME_NOT_SEALED if frame is None else None
                return Received(frame, refusal=refusal)
        return Received(answer=self.hello(), refusal=Event.FRAME_NOT_SEALED)

    def _receive_hello(self, content: bytes) -> Received:
        hello = self._read_hello(content)
        if hello is None:
            return Received(refusal=Event.FRAME_NOT_SIGNED)
        if hello.version != VERSION:
            return Received(None, None, Event.FRAME_OF_OTHER_VERSION, hello.version)
        session = self._session
        if session is None or not session.is_meant(hello):
            if hello.for_key != self._offered:
                return Received(answer=self._make_hello(self._offered, hello.offered))
            try:
                session = self._agree(hello.offered)
            except ValueError:  # a key that no secret can be shared with
                return Received(refusal=Event.FRAME_NOT_SEALED)
        if hello.is_settled:
            return Received()
        return Received(answer=self._make_hello(session.mine, session.theirs, is_settled=True))

    def _agree(self, theirs: bytes) -> _Session:
        """Begin a session with the key offered last, which is then gone."""
        secret = self._key.exchange(X25519PublicKey.from_public_bytes(theirs))
        first, second = sorted([(self._me, self._offered), (self._other, theirs)])
        ends = f"{first[0]}/{second[0]}".encode() + b"\x00" + first[1] + second[1]
        self._earlier = self._session
        self._session = _Session(secret, ends, self._offered, theirs, first[0] == self._me)
        self._draw_key()
        return self._session

    def _draw_key(self) -> None:
        self._key = X25519PrivateKey.generate()
        self._offered = self._key.public_key().public_bytes_raw()

    def _make_hello(self, offered: bytes, for_key: bytes, *, is_settled: bool = False) -> bytes:
        payload = offered + for_key + bytes([is_settled])
        signature = self._sign(_signed_part(self._me, self._other, VERSION, payload))
        return bytes([_HELLO, VERSION]) + signature + payload

    def _read_hello(self, content: bytes) -> _Hello | None:
        """Return a hello of the other member to this one; None for anything else.

        Kind, version and signature keep their places in all versions to come.
        """
        if len(content) <= _SIGNED_AT or len(content) > _LEAST_PADDED:
            return None
        version, payload = content[1], content[_SIGNED_AT:]
        signed = _signed_part(self._other, self._me, version, payload)
        if not self._verify(signed, content[2:_SIGNED_AT]):
            return None
        if version == VERSION and (len(content) != _HELLO_SIZE or payload[-1] > 1):
            return None
        return _Hello(version, payload[:_KEY], payload[_KEY : 2 * _KEY], bool(payload[-1]))


def _signed_part(sender: str, to: str, version: int, payload: bytes) -> bytes:
    return b"%b%c%b/%b\x00%b" % (_HELLO_PURPOSE, version, sender.encode(), to.encode(), payload)


def _nonce(number: int) -> bytes:
    return number.to_bytes(12)
