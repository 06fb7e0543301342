"""Masks that hide a member's numbers and cancel in the sum over all members.

Any two members share a secret. Each round makes a stream of words of it; the one with the lower id
adds the stream to its numbers, the other subtracts it. Whoever lacks one of a member's secrets
cannot tell its numbers in a round from random words: that takes all other members together. Sums of
two generations that differ by one member tell that member's numbers, masks or not.

A mask must never hide two different vectors, whose difference it would show. So its stream is made
for a transcript and a question: the digest of the list of members, of the digests of their rows, of
all that was contributed in the rounds before, and of what the round asks for. Other rows, other
sums so far, or a question that is off by a rounding, have another mask. Masks of members that ask
differently do not cancel, so that nobody learns such a sum.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping

import msgspec
import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from pairgossip.peer.protocol.program import Words

_MASK = b"pairgossip mask 2\x00"
_SALT = b"pairgossip salt 1\x00"
_NONCE = bytes(16)
"""Each key makes one stream, so that one nonce is enough."""


def mask(me: str, secrets: Mapping[str, bytes], asked: bytes, words: int) -> Words:
    """Return the mask of one member for a round; ``secrets`` are shared with the others by id.

    ``asked`` is the digest of transcript and question.
    """
    total = np.zeros(words, dtype=np.uint64)
    for other, secret in secrets.items():
        stream = _stream(secret, asked, min(me, other), max(me, other), words)
        if me < other:
            total += stream
        else:
            total -= stream
    return total


def _stream(secret: bytes, asked: bytes, low: str, high: str, words: int) -> Words:
    info = _MASK + low.encode() + b"/" + high.encode()
    key = HKDF(SHA256(), 32, salt=asked, info=info).derive(secret)
    stream = Cipher(ChaCha20(key, _NONCE), mode=None).encryptor().update(bytes(8 * words))
    return np.frombuffer(stream, dtype="<u8").astype(np.uint64, copy=False)


def commit(secret: bytes, rows: bytes) -> bytes:
    """Return what a member says of its rows: other rows have another, and it tells nothing else."""
    return hmac.digest(secret, rows, hashlib.sha256)


def draw_salt(secret: bytes, spec: str, generation: str, members: Mapping[str, int]) -> bytes:
    """Return a member's part of the salt of a table: the same again, and known to nobody else."""
    about = msgspec.msgpack.encode((spec, generation, sorted(members.items())))
    return hmac.digest(secret, _SALT + about, hashlib.sha256)


def pack(words: Words) -> bytes:
    """Write words as they travel."""
    return words.astype("<u8").tobytes()


def add_up(contributions: Iterable[bytes], words: int) -> Words:
    """Add contributions of this length modulo 2^64."""
    total = np.zeros(words, dtype=np.uint64)
    for packed in contributions:
        total += np.frombuffer(packed, dtype="<u8")
    return total
