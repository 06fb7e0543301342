"""A question as its asker writes it, and as it is sent."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from msgspec.structs import replace

from pairgossip.errors import InputError
from pairgossip.files import LARGEST_TOML, parse_toml, read_bytes
from pairgossip.peer.specification.canonical_text import decode_spec
from pairgossip.peer.specification.spec import Spec, parse_spec
from pairgossip.peer.specification.tables import Stop
from pairgossip.study.protocol.records import LONGEST_TEXT


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
    if not spec.is_sums:
        return _with_end(spec)
    if spec.kernel is None or spec.noise is not None:
        return text
    least = spec.algorithm.least_cell
    if least is None:
        return replace(spec, algorithm=replace(spec.algorithm, least_cell=least_cell)).text
    if least != least_cell:
        raise InputError(
            f"algorithm.least_cell is {least}, and the members of this study count at least "
            f"{least_cell} rows: leave it out."
        )
    return text


def _with_end(spec: Spec) -> str:
    """Return the text of a question whose rows travel, with an end if it gives none."""
    if spec.stop is not None:
        return spec.text
    if spec.kernel is None:
        raise InputError(
            "Rows would travel without an end: give the exchanges of a member after which a model "
            "is learned, as in [stop] with exchanges = 5000."
        )
    return replace(spec, stop=Stop(enough=True)).text
