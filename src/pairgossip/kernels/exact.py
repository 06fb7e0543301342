"""The exact statistics over all pairs, which gossip estimates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from pairgossip.arrays import BoolArray, FloatArray, IntArray
from pairgossip.checks import STATISTICS, choice
from pairgossip.errors import InputError
from pairgossip.kernels.blocks import (
    Progress,
    blocked_rows,
    blocked_total,
    diagonal_total,
    infinite_value,
)
from pairgossip.kernels.kernel import CATALOG, AnyKernel, Combination, Formula, Kernel, evaluate
from pairgossip.kernels.orders import sharing_orders

# The table of built-in kernels.


class KernelEntry(NamedTuple):
    """One line of the table of built-in kernels."""

    name: str
    columns: tuple[str, ...] | None
    expression: str
    description: str
    exact_cost: str
    same_as: str


def describe() -> list[KernelEntry]:
    """List the built-in kernels: their columns, formulas, and the cost of `exact`."""
    kernels = [CATALOG[name]() for name in sorted(CATALOG)]
    return [
        KernelEntry(
            kernel.name,
            kernel.columns,
            kernel.expression,
            kernel.description,
            "O(n log n)" if all(part.total for part in kernel.components) else "O(n^2), blocked",
            kernel.same_as,
        )
        for kernel in kernels
    ]


# A check of a kernel on a few pairs of the data, before any long work starts.


_SAMPLE = 8
"""The number of observations that are paired with each other."""
_PLASTIC = (0.7548776662466927, 0.5698402909980532)
"""The inverses of the plastic number and of its square."""
_CANDIDATES = 256
"""The number of observations among which different ones are searched."""


def scattered_pairs(n: int, count: int) -> tuple[IntArray, IntArray]:
    """Choose pairs of n observations, always the same ones: some own pairs, then others.

    Multiples of two irrational numbers fill the square of all pairs evenly, and unlike a grid
    have no pattern that an order of the rows could share.
    """
    at = np.arange(1, count + 1)
    nodes, held = (np.floor(n * (at * step % 1.0)).astype(np.intp) for step in _PLASTIC)
    held[:_SAMPLE] = nodes[:_SAMPLE]
    return nodes, held


def sample_pairs(data: FloatArray) -> tuple[IntArray, IntArray]:
    """Pair a few evenly spread observations with each other."""
    chosen = np.unique(np.linspace(0, len(data) - 1, _SAMPLE).astype(np.intp))
    nodes, held = np.meshgrid(chosen, chosen, indexing="ij")
    return nodes.ravel(), held.ravel()


def check_finite(owner: str, parts: FloatArray, nodes: IntArray, held: IntArray) -> None:
    """Raise `InputError` if any pair's number, or row of numbers, is not finite."""
    for index in np.flatnonzero(~np.isfinite(parts.reshape(len(nodes), -1)).all(axis=1))[:1]:
        raise infinite_value(owner, int(nodes[index]), int(held[index]))


def check_alone(owner: str, in_block: FloatArray, alone: FloatArray) -> None:
    """Raise `InputError` if a pair's numbers depend on the other pairs of its block."""
    if not np.allclose(in_block, alone, rtol=1e-5, atol=1e-9):
        raise InputError(
            f"{owner} gives other values for a pair alone than for the same pair among others: "
            f"make its value depend on that pair only."
        )


def probe(kernel: AnyKernel, data: FloatArray) -> None:
    """Raise `InputError` unless the kernel keeps its promises on a few pairs of the data.

    It must return one finite value per pair, depend on nothing but the pair, and be symmetric
    and zero at own pairs if it is declared so. Closed forms, and a built-in formula that compiled
    code evaluates in place of the function, must agree with it.
    """
    nodes, held = sample_pairs(data)
    for component in kernel.components:
        owner = f"Kernel '{component.name}'"
        with np.errstate(all="ignore"):
            values = evaluate(component, data[nodes], data[held])
            mirrored = evaluate(component, data[held], data[nodes])
            alone = evaluate(component, data[nodes[-1:]], data[held[-1:]])
        check_finite(owner, values, nodes, held)
        check_alone(owner, values[-1:], alone)
        _check_flags(component, values, mirrored, nodes == held)
        _check_formula(component, data[nodes], data[held], values)
        _check_closed_forms(component, distinct_rows(data))


def _check_flags(kernel: Kernel, values: FloatArray, mirrored: FloatArray, own: BoolArray) -> None:
    if kernel.zero_diagonal and np.any(values[own] != 0):
        raise InputError(
            f"Kernel '{kernel.name}' declares zero_diagonal=True but h(x, x) is "
            f"{values[own][values[own] != 0][0]:g} for some x: set zero_diagonal=False."
        )
    if kernel.symmetric and not np.allclose(values, mirrored, rtol=1e-5, atol=1e-9):
        raise InputError(
            f"Kernel '{kernel.name}' declares symmetric=True but h(x, y) and h(y, x) differ: "
            f"set symmetric=False."
        )


def distinct_rows(data: FloatArray) -> FloatArray:
    """Return a few evenly spread observations, all different.

    Equal ones would leave only rounding errors, in which a closed form may differ.
    """
    some = np.unique(np.linspace(0, len(data) - 1, _CANDIDATES).astype(np.intp))
    rows: FloatArray = np.unique(data[some], axis=0)
    return rows[np.unique(np.linspace(0, len(rows) - 1, _SAMPLE).astype(np.intp))]


