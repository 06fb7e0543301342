"""How a process that runs a peer is asked to end."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator


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
