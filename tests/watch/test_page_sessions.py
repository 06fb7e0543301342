"""Sessions in a real browser: shared links, uploads, and a server that starts again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import pairgossip as pg
from pairgossip.errors import InputError
from pairgossip.watch.server.server import ServerAddress
from pairgossip.watch.simulation.runs import WatchedRun

from .compiling_runs import slow_to_compile
from .serving import GINI, Served
from .test_page import LONG, address, done, quiet, readout, status, visit

HOSTILE = "<img src=x onerror=document.title='broken'>"


def test_a_shared_link_gives_the_same_run(page: Page, served: Served) -> None:
    visit(page, served, **GINI, iterations="3000", speed="max", seed="8", follow="3")
    page.click("#start")
    status(page, "done")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click("#copy-link")
    expect(page.locator("#copy-link")).to_have_text("Copied")
    link = page.evaluate("() => navigator.clipboard.readText()")
    assert link == re.sub(r"&session=[^&]*", "", page.url) != page.url
    assert "seed=8" in link
    other = page.context.new_page()
    other.goto(link)
    expect(other.locator("canvas[data-done]")).to_be_visible()
    assert done(other) == 0  # a separate run
    other.click("#start")
    status(other, "done")
    names = ("mean", "error", "spread", "exchanges", "messages")
    assert [readout(other, name) for name in names] == [readout(page, name) for name in names]
    assert other.locator(".follow").inner_text() == page.locator(".follow").inner_text()
    picture = "canvas => canvas.toDataURL()"
    other.wait_for_timeout(600)  # the last flashes have faded
    assert other.locator("canvas[data-run]").evaluate(picture) == page.locator(
        "canvas[data-run]"
    ).evaluate(picture)
    run = pg.estimate(
        pg.datasets.engel()["income"], "gini", "watts-strogatz", iterations=3000, seed=8
    )
    assert float(readout(page, "error")) == pytest.approx(run.error[-1], rel=1e-3)


def test_an_upload_with_hostile_names(page: Page, served: Served, tmp_path: Path) -> None:
    file = tmp_path / "hostile.csv"
    rows = "\n".join(f"{k * k},{k % 7}" for k in range(40))
    file.write_text(f'{HOSTILE},"<script>document.title=""broken""</script>"\n{rows}\n')
    visit(page, served, **GINI)
    page.set_input_files("#file", file)
    expect(page.locator("article .sub")).to_contain_text("40 nodes")
    expect(page.locator(".columns")).to_contain_text(HOSTILE)
    expect(page.locator(".columns")).to_contain_text("<script>")
    assert page.locator(".simulation img, .columns script").count() == 0
    page.check("#column-1")
    page.wait_for_function("() => location.search.includes('script')")
    page.select_option("#statistic", "loss:ranking-logistic")
    expect(page.locator("#label")).to_be_visible()
    page.select_option("#label", index=2)
    page.click("#step-one")
    assert page.title() == "pairgossip: watch gossip happen"
    page.goto(served.link(**{**GINI, "data": HOSTILE}))
    expect(page.get_by_role("alert")).to_contain_text("Unknown data set '<img src=x")
    assert page.title() == "pairgossip: watch gossip happen"


def test_the_label_of_an_upload_is_a_column_of_two_values(
    page: Page, served: Served, tmp_path: Path
) -> None:
    file = tmp_path / "patients.csv"
    rows = "\n".join(f"p{k},{k * k % 31},{'ill' if k % 3 else 'well'}" for k in range(40))
    file.write_text(f"name,score,state\n{rows}\n")
    visit(page, served, **GINI)
    page.select_option("#statistic", "kernel:auc")
    page.set_input_files("#file", file)
    expect(page.get_by_role("alert")).to_contain_text("give positive class ill")
    expect(page.locator("#positive")).to_have_attribute("aria-invalid", "true")
    page.fill("#positive", "ill")
    page.locator("#positive").blur()
    expect(page.locator("article .sub")).to_contain_text("40 nodes")
    quiet(page)
    assert address(page)["label"] == ["state"] and address(page)["column"] == ["score"]
    assert address(page)["positive"] == ["ill"]
    file.write_text(",name,score\n" + "\n".join(f"{k},p{k},{k * k}" for k in range(40)))
    page.set_input_files("#file", file)
    expect(page.locator("#label option:checked")).to_have_text("choose a column")
    expect(page.locator("#label option")).to_have_text(["choose a column", "name", "score"])
    expect(page.get_by_role("alert")).to_be_visible()
    page.select_option("#label", "score")
    expect(page.locator("#label option:checked")).to_have_text("score")


def test_how_rows_are_chosen_and_a_bad_file_are_said(
    page: Page, served: Served, tmp_path: Path
) -> None:
    visit(page, served, **GINI, nodes="100")
    hint = page.locator("label.field", has=page.locator("#nodes")).locator(".hint")
    expect(hint).to_have_text("100 of 235 rows, evenly spaced")
    large = tmp_path / "large.csv"
    large.write_text("\n".join(["a", *map(str, range(1100))]))
    page.set_input_files("#file", large)
    expect(page.locator("#view")).to_contain_text("1,100 rows, uploaded.")
    expect(page.locator("#nodes")).to_have_attribute("placeholder", "all 1,100")
    file = tmp_path / "bad.csv"
    file.write_text("a,b\n1\n")
    page.set_input_files("#file", file)
    expect(page.get_by_role("alert")).to_have_text(
        "bad.csv, line 2, has 1 field but the header has 2: make every row as long as the header."
    )


def test_a_restart_of_the_server(page: Page) -> None:
    first = Served(ServerAddress())
    page.goto(first.link(**LONG, speed="200", seed="6"))
    expect(page.locator("canvas[data-done]")).to_be_visible()
    page.click("#start")
    status(page, "running")
    first.stop()
    expect(page.locator("#connection")).to_have_text("disconnected, trying again")
    expect(page.locator("#start")).to_be_disabled()
    again = Served(ServerAddress(port=first.port))
    try:
        expect(page.locator("#connection")).to_have_text("connected")
        status(page, "running")
        page.wait_for_function(
            "() => Number(document.querySelector('canvas[data-run]').dataset.done) > 0"
        )
        assert address(page)["seed"] == ["6"]
        quiet(page)
    finally:
        page.goto("about:blank")
        again.stop()


def test_an_upload_survives_a_restart(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "heights.csv"
    file.write_text("height\n" + "\n".join(str(k % 11) for k in range(30)) + "\n")
    first = Served(ServerAddress())
    page.goto(first.link(**GINI))
    expect(page.locator("canvas[data-done]")).to_be_visible()
    page.set_input_files("#file", file)
    expect(page.locator("article .sub")).to_contain_text("30 nodes")
    key = address(page)["data"]
    first.stop()
    expect(page.locator("#connection")).to_have_text("disconnected, trying again")
    again = Served(ServerAddress(port=first.port))
    try:
        expect(page.locator("#connection")).to_have_text("connected")
        expect(page.locator("article .sub")).to_contain_text("30 nodes")
        assert address(page)["data"] != key
        quiet(page)
    finally:
        page.goto("about:blank")
        again.stop()


def test_a_file_named_at_the_start_is_open_at_once(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "heights.csv"
    lines = [f"n{k},{k % 11},{'am'[k % 2]}" for k in range(30)]
    file.write_text("\n".join(["name,height,sex", *lines]) + "\n")
    given = Served(ServerAddress(), files=[file])
    try:
        page.goto(given.link(data=str(file), kernel="gini"))
        expect(page.locator("article .sub")).to_contain_text("30 nodes")
        assert address(page)["column"] == ["height"]
        # Text is not a number to compute with: it is offered as a label only.
        offered = page.get_by_role("group", name="columns").get_by_role("checkbox")
        expect(offered).to_have_count(1)
        page.select_option("#statistic", "kernel:auc")
        expect(page.locator("#label")).to_have_value("sex")
        page.fill("#positive", "m")
        page.keyboard.press("Enter")
        expect(page.locator("#alert")).to_be_hidden()
        quiet(page)
    finally:
        page.goto("about:blank")
        given.stop()


def test_compiling_is_said_while_nothing_moves(
    page: Page, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled, released = slow_to_compile()
    advance = WatchedRun.advance

    def compile_first(run: WatchedRun, iterations: int) -> None:
        advance(run, compiled(iterations))

    monkeypatch.setattr(WatchedRun, "advance", compile_first)
    visit(page, served, **GINI)
    page.click("#step-one")
    status(page, "compiling, once: some seconds")
    assert done(page) == 0
    released.set()
    status(page, "paused")
    assert done(page) == 1


def test_a_run_that_fails_after_compiling_says_so(
    page: Page, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled, released = slow_to_compile()

    def compile_and_fail(run: WatchedRun, iterations: int) -> None:
        raise InputError(f"The first {compiled(iterations)} went wrong.")

    monkeypatch.setattr(WatchedRun, "advance", compile_and_fail)
    visit(page, served, **GINI)
    page.click("#step-one")
    status(page, "compiling, once: some seconds")
    released.set()
    status(page, "failed")
    expect(page.locator("#alert")).to_have_text("The first 1 went wrong.")
    expect(page.locator("#reset")).to_be_disabled()
