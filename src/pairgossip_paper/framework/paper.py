"""The place in the paper of a line of its LaTeX source: the section, theorem or algorithm.

Statements are quoted by lines because most of them have no number; a reader of the PDF needs the
place as well.
"""

from __future__ import annotations

from bisect import bisect_right

_SECTIONS = {
    58: "1", 86: "2", 93: "2.1", 183: "2.2", 234: "3", 246: "3.1", 294: "3.2", 331: "4",
    363: "4.1", 441: "4.2", 572: "4.3", 594: "5", 645: "6", 647: "6.1", 666: "6.2", 686: "6.3",
    702: "A", 717: "B", 733: "C", 736: "C.1", 797: "C.2", 873: "C.3", 912: "C.4", 999: "D",
    1002: "D.1", 1539: "D.2", 2164: "D.3", 2261: "E",
}  # fmt: skip
"""The line where each section begins; letters are appendices."""

_STATEMENTS = {
    (271, 292): "algorithm 1", (299, 310): "proposition 1", (321, 328): "theorem 1",
    (370, 399): "algorithm 2", (413, 432): "proposition 1", (488, 510): "theorem 2",
    (531, 548): "corollary 1", (577, 587): "theorem 3", (624, 639): "figure 1",
    (654, 662): "proposition 2", (741, 747): "lemma 1", (757, 761): "lemma 2",
    (776, 784): "lemma 3", (876, 899): "algorithm 3", (903, 910): "theorem 4",
    (916, 939): "algorithm 4", (956, 967): "theorem 5", (1063, 1077): "lemma 4",
    (1080, 1086): "lemma 5", (1087, 1111): "algorithm 5", (1114, 1168): "lemma 6",
    (1170, 1181): "theorem 6", (1222, 1235): "theorem 7", (1286, 1308): "algorithm 6",
    (1399, 1407): "lemma 7", (1422, 1433): "lemma 8", (1436, 1449): "lemma 9",
    (1474, 1480): "lemma 10", (1511, 1523): "theorem 8", (1714, 1722): "lemma 11",
    (1765, 1773): "corollary 2", (1885, 1922): "algorithm 7", (1926, 1932): "proposition 3",
    (1938, 1948): "lemma 12", (1954, 1960): "theorem 9", (2122, 2136): "lemma 13",
}  # fmt: skip
"""The first and last line of each statement. Two propositions have number 1."""


def cite(lines: str) -> str:
    """Cite lines such as "238, 303-308": their places in the paper, and the lines."""
    return f"paper, {locate(lines, ' of the LaTeX source')}"


def locate(lines: str, of: str = "") -> str:
    """Name the places of lines, each once: "section 3, theorem 4 (lines 238, 905-907)"."""
    firsts = [int(part.split("-")[0]) for part in lines.split(", ")]
    places = dict.fromkeys(_place_of(line) for line in firsts)
    return f"{', '.join(places)} ({'line' if lines.isdigit() else 'lines'} {lines}{of})"


def _place_of(line: int) -> str:
    begins = list(_SECTIONS)
    number = _SECTIONS[begins[bisect_right(begins, line) - 1]]
    section = f"{'appendix' if number[0].isalpha() else 'section'} {number}"
    for (first, last), name in _STATEMENTS.items():
        if first <= line <= last:
            return f"{name} of {section}" if name == "proposition 1" else name
    return section
