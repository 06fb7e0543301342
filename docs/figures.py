"""Draw the figures of the README and the guide anew: python docs/figures.py

Seeds are fixed, so that the same code draws the same curves; a test draws the README's again and
compares. Those of the guide take a minute.
"""

from __future__ import annotations

import operator
import warnings
from functools import reduce
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import pairgossip as pg
from pairgossip.arrays import FloatArray, IntArray
from pairgossip.errors import NotEnough
from pairgossip.peer.protocol.program import Words
from pairgossip.study.protocol.ratchet import Chains, mask
from pairgossip.watch.simulation.build import build_runs
from pairgossip.watch.simulation.observations import Uploads
from pairgossip.watch.simulation.settings import Settings

PICTURE = Path(__file__).parent / "images" / "messages.png"
FAULTS_PICTURE = PICTURE.with_name("faults.png")
ROC_PICTURE = PICTURE.with_name("roc-curves.png")
HOSPITALS_PICTURE = PICTURE.with_name("five-hospitals.png")
STUDY_PICTURE = PICTURE.with_name("study.png")
HOSPITALS, PATIENTS = 5, 400
"""How many made-up hospitals the README's study has, and how many patients each."""
DOTS_PER_INCH = 160
MOMENTS = (12_000, 15_000, 20_000, 30_000)
"""After how many exchanges the nodes' curves are drawn."""
WHITE = {"facecolor": "#FFFFFF", "edgecolor": "none", "alpha": 0.8, "pad": 1.5}
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


def run_with_faults(method: str, faults: pg.Faults | None) -> pg.Run:
    """Let 225 nodes find the mean difference of normal numbers while something goes wrong."""
    x = np.random.default_rng(0).normal(size=225)
    how = {"clock": "async", "iterations": 300_000, "trials": 8, "record": "nodes", "seed": 0}
    return pg.estimate(x, "gini", pg.graphs.torus(15, 15), method=method, faults=faults, **how)


def lose_exchanges() -> list[Curve]:
    """Lose exchanges as a whole, or at one of the two nodes only."""
    lost, half = pg.Faults(loss=0.1), pg.Faults(half_loss=0.01)
    return [
        Curve(
            run_with_faults("gosta", half), "1 % reach one\nof the two nodes", ADAPTIVE, (2e4, 0.13)
        ),
        Curve(run_with_faults("gosta", lost), "10 % lost", SWEPT, (1.3e5, 8e-3)),
        Curve(run_with_faults("gosta", None), "nothing lost", PAPER, (2e4, 3e-3)),
    ]


def lie() -> list[Curve]:
    """Let a node lie, and three: without protection and with it."""
    one, three = pg.Faults(liars=1), pg.Faults(liars=3)
    return [
        Curve(run_with_faults("gosta", one), "one lies", ADAPTIVE, (3e4, 4.0)),
        Curve(run_with_faults("clipped-gosta", three), "three lie, clipped", SWEPT, (2.5e4, 3e-2)),
        Curve(run_with_faults("clipped-gosta", one), "one lies,\nclipped", TREE, (1.2e4, 2.2e-3)),
    ]


def draw_curve(axes: Axes, curve: Curve, x: FloatArray, height: FloatArray) -> None:
    """Draw a curve with its end, and its words in its color beside it."""
    axes.plot(x, height, color=curve.color, linewidth=2.2)
    axes.plot(x[-1], height[-1], "o", color=curve.color, markersize=6)
    axes.text(*curve.place, curve.words, color=curve.color, fontsize="medium")


def draw_curves(axes: Axes, curves: list[Curve], quantity: str) -> None:
    """Draw every curve against messages."""
    for curve in curves:
        height = getattr(curve.run, quantity)
        height = height / abs(curve.run.target) if isinstance(curve.run, pg.Run) else height
        draw_curve(axes, curve, curve.run.messages, height)
    axes.set(xscale="log", yscale="log", xlabel="messages")
    axes.grid(alpha=0.25, which="major")


def draw_medians(axes: Axes, curves: list[Curve]) -> None:
    """Draw the relative error of the median honest node of every curve against exchanges."""
    for curve in curves:
        run = curve.run
        assert isinstance(run, pg.Run) and run.history is not None
        honest = slice(None) if run.honest is None else run.honest
        errors = np.abs(run.history[:, :, honest] / run.target - 1)
        draw_curve(axes, curve, run.iterations, np.median(errors, axis=(0, 2)))
    axes.set(xscale="log", yscale="log", xlabel="exchanges")
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


