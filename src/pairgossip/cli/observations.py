"""The options that say which columns of a file to use, and the observations in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pairgossip.cli.console import tell
from pairgossip.cli.groups import read_groups
from pairgossip.errors import InputError, canonical

if TYPE_CHECKING:
    from pairgossip.arrays import FloatArray
    from pairgossip.tables import Table


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

    def spelled_lines(self, rows: Sequence[int]) -> str:
        """Name up to two lines of the file and count the rest: "lines 3, 17 and 5 more"."""
        from pairgossip.kernels.data import spell_rows

        return spell_rows([self.lines[row] for row in rows]).replace("row", "line")

    def described(self) -> str:
        """Say which columns are used, such as "columns: age, income; label: class"."""
        from pairgossip.tables import listed

        number = "column" if len(self.columns) == 1 else "columns"
        label = "" if self.label is None else f"; label: {self.label}"
        sites = "" if self.group_by is None else f"; sites: {self.group_by}"
        return f"{number}: {listed(self.columns)}{label}{sites}"


def read_observations(
    file: Path,
    columns: Sequence[str] | None,
    label: str | None = None,
    group_by: str | None = None,
) -> Observations:
    """Read columns of numbers, and columns of labels and of sites if they are named.

    Without named columns the file must have exactly one column besides these.
    """
    from pairgossip.tables import read_columns

    table = read_columns(file, ())
    others = [name for name in (label, group_by) if name is not None]
    table.refuse_unknown(others)
    names = _named(columns, table) if columns else [_only_column(table, label, group_by)]
    table.refuse_gaps([*others, *names])
    labels = None if label is None else _labels(table, label)
    groups = read_groups(table, group_by)
    values = table.with_columns(names).matrix()
    return Observations(tuple(names), values, labels, label, groups, group_by, table.lines)


def check_labels(observations: Observations, kernel: str | None) -> None:
    """Refuse text where its order would matter, and say aloud which class the AUC favors."""
    if kernel is None or not isinstance(observations.labels, list):
        return
    classes = sorted(set(observations.labels))
    from pairgossip.kernels import as_kernel

    if as_kernel(kernel).label_sizes:
        raise InputError(
            f"Kernel '{canonical(kernel)}' compares labels by size, but column "
            f"'{observations.label}' holds text such as '{classes[0][:40]}': give numbers instead."
        )
    if canonical(kernel) == "auc" and len(classes) == 2:
        tell(f"positive class: {classes[1]} (labels in alphabetical order)")


def _named(columns: Sequence[str], table: Table) -> list[str]:
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


def _only_column(table: Table, label: str | None, group_by: str | None) -> str:
    """Return the only column there is: to guess which of several is meant invites mistakes."""
    from pairgossip.tables import listed, no_numbers

    named = {"label": label, "site": group_by}
    besides = " and ".join(f"the {what} '{name}'" for what, name in named.items() if name)
    names = [name for name in table.header if name not in named.values()]
    if len(names) == 1:
        return names[0]
    if not names:
        raise InputError(f"{table.path} has no column besides {besides}: add the data.")
    likely = [name for name in names if table.resembles_numbers(name)]
    if not likely:
        raise no_numbers(table, names)
    bad = next(filter(None, map(table.first_bad_cell, likely)), None)
    note = "" if bad is None else f"; {bad}"
    raise InputError(
        f"{table.path} has {len(names)} columns{_besides(named)}: "
        f"choose with --column, one or several of {listed(names)}{note}."
    )


def _besides(named: Mapping[str, str | None]) -> str:
    """Say which columns do not count, such as " besides the label and the site"."""
    others = " and ".join(f"the {what}" for what, name in named.items() if name is not None)
    return f" besides {others}" if others else ""


def _labels(table: Table, label: str) -> Any:
    texts = table.text(label)
    # Sorted as text, 10 would come before 2.
    return table.numbers(label) if table.holds_numbers(label) else texts
