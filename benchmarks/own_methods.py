"""How fast a user's own methods are: compiled, as written, and compared with built-in ones.

The code of docs/add-an-algorithm.md is run as written there.
Run with ``python -m benchmarks.own_methods``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import alternate, only_help, row
from pairgossip import estimate, graphs
from pairgossip.algorithms.methods import find_method
from pairgossip.engine.estimation.building import build_engine
from pairgossip.engine.estimation.engine import Procedure
from pairgossip.engine.schedule import Schedule, root_seed
from pairgossip.engine.trials import BLOCK
from pairgossip.graphs import Graph
from pairgossip.kernels import Pairs
from pairgossip.kernels.problem import Means

GUIDE = Path(__file__).parents[1] / "docs" / "add-an-algorithm.md"
ROUNDS = 5


def follow_the_guide() -> None:
    """Register the methods of the guide, as a script with copies of its first blocks would."""
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    for code in (code for code in blocks if "InPlace(" in code):
        exec(compile(code, str(GUIDE), "exec"), names)


def loop(
    engine: str, method: str, graph: Graph, iterations: int, built_in: str | None = None
) -> Callable[[], object]:
    """Return a run of a method, including draws."""
    x = np.random.default_rng(0).normal(size=graph.n)
    how = Procedure(find_method(built_in or method, "async"), "async")
    problem: Pairs | Means = Means(x) if method == "push-sum" else Pairs(x, "gini")

    def work() -> object:
        schedule = Schedule(graph, "uniform-edges", root_seed(0))
        running = build_engine(engine, problem, how)
        for start in range(0, iterations, BLOCK):
            running.advance(schedule.draw(min(BLOCK, iterations - start)))
        return running.estimates()

    return work


def compare(method: str, built_in: str, n: int) -> None:
    """Print a method's speedup by compilation, and how much slower it is than a built-in."""
    graph, many, few = graphs.watts_strogatz(n, k=4, p=0.3, seed=0), 1 << 21, 1 << 13
    own, theirs, plain = alternate(
        loop("auto", method, graph, many),
        loop("auto", method, graph, many, built_in),
        loop("plain", method, graph, few),
        rounds=ROUNDS,
    )
    own, theirs, plain = own / many, theirs / many, plain / few
    times = f"{own * 1e9:.1f} ns", f"{theirs * 1e9:.1f} ns"
    print(row(f"{method} and {built_in}, {n:,} nodes", *times, f"{own / theirs:.2f} x", "3 x"))
    times = f"{own * 1e9:.1f} ns", f"{plain * 1e6:.1f} us"
    what = f"{method} compiled and as written, {n:,} nodes"
    print(row(what, *times, f"{plain / own:,.0f} x", "100 x"))
    one, other = (np.asarray(loop(engine, method, graph, few)()) for engine in ("auto", "plain"))
    print(row("  largest difference of estimates", f"{np.abs(one - other).max():.1e}"))


def whole_run(method: str, built_in: str) -> None:
    """Print the time of `estimate` on 100 nodes, 20 trials and 10,000 iterations."""
    x, kernel = np.random.default_rng(0).normal(size=100), None if method == "push-sum" else "gini"
    how: dict[str, Any] = {"clock": "async", "trials": 20, "iterations": 10_000, "seed": 0}

    def run(name: str) -> Callable[[], object]:
        return lambda: estimate(x, kernel, "complete", method=name, **how)

    own, theirs = alternate(run(method), run(built_in), rounds=ROUNDS)
    times = f"{own:.3f} s", f"{theirs:.3f} s"
    print(row(f"{method} and {built_in}, estimate", *times, f"{own / theirs:.2f} x", "3 x"))


def main() -> None:
    """Print the table."""
    only_help(__doc__)
    follow_the_guide()
    print(row("own method and built-in one", "own", "other", "ratio", "goal"))
    for method, built_in in (("momentum-gosta", "gosta"), ("push-sum", "averaging")):
        for n in (676, 100_000):
            compare(method, built_in, n)
        whole_run(method, built_in)


if __name__ == "__main__":
    main()
