"""The differences between two specifications, in sentences.

The other text comes from a neighbor, so it is not trusted: it is shown escaped and truncated.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

NOISE = "noise"
"""The name in canonical texts of the table [privacy] of a run on sums."""
_MOST_SHOWN = 20
"""Largest number of differences to list; further ones are counted."""
_LONGEST_SHOWN = 60
"""Largest number of characters to quote of a key or value; the rest is left out."""


def differences(mine: str, theirs: str) -> list[str]:
    """Return one sentence for every key in which two canonical texts differ."""
    other = read_table(theirs)
    if other is None:
        return ["Their specification cannot be read."]
    ours, others = dict(_entries(json.loads(mine))), dict(_entries(other))
    sentences = [
        f"{_shorten(json.dumps(key)[1:-1])} is {_format(ours.get(key))} here "
        f"but {_format(others.get(key))} there."
        for key in sorted(ours.keys() | others.keys())
        # Null means the same as absent; true is not 1.
        if (type(ours.get(key)), ours.get(key)) != (type(others.get(key)), others.get(key))
    ]
    if (more := len(sentences) - _MOST_SHOWN) > 0:
        return [*sentences[:_MOST_SHOWN], f"There are {more} more differences."]
    return sentences


def read_table(text: str) -> dict[str, Any] | None:
    """Return the table of a canonical text; None if it cannot be read."""
    try:
        table = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return table if isinstance(table, dict) else None


def _entries(table: dict[str, Any], prefix: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield every entry with its path; only two levels of tables are opened."""
    for name, value in table.items():
        key = "privacy" if not prefix and name == NOISE and value is not None else name
        if isinstance(value, dict) and depth < 2:
            yield from _entries(value, f"{prefix}{key}.", depth + 1)
        else:
            yield f"{prefix}{key}", value


def _format(value: Any) -> str:
    if value is None:
        return "absent"
    try:
        return _shorten(json.dumps(value))
    except (ValueError, RecursionError):
        return "unreadable"


def _shorten(escaped: str) -> str:
    """Truncate JSON text; delete is the only control character that JSON does not escape."""
    plain = escaped.replace("\x7f", "?")
    return plain if len(plain) <= _LONGEST_SHOWN else f"{plain[:_LONGEST_SHOWN]}..."
