"""The order of exchanges, computed once for all trials of a run.

``random`` edges need nothing. ``ordered`` sweeps need an edge coloring and a relaxation,
``continuized`` averaging needs two constants of the graph, and ``tree`` a spanning tree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import SeedSequence

from pairgossip.algorithms.methods import Method
from pairgossip.arrays import PairArray
from pairgossip.checks import (
    CONTINUIZED,
    ORDERED,
    RANDOM,
    TREE,
    UNIFORM_EDGES,
    is_number,
)
from pairgossip.engine.relaxations import best_relaxation, bound_gap, spectral_radius
from pairgossip.engine.schedule import OrderedSchedule, Schedule, TreeSchedule, random_schedule
from pairgossip.errors import InputError, SlowSchedule, notify
from pairgossip.graphs import Changing, Graph, GroupedGraph
from pairgossip.graphs.distances import bottleneck
from pairgossip.graphs.laws import NamedOrGiven
from pairgossip.graphs.orders import (
    Sweep,
    check_sweep,
    color_edges,
    tree_messages,
)

_MISSED_TURNS = 0.04
"""The probability that an edge misses its turn where observations are swapped along sweeps.

Values from 0.02 to 0.2 work: enough to scatter the observations, few enough to keep the order.
"""
_CAUTION = 0.75
"""The part of the best over-relaxation that is used where new values keep arriving.

The best relaxation of a sweep removes old values fastest but amplifies new ones most.
"""
_LARGEST_RESISTANCES = 4_000
"""The largest number of nodes for the effective resistances of all edges: seconds."""
_EFOLDS_TO_ROUNDING = 36.0
"""The number of e-folds by which errors can shrink before they are rounding errors."""
_LARGEST_GAP = 50_000
"""The largest number of nodes for comparing a sweep with random edges by the spectral gap."""
_MOST_COLORS = 2_000
"""The largest number of colors for measuring the rate of sweeps, in seconds with any edges."""


@dataclass(frozen=True)
class Timetable:
    """A schedule with the numbers computed for it."""

    name: str = RANDOM
    relaxation: float | None = None
    """The relaxation that the user gave or that was found best; None where there is none."""
    rate: float = 0.0
    gain: float = 0.0
    """The rate at which registers are mixed, and the move of the second one in an exchange."""
    sweep: Sweep | None = None
    missed: float = 0.0
    messages: PairArray | None = None
    """The messages along a tree, sender first."""

    @property
    def stride(self) -> float:
        """The part of the way that two nodes move to each other's values; 1/2 takes the mean."""
        return 0.5 if self.relaxation is None else self.relaxation

    @property
    def length(self) -> int | None:
        """The number of iterations after which the schedule ends; None if it does not end."""
        return None if self.messages is None else len(self.messages)

    @property
    def messages_per_exchange(self) -> int:
        """The number of messages per exchange: 2 where both nodes send, 1 along a tree."""
        return 2 if self.messages is None else 1

    def start(self, graph: Graph, law: NamedOrGiven, seed: SeedSequence, walks: int) -> Schedule:
        """Return the schedule of one trial."""
        if self.sweep is not None:
            return OrderedSchedule(graph, self.sweep, self.missed, seed)
        if self.messages is not None:
            return TreeSchedule(graph, self.messages, seed)
        return random_schedule(graph, law, seed, walks)

    def options(self) -> dict[str, Any]:
        """Return the arguments that steps take on this schedule."""
        if self.name == CONTINUIZED:
            return {"rate": self.rate, "gain": self.gain}
        return {} if self.relaxation is None else {"relaxation": self.relaxation}


RANDOM_EXCHANGES = Timetable()


def settle_timetable(
    name: str,
    graph: Graph,
    law: NamedOrGiven,
    method: Method,
    relaxation: float | None = None,
    tree_passes: int = 1,
) -> Timetable:
    """Check a schedule and compute its numbers; ``tree_passes`` is the number of uses of a tree.

    Warn with `SlowSchedule`, and follow random edges, where sweeps would be slower.
    """
    method.check_schedule(name)
    _check_relaxation(relaxation, name, method)
    if graph.n == 1:
        return Timetable(name)
    if name == RANDOM:
        return Timetable(relaxation=relaxation)
    if isinstance(graph, Changing):
        raise InputError(
            f"Schedule '{name}' needs one network, but this one changes: use {{argument}}.",
            "schedule",
            RANDOM,
        )
    if isinstance(graph, GroupedGraph):
        # Where nodes only average, sites have no sets to swap.
        remedy = "" if method.averages else "construction 'whole-sets', or "
        raise InputError(
            f"Schedule '{name}' needs a list of all edges, but there are too many between the rows "
            f"of sites: use {remedy}{{argument}}.",
            "schedule",
            RANDOM,
        )
    if name == CONTINUIZED:
        return _make_continuized(graph, law)
    if law != UNIFORM_EDGES:
        raise InputError(
            f"Schedule '{name}' has no random edges, so it takes no law of edges: leave "
            "{argument} out, or use schedule 'random'.",
            "law",
        )
    if name == TREE:
        return Timetable(TREE, messages=np.tile(tree_messages(graph), (tree_passes, 1)))
    return _make_ordered(graph, method, relaxation)


