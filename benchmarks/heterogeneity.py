"""How often intervals over sites hold the mean of all possible sites, and a new site's AUC.

    python -m benchmarks.heterogeneity            # about ten minutes
    python -m benchmarks.heterogeneity --quick    # a minute: 60 trials

Sites draw the logit of their AUC from a law with standard deviation tau, normal or Student's t with
3 degrees of freedom, and then rows: normal scores of two classes. Sizes are 200, or lognormal
around 500, from 50 to 5,000; the share of the rarer class is .1 or .5. The mean logit is that of an
AUC of .75. A second table has AUCs of .6, .9 and .97, and sites of 200 rows or small ones (20 to
200); a third one has large sites that hardly differ, at the worst place between two steps.

    equal     all sites count alike: `pg.heterogeneity(method="equal")`
    random    weights of DerSimonian and Laird, interval of Hartung and Knapp: method="random"
    adhoc     the same, but with an interval that is never shorter than that of known errors
    spec      sums of t to .1, and of t^2 and v to .25, each rounded by itself
    .1 to .5  sums of whole numbers of steps, their squares, and squares of errors in steps of .05:
              `pairgossip.agreement.sums`
    dither    steps of .25, rounded up or down at random, so that the mean is right on average

Per method: the percentage of 95 % intervals that hold the mean / of new sites whose AUC is held.
Below, the lowest and the mean of these, and the width of intervals relative to "equal".

Laws, sizes and tau were fixed before the first run. Steps were chosen after a run with other seeds,
as was the half row that `equal` and sums add: without it, 30 small sites with an AUC of .97 had
intervals of which only 43 % held the mean.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

import pairgossip as pg
from pairgossip.agreement.pooling import Pooled, pool_by_errors, pool_equally
from pairgossip.agreement.scales import center, place, place_as_share
from pairgossip.agreement.sums import Sites, Steps, read
from pairgossip.arrays import FloatArray, IntArray
from pairgossip.order_statistics.laws import t_quantile, two_sided_by_t
from pairgossip.progress import progress_bar

LEVEL = 0.95
COUNTS = (6, 10, 30)
STUDENT = 3


class Case(NamedTuple):
    """The sites of a study."""

    sizes: str
    prevalence: float
    tau: float
    law: str = "normal"
    auc: float = 0.75

    @property
    def truth(self) -> float:
        """The mean logit of all possible sites."""
        return math.log(self.auc / (1 - self.auc))

    def draw_logits(self, random: np.random.Generator, n: int) -> FloatArray:
        """Draw the true logits of sites."""
        if self.law == "normal":
            return self.truth + self.tau * random.standard_normal(n)
        return self.truth + self.tau * random.standard_t(STUDENT, n) / math.sqrt(STUDENT)

    def draw_sizes(self, random: np.random.Generator, n: int) -> tuple[IntArray, IntArray]:
        """Draw the number of rows of both classes, at least three each."""
        if self.sizes == "200":
            rows = np.full(n, 200)
        elif self.sizes == "small":
            rows = random.integers(20, 201, n)
        else:
            spread = random.lognormal(math.log(500), 1, n)
            rows = np.clip(np.rint(spread), 50, 5000).astype(np.intp)
        rarer = np.clip(random.binomial(rows, self.prevalence), 3, rows - 3)
        return rows - rarer, rarer

    def hold_new(self, low: float, high: float) -> float:
        """Return the share of new sites whose true logits lie between two ends."""
        return self._below(high - self.truth) - self._below(low - self.truth)

    def _below(self, gap: float) -> float:
        if self.tau == 0:
            return float(gap >= 0)
        if self.law == "normal":
            return NormalDist().cdf(gap / self.tau)
        t = gap / self.tau * math.sqrt(STUDENT)
        return 0.5 + math.copysign((1 - two_sided_by_t(abs(t), STUDENT)) / 2, t)


FIRST = tuple(
    Case(sizes, prevalence, tau, law)
    for sizes in ("200", "spread")
    for prevalence in (0.1, 0.5)
    for tau in (0.0, 0.1, 0.3, 0.6)
    for law in ("normal", "student")
    if tau or law == "normal"
)
SECOND = tuple(
    Case(sizes, prevalence, tau, "normal", auc)
    for auc in (0.6, 0.9, 0.97)
    for sizes in ("small", "200")
    for prevalence in (0.1, 0.5)
    for tau in (0.0, 0.3)
)


def measure(negative: FloatArray, positive: FloatArray) -> tuple[float, float]:
    """Return the AUC and DeLong's error; scores are sorted and never tied."""
    wins = np.searchsorted(negative, positive) / len(negative)
    losses = 1 - np.searchsorted(positive, negative) / len(positive)
    variance = wins.var(ddof=1) / len(positive) + losses.var(ddof=1) / len(negative)
    return float(wins.mean()), math.sqrt(variance)