def draw_faults() -> Figure:
    """Return the figure of the guide: what lost exchanges and liars do."""
    figure = Figure(figsize=(10.4, 4.0), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    draw_medians(left, lose_exchanges())
    left.set(ylabel="relative error of the median node", xlim=(1e3, 4e5), ylim=(7e-4, 10))
    left.set_title("Exchanges get lost", fontsize="medium")
    draw_medians(right, lie())
    right.set(xlim=(1e3, 4e5))
    right.set_title("Nodes lie: always ten times the value", fontsize="medium")
    return figure


def draw_node_curves() -> Figure:
    """Return the figure of ROC curves that nodes know, as `pairgossip watch` shows them live."""
    cases = {"data": "breast-cancer-wisconsin", "column": "clump_thickness", "label": "class"}
    how = {"graph": "watts-strogatz", "method": "sketch", "clock": "async", "kernel": "auc"}
    (run,) = build_runs(Settings.read({**cases, **how, "iterations": "30000"}), Uploads())
    exact = run.describe()["roc"]
    figure = Figure(figsize=(10.4, 3.2), layout="constrained")
    panels = figure.subplots(1, len(MOMENTS), sharey=True)
    for axes, exchanges in zip(panels, MOMENTS, strict=True):
        run.advance(exchanges - run.done)
        known = [path for path in run.node_curves()["roc"] if path is not None]
        areas = [np.trapezoid(sensitivity, alarms) for alarms, sensitivity in known]
        axes.plot([0, 1], [0, 1], color=PAPER, alpha=0.3, linewidth=0.8, linestyle=":")
        for path in known:
            axes.plot(*path, color=SWEPT, linewidth=1.1, alpha=0.65)
        axes.plot(*exact, color=PAPER, linewidth=2.0, linestyle=(0, (4, 2)))
        words = {f"all rows: AUC {run.target:.2f}": PAPER}
        words[f"{len(known)} nodes: {min(areas):.2f} to {max(areas):.2f}"] = SWEPT
        for height, (line, color) in zip((0.17, 0.06), words.items(), strict=True):
            axes.text(0.97, height, line, ha="right", color=color, bbox=WHITE)
        axes.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.02), aspect="equal", xlabel="1 - specificity")
        axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
        axes.set_title(f"{exchanges:,} exchanges", fontsize="medium")
        axes.grid(alpha=0.25)
    panels[0].set_yticks([0, 0.5, 1], ["0", "0.5", "1"])
    panels[0].set_ylabel("sensitivity")
    return figure


def draw_hospitals() -> Figure:
    """Return the curve of the tutorial's result, read from the rows of all five hospitals."""
    data = pg.datasets.breast_cancer_table()
    patients = {
        name: np.delete(data[name], np.s_[5::6]) for name in ("cell_size_uniformity", "class")
    }  # all but those of the sixth file
    figure = Figure(figsize=(5.2, 4.8), layout="constrained")
    curve = pg.roc(patients, columns="cell_size_uniformity", labels="class", thresholds=[3, 4])
    curve.plot(figure.subplots())
    return figure


class Hospital(NamedTuple):
    """Patients of one hospital: a model's risk, and who died."""

    risk: FloatArray
    died: IntArray

    def count(self) -> pg.Summary:
        """Return the table of counts, none of which is 1 or 2."""
        cells = pg.cells.Even(0, 1, 32)
        return pg.summarize(
            self.risk, "auc", labels=self.died, classes=[0, 1], cells=cells, least_cell=3
        )


def make_hospitals() -> list[Hospital]:
    """Make up patients, with the same seed each time."""
    random = np.random.default_rng(0)
    logits = random.normal(-1, 1.3, (HOSPITALS, PATIENTS))
    died = (random.random(logits.shape) < 1 / (1 + np.exp(-1.3 * logits))).astype(int)
    return [Hospital(*one) for one in zip(1 / (1 + np.exp(-logits)), died, strict=True)]


def mask_counts(tables: list[pg.Summary]) -> list[Words]:
    """Return what each member would send: its counts, with the masks of a study."""
    chains: list[Chains] = [{} for _ in tables]
    for one, other in combinations(range(len(tables)), 2):
        chains[one][str(other)] = chains[other][str(one)] = bytes([one, other] * 16)
    return [
        table.counts.ravel().astype(np.uint64) + mask(str(me), chains[me], 1, table.counts.size)
        for me, table in enumerate(tables)
    ]


def draw_study() -> Figure:
    """Return the README's figure: what each hospital has, what leaves it, and what all learn."""
    hospitals = make_hospitals()
    tables = [one.count() for one in hospitals]
    sent = mask_counts(tables)
    together = reduce(operator.add, tables)
    assert (sum(sent) == together.counts.ravel()).all()
    figure = Figure(figsize=(10.4, 3.9), layout="constrained")
    own, leaving, joint = figure.subplots(1, 3, gridspec_kw={"wspace": 0.06})
    for one in hospitals:
        curve = pg.roc(one.risk, one.died)
        own.plot(curve.fpr, curve.tpr, color=PAPER, alpha=0.45, linewidth=1.0)
    own.plot([0, 1], [0, 1], color=PAPER, alpha=0.3, linewidth=0.8, linestyle=":")
    own.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="1 - specificity")
    own.set(ylabel="sensitivity")
    own.set_title(f"{HOSPITALS} hospitals, {PATIENTS} patients each", fontsize="medium")
    leaving.bar(np.arange(sent[0].size), sent[0] / 2.0**64, width=1.0, color=ADAPTIVE, alpha=0.7)
    leaving.set(xlim=(-0.5, sent[0].size - 0.5), ylim=(0, 1), box_aspect=1, xticks=[], yticks=[])
    leaving.set(xlabel=f"{sent[0].size} masked counts of one hospital")
    leaving.set_title("What leaves: counts, masked", fontsize="medium")
    pg.roc(together).plot(joint)
    joint.set_title("What all learn: the curve of all", fontsize="medium")
    return figure


if __name__ == "__main__":
    draw_study().savefig(STUDY_PICTURE, dpi=DOTS_PER_INCH)
    draw().savefig(PICTURE, dpi=DOTS_PER_INCH)
    draw_faults().savefig(FAULTS_PICTURE, dpi=DOTS_PER_INCH)
    draw_node_curves().savefig(ROC_PICTURE, dpi=DOTS_PER_INCH)
    draw_hospitals().savefig(HOSPITALS_PICTURE, dpi=DOTS_PER_INCH)
