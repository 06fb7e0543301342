"""The options of `pairgossip train`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Group, Parameter

from pairgossip.cli.network import FamilyParameters
from pairgossip.cli.options import METHOD, NETWORK, OUTPUT, STATISTIC, Flag, Seed, Whole

DATA = Group("Data and loss", sort_key=STATISTIC.sort_key)


@Parameter(name="*", group=DATA)
@dataclass(frozen=True)
class LossOptions:
    """What is learned."""

    label: str | None = None
    """Column of labels, needed unless --spec names it. For auc losses two classes, numbers or
    text, of which the last in order is to be scored higher; for ranking losses numbers."""
    column: list[str] | None = None
    """Column of features; repeat it, or separate names by commas, for several. All but the label
    unless given."""
    loss: str | None = None
    """auc- or ranking-, followed by logistic, hinge, squared-hinge or smoothed-hinge;
    auc-logistic unless given."""
    radius: float | None = None
    """The largest norm of a model; any unless given."""
    l1: float | None = None
    """Strength of the penalty on the sum of absolute coefficients."""
    l2: float | None = None
    """Strength of the penalty on the sum of squared coefficients."""
    spec: Path | None = None
    """A run specification, the TOML file that peers agree on: it says columns, label, loss, step,
    radius, l2 and clock, and the ranges in which values must lie."""


@Parameter(name="*", group=NETWORK)
@dataclass(frozen=True)
class TrainingFamilyParameters(FamilyParameters):
    """The families' parameters; --radius is the model's here."""

    radius: Annotated[float | None, Parameter(name="--graph-radius")] = None
    """How near points must be to be joined, in a unit square (random-geometric)."""


@Parameter(name="*", group=METHOD)
@dataclass(frozen=True)
class DescentOptions:
    """How it is learned, and for how long."""

    step: float | None = None
    """Step size c of c/sqrt(t); chosen by the steepness of the loss unless given."""
    clock: str | None = None
    """sync (unless given): all nodes update at every exchange; async: only the two that meet."""
    law: str = "uniform-edges"
    """Which edge comes next: uniform-edges, or node-clocks (a node calls a neighbor)."""
    iterations: Whole | None = None
    """How long to run: 1000000, 1_000_000 or 1e6; 200 per node unless given."""
    checkpoints: Whole | None = None
    """How many points the curves have, log-spaced; 12 per decade unless given."""
    trials: Whole = 1
    """Independent repetitions, whose models are averaged."""
    seed: Seed = 0
    """Seed of all randomness: the same seed gives the same numbers."""
    jobs: Whole = -1
    """How many trials run at once; -1 for one per core."""


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True)
class TrainingOutputs:
    """Where the results go."""

    model: Path
    """The model file to write, JSON, for `pairgossip score`."""
    plot: Path | None = None
    """Draw objective and disagreement over the run: .png, .pdf or .svg."""
    against: str = "iterations"
    """What to draw against: iterations, exchanges, time (asynchronous clock), messages or bytes;
    messages and bytes are those sent between sites."""
    json: Flag = False
    """Print one JSON object instead of a table."""


NO_LOSS = LossOptions()
NO_FAMILY_PARAMETERS = TrainingFamilyParameters()
NO_DESCENT = DescentOptions()