def _check_relaxation(relaxation: Any, name: str, method: Method) -> None:
    if relaxation is None:
        return
    if not method.relaxes or name in (CONTINUIZED, TREE):
        what = f"Method '{method.name}'" if not method.relaxes else f"Schedule '{name}'"
        raise InputError(f"{what} takes no relaxation: leave {{argument}} out.", "relaxation")
    if not is_number(relaxation) or not 0 < relaxation < 1:
        raise InputError(
            f"A relaxation is a number between 0 and 1 (1/2 takes the mean), not {relaxation!r}: "
            "correct {argument}.",
            "relaxation",
        )


def _make_ordered(graph: Graph, method: Method, chosen: float | None) -> Timetable:
    check_sweep(graph)
    if chosen is None and _has_too_many_edges(graph):
        _warn_slow(f"a sweep takes {graph.edge_count:,} exchanges")
        return RANDOM_EXCHANGES
    sweep = color_edges(graph)
    missed = _MISSED_TURNS if method.swaps else 0.0
    relaxation = chosen
    # Where measuring takes long, check whether few nodes have most turns, as on a star.
    takes_long = graph.n > _LARGEST_GAP or sweep.colors > _MOST_COLORS
    waits_for_hubs = takes_long and sweep.colors > 8 * graph.edge_count / graph.n
    is_slow = chosen is None and waits_for_hubs
    if chosen is None and not is_slow:
        if method.relaxes:
            best = best_relaxation(graph, sweep)
            relaxation = 0.5 + (_CAUTION if method.swaps else 1.0) * (best - 0.5)
        is_slow = _is_slow(graph, sweep, relaxation or 0.5)
    if is_slow:
        neighbors = 2 * graph.edge_count / graph.n
        _warn_slow(f"{sweep.colors} turns for nodes of {neighbors:.3g} neighbors on average")
        return RANDOM_EXCHANGES
    return Timetable(ORDERED, relaxation, sweep=sweep, missed=missed)


def _warn_slow(why: str) -> None:
    notice = SlowSchedule(
        f"Ordered exchanges would be slower than random ones on this graph ({why}), so they are "
        "random."
    )
    notify(notice)


def _has_too_many_edges(graph: Graph) -> bool:
    """Return whether random edges shrink errors to rounding before a sweep is over."""
    if graph.n > _LARGEST_GAP and not graph.is_complete:
        return False
    if not graph.is_complete and graph.degrees.min() < 2 * _EFOLDS_TO_ROUNDING:
        return False  # no gap is larger than the least degree times n / (n - 1)
    return _EFOLDS_TO_ROUNDING / graph.edge_count < graph.normalized_gap() / 2


def _is_slow(graph: Graph, sweep: Sweep, relaxation: float) -> bool:
    """Return whether an exchange of a sweep shrinks errors less than one along a random edge.

    A random edge shrinks them by about half the spectral gap, and by less where nodes have very
    many neighbors.
    """
    if graph.n > _LARGEST_GAP:
        return False
    radius = spectral_radius(sweep, graph.n, relaxation)
    rate = -math.log(max(radius, 1e-300))
    return rate < bound_gap(graph, sweep) / 2 and rate < graph.spectral_gap() / 2


def _make_continuized(graph: Graph, law: NamedOrGiven) -> Timetable:
    """Return the timetable with constants of Even et al. (2021), tuned by Nabli et al. (2023)."""
    if graph.n > _LARGEST_RESISTANCES:
        raise InputError(
            f"Schedule 'continuized' needs the effective resistance of every edge, which takes too "
            f"long beyond {_LARGEST_RESISTANCES:,} nodes: use {{argument}} or random.",
            "schedule",
            ORDERED,
        )
    slowness = 1 / graph.normalized_gap(law)
    resistance = bottleneck(graph, law)
    rate = 1 / (2 * math.sqrt(slowness * resistance))
    return Timetable(CONTINUIZED, rate=rate, gain=math.sqrt(slowness / resistance) / 2)
