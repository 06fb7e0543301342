"""Seeds: every source of randomness of every trial is a numbered child of one seed."""

from __future__ import annotations

import numpy as np
from numpy.random import SFC64, Generator, SeedSequence

from pairgossip.errors import InputError

TRIAL_PROBLEM = 1 << 16
"""The child of a trial's seed for what its problem draws; exchanges and clock have the first."""


def root_seed(seed: int | None) -> SeedSequence:
    """Turn the user's seed into the root; None asks the operating system for a fresh one."""
    if seed is None:
        return SeedSequence()
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InputError(f"The seed must be a whole number >= 0 or None, not {seed!r}.")
    return SeedSequence(int(seed))


def child(seed: SeedSequence, number: int) -> SeedSequence:
    """Return the numbered child; unlike ``SeedSequence.spawn`` it keeps no count of calls."""
    return SeedSequence(entropy=seed.entropy, spawn_key=(*seed.spawn_key, number))


def stream(seed: SeedSequence, number: int) -> Generator:
    """Return a generator on the numbered child. SFC64: the fastest of numpy's for bounded draws."""
    return Generator(SFC64(child(seed, number)))
