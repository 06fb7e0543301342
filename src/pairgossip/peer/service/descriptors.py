"""File descriptors: every connection takes one, a stranger's too, and without one no file opens.

Zenoh drops connections that stay silent, a few per second. Once no descriptor is free it drops
none any more, not even those that were closed at the other end, and accepts nobody: only a new
session helps.
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource

WANTED = 1 << 16
"""More descriptors than this are useless: memory would run out first."""
ROOM = 256
"""Descriptors for the peer's own files and for strangers' connections, which are soon dropped."""
PER_NEIGHBOR = 4
"""Both sides may connect, and a connection that was lost may linger."""


def raise_limit() -> None:
    """Let this process open as many descriptors as the system permits."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = WANTED if hard == resource.RLIM_INFINITY else min(hard, WANTED)
    if soft != resource.RLIM_INFINITY and soft < most:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def limit() -> int:
    """Return how many descriptors this process may have."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return WANTED if soft == resource.RLIM_INFINITY else soft


def count_open() -> int:
    """Return how many descriptors are open; all or none where they cannot be counted."""
    try:
        return len(os.listdir("/dev/fd"))
    except OSError as problem:
        return limit() if problem.errno in (errno.EMFILE, errno.ENFILE) else 0


def is_short(count: int) -> bool:
    """Return whether this many open descriptors leave too few for what a peer does."""
    most = limit()
    return count >= most - max(most // 8, 16)


def is_crowded(count: int, neighbors: int) -> bool:
    """Return whether these are more than a peer with this number of neighbors can use."""
    return count > ROOM + PER_NEIGHBOR * neighbors
