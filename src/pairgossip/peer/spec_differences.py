"""How two specifications differ, one sentence per key.

The other's text comes from a neighbor: it is read with care, and shown escaped and cut.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

MOST_SHOWN = 20
LONGEST_SHOWN = 60
UNREADABLE = "Their specification cannot be read."
_ABSENT = object()


def differences(mine: str, theirs: str) -> list[str]:
    """Compare two canonical texts: one sentence for every key in which they differ."""
    try:
        other = json.loads(theirs)
    except (ValueError, RecursionError):
        return [UNREADABLE]
    if not isinstance(other, dict):
        return [UNREADABLE]
    ours, others = dict(_entries(json.loads(mine))), dict(_entries(other))
    found = [
        f"{_named(key)} is {_shown(ours.get(key, _ABSENT))} here "
        f"but {_shown(others.get(key, _ABSENT))} there."
        for key in sorted(ours.keys() | others.keys())
        if not _is_same(ours.get(key, _ABSENT), others.get(key, _ABSENT))
    ]
    if len(found) > MOST_SHOWN:
        return [*found[:MOST_SHOWN], f"There are {len(found) - MOST_SHOWN} more differences."]
    return found


def _entries(table: dict[str, Any], prefix: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Name every entry by its path; tables lie two deep in a specification."""
    for key, value in table.items():
        if isinstance(value, dict) and depth < 2:
            yield from _entries(value, f"{prefix}{key}.", depth + 1)
        else:
            yield f"{prefix}{key}", value


def _is_same(one: Any, other: Any) -> bool:
    """Absent and null mean the same; true is not 1."""
    if one in (None, _ABSENT) and other in (None, _ABSENT):
        return True
    return type(one) is type(other) and bool(one == other)


def _shown(value: Any) -> str:
    if value is None or value is _ABSENT:
        return "absent"
    try:
        return _shortened(json.dumps(value))
    except (ValueError, RecursionError):
        return "unreadable"


def _named(key: str) -> str:
    return _shortened(json.dumps(key)[1:-1])


def _shortened(escaped: str) -> str:
    """Cut JSON text, whose escapes leave nothing but delete for a terminal to obey."""
    plain = escaped.replace("\x7f", "?")
    return plain if len(plain) <= LONGEST_SHOWN else f"{plain[:LONGEST_SHOWN]}..."
