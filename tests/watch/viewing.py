"""A real server with more views than the simulation."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import httpx
from playwright.sync_api import Page, Request

from pairgossip.errors import InputError
from pairgossip.watch.server.requests import View
from pairgossip.watch.server.server import ServerAddress, Service

from .serving import PLAIN

_ports: dict[str, int] = {}


class Viewed:
    """A running server, asked as its own page asks."""

    def __init__(self, views: Sequence[View], port: int = 0) -> None:
        self._service = Service(ServerAddress(port=port), views)
        started = threading.Event()
        self._thread = threading.Thread(target=self._service.run, args=(started.set,))
        self._thread.start()
        assert started.wait(30)
        self.port, self.address = self._service.port, self._service.address
        self.client = httpx.Client(base_url=self.address, timeout=60, trust_env=False, verify=PLAIN)

    def stop(self) -> None:
        self.client.close()
        self._service.stop()
        self._thread.join(30)
        assert not self._thread.is_alive()

    def get(self, path: str) -> httpx.Response:
        return self.client.get(path)

    @contextmanager
    def watching(self, path: str) -> Iterator[Iterator[tuple[str, Any]]]:
        """Look on: yield the names and contents of events as they come."""
        with self.client.stream("GET", path) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            yield _events(answer)


@contextmanager
def viewed(*views: View, port: int = 0) -> Iterator[Viewed]:
    """Serve these views as long as the block runs, on the same port as before where it is free.

    So the browser has the files of the page already.
    """
    try:
        server = Viewed(views, port or _ports.get("last", 0))
    except InputError:  # of another server that still runs
        server = Viewed(views)
    _ports["last"] = server.port
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def asking(page: Page) -> Iterator[list[str]]:
    """The addresses that a page asks for, from now on."""
    asked: list[str] = []

    def note(request: Request) -> None:
        asked.append(request.url)

    page.on("request", note)
    try:
        yield asked
    finally:
        page.remove_listener("request", note)


def _events(answer: httpx.Response) -> Iterator[tuple[str, Any]]:
    name = ""
    for line in answer.iter_lines():
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))
