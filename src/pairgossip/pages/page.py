"""One HTML page without script, for a desk, a phone and paper; it needs no other file.

>>> page = Page("Validation", (Value("0.83", "95 % interval: 0.81 to 0.85"),))
>>> page.to_html().startswith("<!doctype html>")
True
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pairgossip import files
from pairgossip.pages.parts import (
    Code,
    Facts,
    Figure,
    Heading,
    Paragraph,
    Part,
    Quote,
    Table,
    Value,
    escape,
)

__all__ = [
    "Code",
    "Facts",
    "Figure",
    "Heading",
    "Page",
    "Paragraph",
    "Part",
    "Quote",
    "Table",
    "Value",
    "show",
]

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""Content policy of a page: a browser may load nothing but the styles inside it."""
_STYLE = """
.pairgossip { font: 16px/1.5 system-ui, -apple-system, sans-serif; color: #1b1f24; background: #fff;
  color-scheme: light; overflow-wrap: break-word; }
.pairgossip :is(h1, h2, h3) { font-size: 1.3rem; line-height: 1.3; font-weight: 600;
  margin: 0 0 .25rem; }
.pairgossip :is(h2, h3) { font-size: 1.05rem; margin: 2rem 0 .25rem; }
.pairgossip h3 { font-size: 1rem; margin-top: 1.25rem; }
.pairgossip p { margin: .75rem 0; }
.pairgossip .value { font-size: 2.5rem; line-height: 1.2; font-weight: 600; margin: 1rem 0 0; }
.pairgossip .note { color: #57606a; margin: .25rem 0 1.5rem; }
.pairgossip .wide { overflow-x: auto; margin: 1rem 0 1.5rem; }
.pairgossip table { border-collapse: collapse; width: 100%; font-size: 15px; margin: 0;
  table-layout: auto; color: #1b1f24; }
.pairgossip .facts { margin: 1rem 0 1.5rem; }
.pairgossip.pairgossip :is(th, td, tr) { text-align: left; }
.pairgossip :is(th, td) { vertical-align: top; padding: .4rem 1.25rem .4rem 0;
  border-bottom: 1px solid #d8dee4; font-weight: 400; color: #1b1f24; background: #fff; }
.pairgossip :is(th, td):last-child { padding-right: 0; }
.pairgossip :is(thead, .facts) th { font-weight: 500; color: #57606a; }
.pairgossip .facts th { width: 9.5rem; }
.pairgossip .facts :is(th, td) { overflow-wrap: anywhere; }
.pairgossip.pairgossip :is(th, td).number { text-align: right; font-variant-numeric: tabular-nums;
  white-space: nowrap; }
.pairgossip.pairgossip :is(thead th.number, td.number:has(span)) { white-space: normal; }
.pairgossip td.number span { white-space: nowrap; }
.pairgossip tbody th { min-width: 6rem; }
.pairgossip caption { text-align: left; padding: 0 0 .35rem; font-weight: 600; color: #1b1f24; }
.pairgossip figure { margin: 1.25rem 0 1.75rem; max-width: 100%; }
.pairgossip figure svg { display: block; margin-left: -8px; }
.pairgossip figcaption { color: #57606a; font-size: 14px; max-width: 40rem; margin-top: .35rem; }
.pairgossip :is(code, pre) { font: 13px/1.5 ui-monospace, monospace; }
.pairgossip code { overflow-wrap: anywhere; }
.pairgossip pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #f6f8fa;
  padding: .75rem 1rem; }
.pairgossip blockquote { margin: .5rem 0 1rem; padding-left: 1rem; border-left: 3px solid #d8dee4; }
.pairgossip blockquote p { margin: .35rem 0; }
@media (max-width: 30rem) {
  .pairgossip .facts th { width: 35%; }
  .pairgossip :is(th, td) { padding-right: .8rem; }
}
@media print {
  .pairgossip { font-size: 10.5pt; color: #000; }
  .pairgossip :is(table, figcaption) { font-size: 9.5pt; }
  .pairgossip figure svg { width: 108mm; }
  .pairgossip :is(figure, tr, blockquote, caption) { break-inside: avoid; }
  .pairgossip :is(h1, h2, h3, thead, caption) { break-after: avoid; }
  .pairgossip .wide { overflow: visible; }
}
"""
"""The styles of all parts; they affect nothing outside an element of this class.

The class is written twice where the styles of notebooks for tables would otherwise win.
"""
_PAGE_STYLE = """
html { background: #fff; -webkit-text-size-adjust: 100%; }
body { max-width: 48rem; margin: 3rem auto; padding: 0 1.25rem; }
@media (max-width: 30rem) { body { margin: 1.25rem auto; padding: 0 1rem; } }
@media print { body { max-width: none; margin: 0; padding: 0; } @page { margin: 18mm; } }
"""
_NOTEBOOK_STYLE = """
.pairgossip { padding: .5rem .75rem; }
.pairgossip .value { font-size: 1.6rem; margin-top: 0; }
.pairgossip > :is(p, .facts, .wide, figure):last-child { margin-bottom: .25rem; }
"""


@dataclass(frozen=True)
class Page:
    """A title and the parts under it."""

    title: str
    parts: tuple[Part, ...]

    def to_html(self) -> str:
        """Return the page as one HTML document."""
        title = escape(self.title)
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
            f"<title>{title}</title>\n<style>{_STYLE}{_PAGE_STYLE}</style>\n</head>\n"
            f'<body class="pairgossip">\n<main>\n<h1>{title}</h1>\n{self.to_markup()}</main>\n'
            "</body>\n</html>\n"
        )

    def to_markup(self) -> str:
        """Return the parts as HTML without the title, for a page that has its own styles."""
        return _join(self.parts)

    def write(self, path: Path) -> None:
        """Write the page; if writing fails, the old file stays."""
        files.write_text(path, [self.to_html()])


def show(parts: Iterable[Part]) -> str:
    """Return parts as HTML for a notebook, without changing the notebook's own styles."""
    style = f"<style>{_STYLE}{_NOTEBOOK_STYLE}</style>"
    return f'<div class="pairgossip">{style}\n{_join(parts)}</div>\n'


def _join(parts: Iterable[Part]) -> str:
    return "".join(part.to_html() for part in parts)