class Study(NamedTuple):
    """The reports of the sites of one trial, on the logit scale."""

    plain: FloatArray
    """Logits of AUCs."""
    centered: FloatArray
    """The same, with half a row added."""
    v: FloatArray
    """Their variances, by DeLong's errors."""
    centered_v: FloatArray

    def take(self, n: int) -> Study:
        """Return the first sites."""
        return Study(*(one[:n] for one in self))


def draw(case: Case, random: np.random.Generator) -> Study:
    """Draw the rows of the sites of a study; return what the sites report."""
    most = COUNTS[-1]
    negatives, positives = case.draw_sizes(random, most)
    aucs = 1 / (1 + np.exp(-case.draw_logits(random, most)))
    lines = []
    for n0, n1, auc in zip(negatives, positives, aucs, strict=True):
        shift = math.sqrt(2) * NormalDist().inv_cdf(float(np.clip(auc, 1e-6, 1 - 1e-6)))
        scores = np.sort(random.standard_normal(n0)), np.sort(random.standard_normal(n1) + shift)
        value, error = measure(*scores)
        y, v = place(value, error, "logit")
        if math.isnan(y):
            y, v = place_as_share(value, min(n0, n1))
            lines.append((y, v, y, v))
        else:
            lines.append((y, v, *center(value, error)))
    plain, v, centered, centered_v = np.array(lines).T
    return Study(plain, centered, v, centered_v)


def check_measure() -> None:
    """Raise `AssertionError` unless AUCs and errors here are those of the package."""
    random = np.random.default_rng(0)
    negative, positive = np.sort(random.normal(size=30)), np.sort(random.normal(1, 1, 20))
    scores, labels = np.concatenate([negative, positive]), np.repeat([0, 1], [30, 20])
    known = pg.exact(scores, "auc", labels=labels, interval=LEVEL)
    assert np.allclose(measure(negative, positive), (known.value, known.error))


Method = Callable[[Study, np.random.Generator], Sites]


def pooled(found: Pooled) -> Sites:
    """Return the result of a pooling formula."""
    ends = found.interval(LEVEL), found.predict(LEVEL)
    return Sites(found.mean, *ends, found.tau, found.i_squared)


def weigh(study: Study, random: np.random.Generator) -> Sites:
    """Return the usual interval, but never shorter than that of known errors."""
    found = pool_by_errors(study.plain, study.v)
    known = 1 / math.sqrt((1 / (study.v + found.tau**2)).sum())
    return pooled(found._replace(error=max(found.error, known)))


def round_apart(study: Study, random: np.random.Generator) -> Sites:
    """Return the result from sums of t, t^2 and v that are rounded one by one."""
    n, t = len(study.v), study.plain
    mean = float((np.rint(t / 0.1) * 0.1).mean())
    squares = float((np.rint(t * t / 0.25) * 0.25).sum())
    within = float((np.rint(study.v / 0.25) * 0.25).mean())
    s2 = max(0.0, (squares - n * mean * mean) / (n - 1))
    half = t_quantile(LEVEL, n - 1) * math.sqrt(s2 / n)
    tau2 = max(0.0, s2 - within)
    new = t_quantile(LEVEL, n - 2) * math.sqrt(tau2 + s2 / n)
    ends = (mean - half, mean + half), (mean - new, mean + new)
    return Sites(mean, *ends, math.sqrt(tau2), tau2 / s2 if tau2 else 0.0)


def round_to(step: float) -> Method:
    """Return the method that reads sums of whole numbers of steps."""
    steps = Steps(step)
    return lambda study, _: read(
        len(study.v), steps.contribute(study.centered, study.centered_v).sum(axis=0), steps
    )


def dither(study: Study, random: np.random.Generator) -> Sites:
    """Return the result from steps that are rounded up or down at random."""
    step, n, x = 0.25, len(study.v), np.clip(study.centered, -5, 5) / 0.25
    a = np.floor(x + random.random(n))
    share = x - np.floor(x)
    w = np.rint(np.sqrt(np.minimum(study.centered_v, 2.25)) / 0.05) * 0.05
    found = pool_equally(step * a, w * w + share * (1 - share) * step**2)
    return pooled(found._replace(error=step * math.sqrt(a.var(ddof=1) / n)))


METHODS: dict[str, Method] = {
    "equal": lambda study, _: pooled(pool_equally(study.centered, study.centered_v)),
    "random": lambda study, _: pooled(pool_by_errors(study.plain, study.v)),
    "adhoc": weigh,
    "spec": round_apart,
    "0.1": round_to(0.1),
    "0.2": round_to(0.2),
    "0.25": round_to(0.25),
    "0.5": round_to(0.5),
    "dither": dither,
}


class Score(NamedTuple):
    """Coverage and widths of intervals, of one trial or as means over trials."""

    held: float
    new: float
    width: float
    new_width: float
    tau: float


