"""The signals that stop the process of a peer, and its exit codes."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator

EXIT_FAILED = 1
"""The exit code after a failure that must be repaired; then the peer continues."""
EXIT_UNFIT = 3
"""The exit code of an identity that cannot go on; another start does not help."""


@contextlib.contextmanager
def stop_on_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Let SIGTERM and SIGINT stop the peer."""
    caught = (signal.SIGTERM, signal.SIGINT)
    before = {one: signal.signal(one, lambda *_: stop()) for one in caught}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
