"""Observations, read from the columns of one file or of several files that are sites."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from pairgossip.checks import MISSING, REFUSE, choice
from pairgossip.cli.console import tell
from pairgossip.cli.data.row_options import RowOptions
from pairgossip.cli.data.site_tables import (
    Places,
    locate_rows,
    name_sites,
    read_each,
    read_names,
    read_numbers,
    repeat_sites,
)
from pairgossip.errors import InputError

if TYPE_CHECKING:
    from pairgossip.arrays import FloatArray
    from pairgossip.tables import Table


class Observations(NamedTuple):
    """One observation per row of a file, or of several."""

    columns: tuple[str, ...]
    values: FloatArray
    labels: Any
    """Numbers or text, one per row; None if not asked for."""
    label: str | None = None
    """The column that holds the labels."""
    groups: Any = None
    """The site of every row, as numbers or text; None without sites."""
    group_by: str | None = None
    """The column of sites; None if files are the sites."""
    places: Places = Places([])
    """Where the rows are."""
    classes: tuple[Any, ...] | None = None
    """The declared classes; the labels are their codes."""
    dropped: int = 0
    """Number of rows that were left out because entries are missing."""
    factors: Mapping[str, Any] = MappingProxyType({})
    """Weights, strata and groups of the rows, by the arguments of `estimate`."""
    factor_columns: Mapping[str, str] = MappingProxyType({})
    """The columns of these factors."""

    @property
    def sites(self) -> tuple[str, ...] | None:
        """The names of the sites in their order; None without groups."""
        from pairgossip.graphs import group_labels

        return None if self.groups is None else group_labels(self.groups, len(self.values))[0]

    @property
    def nodes(self) -> int:
        """The number of nodes of the network: one per site, or per row."""
        sites = self.sites
        return len(self.values) if sites is None else len(sites)

    @property
    def class_names(self) -> list[str] | None:
        """The declared classes as text; None if there are none."""
        from pairgossip.kernels.data import format_label

        return None if self.classes is None else [format_label(name) for name in self.classes]

    def name_positive(self, positive: str | None) -> str | None:
        """Return the positive class of a result, by its name if classes are declared."""
        names = self.class_names
        return positive if positive is None or names is None else names[int(positive)]

    def describe(self, positive: str | None = None) -> str:
        """Name the columns that are used, such as "columns: age, income; label: class"."""
        from pairgossip.tables import list_columns

        number = "column" if len(self.columns) == 1 else "columns"
        label = "" if self.label is None else f"; label: {self.label}"
        if self.classes is not None:
            label += f" ({' < '.join(self.class_names or ())})"
        label += "" if positive is None else f"; positive: {positive}"
        label += "".join(f"; {name}: {column}" for name, column in self.factor_columns.items())
        if self.groups is not None:
            label += f"; sites: {self.group_by or 'one per file'}"
        return f"{number}: {list_columns(self.columns)}{label}"


def read_observations(
    files: Sequence[Path],
    columns: Sequence[str] | None,
    label: str | None = None,
    group_by: str | None = None,
    options: RowOptions = RowOptions(),
    *,
    every_column: bool = False,
) -> Observations:
    """Read columns of numbers, and columns of labels and of sites if they are named.

    Without named columns of numbers all other columns are read if ``every_column``; else there must
    be exactly one. Several files are sites.
    """
    import numpy as np

    from pairgossip.tables import read_columns

    missing = choice("treatment of missing values", options.missing, MISSING)
    sites = name_sites(files)
    tables = read_each(files, lambda file: read_columns(file, ()))
    factors = options.factors
    others = [name for name in (label, group_by, *factors.values()) if name is not None]
    if columns:
        names = _split_names(columns, tables[0])
    else:
        _check_same_columns(tables)
        tables[0].refuse_unknown(others)
        names = [name for name in tables[0].header if name not in others]
        strata = factors.get("within", factors.get("between"))
        weight = factors.get("weights")
        named = {"label": label, "site": group_by, "weight": weight, "stratum": strata}
        named["group"] = factors.get("by")
        _check_unnamed(tables[0], names, named, every_column=every_column)
    if label is not None and options.names is not None:
        tables = [replace(table, words={label: options.names}) for table in tables]
    used = [*others, *names]
    read_each(tables, lambda table: table.refuse_unknown(used))
    tables, dropped = _keep_complete(tables, used, missing)
    labels, classes = options.read_labels(tables, label)
    parts = read_each(tables, lambda table: table.with_columns(names).matrix())
    groups = None if group_by is None else read_names(tables, group_by)
    return Observations(
        columns=tuple(names),
        values=np.concatenate(parts),
        labels=labels,
        label=label,
        groups=repeat_sites(sites, parts) if groups is None else groups,
        group_by=group_by,
        places=locate_rows(tables),
        classes=classes,
        dropped=dropped,
        factors=_read_factors(tables, factors),
        factor_columns=factors,
    )


def _read_factors(tables: Sequence[Table], factors: Mapping[str, str]) -> dict[str, Any]:
    """Read weights, strata and groups; refuse wrong ones with their lines."""
    import numpy as np

    values: dict[str, Any] = {
        name: (read_numbers if name == "weights" else read_names)(tables, column)
        for name, column in factors.items()
    }
    if "weights" in values:
        problem = f"Column '{factors['weights']}' holds weights that are not > 0"
        _refuse_rows(tables, values["weights"] <= 0, problem)
    if "within" in values:
        _, strata, sizes = np.unique(values["within"], return_inverse=True, return_counts=True)
        problem = f"Column '{factors['within']}' has strata of one row, which have no pair within"
        _refuse_rows(tables, sizes[strata] < 2, problem)
    return values


def _refuse_rows(tables: Sequence[Table], wrong: Any, problem: str) -> None:
    rows = [row for row, is_wrong in enumerate(wrong) if is_wrong]
    if rows:
        places = locate_rows(tables).describe(rows)
        raise InputError(f"{problem}, in {places}: correct them, or leave these rows out.")


def _check_same_columns(tables: Sequence[Table]) -> None:
    """Raise `InputError` unless all files have the same columns, in any order."""
    first, *others = tables
    for table in others:
        lacking = [name for name in first.header if name not in table.header]
        further = [name for name in table.header if name not in first.header]
        if lacking or further:
            how = f"lacks '{lacking[0]}'" if lacking else f"also has '{further[0]}'"
            raise InputError(
                f"{table.path} has other columns than {first.path}: it {how}; choose the columns "
                "to use with --column."
            )


def _keep_complete(
    tables: Sequence[Table], names: Sequence[str], missing: str
) -> tuple[list[Table], int]:
    """Refuse rows without an entry in these columns, or leave them out with a warning."""
    from pairgossip.kernels.rows import rows_dropped

    if missing == REFUSE:
        read_each(tables, lambda table: table.refuse_gaps(names, may_drop=True))
        return list(tables), 0
    gaps = [table.gaps(names) for table in tables]
    dropped, count = sum(map(len, gaps)), sum(map(len, tables))
    if not dropped:
        return list(tables), 0
    starts = itertools.accumulate(map(len, tables), initial=0)
    lost = [start + row for start, rows in zip(starts, gaps, strict=False) for row in rows]
    tell(f"Warning: {rows_dropped(dropped, count, locate_rows(tables).describe(lost))}")
    empty = next((t for t, rows in zip(tables, gaps, strict=True) if len(rows) == len(t)), None)
    if empty is not None:
        raise InputError(f"All rows of {empty.path} have missing entries: leave the file out.")
    return [table.without(rows) for table, rows in zip(tables, gaps, strict=True)], dropped


def check_kernel(observations: Observations, kernel: str | None) -> None:
    """Raise `InputError` unless a kernel can take the rows, before anything else is made."""
    from pairgossip.kernels import as_kernel, check_data

    if kernel is not None:
        measure, labels = as_kernel(kernel), observations.labels
        if measure.follows_rows and labels is not None:
            _check_class_columns(observations)
        measure.check(check_data(observations.values, labels), labels)


def _check_class_columns(observations: Observations) -> None:
    """Raise `InputError` if columns are named like the classes, which have another order."""
    from pairgossip.kernels.data import format_label
    from pairgossip.kernels.rows import order_by_columns

    declared, labels = observations.classes, observations.labels
    order = sorted(dict.fromkeys(labels)) if declared is None else list(declared)
    found = order_by_columns(observations.columns, order)
    has_order = declared is not None or not isinstance(labels, list)  # text has none
    if found is not None and not (has_order and found == order):
        raise InputError(
            "The columns of scores are named like the classes, whose order is another one, or "
            "none: give {argument}.",
            "classes",
            list(map(format_label, found)),
        )


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
    """Raise `InputError` unless the columns can be used without being named.

    One of several is never guessed: that would invite mistakes.
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
    bad = next(filter(None, map(table.describe_first_bad, likely)), "")
    raise InputError(
        f"{table.path} has {len(names)} columns{others and f' besides {others}'}: choose with "
        f"--column, one or several of {list_columns(names)}{bad and f'; {bad}'}."
    )
