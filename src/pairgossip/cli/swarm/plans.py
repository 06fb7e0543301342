"""The plan of `pairgossip swarm run`: specifications or a kernel, and the rows of peers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

from cyclopts import Parameter

from pairgossip.checks import choice
from pairgossip.cli.console import one_table
from pairgossip.cli.data.observations import check_kernel, read_observations
from pairgossip.cli.data.row_options import RowOptions
from pairgossip.cli.network import FamilyParameters, NetworkOptions, spell
from pairgossip.cli.options import (
    METHOD,
    NEEDED,
    STATISTIC,
    Classes,
    Columns,
    Flag,
    KernelName,
    Label,
    Positive,
    Seed,
    TargetName,
    Whole,
    given_options,
)
from pairgossip.errors import InputError, canonical

if TYPE_CHECKING:
    from pairgossip.peer.protocol.messages import Rows
    from pairgossip.swarm.plan import Plan
    from pairgossip.swarm.study_plan import StudyPlan

_RATES = {"exchange": 10.0, "sums": None}
"""Default rate of exchanges per second and link; None for sums, which have no exchanges."""
_SPECIFIED = ("kernel", "column", "label", "classes", "positive", "target", "algorithm", "rate")
"""Options that specifications replace."""


@Parameter(name="*", group=STATISTIC)
@dataclass(frozen=True)
class WhatOptions:
    """The computation of the peers."""

    data: Annotated[Path, NEEDED]
    """A table whose rows are dealt to the peers, as evenly as possible; of any kind that
    `pairgossip exact` reads."""
    kernel: KernelName = None
    algorithm: str | None = None
    """exchange, the default: rows pass from peer to peer; sums: they stay, and peers are members of
    a study, which answers by masked sums."""
    column: Columns = None
    label: Label = None
    classes: Classes = None
    positive: Positive = None
    target: TargetName = None


@Parameter(name="*", group=METHOD)
@dataclass(frozen=True)
class DurationOptions:
    """The speed of the peers, and the length of the run."""

    rate: float | None = None
    """Exchanges per second and link; 10 by default."""
    seconds: float | None = None
    """Seconds to run; 30 by default, unless --exchanges ends the run. A study ends once all is
    answered, after 120 at the latest by default; with faults, they and its questions are spread
    over this time, and it may go on for 120 more."""
    exchanges: Whole | None = None
    """Run until the whole network has made this number of exchanges."""
    seed: Seed = 0
    """Seed of the network, of the distribution of rows, and of the faults; not of the peers, whose
    clocks are real."""
    first_port: Whole | None = None
    """Listen on this port of 127.0.0.1 and the next ones; by default on free ones."""
    fast: Flag = False
    """Do not wait for the disk: no worse unless the power fails."""
    joins: Whole | None = None
    """Number of members that join the study while it answers, in addition to --peers."""
    leaves: Whole | None = None
    """Number of the first members that leave it while it answers."""


class _Source(NamedTuple):
    """A specification, and its name in messages."""

    name: str
    text: str
    """The specification as TOML."""


@dataclass(frozen=True)
class PlanRequest:
    """The options that determine a plan."""

    peers: int
    what: WhatOptions
    how: DurationOptions
    network: NetworkOptions
    parameters: FamilyParameters

    def plan(self, specs: Sequence[Path]) -> Plan | StudyPlan:
        """Return the plan of specifications, or of a kernel."""
        from pairgossip.peer.specification.spec import parse_spec

        if self.peers < 2:
            raise InputError(f"--peers is {self.peers}: give 2 or more.")
        if not specs:
            return self._of_kernel()
        tables = [str(file) for file in specs if file.suffix.lower() != ".toml"]
        if tables:
            raise InputError(one_table("pairgossip swarm run", tables))
        options = given_options(self.what, self.how)
        for name in _SPECIFIED:
            if name in options:
                raise InputError(f"Specifications say everything about it: leave out --{name}.")
        sources = [_read(file) for file in specs]
        travels = []
        for one in sources:
            try:
                if not parse_spec(one.text).is_sums:
                    travels.append(one)
            except InputError as problem:
                raise problem.at(one.name) from None
        if not travels:
            return self._of_study(sources)
        if len(sources) > 1:
            raise InputError(
                f"{travels[0].name} lets rows travel: give it alone; a study's questions are sums."
            )
        return self._of_rows(travels[0])

    def _of_kernel(self) -> Plan | StudyPlan:
        what, rate = self.what, self.how.rate
        if what.kernel is None:
            raise InputError(
                "Say what to average over pairs, such as --kernel gini, or give specifications; "
                "'pairgossip kernels' lists the kernels."
            )
        usual = _RATES[choice("algorithm", what.algorithm or "exchange", _RATES)]
        if usual is None and rate is not None:
            raise InputError(
                "--rate is how often rows are exchanged, and with sums none are: leave it out."
            )
        text, rows = _write_spec(what, usual if rate is None else rate)
        if usual is None:
            return self._of_study([_Source(f"--kernel {what.kernel}", text)])
        return self._with_rows(text, rows)

    def _of_rows(self, source: _Source) -> Plan:
        from pairgossip.peer.specification.spec import parse_spec
        from pairgossip.peer.storage.rows import read_rows

        return self._with_rows(source.text, read_rows(self.what.data, parse_spec(source.text)))

    def _with_rows(self, text: str, rows: Rows) -> Plan:
        from pairgossip.swarm.plan import make_plan

        for name in ("joins", "leaves"):
            if getattr(self.how, name):
                raise InputError(
                    f"--{name} is for a study's members: leave it out, or ask for sums."
                )
        self._refuse_few(len(rows), self.peers)
        graph = self.network.build(self.peers, self.parameters, self.how.seed)
        return make_plan(text, rows, graph, self.peers, self.how.seed)

    def _of_study(self, sources: Sequence[_Source]) -> StudyPlan:
        from pairgossip.swarm.study_plan import plan_study
        from pairgossip.tables import read_columns

        for name in given_options(self.network, self.parameters):
            raise InputError(
                f"A study's members all talk to each other, on no network: leave {spell(name)} out."
            )
        table, joins = read_columns(self.what.data, ()), self.how.joins or 0
        self._refuse_few(len(table), self.peers + joins)
        leaves = self.how.leaves or 0
        return plan_study(sources, table, self.peers, self.how.seed, joins=joins, leaves=leaves)

    def _refuse_few(self, rows: int, peers: int) -> None:
        if rows < peers:
            raise InputError(
                f"{peers} peers need at least {peers} rows, but {self.what.data} has {rows}: use "
                "fewer peers, or more rows."
            )


def _read(file: Path) -> _Source:
    from pairgossip.files import LARGEST_TOML, read_bytes

    try:
        return _Source(str(file), read_bytes(file, LARGEST_TOML).decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise InputError(f"{file} is not UTF-8 text: save it as TOML in UTF-8.") from None


def _write_spec(what: WhatOptions, rate: float | None) -> tuple[str, Rows]:
    """Write the specification of a kernel; return it with the rows as they travel."""
    import numpy as np

    from pairgossip.swarm.plan import kernel_spec

    assert what.kernel is not None
    options = RowOptions(classes=what.classes, positive=what.positive)
    observations = read_observations([what.data], what.column, what.label, options=options)
    check_kernel(observations, what.kernel)
    table = observations.values.reshape(len(observations.values), -1)
    classes = observations.class_names
    if observations.labels is not None:
        labels = observations.labels
        if isinstance(labels, list):  # text whose order does not matter; other text was refused
            names, labels = np.unique(labels, return_inverse=True)
            classes = [str(name) for name in names] if rate is None else classes
        table = np.column_stack([table, np.asarray(labels, dtype=float)])
    text = kernel_spec(
        what.kernel,
        observations.columns,
        what.label,
        table,
        target="v" if what.target is None else canonical(what.target),
        rate=rate,
        classes=classes,
    )
    return text, tuple(tuple(map(float, row)) for row in table + 0.0)
