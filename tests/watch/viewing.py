"""A real server with more views than the simulation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Page, Request

from pairgossip.errors import InputError
from pairgossip.watch.server.requests import View
from pairgossip.watch.server.server import ServerAddress

from .serving import Served

_ports: dict[str, int] = {}


@contextmanager
def viewed(*views: View, port: int = 0) -> Iterator[Served]:
    """Serve these views as long as the block runs, on the same port as before where it is free.

    So the browser has the files of the page already.
    """
    try:
        server = Served(ServerAddress(port=port or _ports.get("last", 0)), views)
    except InputError:  # of another server that still runs
        server = Served(ServerAddress(), views)
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
