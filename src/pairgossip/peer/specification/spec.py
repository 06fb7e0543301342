"""Specifications read from strict TOML files, or from their canonical texts.

Files with the same meaning have the same canonical text, for any order of keys, form of numbers
and choice of defaults to leave out. Peers compare its hash; `differences` describes differences.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path

import msgspec

from pairgossip.errors import InputError
from pairgossip.files import LARGEST_TOML, parse_toml, read_bytes
from pairgossip.peer.reports.catalog import name_kernel
from pairgossip.peer.specification.agreement import Spec as Spec
from pairgossip.peer.specification.agreement import hash_of as hash_of
from pairgossip.peer.specification.algorithm import (
    TABLES,
    check_keys,
    check_measure_name,
    choose_algorithm,
    find_key,
)
from pairgossip.peer.specification.checks import check_table, wrong_kind
from pairgossip.peer.specification.differences import NOISE
from pairgossip.peer.specification.differences import differences as differences
from pairgossip.peer.specification.keys import SUMS, keys_of, make_canonical
from pairgossip.peer.specification.kinds import kind_of
from pairgossip.peer.specification.tables import Privacy, SumsNoise

LARGEST_TEXT = 60_000
"""Largest number of characters of a canonical text, part of every hello; more are refused."""


def read_spec(path: str | PathLike[str]) -> Spec:
    """Read a specification from a file; raise `InputError` if it is invalid."""
    file = Path(path)
    content = read_bytes(file, LARGEST_TOML)
    try:
        return parse_spec(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise InputError(f"{file} is not UTF-8 text: save it as TOML in UTF-8.") from None
    except InputError as problem:
        raise problem.at(file) from None


def parse_unchecked(text: str) -> Spec:
    """Return a canonical specification of TOML text, without the checks of its kind of run."""
    table = name_kernel(parse_toml(text))
    chosen = choose_algorithm(table)
    privacy, its_type = (NOISE, SumsNoise) if chosen == SUMS else ("privacy", Privacy)
    types = {**{name: kinds[0] for name, kinds in TABLES.items()}, "privacy": its_type}
    check_measure_name(table)
    check_keys(table, chosen)
    check_table(table, {name: keys_of(kind).keys() - {NOISE} for name, kind in types.items()})
    if isinstance(algorithm := table.get("algorithm", {}), Mapping):
        table = {**table, "algorithm": {"name": chosen, **algorithm}}
    if "privacy" in table:
        table = {**table, "privacy": None, privacy: table["privacy"]}
    try:
        spec = msgspec.convert(table, kind_of(table, chosen))
    except msgspec.ValidationError as problem:
        raise wrong_kind(problem, table, find_key) from None
    return make_canonical(spec).complete()


def parse_spec(text: str) -> Spec:
    """Return the specification in TOML text; raise `InputError` if it is invalid."""
    spec = parse_unchecked(text).with_defaults()
    spec.check()
    if len(spec.text) > LARGEST_TEXT:
        raise InputError("The specification is too long to be sent: use fewer or shorter columns.")
    return spec
