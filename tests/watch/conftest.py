from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Error, Page, expect, sync_playwright

from pairgossip.watch.server import Place

from .serving import Served

NO_BROWSER = "no Chromium: install Debian's chromium, or run 'playwright install chromium'"


@pytest.fixture(scope="session")
def served() -> Iterator[Served]:
    server = Served(Place())
    yield server
    server.stop()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The system's Chromium, else Playwright's own; without either the tests skip."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    # Chromium's own sandbox does not work for root, as whom containers run.
    arguments = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        try:
            chromium = playwright.chromium.launch(executable_path=found, args=arguments)
        except Error:
            if os.environ.get("CI"):
                raise
            pytest.skip(NO_BROWSER)
        yield chromium
        chromium.close()


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
