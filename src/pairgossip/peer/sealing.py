"""Sealing: a frame that only its receiver can open, whoever else gets hold of it.

Every peer has a static X25519 key beside its Ed25519 key, derived from the same secret, so that
there is one file to keep. Its public part is in the peer's certificate, which the peer has signed.
A sender draws another X25519 key whenever it opens its network. From that key and the receiver's
static key follows the key that seals its frames to that receiver, with ChaCha20-Poly1305; the
nonce is a count, so it never comes twice under one key.

Who has sent a frame is not told by the seal but by the signature around it, in
`pairgossip.peer.zenoh_link`.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from pairgossip.peer.certificates import sealing_key_of

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

Agree = Callable[[bytes], bytes]
"""``agree(public_key)``: the secret that the holder of a static key shares with another key."""

KEY_PURPOSE = b"pairgossip sealing key 1"
FRAME_PURPOSE = b"pairgossip sealed frame 1\x00"
PUBLIC_KEY = 32
COUNT = 8
TAG = 16
OVERHEAD = PUBLIC_KEY + COUNT + TAG
"""How many bytes longer a sealed frame is."""
MOST_KEYS = 4
"""Keys remembered of each sender, which has one until it opens its network again."""


def static_key(identity: Ed25519PrivateKey) -> X25519PrivateKey:
    """Return the X25519 key that goes with a peer's Ed25519 key."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    return X25519PrivateKey.from_private_bytes(
        derive(identity.private_bytes_raw(), KEY_PURPOSE, salt=None)
    )


def derive(secret: bytes, purpose: bytes, salt: bytes | None) -> bytes:
    """Return a key of 32 bytes for one purpose; keys for different purposes are unrelated."""
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(SHA256(), PUBLIC_KEY, salt, purpose).derive(secret)


class Sealer:
    """Seals what one peer sends, with a key of its own for each receiver."""

    def __init__(self, me: str) -> None:
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

        self._me = me
        self._key = X25519PrivateKey.generate()
        self._public = self._key.public_key().public_bytes_raw()
        self._counts = itertools.count()
        self._ciphers: dict[str, ChaCha20Poly1305] = {}

    def seal(self, to: str, certificate: str, frame: bytes) -> bytes:
        """Return a frame as only the peer with this id and certificate can read it."""
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

        cipher = self._ciphers.get(to)
        if cipher is None:
            theirs = X25519PublicKey.from_public_bytes(sealing_key_of(certificate))
            cipher = _cipher(self._key.exchange(theirs), self._me, to, self._public)
            self._ciphers[to] = cipher
        count = next(self._counts).to_bytes(COUNT)
        return self._public + count + cipher.encrypt(_nonce(count), frame, None)


class _Known(NamedTuple):
    public: bytes
    cipher: ChaCha20Poly1305


class Opener:
    """Opens what is sealed to one peer."""

    def __init__(self, me: str, agree: Agree) -> None:
        self._me = me
        self._agree = agree
        self._known: dict[str, tuple[_Known, ...]] = {}
        self._knowing = threading.Lock()

    def open(self, sender: str, sealed: bytes) -> bytes | None:
        """Return the frame in what a sender has sealed to this peer; None if there is none."""
        from cryptography.exceptions import InvalidTag

        if len(sealed) < OVERHEAD:
            return None
        public, count = sealed[:PUBLIC_KEY], sealed[PUBLIC_KEY : PUBLIC_KEY + COUNT]
        try:
            cipher = self._cipher_of(sender, public)
            return cipher.decrypt(_nonce(count), sealed[PUBLIC_KEY + COUNT :], None)
        except (InvalidTag, ValueError):  # ValueError: a public key without a shared secret
            return None

    def _cipher_of(self, sender: str, public: bytes) -> ChaCha20Poly1305:
        known = self._known.get(sender, ())
        for one in known:
            if one.public == public:
                return one.cipher
        cipher = _cipher(self._agree(public), sender, self._me, public)
        with self._knowing:
            latest = (_Known(public, cipher), *self._known.get(sender, ()))
            self._known[sender] = latest[:MOST_KEYS]
        return cipher


def _cipher(secret: bytes, sender: str, to: str, public: bytes) -> ChaCha20Poly1305:
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    between = FRAME_PURPOSE + f"{sender}/{to}".encode()
    return ChaCha20Poly1305(derive(secret, between, salt=public))


def _nonce(count: bytes) -> bytes:
    return bytes(12 - COUNT) + count
