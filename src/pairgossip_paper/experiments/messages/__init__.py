"""Fewer messages: those that the paper's method, tracking, sketches and collecting need.

The claims and their tolerances were written before the first run, except for one. Theory is
compared within the scatter over trials since a run showed how large it is on the star, where the
error comes from the few nodes that have not exchanged yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import numpy as np

from pairgossip.theory import fewest_messages
from pairgossip_paper import framework as fw
from pairgossip_paper.experiments.messages.networks import DECLINING, RANGE, WAYS, WayCurve, cases
from pairgossip_paper.experiments.messages.pictures import (
    LEVEL,
    Curves,
    overview_picture,
    sent_picture,
    theory_picture,
)
from pairgossip_paper.paper_setup import FRANCS, describe_price, format_price, price, read_curves

_LEVELS = (0.1, LEVEL, 0.001)
_SKETCH_GAIN = 8.0
"""Least ratio of GoSta's exchanges to those of a sketch along sweeps."""
_TRACKING_GAINS = {"torus": 3.0, "grid": 3.0, "cycle": 3.0, "watts-strogatz": 2.0}
"""Least ratio of GoSta's exchanges to those of tracking along sweeps, by network."""
_FLOODING_RATIO = 2.0
"""Largest ratio of a sketch's exchanges without a declared range to those with one."""
_ROUNDING = 1e-9
"""Largest relative difference of errors that differ by rounding alone."""
_THEORY_TOLERANCE = 0.25
"""Largest relative distance of a measured error from theory, unless noise explains more."""
_STANDARD_ERRORS = 3.0
"""Largest distance of a measured error from theory put down to chance, in standard errors."""
_LINEAR_ERROR = 0.05
"""Relative error below which a statistic is nearly linear in the averages."""


class _Gain(float):
    """Factor by which one way needs fewer messages than another; 0 if it missed the level."""

    is_bound: bool
    """Whether the other way missed the level, so that the factor is at least this."""

    def __new__(cls, times: float, *, is_bound: bool = False) -> Self:
        gain = super().__new__(cls, times)
        gain.is_bound = is_bound
        return gain

    def __format__(self, style: str) -> str:
        if not self:
            return "an unknown number of"
        return f"{'more than ' if self.is_bound else ''}{float(self):{style}}"


def _gain(ours: WayCurve, theirs: WayCurve) -> _Gain:
    mine, other = ours.needed(LEVEL), theirs.needed(LEVEL)
    if mine is None:
        return _Gain(0.0)
    last = float(theirs.messages[-1])
    return _Gain((last if other is None else other) / mine, is_bound=other is None)


def _report(results: fw.Results) -> fw.Section:
    facts, curves = results["facts"], read_curves(WayCurve, results, WAYS)
    return fw.Section(
        _headline(curves["torus"], facts["torus"]["nodes"]),
        [_about(facts), _about_prices(curves), _about_bytes(curves)],
        [
            overview_picture(curves, facts),
            sent_picture(curves, facts, "messages"),
            sent_picture(curves, facts, "bytes"),
            theory_picture(curves, facts),
        ],
        [_price_table(curves), _network_table(facts)],
        [
            _sketch_claim(curves),
            _range_claim(curves),
            _tracking_claim(curves),
            _tree_claim(curves, facts),
            _bytes_claim(curves),
            _star_claim(curves, facts),
            _continuized_claim(curves),
            _theory_claim(curves, facts),
            _collect_claim(curves),
            _wall_claim(curves, facts),
        ],
    )


def _headline(by: Mapping[str, WayCurve], nodes: int) -> str:
    way, best = _best(by)
    gosta, fewest, tree = (
        describe_price(curve.needed(LEVEL), curve.messages[-1])
        for curve in (by["gosta"], best, by["sketch-tree"])
    )
    return (
        f"On a torus of {nodes} nodes, the paper's method sends {gosta} messages until the error "
        f"of the nodes is below {100 * LEVEL:g} %; the best way of gossip ({WAYS[way].label}) "
        f"sends {fewest}, and a sketch along a tree {tree}."
    )


