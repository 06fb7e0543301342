"""The options that say which columns of a file to use, and the observations in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from cyclopts import Parameter

from pairgossip.checks import UNIFORM_EDGES
from pairgossip.cli.console import tell
from pairgossip.cli.options import NETWORK
from pairgossip.errors import InputError, canonical
from pairgossip.text import format_rows

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from pairgossip.arrays import FloatArray
    from pairgossip.peer.spec.spec import Spec
    from pairgossip.privacy import RandomizedResponse
    from pairgossip.tables import Table

    Options = TypeVar("Options", bound=DataclassInstance)


class Specified(NamedTuple):
    """A run specification and the file it was read from."""

    path: Path
    spec: Spec

    @classmethod
    def read(cls, path: Path, law: str) -> Specified:
        """Read a specification; raise `InputError` for another law than that of peers."""
        from pairgossip.peer.spec.spec import read_spec

        spec = read_spec(path)
        if canonical(law) != UNIFORM_EDGES:
            raise InputError(
                f"{path} is for peers, whose links all ring alike: leave --law out, or run "
                "without --spec."
            )
        return cls(path, spec)

    @property
    def privacy(self) -> RandomizedResponse | None:
        """The mechanism by which rows are reported, None if they are used as they are."""
        from pairgossip.peer.spec.mechanism import mechanism_of

        return None if self.spec.privacy is None else mechanism_of(self.spec)

    def fill_in(self, options: Options, **said: Any) -> Options:
        """Fill options in with what the specification says; refuse those that say otherwise."""
        for name, value in said.items():
            given = getattr(options, name)
            if given is not None and not _is_same(name, given, value):
                wanted = f"no --{name}" if value is None else f"--{name} {_format_option(value)}"
                raise InputError(
                    f"{self.path} asks for {wanted}, not for {_format_option(given)}: leave "
                    f"--{name} out, or change the specification."
                )
        return replace(options, **said)

    def observations(self, file: Path) -> Observations:
        """Read the rows of all members from one file, checked as each member checks its own."""
        import numpy as np

        from pairgossip.peer.storage.rows import read_rows

        spec = self.spec
        rows = np.array(read_rows(file, spec))
        if spec.members is not None and len(rows) != spec.members:
            raise InputError(
                f"{self.path} says members = {spec.members}, but {file} has {len(rows)} rows: "
                "give the rows of all members, or change the specification."
            )
        features = len(spec.columns)
        labels = None if spec.label is None else rows[:, features]
        return Observations(spec.columns, rows[:, :features], labels, spec.label)


@dataclass(frozen=True)
class StepOfPeers:
    """A specification's step size, as a function of the simulator's time.

    Peers count time in rings per link, the simulator in exchanges of the whole network, of which
    there are as many more as there are edges. So this is (step / sqrt(edges)) / sqrt(t); only
    while the links have not rung once on average it is constant, as peers' times below 1 count
    as 1.
    """

    step: float
    edges: int

    def __call__(self, t: Any) -> Any:
        """Return the step size at a time, or at every time of an array."""
        from pairgossip.losses import inverse_sqrt

        return inverse_sqrt(self.step)(t / self.edges) / self.edges


def _is_same(name: str, given: Any, said: Any) -> bool:
    if name == "column":
        return said in (given, [part.strip() for names in given for part in names.split(",")])
    if isinstance(given, str) and name != "label":
        given = canonical(given)
    return bool(given == said)


def _format_option(value: Any) -> str:
    return ",".join(value) if isinstance(value, list) else str(value)


@Parameter(name="*", group=NETWORK)
@dataclass(frozen=True)
class GroupOptions:
    """Sites that hold several rows."""

    group_by: str | None = None
    """Column that says at which site each row is. The nodes of the network are then the sites:
    with --graph-file those of the same names, or numbers, else in the order of the names."""
    construction: str | None = None
    """How sites exchange, with --group-by: lexicographic (unless given; one row at a time, rows of
    one site for free), blow-up (never rows of one site) or whole-sets (all rows at once)."""

    def check(self, spec: Path | None) -> None:
        """Raise `InputError` for a construction without sites, and for sites of a specification."""
        if self.construction is not None and self.group_by is None:
            raise InputError(
                "--construction is about sites that hold several rows: give --group-by, the column "
                "that says the site of each row, too."
            )
        if self.group_by is not None and spec is not None:
            raise InputError(
                f"{spec} is for peers, whose links ring alike however many rows they join: leave "
                "--group-by out, or run without --spec."
            )


class Observations(NamedTuple):
    """One observation per row of a file."""

    columns: tuple[str, ...]
    values: FloatArray
    labels: Any
    """Numbers or text, one per row; None unless asked for."""
    label: str | None = None
    """The column that holds the labels."""
    groups: Any = None
    """The site of every row, as numbers or text; None unless asked for."""
    group_by: str | None = None
    """The column that says the sites."""
    lines: Sequence[int] = ()
    """The line of the file on which every row begins."""

    @property
    def sites(self) -> tuple[str, ...] | None:
        """The names of the sites in their order; None without groups."""
        from pairgossip.graphs import group_labels

        return None if self.groups is None else group_labels(self.groups, len(self.values))[0]

    @property
    def nodes(self) -> int:
        """How many nodes the network has: one per site, or per row."""
        sites = self.sites
        return len(self.values) if sites is None else len(sites)

    def format_lines(self, rows: Sequence[int]) -> str:
        """Name up to two lines of the file and count the rest: "lines 3, 17 and 5 more"."""
        return format_rows([self.lines[row] for row in rows], "line")

    def describe(self) -> str:
        """Say which columns are used, such as "columns: age, income; label: class"."""
        from pairgossip.tables import list_columns

        number = "column" if len(self.columns) == 1 else "columns"
        label = "" if self.label is None else f"; label: {self.label}"
        sites = "" if self.group_by is None else f"; sites: {self.group_by}"
        return f"{number}: {list_columns(self.columns)}{label}{sites}"


def read_observations(
    file: Path,
    columns: Sequence[str] | None,
    label: str | None = None,
    group_by: str | None = None,
    *,
    every_column: bool = False,
) -> Observations:
    """Read columns of numbers, and columns of labels and of sites if they are named.

    Without named columns these are all the others if ``every_column``; else there must be
    exactly one other column.
    """
    from pairgossip.tables import read_columns

    table = read_columns(file, ())
    others = [name for name in (label, group_by) if name is not None]
    table.refuse_unknown(others)
    if columns:
        names = _split_names(columns, table)
    else:
        names = [name for name in table.header if name not in others]
        named = {"label": label, "site": group_by}
        _check_unnamed(table, names, named, every_column=every_column)
    table.refuse_gaps([*others, *names])
    labels = None if label is None else table.labels(label)
    groups = None if group_by is None else _read_groups(table, group_by)
    values = table.with_columns(names).matrix()
    return Observations(tuple(names), values, labels, label, groups, group_by, table.lines)


def check_kernel_labels(observations: Observations, kernel: str | None) -> None:
    """Check the labels for a kernel; see `check_labels`."""
    from pairgossip.kernels import as_kernel

    if kernel is not None:
        measured = as_kernel(kernel)
        owner, sizes = f"Kernel '{measured.name}'", bool(measured.label_sizes)
        check_labels(observations, owner, sizes=sizes, favors=measured.name == "auc")


def check_labels(observations: Observations, owner: str, *, sizes: bool, favors: bool) -> None:
    """Raise `InputError` for text as labels if sizes matter; write which of two is favored."""
    if not isinstance(observations.labels, list):
        return
    classes = sorted(set(observations.labels))
    if sizes:
        raise InputError(
            f"{owner} compares labels by size, but column '{observations.label}' holds text such "
            f"as '{classes[0][:40]}': give numbers instead."
        )
    if favors and len(classes) == 2:
        tell(f"positive class: {classes[1]} (labels in alphabetical order)")


def _split_names(columns: Sequence[str], table: Table) -> list[str]:
    """Split "a,b" into two names unless the file has a column of just that name."""
    from pairgossip.tables import UNNAMED

    names: list[str] = []
    for column in columns:
        parts = [column] if column in table.header else column.split(",")
        names += [part.strip() for part in parts if part.strip()]
    if not names:
        raise InputError("--column is empty: give the name of a column.")
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise InputError(f"Column '{repeated}' is named twice: name it once.")
    return ["" if name == UNNAMED and "" in table.header else name for name in names]


def _check_unnamed(
    table: Table, names: Sequence[str], named: Mapping[str, str | None], *, every_column: bool
) -> None:
    """Raise `InputError` unless the columns that nobody named can be used.

    To guess which of several is meant invites mistakes.
    """
    from pairgossip.tables import list_columns, no_numbers

    others = " and ".join(f"the {what} '{name}'" for what, name in named.items() if name)
    if not names:
        raise InputError(f"{table.path} has no column besides {others}: add the data.")
    if every_column or len(names) == 1:
        return
    likely = [name for name in names if table.resembles_numbers(name)]
    if not likely:
        raise no_numbers(table, names)
    bad = next(filter(None, map(table.first_bad_cell, likely)), None)
    raise InputError(
        f"{table.path} has {len(names)} columns{others and f' besides {others}'}: choose with "
        f"--column, one or several of {list_columns(names)}{'' if bad is None else f'; {bad}'}."
    )


def _read_groups(table: Table, column: str) -> Any:
    """Return the site of every row, numbers or text; 007 is a name."""
    texts = table.text(column)
    has_padding = any(len(text) > 1 and text[0] == "0" and text.isdigit() for text in texts)
    return texts if has_padding else table.labels(column)
