"""The options of `pairgossip swarm run`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cyclopts import Parameter

from pairgossip.cli.options import CHAOS, METHOD, OUTPUT, STATISTIC, Flag, Seed, Whole


@Parameter(name="*", group=STATISTIC)
@dataclass(frozen=True)
class WhatOptions:
    """What the peers compute."""

    data: Path
    """A CSV file whose rows are dealt to the peers, as evenly as possible."""
    kernel: str | None = None
    """What is averaged over pairs, such as gini; `pairgossip kernels` lists them."""
    spec: Path | None = None
    """A specification as `peer init` takes it, instead of --kernel, --column, --label, --target
    and --rate."""
    column: list[str] | None = None
    """Column of numbers to use; repeat it, or separate names by commas, for several. May be left
    out if the file has only one."""
    label: str | None = None
    """Column of labels, for kernels that compare classes."""
    target: str | None = None
    """v, unless given: over all pairs, a row with itself included; u: over different rows."""


@Parameter(name="*", group=METHOD)
@dataclass(frozen=True)
class CourseOptions:
    """How fast the peers are, and how long they run."""

    rate: float | None = None
    """Exchanges per second and link; 10 unless given."""
    seconds: float | None = None
    """How long to run; 30 unless --exchanges is given."""
    exchanges: Whole | None = None
    """Run until so many exchanges were made in the whole network."""
    seed: Seed = 0
    """Seed of the network, of who gets which rows, and of the misfortunes; not of the peers, whose
    clocks are real."""
    first_port: Whole | None = None
    """Listen on this port of 127.0.0.1 and the next ones; free ones are found unless given."""
    fast: Flag = False
    """Do not wait for the disk at every exchange: no worse unless the power fails."""


@Parameter(name="*", group=CHAOS)
@dataclass(frozen=True)
class ChaosOptions:
    """What befalls the peers."""

    chaos: Flag = False
    """Kill peers (kill -9) and start them again, freeze some, and cut the network in two, at
    random, during the first three quarters of the run."""
    kills: Whole | None = None
    """So many kills of peers that have exchanged since their start; the run goes on until they are
    done. At most a third of the peers are away at a time."""
    freezes: Whole | None = None
    """So many freezes."""
    partitions: Whole | None = None
    """So many partitions."""


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True)
class SwarmOutputs:
    """What is kept and shown."""

    home: Path | None = None
    """A folder to make, with the folder and the log of every peer and swarm.json, which stays; by
    default a temporary one, which stays only if the audit fails."""
    within: float | None = None
    """Fail also if a peer is further than this from the exact value, relative to it."""
    json: Flag = False
    """Print one JSON object instead of tables."""


NO_COURSE = CourseOptions()
NO_CHAOS = ChaosOptions()
NO_OUTPUTS = SwarmOutputs()
