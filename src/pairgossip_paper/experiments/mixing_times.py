"""The mixing time of a wandering observation: exact, as printed, as corrected."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from pairgossip_paper import framework as fw
from pairgossip_paper.errata.network import printed_mixing_time
from pairgossip_paper.framework.figures import Sheet
from pairgossip_paper.framework.paper import cite
from pairgossip_paper.paper_setup import GRAPHS as PAPER
from pairgossip_paper.paper_setup import NETWORK_COLORS, network, paper_nodes

_GRAPHS = (*PAPER, "star", "cycle", "path")
_QUICK_NODES = 144
_OTHER_NODES = (100, 49)
"""Nodes of the other graphs in a full and in a quick run; a walk on a long path is slow."""
_EPSILON = 0.01
_POINTS = 31


def _cases(plan: fw.Plan) -> Sequence[fw.Case]:
    return [fw.Computation(name, partial(_mixing, name, plan)) for name in _GRAPHS]


def _nodes(name: str, plan: fw.Plan) -> int:
    if name not in PAPER:
        return plan.choose(*_OTHER_NODES)
    return plan.choose(paper_nodes(name), _QUICK_NODES)


def _mixing(name: str, plan: fw.Plan) -> fw.Facts:
    graph = network(name, _nodes(name, plan), plan.seed)
    x, corrected = graph.normalized_gap(), graph.mixing_time(_EPSILON)
    times = fw.geometric_grid(1, 2 * corrected, _POINTS)
    return {
        "nodes": graph.n,
        "gap": x,
        "bipartite": graph.is_bipartite(),
        "exact": graph.exact_mixing_time(_EPSILON),
        "printed": printed_mixing_time(graph, _EPSILON),
        "corrected": corrected,
        "times": times,
        "variation": graph.total_variation(times),
        "bound": math.sqrt(graph.n - 1) / 2 * (1 - x) ** times,
    }


def _report(results: fw.Results) -> fw.Section:
    graphs = {name: results[name] for name in _GRAPHS}
    return fw.Section(
        _headline(graphs),
        [_size_of_printed(graphs)],
        [_variation_picture(graphs)],
        [_table(graphs)],
        [_printed_claim(graphs), _corrected_claim(graphs), _bipartite_claim(graphs)],
    )


def _headline(graphs: fw.Results) -> str:
    printed, exact = ([item[key] for item in graphs.values()] for key in ("printed", "exact"))
    ratios = [item["corrected"] / item["exact"] for item in graphs.values()]
    return (
        "The mixing time, after which a row may be at any node with nearly the same probability, "
        f"is {min(exact):,} to {max(exact):,} iterations on {len(graphs)} networks. The printed "
        f"formula gives {min(printed):.2f} to {max(printed):.2f}, and the corrected one "
        f"{min(ratios):.2f} to {max(ratios):.2f} times the exact time."
    )


def _variation_picture(graphs: fw.Results) -> fw.Picture:
    sheet = Sheet(3, 2, sharey=True)
    for panel, (name, item) in zip(sheet.panels, graphs.items(), strict=True):
        color = NETWORK_COLORS[name]
        panel.plot(item["times"], item["variation"], "exact", color)
        panel.plot(item["times"], item["bound"], "bound, corrected", color, "--")
        panel.level(_EPSILON, f"eps = {_EPSILON:g}", "#444444", linewidth=0.8, legend=False)
        panel.plot([item["exact"]], [_EPSILON], "mixing time, exact", color, "o")
        label = "mixing time, corrected"
        panel.plot([item["corrected"]], [_EPSILON], label, color, "s", mfc="white")
        title = f"{name}, {item['nodes']} nodes"
        panel.finish("iterations t", "total variation", title, y_once=True)
        panel.axes.legend(fontsize="small", frameon=False, loc="lower left")
        panel.axes.set_ylim(_EPSILON / 100, 30)
    return fw.Picture(
        "total-variation",
        "Total variation distance between the law of a walking observation after `t` iterations, "
        f"from the worst start, and the uniform law; the line is at `eps = {_EPSILON:g}`. The "
        "printed mixing times are negative and lie outside every panel.",
        sheet,
    )


def _size_of_printed(graphs: fw.Results) -> str:
    """Describe the printed formula without its sign."""
    by_exact = sorted(PAPER, key=lambda name: graphs[name]["exact"])
    by_printed = sorted(PAPER, key=lambda name: abs(graphs[name]["printed"]))
    order = "in an order other than that of the exact times"
    if by_printed == by_exact[::-1]:
        order = "in the order opposite to that of the exact times"
    elif by_printed == by_exact:
        order = "in the order of the exact times"
    return (
        "The printed formula divides by the logarithm of `c(G) =` `x` `(1 - x/2)` with `x = "
        "lambda/|E|`, a number of at most 1/2, so that it is negative. Its absolute value is no "
        f"mixing time either: it ranks the paper's three graphs {order}, since a smaller gap makes "
        "`|log c(G)|` larger."
    )


def _table(graphs: fw.Results) -> fw.Table:
    return fw.Table.from_records(
        f"Mixing time: iterations until the total variation distance is at most {_EPSILON:g}",
        [
            {
                "graph": name,
                "nodes": item["nodes"],
                "`lambda/|E|`": item["gap"],
                "exact": item["exact"],
                "printed": item["printed"],
                "corrected": item["corrected"],
                "corrected / exact": item["corrected"] / item["exact"],
            }
            for name, item in graphs.items()
        ],
        "From the worst start. Exact: from all eigenvectors of the expected exchange.",
    )


def _printed_claim(graphs: fw.Results) -> fw.Claim:
    assumed = [item for item in graphs.values() if not item["bipartite"]]  # as the paper does
    enough = [item for item in assumed if item["printed"] >= item["exact"]]
    low, high = (pick(item["printed"] for item in assumed) for pick in (min, max))
    return fw.Claim(
        "printed-mixing-time",
        "On a connected, non-bipartite graph, after `tau(eps) = log(sqrt(n)/eps)/log c(G)` "
        "iterations the total variation is at most `eps`.",
        cite("482, 490, 507-508"),
        fw.grade([len(enough) == len(assumed)]),
        f"It is between {low:.3f} and {high:.3f} at `eps = {_EPSILON:g}`, and long enough on "
        f"{len(enough)} of the {len(assumed)} graphs here that are not bipartite; their exact "
        f"times run from {min(item['exact'] for item in assumed):,} to "
        f"{max(item['exact'] for item in assumed):,}.",
    )


def _corrected_claim(graphs: fw.Results) -> fw.Claim:
    slack = 1 + 1e-9
    below = all(
        np.all(np.array(item["variation"]) <= slack * np.array(item["bound"]))
        and item["exact"] <= item["corrected"]
        for item in graphs.values()
    )
    ratios = [item["corrected"] / item["exact"] for item in graphs.values()]
    return fw.Claim(
        "corrected-mixing-time",
        "The total variation is at most `sqrt(n - 1)/2 (1 - lambda/|E|)^t`, so that "
        "`log(sqrt(n - 1)/(2 eps))/(-log(1 - lambda/|E|))` iterations are enough.",
        "theory",
        fw.grade([below]),
        f"On {len(graphs)} graphs, at all times computed; the corrected time is {min(ratios):.2f} "
        f"to {max(ratios):.2f} times the exact one.",
    )


def _bipartite_claim(graphs: fw.Results) -> fw.Claim:
    bipartite = [name for name, item in graphs.items() if item["bipartite"]]
    mixed = [n for n in bipartite if graphs[n]["variation"][-1] <= _EPSILON]
    return fw.Claim(
        "bipartite",
        "Observations mix on every connected graph of three nodes or more, bipartite ones too.",
        "theory: the trace of the Laplacian; the paper's hypothesis, non-bipartite "
        "(proposition 1 of section 3.2), is sufficient, and this is weaker",
        fw.grade([len(mixed) == len(bipartite)]),
        f"{len(mixed)} of the {len(bipartite)} bipartite graphs ({', '.join(bipartite)}) mix: an "
        "exchange leaves all nodes but two in place, so that no walk alternates between two sides.",
    )


MIXING = fw.Experiment(
    "mixing-times",
    "Mixing times",
    "How many iterations does an observation take until it could be at any node with nearly the "
    "same probability, and do the printed and the corrected formula say so?",
    _cases,
    _report,
    place=9,
)
