"""What training found: a table for people, one object for programs, a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pairgossip.cli.console import new_table, spelled, write_table
from pairgossip.cli.group_report import group_facts, group_rows, traffic_facts, traffic_rows
from pairgossip.cli.model_file import ordered_share
from pairgossip.cli.privacy_report import privacy_facts, privacy_rows, write_guarantee
from pairgossip.cli.run_report import known_gap, spelled_gap
from pairgossip.errors import InputError
from pairgossip.privacy.recording import as_record

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
        "exchanges": int(fit.exchanges[-1]),
        **traffic_facts(fit),
        "normalized_gap": known_gap(fit),
        "groups": group_facts(fit, observations.group_by),
        "privacy": privacy_facts(fit),
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
    graph = fit.sites
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
        **({} if fit.groups is None else {"construction": fit.construction}),
        "clock": fit.clock,
        "law": fit.law,
        **({} if what.spec is None else {"spec": what.spec.name}),
        **({} if fit.privacy is None else {"privacy": as_record(fit.privacy)}),
        # Of a specification it is what peers are told, which the simulator's time rescales.
        "step": {"kind": fit.step, "scale": fit.step_scale if how.step is None else how.step},
        "radius": what.radius,
        "l1": what.l1,
        "l2": what.l2,
        "iterations": int(fit.iterations[-1]),
        "trials": fit.trials,
        "seed": fit.seed,
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
        *traffic_rows(found),
        ("normalized gap", spelled_gap(fit, found["normalized_gap"])),
        *group_rows(found["groups"]),
        *privacy_rows(found["privacy"]),
        ("seed", str(found["seed"])),
    ):
        facts.add_row(name, value)
    write_table(facts, f"{_title(fit)} ({columns})")
    coefficients = new_table(("column", "coefficient"))
    for name, value in zip(found["columns"], found["theta"], strict=True):
        coefficients.add_row(name, spelled(value))
    write_table(coefficients)
    write_guarantee(found["privacy"], found["seed"])


def draw(fit: Fit, against: str) -> Figure:
    """Draw the objective of the nodes' models, and how far they are from each other."""
    from matplotlib.figure import Figure

    from pairgossip.results.plots import COLORS, set_axis

    x = fit.axis(against)
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    low, high = fit.objective - fit.spread, fit.objective + fit.spread
    left.fill_between(
        x, low, high, color=COLORS[0], alpha=0.2, linewidth=0,
        label="± standard deviation over nodes",
    )  # fmt: skip
    left.plot(x, fit.objective, color=COLORS[0], label="mean over nodes and trials")
    left.set_ylabel(f"objective ({fit.loss})")
    right.plot(x, fit.disagreement, color=COLORS[1], label="RMS over nodes")
    right.set_ylabel("distance of the models from their mean")
    for axes in (left, right):
        set_axis(axes, fit, against)
        axes.grid(alpha=0.25, which="major")
        axes.legend(fontsize="small", frameon=False)
    right.set_yscale("log")
    figure.suptitle(_title(fit), fontsize="medium")
    return figure


def _title(fit: Fit) -> str:
    from pairgossip.results.plots import network_of

    trials = "1 trial" if fit.trials == 1 else f"{fit.trials} trials"
    return f"{fit.loss}, {fit.clock}, {network_of(fit)}, {trials}"
