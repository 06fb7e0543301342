"""How often the intervals of survival curves and of concordance indices hold the truth.

Run with ``python -m benchmarks.survival_coverage``. All settings but one were fixed before the
first run: 1,000 samples per line and levels of 95 %; times of three laws, censored by exponential
ones so that 20 or 60 % of the rows are; curves at the times that 90, 75, 50 and 25 % survive, and
the simultaneous band at all times from its beginning to its end. For the indices, a time is one of
the law over the exponential of a normal risk, Uno's truncation is the time for which a fifth of the
rows are followed, and the truth is that of 2,000,000 rows. Where the band begins and ends was
chosen after a first run, in which bands from the first event to the last held the truth 87 to 92 %
of the time.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import pairgossip as pg
from pairgossip.arrays import FloatArray
from pairgossip.survival import Curve

SIZES, CENSORED, LEVEL = (30, 100, 500), (0.2, 0.6), 0.95
SURVIVAL = (0.9, 0.75, 0.5, 0.25)
LARGE, PARTS = 500_000, 4
FOLLOWED = 0.2
LIMITS = (0.93, 0.975)
"""Coverages below and above which a line is marked."""


class Law(NamedTuple):
    """Times as functions of the share that survives them, and the inverse functions."""

    quantile: Callable[[FloatArray], FloatArray]
    survival: Callable[[FloatArray], FloatArray]


_SPREAD = 1.5


def _normal_survival(z: FloatArray) -> FloatArray:
    return np.array([math.erfc(one / math.sqrt(2)) / 2 for one in z.tolist()])


def _find_normal(share: FloatArray) -> FloatArray:
    from scipy.special import ndtri

    return np.asarray(ndtri(1 - share))


LAWS = {
    "exponential": Law(lambda share: -np.log(share), lambda time: np.exp(-time)),
    "Weibull(1.5)": Law(
        lambda share: (-np.log(share)) ** (1 / 1.5), lambda time: np.exp(-(time**1.5))
    ),
    "lognormal(1.5)": Law(
        lambda share: np.exp(_SPREAD * _find_normal(share)),
        lambda time: _normal_survival(np.log(time) / _SPREAD),
    ),
}


Seed = int | tuple[int, ...]


class Rows(NamedTuple):
    """Rows with their own times of censoring."""

    time: FloatArray
    event: FloatArray
    risk: FloatArray


def draw(law: Law, scale: float, n: int, seed: Seed, *, has_risk: bool) -> Rows:
    """Draw rows, censored by exponential times of a mean."""
    random = np.random.default_rng(seed)
    risk = random.normal(size=n)
    times = law.quantile(random.random(n)) * (np.exp(-risk) if has_risk else 1.0)
    ends = scale * random.exponential(size=n)
    return Rows(np.minimum(times, ends), (times <= ends).astype(float), risk)


def find_scale(law: Law, share: float, *, has_risk: bool) -> float:
    """Return the mean of the censoring times that censor this share of the rows."""
    low, high = 1e-3, 1e4
    for _ in range(40):
        middle = math.sqrt(low * high)
        rows = draw(law, middle, 100_000, 1, has_risk=has_risk)
        low, high = (middle, high) if 1 - rows.event.mean() > share else (low, middle)
    return high


class Held(NamedTuple):
    """Whether each of the known intervals of one quantity holds the truth."""

    name: str
    holds: list[bool]

    def line(self, samples: int) -> str:
        """Return the line that is printed."""
        if not self.holds:
            return f"{self.name}: none known"
        share = float(np.mean(self.holds))
        marked = "" if LIMITS[0] <= share <= LIMITS[1] else " *"
        known = len(self.holds) / samples
        return f"{self.name}: {share:.3f}{marked}" + (f" (known: {known:.2f})" * (known < 1))


def follow_curves(law: Law, scale: float, n: int, seeds: list[Seed]) -> list[Held]:
    """Return which intervals and bands hold the law's curve."""
    times = law.quantile(np.array(SURVIVAL))
    points = [Held(f"S = {share}", []) for share in SURVIVAL]
    median, band = Held("median", []), Held("band", [])
    truth = float(law.quantile(np.array([0.5]))[0])
    for seed in seeds:
        rows = draw(law, scale, n, seed, has_risk=False)
        (curve,) = pg.survival.kaplan_meier(rows.time, rows.event, interval=LEVEL).curves
        found = curve.read(times)
        for held, share, low, high in zip(points, SURVIVAL, found.low, found.high, strict=True):
            if not math.isnan(low):
                held.holds.append(bool(low <= share <= high))
        median.holds.append(bool(curve.median.interval[0] <= truth <= curve.median.interval[1]))
        if not math.isnan(curve.band_value):
            band.holds.append(holds_band(curve, law))
    return [*points, median, band]


def holds_band(curve: Curve, law: Law) -> bool:
    """Return whether the band holds the law's curve, before and at all of its steps."""
    start, stop = curve.band_ends
    times = curve.table.times
    times = times[(times >= start) & (times <= stop)]
    truth, found = law.survival(times), curve.read(times)
    # Between two steps the law's curve falls, and is closest to the band's lower end at the second.
    holds = (found.band_low <= truth).all() and (truth <= found.band_high).all()
    return bool(holds and (truth[1:] >= found.band_low[:-1]).all())


class Question(NamedTuple):
    """A concordance index, and its value in the population."""

    name: str
    options: dict[str, Any]
    truth: float


def ask_indices(law: Law, scale: float) -> list[Question]:
    """Return both indices with their values for many rows."""
    large = [draw(law, scale, LARGE, 1_000_000 + at, has_risk=True) for at in range(PARTS)]
    last = float(np.quantile(large[0].time, 1 - FOLLOWED))
    found = []
    for name, more in (("Harrell", {}), ("Uno", {"weights": "uno", "truncation": last})):
        options: dict[str, Any] = more
        values = [pg.survival.concordance(*one, interval=None, **options) for one in large]
        found.append(Question(name, options, float(np.mean(values))))
    return found


def follow_indices(
    questions: list[Question], law: Law, scale: float, n: int, seeds: list[Seed]
) -> list[Held]:
    """Return which intervals of concordance indices hold the population's value."""
    found = [Held(one.name, []) for one in questions]
    for seed in seeds:
        rows = draw(law, scale, n, seed, has_risk=True)
        for held, one in zip(found, questions, strict=True):
            try:
                answer = pg.survival.concordance(*rows, interval=LEVEL, **one.options)
            except pg.InputError:
                continue
            assert isinstance(answer, pg.Answer)
            held.holds.append(bool(answer.low <= one.truth <= answer.high))
    return found


def main() -> None:
    """Print a line for each law, censoring and number of rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=1_000)
    options = parser.parse_args()
    begin, samples, line = time.perf_counter(), options.samples, 0
    for name, law in LAWS.items():
        for censored in CENSORED:
            alone, ranked = (
                find_scale(law, censored, has_risk=has_risk) for has_risk in (False, True)
            )
            questions = ask_indices(law, ranked)
            for n in SIZES:
                line += 1
                seeds: list[Seed] = [(line, seed) for seed in range(samples)]
                held = follow_curves(law, alone, n, seeds)
                held += follow_indices(questions, law, ranked, n, seeds)
                lines = "; ".join(one.line(samples) for one in held)
                print(f"{name}, {censored:.0%} censored, {n} rows: {lines}", flush=True)
    print(f"{time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
