from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from pairgossip.experiments import Section, reproduce
from pairgossip.experiments.framework import Claim, Plan, Table
from pairgossip.experiments.framework.report import Contents, _format_cell, _render_report

from .toy import TOY

pytestmark = pytest.mark.usefixtures("toy_catalog")

NEVER_CLOSED = ("meta", "img", "link", "br")


class Page(HTMLParser):
    """Collects links and sources, and insists that tags are closed in order."""

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


@pytest.fixture
def report(tmp_path: Path) -> Path:
    return reproduce(trials=2, out=tmp_path).report


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


def test_texts_are_escaped(report: Path) -> None:
    text = report.read_text(encoding="utf-8")
    assert "&lt; &amp; &gt; of 2 trials." in text
    assert "The error &lt;falls&gt;." in text


def test_the_report_says_what_was_asked_found_and_with_what(report: Path) -> None:
    text = report.read_text(encoding="utf-8")
    for piece in ("Does it work?", "It works.", "✓", "numpy", "seed", "numba", "1 hold"):
        assert piece in text
    assert re.search(r"<td class=\"number\">3.000</td><td class=\"number\">[\d.]+</td>", text)


PHONE, DESK = 390, 1400
CLAIMS = [
    Claim("fast", "The error falls fast. " * 9, "paper, line 329", "holds in part", "It does."),
    Claim("small", "The bias is small. " * 9, "said in paper, line 643", "does not hold", "No."),
]
ERRATA = Table("Errata", ("lines", "printed", "evidence"), [("301, 323, 415", "", "b " * 90)])


@pytest.fixture(params=[PHONE, DESK])
def measured(browser: Browser, request: pytest.FixtureRequest) -> tuple[int, dict[str, float]]:
    """Lay out a report with tables of long texts in it, and measure it."""
    sections = {"toy": Section([], tables=[ERRATA], claims=CLAIMS)}
    contents = Contents({"toy": TOY}, sections, {}, Plan(True, 2, 0), [])
    context = browser.new_context(viewport={"width": request.param, "height": 800})
    page = context.new_page()
    page.set_content(_render_report(contents, {}))
    found: dict[str, float] = page.evaluate(
        """() => ({
            page: document.documentElement.scrollWidth,
            hidden: Math.max(...[...document.querySelectorAll('.scroll:has(.stacked)')]
                .map(box => box.scrollWidth - box.clientWidth)),
            statement: Math.min(...[...document.querySelectorAll('.verdicts td:nth-child(2)')]
                .map(cell => cell.clientWidth)),
            evidence: document.querySelector('.table .stacked td:last-child').clientWidth,
            empty: document.querySelector('.table .stacked td:empty').clientHeight,
            heads: [...document.querySelectorAll('.verdicts thead')].at(-1).clientHeight,
        })"""
    )
    context.close()
    return request.param, found


def test_tables_of_text_can_be_read_on_a_phone(measured: tuple[int, dict[str, float]]) -> None:
    """Below a desk's width every row is a block as wide as the page; nothing is cut off."""
    width, found = measured
    assert found["page"] <= width and found["hidden"] <= 0
    assert (found["heads"] == 0) == (found["empty"] == 0) == (width == PHONE)
    if width == PHONE:
        assert min(found["statement"], found["evidence"]) > 0.85 * width


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (True, "yes"), (12345, "12,345"), (0.123456, "0.1235"), ("a", "a")],
)
def test_written(value: bool | int | float | str | None, text: str) -> None:
    assert _format_cell(value) == text


def test_figures_go_where_they_belong_from_wherever_it_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Processes that draw outlive a call, and keep the folder they started in."""
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        reproduce(trials=2, out="out", n_jobs=2)
        assert (tmp_path / name / "out" / "figures" / "toy-error.png").is_file()
