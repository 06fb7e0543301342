"""Draw the pictures of the pages in a browser anew: python docs/screenshots.py [PART ...]

The real command serves the page, and Chromium looks at it. Simulations are stopped after a fixed
number of steps, so that the same seed gives the same view; the swarm is a real one, whose clocks
nobody sets, and differs a little from one time to the next.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright

import pairgossip as pg

PICTURES = Path(__file__).parent / "_static" / "watch"
INCOMES: dict[str, str] = {"data": "engel", "column": "income", "kernel": "gini", "seed": "0"}
DESKTOP = ViewportSize(width=1280, height=940)
PHONE = ViewportSize(width=390, height=844)
COMMAND = str(Path(sys.executable).with_name("pairgossip"))
PEERS = 12
FIRST_PORT = 47_447
QUESTION = """
kernel = "auc"
columns = ["clump_thickness"]
label = "class"
[ranges]
clump_thickness = [1, 10]
class = [2, 4]
"""
ANOTHER = """
kernel = "gini"
columns = ["mitoses"]
[ranges]
mitoses = [1, 10]
"""
STEP = """async (count) => {
  const session = new URLSearchParams(location.search).get("session");
  for (let k = 0; k < count; k += 1) {
    await fetch(`/api/sessions/${session}/control`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ action: "step", value: "" }),
    });
  }
}"""


def pairgossip(*words: str) -> None:
    """Run the command to its end."""
    subprocess.run([COMMAND, *words], check=True, stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def running(*words: str, **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Run `pairgossip` with these words for as long as it is needed, then press Ctrl-C."""
    program = subprocess.Popen([COMMAND, *words], stdout=subprocess.PIPE, text=True, **options)
    try:
        yield program
    finally:
        program.send_signal(signal.SIGINT)
        program.communicate(timeout=60)


@contextlib.contextmanager
def watching(*words: str) -> Iterator[str]:
    """Serve the page and yield its address."""
    with running("watch", "--no-browser", *words) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()


def keep(page: Page, name: str, *, whole: bool = False) -> None:
    """Write what is on the screen now, or the whole page."""
    save(Image.open(BytesIO(page.screenshot(full_page=whole))).convert("RGB"), name)


