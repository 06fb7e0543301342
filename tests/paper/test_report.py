from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from playwright.sync_api import Page as BrowserPage

from pairgossip_paper import reproduction
from pairgossip_paper.framework import Claim, Picture, Plan, Section, Table
from pairgossip_paper.framework.figures import Sheet
from pairgossip_paper.framework.paper import cite
from pairgossip_paper.framework.report import Contents, _format_cell, _render_report
from pairgossip_paper.reproduction import reproduce

from .toy import TOY

pytestmark = pytest.mark.usefixtures("toy_catalog")

NEVER_CLOSED = ("meta", "img", "link", "br")


class Page(HTMLParser):
    """Collects links and sources, and requires that tags are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.targets: list[str] = []
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in NEVER_CLOSED:
            self.open.append(tag)
        for name, value in attrs:
            if name in ("src", "href"):
                self.targets.append(value or "")
            if name == "id":
                self.names.add(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reproduction, "CATALOG", {"toy": TOY})
        return reproduce(trials=2, out=tmp_path_factory.mktemp("report")).report


def test_the_report_opens_offline_and_its_links_lead_somewhere(report: Path) -> None:
    page = Page()
    page.feed(report.read_text(encoding="utf-8"))
    assert page.open == []
    assert page.targets
    for target in page.targets:
        if target.startswith("#"):
            assert target[1:] in page.names
        elif not target.startswith("data:image/svg+xml;base64,"):
            assert (report.parent / target).is_file(), target


def test_the_report_says_what_was_asked_found_and_with_what(report: Path) -> None:
    text = report.read_text(encoding="utf-8")
    assert "&lt; &amp; &gt; of 2 trials." in text and "The error &lt;falls&gt;." in text
    for piece in ("Does it work?", "It works.", "✓", "numpy", "seed", "numba"):
        assert piece in text
    assert re.search(r"1 statement of theory, [^:]*: 1 holds\.", text)
    assert text.count("The error ends at ") == 2  # in the summary and in its section
    assert re.search(r"<td class=\"number\">3.000</td><td class=\"number\">[\d.]+</td>", text)


PHONE, DESK = 390, 1400
CLAIMS = [
    Claim("fast", "The error falls fast. " * 9, cite("329"), "holds in part", "It does."),
    Claim("small", "The bias is small. " * 9, cite("238, 643"), "does not hold", "1e-12 " * 90),
]
ERRATA = Table("Errata", ("lines", "printed", "evidence"), [("301, 323, 415", "", "b " * 90)])
LONG = Table("Long", ("n", "value" * 8, "other" * 8), [(n, 0.5, 1e-9) for n in range(20)])
WIDE = "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' width='1200' height='90'/>"
"""A figure as wide as the widest of the report."""
POINTS_PER_INCH = 72
WIDE_PICTURE = Picture("wide", "A wide figure.", Sheet(1, size=(10, 2)))


def written(tmp_path: Path, **names: bool) -> Path:
    """Write a report with sections by the names of experiments, some of them as its opening."""
    section = Section("All is well.", ["How."], [WIDE_PICTURE], [ERRATA, LONG], CLAIMS)
    experiments = {name: replace(TOY, name=name, opens=opens) for name, opens in names.items()}
    contents = Contents(experiments, dict.fromkeys(names, section), {}, Plan(True, 2, 0), [])
    path = tmp_path / "report.html"
    sources = {f"{name}-wide": WIDE for name in names}
    path.write_text(_render_report(contents, sources), encoding="utf-8")
    return path


def opened(browser: Browser, path: Path, width: int) -> BrowserPage:
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.goto(path.as_uri())
    return page


@pytest.fixture(params=[PHONE, DESK])
def measured(
    browser: Browser, tmp_path: Path, request: pytest.FixtureRequest
) -> tuple[int, dict[str, float]]:
    """Lay out a report with tables of long texts, unfold it, and measure it."""
    page = opened(browser, written(tmp_path, toy=True), request.param)
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    found: dict[str, float] = page.evaluate(
        """() => ({
            page: document.scrollingElement.scrollWidth,
            hidden: Math.max(...[...document.querySelectorAll('.scroll:has(.stacked)')]
                .map(box => box.scrollWidth - box.clientWidth)),
            statement: Math.min(...[...document.querySelectorAll('.verdicts td:nth-child(2)')]
                .map(cell => cell.clientWidth)),
            evidence: document.querySelector('.table .stacked td:last-child').clientWidth,
            empty: document.querySelector('.table .stacked td:empty').clientHeight,
            heads: [...document.querySelectorAll('.verdicts thead')].at(-1).clientHeight,
        })"""
    )
    page.close()
    return request.param, found


def test_tables_of_text_can_be_read_on_a_phone(measured: tuple[int, dict[str, float]]) -> None:
    """Below a desk's width every row is a block as wide as the page; nothing is cut off."""
    width, found = measured
    assert found["page"] <= width and found["hidden"] <= 0
    assert (found["heads"] == 0) == (found["empty"] == 0) == (width == PHONE)
    if width == PHONE:
        assert min(found["statement"], found["evidence"]) > 0.85 * width


