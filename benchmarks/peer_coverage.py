"""Print how often a peer's interval holds the exact value, on simulated networks.

    python -m benchmarks.peer_coverage --runs 50

Each run has new data and new chance; four peers of each are asked at every length. "given" is the
share of peers that gave an interval, "covers" the share of those that hold the exact value (95 % is
aimed at), "half-width" its median and "error" the root mean square, both relative to the value.
"""

from __future__ import annotations

import argparse

from tests.peer.coverage import coverage

CASES = (
    ("complete", 16, "gini"),
    ("complete", 128, "variance"),
    ("watts-strogatz", 64, "gini"),
    ("watts-strogatz", 64, "auc"),
    ("torus", 64, "variance"),
    ("star", 16, "gini"),
    ("cycle", 32, "gini"),
    ("path", 16, "auc"),
    ("cycle", 128, "variance"),
)
LENGTHS = (64, 256, 1024, 4096)


def main() -> None:
    """Print one line for each graph, kernel and length."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--mixing", choices=("weighted", "paper"), default="weighted")
    parser.add_argument("--longest", type=int, default=4096)
    options = parser.parse_args()
    lengths = [length for length in LENGTHS if length <= options.longest]
    print(f"{'graph':<20}{'kernel':<10}{'exchanges':>10}{'given':>8}{'covers':>8}"
          f"{'half-width':>12}{'error':>9}")  # fmt: skip
    for graph, n, kernel in CASES:
        for entry in coverage(graph, n, kernel, lengths, options.runs, mixing=options.mixing):
            line = f"{graph + ' ' + str(n):<20}{kernel:<10}{entry.exchanges:>10}{entry.given:>8.0%}"
            if entry.hits:
                width = sorted(entry.widths)[len(entry.widths) // 2]
                error = (sum(e * e for e in entry.errors) / len(entry.errors)) ** 0.5
                line += f"{entry.share:>8.1%}{width:>12.4f}{error:>9.4f}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
