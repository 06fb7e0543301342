"""Better networks: the best law of edges, links to add, and overlays, predicted and measured.

A network's gap predicts how fast averages spread on it. The claims and their tolerances were
written before the first run of this experiment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from pairgossip import networks
from pairgossip.arrays import IntArray
from pairgossip.checks import CONTINUIZED, RANDOM, UNIFORM_EDGES
from pairgossip.estimation import estimate
from pairgossip.graphs import Graph, build, complete, torus
from pairgossip.results import Run
from pairgossip.results.curves import COLORS
from pairgossip_paper import framework as fw
from pairgossip_paper.framework.figures import Sheet
from pairgossip_paper.paper_setup import network, typical_error

_SIZES = {
    "barbell": 40,
    "lollipop": 40,
    "geometric": 100,
    "watts-strogatz": 100,
    "torus": 100,
}
"""Numbers of nodes of the networks whose law is improved; the same in a quick run."""
_BOTTLENECKS = ("barbell", "lollipop")
"""Networks with a bottleneck."""
_DRAWN = ("barbell", "geometric", "watts-strogatz")
_SIDE = 26
"""Side of the torus that links are added to, and that overlays are compared with."""
_NOW, _BEST, _RANDOM, _LINKED = "as it is", "best law", "4 random neighbors", "more links"
"""Names of options: a network as it is, and the improvements that claims are about."""
_LINKS_PER_EDGE = 0.015
"""Number of added links, as a share of the present edges."""
_DRAWS = 12
"""Number of random choices of links that are compared with the best ones."""
_EFOLDS = 12.0
"""Length of a run of averaging, in units of 2 / gap exchanges."""
_POINTS = 25
_LEAST_TRIALS = 40
_ITERATIONS_PER_NODE = 1000
"""Exchanges per node after which GoSta's errors are compared."""
_GAIN_TOLERANCE = 0.15
"""Largest relative distance of a measured gain from the predicted one."""
_TIGHT_GAIN = 5.0
"""Least gain of the best law on a network with a bottleneck."""


def _cases(plan: fw.Plan) -> Sequence[fw.Case]:
    return [
        *(fw.Computation(f"law-{name}", partial(_compute_law, name, plan)) for name in _SIZES),
        fw.Computation("neighbors", partial(_compute_neighbors, plan)),
    ]


# Computations and measurements.


@cache
def build_network(name: str, nodes: int, seed: int) -> Graph:
    """Build a network whose law is to be improved."""
    half = nodes // 2
    if name in _BOTTLENECKS:
        clique, tail = complete(half).edges, np.arange(half - 1, nodes)
        second = np.column_stack([tail[:-1], tail[1:]])  # the tail of a lollipop
        if name == "barbell":
            second = np.concatenate([half + clique, [[0, half]]])
        return Graph(nodes, np.concatenate([clique, second]))
    if name == "geometric":
        return build("random-geometric", nodes, seed=seed)
    return network(name, nodes, seed)


def _compute_law(name: str, plan: fw.Plan) -> fw.Facts:
    graph = build_network(name, _SIZES[name], plan.seed)
    best = networks.best_law(graph)
    return {_NOW: measure(graph, plan), _BEST: measure(graph, plan, best) | {"bound": best.bound}}


def _add_random(graph: Graph, count: int, seed: int) -> Graph:
    rng, present = np.random.default_rng(seed), {tuple(pair) for pair in graph.edges.tolist()}
    links: set[tuple[int, ...]] = set()
    while len(links) < count:
        pair = tuple(sorted(rng.choice(graph.n, 2, replace=False).tolist()))
        links |= {pair} - present
    return Graph(graph.n, np.concatenate([graph.edges, sorted(links)]))


def _compute_neighbors(plan: fw.Plan) -> fw.Facts:
    """Measure a torus, the same with more links, and networks with other neighbors."""
    now, nodes, seed = torus(_SIDE, _SIDE), _SIDE * _SIDE, plan.seed
    links = round(_LINKS_PER_EDGE * now.edge_count)
    graphs = {
        _NOW: now,
        _LINKED: networks.best_links(now, links),
        "small world": network("watts-strogatz", nodes, seed),
        _RANDOM: networks.overlay(nodes, 4, seed=seed),
        "6 random neighbors": networks.overlay(nodes, 6, seed=seed),
        "exponential": networks.overlay(nodes, kind="exponential"),
    }
    drawn = [_add_random(now, links, draw) for draw in range(seed, seed + _DRAWS)]
    return {
        "options": {name: measure(graph, plan) for name, graph in graphs.items()},
        "links": links,
        "drawn": [graph.normalized_gap() / now.normalized_gap() for graph in drawn],
    }


