"""How the page looks: on a phone, dark and light, with many nodes, and with live curves."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from .serving import GINI, Served
from .test_page import colors, status, visit
from .viewing import assert_pictures_are_said


def test_a_phone_needs_no_sideways_scrolling(page: Page, served: Served) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(served.link(**GINI))
    expect(page.locator("canvas[data-done]").first).to_be_visible()
    page.locator("details.settings > summary").click()
    expect(page.locator("#data")).to_be_visible()
    width = "() => document.documentElement.scrollWidth"
    assert page.evaluate(width) <= 360
    assert colors(page)["painted"] > 1_000
    page.check("#compare")
    expect(page.locator("canvas[data-done]")).to_have_count(2)
    assert page.evaluate(width) <= 360
    assert colors(page, 1)["painted"] > 1_000


def background(page: Page) -> list[int]:
    spelled = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    return [int(number) for number in re.findall(r"\d+", spelled)[:3]]


def test_dark_and_light(page: Page, served: Served) -> None:
    page.emulate_media(color_scheme="dark")
    visit(page, served, **GINI)
    assert max(background(page)) < 60
    page.click("#theme")
    assert min(background(page)) > 200
    page.reload()
    expect(page.locator("canvas[data-done]")).to_be_visible()
    assert min(background(page)) > 200  # the choice is remembered


def test_ten_thousand_nodes_are_pixels(page: Page, served: Served) -> None:
    visit(page, served, data="two-normals", nodes="10000", column="score", kernel="gini",
          graph="torus", iterations="40000", speed="max")  # fmt: skip
    expect(page.locator(".about")).to_have_text(
        "10,000 nodes are drawn as pixels; the 20,000 edges are not drawn."
    )
    page.click("#start")
    status(page, "done")
    found = colors(page)
    assert found["painted"] > 100_000 and found["blue"] > 5_000


def test_curves_that_nodes_know_are_drawn_live(page: Page, served: Served) -> None:
    scores = {"data": "breast-cancer-wisconsin", "kernel": "auc", "column": "mitoses"}
    how = {"graph": "complete", "method": "sketch", "iterations": "2000", "speed": "max"}
    visit(page, served, **scores, label="class", nodes="60", **how)
    exact, nodes = page.locator(".roc .exact"), page.locator(".roc .node")
    expect(exact).to_have_count(1)
    page.click("#start")
    expect(nodes).to_have_count(12)
    status(page, "done")
    points = nodes.first.get_attribute("points") or ""
    last = [float(y) for y in points.replace(",", " ").split()[1::2]]
    assert last[-1] < last[0]  # from the lower left to the upper right
    known = page.get_by_role("img", name="ROC curve of all rows, and those that 12 nodes know now")
    expect(known).to_be_visible()
    plot = page.get_by_role("img", name=re.compile(r"^Plot of error .* by iterations .*: error 0"))
    expect(plot).to_be_visible()
    assert_pictures_are_said(page, 3)
