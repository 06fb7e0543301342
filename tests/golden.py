"""Seeded runs whose results are recorded bit for bit, so that no redesign changes them unnoticed.

``python -m tests.golden`` records them again; with ``exchanges``, only those of peers. Do so only
if a change is intended.
"""

from __future__ import annotations

import hashlib
import json
import platform
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy._core._multiarray_umath import __cpu_features__  # type: ignore[import-not-found]

import pairgossip as pg
from pairgossip.arrays import FloatArray
from pairgossip.losses import CATALOG, MARGINS
from pairgossip.privacy import RandomizedResponse
from tests.peer.golden import SCRIPTS, play
from tests.problems import labeled_rows, rows, skewed

FILE = Path(__file__).with_name("golden.json")
N = 12
GRAPH = pg.graphs.watts_strogatz(N, 4, 0.3, seed=3)
SITES = pg.graphs.path(4)
GROUPS = {"equal": np.arange(N) % 4, "unequal": np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3])}
CONSTRUCTIONS = ("lexicographic", "blow-up", "whole-sets")
LAWS = ("uniform-edges", "node-clocks")
VARIANTS: list[dict[str, Any]] = [
    {"method": "gosta", "clock": "sync", "order": "update-first"},
    {"method": "gosta", "clock": "sync", "order": "exchange-first"},
    {"method": "gosta", "clock": "async"},
    {"method": "weighted-gosta", "clock": "async"},
    {"method": "u1", "clock": "sync"},
    {"method": "u2", "clock": "sync"},
    {"method": "averaging", "clock": "sync"},
    {"method": "averaging", "clock": "async"},
]
REPORTS = RandomizedResponse(2.0, 4, (0, 12))
ROUNDED = RandomizedResponse(2.0, 3, (0, 12), rounding="stochastic")
LABELED = RandomizedResponse(4.0, 3, (0, 12), classes=(0, 1))
LARGER = 41
"""Number of nodes from which compiled sums judge all pairs, where there is no closed form."""
LIMITS: dict[str, dict[str, Any]] = {
    "none": {},
    "ball": {"constraint": pg.Ball(0.5)},
    "box": {"constraint": pg.Box(-0.2, 0.3)},
    "l1": {"penalty": pg.L1(0.01)},
    "l2 and ball": {"penalty": pg.SquaredL2(0.1), "constraint": pg.Ball(1.0)},
}

Case = tuple[str, Callable[[], FloatArray]]


def cases() -> Iterator[Case]:
    """Yield all recorded runs: a name, and a function that computes the numbers."""
    yield from _estimations()
    yield from _grouped_and_private_estimations()
    yield from _descents()
    yield from _special_descents()
    yield from _larger_descents()
    yield from _adaptive_descents()


def _estimations() -> Iterator[Case]:
    for variant in VARIANTS:
        kernels: list[Any] = [None] if variant["method"] == "averaging" else ["gini", skewed]
        for kernel in kernels:
            for law in LAWS:
                for engine in ("plain", "auto") if kernel is None else _engines(kernel):
                    options = {**variant, "law": law, "engine": engine}
                    yield _estimation(kernel, rows(N), options, graph=GRAPH)
    for kernel in ("auc", "ranking-risk", "kendall", "concordance", "within-cluster-scatter"):
        for target in ("v", "u"):
            data = rows(N, 2) if kernel == "kendall" else labeled_rows(N, 2)
            if kernel in ("auc", "ranking-risk"):
                data = labeled_rows(N)
            yield _estimation(kernel, data, {"target": target}, graph=GRAPH)


def _engines(kernel: Any) -> tuple[str, ...]:
    return ("plain", "tokens", "fused") if isinstance(kernel, str) else ("plain", "tokens")


def _grouped_and_private_estimations() -> Iterator[Case]:
    for variant in VARIANTS:
        kernel = None if variant["method"] == "averaging" else "gini"
        is_private = variant["method"] != "u1"  # which is refused with privacy
        for size, groups in GROUPS.items():
            for construction in CONSTRUCTIONS:
                if construction == "whole-sets" and variant["method"] in ("u1", "averaging"):
                    continue  # refused
                place = {"groups": groups, "construction": construction}
                yield _estimation(kernel, rows(N), {**variant, **place}, f" {size}", graph=SITES)
                if size == "unequal" and kernel is not None and is_private:
                    yield _estimation(
                        kernel, rows(N), {**variant, **place, "privacy": REPORTS}, graph=SITES
                    )
        for privacy in (REPORTS, ROUNDED) if is_private else ():
            yield _estimation(kernel, rows(N), {**variant, "privacy": privacy}, graph=GRAPH)


def _estimation(
    kernel: Any, data: FloatArray, options: dict[str, Any], remark: str = "", *, graph: pg.Graph
) -> Case:
    def numbers() -> FloatArray:
        run = pg.estimate(
            data, kernel, graph, iterations=300, trials=2, seed=5, n_jobs=1, **options
        )
        curves = (run.history, run.trial_error, run.times)
        return np.concatenate([np.ravel(one) for one in curves if one is not None])

    name = kernel if isinstance(kernel, str) or kernel is None else "own"
    return f"estimate {name} {_described(options)}{remark}", numbers


