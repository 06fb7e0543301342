"""The columns and cells that a question's text counts: the site's names, and the table's layout.

Two questions can share a table only if their layouts are the same.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from pairgossip.errors import InputError
from pairgossip.peer.specification.canonical_text import decode_spec, restore_spec
from pairgossip.study.protocol.records import MemberList
from pairgossip.study.storage.settings import StudySettings

if TYPE_CHECKING:
    from pairgossip.peer.specification.spec import Spec

_NAMED = ("label", "by", "within", "weight")
"""Keys of a text that hold the name of a column."""


@lru_cache(maxsize=64)
def read_text(text: str) -> Spec:
    """Return the specification of a question; raise `InputError` for any other text."""
    return restore_spec(text)


@lru_cache(maxsize=64)
def layout_of(text: str) -> bytes:
    """Return a digest of everything that a question's table depends on besides the rows."""
    spec = read_text(text)
    if not spec.is_counted:  # such questions share no sums
        return hashlib.sha256(text.encode()).digest()
    from pairgossip.peer.sums.statistics import cells_of

    cells = cells_of(spec)
    parts = (
        (spec.columns, spec.label, spec.by, spec.within, spec.weight),
        (spec.classes, spec.groups, spec.strata, spec.weights, sorted(spec.ranges.items())),
        [axis.places.tolist() for axis in cells.axes],
        [table.shape for table in cells.tables],
        (spec.algorithm.least_cell, bool(spec.heterogeneity)),
        msgspec.to_builtins(spec.noise),
    )
    return hashlib.sha256(msgspec.msgpack.encode(parts)).digest()


def rows_travel(text: str) -> bool:
    """Return whether rows travel for a text; False for one that this version cannot read."""
    try:
        return not read_text(text).is_sums
    except InputError:
        return False


def rule_of(members: MemberList) -> int:
    """Return the least number of rows that the members of a list count; 0 if no member sets one."""
    return max((card.least_cell for card in members.members), default=0)


def rename_columns(text: str, settings: StudySettings) -> Spec:
    """Return the specification with the columns' names in this site's source."""
    table, own = json.loads(text), settings.columns
    table["columns"] = [own.get(name, name) for name in table["columns"]]
    table["ranges"] = {own.get(name, name): ends for name, ends in table["ranges"].items()}
    for key in _NAMED:
        if isinstance(name := table.get(key), str):
            table[key] = own.get(name, name)
    if isinstance(whole := table.get("whole"), list):
        table["whole"] = [own.get(name, name) for name in whole]
    return decode_spec(json.dumps(table))


def find_scores(spec: Spec, settings: StudySettings) -> frozenset[str]:
    """Return the score columns that a text counts, by the names of `find_column`.

    If rows travel, no column is counted.
    """
    return frozenset(find_column(name, settings) for name in spec.counted)


def find_column(name: str, settings: StudySettings) -> str:
    """Return the name of a question's column at this site, whatever the question calls it.

    It is the source's name, or the first of the columns that are declared to be functions of it.
    """
    own = settings.columns.get(name, name)
    return next((min(group) for group in settings.same if own in group), own)


def columns_here(spec: Spec, settings: StudySettings) -> set[str]:
    """Return the columns that a question reads, by their names in this site's source."""
    return {settings.columns.get(name, name) for name in spec.observed}


def refuse_undeclared(spec: Spec, settings: StudySettings, declared: frozenset[str]) -> None:
    """Raise `InputError` for a column that this site does not have."""
    for name in spec.observed:
        if settings.columns.get(name, name) not in declared:
            raise InputError(
                f"This site has frozen no column '{name[:64]}': ask for another, or its operator "
                "says under [columns] of peer.toml what the source calls it."
            )
