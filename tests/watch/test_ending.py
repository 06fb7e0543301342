"""The words and buttons of the page when a run has ended, in a real browser."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from pairgossip.watch.simulation.build import build_runs
from pairgossip.watch.simulation.observations import Uploads
from pairgossip.watch.simulation.settings import Settings

from .serving import GINI, Fields, Served
from .test_page import address, done, quiet, readout, status, visit

SHORT: Fields = {**GINI, "iterations": "2000", "speed": "max"}


def finish(page: Page) -> None:
    page.click("#start")
    status(page, "done")
    expect(page.locator("#ending")).to_be_visible()


def suggestions(page: Page) -> list[str]:
    return page.locator(".ending-next button").all_inner_texts()


def accept(page: Page, name: str) -> None:
    """Press a suggestion, which starts by itself, and wait for its end."""
    page.locator("#ending p").evaluate_all("all => all.map(p => p.setAttribute('data-before', ''))")
    page.locator("#ending").get_by_role("button", name=name).click()
    expect(page.locator("#ending p:not([data-before])").first).to_be_visible()
    status(page, "done")


def test_the_end_says_what_was_found_and_offers_what_to_try(page: Page, served: Served) -> None:
    visit(page, served, **SHORT)
    expect(page.locator("#ending")).to_be_hidden()
    finish(page)
    error = float(readout(page, "error"))
    first, second = page.locator("#ending p").all_inner_texts()
    assert first == (
        f"Estimates are off by {error:.3g} ({100 * error / 500.7045:.2g} %) from the exact value "
        "500.7, root mean square, after 4,000 messages, 64 kB in all."
    )
    assert second == "That is more than the sampling error, 42.5: more messages would help."
    assert suggestions(page) == [
        "Ten times as many steps",
        "Compare with sketch",
        "Compare with a complete graph",
    ]
    the_same_run_can_be_copied(page)
    accept(page, "Ten times as many steps")
    assert address(page)["iterations"] == ["20000"] and done(page) == 20_000
    accept(page, "Compare with sketch")
    assert (address(page)["method-2"], address(page)["schedule-2"]) == (["sketch"], ["tree"])
    told = page.locator("#ending p").last.inner_text()
    assert re.fullmatch(
        r"Run 2 has the smaller error, by a factor of [\d,]+, with \d+ times fewer messages.", told
    )
    accept(page, "The first run alone")
    assert [name for name in address(page) if name.endswith("-2")] == []
    page.click("#reset")
    expect(page.locator("#ending")).to_be_hidden()
    quiet(page)


def test_where_enough_is_known_no_longer_run_is_offered(page: Page, served: Served) -> None:
    visit(page, served, **{**SHORT, "graph": "cycle"}, method="sketch", schedule="tree")
    finish(page)
    assert page.locator("#ending p").nth(1).inner_text().startswith("That is little beside the")
    assert suggestions(page) == ["Compare with a complete graph", "On a complete graph"]
    accept(page, "On a complete graph")
    assert address(page)["graph"] == ["complete"]
    assert suggestions(page) == ["Compare with a cycle graph"]
    accept(page, "Compare with a cycle graph")
    expect(page.locator("article h2").nth(1)).to_have_text("sketch (sync, tree) on cycle")
    quiet(page)


def test_more_steps_are_offered_while_nobody_knows_enough(page: Page, served: Served) -> None:
    few = {**SHORT, "graph": "cycle", "iterations": "100", "method": "sketch", "schedule": "tree"}
    visit(page, served, **few)
    finish(page)
    told = page.locator("#ending p").nth(1).inner_text()
    assert told == "More steps are needed before all know where the rows lie."
    assert suggestions(page)[0] == "Ten times as many steps"
    accept(page, "Ten times as many steps")
    assert suggestions(page)[0] == "Compare with a complete graph"


def test_where_all_know_the_same_more_messages_do_not_help(page: Page, served: Served) -> None:
    visit(page, served, data="wine", column=["color_intensity", "hue"], speed="max",
          kernel="goodman-kruskal-gamma", method="sketch", schedule="tree")  # fmt: skip
    finish(page)
    told = page.locator("#ending p").nth(1).inner_text()
    assert told.endswith(", but more messages would not help: all nodes know the same.")
    assert suggestions(page) == ["Compare with a cycle graph", "Rows at sites"]
    accept(page, "Rows at sites")
    expect(page.locator("article .sub")).to_contain_text("3 sites with 178 rows")


def test_more_steps_are_those_of_the_run_that_has_them(page: Page, served: Served) -> None:
    visit(page, served, data="breast-cancer-wisconsin", column="mitoses", label="class",
          loss="auc-logistic", iterations="500", nodes="100", graph="cycle", speed="max",
          **{"method-2": "sketch"})  # fmt: skip
    finish(page)
    assert int(readout(page, "exchanges", 1).replace(",", "")) > 500
    accept(page, "Ten times as many steps")
    assert address(page)["iterations"] == ["5000"]
    page.select_option("#method", "sketch")
    page.select_option("#method-2", "dual-averaging")
    page.locator("details.more > summary").click()
    page.fill("#iterations", "700")
    page.locator("#iterations").blur()
    page.uncheck("#compare")  # the rest ends by itself
    # A list waits until the second run is gone; a single text would not.
    expect(page.locator("article h2")).to_have_text(["sketch (tree) on cycle"])
    assert "iterations" not in address(page)
    quiet(page)


def test_the_end_of_learning(page: Page, served: Served) -> None:
    visit(page, served, data="breast-cancer-wisconsin", column="mitoses", label="class",
          loss="auc-logistic", iterations="2000", speed="max")  # fmt: skip
    finish(page)
    first, second = page.locator("#ending p").all_inner_texts()
    assert first.startswith(
        f"The network's mean model has the objective {readout(page, 'objective')}, after 4,000 mes"
    )
    assert second.startswith(f"Models of single nodes are {float(readout(page, 'spread')):.3g}")


def the_same_run_can_be_copied(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("#ending summary").click()
    (run,) = build_runs(Settings.read(SHORT), Uploads())
    wanted = {"in Python": run.again.python, "on the command line": run.again.command}
    for which, text in wanted.items():
        button = page.get_by_role("button", name=f"Copy: {which}")
        button.click()
        expect(button).to_have_text("Copied")
        assert page.evaluate("() => navigator.clipboard.readText()") == text


def test_the_end_fits_a_phone(page: Page, served: Served) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    visit(page, served, **SHORT, **{"method-2": "sketch"})
    finish(page)
    page.locator("#ending summary").click()
    assert page.evaluate("() => document.scrollingElement.scrollWidth") <= 390
