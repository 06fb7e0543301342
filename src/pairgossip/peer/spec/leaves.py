"""What leaves a member's machine, in words, before anything does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pairgossip.sketches.grids import Labels
from pairgossip.text import format_count, join_names

if TYPE_CHECKING:
    from pairgossip.peer.spec.spec import Spec


def describe_leaves(spec: Spec) -> list[str]:
    """Say in sentences what a run sends from a member's machine, and what others learn from it."""
    named = join_names([f"'{name}'" for name in spec.observed])
    if spec.is_sums:
        return [
            f"No row leaves this machine: only sums over all members' rows of {named} do.",
            *(_describe_learning(spec) if spec.kernel is None else _describe_cells(spec)),
        ]
    if spec.privacy is not None:
        return [
            f"Reports of your rows travel from member to member, not the rows: {named} of every "
            f"row, randomized once with epsilon {spec.privacy.epsilon:g}.",
            "Every member may see which reports are yours, and how many rows you have.",
        ]
    return [
        f"Your rows travel from member to member, signed and as they are: {named} of every row.",
        "Every member may see which rows are yours.",
    ]


_MASKED = (
    "Each of your contributions is masked: others learn their sum over all members, and how many "
    "rows you have; only all other members together could work out yours."
)


def _describe_cells(spec: Spec) -> list[str]:
    from pairgossip.peer.sums.statistics import count_words

    rounds = format_count(spec.algorithm.refine, "sum")
    most = count_words(spec)
    words = ("at most " if most > count_words(spec, 1) else "") + format_count(most, "number")
    sentences = [f"Members learn {rounds} of {words}: {_describe_features(spec)}.", _MASKED]
    if spec.noise is None:
        return [*sentences, "Two runs that differ by your rows alone would tell their sum."]
    return [
        *sentences,
        f"Noise is added to every count: all sums of a generation together tell any one member "
        f"of a row what epsilon {spec.noise.epsilon:g} allows.",
    ]


def _describe_features(spec: Spec) -> str:
    from pairgossip.peer.sums.statistics import cells_of

    grids = cells_of(spec).grids
    if not grids:
        return "powers of the columns, added up"
    if all(isinstance(one, Labels) for one in grids):
        return "how many rows have each value"
    more = " (counts only)" if spec.noise else ", and how they lie in it"
    return f"how many rows there are in each bin{more}"


def _describe_learning(spec: Spec) -> list[str]:
    from pairgossip.peer.sums.learning import most_words

    return [
        f"Members learn at most {format_count(spec.algorithm.rounds or 0, 'sum')} of at most "
        f"{format_count(most_words(spec), 'number')}: means and products of the columns, then the "
        "distribution of scores and the gradient at one model after the other.",
        _MASKED,
        "Two runs that differ by your rows alone would tell their sums.",
    ]
