"""Members' knowledge of each other's AUCs from the sums that show whether sites agree.

    python -m benchmarks.agreement_attacks            # about ten minutes
    python -m benchmarks.agreement_attacks --quick    # a minute

Six sites of 20, 50, 200 or 1,000 rows, three tenths of them of the rarer class, have AUCs about .75
(logits with a standard deviation of .3). Some members collude: they subtract their own numbers, so
that sums over the m others remain; m = 6 is a reader without a site. They know how many rows of
each class every site has, and try all AUCs that such a site can have (whole numbers of pairs). The
designs are those of `benchmarks.heterogeneity`.

    values     AUCs that are possible for one of the others: median (least) over draws
    sets       how many assignments of AUCs to all others remain, as a power of ten: least
    guess      chance that the best guess of this AUC is right to .01, under the law of the AUCs:
               median and 95 % quantile over draws; before the designs, the same without any sums

Then: exact sums; a pooled table; further columns; sites that hardly differ; a large site; and what
all others together know from a site's own blocks. Everything was fixed before the first run except
the steps, which were chosen with both benchmarks.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

import pairgossip as pg
from benchmarks.heterogeneity import Case, draw, measure
from pairgossip.agreement.sums import CHOSEN, FEWEST_SITES, MOST_LOGIT
from pairgossip.arrays import FloatArray, IntArray
from pairgossip.progress import progress_bar

TRUTH, TAU = math.log(3), 0.3
RARER = 0.3
ROWS = (20, 50, 200, 1_000)
WINDOW = 0.02


class Lattice(NamedTuple):
    """All AUCs that a site can have, and their logits."""

    negatives: int
    positives: int
    auc: FloatArray
    plain: FloatArray
    """Logits with half a pair at 0 and 1."""
    centered: FloatArray
    """Logits with half a row on either side, as sites add them."""
    prior: FloatArray
    """The prior probability of each."""

    @classmethod
    def of(cls, rows: int) -> Lattice:
        """Return the lattice of a site with this many rows."""
        positives = round(RARER * rows)
        negatives = rows - positives
        pairs = negatives * positives
        a = np.arange(pairs + 1) / pairs
        plain = np.log((a * pairs + 0.5 * (a == 0)) / ((1 - a) * pairs + 0.5 * (a == 1)))
        variance = guess_variance(a, negatives, positives)
        with np.errstate(all="ignore"):
            effective = np.where(variance > 0, a * (1 - a) / variance, positives)
        centered = np.log((a * effective + 0.5) / ((1 - a) * effective + 0.5))
        v = float(guess_variance(np.array(0.75), negatives, positives)) / (0.75 * 0.25) ** 2
        density = np.exp(-((plain - TRUTH) ** 2) / 2 / (TAU**2 + v)) * np.gradient(plain)
        return cls(negatives, positives, a, plain, centered, density / density.sum())

    def draw(self, random: np.random.Generator, sites: int) -> IntArray:
        """Draw the AUCs of sites, as indices into ``auc``."""
        found = []
        for logit in TRUTH + TAU * random.standard_normal(sites):
            shift = math.sqrt(2) * NormalDist().inv_cdf(1 / (1 + math.exp(-logit)))
            negative = np.sort(random.standard_normal(self.negatives))
            positive = np.sort(random.standard_normal(self.positives) + shift)
            found.append(round(measure(negative, positive)[0] * (len(self.auc) - 1)))
        return np.array(found)


def guess_variance(a: FloatArray, negatives: int, positives: int) -> FloatArray:
    """Return the variance of an AUC by the formula of Hanley and McNeil (1982)."""
    one, two = a / (2 - a), 2 * a * a / (1 + a)
    spread = a * (1 - a) + (positives - 1) * (one - a * a) + (negatives - 1) * (two - a * a)
    return spread / (negatives * positives)


Code = tuple[IntArray, IntArray]
"""The two numbers that a site adds, for each AUC that it can have."""


def round_apart(lattice: Lattice) -> Code:
    """Round t to .1, and t^2 to .25 by itself."""
    t = lattice.plain
    return np.rint(t / 0.1).astype(int), np.rint(t * t / 0.25).astype(int)


def round_to(step: float) -> Callable[[Lattice], Code]:
    """Round to a step, and square."""

    def code(lattice: Lattice) -> Code:
        t = np.clip(lattice.centered, -MOST_LOGIT, MOST_LOGIT)
        a = np.rint(t / step).astype(int)
        return a, a * a

    return code


DESIGNS: dict[str, Callable[[Lattice], Code]] = {
    "t .1, t^2 .25": round_apart,
    "step .1": round_to(0.1),
    "step .25": round_to(0.25),
    "step .5": round_to(0.5),
}


class Totals(NamedTuple):
    """All pairs of sums that some sites can have, each with its weight."""

    keys: IntArray
    """In ascending order."""
    weights: FloatArray


_BASE = 1 << 20
"""Larger than any sum of the second numbers."""


def add_up(code: Code, weights: FloatArray, sites: int) -> Totals:
    """Return the weight of every pair of sums over this many sites."""
    own, where = np.unique(code[0] * _BASE + code[1], return_inverse=True)
    each = np.bincount(where, weights)
    total = Totals(np.zeros(1, np.int64), np.ones(1))
    for _ in range(sites):
        keys, where = np.unique(np.add.outer(total.keys, own).ravel(), return_inverse=True)
        weights = np.outer(total.weights, each).ravel()
        total = Totals(keys, np.bincount(where, weights).astype(np.float64))
    return total


def look_up(code: Code, sums: int, others: Totals) -> FloatArray:
    """Return the total weight of what the other sites can have, for each AUC of one site."""
    wanted = sums - (code[0] * _BASE + code[1])
    at = np.minimum(np.searchsorted(others.keys, wanted), len(others.keys) - 1)
    return np.where(others.keys[at] == wanted, others.weights[at], 0.0)


def guess(auc: FloatArray, chances: FloatArray) -> float:
    """Return the chance that the best guess is right to half a window."""
    below = np.concatenate([[0.0], np.cumsum(chances)])
    ends = np.searchsorted(auc, auc + WINDOW, side="right")
    return float((below[ends] - below[:-1]).max())


def attack(lattice: Lattice, code: Code, sites: int, draws: int, seed: int) -> str:
    """Return what the sums over this many sites leave possible, as text."""
    random = np.random.default_rng(seed)
    every = add_up(code, np.ones(len(lattice.auc)), sites - 1)
    likely = add_up(code, lattice.prior, sites - 1)
    values, sets, guesses = [], [], []
    for _ in range(draws):
        true = lattice.draw(random, sites)
        sums = int((code[0] * _BASE + code[1])[true].sum())
        possible = look_up(code, sums, every)
        assert possible[true[0]] > 0
        values.append(int((possible > 0).sum()))
        sets.append(math.log10(possible.sum()))
        chances = lattice.prior * look_up(code, sums, likely)
        guesses.append(guess(lattice.auc, chances / chances.sum()))
    return (
        f"{np.median(values):.0f} ({min(values)}) {min(sets):.0f}  "
        f"{np.median(guesses):.2f} {np.quantile(guesses, 0.95):.2f}"
    )


def print_rounded(draws: int) -> None:
    """Print what rounded sums reveal about one of m sites."""
    print("\nRounded sums over m sites: values (least), sets, guess in half and in 5 % of draws")
    unknown = range(6, 0, -1)
    print(f"{'':16}" + "".join(f"{f'm = {m}':>28}" for m in unknown))
    with progress_bar("attacks", len(ROWS) * len(DESIGNS)) as advance:
        for rows in ROWS:
            lattice = Lattice.of(rows)
            alone = guess(lattice.auc, lattice.prior)
            print(f"{rows} rows: {len(lattice.auc):,} values, guess {alone:.2f}")
            for name, design in DESIGNS.items():
                code = design(lattice)
                line = [attack(lattice, code, m, draws, rows + m) for m in unknown]
                print(f"  {name:14}" + "".join(f"{text:>28}" for text in line))
                if advance is not None:
                    advance(1)


def count_exact(sites: int, draws: int) -> list[int]:
    """Return how many sets of AUCs have the sums of t and t^2 to 1e-9, for sites of 20 rows."""
    lattice, random = Lattice.of(20), np.random.default_rng(sites)
    t = lattice.plain
    left, right = _combine(t, sites // 2), _combine(t, sites - sites // 2)
    counts = []
    for _ in range(draws):
        true = t[lattice.draw(random, sites)]
        wanted = np.array([true.sum(), (true * true).sum()])
        counts.append(len(_match(left, right, wanted, t)))
    return counts


def _combine(t: FloatArray, sites: int) -> IntArray:
    """Return all multisets of this many values, as ascending indices."""
    grid = np.indices((len(t),) * sites).reshape(sites, -1)
    return grid[:, (np.diff(grid, axis=0) >= 0).all(axis=0)]


def _match(
    left: IntArray, right: IntArray, wanted: FloatArray, t: FloatArray
) -> set[tuple[int, ...]]:
    """Return the sets, joined of a left and a right part, that have these sums."""
    sums = [np.array([t[part].sum(axis=0), (t[part] ** 2).sum(axis=0)]) for part in (left, right)]
    order = np.argsort(sums[1][0])
    first = sums[1][0][order]
    low = np.searchsorted(first, wanted[0] - sums[0][0] - 1e-9)
    high = np.searchsorted(first, wanted[0] - sums[0][0] + 1e-9)
    found = set()
    for at in np.flatnonzero(high > low):
        for other in order[low[at] : high[at]]:
            if abs(sums[0][1, at] + sums[1][1, other] - wanted[1]) < 1e-9:
                found.add(tuple(sorted([*left[:, at].tolist(), *right[:, other].tolist()])))
    return found


def print_exact(draws: int) -> None:
    """Print how many sets of AUCs exact sums leave."""
    print("\nExact sums of t and t^2, sites of 20 rows: sets of AUCs that have them, median (most)")
    for sites in (2, 3, 4):
        counts = count_exact(sites, draws)
        print(f"  {sites} sites: {np.median(counts):.0f} ({max(counts)})")


def print_pooled(draws: int) -> None:
    """Print what the pooled table of two sites adds to their sums."""
    print("\nTwo sites and their pooled AUC, known exactly: guess for the first one")
    print(f"{'rows':>14}{'no sums':>10}{'pooled AUC':>12}{'sums':>8}{'both':>8}")
    for sizes in ((1_000, 1_000), (1_000, 50), (50, 1_000), (50, 50), (20, 20)):
        shown = np.median([_weigh_pooled(sizes, seed) for seed in range(draws)], axis=0)
        text = f"{sizes[0]}, {sizes[1]}"
        print(f"{text:>14}{shown[0]:>10.2f}{shown[1]:>12.2f}{shown[2]:>8.2f}{shown[3]:>8.2f}")


def _weigh_pooled(sizes: tuple[int, int], seed: int) -> list[float]:
    """Return the chance of a guess without sums, with the pooled AUC, with sums, and with both."""
    random = np.random.default_rng(seed)
    sites = [_draw_site(random, rows) for rows in sizes]
    aucs = np.array([measure(*site)[0] for site in sites])
    pooled = measure(*(np.sort(np.concatenate(part)) for part in zip(*sites, strict=True)))[0]
    grid = (np.arange(1_000) + 0.5) / 1_000
    t = np.log(grid / (1 - grid))
    priors = []
    for negative, positive in sites:
        v = guess_variance(np.array(0.75), len(negative), len(positive)) / (0.75 * 0.25) ** 2
        priors.append(np.exp(-((t - TRUTH) ** 2) / 2 / (TAU**2 + v)) / (grid * (1 - grid)))
    prior = np.outer(*priors)
    # The AUC of pairs across sites is about the mean of both AUCs.
    n0, n1 = (np.array([len(site[k]) for site in sites]) for k in (0, 1))
    own = n0 * n1 / (n0.sum() * n1.sum())
    share = own + (1 - own.sum()) / 2
    expected = share[0] * grid[:, None] + share[1] * grid[None]
    spread = (1 - own.sum()) * 0.02 + 0.001
    near = np.exp(-(((expected - pooled) / spread) ** 2) / 2)
    a = np.rint(t / CHOSEN.logit)
    true = np.rint(np.log(aucs / (1 - aucs)).clip(-MOST_LOGIT, MOST_LOGIT) / CHOSEN.logit)
    fits = a[:, None] + a[None] == true.sum()
    fits &= (a**2)[:, None] + (a**2)[None] == (true**2).sum()
    found = []
    for weights in (prior, prior * near, prior * fits, prior * near * fits):
        chances = weights.sum(axis=1)
        found.append(guess(grid, chances / max(chances.sum(), 1e-300)))
    return found


def _draw_site(random: np.random.Generator, rows: int) -> tuple[FloatArray, FloatArray]:
    positives = round(RARER * rows)
    logit = TRUTH + TAU * random.standard_normal()
    shift = math.sqrt(2) * NormalDist().inv_cdf(1 / (1 + math.exp(-logit)))
    negative = np.sort(random.standard_normal(rows - positives))
    return negative, np.sort(random.standard_normal(positives) + shift)


def print_columns(draws: int) -> None:
    """Print what columns that are nearly copies reveal, if each has sums of its own."""
    print("\nOne site whose number is known in each of several columns (all others work together):")
    print("guess, with columns whose logits differ from the first by this much")
    grid = (np.arange(1_000) + 0.5) / 1_000
    t = np.log(grid / (1 - grid))
    prior = np.exp(-((t - TRUTH) ** 2) / 2 / 0.15) / (grid * (1 - grid))
    steps, random = CHOSEN.logit, np.random.default_rng(4)
    noise = random.standard_normal((40, 2_000))
    for differ in (0.0, 0.02, 0.1, 0.3):
        line = []
        for columns in (1, 2, 5, 20):
            found = []
            for _ in range(draws):
                true = random.normal(TRUTH, math.sqrt(0.15))
                seen = np.rint((true + differ * random.standard_normal(columns)) / steps)
                seen[0] = np.rint(true / steps)
                chances = prior * (np.rint(t / steps) == seen[0])
                for at, other in enumerate(seen[1:]):
                    moved = t[:, None] + differ * noise[at % 40, :200]
                    chances = chances * (np.rint(moved / steps) == other).mean(axis=1)
                found.append(guess(grid, chances / max(chances.sum(), 1e-300)))
            line.append(f"{columns}: {np.median(found):.2f}")
        print(f"  {differ:<6g}" + "  ".join(line))


def print_agreeing(draws: int) -> None:
    """Print what the mean and standard deviation alone reveal about every site to everybody."""
    print("\nSix sites: how often all round to one step, and how far each can be from the mean for")
    print("certain, by s (n - 1)/sqrt(n), as an AUC about .75: median")
    for sizes, tau in (("small", 0.0), ("small", 0.3), ("200", 0.0), ("200", 0.3), ("spread", 0.0)):
        random, same, far = np.random.default_rng(5), 0, []
        for _ in range(draws):
            study = draw(Case(sizes, RARER, tau), random).take(FEWEST_SITES)
            a, _ = CHOSEN.round(study.centered, study.centered_v)
            same += bool((a == a[0]).all())
            reach = a.std(ddof=1) * 5 / math.sqrt(6) + 0.5
            far.append(1 / (1 + math.exp(-TRUTH - reach * CHOSEN.logit)) - 0.75)
        print(f"  {sizes:7} tau {tau:<4g} {100 * same / draws:3.0f} %   {np.median(far):.3f}")


def print_large(draws: int) -> None:
    """Print how near the pooled AUC is to that of a large site."""
    print("\nA site with this part of all rows, five others alike: rms of its AUC less the pooled")
    random = np.random.default_rng(6)
    for part in (1 / 6, 0.5, 0.7, 0.9):
        gaps = []
        for _ in range(draws):
            rows = [round(3_000 * part), *[round(3_000 * (1 - part) / 5)] * 5]
            sites = [_draw_site(random, one) for one in rows]
            whole = [np.sort(np.concatenate(one)) for one in zip(*sites, strict=True)]
            gaps.append(measure(*sites[0])[0] - measure(*whole)[0])
        print(f"  {part:.2f}  {math.sqrt(np.mean(np.square(gaps))):.3f}")


def print_blocks(draws: int) -> None:
    """Print how precisely a site's own blocks give its AUC; all others together know them."""
    print(
        "\nA site's AUC from its own blocks of 3 rows or more, 256 cells: mean bracket, rms error;"
    )
    print("sampling error of the AUC")
    cells, random = pg.cells.Even(-5.0, 7.0, 256), np.random.default_rng(7)
    for rows in ROWS:
        widths, errors, sampling = [], [], []
        for _ in range(draws):
            negative, positive = _draw_site(random, rows)
            scores = np.concatenate([negative, positive]).clip(-5, 7)
            labels = np.repeat([0, 1], [len(negative), len(positive)])
            given: dict[str, Any] = {"labels": labels, "classes": [0, 1], "least_cell": 3}
            hidden = pg.summarize(scores, "auc", cells=cells, **given)
            found = hidden.answer(0.95)
            value, error = measure(negative, positive)
            widths.append(found.bracket[1] - found.bracket[0])
            errors.append(found.value - value)
            sampling.append(error)
        rms = math.sqrt(np.mean(np.square(errors)))
        print(f"  {rows:5} rows  {np.mean(widths):.3f}  {rms:.3f}  {np.mean(sampling):.3f}")


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="few draws")
    draws = 10 if parser.parse_args().quick else 100
    print_exact(min(draws, 50))
    print_rounded(draws)
    print_pooled(draws)
    print_columns(draws)
    print_agreeing(draws)
    print_large(draws)
    print_blocks(min(draws, 50))
    return 0


if __name__ == "__main__":
    sys.exit(main())
