"""Links that can be cut: every byte between two peers passes through here, or waits.

What a cut link does to peers is what a dead cable does: connections stay open and silent, what was
sent arrives late or, once the peers have given the connection up, never. It needs no rights that
an ordinary user does not have.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Iterable, Mapping
from typing import Any

from pairgossip.swarm.machine import HOST

CHUNK = 1 << 16
PATIENCE = 10.0

Link = tuple[int, int]


def _ends(link: Link) -> Link:
    """A link is the same in both directions."""
    return min(link), max(link)


class FaultyLinks:
    """Relays connections, one listener for each direction of a link, in a thread of its own.

    Parameters
    ----------
    targets
        ``targets[i, j]``: the port of peer j, for what peer i connects to.
    """

    def __init__(self, targets: Mapping[Link, int]) -> None:
        self._targets = dict(targets)
        self._open: dict[Link, asyncio.Event] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._servers: list[asyncio.Server] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.ports: Mapping[Link, int] = self._do(self._listen())

    def cut(self, links: Iterable[Link]) -> None:
        """Let nothing through these links until they are healed."""
        self._do(self._set([_ends(link) for link in links], False))

    def heal(self) -> None:
        """Let everything through again."""
        self._do(self._set(list(self._open), True))

    def close(self) -> None:
        """Close all connections."""
        if self._thread.is_alive():
            with contextlib.suppress(TimeoutError):
                self._do(self._end())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(PATIENCE)
            if not self._thread.is_alive():
                self._loop.close()

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)

    async def _listen(self) -> dict[Link, int]:
        ports = {}
        for link in self._targets:
            gate = self._open.setdefault(_ends(link), asyncio.Event())
            gate.set()
            server = await asyncio.start_server(self._relaying(link), HOST, 0, limit=CHUNK)
            self._servers.append(server)
            ports[link] = server.sockets[0].getsockname()[1]
        return ports

    async def _set(self, links: list[Link], is_open: bool) -> None:
        for link in links:
            gate = self._open[link]
            if is_open:
                gate.set()
            else:
                gate.clear()

    async def _end(self) -> None:
        for server in self._servers:
            server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _relaying(self, link: Link) -> Any:
        gate, port = self._open[_ends(link)], self._targets[link]

        async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._tasks.add(task)
            try:
                await _relay(reader, writer, gate, port)
            except (OSError, asyncio.CancelledError):
                pass  # one side is gone, and so is the connection
            finally:
                self._tasks.discard(task)
                writer.close()

        return relay


async def _relay(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, gate: asyncio.Event, port: int
) -> None:
    await gate.wait()
    far_reader, far_writer = await asyncio.open_connection(HOST, port, limit=CHUNK)
    ways = [
        asyncio.ensure_future(_pour(reader, far_writer, gate)),
        asyncio.ensure_future(_pour(far_reader, writer, gate)),
    ]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        far_writer.close()


async def _pour(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, gate: asyncio.Event
) -> None:
    while content := await reader.read(CHUNK):
        await gate.wait()
        writer.write(content)
        await writer.drain()
    await gate.wait()  # that a connection was closed does not pass a cut link either
