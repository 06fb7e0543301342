"""Formulas in sentences, typeset: lambda_(n-1) becomes a Greek letter in italics with a subscript.

Sentences of the report are read in a terminal as well, so they are written as plain text, and no
sign marks a formula in them. It is told by what it consists of: single letters, names of Greek
letters, powers, subscripts, numbers like 1e-12. Whatever else is in a sentence stays as it is.
"""

# ruff: noqa: RUF001 (signs that look like letters are what it is about)
from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markupsafe import Markup

_NAMES = {
    **{"alpha": "α", "gamma": "γ", "eps": "ε", "theta": "θ", "lambda": "λ", "xi": "ξ", "pi": "π"},
    **{"beta": "β", "sigma": "σ", "tau": "τ", "phi": "φ", "omega": "ω", "hbar": "h\u0304"},
    **{"Delta-bar": "Δ\u0304", "Delta~": "Δ\u0303"},
}
_SYMBOL = "[A-Za-zα-ω]\u0304?′?"
_NO_WORD_BEFORE = r"(?<![A-Za-zα-ω'’])(?<![A-Za-z][.-])(?<!appendix )"
_INSIDE = r"[^(){}]*(?:\([^(){}]*\)[^(){}]*)*"
"""What may stand in parentheses: anything, with parentheses one deep."""
_SCRIPT = rf"(?:\(({_INSIDE})\)|\{{({_INSIDE})\}}|([−-]?\d+|[a-z]{{2}}\b|\w))"

_SCIENTIFIC = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)e([+-]?\d+)\b")
_ROOT = re.compile(rf"\bsqrt\(({_INSIDE})\)")
_SIGNS = [
    (re.compile(pattern), sign)
    for pattern, sign in (
        ("<-", "←"),
        ("<=", "≤"),
        (">=", "≥"),
        (r"(?<!\|E)\|\|", "‖"),
        (r"(?<![.\w])\.\.(?![.\w])", "…"),
        (r"(?<=[\w)]) \. (?=[\w(])", " · "),
        (r"(?<=\d) x (?=\d)|(?<=[A-Za-z)|]) x (?=[\w(|])(?!(?:and|for|from|is|of) )", " × "),
        # A sign of a number or a term, a difference, and what is like n-1; hyphens stay.
        (r"(?<![\w)\].-])-(?=[\d.(]|log\b|[a-zα-ωDL](?![A-Za-z]))", "−"),
        (r"(?<!\S)-(?= )|(?<=\b[a-z])-(?=\d\b)", "−"),
        (r"(?<![A-Za-z])([A-Za-z])'(?![A-Za-z])", r"\1′"),
    )
]
_NAME = re.compile(rf"(?<![A-Za-z])({'|'.join(_NAMES)})(?![A-Za-z])")
_SUBSCRIPT = re.compile(rf"(?<![A-Za-z])({_SYMBOL}|sum|mean)_{_SCRIPT}")
_POWER = re.compile(rf"(?<=[\w)>|‖′])\^{_SCRIPT}")
# Letters that are words, grades or dimensions (a, I, A to C, 2D) are none of a formula.
_LETTER = re.compile(
    rf"{_NO_WORD_BEFORE}((?:[b-zα-ωE-HKLNPR-Z]|(?<!\d)D|nk|LD|a(?= [≤+=])|(?<=\d)a)\u0304?)"
    r"(?!\u0304|[A-Za-zα-ω0-9]|['’][A-Za-z]|\.[A-Za-z]|-[A-Z])"
)


def typeset(text: str) -> Markup:
    """Return a sentence of plain text as HTML in which formulas look like formulas."""
    from markupsafe import Markup

    html = escape(_to_unicode(text), quote=False)
    html = _SUBSCRIPT.sub(lambda found: f"{found[1]}<sub>{_inside(found, 2)}</sub>", html)
    html = _POWER.sub(lambda found: f"<sup>{_inside(found, 1)}</sup>", html)
    return Markup(_LETTER.sub(r"<i>\1</i>", html))


def _to_unicode(text: str) -> str:
    """Replace names and signs by the characters they stand for; subscripts and powers stay."""
    text = _SCIENTIFIC.sub(_power_of_ten, text)
    text = _NAME.sub(lambda found: _NAMES[found[1]], text)
    text = _ROOT.sub(_root, text)
    for pattern, sign in _SIGNS:
        text = pattern.sub(sign, text)
    return text


def _inside(found: re.Match[str], first: int) -> str:
    """Return a script without the parentheses that held it together."""
    return next(part for part in found.groups()[first - 1 :] if part is not None)


def _power_of_ten(found: re.Match[str]) -> str:
    digits, exponent = found[1], int(found[2])
    if exponent == 0:
        return digits
    return f"10^({exponent})" if digits == "1" else f"{digits}\u00a0×\u00a010^({exponent})"


def _root(found: re.Match[str]) -> str:
    return f"√{found[1]}" if re.fullmatch(r"[^\W\d]|\d+", found[1]) else f"√({found[1]})"
