"""Queries that count rows in a database: the cells of a summary in the SQL of engines.

An engine must put every number into the same cell as we do, also at edges. So a cell is found by
comparing the number with edges, which are written with all their digits. Only if cells are as wide
as 1, 1/2, 1/4, ... and begin at a multiple of that, it is computed: such products are exact.

No query quotes values from rows. Classes, groups and strata come back as they are, so that the
rules of `summarize` recognize them, and so do rows that cannot be counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.checks import choice
from pairgossip.counts.axes import Axis
from pairgossip.errors import InputError
from pairgossip.text import format_count

if TYPE_CHECKING:
    from pairgossip.summaries.summary import Summary

CELLS, COUNT, PART = ("cell", "cell_2"), "count", "part"
"""Columns of an answer: the cells, the number of their rows, and the column that they are of."""
FACTORS = {"label": "classes", "group": "groups", "stratum": "strata", "weight": "weights"}
"""Columns of an answer that hold factors, and the attributes of a summary that list their values.
"""
OUTSIDE = -1
"""The cell of a number that lies in no cell."""
_MOST_EDGES = 1 << 16
"""Largest number of edges in a query; engines refuse texts of several megabytes."""
_MOST_WHOLE = 2.0**53
"""The number up to which floating point holds all whole numbers."""


class _Search(NamedTuple):
    """The expressions that find the cell of a number."""

    place: str
    """An expression."""
    steps: Sequence[str] = ()
    """The terms added to its place so far, which begins with 0, one query after the other."""
    edges: str = ""
    """The list that the steps look up."""


def _spell(number: float) -> str:
    """Write a number so that engines read the same double, and not a decimal."""
    text = repr(number)
    return text if "e" in text else f"{text}e0"


@dataclass(frozen=True)
class _Dialect:
    """The SQL of an engine."""

    find: Callable[[str, FloatArray], _Search]
    """Return the search for the cell of a number with this name, given the edges."""
    is_nan: str
    """The condition that the number {x} is NaN."""
    quote: str = "`"
    """The sign around names."""
    escape: str = "`"
    """The sign before that one, and before itself, inside names."""
    double: str = "DOUBLE"
    whole: str = "BIGINT"
    read: str = "CAST({name} AS {double})"
    """The expression of a column as numbers."""
    has_floor: bool = True
    spell: Callable[[float], str] = _spell

    def name(self, *parts: str) -> str:
        """Return a name as SQL quotes it; several names are the path of a table."""
        if not parts or not all(isinstance(one, str) and one and "\0" not in one for one in parts):
            named = parts[0] if len(parts) == 1 else parts
            raise InputError(f"Tables and columns are named by text, not {named!r}: correct it.")
        names = [one.replace(self.escape, 2 * self.escape) for one in parts]
        if self.escape != self.quote:
            names = [one.replace(self.quote, self.escape + self.quote) for one in names]
        return ".".join(f"{self.quote}{one}{self.quote}" for one in names)

    def find_cell(self, x: str, axis: Axis) -> _Search:
        """Return the search for a number's cell: NULL without a number, -1 outside of all cells."""
        low, high = map(self.spell, axis.places[[0, -1]].tolist())
        first, scale = (0, 0.0) if axis.ties_known else _find_scale(axis.places)
        if axis.ties_known:
            whole = f"CAST({x} AS {self.whole})"
            lowest = int(axis.places[0])
            search = _Search(
                f"CASE WHEN {x} = {whole} THEN {whole} - ({lowest}) ELSE {OUTSIDE} END"
            )
        elif scale and self.has_floor:
            floor = f"CAST(FLOOR({x} * {self.spell(scale)}) AS {self.whole}) - ({first})"
            search = _Search(f"CASE WHEN {x} < {high} THEN {floor} ELSE {axis.bins - 1} END")
        elif axis.bins <= _MOST_EDGES:
            search = self.find(x, axis.places)
        else:
            raise InputError(
                f"A query would list {axis.bins:,} edges, and engines take texts of about "
                f"{_MOST_EDGES:,}: give fewer cells."
            )
        gap = " OR ".join(filter(None, (f"{x} IS NULL", self.is_nan.format(x=x))))
        inside = f"{x} >= {low} AND {x} <= {high}"
        return search._replace(
            place=f"CASE WHEN {gap} THEN NULL\n"
            f"  WHEN {inside} THEN {search.place}\n"
            f"  ELSE {OUTSIDE} END"
        )


