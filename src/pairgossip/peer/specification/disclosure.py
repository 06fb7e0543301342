"""Sentences about the data that will leave a member's machine, shown before any does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pairgossip.counts.axes import Labels
from pairgossip.peer.specification.keys import disclosures
from pairgossip.peer.specification.promise import PROMISE
from pairgossip.text import format_count, join_names

if TYPE_CHECKING:
    from pairgossip.counts.tables import Layout
    from pairgossip.peer.specification.agreement import Spec
    from pairgossip.peer.specification.kinds import CountsSpec, ModelSpec, NoisySpec, ReportsSpec


def describe_rows(spec: Spec) -> list[str]:
    """Describe what leaves a member's machine if rows travel."""
    return [
        "Your rows travel from member to member, signed and as they are: "
        f"{_name_observed(spec)} of every row.",
        "Every member may see which rows are yours.",
        *disclosures(spec),
    ]


def describe_reports(spec: ReportsSpec) -> list[str]:
    """Describe what leaves a member's machine if reports of rows travel."""
    return [
        "Reports of your rows travel from member to member, not the rows: "
        f"{_name_observed(spec)} of every row, randomized once with epsilon "
        f"{spec.privacy.epsilon:g}.",
        "Every member may see which reports are yours, and how many rows you have.",
        *([] if spec.kernel is None else _describe_report_interval(spec)),
        *disclosures(spec),
    ]


def describe_counts(spec: CountsSpec) -> list[str]:
    """Describe what leaves a member's machine if rows are counted."""
    from pairgossip.peer.sums.statistics import cells_of

    cells, least = cells_of(spec), spec.algorithm.least_cell or 1
    are, each = ("lie", "in each of") if least == 1 else ("are counted", "in each block of")
    blocks = (
        f"Your rows are counted in blocks of cells, {least} rows or more in each or none: "
        f"a member without {least} rows of {_name_parts(spec, cells)} counts none."
    )
    return [
        f"No row leaves this machine: only counts of rows by {_name_observed(spec)} do.",
        f"Members learn 1 sum of {format_count(cells.words, 'number')}, all of it and not only the "
        f"value that is read from it: how many rows of all members {are} "
        f"{each} {f'; {each} '.join(_describe_tables(cells, spec.observed))}.",
        *([blocks] if least > 1 else []),
        _describe_mask(spec),
        *spec.describe_protection(),
        *disclosures(spec),
        *_describe_sites(spec),
    ]


def describe_blocks(spec: CountsSpec) -> list[str]:
    """Describe the promise of counts without noise."""
    least = spec.algorithm.least_cell or 1
    return [f"The promise, with k = {least}: {PROMISE}" if least > 1 else _TWO_SUMS]


def describe_noise(spec: NoisySpec) -> list[str]:
    """Describe the promise of noise, and the rows that an interval takes."""
    from pairgossip.counts.noisy import rows_for_interval
    from pairgossip.peer.sums.statistics import cells_of, noise_law

    law = noise_law(spec, 1 + (spec.noise.honest or _ASSUMED_MEMBERS))
    promise = (
        "Noise is added to every count, once: the sum tells any one member of a row what epsilon "
        f"{spec.noise.epsilon:g} allows."
    )
    least = rows_for_interval(cells_of(spec), law.variance)
    if least <= _FEW_ROWS:
        return [promise]
    return [
        promise,
        f"With fewer than about {least:,} rows of all members together there is no interval, only "
        "the value and the standard error of noise: a larger epsilon or fewer algorithm.bins "
        "change that.",
    ]