def _about(facts: fw.Facts) -> str:
    sizes = ", ".join(f"{name} ({fact['nodes']})" for name, fact in facts.items())
    numbers = next(iter(facts.values()))["numbers"]
    return (
        "Gini mean difference of incomes, one per node: quantiles of one distribution, dealt at "
        f"random. Networks, with their nodes: {sizes}. GoSta is asynchronous, as is tracking, "
        "which gossips the changes of every node's own mean. A sketch is a vector of "
        f"{numbers} numbers (counts, sums and squares in 16 bins of {RANGE[0]:g} to {RANGE[1]:g} "
        f"{FRANCS}) that nodes average, and from whose mean they read the statistic. Exchanges "
        "follow random edges, sweeps over all edges (ordered, over-relaxed), random edges with a "
        "second register (continuized), or a tree up and down. An exchange is two messages, three "
        "where rows are collected, and along a tree one. Errors are root mean squares over nodes "
        "and trials, whose number is in the table of prices, relative to the statistic."
    )


def _about_prices(curves: Curves) -> str:
    listed = [
        f"{name} {format_price(by['gosta'].needed(LEVEL))}, {format_price(best.needed(LEVEL))} "
        f"({WAYS[way].label}) and {format_price(by['sketch-tree'].needed(LEVEL))} (tree)"
        for name, by in curves.items()
        for way, best in [_best(by)]
    ]
    return (
        f"Messages until the error stays below {LEVEL:g}, by GoSta, by the best way of gossip, and "
        f"along a tree: {'; '.join(listed)}."
    )


def _best(by: Mapping[str, WayCurve]) -> tuple[str, WayCurve]:
    """Return the way of gossip with the fewest messages."""
    gossip = {way: curve for way, curve in by.items() if way != "sketch-tree"}
    return min(gossip.items(), key=lambda item: item[1].needed(LEVEL) or np.inf)


def _about_bytes(curves: Curves) -> str:
    by = curves["torus"]
    listed = [
        f"{WAYS[way].label} {format_price(curve.needed(LEVEL, 'bytes'))}"
        for way, curve in by.items()
    ]
    return (
        "By bytes of payload the order is different: a message of a sketch is "
        f"{by['sketch'].bytes_per_message / by['gosta'].bytes_per_message:.3g} times as long as "
        f"one of GoSta, which carries two numbers. Bytes to {LEVEL:g} on the torus: "
        f"{', '.join(listed)}. Frames and signatures are not counted; with a few hundred bytes of "
        "them per message, only messages matter."
    )


def _price_table(curves: Curves) -> fw.Table:
    return fw.Table.from_records(
        "Messages and bytes to a relative error",
        [
            {
                "network": name,
                "way": WAYS[way].label,
                "trials": curve.run.trials,
                "bytes per message": curve.bytes_per_message,
                **{f"messages to {level:g}": price(curve.needed(level)) for level in _LEVELS},
                f"bytes to {LEVEL:g}": price(curve.needed(LEVEL, "bytes")),
                "final error": curve.final,
            }
            for name, by in curves.items()
            for way, curve in by.items()
        ],
        "On the star, ordered exchanges are forced, without over-relaxation. Where all rows are "
        "collected, messages grow with the rows that only one of the two nodes knows.",
    )


def _network_table(facts: fw.Facts) -> fw.Table:
    return fw.Table.from_records(
        "Networks: the fewest messages, and sweeps",
        [
            {
                "network": name,
                "nodes": fact["nodes"],
                "edges": fact["edges"],
                "fewest messages": fewest_messages(fact["nodes"]),
                "colors": fact.get("colors"),
                "relaxation": fact.get("relaxation"),
                "error of the sketch": fact["sketch_error"],
            }
            for name, fact in facts.items()
        ],
        "Where colors are missing, sweeps would be slower than random exchanges, which are made "
        "instead.",
    )


