"""A small and fast experiment, for tests of the code around experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import pairgossip as pg
from pairgossip_paper.framework import (
    Case,
    Claim,
    Computation,
    Experiment,
    Picture,
    Plan,
    Section,
    Simulation,
    Table,
)
from pairgossip_paper.framework.figures import Sheet

DATA = [1.0, 2.0, 4.0, 7.0, 7.5]
ITERATIONS = 200


def estimated(kernel: str, plan: Plan, **how: Any) -> pg.Run:
    return pg.estimate(DATA, kernel, "cycle", iterations=ITERATIONS, seed=plan.seed, **how)


def learned(plan: Plan, **how: Any) -> pg.Fit:
    X = [[value] for value in DATA]
    return pg.minimize(X, [0, 0, 1, 0, 1], iterations=ITERATIONS, seed=plan.seed, **how)


def cases(plan: Plan) -> Sequence[Case]:
    return [
        Simulation("gini", ITERATIONS, plan.trials, partial(estimated, "gini", plan)),
        Simulation("variance", ITERATIONS, plan.trials, partial(estimated, "variance", plan)),
        Simulation("auc", ITERATIONS, plan.trials, partial(learned, plan)),
        Computation("exact", partial(exactly, plan)),
    ]


def exactly(plan: Plan) -> Mapping[str, Any]:
    return {"gini": pg.exact(DATA, "gini"), "seed": plan.seed}


def report(results: Mapping[str, Any]) -> Section:
    run: pg.Run = results["gini"]
    sheet = Sheet(1)
    sheet.panels[0].plot(run.iterations, run.error, "error", "#000000")
    ours = float(run.mean[-1])
    return Section(
        f"The error ends at {run.error[-1]:.1e}.",
        [f"The mean is {ours:.6f} < & > of {run.trials} trials."],
        [Picture("error", "The error <falls>.", sheet)],
        [Table.from_records("Means", [{"what": "gini", "printed": 3.0, "ours": ours}])],
        [Claim("toy", "It works.", "the toy", "holds", f"{results['exact']['gini']:.6f}")],
    )


def outline(figure: Figure, suffix: str, **_: object) -> bytes:
    """Return a figure's contents instead of a drawing, which differ where the drawing would."""
    shown = [
        (line.get_label(), np.asarray(line.get_xydata()).tolist())
        for ax in figure.axes
        for line in ax.lines
    ]
    return repr((suffix, shown)).encode()


TOY = Experiment("toy", "A toy", "Does it work?", cases, report)
