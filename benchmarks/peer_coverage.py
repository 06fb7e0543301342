"""Print how often a peer's interval holds the exact value, on simulated networks.

    python -m benchmarks.peer_coverage --runs 50
    python -m benchmarks.peer_coverage --runs 20 --rows

Each run has new data and new random numbers; four of its peers are asked at every length. With
--rows, peers have several rows, equally many or not, and "unlike" ones have the rows in order of
size, the smallest at the first peer. The columns, relative to the exact value where that makes
sense:

    given       the share of peers that gave an interval
    covers      the share of these that holds the exact value; the goal is 95 %
    half-width  the mean of half of the widths
    ideal       1.96 times the root mean square error: half-width enough if that were known
    times       half-width over ideal; Student's factor for eight groups alone gives 1.25
    bias        the mean error of all peers, and its standard error
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.blocks import add_options, do_all
from tests.peer.coverage import Coverage, coverage


class Case(NamedTuple):
    """One network of peers."""

    graph: str
    rows: Sequence[int]
    kernel: str
    lengths: Sequence[int]
    unlike: bool = False

    def name(self) -> str:
        """Return the text of the first columns."""
        counts = ",".join(map(str, self.rows)) if len(self.rows) < 8 else f"{len(self.rows)} x 1"
        return f"{self.graph} {counts}{' unlike' if self.unlike else ''}"


LENGTHS = (64, 256, 1024, 4096)
SINGLE = [
    Case(graph, (1,) * n, kernel, LENGTHS)
    for graph, n, kernel in (
        ("complete", 16, "gini"),
        ("complete", 128, "variance"),
        ("watts-strogatz", 64, "gini"),
        ("watts-strogatz", 64, "auc"),
        ("torus", 64, "variance"),
        ("star", 16, "gini"),
        ("cycle", 32, "gini"),
        ("path", 16, "auc"),
        ("cycle", 128, "variance"),
    )
]
EXCHANGES_PER_ROW = (20, 80)
"""Lengths of runs: exchanges per row of the peer with the most rows."""
SEVERAL = [
    Case(graph, rows, kernel, [k * max(*rows, 4) for k in EXCHANGES_PER_ROW], unlike)
    for rows in ((1,) * 4, (10,) * 4, (100, 10, 10, 10), (50, 20, 5, 1))
    for graph in ("complete", "cycle")
    for kernel in ("gini", "auc")
    for unlike in (False, True)
    if kernel != "auc" or sum(rows) > 4
]


def lines(case: Case, runs: int, mixing: str, longest: int) -> list[str]:
    """Run one network; return a line for each length and number of rows."""
    found = coverage(
        case.graph,
        len(case.rows),
        case.kernel,
        [length for length in case.lengths if length <= longest],
        runs,
        mixing=mixing,
        rows=case.rows,
        unlike=case.unlike,
    )
    return [f"{case.name():<32}{case.kernel:<9}{figures(entry)}" for entry in found]


def figures(entry: Coverage) -> str:
    """Return one entry's figures as text; there may be no interval at all."""
    bias, error = entry.bias
    text = f"{entry.rows:>5}{entry.exchanges:>10}{entry.given:>7.0%}"
    if entry.hits:
        width = float(np.mean(entry.widths))
        text += f"{entry.share:>8.1%}{width:>12.4f}{entry.ideal:>9.4f}{entry.excess:>7.2f}"
    else:
        text += " " * 36
    return f"{text}{bias:>+10.4f} ({error:.4f})"


def main() -> None:
    """Print the study, network by network."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--mixing", choices=("weighted", "paper"), default="weighted")
    parser.add_argument("--longest", type=int, default=8000, help="exchanges")
    parser.add_argument("--rows", action="store_true", help="several rows per peer")
    add_options(parser)
    options = parser.parse_args()
    cases = SEVERAL if options.rows else SINGLE
    print(f"{'network':<32}{'kernel':<9}{'rows':>5}{'exchanges':>10}{'given':>7}{'covers':>8}"
          f"{'half-width':>12}{'ideal':>9}{'times':>7}{'bias':>10}")  # fmt: skip
    work = functools.partial(
        _study, cases, runs=options.runs, mixing=options.mixing, longest=options.longest
    )
    numbers = range(options.start_seed, len(cases))
    do_all(work, numbers, options.jobs, lambda _, shown: print(shown, flush=True), "networks")


def _study(cases: Sequence[Case], number: int, **how: int | str) -> str:
    return "\n".join(lines(cases[number], **how))  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
