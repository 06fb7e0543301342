"""Where what is new is posted, and viewers pick it up at their own pace.

Whoever posts never waits: a viewer that is slow finds only the newest message of every kind when
it is ready for more, and one that comes late is first told all that has been.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable

HEARTBEAT_SECONDS = 5.0
Opening = Callable[[], list[bytes]]


class _Viewer:
    """Woken from another thread when there is news."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.news = asyncio.Event()

    def wake(self) -> None:
        # The viewer's loop may have ended meanwhile.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self.news.set)


class Board:
    """The newest message of every kind, and who waits for the next.

    Without an `opening` of its own, the newest of every kind is all that a late viewer needs.
    """

    def __init__(self, opening: Opening | None = None) -> None:
        self._opening = opening
        self._lock = threading.Lock()
        self._slots: dict[str, tuple[int, bytes]] = {}
        self._viewers: set[_Viewer] = set()
        self._closed = False

    @property
    def is_watched(self) -> bool:
        """Whether anybody looks on."""
        return bool(self._viewers)

    def post(self, kind: str, message: bytes, *, only_if_new: bool = False) -> None:
        """Replace the message of a kind; from any thread."""
        with self._lock:
            version, before = self._slots.get(kind, (0, b""))
            if only_if_new and message == before:
                return
            self._slots[kind] = (version + 1, message)
        self._wake_all()

    def close(self) -> None:
        """Let every viewer go."""
        self._closed = True
        self._wake_all()

    async def messages(self, on_join: Callable[[], None] = lambda: None) -> AsyncIterator[bytes]:
        """Yield what has been, then whatever is posted, until the board is closed."""
        viewer = _Viewer()
        seen: dict[str, int] = {}
        with self._lock:
            self._viewers.add(viewer)
            if self._opening is not None:
                seen = {kind: version for kind, (version, _) in self._slots.items()}
        try:
            on_join()
            for message in self._opening() if self._opening else ():
                yield message
            while not self._closed:
                viewer.news.clear()
                with self._lock:
                    slots = list(self._slots.items())
                for kind, (version, message) in slots:
                    if version != seen.get(kind):
                        seen[kind] = version
                        yield message
                try:
                    await asyncio.wait_for(viewer.news.wait(), HEARTBEAT_SECONDS)
                except TimeoutError:
                    yield b": still here\n\n"
        finally:
            with self._lock:
                self._viewers.discard(viewer)

    def _wake_all(self) -> None:
        with self._lock:
            viewers = list(self._viewers)
        for viewer in viewers:
            viewer.wake()
