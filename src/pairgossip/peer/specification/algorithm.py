"""The algorithm of a specification, and checks that its keys belong to it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from pairgossip.errors import InputError, canonical, unknown_name
from pairgossip.kernels import as_kernel
from pairgossip.kernels.kernel import follows_rows
from pairgossip.losses import as_loss
from pairgossip.losses.learning import can_sketch
from pairgossip.peer.specification.agreement import Spec
from pairgossip.peer.specification.differences import NOISE
from pairgossip.peer.specification.keys import EXCHANGE, KERNEL, LOSS, SUMS, Key, Strict, keys_of
from pairgossip.peer.specification.tables import Algorithm, Learning, Privacy, Stop, SumsNoise

TABLES: dict[str, tuple[type[Strict], ...]] = {
    "": (Spec,),
    "algorithm": (Algorithm,),
    "learning": (Learning,),
    "stop": (Stop,),
    "privacy": (Privacy, SumsNoise),
}
"""The types that each table of a file may have; "" is the top of the file."""


def choose_algorithm(table: Mapping[str, Any]) -> str | None:
    """Return the algorithm of a specification; None if its entry is not a name.

    Without an entry it is sums, if they give the answer. So rows travel only if the file says so,
    or if there is no other way.
    """
    algorithm = table.get("algorithm", {})
    name = algorithm.get("name") if isinstance(algorithm, Mapping) else None
    if name is not None:
        return canonical(name) if isinstance(name, str) else None
    # Imported here, so that a device whose rows travel loads nothing of sums.
    from pairgossip.counts.layouts import is_told_by_sums

    kernel, loss = table.get("kernel"), table.get("loss")
    if isinstance(kernel, str):
        return SUMS if is_told_by_sums(kernel) else EXCHANGE
    with suppress(InputError):  # `check_measure_name` refuses an unknown loss
        if isinstance(loss, str) and can_sketch(as_loss(loss)):
            return SUMS
    return EXCHANGE


def check_measure_name(table: Mapping[str, Any]) -> None:
    """Refuse an unknown kernel or loss; this comes before its keys are checked."""
    kernel, loss, algorithm = (table.get(key) for key in ("kernel", "loss", "algorithm"))
    if isinstance(loss, str):
        as_loss(loss)
    if not isinstance(kernel, str):
        return
    if follows_rows(kernel):
        raise InputError(
            f"Kernel '{canonical(kernel)}' has a column of scores for each class, and peers "
            "compare two classes: choose 'auc'."
        )
    named = isinstance(algorithm, Mapping) and "name" in algorithm
    if named and choose_algorithm(table) == EXCHANGE:
        as_kernel(kernel)
        return
    # Imported here, so that a device whose rows travel loads nothing of sums.
    from pairgossip.counts.layouts import check_name

    check_name(kernel)


def check_keys(table: Mapping[str, Any], algorithm: str | None) -> None:
    """Refuse keys that have no meaning for the algorithm or the measure."""
    if algorithm not in (None, EXCHANGE, SUMS):
        raise unknown_name("algorithm.name", table["algorithm"]["name"], (EXCHANGE, SUMS))
    measures = [measure for measure in (KERNEL, LOSS) if table.get(measure) is not None]
    measure = measures[0] if len(measures) == 1 else ""
    for name, types in TABLES.items():
        part = table.get(name) if name else table
        keys = {key: one for kind in types for key, one in keys_of(kind).items()}
        for key, value in part.items() if isinstance(part, Mapping) else ():
            is_set = not _is_nothing(value) or key in TABLES or name == "privacy"
            if is_set and key in keys:
                place = f"{name}.{key}" if name else key
                keys[key].refuse(place, algorithm or "", measure)


def find_key(place: str) -> Key:
    """Return the declaration of the key at a place such as "algorithm.bins"."""
    table, _, name = place.rpartition(".")
    types = TABLES["privacy" if table == NOISE else table]
    return next(filter(None, (keys_of(kind).get(name) for kind in types)), Key())


def _is_nothing(value: object) -> bool:
    return value is False or value in ("", [], {})
