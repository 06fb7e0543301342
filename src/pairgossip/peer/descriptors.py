"""File descriptors: every connection takes one, a stranger's too, and without one no file opens.

Zenoh drops connections that stay silent, a few per second. Once there is no free descriptor it
drops none of them any more, not even those that were closed at the other end, and accepts nobody:
only a new session helps.
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource

WANTED = 1 << 16
"""More descriptors than this serve nobody: memory would run out first."""
ROOM = 256
"""Descriptors for the peer's own files and for connections of strangers, who are soon dropped."""
PER_NEIGHBOR = 4
"""Both sides may connect, and a connection that was lost may linger."""


def raise_limit() -> None:
    """Let this process have as many descriptors as the system permits it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = WANTED if hard == resource.RLIM_INFINITY else min(hard, WANTED)
    if soft != resource.RLIM_INFINITY and soft < most:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def limit() -> int:
    """Return how many descriptors this process may have."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return WANTED if soft == resource.RLIM_INFINITY else soft


def held() -> int:
    """Return how many descriptors are open; where that cannot be counted, all or none."""
    try:
        return len(os.listdir("/dev/fd"))
    except OSError as problem:
        return limit() if problem.errno in (errno.EMFILE, errno.ENFILE) else 0


def is_short(count: int) -> bool:
    """Whether so many open descriptors leave too few for what a peer does."""
    most = limit()
    return count >= most - max(most // 8, 16)


def is_crowded(count: int, neighbors: int) -> bool:
    """Whether so many are more than a peer with these neighbors has any use for."""
    return count > ROOM + PER_NEIGHBOR * neighbors
