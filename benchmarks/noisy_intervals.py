"""Print how often the intervals of noisy sums hold the population's value.

    python -m benchmarks.noisy_intervals --samples 400
    python -m benchmarks.noisy_intervals --only gini

Each setting is a kernel on rows of one law, a number of rows and an epsilon, for five members, at
least four of them honest. Every sample has new rows and new noise. Rows are counted together, and
the noise of all members is drawn at once, by the law of its sum. The columns:

    noise     the standard deviation of the noise of all cells together, relative to the rows
    given     the share of samples with an interval
    covers    the share of these that holds the value of the population; the goal is 95 %
    width     the median width
    plain     how often intervals hold it if the same counts have no noise: cells leave some
              values open, so this may be above 97 %
    off       the median of (value - value of the population) / width, which shows a bias

Settings were fixed before the first run. A line ends with "!" if an interval is given in some
samples only, or if, by more than chance explains (three standard errors), intervals hold the value
in less than 93 % of samples, or in more than 97 % where intervals without noise do not.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import math
from collections.abc import Callable, Iterator
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

import pairgossip as pg
from benchmarks.blocks import add_options, do_all
from pairgossip.arrays import FloatArray, IntArray
from pairgossip.counts import noisy
from pairgossip.counts.tables import CountTable, Layout, Sums
from pairgossip.kernels import Combination, Kernel
from pairgossip.peer.specification.spec import Spec, parse_spec
from pairgossip.peer.sums.noise import NoiseLaw
from pairgossip.peer.sums.programs import Generation
from pairgossip.peer.sums.results import Result
from pairgossip.peer.sums.statistics import (
    cells_of,
    explain_no_interval,
    noise_law,
)
from pairgossip.peer.sums.tables import StatisticsProgram

MEMBERS, HONEST = 5, 4
ROWS = (200, 600, 2_000, 10_000)
EPSILONS = (0.1, 0.5, 1.0, 5.0)
POPULATION = 100_000
LEAST, MOST = 0.93, 0.97
_REFUSED = 20
"""Samples of a setting without intervals, to check that none has one."""
_PLAIN = 100
"""Samples that are also read without noise."""
_NORMAL = NormalDist()


class Law(NamedTuple):
    """A population whose rows are drawn, and the range that members declare."""

    rows: Callable[[], FloatArray]
    range: tuple[float, float]


def _even(transform: Callable[[FloatArray], FloatArray]) -> Callable[[], FloatArray]:
    """Return the quantiles of a law, evenly spaced in probability."""
    shares = (np.arange(POPULATION) + 0.5) / POPULATION
    return lambda: np.asarray(transform(shares))


def _normal(shares: FloatArray) -> FloatArray:
    return np.array([_NORMAL.inv_cdf(share) for share in shares.tolist()])


def _scores(rate: float) -> Callable[[], FloatArray]:
    """Return scores of two classes, normal with means one standard deviation apart."""

    def rows() -> FloatArray:
        labels = (np.arange(POPULATION) < rate * POPULATION).astype(np.float64)
        shares = np.random.default_rng(1).permutation(POPULATION)
        return np.column_stack([_normal((shares + 0.5) / POPULATION) + labels, labels])

    return rows


def _both() -> FloatArray:
    """Return two normal columns with a correlation of a half."""
    first, second = np.random.default_rng(2).normal(size=(2, POPULATION))
    return np.column_stack([first, 0.5 * first + math.sqrt(0.75) * second])


LAWS = {
    "normal": Law(_even(_normal), (-5, 5)),
    "lognormal": Law(_even(lambda shares: np.exp(0.5 * _normal(shares))), (0.05, 20)),
    "exponential": Law(_even(lambda shares: -np.log1p(-shares)), (0, 12)),
    "even classes": Law(_scores(0.5), (-5, 6)),
    "rare class": Law(_scores(0.2), (-5, 6)),
    "two normal": Law(_both, (-5, 5)),
}
CASES = [
    *(("gini", law) for law in ("normal", "lognormal", "exponential")),
    *(("gini-coefficient", law) for law in ("lognormal", "exponential")),
    *(("variance", law) for law in ("normal", "exponential")),
    *(("auc", law) for law in ("even classes", "rare class")),
    ("kendall", "two normal"),
    *(("median", law) for law in ("normal", "lognormal", "exponential")),
    ("quantile-0.9", "exponential"),
    ("trimmed-mean-0.1", "lognormal"),
    ("hodges-lehmann", "normal"),
    ("shift", "even classes"),
]
_PAIRS = ("gini", "gini-coefficient", "variance", "auc", "kendall")


class Setting(NamedTuple):
    """The specification that members agree on, and the law of their rows."""

    kernel: str
    law: str
    n: int
    epsilon: float

    def spec(self) -> Spec:
        """Return the specification."""
        low, high = LAWS[self.law].range
        has_classes = "class" in self.law
        names = ["a", "b"] if self.law == "two normal" else ["a"]
        lines = [
            f'kernel = "{self.kernel}"',
            f"columns = {names}".replace("'", '"'),
            'label = "l"' if has_classes else "",
            'target = "u"' if self.kernel in ("gini", "gini-coefficient", "variance") else "",
            "[ranges]",
            *(f"{name} = [{low}, {high}]" for name in names),
            "l = [0, 1]" if has_classes else "",
            f'[algorithm]\nname = "sums"\n[privacy]\nepsilon = {self.epsilon}\nhonest = {HONEST}',
        ]
        return parse_spec("\n".join(lines))


SETTINGS = [
    Setting(kernel, law, n, epsilon) for kernel, law in CASES for n in ROWS for epsilon in EPSILONS
]


@functools.cache
def population(law: str) -> FloatArray:
    """Return all rows of a population, in the range that is declared."""
    rows = LAWS[law].rows()
    table = rows.reshape(len(rows), -1)
    columns = 1 if "class" in law else table.shape[1]
    table[:, :columns] = np.clip(table[:, :columns], *LAWS[law].range)
    return table


@functools.cache
def truth(kernel: str, law: str) -> float:
    """Return the value of the population."""
    rows = population(law)
    if kernel in _PAIRS:
        return float(pg.exact(rows if rows.shape[1] > 1 else rows[:, 0], kernel, "v"))
    values = rows[:, 0]
    if kernel == "median" or kernel.startswith("quantile"):
        return float(pg.quantile(values, 0.5 if kernel == "median" else 0.9))
    if kernel == "trimmed-mean-0.1":
        return float(pg.trimmed_mean(values, 0.1))
    labels = rows[:, 1] if kernel == "shift" else None
    return float(pg.hodges_lehmann(values, labels=labels))


def draw_noise(law: NoiseLaw, shape: int, rng: np.random.Generator) -> IntArray:
    """Draw the sum of all members' noise: a difference of two sums of Polya draws."""
    kept = -math.expm1(-law._decay)
    parts = rng.negative_binomial(MEMBERS / law.honest, kept, (2, shape))
    return np.asarray(parts[0] - parts[1])


