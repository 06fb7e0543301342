"""The page in real Chromium, on a real server."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

import pairgossip as pg

from .serving import GINI, Fields, Served
from .test_contrast import POORLY_READABLE
from .viewing import BEGIN_ANIMATIONS, END_ANIMATIONS, asking, lacking

LONG: Fields = {**GINI, "iterations": "100000000"}

COUNT_COLORS = """canvas => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const counts = { painted: 0, blue: 0, orange: 0, violet: 0 };
  for (let k = 0; k < data.length; k += 4) {
    const [r, g, b, a] = data.slice(k, k + 4);
    if (a > 200) counts.painted += 1;
    if (a > 200 && b > r + 30 && g > r) counts.blue += 1;
    if (a > 200 && r > b + 30 && g > b) counts.orange += 1;
    if (a > 60 && b > g + 60 && r > g + 20) counts.violet += 1;
  }
  return counts;
}"""


def visit(page: Page, served: Served, **fields: str | list[str]) -> None:
    page.goto(served.link(**fields))
    expect(page.locator("#connection")).to_have_text("connected")
    expect(page.locator("canvas[data-done]").first).to_be_visible()


def readout(page: Page, name: str, run: int = 0) -> str:
    return page.locator(f"dd[data-readout={name}]").nth(run).inner_text()


def done(page: Page, run: int = 0) -> int:
    return int(page.locator("canvas[data-run]").nth(run).get_attribute("data-done") or 0)


def status(page: Page, wanted: str) -> None:
    expect(page.locator("#run-status")).to_have_text(wanted, timeout=60_000)


def address(page: Page) -> dict[str, list[str]]:
    found: dict[str, list[str]] = page.evaluate(
        "() => { const all = {}; for (const [k, v] of new URLSearchParams(location.search)) "
        "(all[k] ??= []).push(v); return all; }"
    )
    return found


def colors(page: Page, run: int = 0) -> dict[str, int]:
    found: dict[str, int] = page.locator("canvas[data-run]").nth(run).evaluate(COUNT_COLORS)
    return found


def quiet(page: Page) -> None:
    expect(page.locator("#alert")).to_be_hidden()


def test_a_first_visit_shows_a_network_ready_to_start(page: Page, served: Served) -> None:
    visit(page, served)
    status(page, "ready")
    assert done(page) == 0
    assert (readout(page, "exact"), readout(page, "sampling")) == ("500.7", "42.54")
    note = page.locator("section.chart", has_text="by a 95 % interval, between 423.5 and 666.4")
    expect(note.get_by_role("button", name="sampling error")).to_be_visible()
    page.select_option("#interval", "none")
    expect(note).to_have_count(0)
    assert not readout(page, "sampling")[0].isdigit()
    assert colors(page)["painted"] > 2_000
    quiet(page)


@pytest.mark.parametrize("script", ["/main.js", "/common/theme.js"])
def test_a_page_whose_script_has_not_loaded_says_so(
    page: Page, served: Served, script: str
) -> None:
    late = page.locator("#unloaded")
    with lacking(page, script):
        page.goto(served.link())
        page.evaluate(BEGIN_ANIMATIONS)
        expect(late).to_be_hidden()
        page.evaluate(END_ANIMATIONS)
        expect(late).to_be_visible()
        expect(late).to_have_text("The page has not loaded yet: if this stays, reload it.")
        assert page.evaluate(POORLY_READABLE) == []
    page.reload()
    status(page, "ready")
    expect(late).to_have_count(0)


def test_a_page_without_its_curves_says_so_and_stops(page: Page, served: Served) -> None:
    with lacking(page, "/vendor/uPlot.iife.min.js"):
        page.goto(served.link())
        expect(page.locator("#alert")).to_have_text(
            "The part of the page that draws curves has not loaded: reload the page."
        )
        expect(page.locator("#connection")).to_have_text("not loaded")
        expect(page.locator("#view > *")).to_have_count(0)
    page.reload()
    status(page, "ready")
    quiet(page)


def test_picture_and_curves_are_painted(page: Page, served: Served) -> None:
    visit(page, served, **GINI, iterations="4000", speed="max")
    before = colors(page)
    assert before["blue"] < 50 and before["orange"] < 50  # no node knows anything yet
    page.click("#start")
    status(page, "done")
    after = colors(page)
    assert after["blue"] > 300 and after["orange"] > 300
    expect(page.get_by_role("button", name="exact bias")).to_be_visible(timeout=60_000)
    assert float(readout(page, "ratio")) > 1  # it is a bound
    plot = page.locator("#curves canvas")
    assert plot.evaluate(COUNT_COLORS)["violet"] > 300
    the_axis_fits_the_measured_error(page)
    bound = page.get_by_role("button", name="bound on the error")
    bound.click()
    expect(bound).to_have_attribute("aria-pressed", "false")


def the_axis_fits_the_measured_error(page: Page) -> None:
    run = pg.estimate(
        pg.datasets.engel()["income"], "gini", "watts-strogatz", iterations=4000, trials=1, seed=0
    )
    highest = 10 * run.error.max()  # the axis ends at a power of ten
    assert run.theory().deviation_bound.max() > highest
    assert float(page.locator("#curves").get_attribute("data-high") or "nan") <= highest
    # Without measured values, the picture shows only the bound.
    for name in ("error", "sampling error"):
        page.get_by_role("button", name=name, exact=True).click()
    page.wait_for_function(
        f"() => Number(document.getElementById('curves').dataset.high) > {highest}"
    )


def test_an_exchange_flashes(page: Page, served: Served) -> None:
    page.emulate_media(reduced_motion="reduce")  # a flash then stays until the next picture
    visit(page, served, **GINI)
    assert colors(page)["violet"] == 0
    page.click("#step-one")
    expect(page.locator("canvas[data-done='1']")).to_be_visible()
    assert colors(page)["violet"] > 20


def test_step_start_pause_reset(page: Page, served: Served) -> None:
    visit(page, served, **LONG, speed="200")
    for wanted in (1, 2, 3):
        page.click("#step-one")
        expect(page.locator("canvas[data-run]")).to_have_attribute("data-done", str(wanted))
    assert (readout(page, "exchanges"), readout(page, "messages")) == ("3", "6")
    page.click("#start")
    status(page, "running")
    expect(page.locator("#start")).to_have_text("Pause")
    page.wait_for_function(
        "() => Number(document.querySelector('canvas[data-run]').dataset.done) > 30"
    )
    page.click("#start")
    status(page, "paused")
    stopped = done(page)
    page.click("#step-one")
    expect(page.locator("canvas[data-run]")).to_have_attribute("data-done", str(stopped + 1))
    page.click("#reset")
    status(page, "ready")
    expect(page.locator("canvas[data-run]")).to_have_attribute("data-done", "0")
    keys_do_the_same(page)


def keys_do_the_same(page: Page) -> None:
    page.locator("body").click(position={"x": 1, "y": 1})  # a button that has the focus keeps Space
    page.keyboard.press("s")
    expect(page.locator("canvas[data-run]")).to_have_attribute("data-done", "1")
    page.keyboard.press("Space")
    status(page, "running")
    page.keyboard.press("Space")
    status(page, "paused")
    page.keyboard.press("r")
    status(page, "ready")
    page.locator("#seed").focus()
    page.keyboard.press("s")  # typed into a field, it is not a command
    assert done(page) == 0


def test_everything_can_be_reached_with_the_keyboard(page: Page, served: Served) -> None:
    visit(page, served, **GINI)
    reached = []
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("() => document.activeElement.id || document.activeElement.tagName")
        )
    wanted = ["theme", "data", "file", "nodes", "statistic", "target", "graph", "method", "clock",
              "compare", "start", "step-one", "reset", "seed", "new-seed", "speed",
              "CANVAS"]  # fmt: skip
    assert [name for name in wanted if name not in reached] == []
    order = [reached.index(name) for name in wanted]
    assert order == sorted(order)
    folded_settings_leave_the_width_to_the_pictures(page)


def folded_settings_leave_the_width_to_the_pictures(page: Page) -> None:
    wide = "() => document.querySelector('.stage').clientWidth"
    before = page.evaluate(wide)
    page.locator("details.settings > summary").click()
    expect(page.locator("#data")).to_be_hidden()
    assert page.evaluate(wide) > before + 200


def select(selector: str, value: str) -> Callable[[Page], Any]:
    return lambda page: page.select_option(selector, value)


def fill(selector: str, value: str) -> Callable[[Page], Any]:
    def act(page: Page) -> None:
        if not page.locator(selector).is_visible():
            page.locator("details.more > summary").click()
        page.fill(selector, value)
        page.locator(selector).press("Tab")

    return act


Control = tuple[Callable[[Page], Any], str, str]
OF_DATA: list[Control] = [
    (lambda page: page.check("#column-1"), "column", "foodexp"),
    (fill("#nodes", "50"), "nodes", "50"),
    (select("#statistic", "kernel:variance"), "kernel", "variance"),
    (select("#target", "u"), "target", "u"),
    (fill("#graph-k", "6"), "graph-k", "6"),
    (fill("#graph-p", "0.9"), "graph-p", "0.9"),
]
OF_RUNS: list[Control] = [
    (select("#graph", "torus"), "graph", "torus"),
    (select("#method", "u2"), "method", "u2"),
    (select("#method", "weighted-gosta"), "clock", "async"),
    (select("#method", "gosta"), "method", "gosta"),
    (select("#clock", "sync"), "clock", "sync"),
    (fill("#iterations", "777"), "iterations", "777"),
    (fill("#seed", "12"), "seed", "12"),
    (lambda page: page.click("#new-seed"), "seed", "13"),
    (lambda page: page.check("#compare"), "graph-2", "complete"),
    (lambda page: page.locator("#speed").press("End"), "speed", "max"),
]
OF_OTHER_DATA: list[Control] = [
    (select("#data", "wine"), "data", "wine"),
    (select("#statistic", "mean"), "method", "averaging"),
]


def test_every_control_is_in_the_address(page: Page, served: Served) -> None:
    """A reload forgets nothing; in three parts, as later controls replace what earlier ones set."""
    visit(page, served, **GINI)
    for controls in (OF_DATA, OF_RUNS, OF_OTHER_DATA):
        for act, field, value in controls:
            assert address(page).get(field) != [value]
            act(page)
            page.wait_for_function(
                "([field, value]) => new URLSearchParams(location.search).get(field) === value",
                arg=[field, value],
            )
            quiet(page)
        before = address(page)
        page.reload()
        expect(page.locator("#connection")).to_have_text("connected")
        expect(page.locator("canvas[data-done]").first).to_be_visible()
        assert address(page) == before
        quiet(page)


def test_the_law_of_exchanges_and_grids_that_are_no_ribbons(page: Page, served: Served) -> None:
    visit(page, served, **GINI)
    page.locator("details.more > summary").click()
    page.select_option("#law", "node-clocks")
    page.wait_for_function("() => location.search.includes('law=node-clocks')")
    quiet(page)
    for data, graph, nodes in (("wine", "grid", 176), ("engel", "torus", 234)):
        a_grid_is_almost_square(page, data, graph, nodes)


def a_grid_is_almost_square(page: Page, data: str, graph: str, nodes: int) -> None:
    page.select_option("#data", data)
    page.select_option("#graph", graph)
    expect(page.locator("article .sub")).to_contain_text(f"{nodes} nodes")
    found = page.locator("article .sub").inner_text()
    rows, columns = (int(side) for side in re.findall(r"(?:rows|cols) = (\d+)", found))
    assert rows * columns == nodes and columns <= 1.5 * rows
    page.select_option("#graph", "cycle")  # all rows again
    expect(page.locator("#nodes")).to_have_value("")
    expect(page.locator("article h2")).to_have_text("gosta (sync) on cycle")
    assert "nodes" not in address(page)
    quiet(page)


def test_a_loss(page: Page, served: Served) -> None:
    mitoses = {"data": "breast-cancer-wisconsin", "kernel": "gini", "column": "mitoses"}
    visit(page, served, **mitoses, graph="watts-strogatz", schedule="ordered")
    page.select_option("#statistic", "loss:auc-logistic")
    page.wait_for_function("() => location.search.includes('loss=auc-logistic')")
    assert address(page)["schedule"] == ["random"]  # a loss knows no other
    expect(page.locator("#label")).to_have_value("class")
    assert len(address(page)["column"]) == 9
    fill("#iterations", "3000")(page)
    fill("#step", "0.05")(page)
    fill("#ball", "3")(page)
    page.wait_for_function("() => location.search.includes('ball=3')")
    page.locator("#speed").press("End")
    page.click("#start")
    status(page, "done")
    assert 0 < float(readout(page, "objective")) < 0.2
    assert colors(page)["blue"] > 100
    expect(page.get_by_role("button", name="objective of the mean model")).to_be_visible()
    quiet(page)


def test_a_sketch_of_a_loss_beside_dual_averaging(page: Page, served: Served) -> None:
    visit(page, served, data="breast-cancer-wisconsin", column=["clump_thickness", "mitoses"],
          label="class", loss="auc-logistic", graph="cycle", nodes="200", speed="max",
          iterations="4000")  # fmt: skip
    page.check("#compare")
    page.select_option("#method-2", "sketch")
    expect(page.locator("#schedule-2")).to_have_value("tree")
    page.select_option("#graph-2", "cycle")
    expect(page.locator("article h2").nth(1)).to_have_text("sketch (tree) on cycle")
    expect(page.locator("#connection")).to_have_text("connected")
    page.click("#step-one")
    expect(page.locator("dd[data-readout=rounds]")).to_have_text("1")
    assert readout(page, "exchanges", 1) == "796"  # twice up and down the tree
    page.click("#start")
    status(page, "done")
    assert done(page) == 4000
    assert float(readout(page, "objective", 1)) < float(readout(page, "objective"))
    page.select_option("#method", "sketch")  # both end by themselves
    page.wait_for_function("() => !location.search.includes('iterations')")
    page.locator("details.more > summary").click()
    expect(page.locator("#ball")).to_be_visible()
    expect(page.locator("#iterations, #step")).to_have_count(0)
    page.select_option("#statistic", "loss:metric-logistic")  # which sums cannot show
    expect(page.locator("#method option")).to_have_text(["dual-averaging"])
    page.select_option("#statistic", "kernel:gini")
    expect(page.locator("article h2").nth(1)).to_have_text("gosta (sync) on cycle")
    quiet(page)


def two_runs_side_by_side(page: Page, served: Served) -> None:
    visit(page, served, **GINI, iterations="3000", speed="max")
    page.check("#compare")
    expect(page.locator("canvas[data-run]")).to_have_count(2)
    page.select_option("#graph-2", "cycle")
    page.select_option("#method-2", "u2")
    page.select_option("#clock-2", "sync")
    expect(page.locator("article h2").nth(1)).to_have_text("u2 (sync) on cycle")
    expect(page.locator("#connection")).to_have_text("connected")
    page.click("#start")
    status(page, "done")
    assert (done(page, 0), done(page, 1)) == (3000, 3000)
    assert readout(page, "error", 0) != readout(page, "error", 1)
    assert readout(page, "exchanges", 1) == "6,000"
    assert colors(page, 0)["painted"] > 2_000 and colors(page, 1)["painted"] > 2_000
    expect(page.get_by_role("button", name="error (2)", exact=True)).to_be_visible()
    page.uncheck("#compare")
    expect(page.locator("canvas[data-run]")).to_have_count(1)
    quiet(page)


def test_two_runs_and_no_request_leaves_this_machine(page: Page, served: Served) -> None:
    with asking(page) as asked:
        two_runs_side_by_side(page, served)
    assert len(asked) > 15
    assert [url for url in asked if not url.startswith(served.origin + "/")] == []


def test_a_sketch_beside_gosta(page: Page, served: Served) -> None:
    visit(page, served, **GINI, iterations="3000", speed="max")
    page.check("#compare")
    page.select_option("#graph-2", "cycle")
    page.select_option("#method-2", "sketch")
    page.select_option("#schedule-2", "tree")
    expect(page.locator("article h2").nth(1)).to_have_text("sketch (sync, tree) on cycle")
    expect(page.locator("#connection")).to_have_text("connected")
    page.click("#step-one")
    expect(page.locator("dd[data-readout=error]").nth(1)).to_have_text("not yet")
    page.click("#start")
    status(page, "done")
    assert (done(page, 0), done(page, 1)) == (3000, 936)
    assert (readout(page, "exchanges", 1), readout(page, "messages", 1)) == ("936", "936")
    assert "lies for sure between" in page.locator("p.about").nth(1).inner_text()
    page.select_option("#method-2", "tracking")
    expect(page.locator("article h2").nth(1)).to_have_text("tracking (sync) on cycle")
    quiet(page)


def test_following_with_the_keyboard_and_a_click(page: Page, served: Served) -> None:
    visit(page, served, **GINI, speed="500")
    canvas = page.locator("canvas[data-run]")
    canvas.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(page.locator(".about")).to_have_text("Node 2: nothing known yet")
    page.keyboard.press("Enter")
    said = page.locator(".follow span")
    expect(said).to_have_text("The observation of node 2 is at node 2, after 0 moves.")
    assert address(page)["follow"] == ["2"]
    page.click("#start")
    page.wait_for_function(
        "() => !document.querySelector('.follow').innerText.includes('after 0 moves')"
    )
    page.click("#start")
    canvas.focus()
    page.keyboard.press("Escape")
    expect(said).to_have_text("Click a node to follow the observation it holds.")
    assert "follow" not in address(page)
    page.click("#reset")
    status(page, "ready")
    box = canvas.bounding_box()
    assert box is not None
    # Node 0 is at the top of the ring.
    canvas.click(position={"x": box["width"] / 2, "y": box["height"] * 0.045})
    expect(said).to_have_text(
        re.compile(r"The observation of node \d+ is at node \d+, after 0 moves.")
    )
    page.get_by_role("button", name="stop following").click()
    expect(said).to_have_text("Click a node to follow the observation it holds.")


def test_bad_settings_are_one_sentence_and_can_be_mended(page: Page, served: Served) -> None:
    visit(page, served, **GINI)
    fill("#nodes", "1000000")(page)
    expect(page.get_by_role("alert")).to_have_text(
        "The setting 'nodes' is '1000000': give a whole number from 2 to 20,000."
    )
    expect(page.locator("#connection")).to_have_text("check the settings")
    expect(page.locator("#nodes")).to_have_attribute("aria-invalid", "true")
    fill("#nodes", "20")(page)
    expect(page.locator("[aria-invalid]")).to_have_count(0)
    quiet(page)
    expect(page.locator("article .sub")).to_contain_text("20 nodes")
    expect(page.locator("#start")).to_be_enabled()


def test_faults_are_a_text_that_is_marked_where_it_is_wrong(page: Page, served: Served) -> None:
    page.goto(served.link(**GINI, clock="async", faults="loss=2"))
    alert = "In the faults, loss must be a probability >= 0 and < 1, not 2."
    expect(page.get_by_role("alert")).to_have_text(alert)
    expect(page.locator("#faults[aria-invalid]")).to_be_visible()
    fill("#faults", "loss=0.2, liars=[3]")(page)
    quiet(page)
    expect(page.locator("article")).to_contain_text("all nodes but 3, which lie or crash")
