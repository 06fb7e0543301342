"""How much memory a large simulation takes, measured in a process of its own.

Run with ``python -m benchmarks.memory``.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys

MEASURE = """
import resource, sys, time
import numpy as np
import pairgossip as pg
n, iterations = int(sys.argv[1]), int(sys.argv[2])
data = np.random.default_rng(0).normal(size=n)
start = time.perf_counter()
graph = pg.graphs.random_regular(n, 4, seed=0)
built = time.perf_counter()
run = pg.estimate(data, "gini", graph, iterations=iterations, record="summary", seed=0)
done = time.perf_counter()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(f"{n:>12,} nodes, {iterations:>12,} iterations: peak {peak:,.0f} MB, "
      f"graph {built - start:.1f} s, run {done - built:.1f} s, "
      f"{(done - built) / iterations * 1e9:.0f} ns per iteration, error {run.error[-1]:.3g}")
"""


def main() -> None:
    """Print peak memory for growing networks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--iterations-per-node", type=int, default=20)
    chosen = parser.parse_args()
    print('Peak memory, random 4-regular, record="summary" (goal at 1,000,000: under 500 MB)')
    for n in chosen.nodes:
        steps = str(n * chosen.iterations_per_node)
        subprocess.run([sys.executable, "-c", MEASURE, str(n), steps], check=True)
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"largest child as the operating system saw it: {children:,.0f} MB")


if __name__ == "__main__":
    main()
