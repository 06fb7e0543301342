"""`pairgossip swarm`: a whole network of real peers on this machine."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from pairgossip.cli.console import EXIT_FAILED, EXIT_INTERRUPTED, tell
from pairgossip.cli.data import check_kernel_labels, read_observations
from pairgossip.cli.options import (
    CHAOS,
    METHOD,
    NETWORK,
    NO_NETWORK,
    NO_PARAMETERS,
    OUTPUT,
    STATISTIC,
    FamilyParameters,
    Flag,
    NetworkOptions,
    Seed,
    Whole,
)
from pairgossip.errors import InputError, canonical

if TYPE_CHECKING:
    from pairgossip.peer.protocol.messages import Rows
    from pairgossip.swarm.chaos import Faults
    from pairgossip.swarm.plan import Plan
    from pairgossip.swarm.running import SwarmOptions


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
class DurationOptions:
    """How fast the peers are, and how long they run."""

    rate: float | None = None
    """Exchanges per second and link; 10 unless given."""
    seconds: float | None = None
    """How long to run; 30 unless --exchanges is given."""
    exchanges: Whole | None = None
    """Run until this number of exchanges were made in the whole network."""
    seed: Seed = 0
    """Seed of the network, of which peer gets which rows, and of the faults; not of the peers,
    whose clocks are real."""
    first_port: Whole | None = None
    """Listen on this port of 127.0.0.1 and the next ones; free ones are found unless given."""
    fast: Flag = False
    """Do not wait for the disk at every exchange: no worse unless the power fails."""


@Parameter(name="*", group=CHAOS)
@dataclass(frozen=True)
class ChaosOptions:
    """Which faults there are."""

    chaos: Flag = False
    """Kill peers (kill -9) and start them again, freeze some, and cut the network in two, at
    random, during the first three quarters of the run."""
    kills: Whole | None = None
    """How many times to kill a peer that has exchanged since its start; the run goes on until all
    are done. At most a third of the peers are away at a time."""
    freezes: Whole | None = None
    """How many times to freeze a peer."""
    partitions: Whole | None = None
    """How many times to cut the network in two."""


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


NO_DURATION = DurationOptions()
NO_CHAOS = ChaosOptions()
NO_OUTPUTS = SwarmOutputs()


DEFAULT_SECONDS = 30.0
DEFAULT_RATE = 10.0
PART_IN_CHAOS = 0.75
"""Of the seconds of a run; the rest is for peers to recover."""
SECONDS_PER_FAULT = 0.5
"""Where exchanges, not seconds, say when a run ends."""

swarm_app = App(
    name="swarm",
    help="Run a whole network of real peers on this machine, and audit it.",
    help_format="plaintext",
    default_parameter=Parameter(negative=()),
)


@swarm_app.command(name="run", help_format="markdown")
def run_command(
    *,
    what: WhatOptions,
    peers: Annotated[Whole, Parameter(group=NETWORK)],
    network: NetworkOptions = NO_NETWORK,
    parameters: FamilyParameters = NO_PARAMETERS,
    how: DurationOptions = NO_DURATION,
    chaos: ChaosOptions = NO_CHAOS,
    outputs: SwarmOutputs = NO_OUTPUTS,
) -> int:
    """Start real peers on this machine, watch them, stop them, and audit what they did.

    Each peer is a process with its own folder, key, rows and list of members, as `peer init`,
    `peer invite` and `peer join` make them; they talk over 127.0.0.1. At the end the disks of all
    peers are read: every record must be there once, and the mass must be what the exchanges have
    made. Ctrl-C stops the peers as usual, and the audit is still made.

    Exit codes: 0 all is well, 1 the audit failed, 2 something was wrong from the start, 130 it was
    interrupted and all is well.

    For example:

        pairgossip dataset engel --out engel.csv
        pairgossip swarm run --data engel.csv --column income --kernel gini --peers 8

    Parameters
    ----------
    peers
        How many peers; each gets one row at least.
    """
    from pairgossip.cli.summaries.swarm import show_swarm, write_report
    from pairgossip.swarm.running import run_swarm

    plan = _plan(peers, what, network, parameters, how)
    options = _run_options(how, chaos)
    _check_within(outputs.within, plan)
    with _folder(outputs.home) as place:
        with show_swarm(plan) as on_reading:
            report = run_swarm(plan, place.folder, options, on_reading)
        is_well = write_report(report, plan, outputs.within, as_json=outputs.json)
        place.is_kept = not is_well or outputs.home is not None
    if place.is_kept:
        tell(f"Everything is in {place.folder}")
    if not is_well:
        return EXIT_FAILED
    return EXIT_INTERRUPTED if report.is_interrupted else 0


def _plan(
    peers: int,
    what: WhatOptions,
    network: NetworkOptions,
    parameters: FamilyParameters,
    how: DurationOptions,
) -> Plan:
    from pairgossip.swarm.plan import make_plan

    text, rows = _from_spec(what, how) if what.spec is not None else _from_kernel(what, how)
    if len(rows) < peers:
        raise InputError(
            f"{peers} peers need at least {peers} rows, but {what.data} has {len(rows)}: use fewer "
            f"peers, or more rows."
        )
    if peers < 2:
        raise InputError(f"--peers is {peers}: give 2 or more.")
    return make_plan(text, rows, network.build(peers, parameters, how.seed), peers, how.seed)


def _from_spec(what: WhatOptions, how: DurationOptions) -> tuple[str, Rows]:
    from pairgossip.files import LARGEST_TOML, read_bytes
    from pairgossip.peer.spec.spec import read_spec
    from pairgossip.peer.storage.rows import read_rows

    assert what.spec is not None
    for name in ("kernel", "column", "label", "target"):
        if getattr(what, name) is not None:
            raise InputError(f"--spec says everything about it: leave out --{name}.")
    if how.rate is not None:
        raise InputError("--spec says everything about it: leave out --rate.")
    spec = read_spec(what.spec)
    return read_bytes(what.spec, LARGEST_TOML).decode("utf-8-sig"), read_rows(what.data, spec)


def _from_kernel(what: WhatOptions, how: DurationOptions) -> tuple[str, Rows]:
    import numpy as np

    from pairgossip.swarm.plan import kernel_spec

    if what.kernel is None:
        raise InputError(
            "Say what to average over pairs, such as --kernel gini, or give --spec; "
            "'pairgossip kernels' lists the kernels."
        )
    observations = read_observations(what.data, what.column, what.label)
    check_kernel_labels(observations, what.kernel)
    table = observations.values.reshape(len(observations.values), -1)
    if observations.labels is not None:
        labels = observations.labels
        if isinstance(labels, list):  # text: by its place in the alphabet, as in simulations
            labels = np.unique(labels, return_inverse=True)[1]
        table = np.column_stack([table, np.asarray(labels, dtype=float)])
    text = kernel_spec(
        what.kernel,
        observations.columns,
        what.label,
        table,
        target=canonical(what.target or "v"),
        rate=DEFAULT_RATE if how.rate is None else how.rate,
    )
    return text, tuple(tuple(map(float, row)) for row in table + 0.0)


def _run_options(how: DurationOptions, chaos: ChaosOptions) -> SwarmOptions:
    from pairgossip.swarm.running import SwarmOptions

    seconds = how.seconds
    if seconds is None and how.exchanges is None:
        seconds = DEFAULT_SECONDS
    return SwarmOptions(
        seconds=seconds,
        exchanges=how.exchanges,
        faults=_faults(chaos, seconds),
        seed=how.seed,
        power_safe=not how.fast,
        first_port=how.first_port,
    )


def _faults(chaos: ChaosOptions, seconds: float | None) -> Faults | None:
    from pairgossip.swarm.chaos import Faults, usual_faults

    given = (chaos.kills, chaos.freezes, chaos.partitions)
    if not chaos.chaos and all(number is None for number in given):
        return None
    usual = usual_faults(PART_IN_CHAOS * (DEFAULT_SECONDS if seconds is None else seconds))
    usual_numbers = (usual.kills, usual.freezes, usual.partitions)
    if not chaos.chaos:  # just what was asked for
        usual_numbers = (0, 0, 0)
    kills, freezes, partitions = (
        u if g is None else g for g, u in zip(given, usual_numbers, strict=True)
    )
    window = SECONDS_PER_FAULT * (kills + freezes + partitions)
    if seconds is not None:
        window = PART_IN_CHAOS * seconds
    return Faults(kills, freezes, partitions, window)


def _check_within(within: float | None, plan: Plan) -> None:
    if within is not None and plan.spec.kernel is None:
        raise InputError("A model has no exact value: leave out --within.")
    if within is not None and not within > 0:
        raise InputError(f"--within is {within}: give a number > 0, such as 0.05.")


@dataclass
class _Place:
    folder: Path
    is_kept: bool = True


@contextmanager
def _folder(home: Path | None) -> Iterator[_Place]:
    """Give the folder to make: the one asked for, or one that goes away if all is well."""
    if home is not None:
        yield _Place(home)
        return
    import shutil

    above = Path(tempfile.mkdtemp(prefix="pairgossip-swarm-"))
    place = _Place(above / "swarm", is_kept=False)
    try:
        yield place
    finally:
        if not place.is_kept:
            shutil.rmtree(above, ignore_errors=True)
