"""`pairgossip swarm run`: its options, and what they ask for."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from cyclopts import App, Parameter

from pairgossip.checks import choice
from pairgossip.cli.console import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    tell,
    write_json,
    write_line,
    write_rows,
)
from pairgossip.cli.data.observations import check_kernel, read_observations
from pairgossip.cli.data.row_options import RowOptions
from pairgossip.cli.network import FamilyParameters, NetworkOptions
from pairgossip.cli.options import (
    CHAOS,
    METHOD,
    NEEDED,
    OUTPUT,
    STATISTIC,
    Classes,
    Columns,
    Flag,
    Json,
    KernelName,
    Label,
    Positive,
    Seed,
    TargetName,
    Whole,
    given_options,
)
from pairgossip.cli.swarm import report as exchange_report
from pairgossip.cli.swarm import sums_report
from pairgossip.errors import InputError, canonical
from pairgossip.text import format_count

if TYPE_CHECKING:
    from pairgossip.peer.protocol.messages import Rows
    from pairgossip.peer.reading import SwarmReading
    from pairgossip.swarm.chaos import Faults
    from pairgossip.swarm.plan import Plan
    from pairgossip.swarm.running import OnReading, Report, SwarmOptions


@Parameter(name="*", group=STATISTIC)
@dataclass(frozen=True)
class _WhatOptions:
    """What the peers compute."""

    data: Annotated[Path, NEEDED]
    """A table whose rows are dealt to the peers, as evenly as possible; of any kind that
    `pairgossip exact` reads."""
    kernel: KernelName = None
    spec: Path | None = None
    """A specification as `peer init` takes it, instead of --kernel, --column, --label, --classes,
    --positive, --target, --algorithm and --rate."""
    algorithm: str | None = None
    """exchange: rows pass from peer to peer, as unless given; sums: they stay, and peers compute
    masked sums."""
    column: Columns = None
    label: Label = None
    classes: Classes = None
    positive: Positive = None
    target: TargetName = None


@Parameter(name="*", group=METHOD)
@dataclass(frozen=True)
class _DurationOptions:
    """How fast the peers are, and how long they run."""

    rate: float | None = None
    """Exchanges per second and link; 10 unless given."""
    seconds: float | None = None
    """How long to run; 30 unless --exchanges is given. Sums end by themselves, and after 120 at the
    latest unless given."""
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
class _ChaosOptions:
    """Which faults there are."""

    chaos: Annotated[Flag, NEEDED] = False
    """Kill peers (kill -9) and start them again, freeze some, and cut the network in two, at
    random, during the first three quarters of the run; where sums are computed, as soon as they
    can be from the beginning."""
    kills: Whole | None = None
    """How many times to kill a peer that has exchanged since its start; the run goes on until all
    are done. At most a third of the peers are away at a time."""
    freezes: Whole | None = None
    """How many times to freeze a peer."""
    partitions: Whole | None = None
    """How many times to cut the network in two."""


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True)
class _SwarmOutputs:
    """What is kept and shown."""

    home: Path | None = None
    """A folder to make, with the folder and the log of every peer and swarm.json, which stays; by
    default a temporary one, which stays only if the audit fails."""
    within: float | None = None
    """Fail also if a peer is further than this from the exact value, relative to it."""
    json: Json = False


_DEFAULT_SECONDS = 30.0
"""Length of a run unless the command says it."""
_RATES = {"exchange": 10.0, "sums": None}
"""Exchanges per second and link unless the command says it; sums take none."""
_PART_IN_CHAOS = 0.75
"""Part of the seconds of a run in which faults happen; peers recover in the rest."""
_SECONDS_PER_FAULT = 0.5
"""Where exchanges, not seconds, say when a run ends."""


class _Pace(NamedTuple):
    """How long peers take."""

    seconds: float
    """After which a run ends unless the command says it."""
    has_exchanges: bool
    """Whether they exchange all the time, until they are stopped."""


_PACES = {
    "exchange": _Pace(_DEFAULT_SECONDS, has_exchanges=True),
    "sums": _Pace(120.0, has_exchanges=False),
}


swarm_app = App(
    name="swarm",
    help="Run a whole network of real peers on this machine, and audit it.",
    help_format="plaintext",
    default_parameter=Parameter(negative=()),
)


@swarm_app.command(name="run", help_format="markdown")
def run_command(
    *,
    what: _WhatOptions,
    peers: Annotated[Whole, NEEDED],
    network: NetworkOptions = NetworkOptions(),
    parameters: FamilyParameters = FamilyParameters(),
    how: _DurationOptions = _DurationOptions(),
    chaos: _ChaosOptions = _ChaosOptions(),
    outputs: _SwarmOutputs = _SwarmOutputs(),
) -> int:
    """Start real peers on this machine, watch them, stop them, and audit what they did.

    Each peer is a process with its own folder, key, rows and list of members, as `peer init`,
    `peer invite` and `peer join` make them; they talk over 127.0.0.1. At the end the disks of all
    peers are read: every record must be there once, and the mass must be what the exchanges have
    made. Peers that compute sums run until all have the result, which must be the same at all and
    that of the plain sums, signed by all, with no row in another's folder. Ctrl-C stops the peers
    as usual, and the audit is still made.

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
    from pairgossip.swarm.running import run_swarm

    plan = _plan(peers, what, network, parameters, how)
    options = _run_options(how, chaos, plan.spec.algorithm.name)
    if outputs.within is not None and plan.spec.kernel is None:
        raise InputError("A model has no exact value: leave out --within.")
    if outputs.within is not None and not outputs.within > 0:
        raise InputError(f"--within is {outputs.within}: give a number > 0, such as 0.05.")
    # Unless a folder is named, one is made that goes away if all is well.
    folder = outputs.home or Path(tempfile.mkdtemp(prefix="pairgossip-swarm-")) / "swarm"
    is_kept = outputs.home is not None
    try:
        with _show_swarm(plan) as on_reading:
            report = run_swarm(plan, folder, options, on_reading)
        is_well = report.is_well(outputs.within)
        is_kept = is_kept or not is_well  # even if nobody reads the report
        _write_report(report, plan, outputs)
    finally:
        if not is_kept:
            shutil.rmtree(folder.parent, ignore_errors=True)
    if is_kept:
        tell(f"Everything is in {folder}")
    if not is_well:
        return EXIT_FAILED
    return EXIT_INTERRUPTED if report.is_interrupted else 0