def describe_model(spec: ModelSpec) -> list[str]:
    """Describe what leaves a member's machine if a model is learned from sums."""
    from pairgossip.peer.sums.learning import largest_sketch, margin_of, most_words

    phi = margin_of(spec)
    sketch = f"up to {largest_sketch(phi):,} " + (
        "sums of polynomials of the scores" if phi.is_smooth else "counts of scores in cells"
    )
    return [
        f"No row leaves this machine: only totals over rows of {_name_observed(spec)} do.",
        f"Members learn at most {format_count(spec.algorithm.rounds or 0, 'sum')} of at most "
        f"{format_count(most_words(spec), 'number')}: for each value of '{spec.label}' how many "
        f"rows have it, and the sums over them of every column and of products of two columns; "
        f"then, at one model after the other, {sketch} of each, and the gradient over all rows.",
        _describe_mask(spec),
        _TWO_SUMS,
        *disclosures(spec),
    ]


def _name_observed(spec: Spec) -> str:
    return join_names([f"'{name}'" for name in spec.observed])


def _describe_sites(spec: Spec) -> list[str]:
    """Describe what members learn about each site if sites are compared."""
    if not spec.heterogeneity:
        return []
    from pairgossip.agreement.sums import FEWEST_SITES
    from pairgossip.peer.sums.site_sums import least_of_class
    from pairgossip.peer.sums.sites import FEWEST_HIDDEN
    from pairgossip.peer.sums.statistics import cells_of

    enough = f"{least_of_class(spec.algorithm.least_cell or 1):,} rows"
    return [
        f"Members learn 3 sums more, once, if {FEWEST_SITES} or more sites have {enough} of "
        f"{_name_parts(spec, cells_of(spec))} and none has more than half of their rows: of "
        "the logit of each such site's AUC to .25, of its square, and of its squared error, all "
        "read from the counts that it contributes. Each tells all members whether it has so many.",
        "So the mean and the standard deviation of the other sites become known. If the standard "
        "deviation is small, so is every site's AUC; with all but two working together both are.",
        "A site shows its own AUC with its error to all members only with show = true in its "
        f"peer.toml, and only if the sites that do not are none, or {FEWEST_HIDDEN} or more.",
    ]


def _describe_report_interval(spec: ReportsSpec) -> list[str]:
    """Describe the least number of reports for an interval, if it is large."""
    from pairgossip.privacy.moments import rows_for_interval

    least = rows_for_interval(spec.mechanism)
    if least <= _FEW_ROWS:
        return []
    return [
        f"With fewer than {least:,} rows of all members together there is no sampling interval: a "
        "larger epsilon or fewer bins change that."
    ]


_ASSUMED_MEMBERS = 10
"""Number of honest members if the specification has none; noise hardly depends on it."""
_FEW_ROWS = 10
"""Number of rows of the smallest run; a least number of rows up to this is not mentioned."""
_TWO_SUMS = "From two sums that differ by your rows alone, everybody could work out yours."


def _describe_mask(spec: Spec) -> str:
    """Describe what others learn from a member's contributions, and about its number of rows."""
    return (
        "Each of your contributions is masked: others learn their sum over all members, and how "
        "many rows you have, rounded down to tens; only all other members together could work out "
        "yours."
    )


def _name_parts(spec: Spec, cells: Layout) -> str:
    """Name the parts of the rows that are counted separately."""
    if not spec.factors:
        return "every class"
    names = spec.observed[-len(cells.tables[0].factors) :]
    return f"every combination of {join_names(names)}" if len(names) > 1 else f"every {names[0]}"


def _describe_tables(cells: Layout, names: Sequence[str]) -> list[str]:
    """Name the cells of every table of counts."""
    if not cells.column_axes:
        return [f"{cells.tables[0].shape[0]} cells along each of {len(cells.tables)} directions"]
    descriptions = []
    for table in cells.tables:
        parts = [
            f"{axis.bins} {'values' if isinstance(axis, Labels) else 'cells'} of '{names[at]}'"
            for axis, at in zip(table.axes, table.columns, strict=True)
        ]
        factors = zip(table.factors, names[len(names) - len(table.factors) :], strict=True)
        parts += [f"{factor.bins} values of '{name}'" for factor, name in factors]
        descriptions.append(" by ".join(parts))
    return descriptions
