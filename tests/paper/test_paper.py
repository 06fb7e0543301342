from __future__ import annotations

import pytest

from pairgossip_paper.errata import ERRATA
from pairgossip_paper.framework.paper import cite, locate


@pytest.mark.parametrize(
    ("lines", "place"),
    [
        ("617", "section 5 (line 617)"),
        ("321", "theorem 1 (line 321)"),
        ("328", "theorem 1 (line 328)"),
        ("329", "section 3.2 (line 329)"),
        ("679-682", "section 6.2 (lines 679-682)"),
        ("238, 905-907", "section 3, theorem 4 (lines 238, 905-907)"),
        ("301, 415", "proposition 1 of section 3.2, proposition 1 of section 4.1 (lines 301, 415)"),
        ("838, 849", "appendix C.2 (lines 838, 849)"),
    ],
)
def test_lines_are_located(lines: str, place: str) -> None:
    assert locate(lines) == place


def test_citations_say_what_lines_are_and_every_erratum_has_a_place() -> None:
    assert cite("617") == "paper, section 5 (line 617 of the LaTeX source)"
    for erratum in ERRATA:
        assert locate(erratum.lines).endswith(f" {erratum.lines})")
