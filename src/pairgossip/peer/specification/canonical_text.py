"""Specifications restored from canonical texts, such as those in signed results.

A canonical text is JSON with all defaults filled in. People read TOML, and so do the checks of a
specification. So the text is converted to a TOML file, which is then read like any other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from pairgossip.errors import InputError
from pairgossip.peer.specification.differences import NOISE, read_table
from pairgossip.peer.specification.keys import SUMS
from pairgossip.peer.specification.kinds import kind_of
from pairgossip.peer.specification.spec import Spec, parse_spec
from pairgossip.peer.specification.tables import Algorithm

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_REFUSED_KEYS = {"algorithm": ("mixing", "rate"), "learning": ("step",)}
"""Keys that a canonical text of sums has, and that are refused in a file."""
_NO_VALUE = "The specification holds a value that no file has."


def restore_spec(text: str) -> Spec:
    """Return the specification with this canonical text; raise `InputError` if it is invalid."""
    spec = parse_spec(write_toml(text))
    if spec.text != text:
        raise InputError("The specification is not in its canonical form.")
    return spec


def write_toml(text: str) -> str:
    """Return a TOML file with this canonical text."""
    table = read_table(text)
    if table is None:
        raise InputError("The specification cannot be read.")
    try:
        return format_toml(_leave_out_defaults(table))
    except TypeError:  # such as a list where a column is named
        raise InputError(_NO_VALUE) from None


def format_toml(table: Mapping[str, Any]) -> str:
    """Return values, lists, and tables of these as TOML."""
    tables = {name: part for name, part in table.items() if isinstance(part, Mapping)}
    lines = [_write_entry(name, one) for name, one in table.items() if name not in tables]
    for name, part in tables.items():
        lines += ["", f"[{_quote_key(name)}]", *(_write_entry(*entry) for entry in part.items())]
    return "\n".join(lines) + "\n"


def decode_spec(text: str) -> Spec:
    """Decode a canonical text without checks, as earlier versions allowed more than this one."""
    try:
        table = msgspec.json.decode(text, type=dict[str, Any])
        algorithm = msgspec.convert(table.get("algorithm", {}), Algorithm)
        return msgspec.convert(table, kind_of(table, algorithm.name))
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
        raise InputError("The specification cannot be read.") from None


def find_positive_class(text: str) -> str | float | None:
    """Return the positive class, which high scores indicate, of a canonical text.

    None if there are not two classes, or the text cannot be read.
    """
    try:
        spec = decode_spec(text)
        if not spec.has_two_classes or spec.label is None:
            return None
    except InputError:
        return None
    if spec.classes is not None:
        return spec.classes[-1] if spec.classes else None
    return spec.ranges[spec.label][1] if spec.label in spec.ranges else None


def _leave_out_defaults(table: dict[str, Any]) -> dict[str, Any]:
    """Return the entries that a file may hold, the measure first and tables last."""
    noise, ranges = table.pop(NOISE, None), table.get("ranges")
    if noise:
        table["privacy"] = noise
    if table.get("classes") is not None:  # the label's range and classes follow from them
        for part in (ranges, table.get("privacy")):
            if isinstance(part, dict):
                part.pop(table.get("label") if part is ranges else "classes", None)
    algorithm = table.get("algorithm")
    if isinstance(algorithm, dict) and algorithm.get("name") == SUMS:
        for name, keys in _REFUSED_KEYS.items():
            if isinstance(own := table.get(name), dict):
                for key in keys:
                    own.pop(key, None)
    for part, key, default in ((algorithm, "refine", 1), (table, "target", "v")):
        if isinstance(part, dict) and part.get(key) == default:
            del part[key]
    order = ("kernel", "loss", "columns", "label", "classes", *sorted(table))
    kept = {}
    for name in order:
        part = table.get(name)
        if isinstance(part, dict):
            part = {key: one for key, one in part.items() if one is not None}
        if part not in (None, {}):
            kept[name] = part
    return kept


def _write_entry(name: str, value: Any) -> str:
    return f"{_quote_key(name)} = {_write_value(value)}"


def _write_value(value: Any) -> str:
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        if any(isinstance(one, list) for one in value):
            raise InputError(_NO_VALUE)
        return f"[{', '.join(map(_write_value, value))}]"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    if isinstance(value, int | float):
        return repr(value)
    raise InputError(_NO_VALUE)


def _quote_key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _quote(name)


def _quote(text: str) -> str:
    """Return text in quotes, with escapes for all characters that cannot be printed."""
    letters = []
    for letter in text:
        if letter in '"\\':
            letters.append(f"\\{letter}")
        elif letter.isprintable():
            letters.append(letter)
        else:
            letters.append(f"\\U{ord(letter):08X}")
    return f'"{"".join(letters)}"'
