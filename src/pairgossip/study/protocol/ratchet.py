"""Masks that hide a member's numbers, from keys that are erased as soon as they are used.

Each yes brings a fresh X25519 key. Once all have said yes, any two members derive a chain from the
shared secret of their two keys and the transcript, which includes all yeses: so no two questions
have a chain in common, nor two views of one question. Each round draws its mask from the chain, and
the chain of the next round takes its place. The key is erased once the chains exist, and a chain
once its words are on the disk; nothing that is stolen later leads back to a mask.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from pairgossip.peer.protocol.program import Words

_KEY = 32
_CHAIN = b"pairgossip study chain 1\x00"
_MASK = b"pairgossip study mask 1\x00"
_NEXT = b"pairgossip study next 1\x00"
_NONCE = bytes(16)
"""Each key makes one stream, so one nonce is enough."""
_ANY = X25519PrivateKey.from_private_bytes(bytes(range(_KEY)))

Chains = dict[str, bytes]
"""A member's chains, by the other member's id."""


def public_key(private: bytes) -> bytes:
    """Return the public key of a private one."""
    return X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()


def is_usable(public: bytes) -> bool:
    """Return whether a key gives a shared secret; with one of low order everybody knows it."""
    try:
        _ANY.exchange(X25519PublicKey.from_public_bytes(public))
    except ValueError:
        return False
    return True


def derive_chains(
    me: str, private: bytes, publics: Mapping[str, bytes], transcript: bytes
) -> Chains:
    """Return the chains of the first round; ``publics`` are the others' keys by id."""
    key = X25519PrivateKey.from_private_bytes(private)
    return {
        other: _derive(
            key.exchange(X25519PublicKey.from_public_bytes(public)),
            _CHAIN + min(me, other).encode() + b"/" + max(me, other).encode(),
            transcript,
        )
        for other, public in publics.items()
    }


def advance(chains: Chains, round_: int) -> Chains:
    """Return the chains of the next round; they do not lead back to these."""
    return {other: _derive(chain, _NEXT + _name(round_)) for other, chain in chains.items()}


def mask(me: str, chains: Chains, round_: int, words: int) -> Words:
    """Return a member's mask for a round: masks of all members add up to 0.

    The member with the lower id adds the stream of a pair, the other subtracts it.
    """
    total = np.zeros(words, dtype=np.uint64)
    for other, chain in chains.items():
        stream = _stream(_derive(chain, _MASK + _name(round_)), words)
        total += stream if me < other else -stream
    return total


def _name(round_: int) -> bytes:
    return round_.to_bytes(4, "big")


def _stream(key: bytes, words: int) -> Words:
    stream = Cipher(ChaCha20(key, _NONCE), mode=None).encryptor().update(bytes(8 * words))
    return np.frombuffer(stream, dtype="<u8").astype(np.uint64, copy=False)


def _derive(secret: bytes, info: bytes, salt: bytes | None = None) -> bytes:
    return HKDF(SHA256(), _KEY, salt, info).derive(secret)
