"""`pairgossip swarm run`: its options, and the run."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from cyclopts import App, Parameter

from pairgossip.cli.console import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    tell,
    write_json,
    write_line,
    write_rows,
)
from pairgossip.cli.network import FamilyParameters, NetworkOptions
from pairgossip.cli.options import (
    CHAOS,
    NEEDED,
    OUTPUT,
    STATISTIC,
    Flag,
    Json,
    Whole,
    given_options,
)
from pairgossip.cli.swarm import report as exchange_report
from pairgossip.cli.swarm import study_report
from pairgossip.cli.swarm.plans import DurationOptions, PlanRequest, WhatOptions
from pairgossip.errors import InputError
from pairgossip.text import format_count

if TYPE_CHECKING:
    from pairgossip.peer.reading import SwarmReading
    from pairgossip.swarm.chaos import Faults
    from pairgossip.swarm.running import OnReading, Plan, Report, SwarmOptions


@Parameter(name="*", group=CHAOS)
@dataclass(frozen=True)
class _ChaosOptions:
    """The faults of the run."""

    chaos: Annotated[Flag, NEEDED] = False
    """Kill peers (kill -9) and start them again, freeze some, and cut the network in two, at
    random, during the first three quarters of the run; in a study without --seconds, as early as
    possible."""
    kills: Whole | None = None
    """Number of times to kill a peer; if rows travel, one that has exchanged since its start. The
    run goes on until all are done. At most a third of the peers are away at a time."""
    freezes: Whole | None = None
    """Number of times to freeze a peer."""
    partitions: Whole | None = None
    """Number of times to cut the network in two."""


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True)
class _SwarmOutputs:
    """The files to keep, and the form of the report."""

    home: Path | None = None
    """A folder to make, with the folder and the log of every peer and swarm.json, which stays; by
    default a temporary one, which stays only if the audit fails."""
    within: float | None = None
    """Fail, too, if a peer is further than this from the exact value, relative to it."""
    json: Json = False


_DEFAULT_SECONDS = 30.0
"""Default length of a run, in seconds."""
_SHARE_WITH_FAULTS = 0.75
"""Share of the time of a run in which faults happen; peers recover in the rest."""
_SECONDS_PER_FAULT = 0.5
"""Time in seconds per fault in a run whose length is a number of exchanges."""


class _Pace(NamedTuple):
    """The duration of a kind of run."""

    seconds: float
    """The default length of a run."""
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
    spec: Annotated[tuple[Path, ...], Parameter(group=STATISTIC, negative=())] = (),
    *,
    what: WhatOptions,
    peers: Annotated[Whole, NEEDED],
    network: NetworkOptions = NetworkOptions(),
    parameters: FamilyParameters = FamilyParameters(),
    how: DurationOptions = DurationOptions(),
    chaos: _ChaosOptions = _ChaosOptions(),
    outputs: _SwarmOutputs = _SwarmOutputs(),
) -> int:
    """Start real peers on this machine, watch them, stop them, and audit what they did.

    Each peer is a process with its own folder, key, rows and list of members, as `peer init`,
    `peer invite` and `peer join` make them; they talk over 127.0.0.1. If specifications ask for
    sums, as in `swarm run auc.toml gini.toml --data cohort.csv --peers 5`, the peers are a study's
    members, which ask one question after the other and run until all have all answers. Otherwise
    rows travel, by one specification or --kernel.

    At the end the disks of all peers are read. Where rows travel, every record must be there once,
    and the mass must be what the exchanges have made. Answers of a study must be the same at all
    members, signed by all, and those of the plain sums; each member has shown its words once, and
    no row is in another's folder. Ctrl-C stops the peers as usual, and the audit is still made.

    Exit codes: 0 all is well, 1 the audit failed, 2 something was wrong from the start, 130 it was
    interrupted and all is well.

    For example:

        pairgossip dataset engel --out engel.csv
        pairgossip swarm run --data engel.csv --column income --kernel gini --peers 8

    Parameters
    ----------
    spec
        Specifications as `peer ask` or `peer init` take them, instead of --kernel, --column,
        --label, --classes, --positive, --target, --algorithm and --rate.
    peers
        Number of peers; each gets at least one row.
    """
    from pairgossip.swarm.running import run_swarm

    plan: Any = PlanRequest(peers, what, how, network, parameters).plan(spec)
    options = _run_options(how, chaos, plan.algorithm)
    if outputs.within is not None and not plan.has_exact:
        raise InputError("A model has no exact value: leave out --within.")
    if outputs.within is not None and not outputs.within > 0:
        raise InputError(f"--within is {outputs.within}: give a number > 0, such as 0.05.")
    # Without --home, a temporary folder is made, and removed if all is well.
    folder = outputs.home or Path(tempfile.mkdtemp(prefix="pairgossip-swarm-")) / "swarm"
    is_kept = outputs.home is not None
    try:
        with _show_swarm(plan) as on_reading:
            report = run_swarm(plan, folder, options, on_reading)
        is_well = report.is_well(outputs.within)
        is_kept = is_kept or not is_well  # also if writing the report fails
        _write_report(report, plan, outputs)
    except InputError:
        if not is_kept and any(folder.glob("*.log")):  # they show why a peer did not start
            is_kept = True
            tell(f"Everything is in {folder}")
        raise
    finally:
        if not is_kept:
            shutil.rmtree(folder.parent, ignore_errors=True)
    if is_kept:
        tell(f"Everything is in {folder}")
    if not is_well:
        return EXIT_FAILED
    return EXIT_INTERRUPTED if report.is_interrupted else 0


def _run_options(how: DurationOptions, chaos: _ChaosOptions, algorithm: str) -> SwarmOptions:
    from pairgossip.swarm.running import SwarmOptions

    pace, seconds = _PACES[algorithm], how.seconds
    if not pace.has_exchanges and how.exchanges is not None:
        raise InputError("A study's members make no exchanges: leave --exchanges out.")
    if seconds is None and how.exchanges is None and pace.has_exchanges:
        seconds = pace.seconds
    faults = _faults(chaos, seconds, is_brief=not pace.has_exchanges)
    if not pace.has_exchanges:  # it ends by itself, and has as much time again after the last fault
        last = 0.0 if faults is None else faults.window + pace.seconds
        if seconds is None:
            seconds = pace.seconds
        elif seconds > 0:  # other numbers are refused later
            seconds = max(seconds, last)
    return SwarmOptions(
        seconds=seconds,
        exchanges=how.exchanges,
        faults=faults,
        seed=how.seed,
        power_safe=not how.fast,
        first_port=how.first_port,
    )


def _faults(chaos: _ChaosOptions, seconds: float | None, *, is_brief: bool) -> Faults | None:
    from pairgossip.swarm.chaos import Faults, usual_faults

    numbers = {name: number for name, number in given_options(chaos).items() if name != "chaos"}
    if not chaos.chaos and not numbers:
        return None
    usual = usual_faults(_SHARE_WITH_FAULTS * (_DEFAULT_SECONDS if seconds is None else seconds))
    kinds = ("kills", "freezes", "partitions")
    counts = {name: getattr(usual, name) if chaos.chaos else 0 for name in kinds} | numbers
    window = _SECONDS_PER_FAULT * sum(counts.values())
    if seconds is not None:
        window = _SHARE_WITH_FAULTS * seconds
    elif is_brief:
        window = 0.0  # sums take moments: faults follow each other from the beginning
    return Faults(**counts, window=window)


@contextmanager
def _show_swarm(plan: Plan[Any]) -> Iterator[OnReading]:
    """Yield a function that shows a reading: in a table on a terminal, in a line otherwise."""
    from pairgossip.progress import PlainConsole
    from pairgossip.swarm.chaos import format_faults
    from pairgossip.watch.terminal import PeersPicture, show_live

    console = PlainConsole(stderr=True)
    heading = f"{len(plan.names)} peers: {plan.measure}"
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


def _write_report(report: Report[Any], plan: Plan[Any], outputs: _SwarmOutputs) -> None:
    """Write the figures and the verdict."""
    says: Any = {"exchange": exchange_report, "sums": study_report}[plan.algorithm]
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
