# ruff: noqa: RUF001 (signs that look like letters are what it is about)
from __future__ import annotations

import pytest

from pairgossip_paper.framework.typesetting import typeset


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("lambda_(n-1) / |E|", "<i>λ</i><sub><i>n</i>−1</sub> / |<i>E</i>|"),
        ("like t^(-1/2) and n^2.", "like <i>t</i><sup>−1/2</sup> and <i>n</i><sup>2</sup>."),
        ("0.001/sqrt(t)", "0.001/√<i>t</i>"),
        ("sqrt(n - 1)/2 (1 - x)^t", "√(<i>n</i> − 1)/2 (1 − <i>x</i>)<sup><i>t</i></sup>"),
        ("2.86e-03, 1e-12, 3e+00", "2.86\u00a0×\u00a010<sup>−3</sup>, 10<sup>−12</sup>, 3"),
        ("||H|| <= hbar_k", "‖<i>H</i>‖ ≤ <i>h̄</i><sub><i>k</i></sub>"),
        ("a 26 x 26 torus, t x bias", "a 26 × 26 torus, <i>t</i> × bias"),
        ("with x = 2 x t", "with <i>x</i> = 2 <i>x</i> <i>t</i>"),
        ("bias . model", "bias · model"),
        ("f_ij <- -z_k", "<i>f</i><sub>ij</sub> ← −<i>z</i><sub><i>k</i></sub>"),
        ("|x - x'| of -0.5", "|<i>x</i> − <i>x</i>′| of −0.5"),
        ("1 < n & p > 0", "1 &lt; <i>n</i> &amp; <i>p</i> &gt; 0"),
    ],
)
def test_formulas_are_typeset(text: str, html: str) -> None:
    assert typeset(text) == html


@pytest.mark.parametrize(
    "text",
    [
        "A node's own row, the nodes' mean, and people's reports",
        "4 s.e., i.e. a 2D grid of Watts-Strogatz, U2-gossip and L-BFGS",
        "Severity A, B or C; appendix D.2, appendix E, lines 679-682",
        "learning-messages, cycle-10, gosta_sync, on 10th to 90th percentiles.",
        "I sum up the mean of alphabets at 3.5 to 4, +0.19 % off",
    ],
)
def test_words_stay_as_they_are(text: str) -> None:
    assert typeset(text) == text


def test_markup_in_a_text_is_not_markup() -> None:
    assert "<b" not in typeset("<b>x_(<b>)^(</i>)</b>") and "</i></sup>" not in typeset("x^(</i>)")
