"""How often intervals hold the truth, and how close nodes come to the sampling error by gossip.

Run with ``python -m benchmarks.coverage``; name parts to run only these. All settings were fixed
before the first run: 1,000 samples per cell with seeds 0 to 999, levels of 95 %, and as the truth
the statistic of 1,000,000 rows with seed 1,000,000 (for variances, the formula). ``tied`` rows are
normal ones rounded to a half, ``mixture`` is 90 % N(0, 1) and 10 % N(0, 25), ``clusters`` have 10
rows each, which share half of their variance. Classes are one standard deviation of the law apart;
at first they were 1 apart for all laws, which separated beta(.5, .5) completely. Cells outside of
93 to 97 % are marked: for regular laws those at 200 rows or more, for difficult ones all.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import pairgossip as pg
from pairgossip.arrays import FloatArray

SAMPLES, LEVEL, SIZES = 1_000, 0.95, (50, 200, 1_000)
LARGE, LIMITS = 1_000_000, (0.93, 0.97)
POSITIVES, SHIFT = 0.35, 1.0
NODES, TRIALS, PER_NODE = 400, 20, (50, 250)

KIND, UNKIND = (
    ("normal", "lognormal", "tied"),
    ("Weibull(.7)", "Pareto(2.5)", "t4", "mixture", "Poisson(2)", "beta(.5, .5)"),
)
UNKIND_SIZES = (30, 100, 500)
CLUSTERS, CLUSTER_ROWS, SHARED = (10, 20, 40), 10, 0.5
WINSORIZED, CUT = (30, 100, 500, 5_000), 0.1

Rows = dict[str, FloatArray]
Draw = Callable[[np.random.Generator, int], FloatArray]


def _normal(rng: np.random.Generator, n: int) -> FloatArray:
    return rng.normal(size=n)


def _clustered(rng: np.random.Generator, n: int) -> FloatArray:
    shared = np.repeat(rng.normal(size=n // CLUSTER_ROWS), CLUSTER_ROWS)
    return math.sqrt(SHARED) * shared + math.sqrt(1 - SHARED) * rng.normal(size=n)


def _mixture(rng: np.random.Generator, n: int) -> FloatArray:
    return rng.normal(size=n) * np.where(rng.random(n) < 0.1, 5.0, 1.0)


_FORMS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "lognormal": np.exp,
    "tied": lambda z: np.round(2 * z) / 2,
}
_LAWS: dict[str, Draw] = {
    "Weibull(.7)": lambda rng, n: rng.weibull(0.7, size=n),
    "Pareto(2.5)": lambda rng, n: 1 + rng.pareto(2.5, size=n),
    "t4": lambda rng, n: rng.standard_t(4, size=n),
    "mixture": _mixture,
    "Poisson(2)": lambda rng, n: rng.poisson(2.0, size=n).astype(float),
    "beta(.5, .5)": lambda rng, n: rng.beta(0.5, 0.5, size=n),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "uniform": lambda rng, n: rng.random(n),
}
_VARIANCES = {
    "normal": 1.0,
    "lognormal": math.e * (math.e - 1),
    "Weibull(.7)": math.gamma(1 + 2 / 0.7) - math.gamma(1 + 1 / 0.7) ** 2,
    "Pareto(2.5)": 2.5 / (1.5**2 * 0.5),
    "t4": 2.0,
    "mixture": 0.9 + 0.1 * 25,
    "Poisson(2)": 2.0,
    "beta(.5, .5)": 0.125,
}


def _draw(shape: str, kind: str, n: int, seed: int, normal: Draw = _normal) -> Rows:
    """Draw rows: amounts, labeled scores of one or two models, or two columns."""
    rng, form = np.random.default_rng(seed), _FORMS.get(shape, np.asarray)
    draw = _LAWS.get(shape, normal)
    if kind == "amounts":  # nonnegative, for Gini's coefficient
        return {"data": np.abs(form(3 * (shape not in _LAWS) + draw(rng, n)))}
    if kind == "one":
        return {"data": form(draw(rng, n))}
    if kind == "columns":
        shared = draw(rng, n)
        return {"data": np.column_stack([form(shared + draw(rng, n)) for _ in range(2)])}
    labels = (rng.random(n) < POSITIVES).astype(float)
    shift = SHIFT * math.sqrt(_VARIANCES[shape]) if shape in UNKIND else SHIFT
    shared = draw(rng, n) + shift * labels
    if kind == "scores":
        return {"data": form(shared), "labels": labels}
    models = [form(shared + noise * draw(rng, n)) for noise in (0.5, 0.8)]
    return {"data": np.column_stack(models), "labels": labels}


def _kernel(name: str) -> Callable[[Rows, float | None], Any]:
    return lambda rows, level: pg.exact(
        rows["data"],
        name,
        labels=rows.get("labels"),
        interval=level,
        groups=None if level is None else rows.get("groups"),
    )


_STATISTICS: dict[str, tuple[str, Callable[[Rows, float | None], Any]]] = {
    "gini": ("one", _kernel("gini")),
    "gini-coefficient": ("amounts", _kernel("gini-coefficient")),
    "variance": ("one", _kernel("variance")),
    "auc": ("scores", _kernel("auc")),
    "auc-difference": ("models", _kernel("auc-difference")),
    "kendall-b": ("columns", _kernel("kendall-b")),
    "somers-d": ("columns", _kernel("somers-d")),
    "median": ("one", lambda rows, level: pg.quantile(rows["data"], 0.5, interval=level)),
    "trimmed mean": ("one", lambda rows, level: pg.trimmed_mean(rows["data"], 0.1, interval=level)),
    "Hodges-Lehmann": ("one", lambda rows, level: pg.hodges_lehmann(rows["data"], interval=level)),
}


_BY_PAIRS = ("gini", "gini-coefficient", "variance", "auc", "kendall-b")


def cover() -> None:
    """Print how often the interval holds the truth, for every statistic, distribution and size."""
    _print_table("rows", SIZES, KIND, tuple(_STATISTICS))


def unkind() -> None:
    """Print the same for laws with heavy tails, with few values, or without a middle."""
    _print_table("rows", UNKIND_SIZES, UNKIND, tuple(_STATISTICS))


def clusters() -> None:
    """Print the same for few clusters, whose rows are alike."""
    _print_table("clusters", CLUSTERS, KIND[:2], _BY_PAIRS)


def _print_table(
    what: str, sizes: tuple[int, ...], shapes: tuple[str, ...], names: tuple[str, ...]
) -> None:
    print(f"coverage of {LEVEL:.0%} intervals, {SAMPLES:,} samples each (standard error 0.7 %)")
    print(f"{'':18}{'':13}" + "".join(f"{f'{n:,} {what}':>18}" for n in sizes))
    for name in names:
        kind, compute = _STATISTICS[name]
        for shape in shapes:
            truth = _VARIANCES.get(shape) if name == "variance" else None
            if truth is None:
                truth = float(compute(_draw(shape, kind, LARGE, LARGE), None))
            draw = partial(_draw_clusters if what == "clusters" else _draw, shape, kind)
            cells = [_covered(compute, draw, n, truth, shape in UNKIND) for n in sizes]
            print(f"{name:18}{shape:13}" + "".join(cells), flush=True)


def _draw_clusters(shape: str, kind: str, count: int, seed: int) -> Rows:
    rows = _draw(shape, kind, count * CLUSTER_ROWS, seed, _clustered)
    return rows | {"groups": np.repeat(np.arange(count), CLUSTER_ROWS)}


def _covered(
    compute: Callable[[Rows, float | None], Any],
    draw: Callable[[int, int], Rows],
    n: int,
    truth: float,
    is_marked: bool,
) -> str:
    """Return how often the interval holds the truth, and how often it lies below and above it."""
    below = above = refused = 0
    for seed in range(SAMPLES):
        try:
            answer = compute(draw(n, seed), LEVEL)
        except pg.InputError:
            refused += 1
            continue
        below += answer.high < truth
        above += answer.low > truth
    made = max(1, SAMPLES - refused)
    share = 1 - (below + above) / made
    is_off = not LIMITS[0] <= share <= LIMITS[1] and (is_marked or n >= 200)
    note = (f" ({refused})" if refused else "") + (" !" if is_off else "")
    return f"{f'{100 * share:.1f} {below / made:.3f}/{above / made:.3f}{note}':>18}"


def gossip() -> None:
    """Print the ratio of nodes' standard errors to the exact one: mean and spread."""
    print(
        f"standard errors by gossip over the exact one, {NODES} nodes, {TRIALS} trials, GoSta-async"
    )
    graphs = {
        "complete": pg.graphs.complete(NODES),
        "WS(4, 0.3)": pg.graphs.watts_strogatz(NODES, 4, 0.3, seed=0),
        "torus": pg.graphs.torus(20, 20),
        "cycle": pg.graphs.cycle(NODES),
    }
    for kernel, kind, shape in (("gini", "amounts", "lognormal"), ("auc", "scores", "normal")):
        rows = _draw(shape, kind, NODES, 0)
        exact = pg.exact(rows["data"], kernel, labels=rows.get("labels"), interval=LEVEL)
        for name, graph in graphs.items():
            cells = [_errors(rows, kernel, graph, count, exact.error) for count in PER_NODE]
            print(f"{kernel:8}{name:12}" + "   ".join(cells), flush=True)


