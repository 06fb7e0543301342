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

    The browser then already has the files of the page.
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
    """Collect the addresses that a page asks for from now on."""
    asked: list[str] = []

    def note(request: Request) -> None:
        asked.append(request.url)

    page.on("request", note)
    try:
        yield asked
    finally:
        page.remove_listener("request", note)


@contextmanager
def lacking(page: Page, script: str) -> Iterator[None]:
    """Let no request for a script through."""
    page.route(f"**{script}", lambda route: route.abort())
    try:
        yield
    finally:
        page.unroute_all()


BEGIN_ANIMATIONS = """() => document.getAnimations().forEach((one) => {
  one.pause();
  one.currentTime = 0;
})"""
"""Script that sets all delays to their beginning, however long ago they began, and stops them."""
END_ANIMATIONS = "() => document.getAnimations().forEach((one) => one.finish())"
"""Script that takes all delays for over."""
NAMELESS = """() => {
  const name = (element) => {
    const by = element.getAttribute("aria-labelledby")?.split(" ") ?? [];
    const parts = by.map((id) => document.getElementById(id)?.textContent ?? "");
    return element.getAttribute("aria-label") || parts.join(" ").trim();
  };
  const isSaid = (picture) => {
    if (picture.closest("[aria-hidden=true]") || picture.hasAttribute("alt")) return true;
    return Boolean(name(picture) || name(picture.closest("[role=img]") ?? picture));
  };
  const all = [...document.querySelectorAll("svg, img, canvas")];
  const seen = all.filter((one) => one.checkVisibility() && !one.parentElement.closest("svg"));
  return {
    count: seen.length,
    nameless: seen.filter((one) => !isSaid(one)).map((one) => one.outerHTML.slice(0, 200)),
  };
}"""
"""Script that counts a page's pictures, and lists those without alternative text."""


def assert_pictures_are_said(page: Page, at_least: int) -> None:
    """Assert that every picture has alternative text, or is marked as decoration."""
    found = page.evaluate(NAMELESS)
    assert found["nameless"] == [] and found["count"] >= at_least, found
