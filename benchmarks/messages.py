"""Costs of gossip: exchanges to a precision, errors of sketches, speed and memory of averaging.

Run with ``python -m benchmarks.messages``; name parts to run only these. Every setting was fixed
before the first run. Rows are drawn with seed 0, graphs with seed 0, runs have seed 1. "Exchanges
to eps" are counted at the first checkpoint from which the root mean square error over nodes and
trials stays below eps times the statistic; checkpoints are at most 5 % apart. Declared ranges are
wider than the rows, (-6, 6) of normal and (0, 12) of exponential ones. Sketches are compared with
GoSta on normal, exponential, lognormal and Student-3 rows; the tails of the last two have no end
that one could declare, so their ranges are only flooded. All laws but the normal one were added
later, and their settings fixed, before any of them was run. The errors of sketches are the largest
of 20 samples of 676 rows each, and of all columns of an embedded data set.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import pairgossip as pg
from benchmarks import transcription
from benchmarks.timing import alternate
from pairgossip.engine.estimation.building import build_engine
from pairgossip.engine.estimation.engine import Procedure
from pairgossip.engine.schedule import Schedule, root_seed
from pairgossip.engine.trials import BLOCK
from pairgossip.graphs import Graph
from pairgossip.kernels import Pairs
from pairgossip.kernels.problem import Averages
from pairgossip.sketches.problem import SketchedPairs

Array = transcription.Array

SEED, ROWS_SEED = 1, 0
RANGES = {"normal": (-6.0, 6.0), "exponential": (0.0, 12.0)}
LEVELS = {0.01: 8, 0.001: 40}
"""Goals: by error, how many times fewer exchanges than GoSta-async a sketch should take."""
LONG, SHORT = 10_000_000, 3_000_000
"""Exchanges of runs of GoSta-async, down to 0.1 % (of normal rows) and to 1 %."""
SKETCHED = 100_000
POSITIVES, SHIFT = 0.35, 1.2
SAMPLES, SIZE = 20, 676
NUMBERS = 31

DRAWS: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "lognormal": lambda rng, n: rng.lognormal(size=n),
    "Student-3": lambda rng, n: rng.standard_t(3, size=n),
}


def draw(rows: str, n: int, seed: int = ROWS_SEED) -> Array:
    """Draw one number per node."""
    return DRAWS[rows](np.random.default_rng(seed), n)


def draw_classes(rows: str, n: int, seed: int = ROWS_SEED) -> tuple[Array, Array]:
    """Draw scores; the 35 % that belong to positives are shifted."""
    labels = (np.random.default_rng([seed, 1]).permutation(n) < POSITIVES * n).astype(float)
    return draw(rows, n, seed) + SHIFT * labels, labels


def users_kernel(first: Array, second: Array) -> Array:
    """Return the values of a kernel of a user's own."""
    return np.log1p(np.abs(first - second))


GRAPHS: dict[str, Callable[[], Graph]] = {
    "torus 26x26": lambda: pg.graphs.torus(26, 26),
    "WS(676, 4, .3)": lambda: pg.graphs.watts_strogatz(676, 4, 0.3, seed=0),
    "grid 20x30": lambda: pg.graphs.grid(20, 30),
    "cycle 100": lambda: pg.graphs.cycle(100),
}


def run(graph: Graph, last: int, trials: int, **how: Any) -> pg.Run:
    """Run an estimation with checkpoints 5 % apart."""
    grid = np.unique(np.rint(np.geomspace(100, last, int(np.log(last / 100) / 0.048))).astype(int))
    return pg.estimate(
        graph=graph, iterations=last, checkpoints=grid, trials=trials, seed=SEED,
        record="summary", progress=False, **how,
    )  # fmt: skip


def errors(found: pg.Run) -> Array:
    """Return relative errors; infinite while nodes of some trial still have no estimate."""
    unknown = np.isnan(found.trial_error).any(axis=0)
    return np.where(unknown, np.inf, found.error / abs(float(found.target)))


