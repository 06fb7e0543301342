"""Which rows belong to which site, and which of them are joined."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairgossip.errors import InputError, unknown_name
from pairgossip.graphs.catalog import FAMILIES, build
from pairgossip.graphs.graph import Graph

Sites = NDArray[np.int64]
"""The site of every row, from 0 on."""


def group_labels(groups: object, rows: int) -> tuple[tuple[str, ...], Sites]:
    """Return the distinct labels in their order, as text, and the site 0, 1, ... of every row.

    Numbers are put in the order of numbers, everything else in the order of text. Raises
    `InputError` unless there is one label per row and none is missing.

    >>> group_labels(["north", "south", "north"], 3)
    (('north', 'south'), array([0, 1, 0]))
    """
    labels, site_of = np.unique(_check_groups(groups, rows), return_inverse=True)
    return tuple(map(_format_label, labels.tolist())), site_of.astype(np.int64, copy=False)


def match_groups(groups: object, rows: int, sites: Graph) -> Sites:
    """Return the node of `sites` at which each row is held; every node holds at least one.

    Labels are names of nodes where the nodes have names, or the numbers 0 to n - 1 of the nodes.
    Any other labels are given to the nodes of a graph without names in the order of the labels.

    >>> from pairgossip.graphs import path
    >>> match_groups(["b", "c", "a", "c"], 4, path(3))
    array([1, 2, 0, 2])
    """
    labels, place = group_labels(groups, rows)
    if len(labels) > sites.n:
        raise InputError(
            f"There are {len(labels)} different groups for a network of {sites.n} site(s); "
            "use a graph with one node per group."
        )
    nodes = _nodes(labels, sites)
    held = np.bincount(nodes, minlength=sites.n)
    if not held.all():
        raise InputError(_empty_sites(np.flatnonzero(held == 0), sites))
    return nodes[place]


def site_numbers(site_of: object, sites: Graph) -> Sites:
    """Check the number of the site of every row; every site must hold at least one row."""
    given = np.asarray(site_of)
    if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer):
        raise InputError("The site of every row must be a list of whole numbers, one per row.")
    numbers = given.astype(np.int64)
    outside = np.flatnonzero((numbers < 0) | (numbers >= sites.n))
    if outside.size:
        row = outside[0]
        raise InputError(
            f"Row {row} is at site {numbers[row]}, outside the sites 0 to {sites.n - 1}."
        )
    held = np.bincount(numbers, minlength=sites.n)
    if not held.all():
        raise InputError(_empty_sites(np.flatnonzero(held == 0), sites))
    return numbers


def _nodes(labels: tuple[str, ...], sites: Graph) -> Sites:
    """Return the node of every label."""
    if sites.names is not None:
        number = {name: node for node, name in enumerate(sites.names)}
        if all(label in number for label in labels):
            return np.array([number[label] for label in labels], dtype=np.int64)
    if all(_is_index(label, sites.n) for label in labels):
        return np.array([int(label) for label in labels], dtype=np.int64)
    if sites.names is not None:
        stranger = next(label for label in labels if label not in set(sites.names))
        raise unknown_name("site", stranger, sites.names)
    if len(labels) < sites.n:
        raise InputError(
            f"There are only {len(labels)} different groups for a network of {sites.n} sites, and "
            "every site must hold at least one row; use a graph with one node per group."
        )
    return np.arange(sites.n, dtype=np.int64)


def _is_index(label: str, n: int) -> bool:
    return label.isascii() and label.isdecimal() and label == str(int(label)) and int(label) < n


def _empty_sites(empty: NDArray[np.int64], sites: Graph) -> str:
    first = sites.names[empty[0]] if sites.names is not None else empty[0]
    others = f" and {empty.size - 1} more hold" if empty.size > 1 else " holds"
    return (
        f"Site {first}{others} no row; give every site at least one row, or leave it out of the "
        "graph."
    )


def _check_groups(groups: object, rows: int) -> NDArray[Any]:
    """Return the labels as an array of numbers or of text, one per row, none missing."""
    if isinstance(groups, (str, bytes)) or not hasattr(groups, "__len__"):
        raise InputError(
            f"The groups must be a list with one label per row, not {type(groups).__name__}."
        )
    given = _as_array(groups)
    if given.ndim != 1:
        raise InputError(
            f"The groups must be a list with one label per row, not of shape {given.shape}."
        )
    if len(given) != rows:
        raise InputError(
            f"There are {len(given)} group labels for {rows} row(s); give one label per row."
        )
    if rows == 0:
        raise InputError("There are no rows, hence no groups; give at least one row.")
    values = _plain(given)
    missing = _missing(values)
    if missing.size:
        raise InputError(
            f"Row {missing[0]} has no group label ({missing.size} row(s) in all); "
            "give every row the label of its site."
        )
    return values


def _as_array(groups: Any) -> NDArray[Any]:
    # numpy would turn the missing label of ["a", nan] into the text "nan".
    if hasattr(groups, "__array__"):
        return np.asarray(groups)
    try:
        return np.array(list(groups), dtype=object)
    except ValueError:
        raise InputError("Every group label must be one text or one number.") from None


def _plain(given: NDArray[Any]) -> NDArray[Any]:
    """Return numbers as they are, anything else as text; what is missing becomes empty text."""
    if given.dtype.kind in "iufU":
        return given
    if given.dtype != object:
        return np.where(given != given, "", given.astype(str))
    try:
        distinct = set(given.tolist())
    except TypeError:
        raise InputError("Every group label must be one text or one number.") from None
    if distinct and all(map(_is_number, distinct)):
        return np.array(given.tolist())
    spelled = {label: "" if _is_missing(label) else _format_label(label) for label in distinct}
    return np.array([spelled[label] for label in given.tolist()])


def _missing(values: NDArray[Any]) -> NDArray[np.int64]:
    if values.dtype.kind == "f":
        return np.flatnonzero(~np.isfinite(values))
    if values.dtype.kind == "U":
        return np.flatnonzero(np.char.strip(values) == "")
    return np.empty(0, dtype=np.int64)


def _is_number(label: object) -> bool:
    """Tell whether a label is a number; of whole numbers, those that fit into 64 bits."""
    if isinstance(label, (bool, np.bool_)):
        return False
    if isinstance(label, (int, np.integer)):
        return abs(int(label)) < 2**63
    return isinstance(label, (float, np.floating))


def _is_missing(label: Any) -> bool:
    if label is None:
        return True
    try:
        return bool(label != label)
    except (TypeError, ValueError):  # pandas' missing value neither is nor is not itself
        return True


def _format_label(label: object) -> str:
    """Spell a label as the names of nodes are spelled: 3.0 read from a table is node 3."""
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label)


# Graphs from the parts that a file keeps of them.


def restore_graph(
    n: int,
    edges: ArrayLike | None,
    family: str | None,
    parameters: Mapping[str, Any] | None,
    names: Iterable[object] | None,
    positions: ArrayLike | None,
) -> Graph:
    """Rebuild a graph from its parts; `edges=None` means complete.

    The formulas of a family without chance hold again where its edges are exactly these.

    >>> restore_graph(100_000, build("path", 100_000).edges, "path", {}, None, None).diameter()
    99999
    """
    if edges is None:
        return Graph.complete_on(
            n, family=family, parameters=parameters, names=names, positions=positions
        )
    graph = Graph(n, edges, family=family, parameters=parameters, names=names, positions=positions)
    graph._is_certified = _is_as_built(graph)
    return graph


def _is_as_built(graph: Graph) -> bool:
    """Tell whether building the family again gives the same graph; a name alone proves nothing."""
    family = FAMILIES.get(graph.family or "")
    if family is None or family.is_random or set(graph.parameters) != set(family.parameters):
        return False
    try:
        built = build(graph.family or "", graph.n, **graph.parameters)
    except InputError:
        return False
    # The formulas take the parameters as they are: None, or "3", must not pass for a side.
    return (
        built.parameters == graph.parameters
        and built.edge_count == graph.edge_count  # before a long list of them is made
        and np.array_equal(built.edges, graph.edges)
    )
