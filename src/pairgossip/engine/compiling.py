"""A notice that numba compiles, which takes seconds, once for every kind of run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pairgossip.errors import needed_for_speed


@contextmanager
def noticing_compilation(
    on_start: Callable[[], None], *, everywhere: bool = False
) -> Iterator[None]:
    """Call a function whenever this thread, or any thread, begins to compile inside the block.

    Functions that are compiled already, or stored on disk, are not compiled again.
    """
    with needed_for_speed():
        from numba.core import event
    here = threading.get_ident()

    class Listener(event.Listener):
        """Listens to all threads."""

        def on_start(self, event: event.Event) -> None:
            if everywhere or threading.get_ident() == here:
                on_start()

        def on_end(self, event: event.Event) -> None:
            pass

    with event.install_listener("numba:compile", Listener()):
        yield
