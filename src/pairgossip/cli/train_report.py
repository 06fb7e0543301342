"""What training found: a table for people, one object for programs, a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pairgossip.cli.console import new_table, spelled, write_table
from pairgossip.cli.model_file import ordered_share
from pairgossip.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pairgossip.cli.observations import Observations
    from pairgossip.cli.training_options import DescentOptions, LossOptions
    from pairgossip.results.fit import Fit


def summary(fit: Fit, observations: Observations) -> dict[str, Any]:
    """Return what was found by name; refuse a model that is not finite."""
    theta = fit.model
    if not np.isfinite(theta).all():
        raise InputError("Training diverged: give a smaller --step, or a --radius.")
    classes, codes = np.unique(np.asarray(observations.labels), return_inverse=True)
    return {
        "loss": fit.loss,
        "columns": list(observations.columns),
        "label": observations.label,
        "classes": classes.tolist(),
        "theta": theta.tolist(),
        "auc": ordered_share(observations.values @ theta, codes.astype(np.float64)),
        "objective": float(fit.objective[-1]),
        "spread": float(fit.spread[-1]),
        "disagreement": float(fit.disagreement[-1]),
        "iterations": int(fit.iterations[-1]),
        "trials": fit.trials,
        "seed": fit.seed,
        "status": fit.status,
        "curve": {
            "iterations": fit.iterations,
            "objective": fit.objective,
            "spread": fit.spread,
            "disagreement": fit.disagreement,
        },
    }


def described_settings(fit: Fit, what: LossOptions, how: DescentOptions) -> dict[str, Any]:
    """Return how a model was learned, for its file."""
    graph = fit.graph
    parameters = {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in (graph.parameters or {}).items()
    }
    return {
        "graph": {
            "family": graph.family,
            "parameters": parameters,
            "nodes": graph.n,
            "edges": graph.edge_count,
        },
        "clock": fit.clock,
        "law": fit.law,
        **({} if what.spec is None else {"spec": what.spec.name}),
        "step": {"kind": fit.step, "scale": how.step},
        "radius": what.radius,
        "l1": what.l1,
        "l2": what.l2,
        "iterations": int(fit.iterations[-1]),
        "trials": fit.trials,
        "seed": str(fit.seed),  # may exceed 64 bits, which few readers of JSON keep
        "status": fit.status,
    }


def print_fit(fit: Fit, found: dict[str, Any], columns: str) -> None:
    """Print what was found, and the coefficients."""
    facts = new_table(("result", ""))
    judged = "AUC on these rows" if len(found["classes"]) == 2 else "pairs in order on these rows"
    for name, value in (
        (judged, spelled(found["auc"], 5)),
        ("objective, mean over nodes", spelled(found["objective"])),
        ("spread of the objective over nodes", spelled(found["spread"], 4)),
        ("disagreement of the models", spelled(found["disagreement"], 4)),
        ("iterations", spelled(found["iterations"])),
        ("seed", str(found["seed"])),
    ):
        facts.add_row(name, value)
    write_table(facts, f"{_title(fit)} ({columns})")
    coefficients = new_table(("column", "coefficient"))
    for name, value in zip(found["columns"], found["theta"], strict=True):
        coefficients.add_row(name, spelled(value))
    write_table(coefficients)


def draw(fit: Fit) -> Figure:
    """Draw the objective of the nodes' models, and how far they are from each other."""
    from matplotlib.figure import Figure

    from pairgossip.results.plots import COLORS

    figure = Figure(figsize=(11, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    low, high = fit.objective - fit.spread, fit.objective + fit.spread
    left.fill_between(
        fit.iterations, low, high, color=COLORS[0], alpha=0.2, linewidth=0,
        label="± standard deviation over nodes",
    )  # fmt: skip
    left.plot(fit.iterations, fit.objective, color=COLORS[0], label="mean over nodes and trials")
    left.set_ylabel(f"objective ({fit.loss})")
    right.plot(fit.iterations, fit.disagreement, color=COLORS[1], label="RMS over nodes")
    right.set_ylabel("distance of the models from their mean")
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_xlabel("iterations")
        axes.grid(alpha=0.25, which="major")
        axes.legend(fontsize="small", frameon=False)
    right.set_yscale("log")
    figure.suptitle(_title(fit), fontsize="medium")
    return figure


def _title(fit: Fit) -> str:
    trials = "1 trial" if fit.trials == 1 else f"{fit.trials} trials"
    family = fit.graph.family or "graph"
    return f"{fit.loss}, {fit.clock}, {family} of {fit.nodes:,} nodes, {trials}"
