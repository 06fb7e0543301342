"""Formulas in sentences, typeset: lambda_(n-1) becomes a Greek letter in italics with a subscript.

Sentences of the report are read in a terminal and on the page as well, so formulas are plain text.
Authors put them between backticks, which no reader sees: `Marked` text is a string without them.
Numbers need none: 1e-12, -0.5 and 26 x 26 are typeset in all texts.
"""

# ruff: noqa: RUF001 (its subject is signs that look like letters)
from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from markupsafe import Markup

_MARK = "`"
_NAMES = {
    "alpha": "α", "gamma": "γ", "eps": "ε", "theta": "θ", "lambda": "λ", "xi": "ξ", "pi": "π",
    "beta": "β", "sigma": "σ", "tau": "τ", "phi": "φ", "omega": "ω", "hbar": "h\u0304",
    "Delta-bar": "Δ\u0304", "Delta~": "Δ\u0303",
}  # fmt: skip
_INSIDE = r"[^(){}]*(?:\([^(){}]*\)[^(){}]*)*"
"""A pattern for the inside of parentheses: anything, with parentheses one deep."""
_SCRIPT = rf"(?:\(({_INSIDE})\)|\{{({_INSIDE})\}}|([−-]?\d+|[a-z]{{2}}\b|\w))"

_SCIENTIFIC = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)e([+-]?\d+)\b")
_MINUS = re.compile(r"(?<![\w)\].-])-(?=[\d.])")
_TIMES = re.compile(r"(?<=\d) x (?=\d)")
_TEN = re.compile(r"\b10\^\((−?\d+)\)")
_ROOT = re.compile(rf"\bsqrt\(({_INSIDE})\)")
_SIGNS = [
    (re.compile(pattern), sign)
    for pattern, sign in (
        ("<-", "←"),
        ("<=", "≤"),
        (">=", "≥"),
        (r"(?<!\|E)\|\|", "‖"),
        (r"(?<!\.)\.\.(?!\.)", "…"),
        (r" \. ", " · "),
        (r" x (?!=)", " × "),
        ("-", "−"),
        (r"(?<=[A-Za-z])'", "′"),
    )
]
_NAME = re.compile(rf"(?<![A-Za-z])({'|'.join(_NAMES)})(?![A-Za-z])")
_SUBSCRIPT = re.compile(rf"(?<![A-Za-z])([A-Za-zα-ω]\u0304?′?|sum|mean)_{_SCRIPT}")
_POWER = re.compile(rf"(?<=[\w)>|‖′])\^{_SCRIPT}")
_LETTER = re.compile("(?<![A-Za-zα-ω])((?:[A-Za-zα-ω]|nk|LD)\u0304?)(?![A-Za-zα-ω\u0304;])")
"""A letter alone, or the products nk and LD; words such as log stay upright."""


class Marked(str):
    """A text without its marks, which knows where its formulas are."""

    marked: str

    def __new__(cls, text: str) -> Self:
        """Take the marks out of a text; a text that is `Marked` already is returned as it is."""
        if isinstance(text, cls):
            return text
        plain = super().__new__(cls, text.replace(_MARK, ""))
        plain.marked = text
        return plain


def with_marks(text: str) -> str:
    """Return a text with its marks, so that they survive in a text made from it."""
    return text.marked if isinstance(text, Marked) else text


def mark_fields(instance: object, *names: str) -> None:
    """Mark texts of a frozen dataclass, also those in sequences."""
    for name in names:
        object.__setattr__(instance, name, _mark(getattr(instance, name)))


def _mark(value: Any) -> Any:
    if isinstance(value, str):
        return Marked(value)
    return [_mark(one) for one in value] if isinstance(value, list | tuple) else value


def typeset(text: str) -> Markup:
    """Return a text as HTML with typeset formulas and numbers."""
    from markupsafe import Markup

    words, *others = with_marks(text).split(_MARK)
    parts = [_typeset_words(words)]
    for number, part in enumerate(others):
        parts.append(_typeset_words(part) if number % 2 else _typeset_formula(part))
    return Markup("".join(parts))


def _typeset_words(text: str) -> str:
    text = _set_numbers(escape(text, quote=False))
    return _TEN.sub(r"10<sup>\1</sup>", text)


def _typeset_formula(text: str) -> str:
    text = _NAME.sub(lambda name: _NAMES[name[1]], _set_numbers(text))
    text = _ROOT.sub(_set_root, text)
    for pattern, sign in _SIGNS:
        text = pattern.sub(sign, text)
    html = escape(text, quote=False)
    html = _SUBSCRIPT.sub(lambda sub: f"{sub[1]}<sub>{_inside(sub, 2)}</sub>", html)
    html = _POWER.sub(lambda power: f"<sup>{_inside(power, 1)}</sup>", html)
    return _LETTER.sub(r"<i>\1</i>", html)


def _inside(script: re.Match[str], first: int) -> str:
    """Return a subscript or superscript without the parentheses around it."""
    return next(part for part in script.groups()[first - 1 :] if part is not None)


def _set_numbers(text: str) -> str:
    text = _SCIENTIFIC.sub(_set_power_of_ten, text)
    return _TIMES.sub(" × ", _MINUS.sub("−", text))


def _set_power_of_ten(number: re.Match[str]) -> str:
    digits, exponent = number[1], int(number[2])
    if exponent == 0:
        return digits
    return f"10^({exponent})" if digits == "1" else f"{digits}\u00a0×\u00a010^({exponent})"


def _set_root(root: re.Match[str]) -> str:
    return f"√{root[1]}" if re.fullmatch(r"[^\W\d]|\d+", root[1]) else f"√({root[1]})"
