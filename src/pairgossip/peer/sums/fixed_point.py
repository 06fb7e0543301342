"""Numbers within known bounds as whole numbers modulo 2^64, whose sums are exact in any order.

A number x with |x| <= bound travels as round(x / bound 2^bits), below 0 as its complement.
"""

from __future__ import annotations

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.errors import InputError
from pairgossip.peer.protocol.program import Words

_FEWEST_BITS, _MOST_BITS = 32, 52
_WORD = 63
"""How many bits a sum has besides its sign."""


def choose_bits(rows: int) -> int:
    """Return how finely numbers are cut, so that the sum over all members' rows has its place."""
    bits = min(_MOST_BITS, _WORD - rows.bit_length())
    if bits < _FEWEST_BITS:
        most = 2 ** (_WORD - _FEWEST_BITS) - 1
        raise InputError(
            f"All members together have {rows:,} rows, but sums have room for {most:,}: split the "
            "rows into several runs."
        )
    return bits


def encode(numbers: FloatArray, bounds: FloatArray, bits: int, rows: int = 1) -> Words:
    """Add up lines of numbers, shape (m, r), as whole numbers; each is of this many rows."""
    return to_whole(numbers, bounds, bits, rows).sum(axis=0, dtype=np.int64).view(np.uint64)


def to_whole(numbers: FloatArray, bounds: FloatArray | float, bits: int, rows: int = 1) -> IntArray:
    """Return numbers as whole ones, signs included."""
    limit = rows * 2.0**bits
    return np.clip(np.rint(numbers / bounds * 2.0**bits), -limit, limit).astype(np.int64)


def decode(total: Words, bounds: FloatArray, bits: int) -> FloatArray:
    """Return the sum of the numbers."""
    return np.asarray(total.view(np.int64) / 2.0**bits * bounds)
