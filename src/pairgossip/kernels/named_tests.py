"""Tests that have names and are not averages over pairs, with their columns and descriptions."""

from __future__ import annotations

from typing import NamedTuple

from pairgossip.errors import InputError, canonical

DISTANCE_CORRELATION = "distance-correlation"


class NamedTest(NamedTuple):
    """The entry of a test in lists of kernels."""

    name: str
    columns: tuple[str, ...]
    description: str
    same_as: str
    sketch: str | None = "Bins"
    """The sketch that nodes average for it on a graph; None if there is none."""
    favors: bool = True
    """Whether the result depends on which of two classes is the higher one."""


_OF_CLASSES = ("value", "label")
NAMED_TESTS = {
    test.name: test
    for test in (
        NamedTest(
            "brunner-munzel",
            _OF_CLASSES,
            "two classes that may spread differently: the probability of superiority",
            "scipy.stats.brunnermunzel",
        ),
        NamedTest(
            DISTANCE_CORRELATION,
            ("features...", "value"),
            "whether columns depend on each other in any way, by permuting rows",
            "V: dcor.distance_correlation",
            None,
            favors=False,
        ),
        NamedTest(
            "kolmogorov-smirnov",
            _OF_CLASSES,
            "two classes: the largest gap between their distributions",
            "scipy.stats.ks_2samp, p of scipy.stats.kstwobign",
            favors=False,
        ),
        NamedTest(
            "mann-whitney",
            _OF_CLASSES,
            "two classes: the probability of superiority, which is the AUC",
            "scipy.stats.mannwhitneyu(method='asymptotic', use_continuity=False)",
        ),
        NamedTest(
            "mann-whitney-continuity",
            _OF_CLASSES,
            "the same with a correction for continuity",
            "scipy.stats.mannwhitneyu(method='asymptotic')",
        ),
        NamedTest(
            "spearman",
            ("x", "y"),
            "two columns: the correlation of their mid-ranks",
            "scipy.stats.spearmanr",
            "TwoWayBins",
        ),
        NamedTest(
            "wilcoxon-rank-sum",
            _OF_CLASSES,
            "two classes: the sum of the higher one's ranks",
            "scipy.stats.ranksums without ties",
        ),
    )
}


def refuse_test(name: str) -> None:
    """Raise `InputError` if this is the name of a test, where a kernel is needed."""
    if canonical(name) in NAMED_TESTS:
        raise InputError(
            f"'{canonical(name)}' is a test, not an average over pairs: use pg.test, or "
            "`pairgossip test`."
        )
