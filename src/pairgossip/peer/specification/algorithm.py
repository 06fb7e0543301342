"""Which algorithm a specification asks for, and which of its keys mean something to it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from pairgossip.errors import InputError, canonical, unknown_name
from pairgossip.kernels import as_kernel
from pairgossip.kernels.kernel import follows_rows
from pairgossip.losses import as_loss
from pairgossip.losses.learning import can_sketch

EXCHANGE, SUMS = "exchange", "sums"
OR_EXCHANGE = 'or let rows travel with algorithm.name = "exchange"'
_OR_REPORTS = OR_EXCHANGE.replace("rows", "reports")
_NOT_OF_SUMS = {
    ("algorithm", "mixing"): "algorithm.mixing is how estimates are averaged when rows travel, and "
    f"sums have none: remove it, {OR_EXCHANGE}.",
    ("algorithm", "rate"): "algorithm.rate is how often members exchange rows, and sums have none: "
    f"remove it, {OR_EXCHANGE}.",
    ("learning", "step"): "learning.step is not needed: sums choose their steps; remove it, "
    f"{OR_EXCHANGE}.",
    **{
        ("privacy", key): f"privacy.{key} is about reports of rows, and sums have none: remove it, "
        f"{_OR_REPORTS}."
        for key in ("bins", "rounding", "classes", "together")
    },
    ("", "stop"): "stop is not needed: a run on sums ends by itself; remove the table, "
    f"{OR_EXCHANGE}.",
}
"""Keys, by table, that mean nothing to sums, and the sentence that refuses each."""
_NOT_OF_EXCHANGE = {
    ("algorithm", key): f'algorithm.{key} is for algorithm.name = "sums": remove it.'
    for key in ("bins", "least_cell", "refine", "rounds")
}
"""The same where rows travel."""

FACTORS = {"by": "groups", "within": "strata", "weight": "weights"}
"""Keys that name a column by which rows are counted apart, and those that list its values."""
OF_KERNELS = ("whole", *FACTORS, "report", "thresholds", "heterogeneity")
"""Keys that are for sums and a kernel."""


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
    from pairgossip.counts.layouts import is_told_by_sums

    kernel, loss = table.get("kernel"), table.get("loss")
    if isinstance(kernel, str):
        return SUMS if is_told_by_sums(kernel) else EXCHANGE
    with suppress(InputError):  # a loss that is unknown is refused by its own sentence
        if isinstance(loss, str) and can_sketch(as_loss(loss)):
            return SUMS
    return EXCHANGE


def check_measure_name(table: Mapping[str, Any]) -> None:
    """Refuse an unknown kernel or loss, before the keys that belong to another one are."""
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
    # Only here, so that a device whose rows travel loads nothing of sums.
    from pairgossip.counts.layouts import check_name

    check_name(kernel)


def check_algorithm_keys(table: Mapping[str, Any], *, is_sums: bool) -> None:
    """Refuse keys that mean nothing to the algorithm that is chosen."""
    if is_sums and table.get("links"):
        raise InputError('links is for algorithm.name = "exchange", where links ring: remove it.')
    for key in () if is_sums else (*OF_KERNELS, *FACTORS.values(), "missing"):
        if table.get(key):
            raise InputError(f'{key} is for algorithm.name = "sums": remove it.')
    for (name, key), sentence in (_NOT_OF_SUMS if is_sums else _NOT_OF_EXCHANGE).items():
        part = table.get(name) if name else table
        if isinstance(part, Mapping) and key in part:
            raise InputError(sentence)
    if choose_algorithm(table) not in (None, EXCHANGE, SUMS):
        raise unknown_name("algorithm.name", table["algorithm"]["name"], (EXCHANGE, SUMS))