def _sketch_claim(curves: Curves) -> fw.Claim:
    return fw.check(
        "messages-sketch",
        "A sketch that is averaged along ordered exchanges takes at most an eighth of GoSta's "
        f"exchanges to an error of {LEVEL:g}, on the torus and on the Watts-Strogatz graph.",
        "theory: means are averaged at a geometric rate, pairs at that of `1/sqrt(t)`",
        {
            name: _gain(by["sketch-ordered"], by["gosta"])
            for name, by in curves.items()
            if name not in DECLINING
        },
        dict.fromkeys(("torus", "watts-strogatz"), fw.at_least(_SKETCH_GAIN)),
        "It takes {values} times fewer (rule: at least {least:g} on the two).",
        least=_SKETCH_GAIN,
    )


def _range_claim(curves: Curves) -> fw.Claim:
    costs = {
        name: _gain(by["sketch-ordered"], by["sketch-flooded"])
        for name, by in curves.items()
        if "sketch-flooded" in by
    }
    return fw.Claim(
        "messages-range",
        "If nodes do not know the range of the rows beforehand, passing it on first at most "
        "doubles the exchanges.",
        "theory: extremes spread as fast as exchanges can carry them",
        fw.grade(0 < cost <= _FLOODING_RATIO and not cost.is_bound for cost in costs.values()),
        f"To {LEVEL:g} it takes {fw.list_values(costs)} times as many exchanges (rule: at most "
        f"{_FLOODING_RATIO:g}).",
    )


def _tracking_claim(curves: Curves) -> fw.Claim:
    return fw.check(
        "messages-tracking",
        "Tracking along ordered exchanges, for any kernel and with messages as long as GoSta's, "
        f"takes at most a third of GoSta's exchanges to {LEVEL:g} on torus, grid and cycle, and "
        "half on the Watts-Strogatz graph.",
        "theory: sweeps mix faster than random edges",
        {
            name: _gain(curves[name]["tracking-ordered"], curves[name]["gosta"])
            for name in _TRACKING_GAINS
        },
        {name: fw.at_least(times) for name, times in _TRACKING_GAINS.items()},
        "It takes {values} times fewer.",
    )


def _tree_claim(curves: Curves, facts: fw.Facts) -> fw.Claim:
    passed, listed = [], {}
    for name, by in curves.items():
        tree, fact = by["sketch-tree"], facts[name]
        passed.append(tree.messages[-1] == fewest_messages(fact["nodes"]))
        passed.append(abs(tree.final / fact["sketch_error"] - 1) < _ROUNDING)
        listed[name] = tree.final
    return fw.Claim(
        "messages-tree",
        "Up and down a tree, a sketch takes `2n - 2` messages, the fewest there can be, and is "
        "then as good as if it had been averaged exactly.",
        "theory: sums up the tree and the total down",
        fw.grade(passed),
        f"After `2n - 2` messages errors are {fw.list_values(listed)}, those of the sketch to "
        f"{_ROUNDING:g} relatively in {sum(passed[1::2])} of {len(listed)} networks.",
    )


def _bytes_claim(curves: Curves) -> fw.Claim:
    """Compare the tree with all other ways by bytes, on networks where one reaches the level."""
    ratios = {}
    for name, by in curves.items():
        needed = {way: curve.needed(LEVEL, "bytes") or np.inf for way, curve in by.items()}
        if min(needed.values()) < np.inf:
            tree = needed.pop("sketch-tree")
            ratios[name] = min(needed.values()) / tree
    return fw.check(
        "messages-bytes",
        f"Up and down a tree, a sketch also takes the fewest bytes to {LEVEL:g} of all ways.",
        "theory: each message carries one sketch, whatever the number of rows below",
        ratios,
        fw.at_least(1),
        "The next best way takes {values} times as many bytes.",
    )