def _plan(
    peers: int,
    what: _WhatOptions,
    network: NetworkOptions,
    parameters: FamilyParameters,
    how: _DurationOptions,
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


_SPECIFIED = ("kernel", "column", "label", "classes", "positive", "target", "algorithm", "rate")
"""Options that a specification replaces."""


def _from_spec(what: _WhatOptions, how: _DurationOptions) -> tuple[str, Rows]:
    from pairgossip.files import LARGEST_TOML, read_bytes
    from pairgossip.peer.specification.spec import read_spec
    from pairgossip.peer.storage.rows import read_rows

    assert what.spec is not None
    asked = given_options(what, how)
    for name in _SPECIFIED:
        if name in asked:
            raise InputError(f"--spec says everything about it: leave out --{name}.")
    spec = read_spec(what.spec)
    return read_bytes(what.spec, LARGEST_TOML).decode("utf-8-sig"), read_rows(what.data, spec)


def _from_kernel(what: _WhatOptions, how: _DurationOptions) -> tuple[str, Rows]:
    import numpy as np

    from pairgossip.swarm.plan import kernel_spec

    if what.kernel is None:
        raise InputError(
            "Say what to average over pairs, such as --kernel gini, or give --spec; "
            "'pairgossip kernels' lists the kernels."
        )
    rate = _RATES[choice("algorithm", what.algorithm or "exchange", _RATES)]
    if rate is None and how.rate is not None:
        raise InputError(
            "--rate is how often rows are exchanged, and with sums none are: leave it out."
        )
    options = RowOptions(classes=what.classes, positive=what.positive)
    observations = read_observations([what.data], what.column, what.label, options=options)
    check_kernel(observations, what.kernel)
    table = observations.values.reshape(len(observations.values), -1)
    if observations.labels is not None:
        labels = observations.labels
        if isinstance(labels, list):  # text whose order makes no difference, or it was refused
            labels = np.unique(labels, return_inverse=True)[1]
        table = np.column_stack([table, np.asarray(labels, dtype=float)])
    text = kernel_spec(
        what.kernel,
        observations.columns,
        what.label,
        table,
        target="v" if what.target is None else canonical(what.target),
        rate=rate if how.rate is None else how.rate,
        classes=observations.class_names,
    )
    return text, tuple(tuple(map(float, row)) for row in table + 0.0)


def _run_options(how: _DurationOptions, chaos: _ChaosOptions, algorithm: str) -> SwarmOptions:
    from pairgossip.swarm.running import SwarmOptions

    pace, seconds = _PACES[algorithm], how.seconds
    if not pace.has_exchanges and how.exchanges is not None:
        raise InputError("Peers that compute sums make no exchanges: leave --exchanges out.")
    if seconds is None and how.exchanges is None:
        seconds = pace.seconds
    return SwarmOptions(
        seconds=seconds,
        exchanges=how.exchanges,
        faults=_faults(chaos, seconds, pace),
        seed=how.seed,
        power_safe=not how.fast,
        first_port=how.first_port,
    )


def _faults(chaos: _ChaosOptions, seconds: float | None, pace: _Pace) -> Faults | None:
    from pairgossip.swarm.chaos import Faults, usual_faults

    asked = {name: number for name, number in given_options(chaos).items() if name != "chaos"}
    if not chaos.chaos and not asked:
        return None
    length = seconds if pace.has_exchanges and seconds is not None else _DEFAULT_SECONDS
    usual = usual_faults(_PART_IN_CHAOS * length)
    kinds = ("kills", "freezes", "partitions")
    counts = {name: getattr(usual, name) if chaos.chaos else 0 for name in kinds} | asked
    window = _SECONDS_PER_FAULT * sum(counts.values())
    if not pace.has_exchanges:
        window = 0.0  # sums take moments: faults come as fast as they can from the beginning
    elif seconds is not None:
        window = _PART_IN_CHAOS * seconds
    return Faults(**counts, window=window)


@contextmanager
def _show_swarm(plan: Plan) -> Iterator[OnReading]:
    """Yield a function that shows a reading: in a table on a terminal, in a line otherwise."""
    from pairgossip.progress import PlainConsole
    from pairgossip.swarm.chaos import format_faults
    from pairgossip.watch.terminal import PeersPicture, show_live

    console = PlainConsole(stderr=True)
    heading = f"{len(plan.names)} peers: {plan.spec.kernel or plan.spec.loss}"
    picture = PeersPicture(console, heading, exact=None)

    def show_line() -> None:
        if (text := picture.line()) is not None:
            tell(text)

    live = show_live(console, picture.draw, transient=True)
    with live if console.is_terminal else nullcontext(show_line) as show:

        def on_reading(reading: SwarmReading, faults: Mapping[str, int]) -> None:
            picture.add(reading, f"; {format_faults(faults)}" if faults else "")
            show()

        yield on_reading


def _write_report(report: Report, plan: Plan, outputs: _SwarmOutputs) -> None:
    """Write figures and the verdict."""
    says: Any = {"exchange": exchange_report, "sums": sums_report}[plan.spec.algorithm.name]
    sentence = says.verdict(report, outputs.within)
    if outputs.json:
        sound = report.is_well(outputs.within)
        write_json({"sound": sound, "verdict": sentence, **says.figures(report, plan)})
        return
    size = f"{len(plan.names)} peers, {format_count(len(plan.links), 'link')}"
    write_rows(("swarm", size), says.list_facts(report, plan), numbers=False)
    for problem in (*report.books.violations, *report.failures):
        write_line(f"Problem: {problem}")
    write_line(f"Verdict: {sentence}")
