"""How exact a statistic is if it is read from counts per cell alone, as members of a run get them.

    python -m benchmarks.cells [--samples 40]

Each line is a kernel, a law and a number of rows. It gives the sampling error, and then how far the
value is from that of the same rows (root mean square) and how wide its bracket is (median),

- before: with counts, sums and squares of the rows' places in each cell, on twice as many cells as
  the root of the number of rows (32 to 512; 16 x 16 for two columns), as version 0.2.0 had it;
- after: with counts alone, on the default cells of today.

Ranges of sizes are declared several times as wide as the largest value of a usual sample. Exits
with 1 if a bracket misses its value.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import pairgossip as pg
from pairgossip.kernels import Pairs, as_kernel
from pairgossip.peer.specification.spec import Spec, parse_spec
from pairgossip.peer.sums.simulation import run_programs, start_programs

_Reading = tuple[float, tuple[float, float]]
"""A value and its bracket, which is certain to hold it."""
Draw = Callable[[np.random.Generator, int], np.ndarray]
_SITES = 5


class Case(NamedTuple):
    """One line."""

    kernel: str
    law: str
    draw: Draw
    ranges: tuple[float, float]
    sizes: tuple[int, ...]
    label: bool = False


def _scores(random: np.random.Generator, n: int) -> np.ndarray:
    labels = random.permutation((np.arange(n) < 0.3 * n).astype(float))
    return np.column_stack([1 / (1 + np.exp(-random.normal(labels, 1.0))), labels])


def _pairs(random: np.random.Generator, n: int) -> np.ndarray:
    first = random.normal(size=n)
    both = np.column_stack([first, 0.6 * first + 0.8 * random.normal(size=n)])
    return 1 / (1 + np.exp(-both))


def _lognormal(random: np.random.Generator, n: int) -> np.ndarray:
    return np.clip(np.exp(random.normal(10.0, 0.6, n)), 100.0, 1e6)


def _pareto(random: np.random.Generator, n: int) -> np.ndarray:
    return np.minimum(1000.0 * (1.0 + random.pareto(2.5, n)), 1e6)


CASES = (
    Case("auc", "normal scores", _scores, (0.0, 1.0), (140, 700, 5_000, 50_000), label=True),
    Case("gini", "lognormal", _lognormal, (100.0, 1e6), (700, 50_000)),
    Case("gini", "lognormal, range from 0", _lognormal, (0.0, 1e6), (700, 50_000)),
    Case("gini-coefficient", "lognormal", _lognormal, (100.0, 1e6), (140, 700, 50_000)),
    Case("gini-coefficient", "Pareto(2.5)", _pareto, (100.0, 1e6), (700, 5_000)),
    Case("variance", "lognormal", _lognormal, (100.0, 1e6), (700, 50_000)),
    Case("kendall", "normal pairs", _pairs, (0.0, 1.0), (140, 700, 5_000)),
)


def main() -> int:
    """Print the table; return 1 if a bracket has missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--samples", type=int, default=40, help="of every law and size")
    samples = parser.parse_args().samples
    print(f"{'kernel':17} {'law':24} {'rows':>7}  {'sampling':>9}  {'before':>17}  {'after':>17}")
    print(f"{'':50}  {'error':>9}  {'off':>8} {'bracket':>8}  {'off':>8} {'bracket':>8}")
    missed = sum(_line(case, n, samples) for case in CASES for n in case.sizes)
    print(f"Brackets that have missed their value: {missed}")
    return 1 if missed else 0


def _line(case: Case, n: int, samples: int) -> int:
    spec = _spec(case)
    rows: list[tuple[Any, _Reading, _Reading]] = []
    random = np.random.default_rng(n)
    for _ in range(samples):
        sample = case.draw(random, n)
        exact = pg.exact(sample, case.kernel, interval=0.95)
        rows.append((exact, _before(case, sample), _after(spec, sample)))
    errors = [math.sqrt(np.mean([exact.error**2 for exact, *_ in rows]))]
    widths, missed = [], 0
    for place in (1, 2):
        off = [one[place][0] - float(one[0]) for one in rows]
        ends = [one[place][1] for one in rows]
        errors.append(math.sqrt(np.mean(np.square(off))))
        widths.append(float(np.median([high - low for low, high in ends])))
        missed += sum(not low <= float(one[0]) <= high for one, (low, high) in _known(rows, ends))
    shown = "  ".join(f"{a:8.2g} {_show(b):>8}" for a, b in zip(errors[1:], widths, strict=True))
    print(f"{case.kernel:17} {case.law:24} {n:7,}  {errors[0]:9.2g}  {shown}", flush=True)
    return missed


def _known(rows: Sequence, ends: Sequence[tuple[float, float]]) -> list:  # type: ignore[type-arg]
    pairs = zip(rows, ends, strict=True)
    return [(one, end) for one, end in pairs if not math.isnan(end[0])]


def _show(width: float) -> str:
    return "" if math.isnan(width) else f"{width:.2g}"


def _before(case: Case, sample: np.ndarray) -> _Reading:
    kernel, n = as_kernel(case.kernel), len(sample)
    pairs = Pairs(sample, kernel)
    bins = min(max(2 * math.isqrt(n), 32), 512)
    recipe: pg.sketches.Bins | pg.sketches.TwoWayBins | pg.sketches.Moments
    if case.kernel == "kendall":
        recipe = pg.sketches.TwoWayBins(16, ranges=(case.ranges, case.ranges), errors=True)
    elif case.kernel == "variance":
        recipe = pg.sketches.Moments(center=sum(case.ranges) / 2)
    else:
        recipe = pg.sketches.Bins(bins, range=case.ranges)
    sketch = recipe.fit(pairs)
    mean = sketch.features(pairs.data).mean(axis=0)
    ends = sketch.bracket(mean) if isinstance(sketch, pg.sketches.BracketingSketch) else None
    low, high = ends or (math.nan, math.nan)
    return float(sketch.readout(mean)), (float(low), float(high))


def _after(spec: Spec, sample: np.ndarray) -> _Reading:
    parts = np.array_split(sample.reshape(len(sample), -1), _SITES)
    dealt = {str(k): tuple(map(tuple, part.tolist())) for k, part in enumerate(parts)}
    result = run_programs(start_programs(spec, dealt))
    assert result.value is not None
    return result.value, result.bracket or (math.nan, math.nan)


def _spec(case: Case) -> Spec:
    columns = ["a", "b"] if case.kernel == "kendall" else ["a"]
    lines = [
        f'kernel = "{case.kernel}"',
        f"columns = {columns}",
        'label = "l"' if case.label else "",
        "[ranges]",
        *(f"{name} = {list(case.ranges)}" for name in columns),
        "l = [0, 1]" if case.label else "",
    ]
    return parse_spec("\n".join(lines))


if __name__ == "__main__":
    sys.exit(main())
