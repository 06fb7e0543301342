"""Results of training: tables for people, one JSON object for programs, a figure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pairgossip.checks import RANDOM
from pairgossip.cli.console import format_value, write_rows
from pairgossip.cli.graph import describe_graph
from pairgossip.cli.outputs.facts import (
    Facts,
    field_facts,
    field_rows,
    privacy_rows,
    shared_facts,
    shared_rows,
    write_guarantee,
)
from pairgossip.cli.outputs.model import ordered_share
from pairgossip.errors import InputError
from pairgossip.graphs.laws import name_law
from pairgossip.privacy.estimation import as_record
from pairgossip.results import Fit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pairgossip.cli.data.observations import Observations


def fit_summary(fit: Fit, observations: Observations) -> Facts:
    """Return the results by name; refuse a model that is not finite."""
    theta, length = fit.model, "rounds" if fit.has_rounds else "iterations"
    if not np.isfinite(theta).all():
        raise InputError("Training diverged: give a smaller --step, or a --radius.")
    classes, codes = np.unique(np.asarray(observations.labels), return_inverse=True)
    labels: list[Any] = classes.tolist()
    if (declared := observations.classes) is not None:
        labels = [declared[int(code)] for code in labels]
    return {
        "loss": fit.loss,
        "method": fit.method,
        **({"schedule": fit.schedule} if fit.has_rounds else {}),
        "columns": list(observations.columns),
        "label": observations.label,
        "classes": labels,
        "positive": fit.positive,
        "weights": observations.factor_columns.get("weights"),
        "theta": theta.tolist(),
        "auc": ordered_share(observations.values @ theta, codes.astype(np.float64)),
        "objective": float(fit.objective[-1]),
        "spread": float(fit.spread[-1]),
        "disagreement": float(fit.disagreement[-1]),
        **{name: fact for name, fact in field_facts(fit).items() if fact is not None},
        length: int(fit.iterations[-1]),
        "exchanges": int(fit.exchanges[-1]),
        **shared_facts(fit, observations.group_by),
        "curve": {
            length: fit.iterations,
            **{name: getattr(fit, name) for name in ("objective", "spread", "disagreement")},
        },
    }


def describe_settings(fit: Fit, asked: Mapping[str, Any]) -> Facts:
    """Return how a model was learned, for its file; ``asked`` are the options that were given."""
    return {
        "graph": describe_graph(fit.sites),
        **({} if fit.groups is None else {"construction": fit.construction}),
        "method": fit.method,
        **(_describe_rounds(fit, asked) if fit.has_rounds else _describe_descent(fit, asked)),
        **{name: asked.get(name) for name in ("radius", "l1", "l2")},
        "trials": fit.trials,
        "seed": fit.seed,
        "status": fit.status,
    }


def _describe_rounds(fit: Fit, asked: Mapping[str, Any]) -> Facts:
    """Return how sums were averaged, and for how long."""
    return {
        "schedule": fit.schedule,
        **({} if fit.schedule != RANDOM else {"law": name_law(fit.law)}),
        **{name: asked[name] for name in ("tolerance", "accuracy") if name in asked},
        "rounds": int(fit.iterations[-1]),
    }


def _describe_descent(fit: Fit, asked: Mapping[str, Any]) -> Facts:
    """Return how nodes met and stepped, and for how long."""
    return {
        "clock": fit.clock,
        "law": name_law(fit.law),
        **({"spec": asked["spec"].name} if "spec" in asked else {}),
        **({} if fit.privacy is None else {"privacy": as_record(fit.privacy)}),
        # A specification gives the step of peers, which the simulator's time rescales.
        "step": {"kind": fit.step, "scale": asked.get("step", fit.step_scale)},
        "iterations": int(fit.iterations[-1]),
    }


def print_fit(fit: Fit, summary: Facts, columns: str) -> None:
    """Print the results and the coefficients."""
    from pairgossip.results.curves import describe

    judged = "AUC on these rows" if len(summary["classes"]) == 2 else "pairs in order on these rows"
    judged += ", each counted once" if summary["weights"] else ""
    rows = (
        (judged, format_value(summary["auc"], 5)),
        ("objective, mean over nodes", format_value(summary["objective"])),
        ("spread of the objective over nodes", format_value(summary["spread"], 4)),
        ("disagreement of the models", format_value(summary["disagreement"], 4)),
        *field_rows(fit),
        *_length_rows(summary),
        *shared_rows(fit, summary),
        *privacy_rows(summary["privacy"]),
        ("seed", str(summary["seed"])),
    )
    write_rows(("result", ""), rows, f"{describe(fit)} ({columns})")
    named = zip(summary["columns"], map(format_value, summary["theta"]), strict=True)
    write_rows(("column", "coefficient"), named)
    write_guarantee(summary["privacy"], summary["seed"])


def _length_rows(summary: Facts) -> list[tuple[str, str]]:
    """Return the lines of a table about the length of the run and the error of its gradients."""
    if "rounds" not in summary:
        return [("iterations", format_value(summary["iterations"]))]
    return [
        ("error of the gradient, relative, at most", format_value(summary["gradient_error"], 2)),
        ("rounds", format_value(summary["rounds"])),
    ]


def draw(fit: Fit, against: str) -> Figure:
    """Draw the objective of the nodes' models, and their disagreement or gradient error."""
    from matplotlib.figure import Figure

    from pairgossip.results.curves import describe

    figure = Figure(figsize=(11, 4.5), layout="constrained")
    # Along a tree all nodes have the same model, and only the error of gradients is of interest.
    second = "disagreement" if fit.disagreement.any() or not fit.has_rounds else "gradient-error"
    for axes, what in zip(figure.subplots(1, 2), ("objective", second), strict=True):
        fit.plot(what, against=against, ax=axes).set_title("")
    figure.suptitle(describe(fit), fontsize="medium")
    return figure