def save(shown: Image.Image, name: str) -> None:
    """Write a picture; six bits of each color are enough."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    smooth = shown.point([value & 0xFC | value >> 6 for value in range(256)] * 3)
    smooth.save(PICTURES / f"{name}.png", optimize=True)


@contextlib.contextmanager
def opened(browser: Browser, address: str, *, dark: bool = False, phone: bool = False) -> Any:
    """Open a page whose flashes stay instead of fading, so that a picture can show them."""
    context = browser.new_context(
        viewport=PHONE if phone else DESKTOP,
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.set_default_timeout(120_000)
    page.goto(address)
    yield page
    context.close()


def until_theory(page: Page) -> None:
    """Wait for the curves that take some seconds to compute."""
    expect(page.get_by_role("button", name="exact bias").first).to_be_visible()


def first_look(browser: Browser, address: str, *, name: str, **look: bool) -> None:
    """Draw one network on its way, an observation that is followed, and one exchange."""
    fields = {**INCOMES, "graph": "random-geometric", "follow": "17"}
    with opened(browser, f"{address}?{urlencode(fields)}", **look) as page:
        expect(page.locator("canvas[data-done]")).to_be_visible()
        page.evaluate(STEP, 2_499)
        page.wait_for_timeout(1_000)  # what flashed on the way is over
        page.click("#step-one")
        expect(page.locator("canvas[data-done='2500']")).to_be_visible()
        until_theory(page)
        keep(page, name)


def to_the_end(browser: Browser, address: str, *, name: str, fields: dict[str, str]) -> None:
    """Draw a run that is over."""
    look = {"dark": "graph-2" in fields}
    with opened(browser, f"{address}?{urlencode({**fields, 'speed': 'max'})}", **look) as page:
        expect(page.locator("#connection")).to_have_text("connected")
        if "graph-2" in fields:  # room for both runs and their curves
            page.locator("details.settings > summary").click()
        page.click("#start")
        expect(page.locator("#run-status")).to_have_text("done")
        if fields["data"] == "engel" and "clock" not in fields:
            until_theory(page)
        page.wait_for_timeout(1_000)
        keep(page, name, whole="graph-2" in fields)


def simulations(browser: Browser, _: Path) -> None:
    """Draw the simulation view."""
    with watching() as address:
        first_look(browser, address, name="simulation")
        first_look(browser, address, name="phone", phone=True, dark=True)
        two = {**INCOMES, "graph": "complete", "graph-2": "cycle", "iterations": "12000"}
        to_the_end(browser, address, name="two-runs", fields=two)
        ways = {"clock": "async", "method-2": "sketch", "clock-2": "sync", "schedule-2": "ordered"}
        torus = {"nodes": "225", "graph": "torus", "graph-2": "torus", "iterations": "15000"}
        to_the_end(browser, address, name="sketch", fields={**INCOMES, **torus, **ways})
        many = {"data": "two-normals", "nodes": "10000", "column": "score", "kernel": "gini",
                "graph": "torus", "iterations": "1000000", "seed": "0"}  # fmt: skip
        to_the_end(browser, address, name="ten-thousand", fields=many)
        sites = {"data": "two-normals", "column": "score", "kernel": "gini", "group-by": "site",
                 "graph": "random-geometric", "iterations": "60000", "seed": "0"}  # fmt: skip
        to_the_end(browser, address, name="sites", fields=sites)


def settling(browser: Browser, _: Path) -> None:
    """Draw the ROC curves of nodes at three times, on their way to that of all rows."""
    fields = {"data": "breast-cancer-wisconsin", "column": "clump_thickness", "label": "class",
              "kernel": "auc", "method": "sketch", "nodes": "60", "graph": "complete",
              "seed": "0"}  # fmt: skip
    pictures, done = [], 0
    with watching() as address, opened(browser, f"{address}?{urlencode(fields)}") as page:
        expect(page.locator("canvas[data-done]")).to_be_visible()
        for exchanges in (480, 640, 850):
            page.evaluate(STEP, exchanges - done)
            expect(page.locator(f"canvas[data-done='{exchanges}']")).to_be_visible()
            page.wait_for_timeout(1_000)
            drawn = page.locator("figure.roc svg").screenshot()
            pictures.append(Image.open(BytesIO(drawn)).convert("RGB"))
            done = exchanges
    width, height = pictures[0].size
    beside = Image.new("RGB", (len(pictures) * width, height), "white")
    for number, one in enumerate(pictures):
        beside.paste(one, (number * width, 0))
    save(beside, "curves")


def swarm(browser: Browser, folder: Path) -> None:
    """Draw a small swarm of real peers."""
    data = folder / "incomes.csv"
    pairgossip("dataset", "engel", "--out", str(data))
    words = ["--peers", str(PEERS), "--data", str(data), "--column", "income", "--kernel", "gini",
             "--graph", "watts-strogatz", "--fast", "--seconds", "120"]  # fmt: skip
    with swarm_at_work(browser, folder / "swarm", *words) as page:
        up = page.locator("table.peers tr[data-state=up]")
        expect(up).to_have_count(PEERS)
        page.wait_for_timeout(25_000)
        keep(page, "swarm")


def sums(browser: Browser, folder: Path) -> None:
    """Draw a study that has one answer and asks on, while members are killed and frozen."""
    specs, data = [folder / "auc.toml", folder / "gini.toml"], folder / "scores.csv"
    for spec, text in zip(specs, (QUESTION, ANOTHER), strict=True):
        spec.write_text(text)
    pairgossip("dataset", "breast-cancer-wisconsin", "--out", str(data))
    words = [*map(str, specs), "--peers", "5", "--data", str(data), "--fast", "--seconds", "60"]
    faults = ["--kills", "15", "--freezes", "8"]
    with swarm_at_work(browser, folder / "sums", *words, *faults) as page:
        expect(page.locator(".asked [data-phase=done]")).to_have_count(1)
        expect(page.locator(".asked [aria-current=step]")).to_have_count(1)
        expect(page.locator(".troubles")).to_be_visible()
        keep(page, "sums", whole=True)


@contextlib.contextmanager
def swarm_at_work(browser: Browser, home: Path, *words: str) -> Iterator[Page]:
    """Run a swarm as long as the block runs, and look at it."""
    with running("swarm", "run", *words, "--home", str(home), stderr=subprocess.DEVNULL):
        until = time.monotonic() + 60
        while not (home / "swarm.json").exists() and time.monotonic() < until:
            time.sleep(0.2)
        with (
            watching("--swarm", str(home)) as address,
            opened(browser, f"{address}?view=swarm") as page,
        ):
            yield page


def found_study(folder: Path) -> list[Path]:
    """Make three members of a study who have joined one another; return their folders."""
    homes = [folder / f"hospital-{k}" for k in (1, 2, 3)]
    files = str(folder / "hospital-{}.csv")
    pairgossip("dataset", "breast-cancer-wisconsin", "--split", str(len(homes)), "--out", files)
    for port, home in enumerate(homes, FIRST_PORT):
        place = ("--listen", f"tls/127.0.0.1:{port}", "--yes", "--home", str(home))
        source = str(home.with_suffix(".csv"))
        pairgossip("peer", "init", "--name", home.name, "--source", source, *place)
        settings = home / "peer.toml"  # or the register would remember these rows
        settings.write_text(f"rehearsal = true\n{settings.read_text()}")
        words = [COMMAND, "peer", "invite", "--home", str(home)]
        home.with_suffix(".txt").write_bytes(subprocess.check_output(words))
    for home in homes:
        invitations = [str(one.with_suffix(".txt")) for one in homes]
        pairgossip("peer", "join", "--yes", "--home", str(home), *invitations)
    return homes


def study(browser: Browser, folder: Path) -> None:
    """Draw the page of a member whose yes is awaited."""
    homes = found_study(folder)
    question = folder / "auc.toml"
    question.write_text(QUESTION)
    with contextlib.ExitStack() as stack:
        for home in homes:
            stack.enter_context(
                running("peer", "run", "--home", str(home), stderr=subprocess.DEVNULL)
            )
        words = ("peer", "page", "--no-browser", "--home", str(homes[1]))
        server = stack.enter_context(running(*words))
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        page = stack.enter_context(opened(browser, address))
        expect(page.locator("#members li[data-up=true]")).to_have_count(len(homes))
        pairgossip("peer", "ask", str(question), "--home", str(homes[0]))
        expect(page.get_by_role("button", name="Accept question 1")).to_be_visible()
        keep(page, "study")


def results(browser: Browser, folder: Path) -> None:
    """Draw three saved runs."""
    files = []
    for graph in ("complete", "watts-strogatz", "cycle"):
        income = pg.datasets.engel()["income"]
        run = pg.estimate(income, "gini", graph, iterations=50_000, trials=5, seed=0)
        files.append(folder / f"{graph}.npz")
        run.save(files[-1])
    with (
        watching(*map(str, files)) as address,
        opened(browser, f"{address}?view=results") as page,
    ):
        boxes = page.locator(".run-entry input")
        expect(boxes).to_have_count(len(files))
        for box in boxes.all():
            box.check()
        page.wait_for_timeout(1_500)
        keep(page, "results")


def main(*asked: str) -> None:
    """Draw all pictures, or those of some parts."""
    # Chromium's own sandbox does not work for root, as whom containers run.
    arguments = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    expect.set_options(timeout=120_000)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=found, args=arguments)
        for draw in (simulations, settling, results, study, swarm, sums):
            if not asked or draw.__name__ in asked:
                draw(browser, Path(folder))
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
