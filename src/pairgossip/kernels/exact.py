"""The statistics themselves, over all pairs: what gossip estimates."""

from __future__ import annotations

from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray, PairFunction
from pairgossip.errors import InputError, canonical, unknown_name
from pairgossip.kernels.blocked import Progress, blocked_rows, blocked_total, diagonal_total
from pairgossip.kernels.data import check_data
from pairgossip.kernels.kernel import Kernel, Ratio, as_kernel
from pairgossip.kernels.probe import probe


def exact(
    data: Any,
    kernel: Kernel | Ratio | PairFunction | str,
    kind: str = "v",
    labels: Any = None,
    progress: Progress | None = None,
) -> float:
    """Average a kernel over all ordered pairs of observations.

    Parameters
    ----------
    data, labels
        The observations, as `check_data` takes them.
    kernel
        A kernel, a ratio (of the two averages; NaN if the lower one is 0), the name of a
        built-in kernel, or a function of two blocks of observations.
    kind
        "v" averages over all n^2 pairs, own pairs included; "u" over the n(n - 1) others.
    progress
        Called with the fraction done, from 0 to 1.
    """
    table, checked = check_data(data, labels), as_kernel(kernel)
    kind = check_kind(kind, len(table))
    checked.check(table, labels)
    probe(checked, table)
    return statistic(table, checked, kind, progress)


def row_means(data: Any, kernel: Kernel | PairFunction | str, labels: Any = None) -> FloatArray:
    """Return (1/n) times the sum over l of h(x_k, x_l), for every observation k."""
    table, checked = check_data(data, labels), as_kernel(kernel)
    single = single_kernel(checked)
    single.check(table, labels)
    probe(single, table)
    return checked_row_means(table, single)


def u_from_v(v: float, diagonal_mean: float, n: int) -> float:
    """Turn a V-statistic into the U-statistic, given the mean of h(x, x)."""
    check_kind("u", n)
    return (n * v - diagonal_mean) / (n - 1)


def v_from_u(u: float, diagonal_mean: float, n: int) -> float:
    """Turn a U-statistic into the V-statistic, given the mean of h(x, x)."""
    check_kind("u", n)
    return ((n - 1) * u + diagonal_mean) / n


def check_kind(kind: str, n: int) -> str:
    """Spell the kind of statistic "u" or "v", or raise `InputError`."""
    spelled = canonical(str(kind))
    if spelled not in ("u", "v"):
        raise unknown_name("kind of statistic", str(kind), ("u", "v"))
    if spelled == "u" and n < 2:
        raise InputError(
            f"A U-statistic needs at least 2 observations, but there is {n}: "
            f"ask for the V-statistic."
        )
    return spelled


def single_kernel(kernel: Kernel | Ratio) -> Kernel:
    """Insist on one kernel, for what is not defined for a ratio."""
    if isinstance(kernel, Ratio):
        raise InputError(
            f"Row means are defined for one kernel, but '{kernel.name}' is a ratio: "
            f"ask for its numerator or its denominator."
        )
    return kernel


def statistic(
    data: FloatArray, kernel: Kernel | Ratio, kind: str, progress: Progress | None = None
) -> float:
    """Compute `exact` for data and kernel that were checked before."""
    n = len(data)
    pairs = n * n if kind == "v" else n * (n - 1)
    averages = np.empty(len(kernel.components))
    for index, component in enumerate(kernel.components):
        share = _share(progress, index, len(averages))
        total = _total(data, component, share)
        if kind == "u":
            total -= diagonal_total(component, data)
        averages[index] = total / pairs
    return float(kernel.combine(averages))


def checked_row_means(data: FloatArray, kernel: Kernel) -> FloatArray:
    """Compute `row_means` for data and kernel that were checked before."""
    if kernel.row_totals is None:
        return blocked_rows(kernel, data) / len(data)
    with np.errstate(over="ignore", invalid="ignore"):
        rows = kernel.row_totals(data)
    if not np.isfinite(rows).all():
        raise _overflow(kernel)
    return rows / len(data)


def _total(data: FloatArray, kernel: Kernel, progress: Progress | None) -> float:
    if kernel.total is None:
        return blocked_total(kernel, data, progress)
    with np.errstate(over="ignore", invalid="ignore"):
        total = float(kernel.total(data))
    if not np.isfinite(total):
        raise _overflow(kernel)
    if progress is not None:
        progress(1.0)
    return total


def _overflow(kernel: Kernel) -> InputError:
    return InputError(
        f"The sum of kernel '{kernel.name}' over all pairs overflows: rescale the data first."
    )


def _share(progress: Progress | None, index: int, count: int) -> Progress | None:
    """Report one component's progress as its share of the whole."""
    if progress is None:
        return None
    return lambda fraction: progress((index + fraction) / count)
