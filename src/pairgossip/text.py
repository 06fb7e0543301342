"""Text for people and machines: counts, lists of names, addresses, JSON, and text made harmless."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

_LONGEST_TEXT = 300
"""Largest number of characters kept of a text from elsewhere."""
MOST_NAMED = 10
"""Largest number of rows, lines or columns that a message names; it counts the rest."""
_ENDS = 4
"""The width of an interval, in units of the error by which its ends are rounded."""
_MOST_DIGITS = 12
"""Numbers with more digits before or after the point are printed with an exponent."""
LARGEST_PORT = 65_535
TLS = "tls/"
"""The scheme of addresses at which peers reach each other."""
_ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})")


def printable(text: str) -> str:
    """Return text with control characters spelled out, except line ends and tabs.

    Text from a file, a neighbor or an upload must not control the terminal that shows it.
    """
    if text.isprintable():
        return text
    return "".join(
        letter
        if letter.isprintable() or letter in "\n\t"
        else letter.encode("unicode_escape").decode()
        for letter in text
    )


def clean_text(text: object, longest: int = _LONGEST_TEXT) -> str:
    """Return text from elsewhere as one printable line of bounded length."""
    cut = str(text)[: longest + 1]
    plain = printable(cut).replace("\n", "\\n").replace("\t", "\\t")
    return plain if len(plain) <= longest else plain[: longest - 3] + "..."


def format_count(count: int, noun: str) -> str:
    """Return a number with its noun: "1 row", "1,200 rows"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def join_names(names: Sequence[str], last: str = "and", separator: str = ", ") -> str:
    """List names as a sentence does: "a, b and c"."""
    return names[0] if len(names) == 1 else f"{separator.join(names[:-1])} {last} {names[-1]}"


def join_first(named: Sequence[str], count: int, separator: str = ", ", what: str = "") -> str:
    """List the first few names, and count the rest: "a, b and 5 more"."""
    if count > len(named):
        named = [*named, f"{count - len(named):,} more{what}"]
    return join_names(named, separator=separator)


def format_rows(rows: Sequence[int] | Any, noun: str = "row") -> str:
    """Name up to ten rows and count the rest: "rows 3, 17 and 20"."""
    listed = join_first([str(row) for row in rows[:MOST_NAMED]], len(rows))
    return f"{noun}{'s' * (len(rows) > 1)} {listed}"


def plain_value(value: Any) -> Any:
    """Return an array or number of NumPy's as lists and numbers of Python's, for `json.dumps`."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} does not belong in JSON")


def json_value(value: Any) -> Any:
    """Return what JSON can hold: lists and numbers for arrays, None for NaN and infinity."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        return str(value)  # msgspec takes no subclasses, such as texts with marked formulas
    if isinstance(value, Mapping):
        return {str(key): json_value(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(entry) for entry in value]
    return value


def is_loopback(host: str) -> bool:
    """Return whether a host, by name or address, is this machine itself."""
    import ipaddress

    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def parse_address(text: str, scheme: str = "") -> tuple[str, int] | None:
    """Read ``host:port`` or ``[host]:port`` after the scheme; None for any other text."""
    match = _ADDRESS.fullmatch(text.removeprefix(scheme)) if text.startswith(scheme) else None
    if match is None or int(match[2]) > LARGEST_PORT:
        return None
    return match[1].strip("[]"), int(match[2])


def format_bytes(number: float) -> str:
    """Return a number of bytes in the unit that suits it: "5.2 MB"."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if number < 999.5 or unit == "GB":
            return f"{number:.3g} {unit}"
        number /= 1000
    raise AssertionError


def format_alike(numbers: Sequence[float], error: float) -> list[str]:
    """Format numbers up to the second digit of their error."""
    places = 3
    if 0 < error < math.inf:
        places = max(0, 1 - math.floor(math.log10(error)))
    largest = max((abs(number) for number in numbers if math.isfinite(number)), default=0.0)
    is_plain = places <= _MOST_DIGITS and largest < 10**_MOST_DIGITS
    form = f".{places}f" if is_plain else ".3e"
    return [format(number, form) for number in numbers]


def format_ends(value: float, ends: tuple[float, float], *others: float) -> list[str]:
    """Format a value, the ends of its interval and other numbers, by the width of the interval."""
    return format_alike((value, *ends, *others), (ends[1] - ends[0]) / _ENDS)


def format_interval(value: float, ends: tuple[float, float]) -> str:
    """Return a value with its interval, if it has one: "0.83 (0.78 to 0.88)"."""
    shown, low, high = format_ends(value, ends)
    return f"{shown} ({low} to {high})" if ends[0] <= ends[1] else shown


def align_columns(lines: Sequence[Sequence[str]]) -> list[str]:
    """Return lines of equal columns: the first to the left, the others to the right."""
    first, *others = (max(map(len, column)) for column in zip(*lines, strict=True))
    form = "  ".join([f"{{:<{first}}}", *(f"{{:>{width}}}" for width in others)])
    return [form.format(*line) for line in lines]
