"""How well learning by gossip learns: losses at equal exchanges, side by side in one run.

Run with ``python -m benchmarks.learning``, or name a part: ``python -m benchmarks.learning
adaptive``. Settings were fixed before the data were seen, except for full metrics: to project
matrices at every update was chosen on iris and wine.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize as scipy_minimize
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
    make_classification,
)
from sklearn.model_selection import StratifiedShuffleSplit, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.timing import row
from pairgossip import datasets, graphs
from pairgossip.learn import GossipMetricLearner, GossipRanker
from pairgossip.losses import PSD, Box, adaptive, inverse_sqrt, risk
from pairgossip.losses.margins import MARGINS
from pairgossip.minimization import minimize
from pairgossip.results.fit import Fit
from pairgossip.solvers.scores import Agreement, ScoreRows, ScoreSketch

Data = tuple[Any, Any]
LOSS = "auc-logistic"
PAPER = inverse_sqrt(1e-3)
"""The step of the paper's figures."""
SCALES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
UNITS = (1e-6, 1e6)
EXCHANGES_PER_NODE = 150
GAPS = (1e-3, 1e-4, 1e-5, 1e-6)
RANGES = (0.9, 5.0, 20.0, 50.0)
METRIC_EXCHANGES = 500
"""Exchanges per node, the learner's default."""
STEPS = ("paper", "auto")
RANKING = "ranking-logistic"


def data_sets() -> dict[str, Data]:
    """Return three data sets with raw features, and three that were not used to choose constants.

    They are 699 x 9, 569 x 30 and 1,797 x 64; and 1,797 x 64, 178 x 13 and 2,000 x 12.
    """
    digits, wine = load_digits(), load_wine()
    rare = make_classification(
        2_000, 12, n_informative=6, n_redundant=2, weights=[0.95], flip_y=0.0, random_state=1
    )
    return {
        "breast cancer Wisconsin": datasets.breast_cancer_wisconsin(),
        "breast cancer (diagnostic)": load_breast_cancer(return_X_y=True),
        "digit 3 against the rest": (digits.data, (digits.target == 3).astype(float)),
        "held out: digit 8 against the rest": (digits.data, (digits.target == 8).astype(float)),
        "held out: wine 1 against the rest": (wine.data, (wine.target == 1).astype(float)),
        "held out: synthetic, 5 % positive": rare,
    }