HAVE_HINTS = """expected => {
    const boxes = [...document.querySelectorAll('.scroll')];
    const found = boxes.map(box => getComputedStyle(box, '::before').content !== 'none');
    return String(found) === String(expected);
}"""


def test_what_is_wider_than_the_screen_says_so(browser: Browser, tmp_path: Path) -> None:
    report = written(tmp_path, toy=True)
    figures, errata, long = [True, True], [False], [True]
    for width, hints in ((PHONE, figures + errata + long), (DESK, [False] * 4)):
        page = opened(browser, report, width)
        page.get_by_text("Long (20 rows)").click()
        page.wait_for_function(HAVE_HINTS, arg=hints)
        if width == PHONE:  # figures keep a readable size
            image = page.get_by_alt_text("A wide figure.").first
            assert image.evaluate("one => one.offsetWidth") == 10 * POINTS_PER_INCH
        assert page.evaluate(HAVE_HINTS, hints)
        page.close()


def test_verdicts_are_counted(tmp_path: Path) -> None:
    text = written(tmp_path, one=True, two=True).read_text(encoding="utf-8")
    counts = "4 statements of the paper about what is run here: 2 hold in part and 2 do not hold."
    assert counts in text


def folded(page: BrowserPage) -> int:
    return page.locator("details:not([open])").count()


def test_a_statement_unfolds_where_a_link_leads_to_it(browser: Browser, tmp_path: Path) -> None:
    page = opened(browser, written(tmp_path, toy=True), PHONE)
    fast = page.locator("#claim-fast")
    assert folded(page) == 4  # all statements, a long table, two statements
    expect(fast.get_by_text("It does.")).to_be_hidden()
    page.get_by_text("Every statement with its verdict (2)").click()
    page.get_by_role("link", name="The error falls fast.").click()
    expect(fast.get_by_text("It does.")).to_be_visible()
    expect(fast).to_contain_text("section 3.2 (line 329 of the LaTeX source)")
    assert folded(page) == 2
    page.close()


def test_nothing_is_folded_on_paper(browser: Browser, tmp_path: Path) -> None:
    page = opened(browser, written(tmp_path, toy=True), DESK)
    page.evaluate(
        """addEventListener("beforeprint", () => {
            window.printed = document.querySelectorAll("details:not([open])").length;
        })"""
    )
    before = folded(page)
    page.pdf()
    assert page.evaluate("window.printed") == 0
    assert folded(page) == before > 0
    page.close()


def test_the_report_opens_with_the_figures_of_those_that_open_it(tmp_path: Path) -> None:
    for names, first in (
        ({"one": False, "two": True, "three": True}, ["two", "three"]),
        ({"one": False, "two": False}, ["one"]),
    ):
        text = written(tmp_path, **names).read_text(encoding="utf-8")
        opening = text[: text.index("<nav>")]
        assert re.findall(r'href="figures/(\w+)-wide.png"', opening) == first
        assert text.count('alt="A wide figure."') == len(names) + len(first)


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (True, "yes"), (12345, "12,345"), (0.123456, "0.1235"), ("a", "a")],
)
def test_written(value: bool | int | float | str | None, text: str) -> None:
    assert _format_cell(value) == text


def test_figures_go_where_they_belong_from_wherever_it_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Processes that draw outlive a call, and keep the folder in which they started."""
    monkeypatch.setattr("pairgossip_paper.framework.report._FIGURES_PER_WORKER", 1)
    twin = replace(TOY, name="twin")
    monkeypatch.setattr(reproduction, "CATALOG", {"toy": TOY, "twin": twin})
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        reproduce(trials=2, out="out", n_jobs=2)
        assert (tmp_path / name / "out" / "figures" / "toy-error.png").is_file()