def measure(graph: Graph, plan: fw.Plan, law: Any = UNIFORM_EDGES) -> dict[str, Any]:
    """Return the gap, measured rates of averaging (random, continuized), and GoSta's accuracy."""
    run = _average(plan, graph, law)
    return {
        "nodes": graph.n,
        "edges": graph.edge_count,
        "predicted": graph.normalized_gap(law),
        "measured": _fit_rate(run),
        "continuized": _fit_rate(_average(plan, graph, law, CONTINUIZED)),
        "GoSta": 1 / _gosta_error(plan, graph, law),
        "iterations": run.iterations,
        "error": typical_error(run),
    }


def _average(plan: fw.Plan, graph: Graph, law: Any, schedule: str = RANDOM) -> Run:
    """Let nodes average normal numbers until the gap predicts the same error on any network."""
    gap = graph.normalized_gap(law)
    last = 2 * _EFOLDS / gap
    if schedule == CONTINUIZED:  # its rate is about sqrt(gap / n)
        last *= np.sqrt(gap * graph.n)
    last = max(round(last), 4 * _POINTS)
    points = np.rint(np.linspace(last / _POINTS, last, _POINTS)).astype(int)
    return _simulate(
        plan, graph, law=law, schedule=schedule, method="averaging", checkpoints=points
    )


