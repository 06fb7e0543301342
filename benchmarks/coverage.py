"""How often intervals hold the truth, and how near nodes come to the sampling error by gossip.

Run with ``python -m benchmarks.coverage``; name parts to run only these. All settings were fixed
before the first run: 1,000 samples per cell with seeds 0 to 999, levels of 95 %, and as the truth
the statistic of 1,000,000 rows with seed 1,000,000. ``tied`` rows are normal ones rounded to a
half. A cell outside of 93 to 97 % at 200
rows or more is marked.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import pairgossip as pg
from pairgossip.arrays import FloatArray

SAMPLES, LEVEL, SIZES = 1_000, 0.95, (50, 200, 1_000)
LARGE, LIMITS = 1_000_000, (0.93, 0.97)
POSITIVES, SHIFT = 0.35, 1.0
NODES, TRIALS, PER_NODE = 400, 20, (50, 250)

Rows = dict[str, FloatArray]

_SHAPES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "normal": lambda z: z,
    "lognormal": np.exp,
    "tied": lambda z: np.round(2 * z) / 2,
}


def _draw(shape: str, kind: str, n: int, seed: int) -> Rows:
    """Draw rows: amounts, labeled scores of one or two models, or two columns."""
    rng, form = np.random.default_rng(seed), _SHAPES[shape]
    if kind == "amounts":  # not negative, for Gini's coefficient
        return {"data": np.abs(form(3 + rng.normal(size=n)))}
    if kind == "one":
        return {"data": form(rng.normal(size=n))}
    if kind == "columns":
        shared = rng.normal(size=n)
        return {"data": np.column_stack([form(shared + rng.normal(size=n)) for _ in range(2)])}
    labels = (rng.random(n) < POSITIVES).astype(float)
    shared = rng.normal(size=n) + SHIFT * labels
    if kind == "scores":
        return {"data": form(shared), "labels": labels}
    models = [form(shared + noise * rng.normal(size=n)) for noise in (0.5, 0.8)]
    return {"data": np.column_stack(models), "labels": labels}


def _kernel(name: str) -> Callable[[Rows, float | None], Any]:
    return lambda rows, level: pg.exact(
        rows["data"], name, labels=rows.get("labels"), interval=level
    )


_STATISTICS: dict[str, tuple[str, Callable[[Rows, float | None], Any]]] = {
    "gini": ("one", _kernel("gini")),
    "gini-coefficient": ("amounts", _kernel("gini-coefficient")),
    "auc": ("scores", _kernel("auc")),
    "auc-difference": ("models", _kernel("auc-difference")),
    "kendall-b": ("columns", _kernel("kendall-b")),
    "somers-d": ("columns", _kernel("somers-d")),
    "median": ("one", lambda rows, level: pg.quantile(rows["data"], 0.5, interval=level)),
    "trimmed mean": ("one", lambda rows, level: pg.trimmed_mean(rows["data"], 0.1, interval=level)),
    "Hodges-Lehmann": ("one", lambda rows, level: pg.hodges_lehmann(rows["data"], interval=level)),
}


def cover() -> None:
    """Print for every statistic, distribution and size how often the interval holds the truth."""
    print(f"coverage of {LEVEL:.0%} intervals, {SAMPLES:,} samples each (standard error 0.7 %)")
    print(f"{'':20}{'':12}" + "".join(f"{f'n = {n:,}':>12}" for n in SIZES))
    for name, (kind, compute) in _STATISTICS.items():
        for shape in _SHAPES:
            truth = float(compute(_draw(shape, kind, LARGE, LARGE), None))
            cells = [_covered(compute, shape, kind, n, truth) for n in SIZES]
            print(f"{name:20}{shape:12}" + "".join(cells), flush=True)


def _covered(
    compute: Callable[[Rows, float | None], Any], shape: str, kind: str, n: int, truth: float
) -> str:
    held = refused = 0
    for seed in range(SAMPLES):
        try:
            answer = compute(_draw(shape, kind, n, seed), LEVEL)
        except pg.InputError:
            refused += 1
            continue
        held += answer.low <= truth <= answer.high
    share = held / max(1, SAMPLES - refused)
    mark = "" if n < 200 or LIMITS[0] <= share <= LIMITS[1] else " !"
    note = f" ({refused})" if refused else ""
    return f"{f'{100 * share:.1f} %{note}{mark}':>12}"


def gossip() -> None:
    """Print nodes' standard errors over the exact one: mean over nodes and trials, and spread."""
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
    """Print how p-values are spread where there is no effect: type I error and uniformity."""
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


_PARTS = {"coverage": cover, "gossip": gossip, "null": null, "speed": speed}


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
