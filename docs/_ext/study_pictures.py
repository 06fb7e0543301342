"""The pictures of a study: what leaves a site and who decides, and the phases of a question.

``python docs/_ext/study_pictures.py docs`` writes them into ``docs/images``; the tests draw them
again and compare.
"""

from __future__ import annotations

import sys
from pathlib import Path

DISCLOSURE, PHASES = "images/study-disclosure.svg", "images/study-phases.svg"

_STYLE = (
    "text{font:14px sans-serif;fill:#222;text-anchor:middle}"
    ".name{font-weight:bold}.small{font-size:12px;fill:#444}"
    "path{fill:none;stroke:#555;stroke-width:1.5}"
    ".site{fill:#f6f6f2;stroke:#888;stroke-dasharray:5 3}"
    ".stays{fill:#eef3fa;stroke:#345}.leaves{fill:#fdf0e4;stroke:#a5521b}"
    ".end{fill:#f4f4f4;stroke:#888}"
)
_TIP = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
    'markerHeight="8" orient="auto"><path d="M0 0 L8 4 L0 8"/></marker></defs>'
)


def disclosure() -> str:
    """Return the way of a question at one site: what stays, what leaves, and who decides."""
    shapes = [
        '<rect class="site" x="10" y="34" width="510" height="286" rx="8"/>',
        '<text class="name" x="265" y="24">one hospital: its own machine and network</text>',
        *_box(30, 150, 130, 62, "stays", "rows", "a file that nobody", "copies"),
        *_box(200, 150, 130, 62, "stays", "counts", "rows per cell", "or block"),
        *_box(370, 150, 130, 62, "leaves", "masked counts", "one vector for", "each question"),
        *_box(200, 52, 130, 62, "stays", "operator", "reads what would", "leave: yes or no"),
        *_box(200, 248, 130, 62, "stays", "record", "chained: what left,", "when, by whose yes"),
        *_box(580, 150, 130, 62, "leaves", "sum", "over all members,", "the same at each"),
        *_box(580, 248, 130, 62, "leaves", "answer", "with its errors,", "signed by all"),
        *_box(
            580,
            52,
            130,
            62,
            "end",
            "other hospitals",
            "each with its rows,",
            "its yes, its record",
        ),
        *map(_arrow, ("M160 181 H198", "M330 181 H368", "M500 181 H578", "M645 212 V246")),
        *map(_arrow, ("M330 83 H435 V148", "M435 212 V279 H332", "M645 114 V148")),
        _text(390, 76, "small", "final"),
    ]
    return _svg(720, 334, "What leaves a hospital for a question, and who decides", shapes)


def phases() -> str:
    """Return the phases of a question, with how it may end before it is answered."""
    names = {
        "asked": ("a yes of", "every member"),
        "digests": ("of the masked", "words"),
        "echoes": ("all have seen", "the same digests"),
        "words": ("shown, and", "added up"),
        "statements": ("all sign", "the result"),
    }
    shapes = []
    for number, (name, lines) in enumerate(names.items()):
        left = 10 + 144 * number
        kind = "leaves" if name in ("words", "statements") else "stays"
        shapes += _box(left, 36, 122, 62, kind, name, *lines)
        if number:
            shapes.append(_arrow(f"M{left - 22} 67 H{left - 2}"))
    shapes += [
        _arrow("M503 36 V16 H215 V34"),
        _text(359, 12, "small", "a further round, with keys of its own"),
        *_box(
            60, 150, 288, 62, "end", "ended", "no, withdrawn, expired, cannot:", "nothing is shown"
        ),
        *_box(
            10,
            236,
            338,
            62,
            "leaves",
            "rows",
            "of a question whose rows travel:",
            "until all have exchanged enough",
        ),
        *_box(
            442,
            150,
            266,
            62,
            "end",
            "unfinished",
            "counts as shown;",
            "late words may still finish it",
        ),
        *map(
            _arrow, ("M35 98 V234", "M100 98 V148", "M215 98 V148", "M330 98 V148", "M503 98 V148")
        ),
    ]
    return _svg(720, 308, "The phases of a question, and its ends", shapes)


def _box(x: int, y: int, width: int, height: int, kind: str, name: str, *lines: str) -> list[str]:
    middle = x + width // 2
    return [
        f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="6"/>',
        _text(middle, y + 20, "name", name),
        *(_text(middle, y + 37 + 16 * row, "small", line) for row, line in enumerate(lines)),
    ]


def _text(x: int, y: int, kind: str, text: str) -> str:
    return f'<text class="{kind}" x="{x}" y="{y}">{text}</text>'


def _arrow(path: str) -> str:
    return f'<path d="{path}" marker-end="url(#tip)"/>'


def _svg(width: int, height: int, title: str, shapes: list[str]) -> str:
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
        f"<title>{title}</title>",
        f"<style>{_STYLE}</style>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        _TIP,
        *shapes,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def main(folder: Path) -> None:
    """Write both pictures into the documentation."""
    (folder / DISCLOSURE).write_text(disclosure(), encoding="utf-8")
    (folder / PHASES).write_text(phases(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
