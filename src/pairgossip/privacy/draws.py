"""Whole numbers drawn exactly, in blocks: no floating point decides what is reported."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng
from numpy.typing import NDArray

from pairgossip.errors import InputError

Words = NDArray[np.uint64]
Bytes = Callable[[int], bytes]
"""Gives so many random bytes."""

BLOCK = 2**16
"""Numbers drawn at a time: 1 MB of random bytes."""
WORD = 2**64


def byte_source(source: Generator | None) -> Bytes:
    """Return where bytes come from: the operating system's secure source, or a generator."""
    if source is None:
        return os.urandom
    if not isinstance(source, Generator):
        raise InputError(
            f"The source of randomness is None (the operating system's secure source) or, for "
            f"simulations, a numpy Generator, not {type(source).__name__}."
        )
    return source.bytes


class TrialProblem(Protocol):
    """A problem that every trial draws reports for."""

    seeded: bool
    """Whether from the trial's seed, which is repeatable, or from the operating system."""


def trial_source(problem: TrialProblem, seed: SeedSequence) -> Generator | None:
    """Return what a trial draws its reports from."""
    return default_rng(seed) if problem.seeded else None


def uniform_below(limit: int, count: int, draw: Bytes) -> tuple[Words, Words]:
    """Draw uniform numbers from 0 to limit - 1, as their high and low words of 64 bits.

    Numbers of as many bits as the limit needs are drawn, and those that are too large are drawn
    again, so that every number is exactly equally likely. The limit is at most 2^128.
    """
    largest = limit - 1
    bits = largest.bit_length()
    high_mask = np.uint64((1 << max(0, bits - 64)) - 1)
    low_mask = np.uint64((1 << min(64, bits)) - 1)
    last_high, last_low = np.uint64(largest // WORD), np.uint64(largest % WORD)
    high, low = np.empty(count, dtype=np.uint64), np.empty(count, dtype=np.uint64)
    done = 0
    while done < count:
        wanted = min(BLOCK, count - done)
        words = np.frombuffer(draw(16 * wanted), dtype="<u8").reshape(wanted, 2)
        upper, lower = words[:, 0] & high_mask, words[:, 1] & low_mask
        kept = (upper < last_high) | ((upper == last_high) & (lower <= last_low))
        end = done + int(kept.sum())
        high[done:end], low[done:end] = upper[kept], lower[kept]
        done = end
    return high, low
