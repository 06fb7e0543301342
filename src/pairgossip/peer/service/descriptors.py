"""The limit of open files and connections of a process, and strangers who use it up.

Every connection takes a file descriptor, also a stranger's, and no file opens without one. Zenoh
drops connections that stay silent, a few per second. Without a free descriptor it drops none, not
even those that were closed at the other end, and accepts none: only a new session helps.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Sequence
from typing import Protocol

from pairgossip.errors import InputError
from pairgossip.peer.identity.members import Member
from pairgossip.peer.service.log import Log

_RARELY = 60.0
"""Least time in seconds between new sessions that drop strangers, unless descriptors run out."""
_MOST_DESCRIPTORS = 1 << 16
"""Largest useful number of descriptors: with more, memory would run out first."""
_SPARE_DESCRIPTORS = 256
"""Number of descriptors for a peer's own files, and for strangers, who are soon dropped."""
_DESCRIPTORS_PER_NEIGHBOR = 4
"""Number of descriptors per neighbor: both sides may connect, and lost connections may linger."""


class _Network(Protocol):
    """The network that is opened anew, as `ZenohLink`."""

    def reopen(self, neighbors: Sequence[Member]) -> None: ...
    def close(self) -> None: ...


class Crowd:
    """Drops connections of strangers."""

    def __init__(self, network: _Network, log: Log) -> None:
        self._network, self._log = network, log
        self._cleared_at = -_RARELY
        self.clearings = 0
        """The number of new sessions that it has opened."""

    def clear_out(self, neighbors: Sequence[Member], now: float) -> None:
        """Open a new session if strangers crowd this one; raise `InputError` if that fails."""
        descriptors = count_descriptors()
        crowded = is_crowded(descriptors, len(neighbors)) and now - self._cleared_at > _RARELY
        if not crowded and not is_short_of_descriptors(descriptors):
            return
        self._cleared_at = now
        self.clearings += 1
        self._log.warning("too many connections: opening a new session", descriptors=descriptors)
        self._network.reopen(neighbors)
        if is_short_of_descriptors(count_descriptors()):
            self._network.close()  # otherwise none would be left for writing the status
            raise InputError(
                f"Only {descriptor_limit()} files and connections may be open, and nearly "
                "all are: raise the limit (LimitNOFILE= in the unit, or ulimit -n), and see "
                "who connects to this peer's port."
            )


def raise_descriptor_limit() -> None:
    """Let this process open as many descriptors as the system permits."""
    import resource  # only Unix has it

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _MOST_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < most:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def descriptor_limit() -> int:
    """Return the largest number of descriptors that this process may have."""
    import resource  # only Unix has it

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST_DESCRIPTORS if soft == resource.RLIM_INFINITY else soft


def count_descriptors() -> int:
    """Return the number of open descriptors; if they cannot be counted, the limit or 0."""
    try:
        return len(os.listdir("/dev/fd"))
    except OSError as problem:
        return descriptor_limit() if problem.errno in (errno.EMFILE, errno.ENFILE) else 0


def is_short_of_descriptors(count: int) -> bool:
    """Return whether this number of open descriptors leaves too few for a peer."""
    most = descriptor_limit()
    return count >= most - max(most // 8, 16)


def is_crowded(count: int, neighbors: int) -> bool:
    """Return whether this is more than a peer with this number of neighbors can use."""
    return count > _SPARE_DESCRIPTORS + _DESCRIPTORS_PER_NEIGHBOR * neighbors
