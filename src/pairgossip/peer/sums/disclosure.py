"""Which contributions a site may make: enough rows behind every total, and no more than is allowed.

Everything here is decided at home, before anything is told to anybody.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from pairgossip.arrays import FloatArray

if TYPE_CHECKING:
    from pairgossip.peer.spec.spec import Spec


def check_own_rows(
    spec: Spec, rows: FloatArray, least_rows: int, allowed: Collection[str]
) -> None:
    """Raise `InputError` if this site's contribution would say too much about single rows."""


def describe_small_cells(spec: Spec, rows: FloatArray) -> str | None:
    """Say how many of this site's cells hold few rows; None if none do."""
    return None