def _star_claim(curves: Curves, facts: fw.Facts) -> fw.Claim:
    by = curves["star"]
    declined = [name for name, fact in facts.items() if not fact["is_ordered"]]
    random = by["sketch"].needed(LEVEL)
    swept = by["sketch-ordered"].needed(LEVEL) or float(by["sketch-ordered"].messages[-1])
    return fw.Claim(
        "messages-star",
        "On a star and on a complete graph, where sweeps would be slower than random exchanges, "
        "these are made instead.",
        "theory: a sweep has as many turns as the largest degree",
        fw.grade(
            [
                set(DECLINING) <= set(declined),
                random is not None and swept > random,
            ]
        ),
        f"Sweeps are declined on {', '.join(declined) or 'none'}. Forced on the star they take "
        f"{'more than ' if by['sketch-ordered'].needed(LEVEL) is None else ''}{swept:,.0f} "
        f"messages to {LEVEL:g}, random exchanges {format_price(random)}.",
    )


def _continuized_claim(curves: Curves) -> fw.Claim:
    return fw.check(
        "messages-continuized",
        "On a geometric graph, whose edges take many colors, continuized averaging is ahead of "
        "ordered exchanges.",
        "theory: its rate depends on the effective resistance of edges, not on their coloring",
        {
            name: _gain(by["sketch-continuized"], by["sketch-ordered"])
            for name, by in curves.items()
            if name not in DECLINING
        },
        {"geometric": fw.more_than(1)},
        "Continuized averaging takes {values} times fewer exchanges to {level:g}.",
        level=LEVEL,
    )


def _theory_claim(curves: Curves, facts: fw.Facts) -> fw.Claim:
    """Compare measured errors with exact ones, where the statistic is nearly linear."""
    largest, passed = {}, []
    for name, by in curves.items():
        for way, key in (("sketch", "random"), ("sketch-ordered", "ordered")):
            if way in by and key in facts[name]:
                exact = np.asarray(facts[name][key])
                apart = np.abs(by[way].error / exact - 1)[exact < _LINEAR_ERROR]
                allowed = np.maximum(
                    _THEORY_TOLERANCE, _STANDARD_ERRORS * by[way].noise[exact < _LINEAR_ERROR]
                )
                largest[f"{name}, {key}"] = float(apart.max(initial=0.0))
                passed.append(bool((apart <= allowed).all()))
    return fw.Claim(
        "messages-theory",
        "Runs show the exact error of averaging, with the error of the sketch added in squares, "
        "along random and along ordered exchanges.",
        "theory: the spectrum of the mean step, and the sweep itself",
        fw.grade(passed),
        f"Below an error of {_LINEAR_ERROR:g} the largest relative distances are "
        f"{fw.list_values(largest, '.2g')}; the limit is {_THEORY_TOLERANCE:g}, or "
        f"{_STANDARD_ERRORS:g} standard errors.",
    )


def _collect_claim(curves: Curves) -> fw.Claim:
    sent = [f"{by['collect'].messages[-1]:,.0f} ({name})" for name, by in curves.items()]
    return fw.check(
        "messages-collect",
        "Nodes that pass on all rows they know end by themselves, with the exact statistic.",
        "theory: set union",
        {name: by["collect"].final for name, by in curves.items()},
        fw.less_than(_ROUNDING),
        "Final relative errors are {values:.1g}, after {sent} messages.",
        sent=", ".join(sent),
    )


def _wall_claim(curves: Curves, facts: fw.Facts) -> fw.Claim:
    least: dict[str, float] = {}
    for name, by in curves.items():
        needed = [curve.needed(LEVEL) or np.inf for curve in by.values()]
        least[name] = min(needed) / fewest_messages(facts[name]["nodes"])
    return fw.check(
        "messages-wall",
        f"No way is within {LEVEL:g} before `2n - 2` messages, the fewest after which every node's "
        "answer can depend on every row.",
        "theory: Harary and Schwenk (1974)",
        least,
        fw.at_least(1 - _ROUNDING),
        "The fewest messages of all ways are {values} times `2n - 2`.",
    )


MESSAGES = fw.Experiment(
    "messages",
    "Fewer messages",
    "How many messages and bytes does it take until every node knows a pairwise statistic: with "
    "the paper's method, and with tracking, sketches and sets of rows, on random, ordered and "
    "continuized exchanges and along a tree?",
    cases,
    _report,
    place=12,
    opens=True,
)
