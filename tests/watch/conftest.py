from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from pairgossip.watch.server.server import ServerAddress

from .serving import Served


@pytest.fixture(scope="session")
def served() -> Iterator[Served]:
    server = Served(ServerAddress())
    yield server
    server.stop()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that must neither fail nor break its own rules about content."""
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    context.set_default_timeout(30_000)
    expect.set_options(timeout=30_000)
    page = context.new_page()
    troubles: list[str] = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on(
        "console",
        lambda message: (
            troubles.append(message.text) if "Content Security" in message.text else None
        ),
    )
    yield page
    context.close()
    assert troubles == []