def _find_scale(edges: FloatArray) -> tuple[int, float]:
    """Return the first edge in widths of cells, and cells per 1; 0 if these are not exact."""
    width = float(edges[1]) - float(edges[0])  # of Python floats: infinite without a warning
    if not (math.frexp(width)[0] == 0.5 and 1 / _MOST_WHOLE <= width <= 1):
        return 0, 0.0
    places = edges / width
    are_even = (places == np.rint(places[0]) + np.arange(len(places))).all()
    return (int(places[0]), 1 / width) if are_even and abs(places[0]) < _MOST_WHOLE else (0, 0.0)


# The ways of engines to find the cell of a number among edges; the last is in the last cell.


def _call(function: str, x: str, edges: FloatArray) -> _Search:
    """Let a function of the engine count the edges that are at most the number."""
    listed = ", ".join(map(_spell, edges[:-1].tolist()))
    return _Search(f"{function.format(x=x, edges=listed)} - 1")


def _halve(array: str, element: str, x: str, edges: FloatArray) -> _Search:
    """Compare with the middle of a list, then of that half, and so on: a query for each step."""
    bins = len(edges) - 1
    sizes = [1 << power for power in reversed(range((bins - 1).bit_length()))]
    if not sizes:
        return _Search("0")
    starts = np.append(edges[:-1], np.full(2 * sizes[0] - bins, edges[-1]))
    steps = [
        f"CASE WHEN {x} >= {element.format(edges=f'edges_{x}', at=f'place_{x} + {size}')} "
        f"THEN {size} ELSE 0 END"
        for size in sizes
    ]
    listed = array.format(edges=", ".join(map(_spell, starts.tolist())))
    return _Search(f"LEAST(place_{x}, {bins - 1})", steps, listed)


def _branch(x: str, edges: FloatArray) -> _Search:
    """Compare with the middle edge, then with that of each half, and so on: one expression."""

    def choose(first: int, end: int) -> str:
        if end - first == 1:
            return str(first)
        middle = (first + end) // 2
        low, high = choose(first, middle), choose(middle, end)
        return f"CASE WHEN {x} < {_divide(float(edges[middle]))} THEN {low} ELSE {high} END"

    return _Search(choose(0, len(edges) - 1))


def _divide(number: float) -> str:
    """Write a number with whole numbers and powers of 2, which every engine reads exactly."""
    mantissa, power = math.frexp(number)
    whole, power = int(math.ldexp(mantissa, 53)), power - 53
    while whole and whole % 2 == 0:
        whole, power = whole // 2, power + 1
    text = f"{whole}.0"
    while whole and power:
        step = min(abs(power), 62)
        text += f" {'/' if power < 0 else '*'} {1 << step}.0"
        power += step if power < 0 else -step
    return f"({text})"


DIALECTS = {
    "duckdb": _Dialect(
        partial(_halve, "[{edges}]", "(SELECT edges FROM {edges})[{at} + 1]"),
        "ISNAN({x})",
        quote='"',
        escape='"',
    ),
    "postgres": _Dialect(
        partial(_call, "WIDTH_BUCKET({x}, '{{{edges}}}'::DOUBLE PRECISION[])"),
        "{x} = 'NaN'",
        quote='"',
        escape='"',
        double="DOUBLE PRECISION",
    ),
    "spark": _Dialect(
        partial(_halve, "ARRAY({edges})", "(SELECT edges FROM {edges})[{at}]"), "ISNAN({x})"
    ),
    "bigquery": _Dialect(
        partial(_call, "RANGE_BUCKET({x}, [{edges}])"),
        "IS_NAN({x})",
        escape="\\",
        double="FLOAT64",
        whole="INT64",
    ),
    "sqlite": _Dialect(
        _branch,
        "",  # it keeps NaN as NULL
        read="CASE WHEN TYPEOF({name}) IN ('text', 'blob') THEN 9e999 "
        "ELSE CAST({name} AS REAL) END",
        has_floor=False,
        spell=_divide,  # its older versions do not read all digits exactly
    ),
}
"""The dialects of engines, by name."""


