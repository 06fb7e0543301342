"""The runs of "faults": what gossip does when exchanges fail, nodes go away, or nodes lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from pairgossip.arrays import IntArray
from pairgossip.estimation import estimate
from pairgossip.faults import Churn, Faults
from pairgossip.graphs import Graph
from pairgossip_paper.framework import Arguments, Case, Plan, geometric_grid
from pairgossip_paper.paper_setup import network

NETWORKS = ("watts-strogatz", "torus")
ATTACKS = ("constant", "sign", "dissensus", "inside-the-clip")
_QUICK_ATTACKS = ("constant", "inside-the-clip")
"""Those of a quick reproduction, since each has to be compiled."""
METHODS = ("gosta", "clipped-gosta")
NUMBERS = ("one", "some")
"""How many nodes lie: one, or one in a hundred."""
LOST = 0.3
"""Share of exchanges that are lost where what is left is compared with fewer exchanges."""
UP, DOWN = 10.0, 1.0
"""Mean times that nodes are there and away, where they come and go; a unit is n exchanges."""
DELAY = 0.2
"""How long an exchange takes where it takes time, in the same units."""
_SIDES = (26, 16)
"""Of the torus, in full and quick; the other network has as many nodes."""
_EXCHANGES = (1_000_000, 200_000)
_CHECKPOINTS = (40, 20)
_TIMES_TRIALS, _LEAST_TRIALS = 2, 40
_LIED_TRIALS, _LEAST_LIED = 5, 4
"""Of the plan's trials one in so many where nodes lie, and so many at least: all nodes are kept."""
_LIED_TO = 100
"""Nodes per liar, where some lie."""
_SKEW = 1.2
"""Standard deviation of the logarithms of skewed rows."""
_ROWS = 201
"""The child of the seed that rows are drawn from."""


class Way(NamedTuple):
    """A method on some rows, and what goes wrong."""

    label: str
    method: str = "gosta"
    faults: Mapping[str, Any] = {}
    skewed: bool = False
    """Whether rows are lognormal, which are skewed; otherwise they are normal."""
    keeps_nodes: bool = False
    """Whether every node's curve is kept."""


def _losses(method: str) -> dict[str, Way]:
    """Return the runs in which exchanges fail, whole or by half, or nodes come and go."""
    churn = Churn(up=UP, down=DOWN)
    return {
        f"{method}-none": Way("nothing goes wrong", method),
        f"{method}-loss-30": Way(f"{LOST:.0%} lost, exactly once", method, {"loss": LOST}),
        f"{method}-churn": Way("nodes come and go", method, {"churn": churn}),
        f"{method}-delay": Way("exchanges take time", method, {"delay": DELAY}),
        f"{method}-half-1": Way("1% half lost", method, {"half_loss": 0.01}),
    }


def _liars() -> dict[str, Way]:
    """Return the runs of which every node is looked at: where some lie, and where nobody does."""
    ways = {}
    for method in METHODS:
        label = f"{method}, nobody lies"
        ways[f"{method}-nobody"] = Way(label, method, keeps_nodes=True)
        for attack in ATTACKS:
            for number in NUMBERS:
                faults = {"liars": number, "attack": attack}
                label = f"{method}, {number} {'lies' if number == 'one' else 'lie'}"
                ways[f"{method}-{attack}-{number}"] = Way(label, method, faults, keeps_nodes=True)
    return ways


WAYS = {
    **_losses("gosta"),
    "gosta-loss-1": Way("1% lost, exactly once", faults={"loss": 0.01}),
    "gosta-half-01": Way("0.1% half lost", faults={"half_loss": 0.001}),
    "gosta-half-10": Way("10% half lost", faults={"half_loss": 0.1}),
    **_losses("averaging"),
    **_liars(),
    **{
        f"skewed-{method}": Way(f"{method}, lognormal rows", method, skewed=True, keeps_nodes=True)
        for method in METHODS
    },
}
"""All that is run on every network."""


@cache
def build_network(name: str, plan: Plan) -> Graph:
    """Build a network once."""
    return network(name, plan.choose(*_SIDES) ** 2, plan.seed)


def cases(plan: Plan) -> Sequence[Case]:
    """List the runs of all ways on all networks."""
    attacks = _QUICK_ATTACKS if plan.quick else ATTACKS
    keys = [key for key, way in WAYS.items() if way.faults.get("attack", attacks[0]) in attacks]
    return [_case(plan, name, key) for name in NETWORKS for key in keys]


def _case(plan: Plan, name: str, key: str) -> Case:
    way, last = WAYS[key], plan.choose(*_EXCHANGES)
    how = {
        "method": way.method,
        "clock": "async",
        "checkpoints": _grid(way.method, last, plan.choose(*_CHECKPOINTS)),
        "record": "nodes" if way.keeps_nodes else "summary",
    }
    trials = plan.repeat(_TIMES_TRIALS, _LEAST_TRIALS)
    if way.keeps_nodes:
        trials = max(plan.trials // _LIED_TRIALS, _LEAST_LIED)
    problem = partial(_problem, name, plan, way)
    return plan.simulate(f"{name}-{key}", estimate, problem, last, trials, **how)


def _grid(method: str, last: int, count: int) -> IntArray:
    """Return checkpoints: evenly where errors fall geometrically; as many as are left of all."""
    if method == "averaging":
        return np.rint(np.linspace(last / (2 * count), last, 2 * count)).astype(int)
    left = round((1 - LOST) * last)
    return np.union1d(geometric_grid(100, last, count), [last // 10, left])


def _problem(name: str, plan: Plan, way: Way) -> Arguments:
    graph = build_network(name, plan)
    faults = dict(way.faults)
    if "liars" in faults:
        faults["liars"] = 1 if faults["liars"] == "one" else max(2, round(graph.n / _LIED_TO))
    rows = np.random.default_rng([plan.seed, _ROWS]).normal(size=graph.n)
    rows = np.exp(_SKEW * rows) if way.skewed else rows
    arguments: dict[str, Any] = {"data": rows, "graph": graph}
    if way.method != "averaging":
        arguments["kernel"] = "gini"
    return arguments | ({"faults": Faults(**faults)} if faults else {})
