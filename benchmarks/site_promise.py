"""Whether three numbers about a site break the guarantee of blocks, by brute force.

    python -m benchmarks.site_promise    # some seconds

A site has rows of two classes in four cells, and all other members collude: they know its blocks (k
= 3), and the logit of its AUC to .25. They list all rows that it may have. Printed is the share of
400 sites with a set of cells that is then known for certain to hold one or two rows of a class:
from blocks alone, and with the AUC of the exact rows. An AUC that is read from the blocks, as in a
run of peers, excludes none of these rows. Everything was fixed before the first run.
"""

from __future__ import annotations

import argparse
import itertools
import sys

import numpy as np

from pairgossip.agreement.sums import CHOSEN, MOST_LOGIT
from pairgossip.arrays import FloatArray, IntArray
from pairgossip.counts.tree import lay_tree

LEAST, CELLS, SITES = 3, 4, 400
SIZES = ((9, 6), (12, 9), (16, 8), (24, 12), (30, 20))
SETS = np.array([[one >> cell & 1 for cell in range(CELLS)] for one in range(1, 2**CELLS)])


def list_rows(rows: int) -> IntArray:
    """Return all counts that this many rows can have."""
    bars = itertools.combinations(range(rows + CELLS - 1), CELLS - 1)
    return np.array([np.diff((-1, *one, rows + CELLS - 1)) - 1 for one in bars])


def find_alike(counts: IntArray, every: IntArray) -> IntArray:
    """Return all counts with the same blocks."""
    tree = lay_tree((CELLS,))
    alike = (tree.report(every, LEAST) == tree.report(counts, LEAST)).all(axis=-1)
    return np.asarray(every[alike])


def round_auc(negatives: IntArray, positives: IntArray) -> FloatArray:
    """Return the logit of the AUC of every pair of counts, in whole steps."""
    below = np.cumsum(negatives, axis=-1) - negatives / 2
    a = positives @ below.T / (positives[0].sum() * negatives[0].sum())
    a = np.clip(a, 1e-9, 1 - 1e-9)
    logit = np.clip(np.log(a / (1 - a)), -MOST_LOGIT, MOST_LOGIT)
    return np.asarray(np.rint(logit / CHOSEN.logit))


def is_broken(possible: IntArray) -> bool:
    """Return whether some set of cells holds 1 to k - 1 rows in all possible counts."""
    held = possible @ SETS.T
    return bool(((held >= 1) & (held < LEAST)).all(axis=0).any())


def main() -> int:
    """Print the shares of sites."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "").parse_args()
    random = np.random.default_rng(0)
    for sizes in SIZES:
        every, by_blocks, by_auc = [list_rows(one) for one in sizes], 0, 0
        for _ in range(SITES):
            chances = zip(sizes, (0.4, 0.6), strict=True)
            drawn = [random.binomial(CELLS - 1, p, rows) for rows, p in chances]
            true = [np.bincount(one, minlength=CELLS) for one in drawn]
            alike = [find_alike(*one) for one in zip(true, every, strict=True)]
            by_blocks += any(map(is_broken, alike))
            told = round_auc(true[0][None], true[1][None])
            fits = round_auc(*alike) == told
            left = alike[0][fits.any(axis=0)], alike[1][fits.any(axis=1)]
            by_auc += any(map(is_broken, left))
        shown = f"{by_blocks / SITES:.3f}, and with the AUC of exact rows {by_auc / SITES:.3f}"
        print(f"{sizes[0]} and {sizes[1]} rows: by blocks alone {shown}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