def write_query(
    summary: Summary,
    table: str | Sequence[str],
    columns: str | Sequence[str],
    factors: Mapping[str, str | None],
    dialect: str,
) -> str:
    """Return the query that counts the rows of a table, given the names of its columns.

    ``factors`` are in the order of `FACTORS`, by the names of their arguments.
    """
    engine = DIALECTS[choice("dialect of SQL", dialect, DIALECTS)]
    names = _name_columns(summary, columns, factors)
    axes = [one.lay() for one in summary.cells]
    found = {x: engine.find_cell(x, axis) for x, axis in zip(names, axes, strict=False)}
    steps = [f"edges_{x} AS (SELECT {one.edges} AS edges)" for x, one in found.items() if one.edges]
    cells = [f"{one.place} AS {cell}" for one, cell in zip(found.values(), CELLS, strict=False)]
    kept = [engine.name(key) for key in names if key in FACTORS]
    rows = _look_step_by_step(engine, table, names, found)
    steps.append(f"placed AS (\n{_select([*cells, *kept], rows)})")
    counts = [_count(engine, part, kept) for part in _list_parts(summary)]
    with_steps, all_counts = ",\n".join(steps), "\nUNION ALL\n".join(counts)
    return f"WITH {with_steps}\n{all_counts}\n"


def _name_columns(
    summary: Summary, columns: str | Sequence[str], factors: Mapping[str, str | None]
) -> dict[str, str]:
    """Return the columns of a table, by "x1" and "x2" and the names of factors."""
    given: list[Any] = list(columns) if isinstance(columns, list | tuple) else [columns]
    if len(given) != len(summary.cells):
        raise InputError(
            f"The summary has cells of {format_count(len(summary.cells), 'column')}: name as many "
            "with {argument}.",
            "columns",
        )
    names = {f"x{1 + at}": name for at, name in enumerate(given)}
    for (argument, name), (key, attribute) in zip(factors.items(), FACTORS.items(), strict=True):
        has_values = getattr(summary, attribute) is not None
        if has_values and name is None:
            raise InputError(
                f"The summary has {attribute}: name their column with {{argument}}.", argument
            )
        if name is not None and not has_values:
            raise InputError(f"The summary has no {attribute}: leave {{argument}} out.", argument)
        if name is not None:
            names[key] = name
    return names


def _look_step_by_step(
    engine: _Dialect,
    table: str | Sequence[str],
    names: Mapping[str, str],
    found: Mapping[str, _Search],
) -> str:
    """Return the query for numbers, factors, and the places that are found by steps."""
    path: list[Any] = list(table) if isinstance(table, list | tuple) else [table]
    quoted = {key: engine.name(key) if key in FACTORS else key for key in names}
    places = [f"place_{x}" for x, search in found.items() if search.steps]
    read = []
    for key, column in quoted.items():
        name = engine.name(names[key])
        number = engine.read.format(name=name, double=engine.double)
        read.append(f"{name if key in FACTORS else number} AS {column}")
    zeros = [f"0 AS {place}" for place in places]
    query = f"SELECT {', '.join([*read, *zeros])}\nFROM {engine.name(*path)}"
    for x, search in found.items():
        others = [one for one in (*quoted.values(), *places) if one != f"place_{x}"]
        for step in search.steps:
            query = _select([*others, f"place_{x} + {step} AS place_{x}"], query)
    return query


def _select(items: Sequence[str], rows: str) -> str:
    return f"SELECT {', '.join(items)}\nFROM (\n{rows}\n) AS t"


def _list_parts(summary: Summary) -> list[list[str]]:
    """Return the cells by which rows are counted; once per column, if each has its own table.

    A row without a cell in one column is not counted in any.
    """
    cells = CELLS[: len(summary.cells)]
    if len(summary.layout.tables) == 1:
        return [list(cells)]
    return [
        [f"{at} AS {PART}", f"CASE WHEN {other} >= 0 THEN {own} ELSE {other} END AS {cells[0]}"]
        for at, (own, other) in enumerate((cells, cells[::-1]))
    ]


def _count(engine: _Dialect, cells: Sequence[str], factors: Sequence[str]) -> str:
    """Return the query that counts placed rows."""
    by = [*cells, *factors]
    places = ", ".join(str(1 + at) for at in range(len(by)))
    items = ", ".join([*by, f"COUNT(*) AS {engine.name(COUNT)}"])
    return f"SELECT {items}\nFROM placed\nGROUP BY {places}"
