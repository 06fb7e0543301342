"""Pages are self-contained, allow no scripts, and fit a desktop, a phone and paper."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from playwright.sync_api import Browser

from pairgossip.errors import InputError
from pairgossip.pages.page import (
    Code,
    Facts,
    Figure,
    Heading,
    Page,
    Paragraph,
    Part,
    Quote,
    Table,
    Value,
    show,
)
from pairgossip.pictures.picture import Line, Picture

HOSTILE = "</td></title></style><script>alert(1)</script><img src=x onerror=a>&\u202e\x00\ud800\"'"
SHOWN = HOSTILE[:-5] + "\\u202e\\x00\\ud800\"'"
UNIT = np.array([0.0, 1.0])
VOID = {"meta"}


class Reader(HTMLParser):
    """Reads a page, and finds tags that are not closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def find(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def make_parts(text: str) -> tuple[Part, ...]:
    """Return one part of each kind, with a text wherever it has one."""
    line = Line(UNIT, UNIT, text)
    return (
        Heading(text),
        Heading(text, level=3),
        Value(text, text),
        Paragraph(text),
        Facts(((text, text),)),
        Table((text, text), ((text, text),), caption=text),
        Figure(Picture((line,), text, text, text, description=text), text),
        Quote((text, text)),
        Code(f"{text}\n\t{text}"),
    )


def test_a_page_is_whole_and_says_how_it_may_be_shown() -> None:
    page = Page("title", make_parts("text")).to_html()
    reader = Reader(page)
    assert page.startswith("<!doctype html>\n") and reader.find("html") == [{"lang": "en"}]
    assert {"charset": "utf-8"} in reader.find("meta")
    names = [meta.get("name") for meta in reader.find("meta")]
    assert names.count("viewport") == 1
    (policy,) = [m["content"] for m in reader.find("meta") if "http-equiv" in m]
    assert policy is not None and policy.startswith("default-src 'none';")
    assert "script" not in policy
    assert page.count("<h1>title</h1>") == 1 and "<title>title</title>" in page


def test_no_text_of_data_controls_a_page() -> None:
    page = Page(HOSTILE, make_parts(HOSTILE)).to_html()
    reader = Reader(page)
    used = {tag for tag, _ in reader.tags}
    plain = {tag for tag, _ in Reader(Page("title", make_parts("text")).to_html()).tags}
    assert used == plain and "script" not in used and "img" not in used
    assert not any(name.startswith("on") for _, attrs in reader.tags for name in attrs)
    assert all(letter.isprintable() or letter in "\n\t" for letter in page)
    shown = [text for text in reader.texts if SHOWN in text]
    assert len(shown) >= 18  # everywhere, and complete


def test_show_gives_the_parts_alone_and_changes_nothing_around_them() -> None:
    shown = show(make_parts("text"))
    reader = Reader(shown)
    assert shown.startswith('<div class="pairgossip">') and not reader.find("html")
    assert Page("t", make_parts("text")).to_html().count("<table") == shown.count("<table") == 2
    style = shown.partition("<style>")[2].partition("</style>")[0]
    rules = [rule.rpartition("}")[2].strip() for rule in style.split("{")[:-1]]
    selectors = [rule for rule in rules if rule and not rule.startswith("@media")]
    assert len(selectors) > 20
    for selector in selectors:
        assert selector.startswith(".pairgossip") and "," not in re.sub(r"\(.*?\)", "", selector)


def test_tables_tell_headers_from_cells_and_numbers_from_text() -> None:
    table = Table(("group", "rows", "id"), (("a", "1", "x"),), "caption", (True, False, True))
    reader = Reader(table.to_html())
    assert [head.get("scope") for head in reader.find("th")] == ["col", "col", "col", "row"]
    assert [head.get("class") for head in reader.find("th")] == [None, "number", None, None]
    assert [cell.get("class") for cell in reader.find("td")] == ["number", None]
    assert [cell.get("class") for cell in Reader(table._replace(text=()).to_html()).find("td")] == [
        "number",
        "number",
    ]
    assert Reader(Facts((("name", "said"),)).to_html()).find("th") == [{"scope": "row"}]
    with pytest.raises(InputError) as refused:
        Table(("a", "b"), (("1",),)).to_html()
    assert str(refused.value) == "Every row of a table needs 2 texts, as its header."


def test_code_is_marked_where_sentences_are_written_and_nowhere_else() -> None:
    marked = "run `pairgossip <x>` now"
    assert Paragraph(marked).to_html() == "<p>run <code>pairgossip &lt;x&gt;</code> now</p>\n"
    for part in (Heading(marked), Quote((marked,)), Code(marked)):
        assert "`pairgossip &lt;x&gt;`" in part.to_html()
    assert "\n\tb" in Code("a\n\tb").to_html()


def test_a_new_part_needs_one_class_alone() -> None:
    class Line(NamedTuple):
        def to_html(self) -> str:
            return "<hr>"

    assert "<hr>" in Page("title", (Line(),)).to_html() and "<hr>" in show([Line()])


def test_a_page_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    page = Page("title", (Paragraph("é"),))
    page.write(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page.to_html()
    with pytest.raises(InputError):
        page.write(tmp_path / "missing" / "page.html")


@pytest.mark.parametrize("width", [360, 900])
def test_a_page_never_scrolls_sideways(browser: Browser, tmp_path: Path, width: int) -> None:
    wide = Table(tuple(f"column {n}" for n in range(20)), (("1,234,567",) * 20,))
    parts = (*make_parts("w" * 300), *make_parts("some words " * 20), wide, *make_parts(HOSTILE))
    Page("title " + "t" * 200, parts).write(tmp_path / "page.html")
    context = browser.new_context(viewport={"width": width, "height": 800})
    try:
        tab, said = context.new_page(), []
        tab.on("console", lambda message: said.append(message.text))
        tab.on("dialog", lambda dialog: said.append(dialog.message))
        tab.goto((tmp_path / "page.html").as_uri())
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        boxes = "[...document.querySelectorAll('.wide')].map(e => e.scrollWidth > e.clientWidth)"
        assert True in tab.evaluate(boxes)
        drawn = tab.evaluate("document.querySelector('figure svg').getBoundingClientRect().width")
        assert min(width - 40, 470) < drawn <= 480
        tab.emulate_media(media="print")
        style = "getComputedStyle(document.querySelector('figure')).breakInside"
        assert tab.evaluate(style) == "avoid"
        assert said == []
    finally:
        context.close()


def test_texts_of_an_svg_stay_inside(browser: Browser, tmp_path: Path) -> None:
    """Widths that are estimated without a font are not less than what a browser draws."""
    names = ("Mammography, WWW", "a rather long name of an arm of the trial", "HOSPITAL " * 4)
    picture = Picture(
        (Line(UNIT, np.array([1.0, 2.0]), "legend " * 12),),
        "x axis " * 12,
        "y axis " * 8,
        "TITLE " * 20,
        rows=names,
        notes=("0.812 (0.801 to 0.823)", "12,345", "@@@@@@"),
        below=((names[1], ("1,234", "567")),),
        below_at=(0, 1),
    )
    pictures = (picture, Picture(picture.parts, "x axis " * 12, "y axis " * 8, is_square=True))
    Page("title", tuple(Figure(one) for one in pictures)).write(tmp_path / "page.html")
    tab = browser.new_page()
    try:
        tab.goto((tmp_path / "page.html").as_uri())
        outside = tab.evaluate(
            """[...document.querySelectorAll('svg text')].filter(text => {
                 const box = text.getBoundingClientRect();
                 const all = text.ownerSVGElement.getBoundingClientRect();
                 return box.left < all.left - 1 || box.right > all.right + 1
                     || box.top < all.top - 1 || box.bottom > all.bottom + 1;
               }).map(text => text.textContent)"""
        )
        assert outside == []
        overlapping = tab.evaluate(
            """[...document.querySelectorAll('svg')].flatMap(svg => {
                 const texts = [...svg.querySelectorAll('text')];
                 const boxes = texts.map(text => text.getBoundingClientRect());
                 return texts.flatMap((text, i) => texts.slice(i + 1).flatMap((other, k) => {
                   const a = boxes[i], b = boxes[i + 1 + k];
                   const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
                   const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
                   return wide > 1 && high > 4 ? [[text.textContent, other.textContent]] : [];
                 }));
               })"""
        )
        assert overlapping == []
    finally:
        tab.close()
