"""Five real members: one asks and one accepts in the browser, up to the result's curve."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import httpx
from playwright.sync_api import Page, expect

from pairgossip.study.service.requests import Accept
from tests.study.real import SPEC, Site, found_study, running, until

from .studies import serving
from .test_command import START, take_signals
from .test_study_page import dialog, visit

CURVE = "() => document.querySelector('.answer figure svg path')?.getBoundingClientRect().width"


def accept(page: Page, site: Site) -> None:
    """Say yes to the first question on the page of a member."""
    with serving(site.reading) as served:
        visit(page, served)
        page.get_by_role("button", name="Accept question 1").click()
        dialog(page).get_by_role("button", name="Say yes").click()
        expect(page.locator("#notice")).to_contain_text("Accepted question 1")
        expect(page.get_by_role("button", name="Accept question 1")).to_have_count(0)


def other_words(site: Site) -> None:
    """Check that a yes to words other than the current ones is refused."""
    name = site.reading.question(1).name
    reply = site.reading.requests.wait(
        site.reading.requests.write(Accept(name, words="0" * 64)), 60
    )
    assert reply is not None and not reply.is_done and "read it again" in reply.sentence


def ask(page: Page, site: Site, text: str) -> None:
    """Ask a question on the page of a member."""
    with serving(site.reading) as served:
        visit(page, served)
        expect(page.locator("#members li")).to_have_count(5)
        page.get_by_label("The question").fill(text)
        page.get_by_role("button", name="Show what would leave").click()
        expect(page.locator("#ask .preview")).to_contain_text("The rows are those of batch 1")
        page.get_by_role("button", name="Ask all members").click()
        dialog(page).get_by_role("button", name="Ask").click()
        expect(page.locator("#notice")).to_have_text("Asked question 1.")


def test_two_of_five_members_decide_on_their_pages(page: Page, tmp_path: Path) -> None:
    sites = found_study(tmp_path)
    asker, *others = sites
    with running(sites):
        until(lambda: all(one.has_members(5) for one in sites), "a list of 5")
        ask(page, asker, SPEC)
        until(lambda: all(len(one.peer.questions()) == 1 for one in others), "it is heard")
        other_words(others[0])
        accept(page, others[0])
        for one in others[1:]:
            one.peer.accept(1)
        value = asker.peer.question(1).wait(200).result.value
        with serving(others[0].reading) as served:
            visit(page, served)
            page.locator("#results a").first.click()
            expect(page.locator(".answer .value")).to_have_text(f"{value:.3f}")
            expect(page.locator(".answer")).to_contain_text("Signed by all 5 members")
            assert page.evaluate(CURVE) > 100
            page.get_by_role("link", name="All questions").click()
            expect(page.locator("#record")).to_contain_text("Masked numbers shown, question 1")
            page.get_by_role("button", name="Check the record").click()
            expect(page.locator("#record .checked[data-state=whole]")).to_be_visible()


def test_the_command_serves_the_page_until_ctrl_c(tmp_path: Path) -> None:
    site = Site(tmp_path, "hospital-1", 0)
    command = [sys.executable, "-c", START, "peer", "page", "--no-browser", "--home"]
    with subprocess.Popen(
        [*command, str(site.folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=take_signals,
    ) as process:
        assert process.stdout is not None
        server, _, token = process.stdout.readline().strip().partition("#token=")
        with httpx.Client(base_url=server, timeout=60, trust_env=False) as client:
            assert client.get("/").status_code == 200
            assert client.get("/api/study").status_code == 401
            answer = client.get("/api/study", headers={"Authorization": f"Bearer {token}"})
        assert "start it with pairgossip peer run" in answer.json()["error"]
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "Ctrl-C ends it; the peer goes on.\n")
