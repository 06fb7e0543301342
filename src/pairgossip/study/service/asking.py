"""A question as its asker writes it, and as it is sent."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from msgspec.structs import replace

from pairgossip.errors import InputError
from pairgossip.files import LARGEST_TOML, parse_toml, read_bytes
from pairgossip.peer.specification.canonical_text import decode_spec
from pairgossip.peer.specification.spec import parse_spec
from pairgossip.study.protocol.records import LONGEST_TEXT
from pairgossip.study.site.kinds import kind_of


def read_question_text(path: str | PathLike[str]) -> str:
    """Return the canonical text of a specification in a file; raise `InputError` if it is wrong."""
    file = Path(path)
    try:
        toml = read_bytes(file, LARGEST_TOML).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{file} is not UTF-8 text: save it as TOML in UTF-8.") from None
    try:
        return parse_question(toml)
    except InputError as problem:
        raise problem.at(file) from None


def parse_question(toml: str) -> str:
    """Return the canonical text of a specification; raise `InputError` if it is wrong.

    The least number of rows that may be counted stays open by default: members' rules decide.
    """
    spec = parse_spec(toml)
    if spec.kernel is not None and "least_cell" not in parse_toml(toml).get("algorithm", {}):
        spec = replace(spec, algorithm=replace(spec.algorithm, least_cell=None))
    if len(spec.text) > LONGEST_TEXT:
        raise InputError(
            f"The question's text is longer than {LONGEST_TEXT:,} characters: shorten its names."
        )
    return spec.text


def fill_in(text: str, least_cell: int) -> str:
    """Return a text with the values that members' rules determine.

    These are the least number of rows that may be counted, and an end where rows travel.
    """
    spec = decode_spec(text)
    return kind_of(spec).fill_in(spec, least_cell).text
