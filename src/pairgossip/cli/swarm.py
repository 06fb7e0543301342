"""`pairgossip swarm`: a whole network of real peers on this machine."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from pairgossip.cli.console import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    format_value,
    tell,
    write_json,
    write_line,
    write_rows,
)
from pairgossip.cli.data.observations import RowOptions, check_kernel_labels, read_observations
from pairgossip.cli.options import (
    CHAOS,
    METHOD,
    NETWORK,
    OUTPUT,
    STATISTIC,
    Classes,
    Columns,
    FamilyParameters,
    Flag,
    Json,
    KernelName,
    Label,
    NetworkOptions,
    Seed,
    TargetName,
    Whole,
    given,
)
from pairgossip.errors import InputError, canonical

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

    data: Path
    """A CSV file whose rows are dealt to the peers, as evenly as possible."""
    kernel: KernelName = None
    spec: Path | None = None
    """A specification as `peer init` takes it, instead of --kernel, --column, --label, --classes,
    --target and --rate."""
    column: Columns = None
    label: Label = None
    classes: Classes = None
    target: TargetName = None


@Parameter(name="*", group=METHOD)
@dataclass(frozen=True)
class _DurationOptions:
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
class _ChaosOptions:
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
class _SwarmOutputs:
    """What is kept and shown."""

    home: Path | None = None
    """A folder to make, with the folder and the log of every peer and swarm.json, which stays; by
    default a temporary one, which stays only if the audit fails."""
    within: float | None = None
    """Fail also if a peer is further than this from the exact value, relative to it."""
    json: Json = False


_DEFAULT_SECONDS = 30.0
_DEFAULT_RATE = 10.0
_PART_IN_CHAOS = 0.75
"""Of the seconds of a run; the rest is for peers to recover."""
_SECONDS_PER_FAULT = 0.5
"""Where exchanges, not seconds, say when a run ends."""
_AUDIT_FIGURES = ("records", "exchanges", "parked", "decided", "weight", "weight_due", "violations")
_RUN_FIGURES = (
    *("failures", "faults", "refused", "seconds", "cpu_seconds", "cpu_starting", "memory"),
    "exact",
)

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
    peers: Annotated[Whole, Parameter(group=NETWORK)],
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
    from pairgossip.swarm.running import run_swarm

    plan = _plan(peers, what, network, parameters, how)
    options = _run_options(how, chaos)
    _check_within(outputs.within, plan)
    # Unless a folder is named, one is made that goes away if all is well.
    folder = outputs.home or Path(tempfile.mkdtemp(prefix="pairgossip-swarm-")) / "swarm"
    is_kept = outputs.home is not None
    try:
        with _show_swarm(plan) as on_reading:
            report = run_swarm(plan, folder, options, on_reading)
        is_well = _is_well(report, outputs.within)
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


def _from_spec(what: _WhatOptions, how: _DurationOptions) -> tuple[str, Rows]:
    from pairgossip.files import LARGEST_TOML, read_bytes
    from pairgossip.peer.spec.spec import read_spec
    from pairgossip.peer.storage.rows import read_rows

    assert what.spec is not None
    asked = given(what, how)
    for name in ("kernel", "column", "label", "classes", "target", "rate"):
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
    options = RowOptions(classes=what.classes)
    observations = read_observations([what.data], what.column, what.label, options=options)
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
        target="v" if what.target is None else canonical(what.target),
        rate=_DEFAULT_RATE if how.rate is None else how.rate,
        classes=options.names,
    )
    return text, tuple(tuple(map(float, row)) for row in table + 0.0)


def _run_options(how: _DurationOptions, chaos: _ChaosOptions) -> SwarmOptions:
    from pairgossip.swarm.running import SwarmOptions

    seconds = how.seconds
    if seconds is None and how.exchanges is None:
        seconds = _DEFAULT_SECONDS
    return SwarmOptions(
        seconds=seconds,
        exchanges=how.exchanges,
        faults=_faults(chaos, seconds),
        seed=how.seed,
        power_safe=not how.fast,
        first_port=how.first_port,
    )


def _faults(chaos: _ChaosOptions, seconds: float | None) -> Faults | None:
    from pairgossip.swarm.chaos import Faults, usual_faults

    asked = {name: number for name, number in given(chaos).items() if name != "chaos"}
    if not chaos.chaos and not asked:
        return None
    usual = usual_faults(_PART_IN_CHAOS * (_DEFAULT_SECONDS if seconds is None else seconds))
    kinds = ("kills", "freezes", "partitions")
    counts = {name: getattr(usual, name) if chaos.chaos else 0 for name in kinds} | asked
    window = _SECONDS_PER_FAULT * sum(counts.values())
    if seconds is not None:
        window = _PART_IN_CHAOS * seconds
    return Faults(**counts, window=window)


def _check_within(within: float | None, plan: Plan) -> None:
    if within is not None and plan.spec.kernel is None:
        raise InputError("A model has no exact value: leave out --within.")
    if within is not None and not within > 0:
        raise InputError(f"--within is {within}: give a number > 0, such as 0.05.")


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
    sentence = verdict(report, outputs.within)
    if outputs.json:
        sound = _is_well(report, outputs.within)
        write_json({"sound": sound, "verdict": sentence, **_figures(report, plan)})
        return
    _write_facts(report, plan)
    for problem in (*report.audit.violations, *report.failures):
        write_line(f"Problem: {problem}")
    write_line(f"Verdict: {sentence}")


def verdict(report: Report, within: float | None = None) -> str:
    """Say in one line how the run ended."""
    from pairgossip.swarm.chaos import format_faults

    audit, errors = report.audit, report.errors()
    faults = format_faults(report.faults)
    after = f" after {faults}" if faults else ""
    if audit.violations:
        return f"NOT conserved{after}: {_first(audit.violations)}"
    if report.failures:
        return f"records and mass conserved{after}, but {_first(report.failures)}"
    mass = "" if audit.weight is None else " and the mass"
    found = f"all {audit.records} records{mass} of {audit.exchanges:,} exchanges conserved{after}"
    if errors:
        found += f"; estimates within {max(errors):.2%} of the exact value {report.exact:.6g}"
    if within is None or _is_well(report, within):
        return f"{found}."
    count = len(audit.findings)
    if len(errors) < count:
        return f"{found}, but {count - len(errors)} of {count} peers have NO estimate."
    return f"{found}, which is NOT within {within:.2%}."


def _is_well(report: Report, within: float | None) -> bool:
    """Whether the run is sound and, if asked for, every peer is near the exact value."""
    if within is None or not report.is_sound:
        return report.is_sound
    errors = report.errors()
    return len(errors) == len(report.audit.findings) and max(errors) <= within


def _first(problems: tuple[str, ...]) -> str:
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return problems[0] + more


def intervals_with(report: Report) -> tuple[int, int] | None:
    """Count the peers whose gossip interval holds the exact value, among those that have one."""
    known = (one.errors.gossip_interval for one in report.audit.findings)
    intervals = [ends for ends in known if ends is not None]
    if not intervals or report.exact is None:
        return None
    return sum(low <= report.exact <= high for low, high in intervals), len(intervals)


def sampling_errors(report: Report) -> dict[str, float]:
    """Return the sampling errors of the peers that know theirs."""
    known = {one.name: one.errors.sampling_error for one in report.audit.findings}
    return {name: error for name, error in known.items() if error is not None}


def _write_facts(report: Report, plan: Plan) -> None:
    audit, errors, covered = report.audit, report.errors(), intervals_with(report)
    rows = [
        ("records", f"{audit.records}, each held once" if audit.is_sound else str(audit.records)),
        ("exchanges", f"{audit.exchanges:,}, {report.rate:.0f} per second"),
        ("in flight at the end", f"{audit.parked}, of which {audit.decided} decided"),
        *_kills(report),
        ("frames refused", format_value(report.refused)),
        ("processor", f"{report.cpu_seconds:.1f} s in {report.seconds:.1f} s"
         f", and {report.cpu_starting:.1f} s to start"),
    ]  # fmt: skip
    if audit.weight is not None:
        due = format_value(audit.weight_due, 12)
        rows.append(("weight held", f"{format_value(audit.weight, 12)}, given {due}"))
    if report.memory is not None:
        resident, shared = (size / 1e6 for size in report.memory)
        rows.append(
            ("memory of a peer", f"{resident:.0f} MB, {shared:.0f} MB with shared pages divided")
        )
    if report.exact is not None:
        rows.append((f"exact {plan.spec.kernel}", format_value(report.exact, 10)))
    if errors:
        mean = sum(errors) / len(errors)
        rows.append(("errors of the peers", f"{mean:.2%} on average, {max(errors):.2%} at most"))
    if plan.spec.privacy is not None and report.exact is not None:
        # Gossip errors are to the value of the reports, which need not be near that of the rows.
        rows.append(("privacy", "errors are to the rows' value, noise of the reports included"))
    elif covered is not None:
        rows.append(("gossip intervals with it", f"{covered[0]} of {covered[1]}"))
    if sampling := sampling_errors(report):
        ends = [format_value(end, 2) for end in (min(sampling.values()), max(sampling.values()))]
        rows.append(("sampling errors", " to ".join(ends) + ", as the peers see them"))
    size = f"{len(plan.names)} peers, {len(plan.links)} links"
    write_rows(("swarm", size), rows, numbers=False)


def _kills(report: Report) -> list[tuple[str, str]]:
    """Say what the kills met; nothing where there were none."""
    if not report.faults.get("kills"):
        return []
    count = format_value(report.faults["kills"])
    return [
        ("kills", f"{count}, each of a peer that had exchanged since its start"),
        ("offers in flight then", f"{format_value(report.offers_in_flight)} different ones"),
    ]


def _figures(report: Report, plan: Plan) -> dict[str, Any]:
    audit = report.audit
    return {
        "peers": len(plan.names),
        "links": len(plan.links),
        **{name: getattr(audit, name) for name in _AUDIT_FIGURES},
        **{name: getattr(report, name) for name in _RUN_FIGURES},
        "exchanges_per_second": report.rate,
        "interrupted": report.is_interrupted,
        "offers_in_flight_at_kills": report.offers_in_flight,
        "errors": report.errors(),
        "gossip_intervals_that_hold_it": intervals_with(report),
        "sampling_errors": sampling_errors(report),
        "estimates": {one.name: one.estimate for one in audit.findings},
    }
