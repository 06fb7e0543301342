"""The swarm view and the terminal, for peers that are a study's members."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from rich.console import Console

from pairgossip.peer.reading import PeerReading, QuestionReading, SwarmReading, Tally
from pairgossip.peer.service.metrics import MetricsServer
from pairgossip.study.service.status import read_status
from pairgossip.study.storage.folder import StudyHome
from pairgossip.watch.metrics import MetricsReader
from pairgossip.watch.peers import peers_at, swarm_in
from pairgossip.watch.peers_view import SwarmView, _spoken
from pairgossip.watch.terminal import PeersPicture
from tests.study.real import found_study

from .members_to_watch import SCRIPT, answered, made_up_study, say
from .peers_to_watch import HOSTILE, told
from .serving import Served
from .studies import ended, running
from .test_swarm_view import COUNT_PAINTED, cell, open_swarm
from .viewing import assert_pictures_are_said, viewed

NAMES = ["ann", "bob", "cy", "dee"]
WIDTH = "document.documentElement.scrollWidth"


@pytest.fixture
def made_up(tmp_path: Path) -> Iterator[tuple[Path, Served]]:
    folder = made_up_study(tmp_path / "swarm", NAMES, absent=1)
    with viewed(SwarmView(swarm_in(folder))) as server:
        yield folder, server


def test_questions_come_to_their_answers(page: Page, made_up: tuple[Path, Served]) -> None:
    folder, server = made_up
    open_swarm(page, server)
    expect(page.locator(".asked-card")).to_contain_text("No question was asked yet.")
    say(folder / "home-1", running(1, "asked", "cy", title="auc of risk by died"))
    say(folder / "home-0", running(1, "digests", "bob", "cy", title="auc of risk by died"))
    asked = page.locator(".asked li[data-phase]")
    expect(asked).to_have_count(1)
    expect(asked.locator(".title")).to_have_text("auc of risk by died")
    expect(asked.locator(".steps [aria-current=step]")).to_contain_text("numbers fixed: now")
    expect(asked.locator(".awaited")).to_have_text("waits for bob and cy")
    assert cell(page, "ann", "answered") == "0 of 1" and cell(page, "cy", "answered") == "0 of 0"
    assert cell(page, "bob", "awaited") == "cy" and "cy" not in cell(page, "cy", "awaited")
    assert cell(page, "bob", "rows") == "21" and cell(page, "bob", "connected") == "2 of 2"
    assert cell(page, "dee", "state") == "absent"
    expect(page.locator("[data-total=members] strong")).to_have_text("3")
    expect(page.locator("[data-total=peers]")).to_contain_text("1 absent")
    painted = page.locator(".swarm-picture .picture canvas").evaluate(COUNT_PAINTED)
    assert painted["blue"] > 100 and painted["orange"] > 100, "awaited, and not"
    say(folder / "home-0", answered(1, 0.75), ended(2, "no", "cy", "not ours"), running(3, "asked"))
    expect(asked).to_have_count(3)
    expect(asked.nth(0).locator(".steps")).to_be_visible()
    expect(page.locator(".asked [data-phase=ended]")).to_contain_text("refused by 'cy': not ours")
    done = page.locator(".asked [data-phase=done]")
    expect(done.locator(".value")).to_have_text("0.750 (95 %: 0.650 to 0.850)")
    expect(done).to_contain_text("63 rows; signed by all members")
    tile = page.locator("[data-total='questions answered']")
    expect(tile).to_have_text("questions answered11 open, 1 ended without an answer")
    assert_pictures_are_said(page, 1)
    journey = page.locator(".asked li", has_text="gini of charges")
    say(folder / "home-0", running(3, "rows", "cy", title="gini of charges", travels=True))
    expect(journey.locator("[aria-current=step]")).to_contain_text("rows travel")
    say(folder / "home-0", running(3, "done", title="gini of charges", travels=True))
    expect(journey).to_contain_text("each member has an estimate of its own")


def test_problems_come_first(page: Page, made_up: tuple[Path, Served]) -> None:
    folder, server = made_up
    open_swarm(page, server)
    rows = page.locator("table.peers tbody tr[data-state]")
    expect(rows.locator("th")).to_have_text(["dee", "ann", "bob", "cy"])
    expect(page.locator(".troubles")).to_be_hidden()
    for name in ("home-1", "home-2"):
        say(folder / name, problems=("The clock is late: set it.",))
    expect(rows.locator("th")).to_have_text(["bob", "cy", "dee", "ann"])
    expect(page.locator(".troubles li")).to_have_text(["bob and cy: The clock is late: set it."])
    places = [
        page.locator(name).first.bounding_box() for name in (".troubles", ".tiles", ".table-card")
    ]
    heights = [one["y"] for one in places if one is not None]
    assert heights == sorted(heights) and len(heights) == 3, "above all figures"
    say(folder / "home-0", pid=2**22 + 1)
    expect(page.locator(".troubles li").first).to_have_text("ann: has ended without notice.")
    say(folder / "home-1", problems=())
    expect(rows.locator("th")).to_have_text(["ann", "cy", "dee", "bob"])


def test_hostile_text_is_text_and_fits_a_phone(page: Page, made_up: tuple[Path, Served]) -> None:
    folder, server = made_up
    page.set_viewport_size({"width": 390, "height": 844})
    open_swarm(page, server)
    open_ = running(1, "asked", HOSTILE, "x" * 300, title=HOSTILE * 3, asked_by=HOSTILE)
    say(folder / "home-0", open_, ended(2, "no", HOSTILE, HOSTILE), problems=(HOSTILE,))
    expect(page.locator(".asked [data-phase=asked] .title")).to_contain_text("<img src=x onerror")
    expect(page.locator(".asked .awaited")).to_contain_text("waits for <img src=x onerror=docu")
    expect(page.locator(".troubles")).to_contain_text(HOSTILE)
    assert page.locator("main img").count() == 0 and page.title() != "broken"
    assert page.evaluate(WIDTH) <= 390


def test_members_by_their_folders_and_metrics(tmp_path: Path) -> None:
    sites = found_study(tmp_path, 3)
    swarm = peers_at([str(one.folder) for one in sites[:2]])
    assert [one.name for one in swarm.readers] == ["hospital-1", "hospital-2"]
    assert [one.read().state for one in swarm.readers] == ["down", "down"]
    folder = made_up_study(tmp_path / "swarm", NAMES)
    say(folder / "home-2", answered(1, 0.5), running(2, "asked"), problems=("No disk.",))
    server = MetricsServer("127.0.0.1:0", lambda: read_status(StudyHome(folder / "home-2")))
    try:
        found = MetricsReader("127.0.0.1", server.port).read()
    finally:
        server.close()
    assert (found.state, found.tally, found.rows) == ("up", Tally(1, 1, 0), 22)
    assert (found.members, found.covers, found.refused, found.questions) == (4, (3, 3), 2, ())
    assert found.problems == ("1 to look at: see peer status.",)
    alone = SwarmReading(0.0, (found,))
    assert alone.summary() == "0 s: 1 up; 1 of 2 questions answered; 2 refused"
    assert np.isnan(_spoken(("127.0.0.1",), alone)).all(), "metrics name no questions"


def question(number: int, phase: str, *awaited: str) -> QuestionReading:
    title = f"question {number}"
    return QuestionReading(str(number), title, "ann", phase, awaited=awaited, seen=float(number))


def member(name: str, *questions: QuestionReading) -> PeerReading:
    answers = sum(one.phase == "done" for one in questions)
    tally = Tally(answers, len(questions) - answers, 0)
    facts = {"rows": 9, "members": 3, "covers": (2, 2), "tally": tally, "questions": questions}
    return told(0, None, name=name, **facts)


def test_whom_the_first_open_question_waits_for() -> None:
    late = member("cy")
    peers = (member("ann", question(1, "words", "bob")), member("bob", question(1, "echoes")), late)
    assert _spoken(tuple(NAMES[:3]), SwarmReading(0.0, peers))[:2].tolist() == [1.0, -1.0]
    assert np.isnan(_spoken(tuple(NAMES[:3]), SwarmReading(0.0, peers))[2])
    done = (member("ann", question(1, "done"), question(2, "asked", "cy")), *peers[1:])
    assert _spoken(tuple(NAMES[:3]), SwarmReading(0.0, done))[[0, 2]].tolist() == [1.0, -1.0]


def test_the_terminal_shows_questions() -> None:
    console = Console(width=160, record=True, file=io.StringIO())
    picture = PeersPicture(console, "3 peers", None)
    asked = question(2, "asked", *(f"peer-{k}" for k in range(8)))
    picture.add(SwarmReading(2.0, (member("ann", question(1, "done"), asked), member("bob"))))
    assert picture.line() == (
        "2 s: 2 up; 1 of 2 questions answered; question 2: asked, waiting for peer-0, peer-1, "
        "peer-2, peer-3, peer-4 and 3 more; 0 refused"
    )
    console.print(picture.draw(160, 40))
    text = console.export_text()
    assert "waits for" in text and "peer-0, peer-1, peer-2, ..." in text and "1 of 2" in text
    assert "generation" not in text and "error (log)" not in text


def test_the_terminal_says_problems_first() -> None:
    console = Console(width=160, record=True, file=io.StringIO())
    picture = PeersPicture(console, "40 peers", None)
    peers = [member(f"peer-{k}") for k in range(40)]
    peers[30] = told(0, None, name="lost", state="down")
    peers[35] = told(0, None, name="late", problems=("The clock is late.",) * 5)
    picture.add(SwarmReading(2.0, tuple(peers)))
    console.print(picture.draw(160, 24))
    lines = console.export_text().splitlines()
    assert lines[1:4] == ["late: The clock is late."] * 3 and len(lines) <= 24
    names = [line.split()[0] for line in lines[4:] if line.strip()]
    assert names.index("lost") < names.index("late") < names.index("peer-0")
    assert "no question asked yet" in lines[4]


@pytest.mark.skipif(sys.platform == "win32", reason="signals as on Unix")
def test_a_real_study(page: Page, tmp_path: Path) -> None:
    folder = tmp_path / "swarm"
    with subprocess.Popen([sys.executable, "-c", SCRIPT, str(folder)]) as process:
        try:
            end = time.monotonic() + 120
            while not (folder / "swarm.json").exists():
                assert process.poll() is None and time.monotonic() < end
                time.sleep(0.05)
            with viewed(SwarmView(swarm_in(folder))) as server:
                open_swarm(page, server)
                names = [f"peer-{number:02d}" for number in range(1, 6)]
                expect(page.locator(".asked [data-phase=done]")).to_have_count(2)
                expect(page.locator("#swarm-status")).to_have_text("the swarm has ended")
                told = page.locator("table.peers tbody tr[data-state]")
                expect(told.locator(".badge")).to_have_text(["stopped"] * 5)
                assert sorted(told.locator("th").all_inner_texts()) == names
                assert {cell(page, name, "members") for name in names} == {"5"}
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
    assert json.loads((folder / "swarm.json").read_text())["result"]["sound"]
