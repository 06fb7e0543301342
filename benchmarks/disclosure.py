"""Print how many rows others can place among fewer than k rows of a site, after any questions.

    python -m benchmarks.disclosure            # a few minutes
    python -m benchmarks.disclosure --quick    # seconds: 5 x 140 rows, one draw

Five sites have 140, 1,000 or 10,000 rows each. They answer one question (the AUC of a score in 256
cells), and are asked 20 more: other cells, groups, labels, masks and k, ten rows more and one less,
a column renamed, formatted differently or recomputed, another study, the same question again, and
new rows alone. Whether a site answers is decided by its register of releases, the code that real
peers run: once with careful operators, who name ids of rows and declare columns that are functions
of one another; once by values alone; and once without a register, as a check that this benchmark
detects disclosure.

A row is placed if it lies in an interval of cells that is known for certain to hold at least one
and fewer than k rows of its class or group (for k = 1: a single one). The attackers are:

    others    all other members together, who see what the site reported
    member    one of them, who sees the sum without its own rows; then rows of all other sites
    reader    a reader of results that are published with their tables, who sees the sums
    likely    others, with a probability above 95 %, given the density of the other sites' rows; in
              parentheses what the density reveals without any report of this site

The knowledge from reports of one set of rows is computed exactly, and compared with all tables of
few rows at the start; if rows of several sets add up to others (which only happens without a
register), the share is at least what is printed. It is asserted that the truth is possible, and
that after the first question there is a table with the same report and no cell with 1 to k - 1
rows.

Below are what registers let pass (`benchmarks.registers`), and the tables of errors: of the AUC in
blocks, and with noise. Questions, laws and sizes were fixed before the first run. After it, careful
operators were made to declare the square roots, which pass by ids under another name otherwise, and
the law of the error tables was chosen for its sampling errors. Exits with 1 if, for k of 3 or more,
more rows are placed after 20 more questions than after the first, by ids, or if registers by values
let anything pass but new rows and recomputed values.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.disclosure_costs import (
    ERROR_DRAWS,
    LEAST,
    NOISE_DRAWS,
    SITES,
    print_blocks,
    print_noise,
)
from benchmarks.knowledge import (
    Knowledge,
    chance_of_some,
    compare_by_force,
    count,
    find_table,
    likely,
    likely_before,
    pass_round,
    report,
)
from benchmarks.questions import (
    BATCH,
    EVEN,
    FIRST,
    MORE,
    RECOMPUTED,
    RELATIONS,
    Question,
    Site,
    ask_register,
    draw_scores,
)
from benchmarks.registers import DRAWS, print_passed
from pairgossip.arrays import FloatArray, IntArray
from pairgossip.counts.tree import lay_tree
from pairgossip.progress import progress_bar

SIZES = {140: 4, 1_000: 2, 10_000: 1}
"""Rows of a site, and how often they are drawn."""
LAWS = ("even", "logistic", "lognormal")
OTHER_LEAST = {1: 3, 3: 5, 5: 3, 10: 5}
SMALL_TABLES = (
    (((0, 1, 2, 3, 4),), 20, 5),
    (((0, 1, 2, 3, 4, 5, 6, 7, 8),), 12, 3),
    (((0, 1, 2, 3, 4, 5, 6),), 9, 1),
    (((0, 1, 2, 3, 4, 5, 6), (0, 2, 3, 6), (0, 1, 4, 5, 6)), 13, 3),
)
"""Layouts, rows and k for which all tables are enumerated."""


class Observer:
    """Somebody who collects all reports, and knows which rows every question is about."""

    def __init__(self, sites: Sequence[Site], questions: Sequence[Question], least: int) -> None:
        self.least = least
        self.edges = np.unique(np.concatenate([one.edges for one in questions]))
        self.scores = np.concatenate([site.score for site in sites])
        self.rows: dict[str, list[IntArray]] = {}
        """Rows of every site, numbered over all sites, by what they have in common."""
        start = 0
        for site in sites:
            for name, rows in site.group().items():
                self.rows.setdefault(name, []).append(rows + start)
            start += len(site.score)
        for value in ("0", "1"):
            own = self.rows[value]
            self.rows |= {f"{value} staying": own[:-1], f"{value} leaving": own[-1:]}
        self.known: dict[str, Knowledge] = {}
        for question in questions:
            self._listen(question)
        self._conclude()

    def _values(self, name: str) -> FloatArray:
        """Return the scores of rows."""
        none = np.empty(0, dtype=np.intp)
        return self.scores[np.concatenate([none, *self.rows[name]])]

    def _know(self, name: str) -> Knowledge:
        if name not in self.known:
            self.known[name] = Knowledge(self.edges, len(self._values(name)))
        return self.known[name]

    def _listen(self, question: Question) -> None:
        least = OTHER_LEAST[self.least] if question.is_other_least else self.least
        groups = question.groups
        if question.is_list_shorter and len(self.rows["all"]) > 1:
            # The sum without the last site, taken from that with it, leaves its own report.
            groups = tuple(f"{name} leaving" for name in groups)
        sizes = np.array([[len(rows) for rows in self.rows[name]] for name in groups])
        filled = np.flatnonzero((sizes >= least).all(axis=0))  # other sites send zeros
        for name in groups if len(filled) else ():
            own = [self.scores[self.rows[name][at]] for at in filled]
            reports = [report(question.edges, values, least) for values in own]
            if len(self.rows[name]) == 1:
                self._know(name).hear(question.edges, reports[0], least)
            else:
                self._know(name).hear_sum(question.edges, np.sum(reports, axis=0))

    def _conclude(self) -> None:
        """Conclude from all sets of rows together, and check that the truth is possible."""
        for known in self.known.values():
            known.close()
        heard = set(self.known)
        pass_round(
            [
                (self._know(whole), [self._know(part) for part in parts])
                for whole, parts in RELATIONS
                if whole in heard and heard.intersection(parts)
            ]
        )
        for name, known in self.known.items():
            known.check(self._values(name))

    def place(self) -> float:
        """Return the share of placed rows among those that were reported on.

        Sets of fewer than k rows in total do not count, as any interval holds few of them.
        """
        most = max(self.least, 2) - 1
        is_placed, is_told = (np.zeros(len(self.scores), dtype=bool) for _ in range(2))
        for name, known in self.known.items():
            rows = np.concatenate([np.empty(0, dtype=np.intp), *self.rows[name]])
            is_told[rows] = True
            if known.rows > most:
                cells = np.searchsorted(self.edges, self.scores[rows], side="right") - 1
                is_placed[rows[known.place(most)[cells]]] = True
        return float(is_placed.sum() / is_told.sum())


class Shares(NamedTuple):
    """The shares of rows that are placed, by attacker."""

    others: float
    member: float
    reader: float


def attack(sites: Sequence[Site], questions: Sequence[Question], least: int) -> Shares:
    """Return the shares that all others place at the first site, a member, and a reader."""
    views = (sites[:1], sites[1:], sites)
    return Shares(*(Observer(view, questions, least).place() for view in views))


def guess(sites: Sequence[Site], least: int) -> tuple[float, float]:
    """Return which share of a site's rows all others place by probability, and by density alone."""
    tree, most = lay_tree((len(EVEN) - 1,)), max(least, 2) - 1
    found, rows = np.zeros(2), 0
    for name in FIRST.groups:
        own, *others = [site.score[site.group()[name]] for site in sites]
        pooled = tree.spread(np.sum([report(EVEN, one, least) for one in others], axis=0))
        rates = (pooled + 0.5 / len(pooled)) * len(own) / (pooled.sum() + 0.5)
        known = Knowledge(EVEN, len(own))
        known.hear(EVEN, report(EVEN, own, least), least)
        known.close()
        cells = np.searchsorted(EVEN, own, side="right") - 1
        for at, marked in enumerate(
            (likely(known, rates, most), likely_before(rates, len(own), most))
        ):
            found[at] += marked[cells].sum()
        rows += len(own)
    return float(found[0] / rows), float(found[1] / rows)


