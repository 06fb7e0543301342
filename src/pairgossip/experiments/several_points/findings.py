"""Findings and tables of several points per node."""

from __future__ import annotations

from typing import Any

from pairgossip.experiments.framework.section import Cell, Table
from pairgossip.experiments.several_points.claims import Curves, Facts
from pairgossip.experiments.several_points.measures import ratio_at_end
from pairgossip.experiments.several_points.places import SITES

LEVEL = 0.1
"""The relative error for which messages and bytes are counted."""


def about(curves: Curves) -> str:
    """Say what was run."""
    run = next(iter(curves.values()))["lexicographic"].run
    sites = ", ".join(f"{name} of {n}" for name, n in SITES.items())
    return (
        "Gini mean difference of incomes by GoSta (synchronous): n sites hold k rows each, which "
        "are nk quantiles of the same distribution, dealt at random. With unequal sizes incomes "
        "are sorted over the sites, and the richer a site the fewer rows it has. Networks: "
        f"{sites} sites. Every run makes about {int(run.messages[-1]) // 2:,} exchanges between "
        f"sites, in {run.trials} trials; exchanges within a site are free and come on top. An "
        "error is the root mean square over nodes and trials relative to the statistic; nodes are "
        "the rows, or the sites where these swap whole sets."
    )


def about_modes(equal: Curves, unequal: Curves) -> str:
    """Say where the two constructions of rows differ, and where the slowest mode decides."""
    dealt, ordered = (
        [
            ratio_at_end(by["blow-up"], by["lexicographic"], "messages")
            for name, by in places.items()
            if not name.startswith("complete")
        ]
        for places in (equal, unequal)
    )
    return (
        "On the cycle and the torus, the slowest mode of both constructions of rows decays equally "
        "fast per message, but the modes within sites, of which there are more the more rows, "
        "decay faster where rows of one site exchange for free. Where rows are dealt at random all "
        "modes weigh alike: at equal messages the error of the blow-up is "
        f"{min(dealt):.3g} to {max(dealt):.3g} times that of the lexicographic construction. Where "
        "incomes are sorted over the sites, the slow modes between sites outweigh them: "
        f"{min(ordered):.3g} to {max(ordered):.3g} times."
    )


def about_unequal(unequal: Curves) -> str:
    """Compare whole sets with rows where sites are of unequal sizes, by messages and by bytes."""
    ratios = {
        against: [ratio_at_end(by["whole-sets"], by["lexicographic"], against) for by in places]
        for against, places in (("messages", unequal.values()), ("bytes", unequal.values()))
    }
    listed = {key: ", ".join(f"{ratio:.3g}" for ratio in found) for key, found in ratios.items()}
    worse = [name for name, ratio in zip(unequal, ratios["bytes"], strict=True) if ratio > 1]
    return (
        "With unequal sites, pairs of sites weigh as much as they have pairs of rows, so the "
        "values that whole sets average vary more, and a site learns most from few others. At the "
        f"end their error is {listed['messages']} times that of the lexicographic construction at "
        f"equal messages and {listed['bytes']} times at equal bytes ({', '.join(unequal)}). At "
        + (
            f"equal bytes they are worse on {', '.join(worse)}."
            if worse
            else "neither are they worse."
        )
    )


def about_prices(equal: Curves, facts: Facts) -> str:
    """Say what an error of a tenth costs, for the largest sites of every network."""
    listed = []
    for graph in SITES:
        name = max(
            (place for place in equal if place.startswith(graph)),
            key=lambda place: facts[place]["sizes"][0],
        )
        prices = [
            f"{construction} {_spoken(curve.needed(LEVEL, 'messages'))} messages and "
            f"{_spoken(curve.needed(LEVEL, 'bytes'))} bytes"
            for construction, curve in equal[name].items()
        ]
        listed.append(f"on {name}, {'; '.join(prices)}")
    return (
        f"To stay below a relative error of {LEVEL:g}: {'. '.join(listed)}. Whole sets pay in "
        "work instead: every update of a site sums over k x k pairs of rows."
    )


def graph_table(facts: Facts) -> Table:
    """List edges, shares and gaps of all virtual graphs."""
    rows: list[tuple[Cell, ...]] = []
    for name, fact in facts.items():
        for construction, graph in fact["graphs"].items():
            gap, listed = graph["gaps"]["uniform-edges"]
            share = graph["share"]
            rows.append(
                (name, construction, sum(fact["sizes"]), graph["edges"], share, gap, listed,
                 gap / share, graph["sites_gap"])
            )  # fmt: skip
    return Table(
        "Virtual graphs: what they are, and how fast they mix",
        ("place", "construction", "rows", "edges", "share between sites", "gap, from the sites",
         "gap, from all edges", "gap per exchange between sites", "gap x of whole sets"),
        rows,
        "Gaps are normalized, under uniform edges: per exchange, local ones included, unless it "
        "says otherwise.",
    )  # fmt: skip


def error_table(curves: Curves) -> Table:
    """List final errors, and what a given error costs."""
    rows: list[tuple[Cell, ...]] = [
        (name, construction, *_row(curve, construction))
        for name, by in curves.items()
        for construction, curve in by.items()
    ]
    return Table(
        "Errors and their price",
        ("place", "construction", "final relative error", "exponent",
         "final, mean of a site's rows", "bytes per message",
         f"messages to {LEVEL:g}", f"bytes to {LEVEL:g}"),
        rows,
        "The exponent is that of the fall over the last decade. A site may average the estimates "
        "of its rows for free. With one row per site all "
        "constructions are the same.",
    )  # fmt: skip


def _row(curve: Any, construction: str) -> tuple[Cell, ...]:
    is_model = construction == "unweighted"  # its nodes carry numbers of sites, not rows
    size = None if is_model else curve.bytes_per_message
    amount = None if is_model else _price(curve.needed(LEVEL, "bytes"))
    final = (curve.final, curve.slope, curve.site_error)
    return (*final, size, _price(curve.needed(LEVEL, "messages")), amount)


def _price(amount: float | None) -> Cell:
    return "not reached" if amount is None else round(amount)


def _spoken(amount: float | None) -> str:
    return "more than all" if amount is None else f"{round(amount):,}"