def _fit_rate(run: Run) -> float:
    """Fit the rate at which the error of a typical trial falls in the second half of averaging."""
    late = slice(_POINTS // 2, None)  # only the slowest mode is left there
    return -fw.fit_line(run.iterations[late], np.log(typical_error(run)[late])).slope


def _gosta_error(plan: fw.Plan, graph: Graph, law: Any) -> float:
    last = _ITERATIONS_PER_NODE * graph.n
    run = _simulate(
        plan, graph, kernel="gini", law=law, clock="async", checkpoints=np.array([last])
    )
    return float(run.error[-1] / run.target)


def _simulate(plan: fw.Plan, graph: Graph, *, checkpoints: IntArray, **how: Any) -> Run:
    """Run gossip on normal numbers."""
    return estimate(
        np.random.default_rng(plan.seed).normal(size=graph.n), graph=graph,
        iterations=int(checkpoints[-1]), checkpoints=checkpoints,
        trials=plan.repeat(1, _LEAST_TRIALS), seed=plan.seed, record="summary", n_jobs=1, **how,
    )  # fmt: skip


# The report.


def find_gains(options: fw.Results) -> dict[str, dict[str, float]]:
    """Return the gain of each option over the first one, the network as it is."""
    now, *others = options
    keys = ("predicted", "measured", "continuized", "GoSta")
    return {name: {key: options[name][key] / options[now][key] for key in keys} for name in others}


def _report(results: fw.Results) -> fw.Section:
    by_network = {name: results[f"law-{name}"] for name in _SIZES}
    gains = {name: find_gains(options) for name, options in by_network.items()}
    neighbors = results["neighbors"]
    overlays = find_gains(neighbors["options"])
    laws = {name: by[_BEST] for name, by in gains.items()}
    tight = " and ".join(f"{laws[name]['measured']:.3g} times (a {name})" for name in _BOTTLENECKS)
    return fw.Section(
        f"Where a network has a bottleneck, the best law of edges makes averaging {tight} as "
        f"fast; on a small world {laws['watts-strogatz']['measured']:.2f} times. Where nodes may "
        f"choose their neighbors, four random ones each are {overlays[_RANDOM]['predicted']:.3g} "
        "times as good as a torus.",
        _notes(neighbors, overlays),
        [_law_picture(by_network)],
        [_gain_table(by_network | {"large torus": neighbors["options"]})],
        [
            *_law_claims(
                laws, {name: options[_BEST]["bound"] for name, options in by_network.items()}
            ),
            *_network_claims(laws, overlays, neighbors["drawn"]),
        ],
    )


def _notes(neighbors: fw.Facts, overlays: fw.Results) -> list[str]:
    drawn = neighbors["drawn"]
    return [
        "A law says how often each edge rings. Predicted is the ratio of gaps "
        "`lambda_2(sum p_e L_e)`, where `L_e` is the Laplacian of one edge; measured is the ratio "
        "of the rates at which the error of averaging falls in a typical trial (the mean of "
        "logarithms over trials).",
        f"GoSta's errors are compared after {_ITERATIONS_PER_NODE:,} exchanges per node. It gains "
        "less than averaging does: its nodes have to meet rows as well, and under the best law of "
        "a bottleneck most nodes exchange rarely. The best law is that of plain averaging, not of "
        "the continuized schedule with its second register.",
        f"{neighbors['links']} links added to the large torus, one after the other where the "
        f"slowest mode differs most, make its gap {overlays[_LINKED]['predicted']:.2f} times as "
        f"large; as many random ones {min(drawn):.2f} to {max(drawn):.2f} times.",
    ]


def _law_picture(by_network: fw.Results) -> fw.Picture:
    sheet = Sheet(len(_DRAWN), sharey=True)
    for panel, name in zip(sheet.panels, _DRAWN, strict=True):
        for (label, curve), color in zip(by_network[name].items(), COLORS[1::-1], strict=True):
            panel.plot(curve["iterations"], curve["error"], label, color, linewidth=1.7)
        title = f"{name}, {by_network[name][_NOW]['nodes']} nodes"
        panel.finish("exchanges", "error of averaging", title, y_once=True)
    sheet.add_legend(columns=2)
    return fw.Picture(
        "best-law",
        "Error of averaging in a typical trial against exchanges, where all edges ring equally "
        "often (as it is), and under the best law. Each run lasts until its gap predicts the same "
        "error.",
        sheet,
    )


def _gain_table(by_network: fw.Results) -> fw.Table:
    return fw.Table.from_records(
        "Networks with the best law of edges, more links, or other neighbors",
        [
            {
                "network": name,
                "nodes": options[option]["nodes"],
                "instead": option,
                "edges": options[option]["edges"],
                **gains,
                "no law exceeds": options[option].get("bound"),
            }
            for name, options in by_network.items()
            for option, gains in find_gains(options).items()
        ],
        "Gains over the network as it is are factors by which the rate of averaging is larger, and "
        "GoSta's error smaller after equally many exchanges.",
    )


def _ratios(gains: fw.Results, key: str, over: str, words: str = "") -> dict[str, float]:
    return {f"{name}{words}": one[key] / one[over] for name, one in gains.items()}


# Claims.


def _law_claims(laws: fw.Results, bounds: Mapping[str, float]) -> list[fw.Claim]:
    improved = {
        name: gains for name, gains in laws.items() if gains["predicted"] > 1 + _GAIN_TOLERANCE
    }
    tight = dict.fromkeys(_BOTTLENECKS, fw.at_least(_TIGHT_GAIN))
    return [
        fw.check(
            "law-certified",
            "No law of edges is more than 2 % faster than the one found.",
            "theory: weak duality (Boyd, Ghosh, Prabhakar and Shah 2006)",
            {name: bounds[name] / gains["predicted"] for name, gains in laws.items()},
            fw.at_most(1.02),
            "The certified bounds are {values:.4f} times the gaps found.",
        ),
        fw.check(
            "law-bottleneck",
            "The best law gains much if a network has a bottleneck, and nothing on a torus, all of "
            "whose edges are alike.",
            "theory",
            {name: gains["predicted"] for name, gains in laws.items()},
            tight | {"torus": fw.within(0.01, of=1)},
            "Predicted gains are {values} (rule: at least {least:g} at a bottleneck).",
            least=_TIGHT_GAIN,
        ),
        fw.check(
            "law-continuized",
            "With the continuized schedule the best law gains less than without it.",
            "ours: its speed also depends on the edge with the largest effective resistance",
            _ratios(improved, "continuized", "measured"),
            fw.less_than(1.0),
            "Its gain is {values:.2f} times that of plain averaging.",
        ),
        fw.check(
            "law-gosta",
            "GoSta gains at a bottleneck, too.",
            "ours",
            {name: laws[name]["GoSta"] for name in _BOTTLENECKS},
            fw.at_least(2.0),
            "Its error is {values:.2f} times smaller.",
        ),
    ]


def _network_claims(
    laws: fw.Results, overlays: fw.Results, drawn: Sequence[float]
) -> list[fw.Claim]:
    return [
        fw.check(
            "gains-measured",
            "Under the best law, and on networks that nodes may choose, averaging is faster by the "
            "factor that the gaps predict.",
            "theory: expected averaging matrices",
            _ratios(laws, "measured", "predicted", ", best law")
            | _ratios(overlays, "measured", "predicted"),
            fw.within(_GAIN_TOLERANCE, of=1),
            "Measured gains are {values:.3f} times the predicted ones (rule: at most {tolerance:g} "
            "from 1).",
        ),
        fw.check(
            "links",
            "A few links where the slowest mode differs most do more than as many random ones.",
            "Ghosh and Boyd (2006)",
            {"torus": overlays[_LINKED]["predicted"] / max(drawn)},
            fw.at_least(1.3),
            "The gap is {values:.2f} times as large as with the best of {draws} random choices.",
            draws=len(drawn),
        ),
        fw.check(
            "overlay",
            "A random network in which every node has four neighbors is many times as good as a "
            "torus, where every node has four as well.",
            "theory: random regular graphs are expanders",
            {"random": overlays[_RANDOM]["predicted"]},
            fw.at_least(4.0),
            "Its gap is {low:.3g} times as large (rule: at least {least:g} times).",
        ),
    ]


NETWORKS = fw.Experiment(
    "networks",
    "Better networks",
    "How much faster is gossip under the best law of edges, with a few more links, and on "
    "networks that nodes may choose, and do gaps predict it?",
    _cases,
    _report,
    place=16.6,
)
