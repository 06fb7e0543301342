# ruff: noqa: RUF001 (signs that look like letters are what it is about)
from __future__ import annotations

import json

import pytest

from pairgossip_paper.framework import Claim, Table
from pairgossip_paper.framework.typesetting import Marked, typeset, with_marks


@pytest.mark.parametrize(
    ("formula", "html"),
    [
        ("lambda_(n-1) / |E|", "<i>λ</i><sub><i>n</i>−1</sub> / |<i>E</i>|"),
        ("t^(-1/2)", "<i>t</i><sup>−1/2</sup>"),
        ("2n - 2", "2<i>n</i> − 2"),
        ("0.001/sqrt(t)", "0.001/√<i>t</i>"),
        ("sqrt(n - 1)/2 (1 - u)^t", "√(<i>n</i> − 1)/2 (1 − <i>u</i>)<sup><i>t</i></sup>"),
        ("eps = 1e-12", "<i>ε</i> = 10<sup>−12</sup>"),
        ("||H|| <= hbar_k", "‖<i>H</i>‖ ≤ <i>h̄</i><sub><i>k</i></sub>"),
        ("t x bias", "<i>t</i> × bias"),
        ("bias . model", "bias · model"),
        ("f_ij <- -z_k", "<i>f</i><sub>ij</sub> ← −<i>z</i><sub><i>k</i></sub>"),
        ("|x - x'|", "|<i>x</i> − <i>x</i>′|"),
        ("1 < n & p > 0", "1 &lt; <i>n</i> &amp; <i>p</i> &gt; 0"),
        ("s = 0 .. t-1", "<i>s</i> = 0 … <i>t</i>−1"),
        ("a log(T)/B", "<i>a</i> log(<i>T</i>)/<i>B</i>"),
    ],
)
def test_formulas_are_typeset_where_they_are_marked(formula: str, html: str) -> None:
    assert typeset(f"of `{formula}`, x") == f"of {html}, x"


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("2.86e-03, 1e-12, 3e+00", "2.86\u00a0×\u00a010<sup>−3</sup>, 10<sup>−12</sup>, 3"),
        ("-0.5 on a 26 x 26 torus", "−0.5 on a 26 × 26 torus"),
    ],
)
def test_numbers_are_typeset_without_a_mark(text: str, html: str) -> None:
    assert typeset(text) == html


def test_words_stay_as_they_are() -> None:
    text = "The nodes' mean, 4 s.e., U2-gossip, lines 679-682, of k or n^2, x_i - 1, 10^3"
    assert typeset(text) == text


def test_markup_in_a_text_is_not_markup() -> None:
    for text in ("<b>x_(<b>)^(</i>)</b>", "x^(</i>)"):
        for written in (text, f"`{text}`"):
            assert "<b" not in typeset(written) and "</i></sup>" not in typeset(written)


def test_nobody_but_the_report_sees_the_marks() -> None:
    claim = Claim("fast", "It falls like `1/t`.", "theory", "holds", "`t` x 2")
    assert claim.statement == "It falls like 1/t." and "`" not in str(claim)
    assert json.dumps([claim.statement]) == '["It falls like 1/t."]'
    assert typeset(claim.statement) == "It falls like 1/<i>t</i>."
    table = Table.from_records("In `n`", [{"`n`": "`n/2`", "size": 3}])
    assert (table.title, *table.columns, *table.rows[0]) == ("In n", "n", "size", "n/2", 3)


def test_a_marked_text_stays_as_it_is() -> None:
    text = Marked("`n` nodes")
    assert Marked(text) is text
    assert with_marks(text) == "`n` nodes" and with_marks("nodes") == "nodes"