def assert_nobody_is_known(sites: Sequence[Site], least: int) -> None:
    """Assert that cells with no rows or at least k rows each could give the first reports."""
    tree = lay_tree((len(EVEN) - 1,))
    for site in sites:
        for name in FIRST.groups:
            reported = report(EVEN, site.score[site.group()[name]], least)
            table = find_table(reported, least)
            assert ((table == 0) | (table >= least)).all()
            assert (tree.report(table, least) == reported).all()


class Line(NamedTuple):
    """The shares of placed rows of one draw, for one law, size and k."""

    once: Shares
    likely: tuple[float, float]
    by_ids: Shares
    by_values: Shares
    without: Shares


class Asked(NamedTuple):
    """The questions after the first one that sites answer."""

    by_ids: list[Question]
    by_values: list[Question]

    @classmethod
    def of(cls, sites: Sequence[Site]) -> Asked:
        """Ask the registers of all sites; what one of them answers counts as answered by all."""
        both = []
        for is_careful in (True, False):
            passed = {
                one.name for site in sites for one in ask_register(site, is_careful=is_careful)
            }
            assert FIRST.name in passed
            both.append([one for one in MORE if one.name in passed])
        return cls(*both)


def measure(sites: Sequence[Site], asked: Asked, least: int) -> Line:
    """Run the attacks with every set of answers."""
    assert_nobody_is_known(sites, least)
    return Line(
        attack(sites, [FIRST], least),
        guess(sites, least),
        attack(sites, [FIRST, *asked.by_ids], least),
        attack(sites, [FIRST, *asked.by_values], least),
        attack(sites, [FIRST, *MORE], least),
    )


