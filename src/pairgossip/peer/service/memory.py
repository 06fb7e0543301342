"""Settings of the C library for a process that runs for months, so that it returns free memory."""

from __future__ import annotations

import ctypes
import sys

_ARENA_MAX, _MMAP_THRESHOLD = -8, -3
"""Parameters of glibc's ``mallopt``."""
_MOST_HEAPS = 2
"""Largest number of heaps of all threads; a heap in which a thread has data is not returned."""
_LARGE_ARRAY = 1 << 18
"""Least number of bytes of an array that the system gets back once it is freed. A bound that is set
stays; otherwise it rises to the largest array that was ever freed."""


def limit_memory() -> None:
    """Return large arrays to the system as soon as they are freed, and let threads share heaps."""
    if (set_parameter := _find("mallopt")) is not None:
        set_parameter(_ARENA_MAX, _MOST_HEAPS)
        set_parameter(_MMAP_THRESHOLD, _LARGE_ARRAY)


def give_back_memory() -> None:
    """Return all free memory to the system, such as that of reading rows."""
    if (trim := _find("malloc_trim")) is not None:
        trim(0)


def _find(name: str) -> ctypes._NamedFuncPointer | None:
    """Return a function of the C library; None if it has no such function."""
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