def needed(found: pg.Run, level: float) -> float | None:
    """Return the exchanges after which the error stays below a level; None if it does not."""
    above = np.flatnonzero(~(errors(found) < level))
    if not len(above):
        return float(found.exchanges[0])
    return None if above[-1] + 1 == len(found.exchanges) else float(found.exchanges[above[-1] + 1])


def line(*cells: str) -> None:
    """Print one line of a table."""
    widths = (16, 22, 26, 12, 12, 10, 8)
    print("  ".join(c.ljust(w) for c, w in zip(cells, widths, strict=False)).rstrip(), flush=True)


def compare(
    where: tuple[str, str, str], ours: pg.Run, gosta: pg.Run, level: float, goal: float
) -> None:
    """Print how many times fewer exchanges a method takes."""
    mine, theirs = needed(ours, level), needed(gosta, level)
    if mine is None:
        line(*where, "not reached", "", f"{errors(ours)[-1]:.2%} left", f"{goal:g} x  MISSED")
        return
    reached = theirs is not None
    least = theirs if theirs is not None else float(gosta.exchanges[-1])
    sign = "" if reached else "> "
    verdict = "" if least / mine >= goal else "  MISSED"
    line(
        *where,
        f"{mine:,.0f}",
        f"{sign}{least:,.0f}",
        f"{sign}{least / mine:.1f} x",
        f"{goal:g} x{verdict}",
    )


def sketches(kernel: str, level: float, rows: str) -> dict[str, Any]:
    """Return the sketches of a kernel, by how nodes learn the range of rows."""
    if kernel == "variance":
        return {"exact moments": None}
    bins = 32 if kernel == "auc" and level < 0.01 else 16
    found = {f"{bins} bins, flooded": pg.sketches.Bins(bins)}
    if rows in RANGES:
        found[f"{bins} bins, declared"] = pg.sketches.Bins(bins, range=RANGES[rows])
    return found


def draw_for(kernel: str, rows: str, n: int) -> dict[str, Any]:
    """Draw the data that a kernel is estimated from."""
    if kernel != "auc":
        return {"kernel": kernel, "data": draw(rows, n)}
    scores, labels = draw_classes(rows, n)
    return {"kernel": kernel, "data": scores, "labels": labels}


def sketched_exchanges(trials: int) -> None:
    """Compare sketches along sweeps with GoSta-async."""
    for graph_name in [name for name in GRAPHS if name.startswith(("torus", "WS"))]:
        print(f"\nExchanges to an error, sketch + ordered against GoSta-async, {graph_name}")
        line("rows", "kernel, error", "sketch", "ours", "GoSta", "ratio", "goal")
        for rows in DRAWS:
            for kernel in ("gini", "auc", "variance"):
                compare_sketches(GRAPHS[graph_name](), rows, kernel, trials)


def compare_sketches(graph: Graph, rows: str, kernel: str, trials: int) -> None:
    """Compare all sketches of a kernel with one run of GoSta-async."""
    given, last = draw_for(kernel, rows, graph.n), LONG if rows == "normal" else SHORT
    gosta = run(graph, last, trials, method="gosta", clock="async", **given)
    for level, goal in LEVELS.items():
        for name, sketch in sketches(kernel, level, rows).items():
            how = {"method": "sketch", "schedule": "ordered", "sketch": sketch}
            ours = run(graph, SKETCHED, trials, **how, **given)
            compare((rows, f"{kernel}, {level:.1%}", name), ours, gosta, level, goal)


