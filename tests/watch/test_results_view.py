"""The results view: a fixed table of files on the server, interactive charts in the page."""

from __future__ import annotations

import re
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import httpx
import numpy as np
import pytest
from playwright.sync_api import Page, expect

import pairgossip as pg
from pairgossip.errors import InputError
from pairgossip.watch.results import ResultsView, find_chapters, find_results
from pairgossip_paper.framework import report

from ..paper.toy import outline
from .peers_to_watch import until
from .serving import Served
from .viewing import asking, assert_pictures_are_said, viewed

X = np.array([1.0, 2.0, 4.0, 7.0, 11.0, 12.0, 30.0, 31.0])
HOSTILE = "<img src=x onerror=document.title='broken'>"
COUNT_PAINTED = """canvas => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let painted = 0;
  for (let k = 3; k < data.length; k += 4) if (data[k] > 60) painted += 1;
  return painted;
}"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for name in ("cycle", "star"):
        graph = pg.graphs.build(name, len(X))
        run = pg.estimate(X, "gini", graph, iterations=2000, trials=3, seed=1)
        run.theory()
        run.save(folder / f"{name}.npz")
    run = pg.estimate(X, "gini", pg.graphs.cycle(8), iterations=2000, trials=3, clock="async")
    run.save(folder / f"{HOSTILE}.npz")
    (folder / "broken.npz").write_bytes(b"PK nothing")
    return folder


@pytest.fixture(scope="module")
def server(runs: Path) -> Iterator[Served]:
    with viewed(ResultsView(find_results([], [runs]))) as server:
        yield server


@pytest.fixture(scope="module")
def reproduction(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reproduction") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "_render", outline)  # the page requests figures by itself
        pg.reproduce("mixing-times", quick=True, out=folder, n_jobs=1, progress=False)
    return folder


def keys(server: Served) -> dict[str, str]:
    return {one["name"]: one["key"] for one in server.get("/api/results").json()["files"]}


def open_runs(page: Page, server: Served, *names: str, **more: str) -> None:
    known = keys(server)
    query = urlencode({"view": "results", "tab": "runs", **more})
    page.goto(server.address + f"?{query}" + "".join(f"&run={known[name]}" for name in names))
    expect(page.locator("#result-curves canvas")).to_be_visible()


def legend(page: Page) -> list[str]:
    return page.locator(".chart .legend button").all_inner_texts()


def test_the_list(server: Served) -> None:
    listed = server.get("/api/results").json()
    kinds = {one["name"]: (one["kind"], one["about"]) for one in listed["files"]}
    assert kinds["cycle"] == ("run", "gini, sync, cycle")
    assert kinds["broken"][0] == "damaged"
    assert kinds["broken"][1] == "broken.npz is not a run saved by pairgossip, or is damaged."
    assert listed["reports"] == [] and listed["has_figures"] is False


def test_a_damaged_run(server: Served) -> None:
    answer = server.get(f"/api/results/runs/{keys(server)['broken']}")
    assert answer.status_code == 400
    assert answer.json()["error"].endswith("is not a run saved by pairgossip, or is damaged.")


@pytest.mark.parametrize(
    "name", ["nothing", "../../../etc/passwd", "/etc/passwd", "cycle.npz", "%2e%2e%2fcycle.npz"]
)
def test_nothing_else_is_opened(server: Served, name: str) -> None:
    for kind in ("runs", "reports"):
        answer = server.get(f"/api/results/{kind}/{quote(name, safe='%')}")
        assert answer.status_code == 404 and b"root:" not in answer.content


def test_a_file_that_went_away(tmp_path: Path, runs: Path) -> None:
    copy = tmp_path / "run.npz"
    copy.write_bytes((runs / "cycle.npz").read_bytes())
    with viewed(ResultsView(find_results([copy]))) as server:
        (key,) = keys(server).values()
        assert server.get(f"/api/results/runs/{key}").status_code == 200
        copy.write_bytes((runs / "star.npz").read_bytes())
        assert "star" in server.get(f"/api/results/runs/{key}").json()["title"]  # read anew
        copy.unlink()
        answer = server.get(f"/api/results/runs/{key}")
        assert answer.json()["error"] == "run.npz is no longer there: start again."


def test_the_curves_of_a_run(page: Page, server: Served) -> None:
    open_runs(page, server, "cycle")
    assert legend(page) == [
        *("measured error", "as many pairs drawn at random"),
        *("exact bias", "bound on the bias", "bound on the error"),
    ]
    assert page.locator("#result-curves canvas").evaluate(COUNT_PAINTED) > 2000
    expect(page.locator("#log-y")).to_be_checked()
    expect(page.locator("#alert")).to_be_hidden()
    pointing_tells_values_and_dragging_zooms(page)
    a_curve_is_switched_off(page)
    other_curves_and_other_axes(page)


def pointing_tells_values_and_dragging_zooms(page: Page) -> None:
    box = page.locator("#result-curves .u-over").bounding_box()
    assert box is not None
    x, y = box["x"], box["y"] + box["height"] / 2
    page.mouse.move(x + box["width"] - 2, y)
    expect(page.locator(".chart .value")).to_have_text(
        re.compile(r"^exchanges 2,000: measured error [\d.]+; ")
    )
    page.mouse.move(x + 2, y)
    expect(page.locator(".chart .value")).to_have_text(re.compile("^exchanges 1: "))
    page.mouse.move(x + box["width"] * 0.5, y)
    page.mouse.down()
    page.mouse.move(x + box["width"] * 0.9, y, steps=5)
    page.mouse.up()
    page.mouse.move(x + 2, y)
    # The left end is now in the middle of the run.
    value = page.locator(".chart .value")
    expect(value).to_have_text(re.compile(r"^exchanges (?!1:)[\d,]+: "))
    page.locator("#unzoom").click()
    page.mouse.move(x + 3, y)
    expect(value).to_have_text(re.compile("^exchanges 1: "))


def a_curve_is_switched_off(page: Page) -> None:
    canvas = page.locator("#result-curves canvas")
    before = canvas.evaluate(COUNT_PAINTED)
    for button in page.locator(".chart .legend button").all():
        button.click()
        expect(button).to_have_attribute("aria-pressed", "false")
    assert canvas.evaluate(COUNT_PAINTED) < before
    page.locator(".chart .legend button").first.click()
    expect(page.locator(".chart .legend button").first).to_have_attribute("aria-pressed", "true")


def other_curves_and_other_axes(page: Page) -> None:
    page.locator("#what").select_option("estimate")
    assert legend(page) == ["mean over nodes and trials", "exact expectation", "exact value"]
    expect(page.locator("#log-y")).not_to_be_checked()
    page.locator("#against").select_option("bytes")
    assert "x=bytes" in page.url and "what=estimate" in page.url
    options = page.locator("#against option").all_inner_texts()
    assert "bytes sent (payload)" in options and not any("time" in one for one in options)
    page.locator("#log-y").check()
    assert "scale=log" in page.url


def test_several_runs_are_compared(page: Page, server: Served) -> None:
    open_runs(page, server, "cycle")
    page.get_by_label(re.compile("^star")).check()
    expect(page.locator(".facts-card")).to_have_count(2)
    assert "cycle: measured error" in legend(page) and "star: measured error" in legend(page)
    page.reload()  # the address holds the choice
    expect(page.locator(".facts-card")).to_have_count(2)
    page.get_by_label(re.compile("^cycle")).uncheck()
    expect(page.locator(".facts-card")).to_have_count(1)
    page.get_by_label(re.compile("^star")).uncheck()
    expect(page.locator(".chart .value")).to_have_text("Choose a run from the list.")


def test_hostile_file_names_are_shown_as_text(page: Page, server: Served) -> None:
    open_runs(page, server, HOSTILE, "cycle")
    expect(page.locator(".run-entry .name", has_text="<img")).to_have_text(HOSTILE)
    assert f"{HOSTILE}: measured error" in legend(page)
    assert page.locator("main img").count() == 0 and page.title() != "broken"
    damaged = page.locator(".run-entry.damaged")
    expect(damaged).to_contain_text("is damaged")
    expect(damaged.locator("input")).to_be_disabled()


def test_a_phone(page: Page, server: Served) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme="dark")
    open_runs(page, server, "cycle", "star")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.emulate_media(color_scheme="light")
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_figures_of_a_reproduction(page: Page, reproduction: Path) -> None:
    view = ResultsView(find_results([], [reproduction]), find_chapters([reproduction]))
    with viewed(view) as server, asking(page) as asked:
        page.goto(server.address + "?view=results")
        expect(page.locator(".chapter-head h2")).to_have_text("Mixing times")
        panels = page.locator(".figure .panel")
        expect(panels).to_have_count(6)
        expect(panels.first.locator("h3")).to_have_text("complete, 144 nodes")
        assert panels.first.locator(".legend button").all_inner_texts()[:2] == [
            "exact",
            "bound, corrected",
        ]
        assert panels.first.locator("canvas").evaluate(COUNT_PAINTED) > 500
        assert_pictures_are_said(page, 6)
        assert page.locator(".claims details").count() > 0
        with page.expect_download() as download:
            page.locator(".report-links a").click()
        assert (
            Path(download.value.path()).read_bytes() == (reproduction / "report.html").read_bytes()
        )
        assert all(url.startswith(server.address) for url in asked)


def test_a_chapter_whose_results_are_damaged(reproduction: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(reproduction, copy)
    (copy / "results" / "mixing-times" / "torus.json").write_text("{")
    make = find_chapters([copy])
    assert make is not None
    (chapter,) = make()
    assert "torus.json is damaged" in chapter["problem"] and chapter["figures"] == []
    (copy / "results" / "mixing-times" / "torus.json").unlink()
    assert make()[0]["problem"] == "Some of its results are missing: resume the reproduction."


def test_two_reproductions_are_told_apart(reproduction: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(reproduction, copy)
    make = find_chapters([reproduction, copy])
    assert make is not None
    chapters = make()
    assert len({chapter["key"] for chapter in chapters}) == 2
    assert [chapter["title"] for chapter in chapters] == [
        f"Mixing times ({folder})" for folder in (reproduction, copy)
    ]


def test_runs_of_two_folders_are_told_apart(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    for place in (tmp_path, tmp_path / "below"):
        shutil.copy(runs / "cycle.npz", place)
    found = find_results([], [runs, tmp_path]).files.values()
    groups = {one.group for one in found if one.name == "cycle"}
    assert groups == {str(runs), str(tmp_path), f"{tmp_path}/below"}


@pytest.mark.parametrize("content", ["{", "[]", '{"quick": true}', '{"quick":1,"trials":"x"}'])
def test_damaged_settings(tmp_path: Path, content: str) -> None:
    (tmp_path / "settings.json").write_text(content)
    with pytest.raises(InputError, match=r"settings\.json is damaged: give the \.npz files"):
        find_chapters([tmp_path])


def made(server: Served) -> httpx.Response:
    """Ask for figures until they are ready, or refused."""
    until(lambda: server.get("/api/results/figures").text != '{"chapters":null}', "figures")
    return server.get("/api/results/figures")


def test_figures_are_made_once_while_others_are_served(runs: Path) -> None:
    may_go_on, calls = threading.Event(), []

    def slow() -> list[dict[str, Any]]:
        calls.append(1)
        assert may_go_on.wait(60)
        return [{"title": "Title"}]

    with viewed(ResultsView(find_results([], [runs]), slow)) as server:
        for _ in range(3):
            assert server.get("/api/results/figures").json() == {"chapters": None}
        assert server.get("/api/results").status_code == 200
        may_go_on.set()
        assert made(server).json()["chapters"][0]["title"] == "Title"
    assert calls == [1]


@pytest.mark.parametrize(
    ("problem", "sentence"),
    [
        (InputError("It is damaged: delete it."), "It is damaged: delete it."),
        (KeyError("x"), "The figures could not be made: the server's own log says why."),
    ],
)
def test_figures_that_cannot_be_made(runs: Path, problem: Exception, sentence: str) -> None:
    def fail() -> list[dict[str, Any]]:
        raise problem

    with viewed(ResultsView(find_results([], [runs]), fail)) as server:
        answer = made(server)
        assert answer.status_code == 400 and answer.json()["error"] == sentence


def test_no_reproduction(server: Served) -> None:
    assert find_chapters([]) is None
    answer = server.get("/api/results/figures")
    assert answer.status_code == 404 and "give its folder with --results" in answer.text
