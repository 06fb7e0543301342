"""The paper's experiments, and the functions that run and report them.

This is the only door from the library to the package `pairgossip_paper`, which is loaded on first
use: the library works without it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from pairgossip.errors import needed_for

if TYPE_CHECKING:
    from pairgossip_paper.commands import run_reproduction as run_reproduction
    from pairgossip_paper.commands import write_errata as write_errata
    from pairgossip_paper.commands import write_experiments as write_experiments
    from pairgossip_paper.framework import Claim, Picture, Section, Table
    from pairgossip_paper.framework import Experiment as Experiment
    from pairgossip_paper.framework import Plan as Plan
    from pairgossip_paper.framework.figures import Panel as Panel
    from pairgossip_paper.framework.figures import PlacedCurve as PlacedCurve
    from pairgossip_paper.framework.store import Store as Store
    from pairgossip_paper.reproduction import CATALOG, Reproduction, reproduce

_HOMES = {
    "commands": ("run_reproduction", "write_errata", "write_experiments"),
    "framework": ("Claim", "Experiment", "Picture", "Plan", "Section", "Table"),
    "framework.figures": ("Panel", "PlacedCurve"),
    "framework.store": ("Store",),
    "reproduction": ("CATALOG", "Reproduction", "reproduce"),
}

__all__ = ["CATALOG", "Claim", "Picture", "Reproduction", "Section", "Table", "reproduce"]


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            with needed_for("Reproducing the paper"):
                return getattr(importlib.import_module(f"pairgossip_paper.{home}"), name)
    raise AttributeError(f"module 'pairgossip.experiments' has no attribute '{name}'")


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
