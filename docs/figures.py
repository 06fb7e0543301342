"""Draw the README's figure anew: python docs/figures.py

Seeds are fixed, so that the same code draws the same curves; a test draws them again and compares.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

import pairgossip as pg
from pairgossip.errors import NotEnough

PICTURE = Path(__file__).parent / "images" / "messages.png"
DOTS_PER_INCH = 160
PAPER, ADAPTIVE, SWEPT, TREE = "#000000", "#D55E00", "#0072B2", "#882255"


class Curve(NamedTuple):
    """A run with the words beside it, and where on the axes they stand."""

    run: pg.Run | pg.Fit
    words: str
    color: str
    place: tuple[float, float]


def estimate_incomes() -> list[Curve]:
    """Let 225 households find the mean difference of their incomes in three ways."""
    income = pg.datasets.engel()["income"][:225]
    graph = pg.graphs.torus(15, 15)
    bins = pg.sketches.Bins(16, range=(0, 5000))
    gosta = pg.estimate(income, "gini", graph, clock="async", iterations=1_000_000, seed=0)
    how = {"method": "sketch", "sketch": bins, "seed": 0}
    swept = pg.estimate(income, "gini", graph, schedule="ordered", iterations=20_000, **how)
    tree = pg.estimate(income, "gini", graph, schedule="tree", **how)
    return [
        Curve(gosta, "rows that travel\n(the paper)", PAPER, (6e4, 0.06)),
        Curve(swept, "sums,\nneighbors in turn", SWEPT, (1.3e4, 6e-4)),
        Curve(tree, "sums\nalong a tree", TREE, (24, 4e-3)),
    ]


def learn_scores() -> list[Curve]:
    """Let 699 clinics, with one case each, learn a score by three methods."""
    X, y = pg.datasets.breast_cancer_wisconsin()
    graph = pg.graphs.watts_strogatz(len(X), k=4, p=0.3, seed=0)
    problem = (X, y, "auc-logistic", graph)
    how = {"iterations": 100_000, "judged": 50, "seed": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotEnough)  # the paper's step is as short as it is
        paper = pg.minimize(*problem, clock="async", step=pg.steps.inverse_sqrt(1e-3), **how)
    adaptive = pg.minimize(*problem, clock="async", **how)
    tree = pg.minimize(*problem, method="sketch", schedule="tree", seed=0)
    return [
        Curve(paper, "rows that travel\n(the paper)", PAPER, (1.5e4, 0.13)),
        Curve(adaptive, "the same,\nsteps that adapt", ADAPTIVE, (3.3e4, 5.6e-3)),
        Curve(tree, "sums along a tree", TREE, (3e3, 2e-3)),
    ]


def draw_curves(axes: Axes, curves: list[Curve], quantity: str) -> None:
    """Draw every curve against messages, its words in its color beside it."""
    for run, words, color, place in curves:
        height = getattr(run, quantity)
        height = height / abs(run.target) if isinstance(run, pg.Run) else height
        axes.plot(run.messages, height, color=color, linewidth=2.2)
        axes.plot(run.messages[-1], height[-1], "o", color=color, markersize=6)
        axes.text(*place, words, color=color, fontsize="medium")
    axes.set(xscale="log", yscale="log", xlabel="messages")
    axes.grid(alpha=0.25, which="major")


def draw() -> Figure:
    """Return the figure: what precision costs in messages, and what learning does."""
    figure = Figure(figsize=(10.4, 4.0), layout="constrained")
    left, right = figure.subplots(1, 2)
    draw_curves(left, estimate_incomes(), "error")
    left.set(ylabel="relative error", xlim=(20, 3e6), ylim=(1e-4, 1.5))
    left.set_title("A statistic: mean difference of 225 incomes", fontsize="medium")
    draw_curves(right, learn_scores(), "objective")
    right.set(ylabel="loss", xlim=(1e2, 4e5), ylim=(1.5e-3, 0.5))
    right.set_title("A model: AUC maximization, 699 cases", fontsize="medium")
    return figure


if __name__ == "__main__":
    draw().savefig(PICTURE, dpi=DOTS_PER_INCH)
