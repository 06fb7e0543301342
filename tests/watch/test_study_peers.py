"""Five real members, asked and accepted in the browser, to the curve of the result."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, expect

from pairgossip.study.service.requests import Accept
from tests.study.real import SPEC, Site, found_study, running, until

from .studies import serving
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
    """A yes to other words than those of now is none."""
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


def test_five_members_decide_on_their_pages(page: Page, tmp_path: Path) -> None:
    sites = found_study(tmp_path)
    asker, *others = sites
    with running(sites):
        until(lambda: all(one.has_members(5) for one in sites), "a list of 5")
        ask(page, asker, SPEC)
        until(lambda: all(len(one.peer.questions()) == 1 for one in others), "it is heard")
        other_words(others[0])
        for one in others:
            accept(page, one)
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
