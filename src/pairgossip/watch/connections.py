"""Connections that hold a place without using it are cut, so that honest viewers find one.

A request that never ends, or an answer that is never read, costs its sender nothing. Each has a
deadline here, and where no place is left, whoever has been asking the longest makes room.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_CONNECTIONS = 256
CROWDED = 128
"""From so many on, each that comes takes the place of one that is still asking; the rest of the
places is for those that have asked, and for what takes a moment to end."""
CHECK_SECONDS = 1.0
HEAD_SECONDS = 10.0
"""By then a request's head has arrived."""
BODY_SECONDS = 60.0
"""By then its body has."""
UNREAD_SECONDS = 30.0
"""Whoever takes no byte of an answer for so long does not read it."""


class PromptProtocol(H11Protocol):
    """HTTP with deadlines: for asking, and for taking the answer."""

    _timer: asyncio.TimerHandle | None = None
    _waits_for: tuple[Any, ...] = ()
    _since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Find a place for a connection, and start its clock."""
        super().connection_made(transport)
        self._since = self.loop.time()
        if len(self.connections) >= CROWDED:
            self._make_room()
        self._check()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    @property
    def is_asking(self) -> bool:
        """Whether its request is not complete, or not even begun."""
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY)

    def _make_room(self) -> None:
        asking = [
            one
            for one in self.connections
            if isinstance(one, PromptProtocol)
            and one is not self
            and one.is_asking
            and not one.transport.is_closing()
        ]
        if asking:
            min(asking, key=lambda one: one._since).transport.abort()

    def _check(self) -> None:
        """Cut the connection if what it waits for has not moved within its time."""
        waits_for, patience = self._state()
        now = self.loop.time()
        if waits_for != self._waits_for:
            self._waits_for, self._since = waits_for, now
        if now - self._since >= patience:
            self.transport.abort()
            return
        self._timer = self.loop.call_later(CHECK_SECONDS, self._check)

    def _state(self) -> tuple[tuple[Any, ...], float]:
        """What has to move next, and how long that may take."""
        unread = self.transport.get_write_buffer_size()
        if unread:
            # A slow reader takes some bytes and thereby gets more time.
            return ("unread", unread), UNREAD_SECONDS
        if self.is_asking:
            patience = HEAD_SECONDS if self.conn.their_state is h11.IDLE else BODY_SECONDS
            return (self.conn.their_state, id(self.cycle)), patience
        return ("ours",), float("inf")
