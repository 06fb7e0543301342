"""How a process that runs a peer is asked to end, and how it says why it has ended."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator

EXIT_FAILED = 1
"""Something must be repaired; then the peer goes on where it was."""
EXIT_UNFIT = 3
"""This identity cannot go on; starting it again does not help."""


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