def conclude(program: StatisticsProgram, counts: IntArray, n: int) -> Result:
    """Return the result of a program for these counts of n rows."""
    total = np.concatenate([[n], counts, np.zeros(4)]).astype(np.int64).view(np.uint64)
    with np.errstate(all="ignore"):
        program._take(total)
    assert program.result is not None
    return program.result


class Found(NamedTuple):
    """The results of one setting."""

    given: float
    covers: float
    width: float
    plain: float
    off: float
    reason: str


@contextlib.contextmanager
def forms_kept() -> Iterator[None]:
    """Compute the forms of a kernel once, as they are the same for all samples."""
    found, kept = noisy.find_forms, list[noisy.Forms]()

    def find(table: CountTable, kernel: Kernel | Combination) -> noisy.Forms:
        if not kept:
            kept.append(found(table, kernel))
        return kept[0]

    noisy.find_forms = find
    try:
        yield
    finally:
        noisy.find_forms = found


def study(setting: Setting, samples: int) -> Found:
    """Draw samples of rows and noise, and count the intervals that hold the population's value."""
    spec, n = setting.spec(), setting.n
    cells, law, target = (
        cells_of(spec),
        noise_law(spec, MEMBERS),
        truth(setting.kernel, setting.law),
    )
    members = {f"member {k}": n // MEMBERS for k in range(MEMBERS)}
    generation = Generation(members)
    program = StatisticsProgram(
        spec, np.zeros(cells.words, np.int64), generation, members, noise=law.draw
    )
    rng, rows = np.random.default_rng([7, n, int(10 * setting.epsilon)]), population(setting.law)
    held, widths, off = list[bool](), list[float](), list[float]()
    plain = list[bool]()
    reason = explain_no_interval(cells, law.variance, n) or ""
    samples = min(samples, _REFUSED) if reason else samples
    for _ in range(samples):
        own = rows[rng.integers(len(rows), size=n)]
        counts = cells.add_up(own)[1:]
        result = conclude(program, counts + draw_noise(law, len(counts), rng), n)
        assert result.noise is not None
        assert (result.noise.without_interval or "") == reason
        if result.interval is not None and result.value is not None:
            low, high = result.interval
            held.append(low <= target <= high)
            widths.append(high - low)
            off.append((result.value - target) / (high - low))
        if len(plain) < _PLAIN:
            plain.append(_plain(cells, cells.read_sums(cells.add_up(own)), target))
    median = [float(np.median(numbers)) if numbers else math.nan for numbers in (widths, off)]
    covers = float(np.mean(held)) if held else math.nan
    return Found(len(held) / samples, covers, median[0], float(np.mean(plain)), median[1], reason)


def _plain(cells: Layout, sums: Sums, target: float) -> bool:
    found = cells.find(sums)
    return found.low <= target <= found.high


def line(setting: Setting, samples: int) -> str:
    """Study one setting; return its line."""
    spec = setting.spec()
    with forms_kept():
        found = study(setting, samples)
    cells = cells_of(spec)
    noise = math.sqrt(cells.counts * noise_law(spec, MEMBERS).variance) / setting.n
    chance = 3 * math.sqrt(LEAST * (1 - LEAST) / samples)
    is_low = found.covers < LEAST - chance
    is_high = found.covers > MOST + chance and found.plain <= MOST + chance
    mark = "!" if is_low or is_high or 0 < found.given < 1 else ""
    shown = (
        f"{setting.kernel:<17}{setting.law:<13}{setting.n:>7}{setting.epsilon:>8}{noise:>7.1%}"
        f"{found.given:>8.1%}{found.covers:>8.1%}{found.width:>10.3g}{found.plain:>8.1%}"
        f"{found.off:>+8.3f} {mark}"
    )
    return f"{shown} {'none: noise is too large' if found.reason else ''}".rstrip()


def main() -> None:
    """Print the study, setting by setting."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--samples", type=int, default=400)
    parser.add_argument("--only", help="the kernel")
    add_options(parser)
    options = parser.parse_args()
    chosen = [one for one in SETTINGS if options.only in (None, one.kernel)]
    print(f"{'kernel':<17}{'law':<13}{'n':>7}{'epsilon':>8}{'noise':>7}{'given':>8}{'covers':>8}"
          f"{'width':>10}{'plain':>8}{'off':>8}")  # fmt: skip
    work = functools.partial(_study, chosen, options.samples)
    numbers = range(options.start_seed, len(chosen))
    do_all(work, numbers, options.jobs, lambda _, shown: print(shown, flush=True), "settings")


def _study(settings: list[Setting], samples: int, number: int) -> str:
    return line(settings[number], samples)


if __name__ == "__main__":
    main()
