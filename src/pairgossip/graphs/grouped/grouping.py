"""Placing rows on a network: one at every node, or several at a site by their labels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairgossip.arrays import IntArray
from pairgossip.checks import (
    LEXICOGRAPHIC,
    WHOLE_SETS,
)
from pairgossip.errors import InputError, unknown_name
from pairgossip.graphs.catalog import find_network
from pairgossip.graphs.graph import Graph
from pairgossip.graphs.grouped.graph import GroupedGraph, check_sites, refuse_empty_sites


def group_labels(groups: object, rows: int) -> tuple[tuple[str, ...], IntArray]:
    """Return the distinct labels in their order, as text, and the site 0, 1, ... of every row.

    Numbers are sorted as numbers, everything else as text. Raise `InputError` unless there is one
    label per row and no label is missing.

    >>> group_labels(["north", "south", "north"], 3)
    (('north', 'south'), array([0, 1, 0]))
    """
    labels, site_of = np.unique(_check_groups(groups, rows), return_inverse=True)
    return tuple(map(_format_label, labels.tolist())), site_of.astype(np.int64, copy=False)


def match_groups(groups: object, rows: int, sites: Graph) -> IntArray:
    """Return the node of `sites` at which each row is held; every node holds at least one.

    Labels are names of nodes where the nodes have names, or the numbers 0 to n - 1 of the nodes.
    In a graph without names, other labels are assigned to the nodes in their order.

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
    nodes = _find_nodes(labels, sites)
    refuse_empty_sites(nodes, sites)
    return nodes[place]


def _find_nodes(labels: tuple[str, ...], sites: Graph) -> IntArray:
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


def _check_groups(groups: object, rows: int) -> NDArray[Any]:
    """Return the labels as an array of numbers or of text, one per row, without missing ones."""
    if isinstance(groups, (str, bytes)) or not hasattr(groups, "__len__"):
        raise InputError(
            f"The groups must be a list with one label per row, not {type(groups).__name__}."
        )
    entered = _as_array(groups)
    if entered.ndim != 1:
        raise InputError(
            f"The groups must be a list with one label per row, not of shape {entered.shape}."
        )
    if len(entered) != rows:
        raise InputError(
            f"There are {len(entered)} group labels for {rows} row(s); give one label per row."
        )
    if rows == 0:
        raise InputError("There are no rows to group; give at least one row.")
    values = _as_numbers_or_text(entered)
    missing = _find_missing(values)
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


def _as_numbers_or_text(given: NDArray[Any]) -> NDArray[Any]:
    """Return numbers unchanged, anything else as text; missing labels become empty text."""
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
    text = {label: "" if _is_missing(label) else _format_label(label) for label in distinct}
    return np.array([text[label] for label in given.tolist()])


def _find_missing(values: NDArray[Any]) -> NDArray[np.int64]:
    if values.dtype.kind == "f":
        return np.flatnonzero(~np.isfinite(values))
    if values.dtype.kind == "U":
        return np.flatnonzero(np.char.strip(values) == "")
    return np.empty(0, dtype=np.int64)


def _is_number(label: object) -> bool:
    """Return whether a label is a number; whole numbers must fit into 64 bits."""
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
    except (TypeError, ValueError):  # pandas' missing value has no truth value
        return True


def _format_label(label: object) -> str:
    """Format a label like the names of nodes: 3.0 read from a table is node 3."""
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label)


def grouped(sites: Graph, groups: object, construction: str = LEXICOGRAPHIC) -> GroupedGraph:
    """Build the virtual graph of rows held at the sites of a network.

    Parameters
    ----------
    sites
        The network; a graph with one node per site.
    groups
        One label per row: the name of a node where the nodes have names, or its number. Other
        labels are assigned to the nodes in their order.
    construction
        ``"lexicographic"``, or ``"blow-up"``, where rows of one site never exchange.

    Examples
    --------
    >>> from pairgossip.graphs import cycle
    >>> grouped(cycle(3), ["a", "b", "c", "a"]).rows_of(0)
    array([0, 3])
    """
    check_sites(sites)
    rows = len(groups) if hasattr(groups, "__len__") else 0
    return GroupedGraph(sites, match_groups(groups, rows, sites), construction)


class Placement(NamedTuple):
    """The sites of the rows, and the network of their exchanges."""

    network: Graph
    swapped_sets: IntArray | None
    """The site of every row where sites swap whole sets; None where nodes are rows."""


def place_rows(graph: Any, rows: int, groups: Any, construction: str, seed: int) -> Placement:
    """Place one row at every node, or with groups the rows of each site at the site."""
    if groups is None:
        if construction != LEXICOGRAPHIC:
            raise InputError(
                f"Construction '{construction}' is for sites that hold several rows: also give "
                "{argument}, the site of every row.",
                "groups",
            )
        return Placement(find_network(graph, rows, seed), None)
    if isinstance(graph, GroupedGraph):
        raise InputError(
            "The graph already has the site of every row: leave {argument} out, or give the graph "
            "of the sites.",
            "groups",
        )
    labels, _ = group_labels(groups, rows)
    sites = graph if isinstance(graph, Graph) else find_network(graph, len(labels), seed)
    site_of = match_groups(groups, rows, sites)
    if construction == WHOLE_SETS:
        return Placement(sites, site_of)
    return Placement(GroupedGraph(sites, site_of, construction), None)
