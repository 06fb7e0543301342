"""The runs of "faults": gossip when exchanges fail, nodes go away, or nodes lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import product
from typing import Any, NamedTuple, Self

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.estimation import estimate
from pairgossip.faults import Churn, Faults
from pairgossip.graphs import Graph
from pairgossip.results import Run
from pairgossip.results.curves import COLORS, EXACT
from pairgossip_paper.framework import Arguments, Case, Plan, geometric_grid
from pairgossip_paper.paper_setup import ErrorCurve, network

NETWORKS = ("watts-strogatz", "torus")
ATTACKS = ("constant", "sign", "dissensus", "inside-the-clip")
_QUICK_ATTACKS = ("constant", "inside-the-clip")
"""The attacks of a quick reproduction; each one has to be compiled."""
METHODS = ("gosta", "clipped-gosta")
LIARS = {"one": 0.0, "some": 0.01}
"""Shares of nodes that lie, by a word for each; at least one node lies."""
LOST = 0.3
"""Share of exchanges lost, in the run that is compared with one of that many fewer exchanges."""
UP, DOWN = 10.0, 1.0
"""Mean times that nodes are present and away, in units of n exchanges."""
DELAY = 0.2
"""The time that an exchange takes, in units of n exchanges."""
_SIDES = (26, 16)
"""Sides of the torus in a full and in a quick run; the other network has as many nodes."""
_EXCHANGES = (1_000_000, 200_000)
_CHECKPOINTS = (40, 20)
_TIMES_TRIALS, _LEAST_TRIALS = 2, 40
_KEPT_DIVISOR, _LEAST_KEPT_TRIALS = 5, 4
"""Divisor of the plan's trials for runs that keep all nodes, and the least number of theirs."""
_SKEW = 1.2
"""Standard deviation of the logarithms of skewed rows."""
_ROWS = 201
"""The child of the seed that draws rows."""


class Failure(NamedTuple):
    """A way in which exchanges fail, and how its curve is drawn."""

    label: str
    faults: Mapping[str, Any]
    color: str
    style: str


FAILURES = {
    "none": Failure("nothing goes wrong", {}, EXACT, "-"),
    "loss-1": Failure("1% lost, exactly once", {"loss": 0.01}, COLORS[5], "--"),
    "loss-30": Failure(f"{LOST:.0%} lost, exactly once", {"loss": LOST}, COLORS[0], "--"),
    "churn": Failure("nodes come and go", {"churn": Churn(up=UP, down=DOWN)}, COLORS[2], "-."),
    "delay": Failure("exchanges take time", {"delay": DELAY}, COLORS[2], ":"),
    "half-01": Failure("0.1% half lost", {"half_loss": 0.001}, COLORS[4], "-"),
    "half-1": Failure("1% half lost", {"half_loss": 0.01}, COLORS[1], "-"),
    "half-10": Failure("10% half lost", {"half_loss": 0.1}, COLORS[3], "-"),
}


class Way(NamedTuple):
    """A method with its rows and faults."""

    method: str
    faults: Mapping[str, Any]
    keeps_nodes: bool = False
    """Whether every node's curve is kept."""
    skewed: bool = False
    """Whether rows are lognormal, which are skewed; otherwise they are normal."""


WAYS = {
    **{
        f"{method}-{key}": Way(method, failure.faults)
        for method, (key, failure) in product(("gosta", "averaging"), FAILURES.items())
    },
    **{f"{method}-nobody": Way(method, {}, keeps_nodes=True) for method in METHODS},
    **{
        f"{method}-{attack}-{number}": Way(method, {"liars": number, "attack": attack}, True)
        for method, attack, number in product(METHODS, ATTACKS, LIARS)
    },
    **{f"{method}-skewed": Way(method, {}, keeps_nodes=True, skewed=True) for method in METHODS},
}
"""All ways that are run on every network."""


@cache
def build_network(name: str, plan: Plan) -> Graph:
    """Build a network once; later calls return the same one."""
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
        trials = max(plan.trials // _KEPT_DIVISOR, _LEAST_KEPT_TRIALS)
    problem = partial(_problem, name, plan, way)
    return plan.simulate(f"{name}-{key}", estimate, problem, last, trials, **how)


def _grid(method: str, last: int, count: int) -> IntArray:
    """Return checkpoints: evenly spaced where errors fall geometrically, else log-spaced."""
    if method == "averaging":
        return np.rint(np.linspace(last / (2 * count), last, 2 * count)).astype(int)
    left = round((1 - LOST) * last)
    return np.union1d(geometric_grid(100, last, count), [last // 10, left])


def _problem(name: str, plan: Plan, way: Way) -> Arguments:
    graph = build_network(name, plan)
    faults = dict(way.faults)
    if "liars" in faults:
        faults["liars"] = max(1, round(LIARS[faults["liars"]] * graph.n))
    rows = np.random.default_rng([plan.seed, _ROWS]).normal(size=graph.n)
    return {
        "data": np.exp(_SKEW * rows) if way.skewed else rows,
        "kernel": None if way.method == "averaging" else "gini",
        "graph": graph,
        "faults": Faults(**faults) if faults else None,
    }


@dataclass(frozen=True)
class FaultCurve(ErrorCurve):
    """Errors in percent of the statistic; for averaging, in standard deviations of the rows.

    If every node is kept, the error is the median over honest nodes and trials, otherwise the root
    mean square.
    """

    @classmethod
    def read(cls, run: Run) -> Self:
        """Read the errors of a run."""
        return cls(run, 1.0 if run.method == "averaging" else abs(float(run.target)) / 100)

    @cached_property
    def error(self) -> FloatArray:
        """One error per checkpoint."""
        if self.run.history is None:
            return super().error
        return np.asarray(np.median(self._node_errors, axis=(0, 2)))[self._sent]

    @property
    def worst(self) -> float:
        """The largest final error of an honest node, root mean square over trials."""
        return float(np.sqrt((self._node_errors[:, -1] ** 2).mean(axis=0)).max())

    @property
    def _node_errors(self) -> FloatArray:
        """Errors of honest nodes, shape (trials, checkpoints, nodes)."""
        assert self.run.history is not None
        honest = slice(None) if self.run.honest is None else self.run.honest
        return np.abs(self.run.history[:, :, honest] - self.run.target) / self.value

    @property
    def share_left(self) -> float:
        """The share of exchanges that took place."""
        return 1.0 if self.run.lost is None else 1 - float(self.run.lost[-1] / self.iterations[-1])

    def after(self, share: float) -> float:
        """Return the error after this share of the exchanges."""
        return float(self.error_at(share * self.iterations[-1], "iterations"))


Curves = Mapping[str, Mapping[str, FaultCurve]]
"""Curves by network and way."""