def _descents() -> Iterator[Case]:
    for loss in CATALOG:
        for clock in ("sync", "async"):
            for engine in ("auto", "vectors", "plain"):
                yield _descent(loss, {"clock": clock, "engine": engine})
    for limit, options in LIMITS.items():
        for clock in ("sync", "async"):
            for law in LAWS:
                yield _descent("auc-logistic", {"clock": clock, "law": law, **options}, limit)


def _special_descents() -> Iterator[Case]:
    own = pg.Loss(lambda first, second: first[:, :2] - second[:, :2], "logistic", name="own")
    step = {"step": pg.steps.inverse_sqrt(0.3)}
    for clock in ("sync", "async"):
        yield _descent(own, {"clock": clock, **step})
        yield _descent("metric-hinge", {"clock": clock, "constraint": pg.PSD(1.0)}, "psd")
        for size, groups in GROUPS.items():
            for construction in CONSTRUCTIONS:
                place = {"groups": groups, "construction": construction, "clock": clock}
                yield _descent("auc-logistic", {**place, **step}, size, graph=SITES)
        yield _descent(
            "auc-logistic", {"clock": clock, "privacy": LABELED, **step}, "private", columns=1
        )


def _larger_descents() -> Iterator[Case]:
    graph = pg.graphs.watts_strogatz(LARGER, 4, 0.3, seed=3)
    for phi in MARGINS:
        own = pg.Loss(lambda first, second: first[:, :2] - second[:, :2], phi, name=f"own {phi}")
        yield _descent(own, {"clock": "sync"}, f"n={LARGER}", graph, n=LARGER)


def _adaptive_descents() -> Iterator[Case]:
    step = {"step": pg.steps.adaptive()}
    for clock in ("sync", "async"):
        for loss in ("auc-logistic", "ranking-hinge", "metric-diagonal-logistic"):
            for engine in ("auto", "plain"):
                yield _descent(loss, {"clock": clock, "engine": engine, **step}, "adaptive")
        for limit, options in LIMITS.items():
            yield _descent("auc-logistic", {"clock": clock, **options, **step}, f"adaptive {limit}")


def _descent(
    loss: Any,
    options: dict[str, Any],
    remark: str = "",
    graph: pg.Graph = GRAPH,
    columns: int = 2,
    n: int = N,
) -> Case:
    def numbers() -> FloatArray:
        fit = pg.minimize(
            rows(n, 2)[:, :columns], np.arange(n) % 2, loss, graph, iterations=200, trials=2,
            seed=5, n_jobs=1, **{"step": pg.steps.inverse_sqrt(0.05), **options},
        )  # fmt: skip
        bias = () if fit.bias is None else (fit.bias.gradient, fit.bias.network_model)
        found = (fit.models, fit.trial_objective, fit.trial_disagreement, fit.state.z, *bias)
        return np.concatenate([np.ravel(one) for one in found])

    name = loss if isinstance(loss, str) else loss.name
    return f"minimize {name} {_described(options)} {remark}".rstrip(), numbers


def _described(options: dict[str, Any]) -> str:
    told = {
        name: "rounded" if value is ROUNDED else "reports" if name == "privacy" else value
        for name, value in options.items()
        if isinstance(value, str) or name == "privacy"
    }
    return " ".join(f"{name}={value}" for name, value in told.items())


def machine() -> str:
    """Return what the last bits may depend on: the processor, and the code compiled for it."""
    features = "".join(name for name, has in sorted(__cpu_features__.items()) if has)
    short = hashlib.sha256(features.encode()).hexdigest()[:8]
    return f"{platform.machine()} {short} numpy {np.__version__} numba {version('numba')}"


def digest(numbers: FloatArray) -> str:
    """Return a short digest of all bits of an array."""
    return hashlib.sha256(np.ascontiguousarray(numbers).tobytes()).hexdigest()[:16]


def outline(numbers: FloatArray) -> list[float]:
    """Return a few numbers by which results are compared on other kinds of machines."""
    known = numbers[np.isfinite(numbers)]  # an early ratio may be 0/0
    return [float(known.mean()), float(np.abs(known).mean()), float(known[len(known) // 3])]


def record(only: Collection[str] = ()) -> None:
    """Record all results, or the named parts; the others stay as they were recorded."""
    parts = json.loads(FILE.read_text())
    where = parts.pop("machine")
    if "results" in only or not only:
        parts["results"], where = _results(), machine()
    if "exchanges" in only or not only:
        parts["exchanges"] = {name: exchange(name) for name in SCRIPTS}
    listed = ", ".join(f'"{part}": {{\n{_lines(found)}\n}}' for part, found in parts.items())
    FILE.write_text(f'{{"machine": {json.dumps(where)}, {listed}}}\n')


def _results() -> dict[str, Any]:
    results: dict[str, Any] = {}
    for name, numbers in cases():
        assert name not in results, name
        found = numbers()
        results[name] = {"bits": digest(found), "outline": outline(found)}
    return results


def exchange(name: str) -> dict[str, Any]:
    """Return the frames and rows of a scripted exchange of peers."""
    with tempfile.TemporaryDirectory() as folder:
        return play(name, Path(folder))


def _lines(found: dict[str, Any]) -> str:
    return ",\n".join(f" {json.dumps(name)}: {json.dumps(one)}" for name, one in found.items())


if __name__ == "__main__":
    record(sys.argv[1:])
