"""A number with its interval and its certain bounds, as facts and as text."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pairgossip.inference.answer import Answer
from pairgossip.text import format_ends

NOTHING = "-"
"""The text in place of a number that is not known."""


def describe_answer(number: Answer) -> dict[str, Any]:
    """Return a number with its error, interval and bracket, by name."""
    return {
        "value": number.value,
        "error": number.error,
        "low": number.low,
        "high": number.high,
        "bracket": number.bracket,
    }


def is_open(number: Answer) -> bool:
    """Return whether counts leave a number open."""
    return number.bracket[0] < number.bracket[1]


def spell_parts(number: Answer) -> tuple[str, str, str]:
    """Return a value, its interval and its certain bounds, as texts; empty where not known."""
    if math.isnan(number.value):
        return NOTHING, "", ""
    ends = number.low, number.high
    value, low, high, least, most = format_ends(number.value, ends, *number.bracket)
    interval = f"{low} to {high}" if ends[0] <= ends[1] else ""
    return value, interval, f"{least} to {most}" if is_open(number) else ""


def list_numbers(numbers: Mapping[str, Answer], level: float) -> list[tuple[str, ...]]:
    """Return a header and a line per number, with a column of brackets if counts leave one open."""
    lines: list[tuple[str, ...]] = [("", "value", f"{100 * level:g} % interval", "certain")]
    lines += [(name, *spell_parts(one)) for name, one in numbers.items()]
    return lines if any(map(is_open, numbers.values())) else [line[:-1] for line in lines]


def spell(number: Answer) -> str:
    """Return a number on one line: "0.83 (0.78 to 0.88) [0.82 to 0.84]".

    The interval is in parentheses, and the certain bounds are in square brackets.
    """
    value, interval, certain = spell_parts(number)
    return " ".join(
        [value, *([f"({interval})"] if interval else []), *([f"[{certain}]"] if certain else [])]
    )
