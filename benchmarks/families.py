"""How long each family of graphs takes to build on a million nodes, with its default parameters.

Run with ``python -m benchmarks.families``.
"""

from __future__ import annotations

from functools import partial

from benchmarks.timing import only_help, seconds
from pairgossip.graphs import FAMILIES, build

NODES = 1_000_000


def main() -> None:
    """Print the seconds and the number of edges of every family."""
    only_help(__doc__)
    print(f"building {NODES:,} nodes")
    for name, family in FAMILIES.items():
        work = partial(build, name, NODES, seed=0 if family.is_random else None)
        print(f"  {name:<18} {seconds(work):6.2f} s  {work().edge_count:>15,} edges")


if __name__ == "__main__":
    main()