def _errors(rows: Rows, kernel: str, graph: pg.Graph, per_node: int, exact: float) -> str:
    run = pg.estimate(
        rows["data"],
        kernel,
        graph,
        labels=rows.get("labels"),
        clock="async",
        iterations=per_node * NODES // 2,
        interval=LEVEL,
        trials=TRIALS,
        seed=1,
        progress=False,
    )
    assert run.sampling_error is not None and run.gossip_error is not None
    assert run.widening is not None
    ratios = (run.sampling_error / exact)[~np.isnan(run.sampling_error)]
    off = np.sqrt(np.mean(run.gossip_error**2)) / run.error[-1]
    return (
        f"after {per_node} each: {ratios.mean():.3f} (spread over nodes {ratios.std():.2f}, "
        f"widened {run.widening.mean():.3f}, unknown {1 - ratios.size / run.estimates.size:.1%}), "
        f"gossip error seen / true {off:.2f}"
    )


def null() -> None:
    """Print how p-values are distributed without an effect: type I error and uniformity."""
    samples, n = 2_000, 200
    print(f"p-values without an effect, {samples:,} samples of {n} rows")
    for name in ("auc", "mann-whitney", "auc-difference"):
        found = np.sort([_null_p(name, n, seed) for seed in range(samples)])
        steps = np.arange(1, samples + 1) / samples
        gap = max(np.max(steps - found), np.max(found - steps + 1 / samples))
        limit = 1.358 / np.sqrt(samples)
        print(
            f"{name:16} below 5 %: {100 * np.mean(found < 0.05):.1f} %   largest gap from uniform "
            f"{gap:.4f} (5 % limit {limit:.4f}) {'' if gap < limit else '!'}",
            flush=True,
        )