def learn(data: Data, graph: Any, exchanges: int, step: Any = None, clock: str = "async") -> Fit:
    """Run one seeded trial, judged after a tenth of it and at its end."""
    return minimize(
        *data, LOSS, graph, clock=clock, iterations=exchanges, step=step, seed=0, bias=False,
        checkpoints=[exchanges // 10, exchanges], judged=100,
    )  # fmt: skip


def optimum(data: Data) -> float:
    """Return the lowest loss, with all data in one place."""
    x, y = data
    high, low = x[y == 1], x[y == 0]

    def objective(theta: Any) -> tuple[float, Any]:
        margins = np.subtract.outer(high @ theta, low @ theta)
        slopes = -np.exp(-np.logaddexp(0.0, margins))
        gradient = slopes.sum(axis=1) @ high - slopes.sum(axis=0) @ low
        return float(np.logaddexp(0.0, -margins).sum()) / len(y) ** 2, gradient / len(y) ** 2

    exact: Any = {"ftol": 1e-15, "gtol": 1e-12, "maxiter": 10_000, "maxfun": 20_000}
    found = scipy_minimize(
        objective, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B", options=exact
    )
    return float(found.fun)


def against_the_paper() -> None:
    """Print losses on Breast Cancer Wisconsin, 699 nodes, after 10^4 and 10^5 exchanges."""
    data = data_sets()["breast cancer Wisconsin"]
    print(row(f"Breast Cancer Wisconsin, optimum {optimum(data):.4f}", "10^4", "10^5", "goal"))
    for graph in (graphs.complete(699), graphs.watts_strogatz(699, 4, 0.3, seed=0)):
        for name, step, goal in (("paper's step", PAPER, ""), ("adaptive", None, ".006 .004")):
            early, late = learn(data, graph, 100_000, step).objective
            print(row(f"  {graph.family}, async, {name}", f"{early:.4f}", f"{late:.4f}", goal))


def against_other_units() -> None:
    """Print the largest relative difference of models when one feature is rescaled."""
    x, y = data_sets()["breast cancer Wisconsin"]
    print(row("\nrescaling any feature by 1e-6 or 1e6", "difference", "", "", "goal"))
    for clock, exchanges in (("async", 10_000), ("sync", 1_000)):
        plain = learn((x, y), "complete", exchanges, clock=clock).models[0]
        worst = 0.0
        for feature in range(x.shape[1]):
            for unit in UNITS:
                units = np.where(np.arange(x.shape[1]) == feature, unit, 1.0)
                scaled = learn((x * units, y), "complete", exchanges, clock=clock).models[0] * units
                worst = max(worst, float(np.abs(scaled - plain).max() / np.abs(plain).max()))
        print(row(f"  {clock}, {exchanges:,} exchanges", f"{worst:.0e}", "", "", "rounding"))


def against_other_constants() -> None:
    """Print the ratio of the default constant's loss to the best of a grid, for raw features."""
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


def against_the_optimum() -> None:
    """Print the messages until the sketch is this close to the optimum, and the disagreement."""
    data = data_sets()["breast cancer Wisconsin"]
    best = optimum(data)
    heads = [f"R*+{gap:.0e}" for gap in GAPS]
    print("\n" + wide(f"sketch, exchange-equivalents, R* = {best:.6f}", *heads, "end", "apart"))
    for graph, schedule in (
        (graphs.complete(699), "tree"),
        (graphs.complete(699), "random"),
        (graphs.watts_strogatz(699, 4, 0.3, seed=0), "tree"),
        (graphs.watts_strogatz(699, 4, 0.3, seed=0), "ordered"),
        (graphs.watts_strogatz(699, 4, 0.3, seed=0), "random"),
    ):
        fit = minimize(*data, LOSS, graph, method="sketch", schedule=schedule, seed=0, judged=20)
        above = fit.objective - best
        reached = [np.flatnonzero(above <= gap) for gap in GAPS]
        cells = [f"{fit.messages[at[0]] / 2:,.0f}" if len(at) else "never" for at in reached]
        apart = fit.disagreement[-1] / np.linalg.norm(fit.model)
        print(wide(f"  {graph.family}, {schedule}", *cells, f"+{above[-1]:.0e}", f"{apart:.0e}"))


def gradients_against_brute_force() -> None:
    """Print relative errors of sketched gradients, seen and stated, for growing ranges of scores.

    They are relative to the mean slope of a pair times the root mean square length of a row.
    """
    x, y = data_sets()["breast cancer Wisconsin"]
    features = (x - x.min(axis=0)) / np.ptp(x, axis=0) * 2 - 1
    direction = features[y == 1].mean(axis=0) - features[y == 0].mean(axis=0)
    heads = (f"range {spread:g}" for spread in RANGES)
    print("\n" + wide("sketched gradients, error seen / stated (order)", *heads))
    for name, phi in MARGINS.items():
        cells = []
        for spread in RANGES:
            theta = direction * spread / np.ptp(features @ direction)
            seen, stated, order = sketched_error(features, y.astype(int), theta, phi)
            cells.append(f"{seen:.0e} / {stated:.0e} ({order})")
        print(wide(f"  {name}", *cells))


def metric_against_the_optimum() -> None:
    """Print objectives of metrics, and exchanges per node until within 10 % of the optimum."""
    heads = ("optimum", "paper", "adaptive", "to 10 %:", "paper", "adaptive")
    print("\n" + wide(f"metric-hinge, {METRIC_EXCHANGES} exchanges per node", *heads))
    for name, (x, y), is_full in (
        ("iris, 150 x 4, diagonal", load_iris(return_X_y=True), False),
        ("wine, 178 x 13, diagonal", load_wine(return_X_y=True), False),
        ("breast cancer, 569 x 30, diagonal", load_breast_cancer(return_X_y=True), False),
        ("iris, 150 x 4, full", load_iris(return_X_y=True), True),
        ("wine, 178 x 13, full", load_wine(return_X_y=True), True),
    ):
        scaled = (x - x.mean(axis=0)) / x.std(axis=0)
        best = metric_optimum(scaled, y, is_full)
        show_metric(name, (scaled, y), best, is_full)
        if not is_full:
            show_metric("  in its own units", (x, y), best, is_full)


def show_metric(name: str, data: Data, best: float, is_full: bool) -> None:
    """Print how close to the optimum both steps come, and how soon."""
    n = len(data[1])
    loss, limit = ("metric-hinge", PSD()) if is_full else ("metric-diagonal-hinge", Box(0, np.inf))
    grid = [n * k for k in (1, 2, 5, 10, 20, 50, 100, 200, METRIC_EXCHANGES)]
    ends, soon = [], []
    for step in ("paper", None):
        fit = minimize(
            *data, loss, clock="async", step=step, constraint=limit, iterations=grid[-1],
            checkpoints=grid, judged=10, bias=False, seed=0,
        )  # fmt: skip
        near = np.flatnonzero(fit.objective <= 1.1 * best)
        ends.append(f"{fit.objective[-1]:.4f}")
        soon.append(f"{grid[near[0]] // n}" if len(near) else "never")
    print(wide(f"  {name}", f"{best:.4f}", *ends, "", *soon), flush=True)


def metric_optimum(x: Any, y: Any, is_full: bool) -> float:
    """Return the lowest objective, by L-BFGS-B on roots of metrics and ever sharper hinges."""
    n, d = x.shape
    i, j = np.triu_indices(n, 1)
    apart, sign = x[i] - x[j], np.where(y[i] == y[j], 1.0, -1.0)

    def objective(root: Any, rounding: float) -> tuple[float, Any]:
        turned = apart @ root.reshape(d, d) if is_full else apart * root
        short = 1.0 - sign * (1.0 - np.square(turned).sum(axis=1))
        inside = np.clip(short / rounding, 0.0, 1.0)
        slopes = (4.0 / n**2) * (inside * sign)[:, None] * turned
        gradient = (apart.T @ slopes).ravel() if is_full else (apart * slopes).sum(axis=0)
        value = np.where(inside < 1.0, rounding * inside**2 / 2, short - rounding / 2)
        return 2.0 * float(value.sum()) / n**2, gradient

    root = 0.3 * np.eye(d).ravel() if is_full else np.full(d, 0.3)
    for rounding in (1e-1, 1e-2, 1e-3):
        found = scipy_minimize(objective, root, (rounding,), method="L-BFGS-B", jac=True)
        root = found.x
    return objective(root, 1e-9)[0]


def metric_held_out() -> None:
    """Print the accuracy of 5 nearest neighbors in the learned metric, on held-out halves."""
    print("\n" + wide("5-NN accuracy, 5 splits", "Euclidean", "paper", "adaptive"))
    for name, data, kind in (
        ("iris, diagonal", load_iris(return_X_y=True), "diagonal"),
        ("wine, diagonal", load_wine(return_X_y=True), "diagonal"),
        ("iris, full", load_iris(return_X_y=True), "full"),
        ("wine, full", load_wine(return_X_y=True), "full"),
    ):
        cells = []
        for learner in (
            StandardScaler(),
            *(GossipMetricLearner(kind=kind, step=step, random_state=0) for step in STEPS),
        ):
            model = make_pipeline(learner, KNeighborsClassifier(5))
            splits = StratifiedShuffleSplit(5, test_size=0.5, random_state=0)
            cells.append(f"{cross_val_score(model, *data, cv=splits).mean():.3f}")
        print(wide(f"  {name}", *cells), flush=True)


def rankers() -> None:
    """Print objectives and held-out concordance of rankers by solver, for five grades."""
    x, y = load_diabetes(return_X_y=True)
    grades = np.searchsorted(np.quantile(y, (0.2, 0.4, 0.6, 0.8)), y).astype(float)
    splits = StratifiedShuffleSplit(5, test_size=0.5, random_state=0)
    heads = ("objective", "held out")
    print("\n" + wide("ranker, diabetes, 442 x 10, 5 grades", *heads))
    for name, settings in (
        ("sketch", {"l2": 1e-6}),
        ("dual averaging, paper's step", {"solver": "dual-averaging", "step": "paper"}),
        ("dual averaging, adaptive", {"solver": "dual-averaging"}),
    ):
        ranker = GossipRanker(random_state=0, **settings)
        score = cross_val_score(ranker, x, grades, cv=splits).mean()
        theta = ranker.fit(x, grades).coef_
        print(wide(f"  {name}", f"{risk(theta, x, RANKING, grades):.5f}", f"{score:.4f}"))


def wide(name: str, *cells: str) -> str:
    """Return one line of a table with many columns."""
    return " ".join([name.ljust(48), *(cell.ljust(20 if "/" in cell else 11) for cell in cells)])


def sketched_error(x: Any, y: Any, theta: Any, phi: Any) -> tuple[float, float, int]:
    """Return a sketched gradient's relative error, the error that it states, and its order."""
    n = len(y)
    rows = ScoreRows(x, y, np.full(n, 1 / n), None, 1, phi, 2)
    scores = rows.scores(theta[None, :])
    low, high = scores.min(), scores.max()
    order, slope, error, out = 0, None, 0.0, np.zeros(0)
    while (finer := rows.choose_order((high - low) / 2, slope, order, error)) != order:
        order = finer
        sketch = ScoreSketch(rows, scores, Agreement(low, high, order))
        out = sketch.weigh(sketch.add_up(), None)[0]
        slope, error = float(out[-2]), float(out[-1] / out[-2])
    margins = np.subtract.outer(scores[y == 1], scores[y == 0])
    slopes = phi.derivative(margins) / n**2
    gradient = slopes.sum(axis=1) @ x[y == 1] - slopes.sum(axis=0) @ x[y == 0]
    size = np.abs(slopes).sum() * np.sqrt((x**2).sum(axis=1).mean())
    return float(np.linalg.norm(out[: x.shape[1]] - gradient) / size), error, order


PARTS: dict[str, tuple[Callable[[], None], ...]] = {
    "adaptive": (against_the_paper, against_other_units, against_other_constants),
    "sketch": (against_the_optimum, gradients_against_brute_force),
    "metric": (metric_against_the_optimum, metric_held_out),
    "ranker": (rankers,),
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
