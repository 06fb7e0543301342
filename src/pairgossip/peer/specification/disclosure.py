"""Sentences about the data that leave a member's machine, said before any do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pairgossip.counts.axes import Labels
from pairgossip.peer.specification.promise import PROMISE
from pairgossip.text import format_count, join_names

if TYPE_CHECKING:
    from pairgossip.counts.tables import Layout
    from pairgossip.peer.specification.spec import Spec


def describe_disclosure(spec: Spec) -> list[str]:
    """Say in sentences what a run sends from a member's machine, and what others learn from it."""
    named = join_names([f"'{name}'" for name in spec.observed])
    if spec.is_sums:
        what = "totals over rows of" if spec.kernel is None else "counts of rows by"
        return [
            f"No row leaves this machine: only {what} {named} do.",
            *(_describe_learning(spec) if spec.kernel is None else _describe_cells(spec)),
            *_describe_report(spec),
            *_describe_sites(spec),
        ]
    if spec.privacy is not None:
        return [
            f"Reports of your rows travel from member to member, not the rows: {named} of every "
            f"row, randomized once with epsilon {spec.privacy.epsilon:g}.",
            "Every member may see which reports are yours, and how many rows you have.",
            *([] if spec.kernel is None else _describe_report_interval(spec)),
        ]
    return [
        f"Your rows travel from member to member, signed and as they are: {named} of every row.",
        "Every member may see which rows are yours.",
    ]


def _describe_report(spec: Spec) -> list[str]:
    """Say which rows are left out, and what is published beside the result."""
    sentences = []
    if spec.missing is not None:
        sentences.append(
            "Rows without an entry in one of these columns are left out at home, and nobody is "
            "told how many they are."
        )
    if spec.report is not None:
        sentences.append(
            f"The result is a report, '{spec.report}', whose file holds the counts that members "
            "learn: whoever is given it learns them too."
        )
    return sentences


def _describe_sites(spec: Spec) -> list[str]:
    """Say what members learn of each site where sites are compared."""
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


def _describe_report_interval(spec: Spec) -> list[str]:
    """Say for how few reports there is no interval."""
    from pairgossip.peer.specification.mechanism import mechanism_of
    from pairgossip.privacy.moments import rows_for_interval

    least = rows_for_interval(mechanism_of(spec))
    if least <= _FEW_ROWS:
        return []
    return [
        f"With fewer than {least:,} rows of all members together there is no sampling interval: a "
        "larger epsilon or fewer bins change that."
    ]


_ASSUMED_MEMBERS = 10
"""Honest members if the specification names no number; noise hardly depends on it."""
_FEW_ROWS = 10
"""Rows of the smallest run; a limit up to this is not worth a sentence."""
_TWO_RUNS = "From two runs that differ by your rows alone, everybody could work out yours."


def _describe_mask(spec: Spec) -> str:
    """Say what others learn from a member's contributions, and how exactly its number of rows."""
    rows = "how many rows you have" + (", rounded down to tens" if spec.rounds_sizes else "")
    return (
        f"Each of your contributions is masked: others learn their sum over all members, and "
        f"{rows}; only all other members together could work out yours."
    )


def _describe_cells(spec: Spec) -> list[str]:
    from pairgossip.counts.noisy import rows_for_interval
    from pairgossip.peer.sums.statistics import cells_of, noise_law

    cells, least = cells_of(spec), spec.algorithm.least_cell or 1
    are, each = ("lie", "in each of") if least == 1 else ("are counted", "in each block of")
    sentences = [
        f"Members learn 1 sum of {format_count(cells.words, 'number')}, all of it and not only the "
        f"value that is read from it: how many rows of all members {are} "
        f"{each} {f'; {each} '.join(_describe_tables(cells, spec.observed))}.",
        _describe_mask(spec),
    ]
    if least > 1:
        sentences.insert(
            1,
            f"Your rows are counted in blocks of cells, {least} rows or more in each or none: "
            f"a member without {least} rows of {_name_parts(spec, cells)} counts none.",
        )
    if spec.noise is None and least > 1:
        return [*sentences, f"The promise, with k = {least}: {PROMISE}"]
    if spec.noise is None:
        return [*sentences, _TWO_RUNS]
    sentences += [
        "Noise is added to every count: all sums of a generation together tell any one member "
        f"of a row what epsilon {spec.noise.epsilon:g} allows.",
    ]
    law = noise_law(spec, 1 + (spec.noise.honest or _ASSUMED_MEMBERS))
    least = rows_for_interval(cells, law.variance)
    if least <= _FEW_ROWS:
        return sentences
    return [
        *sentences,
        f"With fewer than about {least:,} rows of all members together there is no interval, only "
        "the value and the standard error of noise: a larger epsilon or fewer algorithm.bins "
        "change that.",
    ]


def _name_parts(spec: Spec, cells: Layout) -> str:
    """Name the parts of the rows that are counted apart."""
    if not spec.factors:
        return "every class"
    names = spec.observed[-len(cells.tables[0].factors) :]
    return f"every combination of {join_names(names)}" if len(names) > 1 else f"every {names[0]}"


def _describe_tables(cells: Layout, names: Sequence[str]) -> list[str]:
    """Name the cells of every table of counts."""
    if not cells.column_axes:
        return [f"{cells.tables[0].shape[0]} cells along each of {len(cells.tables)} directions"]
    described = []
    for table in cells.tables:
        parts = [
            f"{axis.bins} {'values' if isinstance(axis, Labels) else 'cells'} of '{names[at]}'"
            for axis, at in zip(table.axes, table.columns, strict=True)
        ]
        factors = zip(table.factors, names[len(names) - len(table.factors) :], strict=True)
        parts += [f"{factor.bins} values of '{name}'" for factor, name in factors]
        described.append(" by ".join(parts))
    return described


def _describe_learning(spec: Spec) -> list[str]:
    from pairgossip.peer.sums.learning import largest_sketch, margin_of, most_words

    phi = margin_of(spec)
    sketch = f"up to {largest_sketch(phi):,} " + (
        "sums of polynomials of the scores" if phi.is_smooth else "counts of scores in cells"
    )
    return [
        f"Members learn at most {format_count(spec.algorithm.rounds or 0, 'sum')} of at most "
        f"{format_count(most_words(spec), 'number')}: for each value of '{spec.label}' how many "
        f"rows have it, and the sums over them of every column and of products of two columns; "
        f"then, at one model after the other, {sketch} of each, and the gradient over all rows.",
        _describe_mask(spec),
        _TWO_RUNS,
    ]