def print_shares(sizes: Mapping[int, int], laws: Sequence[str]) -> bool:
    """Print a line for every law, size and k; return whether all conditions hold."""
    print(
        f"{'':22} after one question        likely       20 more, by ids             "
        f"20 more, by values          20 more, no register"
    )
    heads = f"{'others':>7} {'member':>6} {'reader':>6}"
    told = f"{'refused':>8} {heads}"
    print(f"{'law':10} {'rows':>6} {'k':>3} {heads}   {'':11} {told}  {told}  {heads}")
    holds, steps = True, len(laws) * sum(sizes.values()) * len(LEAST)
    with progress_bar("attacking", steps) as advance:
        for law in laws:
            for rows, draws in sizes.items():
                random = np.random.default_rng([rows, LAWS.index(law)])
                lines: dict[int, list[Line]] = {least: [] for least in LEAST}
                asked = []
                for _ in range(draws):
                    sites = [Site.draw(random, law, rows) for _ in range(SITES)]
                    asked.append(Asked.of(sites))
                    for least in LEAST:
                        lines[least].append(measure(sites, asked[-1], least))
                        if advance is not None:
                            advance(1)
                for least, found in lines.items():
                    holds &= _print_line(f"{law:10} {rows:6,}", least, found, asked)
    return holds


def _print_line(head: str, least: int, found: Sequence[Line], asked: Sequence[Asked]) -> bool:
    once, by_ids, by_values, without = (
        Shares(*np.mean([getattr(one, name) for one in found], axis=0))
        for name in ("once", "by_ids", "by_values", "without")
    )
    guessed = np.mean([one.likely for one in found], axis=0)
    refused = [
        np.mean([len(MORE) - len(getattr(one, name)) for one in asked])
        for name in ("by_ids", "by_values")
    ]
    print(
        f"{head} {least:3} {_show(once)}  {guessed[0]:5.3f} ({guessed[1]:.3f}) {refused[0]:8.1f} "
        f"{_show(by_ids)}  {refused[1]:8.1f} {_show(by_values)}  {_show(without)}",
        flush=True,
    )
    expected = {BATCH}, {BATCH, RECOMPUTED}
    passed = all(
        {one.name for one in answers} <= names
        for each in asked
        for answers, names in zip(each, expected, strict=True)
    )
    return passed and (least == 1 or all(a <= b for a, b in zip(by_ids, once, strict=True)))


def _show(shares: Shares) -> str:
    return f"{shares.others:7.3f} {shares.member:6.3f} {shares.reader:6.3f}"


def print_erased(sizes: Mapping[int, int]) -> None:
    """Print how precisely the row is known that a second release leaves out."""
    print("\nA row that is left out of a second release, if no register refuses it: the width of")
    print("the interval in which it lies for certain, as a part of the range (median)")
    print(f"{'rows':>6}  " + "".join(f"{'k = ' + str(least):>9}" for least in LEAST))
    less = next(one for one in MORE if one.name == "a row less")
    for rows in sizes:
        random, shown = np.random.default_rng(rows), f"{rows:6,}  "
        sites = [Site.draw(random, "logistic", rows) for _ in range(9)]
        for least in LEAST:
            widths = []
            for site in sites:
                value = site.columns["died"][site.erased]
                low, high = Observer([site], [FIRST, less], least).known[f"{value} erased"].locate()
                widths.append(high - low)
            shown += f"{np.median(widths):9.4f}"
        print(shown)


def print_outlier() -> None:
    """Print whether a report reveals that one row lies far from all others."""
    print("\nA row far above the other 139, lognormal: how probable it is to others that a row is")
    print("above the middle of the range, if one is; if none is (in parentheses: without reports)")
    random, shown, rows = np.random.default_rng(5), "", 140
    law = count(EVEN, draw_scores(random, "lognormal", np.zeros(100_000, dtype=bool)))
    rates = rows * (0.99 * law / law.sum() + 0.01 / len(law))
    plain = np.minimum(draw_scores(random, "lognormal", np.zeros(rows, dtype=bool)), 0.3)
    for least in LEAST:
        found = []
        for values in (np.append(plain[1:], 0.9), plain):
            known = Knowledge(EVEN, rows)
            known.hear(EVEN, report(EVEN, values, least), least)
            known.close()
            found.append(chance_of_some(known, rates, 128))
        shown += f"  k = {least}: {found[0]:.2f}, {found[1]:.2f}"
    before = 1.0 - (1.0 - rates[128:].sum() / rates.sum()) ** rows
    print(f"{shown}  ({before:.2f})")


def main() -> int:
    """Print all tables; return 1 if a condition fails."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--quick", action="store_true", help="5 x 140 rows, one draw, one law")
    is_quick = parser.parse_args().quick
    small = [compare_by_force(*one) for one in SMALL_TABLES]
    print(
        f"All tables of few rows: {sum(small):,} different reports, the tightest bounds from each\n"
    )
    sizes = {140: 1} if is_quick else SIZES
    holds = print_shares(sizes, LAWS[:1] if is_quick else LAWS)
    print_erased(sizes)
    print_outlier()
    print_passed(tuple(sizes), 1 if is_quick else DRAWS)
    missed = print_blocks({140: 2} if is_quick else ERROR_DRAWS)
    print_noise({140: 1} if is_quick else NOISE_DRAWS)
    print("\nQuestions after the first: " + "; ".join(one.name for one in MORE))
    print(f"All as it must be: {'yes' if holds and not missed else 'NO'}")
    return int(not holds or missed > 0)


if __name__ == "__main__":
    sys.exit(main())
