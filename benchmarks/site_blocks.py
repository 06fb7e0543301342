"""How often intervals over sites hold where every site reads its AUC from its own blocks.

    python -m benchmarks.site_blocks                # some twenty minutes
    python -m benchmarks.site_blocks --trials 5     # two

Runs of peers with `heterogeneity = true` do the same. Sites draw the logit of their AUC and normal
scores as in `benchmarks.heterogeneity`, and count them in 256 cells of a range of twelve standard
deviations, with k = 3. "limit" has sites with the least number of rows of the rarer class with
which a site takes part, 100 k; "spread" has lognormal numbers around three times as many, at least
the limit. "rows" uses the AUC of the exact rows instead, and adds up the same way.

Printed are the percentage of 95 % intervals that hold the mean / of new sites whose AUC is held.
Everything was fixed before the first run.
"""

from __future__ import annotations

import argparse
import math
import sys
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

import pairgossip as pg
from benchmarks.heterogeneity import COUNTS, Case, measure
from pairgossip.agreement.scales import place_evenly
from pairgossip.agreement.sums import CHOSEN, read
from pairgossip.arrays import FloatArray
from pairgossip.peer.sums.site_sums import least_of_class
from pairgossip.progress import progress_bar

LEAST = 3
CELLS = pg.cells.Even(-5.0, 7.0, 256)


class Setting(NamedTuple):
    """The sites of a study."""

    sizes: str
    prevalence: float
    case: Case

    def draw(self, random: np.random.Generator, sites: int) -> FloatArray:
        """Draw what sites add, from their blocks and from their rows, shape (sites, 2, 3)."""
        found = []
        for logit in self.case.draw_logits(random, sites):
            rarer = least_of_class(LEAST)
            if self.sizes == "spread":
                rarer = max(rarer, round(rarer * random.lognormal(math.log(3), 1)))
            other = round(rarer * (1 - self.prevalence) / self.prevalence)
            found.append(add_site(random, logit, other, rarer))
        return np.array(found)


def add_site(
    random: np.random.Generator, logit: float, negatives: int, positives: int
) -> list[FloatArray]:
    """Return the three whole numbers of a site, from its blocks and from its rows."""
    auc = 1 / (1 + math.exp(-logit))
    shift = math.sqrt(2) * NormalDist().inv_cdf(min(max(auc, 1e-6), 1 - 1e-6))
    negative = np.sort(random.standard_normal(negatives)).clip(-5, 7)
    positive = np.sort(random.standard_normal(positives) + shift).clip(-5, 7)
    labels = np.repeat([0, 1], [negatives, positives])
    given = {"labels": labels, "classes": [0, 1], "cells": CELLS, "least_cell": LEAST}
    found = pg.summarize(np.concatenate([negative, positive]), "auc", **given).find()  # type: ignore[arg-type]
    pairs = (found.value, found.error), measure(negative, positive)
    placed = [place_evenly(*one, min(negatives, positives)) for one in pairs]
    return [CHOSEN.contribute(np.array([y]), np.array([v]))[0] for y, v in placed]


def judge(setting: Setting, trials: int, seed: int) -> list[str]:
    """Return how often intervals of 6, 10 and 30 sites hold, from blocks and from rows."""
    random, case = np.random.default_rng(seed), setting.case
    held: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for _ in range(trials):
        numbers = setting.draw(random, COUNTS[-1])
        for n in COUNTS:
            for way in (0, 1):
                found = read(n, numbers[:n, way].sum(axis=0))
                low, high = found.interval
                one = float(low <= case.truth <= high), case.hold_new(*found.new)
                held.setdefault((n, way), []).append(one)
    means = {key: 100 * np.mean(each, axis=0) for key, each in held.items()}
    return ["{:.0f}/{:.0f}".format(*means[n, way]) for n in COUNTS for way in (0, 1)]


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--trials", type=int, default=40)
    trials = parser.parse_args().trials
    settings = [
        Setting(sizes, prevalence, Case(sizes, prevalence, tau, "normal", auc))
        for sizes, auc, prevalence in (
            ("limit", 0.75, 0.3),
            ("limit", 0.9, 0.1),
            ("spread", 0.75, 0.3),
        )
        for tau in (0.0, 0.3)
    ]
    heads = [f"{n} sites{way}" for n in COUNTS for way in (", blocks", ", rows")]
    print(f"{trials} trials each; AUC, sizes, prevalence, tau".ljust(40), end="")
    print("".join(f"{head:>18}" for head in heads))
    with progress_bar("site blocks", len(settings)) as advance:
        for at, one in enumerate(settings):
            texts = judge(one, trials, 100 + at)
            case = one.case
            name = f"  {case.auc:<6g}{one.sizes:8}{one.prevalence:<6g}{case.tau:g}"
            print(f"{name:40}" + "".join(f"{text:>18}" for text in texts), flush=True)
            if advance is not None:
                advance(1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
