"""Checks of a specification for sums, each with its error message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pairgossip.counts.axes import Labels
from pairgossip.counts.layouts import check_kernel
from pairgossip.counts.noisy import check_noisy
from pairgossip.counts.tables import MOST_COLUMN_CELLS
from pairgossip.errors import InputError
from pairgossip.kernels import as_kernel
from pairgossip.losses import as_loss
from pairgossip.losses.learning import why_not_sketched
from pairgossip.peer.reports.catalog import check_report, has_statistic
from pairgossip.peer.specification.checks import FACTORS
from pairgossip.peer.specification.tables import OR_EXCHANGE
from pairgossip.peer.sums.labels import count_grades
from pairgossip.peer.sums.noise import LEAST_EPSILON, MOST_EPSILON
from pairgossip.peer.sums.statistics import cells_of
from pairgossip.summaries.heads import LEAST_BLOCK
from pairgossip.text import join_names

if TYPE_CHECKING:
    from pairgossip.counts.tables import Layout
    from pairgossip.peer.specification.agreement import Spec
    from pairgossip.peer.specification.kinds import CountsSpec, ModelSpec, NoisySpec

_NUMBERS_OF_CELLS = [1 << power for power in range(1, MOST_COLUMN_CELLS.bit_length())]
_LARGEST_BLOCK = 1000
"""Largest value of ``least_cell``, in rows; a larger one is refused."""
_MOST_WORDS = 1 << 17
"""Largest number of numbers in a contribution, a megabyte; more are refused."""
_MOST_GRADES = 32
"""Largest number of values of a label for learning a model; more are refused."""
_FEWEST_ROUNDS = 3
"""Least number of sums for learning a model; fewer are refused."""
_LARGEST_WHOLE = (1 << 53) - 1
"""Largest absolute end of a range of whole numbers; more is refused, as floats skip some there."""


def check_sums(spec: Spec) -> None:
    """Refuse the second sum on better cells that version 0.2 had."""
    if spec.algorithm.refine != 1:
        raise InputError(
            "algorithm.refine is no longer offered, since cells would follow from rows that "
            "members claim: remove it, and give more algorithm.bins."
        )


def check_statistic(spec: CountsSpec) -> None:
    """Refuse a run whose answer cannot be read from counts."""
    algorithm, asked = spec.algorithm, spec.question
    if asked is None:
        check_kernel(as_kernel(spec.kernel))
    elif spec.target == "u":
        raise InputError(f"target is for averages over pairs, not for '{asked.name}': remove it.")
    if asked is not None and spec.within is not None:
        raise InputError(
            f"within is for averages over pairs, not for '{asked.name}': remove it, or name the "
            "column in by."
        )
    _check_factors(spec, is_test=asked is not None and asked.is_test)
    if spec.kernel == "gini-coefficient" and spec.ranges[spec.columns[0]][0] < 0:
        raise InputError(
            f"ranges.{spec.columns[0]} begins below 0, where kernel 'gini-coefficient' means "
            "nothing: use 'gini', or a range of sizes."
        )
    if algorithm.bins is not None and algorithm.bins not in _NUMBERS_OF_CELLS:
        raise InputError(
            f"algorithm.bins is {algorithm.bins}: give a power of two, 2 to {MOST_COLUMN_CELLS:,}."
        )
    _check_heterogeneity(spec)
    names = spec.whole or ()
    for name in names:
        _check_whole_range(name, *spec.ranges[name])
    check_report(spec)
    cells = cells_of(spec)
    if names:
        _check_whole(spec, names, cells)
    if cells.words > _MOST_WORDS:
        raise InputError(
            f"A sum would have {cells.words:,} numbers, which is too long to send: lower "
            "algorithm.bins, or leave a column out of whole."
        )
    spec.check_protection()


def _check_factors(spec: Spec, *, is_test: bool) -> None:
    """Refuse groups, strata and weights that the kernel or test does not use."""
    for key in FACTORS:
        if getattr(spec, key) is not None and spec.kernel == "distance":
            raise InputError(f"{key} is for a kernel other than 'distance': remove it.")
    if spec.weight is not None and is_test:
        raise InputError(f"Test '{spec.kernel}' is of rows that count once: remove weight.")


def _check_heterogeneity(spec: Spec) -> None:
    """Refuse to compare sites if their statistic is not the AUC."""
    if not spec.heterogeneity:
        return
    if spec.kernel != "auc":
        raise InputError(f"heterogeneity is for kernel 'auc', not for '{spec.kernel}': remove it.")
    if not has_statistic(spec):
        raise InputError(
            f"heterogeneity compares the AUCs of sites, and report '{spec.report}' has none: "
            "remove one."
        )


def check_blocks(spec: CountsSpec) -> None:
    """Refuse counts that reveal single rows, as no noise hides them."""
    least = spec.algorithm.least_cell
    if least is not None and not (least == 1 or LEAST_BLOCK <= least <= _LARGEST_BLOCK):
        raise InputError(
            f"algorithm.least_cell is {least}: give {LEAST_BLOCK} to {_LARGEST_BLOCK:,}, since two "
            "rows would tell each of two people about the other, or 1 to count cells as they are."
        )
    if spec.kernel == "distance" and len(spec.columns) > 1:
        raise InputError(
            "kernel 'distance' counts rows of several columns along many directions, which "
            f"together tell about single rows: add noise with [privacy], {OR_EXCHANGE}."
        )


def _check_whole(spec: Spec, names: Sequence[str], cells: Layout) -> None:
    """Refuse whole numbers that cannot have a cell each, and a key ``whole`` without any effect."""
    axes = dict(zip(spec.columns, cells.column_axes, strict=False))
    with_cells = [name for name in names if name in axes]
    if not with_cells:
        raise InputError(
            f"whole is of no use here: kernel '{spec.kernel}' has no cells for "
            f"{join_names(names)}: remove it."
        )
    for name in with_cells:
        if not isinstance(axes[name], Labels):
            low, high = spec.ranges[name]
            raise InputError(
                f"ranges.{name} holds {high - low + 1:,.0f} whole numbers, but a column has "
                f"{MOST_COLUMN_CELLS:,} cells at most: leave '{name}' out of whole, or narrow its "
                "range."
            )


def _check_whole_range(name: str, low: float, high: float) -> None:
    if not (low.is_integer() and high.is_integer()):
        raise InputError(
            f"ranges.{name} is [{low:g}, {high:g}], but whole names '{name}': let the range "
            "begin and end with a whole number."
        )
    if max(-low, high) > _LARGEST_WHOLE:
        raise InputError(
            f"ranges.{name} goes beyond {_LARGEST_WHOLE:,}, where not every whole number can be "
            f"written: leave '{name}' out of whole, or count from another number."
        )


def check_noise(spec: NoisySpec) -> None:
    """Refuse an epsilon beyond its bounds, and counts that cannot be read with noise."""
    if not LEAST_EPSILON <= spec.noise.epsilon <= MOST_EPSILON:
        raise InputError(
            f"privacy.epsilon is {spec.noise.epsilon}: give {LEAST_EPSILON:g} to {MOST_EPSILON:g}."
        )
    check_noisy(cells_of(spec))


def check_loss(spec: ModelSpec) -> None:
    """Refuse a model that cannot be learned from sums."""
    algorithm = spec.algorithm
    if algorithm.rounds is not None and algorithm.rounds < _FEWEST_ROUNDS:
        raise InputError(
            f"algorithm.rounds is {algorithm.rounds}: learning takes {_FEWEST_ROUNDS} sums at "
            "least, and often 20 to 60."
        )
    if spec.noise is not None:
        raise InputError(
            "[privacy]: noise is for counts, and a model is learned from other sums: remove the "
            'table, or let reports travel with algorithm.name = "exchange".'
        )
    if (why := why_not_sketched(as_loss(spec.loss))) is not None:
        raise InputError(
            f"loss '{spec.loss}' {why}, so that sums do not "
            'tell its gradient: choose another, or algorithm.name = "exchange".'
        )
    grades = count_grades(spec)
    if not 2 <= grades <= _MOST_GRADES:
        raise InputError(
            f"ranges.{spec.label} holds {grades:,} whole numbers, but sums are made for 2 to "
            f"{_MOST_GRADES} grades: use fewer, list classes, {OR_EXCHANGE}."
        )
