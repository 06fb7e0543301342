"""Checks that both front doors make before any work starts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pairgossip.arrays import IntArray
from pairgossip.errors import InputError, canonical, unknown_name
from pairgossip.graphs import (
    FAMILIES,
    Graph,
    GroupedGraph,
    build,
    group_labels,
    match_groups,
)

LEXICOGRAPHIC, BLOW_UP, WHOLE_SETS = "lexicographic", "blow-up", "whole-sets"
CONSTRUCTIONS = (LEXICOGRAPHIC, BLOW_UP, WHOLE_SETS)
"""How sites that hold several rows exchange."""
MOST_PAIRS_WITHIN_SITES = 2**32
"""Above this many pairs of rows within sites, whole sets would take minutes to start."""
CHECKPOINTS_PER_DECADE = 12
LARGEST_NUMBER = 10**15


def checkpoint_grid(iterations: int, checkpoints: Any = None) -> IntArray:
    """Return increasing iteration numbers from 1 on that end with the last iteration."""
    if checkpoints is None:
        checkpoints = max(2, round(CHECKPOINTS_PER_DECADE * np.log10(iterations)) + 1)
    if isinstance(checkpoints, int | float | np.number):
        count = whole("checkpoints", checkpoints)
        grid = np.geomspace(1, iterations, count) if count > 1 else np.array([iterations])
        return np.unique(np.rint(grid).astype(np.int64))
    given = np.asarray(checkpoints)
    if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer) or not given.size:
        raise InputError("Checkpoints must be a number or a list of whole iteration numbers.")
    if given.min() < 1 or given.max() > iterations:
        raise InputError(
            f"Checkpoints must lie between 1 and the {iterations:,} iterations, "
            f"but they run from {given.min():,} to {given.max():,}."
        )
    return np.unique(np.append(given, iterations).astype(np.int64))


def network_of(graph: Any, n: int, seed: int) -> Graph:
    """Return the graph itself, or build the named family on n nodes."""
    if isinstance(graph, str):
        family = FAMILIES.get(canonical(graph))
        return build(graph, n, seed=seed if family and family.is_random else None)
    if not isinstance(graph, Graph):
        kind = type(graph)
        library = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
        raise InputError(
            f"The graph must be a pairgossip Graph or the name of a family, not "
            f"{library}{kind.__qualname__}: convert it with pg.Graph.from_networkx or "
            "pg.Graph.from_scipy."
        )
    if graph.n != n:
        raise InputError(
            f"The data has {n} rows but the graph has {graph.n} nodes: "
            "each node holds exactly one row."
        )
    return graph


class Place(NamedTuple):
    """Where the rows are, and who exchanges with whom."""

    network: Graph
    swapped_sets: IntArray | None
    """The site of every row where sites swap whole sets; else None: nodes are rows."""


def place_of(graph: Any, rows: int, groups: Any, construction: str, seed: int) -> Place:
    """Place one row at every node, or with groups the rows of each site at the site."""
    construction = choice("construction", construction, CONSTRUCTIONS)
    if groups is None:
        if construction != LEXICOGRAPHIC:
            raise InputError(
                f"Construction '{construction}' is about sites that hold several rows: "
                "give {argument}, the site of every row, too.",
                "groups",
            )
        return Place(network_of(graph, rows, seed), None)
    if isinstance(graph, GroupedGraph):
        raise InputError(
            "The graph says already which rows are at which site: leave {argument} out, or give "
            "the graph of the sites.",
            "groups",
        )
    labels, _ = group_labels(groups, rows)
    sites = graph if isinstance(graph, Graph) else network_of(graph, len(labels), seed)
    site_of = match_groups(groups, rows, sites)
    if construction == WHOLE_SETS:
        _refuse_large_sets(site_of)
        return Place(sites, site_of)
    return Place(GroupedGraph(sites, site_of, construction), None)


def _refuse_large_sets(site_of: IntArray) -> None:
    sizes = np.bincount(site_of).astype(np.float64)
    if float(sizes @ sizes) > MOST_PAIRS_WITHIN_SITES:
        raise InputError(
            f"Swapping whole sets of up to {int(sizes.max()):,} rows takes {sizes @ sizes:.0e} "
            "pairs of rows before the first exchange: use {argument}.",
            "construction",
            "lexicographic",
        )


def choice(what: str, value: str, choices: Sequence[str]) -> str:
    """Return the canonical spelling of one of the choices."""
    spelled = canonical(value) if isinstance(value, str) else value
    if spelled not in choices:
        raise unknown_name(what, str(value), choices)
    return spelled


def whole(what: str, value: Any, default: int | None = None) -> int:
    """Return a number >= 1, or the default where none is given."""
    if value is None and default is not None:
        return default
    if isinstance(value, float | np.floating) and float(value).is_integer():
        value = int(value)  # 1e6 means a million
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"The number of {what} must be a whole number >= 1, not {value!r}.")
    if value > LARGEST_NUMBER:
        raise InputError(f"{value} {what} would take years: give at most {LARGEST_NUMBER:,}.")
    return int(value)


def trial_numbers(trials: Any) -> list[int]:
    """Return the numbers of the trials to run: 0 .. trials-1, or those given."""
    if isinstance(trials, Iterable) and not isinstance(trials, str):
        given = list(trials)
        are_whole = all(
            isinstance(number, int | np.integer) and not isinstance(number, bool) and number >= 0
            for number in given
        )
        if not given or not are_whole or len(set(given)) < len(given):
            raise InputError(
                "Trials must be how many to run, or their numbers: different whole numbers >= 0."
            )
        return sorted(map(int, given))
    return list(range(whole("trials", trials)))


def check_jobs(n_jobs: int | None) -> None:
    """Raise `InputError` unless joblib understands the number of workers."""
    whole_number = isinstance(n_jobs, int | np.integer) and not isinstance(n_jobs, bool)
    if n_jobs is not None and (not whole_number or n_jobs == 0):
        raise InputError(
            f"n_jobs must be a number of workers, -1 for all cores, or None, not {n_jobs!r}."
        )
