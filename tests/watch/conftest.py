from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Error, Page, ViewportSize, expect

from pairgossip.watch import peers_view
from pairgossip.watch.server.server import ServerAddress

from .serving import Served

WINDOW: ViewportSize = {"width": 1400, "height": 1000}


@pytest.fixture(scope="session")
def served() -> Iterator[Served]:
    server = Served(ServerAddress())
    yield server
    server.stop()


@pytest.fixture(autouse=True)
def reads_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read peers often, as readers would otherwise wait a second each time."""
    monkeypatch.setattr(peers_view, "_SECONDS_BETWEEN_READINGS", 0.1)


@pytest.fixture(scope="session")
def tab(browser: Browser) -> Iterator[Page]:
    """Open one window for all tests, as a new one costs the browser more than a page in it."""
    context = browser.new_context(viewport=WINDOW)
    context.set_default_timeout(60_000)
    expect.set_options(timeout=60_000)
    yield context.new_page()
    context.close()


@pytest.fixture
def page(tab: Page) -> Iterator[Page]:
    """Return a page that must neither fail nor break its own content rules."""
    troubles: list[str] = []

    def note_error(error: Error) -> None:
        troubles.append(str(error))

    def note_message(message: ConsoleMessage) -> None:
        if "Content Security" in message.text:
            troubles.append(message.text)

    tab.on("pageerror", note_error)
    tab.on("console", note_message)
    yield tab
    try:
        _forget(tab)
    finally:
        tab.remove_listener("pageerror", note_error)
        tab.remove_listener("console", note_message)
    assert troubles == []


def _forget(tab: Page) -> None:
    """Clear all that a test has left in the window."""
    for other in tab.context.pages:
        if other is not tab:
            other.close()
    if tab.url.startswith("http"):
        tab.evaluate("() => localStorage.clear()")
    tab.goto("about:blank")
    tab.mouse.move(0, 0)
    if tab.viewport_size != WINDOW:
        tab.set_viewport_size(WINDOW)
    tab.emulate_media(color_scheme="light", reduced_motion="no-preference")
    tab.context.clear_permissions()
