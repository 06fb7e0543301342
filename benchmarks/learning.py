"""How well learning by gossip learns: losses at equal exchanges, side by side in one run.

Run with ``python -m benchmarks.learning``, or name a part: ``python -m benchmarks.learning
adaptive``. Settings were fixed before the data were seen.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize as scipy_minimize
from sklearn.datasets import load_breast_cancer, load_digits

from benchmarks.timing import row
from pairgossip import datasets, graphs
from pairgossip.losses import adaptive, inverse_sqrt
from pairgossip.minimization import minimize
from pairgossip.results.fit import Fit

Data = tuple[Any, Any]
LOSS = "auc-logistic"
PAPER = inverse_sqrt(1e-3)
"""The step of the paper's figures."""
SCALES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
UNITS = (1e-6, 1.0, 1e6)
EXCHANGES_PER_NODE = 150


def data_sets() -> dict[str, Data]:
    """Return three data sets with raw features: 699 x 9, 569 x 30 and 1,797 x 64."""
    digits = load_digits()
    return {
        "breast cancer Wisconsin": datasets.breast_cancer_wisconsin(),
        "breast cancer (diagnostic)": load_breast_cancer(return_X_y=True),
        "digit 3 against the rest": (digits.data, (digits.target == 3).astype(float)),
    }


def learn(data: Data, graph: Any, exchanges: int, step: Any = None, clock: str = "async") -> Fit:
    """Run one seeded trial, judged at its end and at a tenth."""
    return minimize(
        *data, LOSS, graph, clock=clock, iterations=exchanges, step=step, seed=0, bias=False,
        checkpoints=[exchanges // 10, exchanges], judged=100,
    )  # fmt: skip


def optimum(data: Data) -> float:
    """Return the lowest loss, all data in one place."""
    x, y = data
    high, low = x[y == 1], x[y == 0]

    def objective(theta: Any) -> tuple[float, Any]:
        margins = np.subtract.outer(high @ theta, low @ theta)
        slopes = -np.exp(-np.logaddexp(0.0, margins))
        gradient = slopes.sum(axis=1) @ high - slopes.sum(axis=0) @ low
        return float(np.logaddexp(0.0, -margins).sum()) / len(y) ** 2, gradient / len(y) ** 2

    return float(scipy_minimize(objective, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B").fun)


def against_the_paper() -> None:
    """Losses on Breast Cancer Wisconsin, 699 nodes, after 10^4 and 10^5 exchanges."""
    data = data_sets()["breast cancer Wisconsin"]
    print(row(f"Breast Cancer Wisconsin, optimum {optimum(data):.4f}", "10^4", "10^5", "goal"))
    for graph in (graphs.complete(699), graphs.watts_strogatz(699, 4, 0.3, seed=0)):
        for name, step, goal in (("paper's step", PAPER, ""), ("adaptive", None, ".006 .004")):
            early, late = learn(data, graph, 100_000, step).objective
            print(row(f"  {graph.family}, async, {name}", f"{early:.4f}", f"{late:.4f}", goal))


def against_other_units() -> None:
    """The largest relative difference of margins when one feature after the other is rescaled."""
    x, y = data_sets()["breast cancer Wisconsin"]
    print(row("\nrescaling any feature by 1e-6 or 1e6", "difference", "", "", "goal"))
    for clock, exchanges in (("async", 10_000), ("sync", 1_000)):
        plain = learn((x, y), "complete", exchanges, clock=clock).models[0]
        worst = 0.0
        for feature in range(x.shape[1]):
            for unit in (UNITS[0], UNITS[-1]):
                units = np.where(np.arange(x.shape[1]) == feature, unit, 1.0)
                scaled = learn((x * units, y), "complete", exchanges, clock=clock).models[0] * units
                worst = max(worst, float(np.abs(scaled - plain).max() / np.abs(plain).max()))
        print(row(f"  {clock}, {exchanges:,} exchanges", f"{worst:.0e}", "", "", "rounding"))


def against_other_constants() -> None:
    """The loss of the default constant over the best of a grid, raw features."""
    head = (f"c = {scale:g}".ljust(9) for scale in SCALES)
    print(
        "\n"
        + " ".join([f"{EXCHANGES_PER_NODE} exchanges per node, WS".ljust(36), *head, "4 / best"])
    )
    for name, (x, y) in data_sets().items():
        graph = graphs.watts_strogatz(len(y), 4, 0.3, seed=0)
        exchanges = EXCHANGES_PER_NODE * len(y)
        losses = [learn((x, y), graph, exchanges, adaptive(c)).objective[-1] for c in SCALES]
        ratio = losses[SCALES.index(4.0)] / min(losses)
        cells = (f"{loss:.5f}".ljust(9) for loss in losses)
        print(" ".join([f"  {name}".ljust(36), *cells, f"{ratio:.1f} x (goal 2.5 x)"]))


PARTS: dict[str, tuple[Callable[[], None], ...]] = {
    "adaptive": (against_the_paper, against_other_units, against_other_constants),
}


def main() -> None:
    """Print the tables of the parts asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"any of {', '.join(PARTS)}; all unless given")
    asked = parser.parse_args().parts or list(PARTS)
    warnings.simplefilter("ignore")
    for part in asked:
        for table in PARTS[part]:
            table()


if __name__ == "__main__":
    main()
