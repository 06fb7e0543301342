"""Gossip algorithms for pairwise statistics: simulate them fast, check them against theory.

>>> import pairgossip as pg
>>> graph = pg.graphs.cycle(5)
>>> run = pg.estimate([1, 2, 3, 4, 5], "gini", graph, iterations=1000, seed=0)
>>> round(run.target, 6)
1.6
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from pairgossip.errors import (
    CoarseSketch,
    InputError,
    InterruptedRun,
    ManyRows,
    MissingExtra,
    NotCompiled,
    NotEnough,
    PairgossipError,
    RowsDropped,
    SlowRun,
    SlowSchedule,
    UnknownTarget,
)

if TYPE_CHECKING:
    from pairgossip import (
        datasets,
        experiments,
        field,
        graphs,
        kernels,
        learn,
        losses,
        networks,
        privacy,
        sketches,
        survival,
        theory,
    )
    from pairgossip.agreement.comparing import heterogeneity
    from pairgossip.agreement.heterogeneity import Heterogeneity
    from pairgossip.counts import cells
    from pairgossip.curves.reading import roc
    from pairgossip.curves.roc import Roc
    from pairgossip.estimation import estimate
    from pairgossip.experiments import reproduce
    from pairgossip.faults import Churn, Faults
    from pairgossip.graphs import Graph
    from pairgossip.inference.answer import Answer
    from pairgossip.inference.group_table import GroupTable
    from pairgossip.inference.questions import exact
    from pairgossip.kernels import Combination, Kernel, Ratio
    from pairgossip.losses import L1, PSD, Ball, Box, GeneralLoss, Loss, SquaredL2, steps
    from pairgossip.minimization import minimize
    from pairgossip.planning import Plan, plan
    from pairgossip.rank_estimation import (
        hodges_lehmann,
        quantile,
        ranks,
        trimmed_mean,
        winsorized_mean,
    )
    from pairgossip.results import Fit, Run
    from pairgossip.results.joining import join_trials
    from pairgossip.results.loading import load
    from pairgossip.results.plots import compare
    from pairgossip.significance import test
    from pairgossip.summaries.summarizing import summarize
    from pairgossip.summaries.summary import Summary
    from pairgossip.validation.reading import validate
    from pairgossip.validation.validation import Validation

__version__ = "0.3.0"

# Loaded on first use, so that a device or `pairgossip --help` pays only for what it uses.
_HOMES = {
    "agreement.comparing": ("heterogeneity",),
    "agreement.heterogeneity": ("Heterogeneity",),
    "curves.reading": ("roc",),
    "curves.roc": ("Roc",),
    "estimation": ("estimate",),
    "experiments": ("reproduce",),
    "faults": ("Churn", "Faults"),
    "graphs": ("Graph",),
    "inference.answer": ("Answer",),
    "inference.group_table": ("GroupTable",),
    "inference.questions": ("exact",),
    "kernels": ("Combination", "Kernel", "Ratio"),
    "losses": ("L1", "PSD", "Ball", "Box", "GeneralLoss", "Loss", "SquaredL2", "steps"),
    "minimization": ("minimize",),
    "planning": ("Plan", "plan"),
    "rank_estimation": ("hodges_lehmann", "quantile", "ranks", "trimmed_mean", "winsorized_mean"),
    "results": ("Fit", "Run"),
    "results.joining": ("join_trials",),
    "results.loading": ("load",),
    "results.plots": ("compare",),
    "significance": ("test",),
    "summaries.summarizing": ("summarize",),
    "summaries.summary": ("Summary",),
    "validation.reading": ("validate",),
    "validation.validation": ("Validation",),
}

_MODULES = {"cells": "counts.cells"}
"""Public modules that are in another room."""

__all__ = [
    "L1",
    "PSD",
    "Answer",
    "Ball",
    "Box",
    "Churn",
    "CoarseSketch",
    "Combination",
    "Faults",
    "Fit",
    "GeneralLoss",
    "Graph",
    "GroupTable",
    "Heterogeneity",
    "InputError",
    "InterruptedRun",
    "Kernel",
    "Loss",
    "ManyRows",
    "MissingExtra",
    "NotCompiled",
    "NotEnough",
    "PairgossipError",
    "Plan",
    "Ratio",
    "Roc",
    "RowsDropped",
    "Run",
    "SlowRun",
    "SlowSchedule",
    "SquaredL2",
    "Summary",
    "UnknownTarget",
    "Validation",
    "cells",
    "compare",
    "datasets",
    "estimate",
    "exact",
    "experiments",
    "field",
    "graphs",
    "heterogeneity",
    "hodges_lehmann",
    "join_trials",
    "kernels",
    "learn",
    "load",
    "losses",
    "minimize",
    "networks",
    "plan",
    "privacy",
    "quantile",
    "ranks",
    "reproduce",
    "roc",
    "sketches",
    "steps",
    "summarize",
    "survival",
    "test",
    "theory",
    "trimmed_mean",
    "validate",
    "winsorized_mean",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'pairgossip' has no attribute '{name}'")
    home = next((home for home, names in _HOMES.items() if name in names), None)
    module = importlib.import_module(f"pairgossip.{home or _MODULES.get(name, name)}")
    globals()[name] = value = module if home is None else getattr(module, name)
    return value


def __dir__() -> list[str]:
    """List the public names: loaded internal modules are attributes too."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
