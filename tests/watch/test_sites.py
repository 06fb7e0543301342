"""Sites that hold several rows, in the numbers of a run and in a real browser."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from pairgossip.errors import InputError
from pairgossip.watch.simulation.build import build_runs
from pairgossip.watch.simulation.frames import make_frames, make_setup
from pairgossip.watch.simulation.observations import Uploads
from pairgossip.watch.simulation.runs import WatchedRun
from pairgossip.watch.simulation.settings import Settings

from .serving import Fields, Served
from .test_page import address, colors, quiet, readout, status, visit

WINE: Fields = {"data": "wine", "column": ["alcohol"], "group-by": "class", "graph": "path"}
MADE_UP: Fields = {"data": "two-normals", "column": ["score"], "group-by": "site"}


def one_run(**fields: str | list[str]) -> WatchedRun:
    (run,) = build_runs(Settings.read(fields), Uploads())
    return run


def test_the_picture_is_of_sites() -> None:
    run = one_run(**WINE, kernel="gini", follow="100", seed="3")
    setup = make_setup(run, ("wine",))
    assert (setup["nodes"], setup["edge_count"], setup["family"]) == (3, 2, "path")
    assert setup["sites"]["names"] == ["0", "1", "2"]
    assert setup["sites"]["rows"].tolist() == [59, 71, 48]
    assert run.follower is not None
    assert list(run.follower.trail) == [1]  # the kind of the row numbered 100
    run.advance(5_000)
    (frame,), _ = make_frames([run], None)
    trail = frame["trail"]
    assert set(trail) == {0, 1, 2}
    # On a path from 0 to 2 no walk jumps, and a step between rows of a site is not a move.
    assert all(abs(one - other) == 1 for one, other in itertools.pairwise(trail))
    assert frame["local"] > 0
    assert {place for pair in frame["exchanges"] for place in pair} == {0, 1, 2}


def test_names_of_sites_go_with_their_rows() -> None:
    uploads = Uploads()
    places = ["10", "2", "north", "2", "10", "10"]
    content = "\n".join(["x,place", *(f"{k},{place}" for k, place in enumerate(places))])
    key, _ = uploads.add(content.encode(), "places.csv")
    fields: Fields = {"data": key, "column": ["x"], "kernel": "gini", "group-by": "place"}
    (run,) = build_runs(Settings.read(fields), uploads)
    assert run.places.names is not None and run.places.sizes is not None
    found = dict(zip(run.places.names, run.places.sizes.tolist(), strict=True))
    assert found == {"10": 3, "2": 2, "north": 1}


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"schedule": "ordered"}, "leave out schedule ordered, or use method sketch."),
        ({"column": ["class"]}, "Column 'class' says where rows are: use other columns"),
        ({"group-by": "clas"}, "Unknown column of wine 'clas': did you mean 'class'?"),
        ({"nodes": "2", "group-by": "hue", "follow": "2"}, "There is no row 2 to follow"),
        ({"nodes": "50", "data": "engel", "column": ["income"]}, "Unknown column of engel 'class'"),
    ],
)
def test_mistakes_about_sites(fields: Fields, sentence: str) -> None:
    with pytest.raises(InputError) as problem:
        one_run(**{**WINE, "kernel": "gini", **fields})
    assert sentence in str(problem.value)


def test_one_site_has_nobody_to_talk_to(served: Served) -> None:
    content = "x,place\n" + "\n".join(f"{k},here" for k in range(6))
    found = served.upload(content.encode()).json()
    assert found["sites"] == {}
    told = served.refuse(data=found["id"], column="x", kernel="gini", **{"group-by": "place"})
    assert told.startswith("Column 'place' is 'here' in every row, so there is one site only")
    told = served.refuse(data=found["id"], kernel="gini", **{"group-by": "x"})
    assert told.startswith("The data has no column of numbers besides the label and the sites:")


def test_columns_that_may_be_sites_are_offered(served: Served) -> None:
    found = {data["name"]: data for data in served.ask("/api/choices").json()["data"]}
    assert (found["wine"]["site"], found["wine"]["sites"]["class"]) == ("class", 3)
    assert (found["two-normals"]["site"], found["two-normals"]["sites"]["site"]) == ("site", 24)
    assert found["engel"]["site"] is None
    rows = "\n".join(f"p{k},{k % 3},{k * k}" for k in range(12))
    sent = served.upload(f"name,place,score\n{rows}".encode()).json()
    assert sent["sites"] == {"place": 3}


def test_following_a_row_at_a_site(served: Served) -> None:
    key = served.open(**MADE_UP, kernel="gini", graph="cycle")
    assert served.control(key, "follow-node", "23").status_code == 200
    answer = served.control(key, "follow-node", "24")
    assert (answer.status_code, answer.json()["error"]) == (
        400,
        "There is no site '24': sites are 0 to 23.",
    )
    assert served.control(key, "follow", "999").status_code == 200
    assert "rows are 0 to 999" in served.control(key, "follow", "1000").json()["error"]


def test_sites_in_the_page(page: Page, served: Served) -> None:
    visit(page, served, data="wine", column="alcohol", kernel="gini", graph="watts-strogatz")
    page.select_option("#group-by", "class")
    expect(page.locator("article .sub")).to_contain_text("3 sites with 178 rows, 48 to 71 each")
    assert address(page)["group-by"] == ["class"]
    assert address(page)["graph"] == ["complete"]  # three are too few for the previous ring
    hint = page.locator("label.field", has=page.locator("#group-by")).locator(".hint")
    expect(hint).to_contain_text("3 sites hold 178 rows")
    page.fill("#nodes", "100")
    page.locator("#nodes").blur()
    expect(hint).to_contain_text("up to 3 sites hold 100 of 178 rows")
    expect(page.locator("article .sub")).to_contain_text("3 sites with 100 rows")
    page.fill("#nodes", "")
    page.locator("#nodes").blur()
    expect(page.locator("article .sub")).to_contain_text("3 sites with 178 rows")
    canvas = page.locator("canvas[data-run]")
    canvas.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".about")).to_have_text("Site 0, 59 rows: nothing known yet")
    page.keyboard.press("Enter")
    expect(page.locator(".follow span")).to_have_text("Row 0 is at site 0, after 0 moves.")
    page.locator("#speed").press("End")
    page.click("#start")
    status(page, "done")
    assert int(readout(page, "local").replace(",", "")) > 1_000
    assert colors(page)["painted"] > 2_000
    page.select_option("#group-by", "")
    expect(page.locator("article .sub")).to_contain_text("178 nodes")
    quiet(page)


def test_sites_of_an_upload(page: Page, served: Served, tmp_path: Path) -> None:
    file = tmp_path / "clinics.csv"
    clinics = ("north", "east", "south", "west")
    rows = "\n".join(f"{clinics[k * k % 4]},{k % 17},{k}" for k in range(60))
    file.write_text(f"clinic,score,patient\n{rows}\n")
    visit(page, served, **WINE, kernel="gini")
    page.set_input_files("#file", file)
    expect(page.locator("article .sub")).to_contain_text("60 nodes")
    options = page.locator("#group-by option")
    expect(options).to_have_text(
        ["every row is a node", "in column clinic: 2 sites", "in column score: 17 sites"]
    )
    page.select_option("#group-by", "clinic")
    expect(page.locator("article .sub")).to_contain_text("2 sites with 60 rows, 30 each")
    quiet(page)


def test_only_what_can_be_watched_is_suggested(page: Page, served: Served, tmp_path: Path) -> None:
    file = tmp_path / "clinics.csv"
    rows = "\n".join(f"north,{k % 2},{k}" for k in range(60))
    file.write_text(f"site,half,score\n{rows}\n")  # one site, and two halves too few for a cycle
    visit(page, served, data="engel", column="income", kernel="gini", follow="200", speed="max")
    page.set_input_files("#file", file)  # which has no row 200 to follow
    expect(page.locator("article .sub")).to_contain_text("60 nodes")
    page.select_option("#method", "collect")
    expect(page.locator("article h2")).to_have_text("collect (sync) on complete")
    expect(page.locator("#connection")).to_have_text("connected")
    page.click("#start")
    status(page, "done")
    offered = page.locator(".ending-next button")
    expect(offered).to_have_text(["Compare with sketch", "Compare with a cycle graph"])
    page.select_option("#group-by", "half")
    expect(page.locator("article .sub")).to_contain_text("2 sites with 60 rows, 30 each")
    page.click("#start")
    status(page, "done")
    expect(offered).to_have_text(["Compare with sketch"])
    quiet(page)