def tracked_exchanges(trials: int) -> None:
    """Compare tracking along sweeps with GoSta-async."""
    print("\nExchanges to 1 %, tracking + ordered against GoSta-async")
    line("graph", "kernel", "rows", "ours", "GoSta", "ratio", "goal")
    for graph_name, build in GRAPHS.items():
        graph, goal = build(), 2 if graph_name.startswith("WS") else 3
        for kernel in ("gini", users_kernel):
            for rows in ("normal", "exponential"):
                how = {"data": draw(rows, graph.n), "kernel": kernel}
                gosta = run(graph, SHORT, trials, method="gosta", clock="async", **how)
                ours = run(graph, SHORT // 3, trials, method="tracking", schedule="ordered", **how)
                name = kernel if isinstance(kernel, str) else "log(1 + |x - y|)"
                compare((graph_name, name, rows), ours, gosta, 0.01, goal)


def tree_messages(trials: int) -> None:
    """Check how many messages a sketch takes along a tree."""
    print("\nSketch + tree: messages, and the largest error of a node beside that of the sketch")
    line("graph", "kernel", "sketch", "messages", "2n - 2", "error", "sketch's")
    for graph_name, build in GRAPHS.items():
        graph = build()
        for kernel in ("gini", "auc", "variance"):
            rows = draw_for(kernel, "normal", graph.n)
            for name, sketch in sketches(kernel, 0.01, "normal").items():
                found = pg.estimate(
                    graph=graph,
                    method="sketch",
                    schedule="tree",
                    sketch=sketch,
                    seed=SEED,
                    progress=False,
                    **rows,
                )
                worst = np.abs(found.estimates / found.target - 1).max()
                alone = (found.sketch_error or 0.0) / abs(float(found.target))
                line(
                    graph_name,
                    kernel,
                    name,
                    f"{found.messages[-1]:,}",
                    f"{2 * graph.n - 2:,}",
                    f"{worst:.2e}",
                    f"{alone:.2e}",
                )


def samples() -> Iterator[tuple[str, list[Array], list[tuple[Array, Array]]]]:
    """Yield every data set with its columns, and with its columns and two classes."""
    for rows in DRAWS:
        yield (
            rows,
            [draw(rows, SIZE, seed) for seed in range(SAMPLES)],
            [draw_classes(rows, SIZE, seed) for seed in range(SAMPLES)],
        )
    engel = pg.datasets.engel()
    income, food = engel["income"], engel["foodexp"]
    rich = (income > np.median(income)).astype(float)
    yield "Engel", [income, food], [(food, rich)]
    for name in ("breast_cancer_wisconsin", "wine", "digits"):
        table, classes = getattr(pg.datasets, name)()
        columns = [np.asarray(c, dtype=float) for c in table.T if np.ptp(c) > 0]
        first = (classes == np.unique(classes)[0]).astype(float)
        yield name, columns, [(column, first) for column in columns]


def off(data: Array, kernel: str, labels: Array | None = None) -> float:
    """Return the relative error of a kernel's default sketch, averaged exactly."""
    problem = SketchedPairs(Pairs(data, kernel, "v", labels), None, None)
    return abs(problem.limit / problem.exact() - 1)


def sketch_errors(trials: int) -> None:
    """Print the error that remains when sketches are averaged exactly."""
    print("\nLargest relative error of a sketch, exactly averaged (median in parentheses)")
    cells = ("gini, 16 bins", "auc, 16 bins", "variance")
    line("rows", *cells)
    for name, columns, classes in samples():
        found = [
            [off(data, "gini") for data in columns],
            [off(data, "auc", labels) for data, labels in classes],
            [off(data, "variance") for data in columns],
        ]
        shown = [f"{max(f):.1e} ({np.median(f):.1e})" for f in found]
        missed = [
            c for c, f, goal in zip(cells, found, (1e-3, 2e-3, 1e-12), strict=True) if max(f) > goal
        ]
        line(name[:16], *shown, f"MISSED {missed}" if missed else "")
    line("goal", "1e-03", "2e-03", "1e-12")


class Columns(Averages):
    """Numbers to average, any number per node."""

    def __init__(self, features: Array) -> None:
        self.data = features
        self.average(features)


def compiled(graph: Graph, features: Array, schedule: str, exchanges: int) -> Callable[[], object]:
    """Return a run of the engine, with draws and a readout at the end."""
    from pairgossip.algorithms.methods import find_method
    from pairgossip.engine.timetable import settle_timetable

    method, problem = find_method("averaging", "sync"), Columns(features)
    table = settle_timetable(schedule, graph, "uniform-edges", method)

    def work() -> object:
        turns: Schedule = table.start(graph, "uniform-edges", root_seed(0), 1)
        engine = build_engine("auto", problem, Procedure(method, "sync", timetable=table))
        for _ in range(exchanges // BLOCK):
            engine.advance(turns.draw(BLOCK))
        return engine.estimates()

    return work


def averaging_speed(trials: int) -> None:
    """Time averaging against its transcription, of 31 numbers and of one."""
    print("\nAveraging, time per exchange on WS(699, 4, .3)")
    line("numbers", "schedule", "transcription", "engine", "ratio", "goal")
    graph, steps, exchanges = pg.graphs.watts_strogatz(699, 4, 0.3, seed=0), 20_000, 1 << 20
    edges = graph.edges.tolist()
    for numbers, schedule in ((1, "random"), (NUMBERS, "random"), (NUMBERS, "ordered")):
        features = np.random.default_rng(0).normal(size=(graph.n, numbers))

        def plain(features: Array = features) -> object:
            return transcription.averaging(features, edges, steps, np.random.default_rng(0))

        slow, fast = alternate(plain, compiled(graph, features, schedule, exchanges), rounds=7)
        each, ours = f"{slow / steps * 1e6:.2f} us", f"{fast / exchanges * 1e9:.1f} ns"
        ratio = f"{slow / steps / (fast / exchanges):.0f} x"
        line(str(numbers), schedule, each, ours, ratio, "50 x" if numbers > 1 else "")


MILLION = """
import resource, sys, time
import numpy as np
import pairgossip as pg
side, numbers, sweeps = 1000, 31, 5

class Cosines:
    def features(self, rows):
        return np.cos(np.outer(rows, np.arange(1, numbers + 1) * 0.1))
    def readout(self, mean):
        return mean[..., 0]

rows = np.random.default_rng(0).normal(size=side * side)
start = time.perf_counter()
graph = pg.graphs.torus(side, side)
pg.estimate(rows[:100], "gini", pg.graphs.torus(10, 10), method="sketch", schedule="ordered",
            sketch=Cosines(), seed=0, progress=False)  # compiles
built = time.perf_counter()
exchanges = sweeps * graph.edge_count
grid = [k * graph.edge_count for k in range(1, sweeps + 1)]
run = pg.estimate(rows, "gini", graph, method="sketch", schedule="ordered", sketch=Cosines(),
                  iterations=exchanges, checkpoints=grid, record="summary", seed=0, progress=False)
done = time.perf_counter()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
spread = ", ".join(f"{value:.2e}" for value in run.spread)
print(f"{graph.n:,} nodes with {numbers} numbers each, {sweeps} sweeps of {graph.edge_count:,} "
      f"exchanges: {done - built:.1f} s in all (graph {built - start:.1f} s), peak {peak:,.0f} MB; "
      f"spread over nodes after each sweep {spread}")
"""


def million_nodes(trials: int) -> None:
    """Average on a million nodes, in a process of its own."""
    print("\nA million nodes", flush=True)
    subprocess.run([sys.executable, "-c", MILLION], check=True)


PARTS: dict[str, Callable[[int], None]] = {
    "sketch": sketched_exchanges,
    "tracking": tracked_exchanges,
    "tree": tree_messages,
    "errors": sketch_errors,
    "speed": averaging_speed,
    "million": million_nodes,
}


def main() -> None:
    """Print the tables of all parts, or of those named."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "parts", nargs="*", choices=[*PARTS, []], metavar="part", help=", ".join(PARTS)
    )
    parser.add_argument("--trials", type=int, default=20, help="of every run (default %(default)s)")
    parser.add_argument("--graph", default="", help="only graphs whose name begins so")
    chosen = parser.parse_args()
    for name in [name for name in GRAPHS if not name.startswith(chosen.graph)]:
        del GRAPHS[name]
    warnings.simplefilter("error", pg.SlowSchedule)
    for name in chosen.parts or PARTS:
        start = time.perf_counter()
        PARTS[name](chosen.trials)
        print(f"({name}: {time.perf_counter() - start:.0f} s, {chosen.trials} trials)", flush=True)


if __name__ == "__main__":
    main()
