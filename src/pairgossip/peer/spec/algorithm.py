"""Which algorithm a specification asks for, and which of its keys mean something to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pairgossip.errors import InputError, canonical, unknown_name
from pairgossip.kernels import as_kernel
from pairgossip.losses import as_loss
from pairgossip.losses.learning import can_sketch

EXCHANGE, SUMS = "exchange", "sums"
_OF_EXCHANGE = {
    "mixing": "is how estimates are averaged when rows travel",
    "rate": "is how often members exchange rows",
}
_OF_SUMS = ("bins", "refine", "rounds")
_OF_REPORTS = ("bins", "rounding", "classes", "together")
OR_EXCHANGE = 'or let rows travel with algorithm.name = "exchange"'


def choose_algorithm(table: Mapping[str, Any]) -> str | None:
    """Return the algorithm of a specification: sums unless it names another, or they cannot tell.

    So rows travel only where somebody has written that they do, or nothing else would do. None if
    what stands there is no name.
    """
    algorithm = table.get("algorithm", {})
    name = algorithm.get("name") if isinstance(algorithm, Mapping) else None
    if name is not None:
        return canonical(name) if isinstance(name, str) else None
    # Only here, so that a device whose rows travel loads nothing of sums.
    from pairgossip.peer.sums.questions import is_told_by_sums

    kernel, loss = table.get("kernel"), table.get("loss")
    if isinstance(kernel, str):
        return SUMS if is_told_by_sums(kernel) else EXCHANGE
    return SUMS if isinstance(loss, str) and _is_learned_by_sums(loss) else EXCHANGE


def _is_learned_by_sums(loss: str) -> bool:
    try:
        return can_sketch(as_loss(loss))
    except InputError:
        return False  # it is refused by its own sentence


def check_measure_name(table: Mapping[str, Any]) -> None:
    """Refuse an unknown kernel or loss, before the keys that belong to another one are."""
    kernel, loss, algorithm = (table.get(key) for key in ("kernel", "loss", "algorithm"))
    if isinstance(loss, str):
        as_loss(loss)
    if not isinstance(kernel, str):
        return
    named = isinstance(algorithm, Mapping) and "name" in algorithm
    if named and choose_algorithm(table) == EXCHANGE:
        as_kernel(kernel)
        return
    # Only here, so that a device whose rows travel loads nothing of sums.
    from pairgossip.peer.sums.questions import check_name

    check_name(kernel)


def check_algorithm_keys(table: Mapping[str, Any], *, is_sums: bool) -> None:
    """Refuse keys that mean nothing to the algorithm that is chosen."""
    algorithm = table.get("algorithm", {})
    keys = set(algorithm) if isinstance(algorithm, Mapping) else set()
    if is_sums:
        for key, why in _OF_EXCHANGE.items():
            if key in keys:
                raise InputError(
                    f"algorithm.{key} {why}, and sums have none: remove it, {OR_EXCHANGE}."
                )
        learning, privacy = table.get("learning"), table.get("privacy")
        if isinstance(learning, Mapping) and "step" in learning:
            raise InputError(
                f"learning.step is not needed: sums choose their steps; remove it, {OR_EXCHANGE}."
            )
        for key in _OF_REPORTS:
            if isinstance(privacy, Mapping) and key in privacy:
                raise InputError(
                    f"privacy.{key} is about reports of rows, and sums have none: remove it, "
                    f"{OR_EXCHANGE.replace('rows', 'reports')}."
                )
        if "stop" in table:
            raise InputError(
                "stop is not needed: a run on sums ends by itself; remove the table, "
                f"{OR_EXCHANGE}."
            )
        return
    if table.get("whole"):
        raise InputError('whole is for algorithm.name = "sums": remove it.')
    for key in _OF_SUMS:
        if key in keys:
            raise InputError(f'algorithm.{key} is for algorithm.name = "sums": remove it.')
    name = choose_algorithm(table)
    if name not in (None, EXCHANGE):
        raise unknown_name("algorithm.name", algorithm["name"], (EXCHANGE, SUMS))
