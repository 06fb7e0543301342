"""The operator's page of a study in real Chromium: what an operator sees and decides."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from playwright.sync_api import Locator, Page, ViewportSize, expect

from pairgossip.errors import InputError
from pairgossip.peer.specification.spec import parse_spec
from pairgossip.study.rows.journey import OwnEstimate
from pairgossip.study.service.requests import Accept, Ask, Evict, Join, Refuse, Reply, Withdraw
from pairgossip.study.service.status import Proposal
from tests.peer.test_reports import VALIDATION
from tests.peer.test_reports import study as report_of

from .studies import (
    AUC,
    IMAGE,
    LEAVES,
    SCRIPT,
    WORDS,
    MadeStudy,
    ServedStudy,
    answering,
    ended,
    entry,
    proposal,
    question,
    running,
    serving,
)
from .test_contrast import POORLY_READABLE, SCHEMES
from .test_study_view import written
from .viewing import END_ANIMATIONS, asking, assert_pictures_are_said, lacking

MARKUP = """async (html) => {
  const { readMarkup } = await import("/common/markup.js");
  const place = document.createElement("div");
  place.append(readMarkup(html));
  return place.innerHTML;
}"""


PHONE: ViewportSize = {"width": 390, "height": 844}
WIDTH = "() => document.documentElement.scrollWidth"


@pytest.fixture
def made(tmp_path: Path) -> MadeStudy:
    study = MadeStudy(tmp_path)
    study.write(question(1), running(2, "words", "hospital-5", title="gini of charges"))
    return study


@pytest.fixture
def served(made: MadeStudy) -> Iterator[ServedStudy]:
    with serving(made) as server:
        yield server


def visit(page: Page, served: ServedStudy) -> None:
    page.goto(served.address)
    expect(page.locator("#connection")).to_contain_text("peer is")


def looks(page: Page) -> None:
    """Wait until the page has refreshed twice more."""
    seen = int(page.locator("body").get_attribute("data-looks") or 0)
    page.wait_for_function(f"() => Number(document.body.dataset.looks) > {seen + 1}")


def dialog(page: Page) -> Locator:
    return page.get_by_role("dialog")


def test_a_page_whose_script_has_not_loaded_says_so(page: Page, served: ServedStudy) -> None:
    with lacking(page, "/study/desk.js"):
        page.goto(served.address)
        page.evaluate(END_ANIMATIONS)
        expect(page.locator("#unloaded")).to_be_visible()
    page.reload()
    expect(page.locator("#connection")).to_contain_text("peer is")
    expect(page.locator("#unloaded")).to_have_count(0)


def test_a_question_is_accepted_once_its_words_are_confirmed(
    page: Page, served: ServedStudy, made: MadeStudy
) -> None:
    visit(page, served)
    waiting = page.locator("#waiting article")
    for sentence in LEAVES:
        expect(waiting).to_contain_text(sentence)
    page.get_by_role("button", name="Accept question 1").click()
    expect(dialog(page)).to_have_accessible_name("Say yes to question 1?")
    expect(dialog(page)).to_contain_text(LEAVES[-1])
    dialog(page).get_by_role("button", name="Cancel").click()
    assert written(made) == []
    page.get_by_role("button", name="Accept question 1").click()
    dialog(page).get_by_role("button", name="Say yes").click()
    expect(page.locator("#notice")).to_have_text("Written down: the peer does it once it runs.")
    expect(waiting).to_contain_text("Your yes is written down")
    expect(page.get_by_role("button", name="Accept question 1")).to_have_count(0)
    assert written(made) == [Accept(f"{1:064x}", words=WORDS)]


def test_a_question_is_refused_with_a_reason(
    page: Page, served: ServedStudy, made: MadeStudy
) -> None:
    visit(page, served)
    page.get_by_role("button", name="Refuse question 1").click()
    dialog(page).get_by_role("button", name="Say no").click()
    expect(dialog(page)).to_be_visible()  # a reason is needed
    page.get_by_label("Reason").fill("The ethics board has not decided.")
    dialog(page).get_by_role("button", name="Say no").click()
    expect(dialog(page)).to_have_count(0)
    assert written(made) == [Refuse(f"{1:064x}", "The ethics board has not decided.")]


def test_everything_can_be_done_by_keyboard(
    page: Page, served: ServedStudy, made: MadeStudy
) -> None:
    visit(page, served)
    button = page.get_by_role("button", name="Accept question 1")
    for _ in range(20):
        page.keyboard.press("Tab")
        if button.evaluate("it => it === document.activeElement"):
            break
    expect(button).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("dialog h2")).to_be_focused()  # what is read aloud begins there
    page.keyboard.press("Escape")
    expect(button).to_be_focused()
    made.write(question(1, yeses=("hospital-2", "hospital-3")))
    expect(page.locator("#waiting")).to_contain_text("hospital-2 and hospital-3")
    expect(button).to_be_focused()  # though everything around it was remade
    page.keyboard.press("Enter")
    made.write(question(1, yeses=("hospital-2", "hospital-5")))
    expect(page.locator("#waiting")).to_contain_text("hospital-2 and hospital-5")
    page.keyboard.press("Escape")
    expect(button).to_be_focused()  # though the one that opened the dialog is gone
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Say yes")).to_be_focused()
    page.keyboard.press("Enter")
    expect(dialog(page)).to_have_count(0)
    expect(page.locator("#main")).to_be_focused()  # there is no such button any more
    assert written(made) == [Accept(f"{1:064x}", words=WORDS)]


def test_what_is_refused_stays_in_the_dialog(
    page: Page, served: ServedStudy, made: MadeStudy
) -> None:
    visit(page, served)
    page.get_by_role("button", name="Accept question 1").click()
    made.write(question(1, leaves=("Everything would leave.",)))
    dialog(page).get_by_role("button", name="Say yes").click()
    problem = dialog(page).get_by_role("alert")
    expect(problem).to_contain_text("in other words now than those that you were shown")
    assert written(made) == []


def test_what_a_question_comes_to_stays_on_the_page(
    page: Page, served: ServedStudy, made: MadeStudy
) -> None:
    made.runs = True
    visit(page, served)
    waiting = page.locator("#waiting article")
    page.get_by_role("button", name="Try it on my rows").click()
    expect(waiting).to_contain_text("Reading the rows")
    made.write(question(1, yeses=("hospital-2", "hospital-5")))
    expect(waiting).to_contain_text("hospital-2 and hospital-5")  # everything was remade meanwhile
    with answering(made, Reply("Tried it.", sentences=("900 rows.",))):
        expect(waiting).to_contain_text("900 rows.")
    looks(page)
    waiting.get_by_role("link").click()
    expect(page.locator("#state")).to_contain_text("900 rows.")


def test_hostile_words_are_only_words(page: Page, made: MadeStudy, served: ServedStudy) -> None:
    wild = SCRIPT + IMAGE
    made.write(
        question(1, title=wild, asked_by=wild, leaves=(wild,), yeses=(wild,), text=wild),
        running(2, "asked", wild, title=wild),
        ended(3, "no", wild, wild, title=wild),
        running(4, "done", title=wild, value=0.5),
        running(5, wild, wild),
        ended(6, wild, wild, wild),
        proposals=(proposal(wild, awaited=(wild,)),),
        problems=(wild,),
    )
    made.add_entries(entry(1, wild))
    visit(page, served)
    looks(page)
    assert page.locator("#main script, #main img, dialog script").count() == 0
    assert page.locator("#main").inner_text().count(wild) > 12
    page.get_by_role("button", name="Accept question 1").click()
    expect(dialog(page)).to_contain_text(wild)
    assert page.locator("dialog img, dialog script").count() == 0
    page.keyboard.press("Escape")
    page.locator("#waiting h3 a").click()
    expect(page.locator(".part-head h2")).to_contain_text(wild)
    assert page.locator("#main script, #main img").count() == 0
    assert page.title().startswith("(1) hospital-1")


def test_no_markup_but_that_of_results_is_taken_over(page: Page, served: ServedStudy) -> None:
    visit(page, served)
    hostile = (
        f"{SCRIPT}{IMAGE}<p onclick='x()' style=\"color: red\">a<a href='https://evil.example'>b</a>"
        "</p><iframe src='https://evil.example'></iframe><form action='/x'></form>"
        "<svg><script>1</script><foreignObject>c</foreignObject><use href='#x'/>"
        '<path d="M0,0" onload="x()" fill="url(https://evil.example)"/></svg>'
        '<p a"b="1" autofocus contenteditable tabindex="1" name="body" data-key="1">d</p>'
    )
    kept = page.evaluate(MARKUP, hostile)
    assert kept == '<p>a</p><svg><path d="M0,0"></path></svg><p>d</p>'


def test_a_result_is_shown_with_its_curves(
    page: Page, served: ServedStudy, made: MadeStudy, tmp_path: Path
) -> None:
    made.answers[4] = report_of(tmp_path, VALIDATION)
    made.write(question(1), running(4, "done", title="Validation of risk", value=0.5))
    visit(page, served)
    page.locator("#results").get_by_role("link", name="Validation of risk").click()
    answer = page.get_by_role("region", name="Result")
    expect(answer.locator(".value")).to_have_text(re.compile(r"^0\.\d+$"))
    expect(answer).to_contain_text("95 % interval")
    expect(answer).to_contain_text("for certain")
    curve = answer.get_by_role("img").first
    assert "ROC" in (curve.locator("xpath=..").inner_text() + str(curve.inner_html()))
    box = curve.bounding_box()
    assert box and box["width"] > 200
    assert_pictures_are_said(page, 2)
    with page.expect_download() as saving:
        page.get_by_role("button", name="Save as JSON").click()
    saved = json.loads(Path(saving.value.path()).read_text())
    assert saved["signatures"].keys() == made.answers[4][0].signatures.keys()
    with page.expect_download() as saving:
        page.get_by_role("button", name="Save as HTML").click()
    assert saving.value.suggested_filename == "result-4.html"
    assert Path(saving.value.path()).read_text().startswith("<!doctype html>")
    page.get_by_role("link", name="All questions").click()
    expect(page.locator("#results")).to_be_visible()
    page.set_viewport_size(PHONE)
    page.go_back()
    expect(answer.locator(".value")).to_be_visible()
    assert page.evaluate(WIDTH) <= PHONE["width"]


def test_a_question_whose_rows_travel_has_an_estimate_of_this_peer(
    page: Page, served: ServedStudy, made: MadeStudy
) -> None:
    own = OwnEstimate(
        specification=parse_spec(AUC).text,
        estimate=(0.8125,),
        gossip_interval=(0.75, 0.875),
        exchanges=1234,
        met=3,
        members=5,
        rows=600,
        updated=1.0,
    )
    title = "auc whose rows travel"
    made.write(running(3, "rows", "hospital-5", title=title, travels=True, own=own))
    visit(page, served)
    page.get_by_role("link", name=title).click()
    steps = page.locator("#state .steps li")
    expect(steps.last).to_have_attribute("data-state", "now")
    expect(steps.last).to_contain_text("rows travel")
    answer = page.get_by_role("region", name="Result")
    expect(answer.locator(".value")).to_have_text("own estimate 0.8125")
    expect(answer).to_contain_text("so far, while rows travel")
    expect(answer).to_contain_text("0.75 to 0.875")
    expect(answer).to_contain_text("3 of 5 members, 600 rows in all")
    final = msgspec.structs.replace(own, estimate=(0.625,), is_final=True)
    made.write(running(3, "done", title=title, travels=True, own=final))
    expect(answer.locator(".value")).to_have_text("own estimate 0.625")
    expect(page.locator("#state")).to_contain_text("each member has an estimate of its own")
    expect(page.locator("#alert")).to_be_hidden()
    page.get_by_role("link", name="All questions").click()
    expect(page.locator("#results li")).to_contain_text("own estimate 0.625")


def test_members_of_whom_nothing_is_heard_come_first(
    page: Page, served: ServedStudy, made: MadeStudy
) -> None:
    visit(page, served)
    names = page.locator("#members li .name")
    expect(names).to_have_text([f"hospital-{k}" for k in (1, 2, 3, 4, 5)])
    made.runs = True
    expect(names).to_have_text([f"hospital-{k}" for k in (4, 1, 2, 3, 5)])
    expect(page.locator("#members li .state").first).to_contain_text("not connected, heard 2 hours")


def test_who_has_asked_to_leave_is_shown(page: Page, served: ServedStudy, made: MadeStudy) -> None:
    made.write(leavers=("hospital-3",))
    visit(page, served)
    first = page.locator("#members li").first
    expect(first).to_contain_text("hospital-3")
    expect(first.locator(".state")).to_have_text("has asked to leave")


def test_a_question_is_asked_once_it_was_shown_what_leaves(
    page: Page, served: ServedStudy, made: MadeStudy, tmp_path: Path
) -> None:
    visit(page, served)
    text = page.get_by_label("The question")
    show = page.get_by_role("button", name="Show what would leave")
    file = tmp_path / "auc.toml"
    file.write_text(AUC)
    shown = Reply("Nothing was sent.", sentences=LEAVES)
    with answering(made, shown, shown, Reply("Asked question 3.", number=3)) as requests:
        text.fill('kernel = "ginny"')
        show.click()
        expect(page.locator("#ask .problem")).to_contain_text("gini")
        expect(text).to_have_attribute("aria-invalid", "true")
        page.get_by_label("or from a file").set_input_files(file)
        expect(text).to_have_value(AUC)
        show.click()
        expect(page.locator("#ask .preview")).to_contain_text("No row leaves this machine")
        text.press_sequentially("#")
        expect(page.locator("#ask .preview")).to_be_empty()  # it was for another text
        show.click()
        page.get_by_role("button", name="Ask all members").click()
        expect(dialog(page)).to_contain_text("All 4 other members are asked.")
        assert len(requests) == 2
        dialog(page).get_by_role("button", name="Ask").click()
        expect(page.locator("#notice")).to_have_text("Asked question 3.")
    expect(text).to_have_value("")
    asked = requests[-1]
    assert isinstance(asked, Ask) and '"risk"' in asked.text and asked.words == WORDS


def test_a_proposed_member_is_accepted(page: Page, served: ServedStudy, made: MadeStudy) -> None:
    newcomer = made.newcomer()
    everybody = (*made.members(), newcomer)
    made.write(question(1), members=everybody, proposals=(proposal("hospital-6"),))
    visit(page, served)
    page.get_by_role("button", name="Accept hospital-6").click()
    expect(dialog(page)).to_contain_text(newcomer.card.id)  # in full, for comparison
    dialog(page).get_by_role("button", name="Accept").click()
    expect(page.locator("#waiting")).to_contain_text("What you decided about hospital-6")
    assert written(made) == [Join((newcomer.card,))]


def test_a_member_is_left_out(page: Page, served: ServedStudy, made: MadeStudy) -> None:
    without = Proposal((), ("hospital-4",), ("hospital-2",), ("hospital-1", "hospital-3"))
    later = Proposal((), ("hospital-5",), ("hospital-1",), ("hospital-3",))
    made.write(question(1), proposals=(without, later))
    visit(page, served)
    waits = "A list of members without hospital-5 waits for hospital-3."
    expect(page.locator("#members")).to_contain_text(waits)
    page.get_by_role("button", name="Go on without hospital-4").click()
    expect(dialog(page)).to_contain_text("This cannot be undone.")
    dialog(page).get_by_role("button", name="Go on without it").click()
    expect(page.locator("#waiting")).to_contain_text("What you decided about hospital-4")
    assert written(made) == [Evict(made.members()[3].card.id)]


def test_an_own_question_is_withdrawn(page: Page, served: ServedStudy, made: MadeStudy) -> None:
    made.write(running(3, "asked", "hospital-2", is_own=True))
    visit(page, served)
    page.locator("#running [data-question='3'] a").click()
    page.get_by_role("button", name="Withdraw").click()
    page.get_by_label("Reason").fill("Asked by mistake.")
    dialog(page).get_by_role("button", name="Withdraw").click()
    expect(page.locator("#state")).to_contain_text("What you decided waits for the peer.")
    assert written(made) == [Withdraw(f"{3:064x}", "Asked by mistake.")]


def test_steps_say_who_is_awaited(page: Page, served: ServedStudy) -> None:
    visit(page, served)
    entry = page.locator("#running [data-question='2']")
    expect(entry).to_contain_text("waits for hospital-5")
    now = entry.locator("[aria-current=step]")
    expect(now).to_have_text("added up: now")
    expect(entry.locator("li[data-state=done]")).to_have_count(3)


def test_the_record_is_checked(
    page: Page, served: ServedStudy, made: MadeStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.add_entries(entry(1, "accepted"), entry(1, "shown"))
    visit(page, served)
    expect(page.locator("#record li")).to_have_count(2)
    page.get_by_role("button", name="Check the record").click()
    expect(page.locator("#record .checked")).to_contain_text("as it was written: 2 lines, each")

    def refuse() -> int:
        raise InputError("Line 2 was changed.")

    monkeypatch.setattr(made, "verify_disclosures", refuse)
    page.get_by_role("button", name="Check the record").click()
    expect(page.locator("#record .checked[data-state=broken]")).to_have_text("Line 2 was changed.")


def test_the_token_leaves_the_address_and_lasts_as_long_as_the_tab(
    page: Page, served: ServedStudy
) -> None:
    with asking(page) as asked:
        visit(page, served)
        assert page.url == f"{served.origin}/"
        page.reload()
        expect(page.locator("#connection")).to_contain_text("peer is")
    assert all(one.startswith(served.origin) and served.token not in one for one in asked)
    other = page.context.new_page()
    other.goto(served.origin)
    expect(other.locator("#alert")).to_contain_text("with its token")
    other.goto(served.address)  # which changes the part behind # alone
    expect(other.locator("#connection")).to_contain_text("peer is")
    assert other.url == f"{served.origin}/"
    other.close()


def test_a_phone_needs_no_sideways_scrolling(
    page: Page, served: ServedStudy, made: MadeStudy
) -> None:
    long = "x" * 64
    made.write(question(1, title=long, asked_by=long), running(4, "done", value=0.5, yeses=(long,)))
    page.set_viewport_size(PHONE)
    visit(page, served)
    assert page.evaluate(WIDTH) <= PHONE["width"]
    page.get_by_role("button", name="Accept question 1").click()
    box = dialog(page).bounding_box()
    assert box and box["x"] >= 0 and box["x"] + box["width"] <= PHONE["width"]
    button = dialog(page).get_by_role("button", name="Say yes")
    expect(button).to_be_in_viewport(ratio=1)  # however long the words above it are


def test_text_can_be_read(page: Page, served: ServedStudy, made: MadeStudy) -> None:
    everybody = (*made.members(), made.newcomer())
    made.write(
        question(1),
        running(2, "echoes", "hospital-2"),
        ended(3, "no", "hospital-3", "no"),
        proposals=(proposal("hospital-6"),),
        members=everybody,
        problems=("Look at this.",),
    )
    made.add_entries(entry(1, "shown"))
    page.emulate_media(color_scheme="dark")
    visit(page, served)
    page.get_by_role("button", name="Refuse question 1").click()
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        expect(page.locator("html")).to_have_attribute("data-theme", scheme)
        assert page.evaluate(POORLY_READABLE) == []
