"""The memory of a process that runs for months: the C library keeps what it could give back."""

from __future__ import annotations

import ctypes
import sys

_ARENA_MAX, _MMAP_THRESHOLD = -8, -3
"""Parameters of glibc's ``mallopt``."""
_HEAPS = 2
"""Heaps for all threads, which are not given back while any thread has something in them."""
_LARGE = 1 << 18
"""Bytes from which on memory is given back when it is freed. Once set, the bound stays; else it
rises to the largest array that was ever freed."""


def limit_memory() -> None:
    """Let the system have large arrays as soon as they are freed, and threads share their heaps."""
    if (set_parameter := _find("mallopt")) is not None:
        set_parameter(_ARENA_MAX, _HEAPS)
        set_parameter(_MMAP_THRESHOLD, _LARGE)


def give_back_memory() -> None:
    """Let the system have what was freed since, such as what reading rows took."""
    if (trim := _find("malloc_trim")) is not None:
        trim(0)


def _find(name: str) -> ctypes._NamedFuncPointer | None:
    """Return a function of the C library; None where it has no such one."""
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