def _null_p(name: str, n: int, seed: int) -> float:
    rng = np.random.default_rng(seed)
    labels = (rng.random(n) < POSITIVES).astype(float)
    if name != "auc-difference":
        return float(pg.test(rng.normal(size=n), name, labels=labels).p)
    shared = rng.normal(size=n) + SHIFT * labels
    models = np.column_stack([shared + 0.5 * rng.normal(size=n) for _ in range(2)])
    return float(pg.test(models, name, labels=labels).p)


def speed() -> None:
    """Print how long DeLong's interval takes, beside the value alone."""
    rng = np.random.default_rng(0)
    for n in (10_000, 100_000, 1_000_000):
        labels = (rng.random(n) < POSITIVES).astype(float)
        scores = rng.normal(size=n) + labels
        begin = time.perf_counter()
        pg.exact(scores, "auc", labels=labels)
        middle = time.perf_counter()
        pg.exact(scores, "auc", labels=labels, interval=LEVEL)
        end = time.perf_counter()
        ratio = (end - middle) / (middle - begin)
        print(
            f"AUC of {n:>9,} rows with its interval: {end - middle:.2f} s, {ratio:.1f}x the value"
        )


def winsorize() -> None:
    """Print the winsorized mean's error over the true one, and its interval's coverage."""
    print(f"winsorized mean {CUT:g}: mean error over the true one, coverage; {SAMPLES:,} samples")
    for shape in ("normal", "lognormal", "exponential", "t4", "uniform", "beta(.5, .5)"):
        truth = float(pg.winsorized_mean(_draw(shape, "one", LARGE, LARGE)["data"], CUT))
        cells = []
        for n in WINSORIZED:
            found = [
                pg.winsorized_mean(_draw(shape, "one", n, seed)["data"], CUT, interval=LEVEL)
                for seed in range(SAMPLES)
            ]
            ratio = np.mean([one.error for one in found]) / np.std([one.value for one in found])
            held = np.mean([one.low <= truth <= one.high for one in found])
            cells.append(f"{f'n = {n:,}: {ratio:.2f}, {100 * held:.1f} %':>26}")
        print(f"{shape:13}" + "".join(cells), flush=True)


_PARTS = {
    "coverage": cover,
    "unkind": unkind,
    "clusters": clusters,
    "winsorized": winsorize,
    "gossip": gossip,
    "null": null,
    "speed": speed,
}


def main() -> None:
    """Run the parts that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("parts", nargs="*", choices=[*_PARTS, []], help="which to run; all if none")
    warnings.simplefilter("ignore")
    for part in parser.parse_args().parts or _PARTS:
        _PARTS[part]()
        print()


if __name__ == "__main__":
    main()
