from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from pairgossip.experiments import reproduce
from pairgossip.experiments.framework.section import written

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


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (True, "yes"), (12345, "12,345"), (0.123456, "0.1235"), ("a", "a")],
)
def test_written(value: bool | int | float | str | None, text: str) -> None:
    assert written(value) == text


def test_figures_go_where_they_belong_from_wherever_it_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Processes that draw outlive a call, and keep the folder they started in."""
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        reproduce(trials=2, out="out", n_jobs=2)
        assert (tmp_path / name / "out" / "figures" / "toy-error.png").is_file()
