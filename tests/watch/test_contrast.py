"""Legibility of the page: the contrast of its text, in light and in dark."""

from __future__ import annotations

from typing import Literal

from playwright.sync_api import Page, expect

from .serving import GINI, Served

SCHEMES: tuple[Literal["dark", "light"], ...] = ("dark", "light")
POORLY_READABLE = """() => {
  const light = (spelled) => {
    const [r, g, b] = spelled.match(/[0-9.]+/g).slice(0, 3).map((c) => {
      const share = c / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const found = getComputedStyle(at).backgroundColor;
      if (!/rgba\\(.*, 0\\)|transparent/.test(found)) return found;
    }
    return "rgb(255, 255, 255)";
  };
  const poor = [];
  const texts = "h1, h2, label span, p, dt, dd, button:enabled, summary, legend, .pill, kbd, a";
  for (const element of document.querySelectorAll(texts)) {
    if (!element.checkVisibility() || !element.textContent.trim()) continue;
    if (element.matches(".swatch")) continue;
    const pair = [getComputedStyle(element).color, behind(element)].map(light);
    const ratio = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
    if (ratio < 4.5) poor.push(`${element.textContent.trim().slice(0, 40)}: ${ratio.toFixed(2)}`);
  }
  return poor;
}"""


def test_text_can_be_read(page: Page, served: Served) -> None:
    """The contrast is at least 4.5 to 1, which WCAG requires for text at level AA."""
    page.emulate_media(color_scheme="dark")
    page.goto(served.link(**GINI, **{"graph-2": "cycle"}))
    expect(page.locator("canvas[data-done]")).to_have_count(2)
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        expect(page.locator("html")).to_have_attribute("data-theme", scheme)
        assert page.evaluate(POORLY_READABLE) == []
