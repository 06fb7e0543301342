"""The table of built-in kernels."""

from __future__ import annotations

from typing import NamedTuple

from pairgossip.kernels.kernel import CATALOG


class Summary(NamedTuple):
    """One line of the table of built-in kernels."""

    name: str
    columns: tuple[str, ...] | None
    expression: str
    description: str
    exact_cost: str


def describe() -> list[Summary]:
    """List the built-in kernels: what each reads, its formula, and what `exact` costs."""
    kernels = [CATALOG[name]() for name in sorted(CATALOG)]
    return [
        Summary(
            kernel.name,
            kernel.columns,
            kernel.expression,
            kernel.description,
            "O(n log n)" if all(part.total for part in kernel.components) else "O(n^2), blocked",
        )
        for kernel in kernels
    ]