def _check_formula(
    kernel: Kernel, first: FloatArray, second: FloatArray, values: FloatArray
) -> None:
    if kernel.formula is Formula.NONE:
        return
    known = kernel.formula.bind(kernel.formula.function, kernel.parameter)
    with np.errstate(all="ignore"):
        expected = evaluate(replace(kernel, function=known), first, second)
    if not np.allclose(values, expected, rtol=1e-5, atol=1e-9):
        raise InputError(
            f"Kernel '{kernel.name}' declares formula=Formula.{kernel.formula.name}, but its "
            f"function gives other values: leave formula= out."
        )


def _check_closed_forms(kernel: Kernel, rows: FloatArray) -> None:
    if not (kernel.total or kernel.row_totals or kernel.column_totals):
        return
    nodes, held = (index.ravel() for index in np.indices((len(rows), len(rows))))
    table = evaluate(kernel, rows[nodes], rows[held]).reshape(len(rows), -1)
    tables = {"total": table.reshape(1, -1), "row_totals": table, "column_totals": table.T}
    for role, values in tables.items():
        if (form := getattr(kernel, role)) is not None:
            _check_closed_form(kernel, role, form, rows, values)


def _check_closed_form(
    kernel: Kernel,
    role: str,
    form: Callable[[FloatArray], Any],
    rows: FloatArray,
    table: FloatArray,
) -> None:
    """Compare a closed form with the sums of the rows of a table of values."""
    owner = f"Kernel '{kernel.name}' has a closed form {role}="
    with np.errstate(all="ignore"):
        try:
            claimed = np.asarray(form(rows.copy()), dtype=np.float64)
        except Exception as failure:
            reason = str(failure).rstrip(".") or type(failure).__name__
            raise InputError(f"{owner} that failed on {len(rows)} rows: {reason}.") from failure
        sums, sizes = table.sum(axis=1), np.abs(table).sum(axis=1)
    if claimed.size != len(sums):
        raise InputError(
            f"{owner} that returned shape {claimed.shape} for {len(rows)} rows: it must return "
            f"{'one number' if role == 'total' else 'one number per row'}."
        )
    # Where sums overflow nothing can be compared; later overflows have their own message.
    known = np.isfinite(sums) & np.isfinite(sizes)
    wrong = known & ~(np.abs(claimed.ravel() - sums) <= 1e-5 * sizes + 1e-9)
    for index in np.flatnonzero(wrong)[:1]:
        raise InputError(
            f"{owner} that gives {claimed.ravel()[index]:g} on {len(rows)} rows where its function "
            f"adds up to {sums[index]:g}: correct it, or leave it out."
        )


def check_kind(kind: str, n: int) -> str:
    """Return the kind of statistic, "u" or "v", or raise `InputError`."""
    kind = choice("kind of statistic", kind, STATISTICS)
    if kind == "u" and n < 2:
        raise InputError(
            f"A U-statistic needs at least 2 observations, but there is {n}: "
            f"ask for the V-statistic."
        )
    return kind


def single_kernel(kernel: AnyKernel) -> Kernel:
    """Return the kernel; raise `InputError` for a combination of several."""
    if isinstance(kernel, Combination):
        raise InputError(
            f"Row means are defined for one kernel, but '{kernel.name}' is made of "
            f"{len(kernel.components)}: ask for one of its components."
        )
    return kernel


def statistic(
    data: FloatArray,
    kernel: AnyKernel,
    kind: str,
    progress: Progress | None = None,
    own_share: FloatArray | float = 0.0,
) -> float:
    """Compute the statistic of data and kernel that were checked before.

    ``own_share`` is the part of rows' pairs with themselves that a U-statistic counts.
    """
    n = len(data)
    pairs = n * n if kind == "v" else n * (n - 1)
    averages = np.empty(len(kernel.components))
    with sharing_orders():
        for index, component in enumerate(kernel.components):
            share = _share(progress, index, len(averages))
            total = _total(data, component, share)
            if kind == "u":
                total -= diagonal_total(component, data, 1 - np.asarray(own_share))
            averages[index] = total / pairs
    return float(kernel.combine(averages))


def checked_row_means(data: FloatArray, kernel: Kernel) -> FloatArray:
    """Compute `row_means` for data and kernel that were checked before."""
    if kernel.row_totals is None:
        return blocked_rows(kernel, data) / len(data)
    with np.errstate(over="ignore", invalid="ignore"):
        rows = kernel.row_totals(data)
    _refuse_overflow(kernel, rows)
    return rows / len(data)


def _total(data: FloatArray, kernel: Kernel, progress: Progress | None) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        if kernel.total is None:
            total = blocked_total(kernel, data, progress)
        else:
            total = float(kernel.total(data))
            if progress is not None:
                progress(1.0)
    _refuse_overflow(kernel, total)
    return total


def _refuse_overflow(kernel: Kernel, sums: FloatArray | float) -> None:
    if not np.all(np.isfinite(sums)):
        raise InputError(
            f"The sum of kernel '{kernel.name}' over all pairs overflows: rescale the data first."
        )


def _share(progress: Progress | None, index: int, count: int) -> Progress | None:
    """Return a progress function that reports one component's share of the whole."""
    if progress is None:
        return None
    return lambda fraction: progress((index + fraction) / count)