def judge(case: Case, found: Sites) -> Score:
    """Return the score of the intervals of one study."""
    (low, high), new = found.interval, found.new
    held = float(low <= case.truth <= high)
    return Score(held, case.hold_new(*new), high - low, new[1] - new[0], found.tau)


def run(case: Case, trials: int, seed: int) -> dict[tuple[str, int], Score]:
    """Return the mean scores of all methods and numbers of sites."""
    random = np.random.default_rng(seed)
    scores: dict[tuple[str, int], list[Score]] = {}
    for _ in range(trials):
        study = draw(case, random)
        for n in COUNTS:
            for name, method in METHODS.items():
                found = method(study.take(n), random)
                scores.setdefault((name, n), []).append(judge(case, found))
    return {key: Score(*np.mean(each, axis=0).tolist()) for key, each in scores.items()}


def name(case: Case) -> str:
    """Return the settings of a case in a line."""
    law = "t3" if case.law == "student" else ""
    return f"{case.auc:<5g}{case.sizes:>7}{case.prevalence:>4g}{case.tau:>4g} {law:2}"


def print_table(title: str, cases: tuple[Case, ...], trials: int, seed: int) -> None:
    """Print how often intervals hold in every case, and overall."""
    print(f"\n{title}; {trials} trials each, seeds from {seed}")
    with progress_bar(title, len(cases)) as advance:
        found = []
        for at, case in enumerate(cases):
            found.append(run(case, trials, seed + at))
            if advance is not None:
                advance(1)
    for n in COUNTS:
        print(
            f"\n{n} sites: AUC, rows, prevalence, tau".ljust(31)
            + "".join(map("{:>11}".format, METHODS))
        )
        for case, scores in zip(cases, found, strict=True):
            shown = (scores[method, n] for method in METHODS)
            print(
                f"  {name(case):28}"
                + "".join(f"{f'{100 * s.held:.0f}/{100 * s.new:.0f}':>11}" for s in shown)
            )
        for label, line in summarize(found, n):
            print(f"  {label:28}" + "".join(f"{text:>11}" for text in line))


def summarize(found: list[dict[tuple[str, int], Score]], n: int) -> Iterator[tuple[str, list[str]]]:
    """Return the lines below a table."""
    columns = {method: np.array([scores[method, n] for scores in found]) for method in METHODS}
    equal = columns["equal"]
    for label, reduce in (("lowest", np.min), ("mean", np.mean)):
        yield (
            label,
            [f"{100 * reduce(c[:, 0]):.0f}/{100 * reduce(c[:, 1]):.0f}" for c in columns.values()],
        )
    yield (
        "width beside equal",
        [
            f"{(c[:, 2] / equal[:, 2]).mean():.2f}/{(c[:, 3] / equal[:, 3]).mean():.2f}"
            for c in columns.values()
        ],
    )
    yield "mean estimate of tau", [f"{c[:, 4].mean():.3f}" for c in columns.values()]


def print_grid(trials: int) -> None:
    """Print how often intervals of sites that hardly differ hold the mean, at the worst place."""
    print("\nLarge sites: logits with this standard deviation at the worst of ten places in a step")
    print(
        f"{'':8}" + "".join(f"{f'step {step:g}: lowest, width':>30}" for step in (0.1, 0.25, 0.5))
    )
    for spread in (0.02, 0.05, 0.1, 0.15, 0.2):
        line = [hold_on_grid(Steps(step), spread, trials) for step in (0.1, 0.25, 0.5)]
        print(f"{spread:<8g}" + "".join(f"{text:>30}" for text in line))


def hold_on_grid(steps: Steps, spread: float, trials: int) -> str:
    """Return the lowest share of means held, and widths, for 6, 10 and 30 sites."""
    random, texts = np.random.default_rng(9), []
    for n in COUNTS:
        held, widths = [], []
        for place_in_step in np.linspace(0, 0.5, 10):
            truth = place_in_step * steps.logit
            y = truth + spread * random.standard_normal((trials, n))
            sums = (steps.contribute(one, np.full(n, spread**2)).sum(axis=0) for one in y)
            ends = np.array([read(n, each, steps).interval for each in sums])
            held.append(((ends[:, 0] <= truth) & (truth <= ends[:, 1])).mean())
            usual = 2 * t_quantile(LEVEL, n - 1) * y.std(axis=1, ddof=1) / math.sqrt(n)
            widths.append((ends[:, 1] - ends[:, 0]).mean() / usual.mean())
        texts.append(f"{100 * min(held):.0f} ({np.mean(widths):.1f})")
    return "  ".join(texts)


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="60 trials")
    trials = 60 if parser.parse_args().quick else 1_000
    check_measure()
    print_table("AUC 0.75", FIRST, trials, 1_000)
    print_table("Small sites, other AUCs", SECOND, trials, 2_000)
    print_grid(trials)
    return 0


if __name__ == "__main__":
    sys.exit(main())
