"""Several points per node: three ways for sites to exchange, by what they send."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import ceil
from typing import Any

import numpy as np

from pairgossip.checks import CONSTRUCTIONS
from pairgossip.estimation import estimate
from pairgossip.experiments.framework.experiment import (
    Case,
    Computation,
    Experiment,
    Plan,
    Simulation,
    geometric_grid,
)
from pairgossip.experiments.framework.figures import Panel, Sheet
from pairgossip.experiments.framework.section import Picture, Section
from pairgossip.experiments.several_points.findings import (
    LEVEL,
    Curves,
    Facts,
    about,
    about_modes,
    about_prices,
    about_unequal,
    agreement_claim,
    bytes_claim,
    complete_claim,
    error_table,
    gap_claim,
    graph_table,
    messages_claim,
    unequal_claim,
    unweighted_claim,
)
from pairgossip.experiments.several_points.measures import (
    QUICK_ROWS,
    ROWS_PER_SITE,
    SITES,
    UNEQUAL,
    VIRTUAL,
    Curve,
    Place,
    SitesAlike,
)
from pairgossip.graphs import LAWS
from pairgossip.results import Run
from pairgossip.results.curves import COLORS, percentile_band

STYLES = {
    "lexicographic": (COLORS[0], "-", "o", "lexicographic"),
    "blow-up": (COLORS[1], "--", "s", "blow-up"),
    "whole-sets": (COLORS[2], "-", "^", "whole sets"),
    "unweighted": (COLORS[3], "-.", "", "whole sets, sizes forgotten"),
}
SENT = {"messages": "messages between sites", "bytes": "bytes between sites"}
FIRST = 100
"""The messages at which x axes begin: before, all estimates are about as wrong as the answer 0."""


def sent_picture(equal: Curves) -> Picture:
    """Draw the errors at the largest sites against messages, and below against bytes."""
    places = {graph: _largest(equal, graph) for graph in SITES}
    sheet = Sheet(len(places), len(SENT), sharey=True)
    for row, (against, label) in zip(sheet.rows, SENT.items(), strict=True):
        for panel, (graph, name) in zip(row, places.items(), strict=True):
            _draw_errors(panel, equal[name], against)
            title = f"{graph}, {name.rpartition('-')[2]} rows at each of {SITES[graph]} sites"
            title = title if against == "messages" else ""
            y = "relative error" if panel is row[0] else ""
            panel.finish(label, y, title, y_log=True, legend=False)
    sheet.add_legend(columns=3)
    trials = next(iter(equal.values()))["lexicographic"].run.trials
    return Picture(
        "sent",
        f"Root mean square error over nodes and {trials} trials, relative to the statistic, "
        "against messages (above) and bytes of payload (below) that sites sent to each other; "
        "bands are the 10th to 90th percentiles of single trials.",
        sheet,
    )


def price_picture(curves: Curves, facts: Facts) -> Picture:
    """Draw the messages and bytes that a given error costs against the rows per site."""
    sheet = Sheet(len(SITES), len(SENT), sharey="row")
    for row, (against, label) in zip(sheet.rows, SENT.items(), strict=True):
        for panel, graph in zip(row, SITES, strict=True):
            places = _equal_places(graph, curves)
            sizes = [facts[name]["sizes"][0] for name in places]
            _draw_prices(panel, sizes, [curves[name] for name in places], against)
            y = f"{label}\nto an error of {LEVEL:g}" if panel is row[0] else ""
            title = f"{graph} of {SITES[graph]} sites" if against == "messages" else ""
            panel.finish("rows per site k", y, title, y_log=True, legend=False)
            panel.number_ticks(sizes)
    sheet.add_legend(columns=4)
    return Picture(
        "prices",
        f"Messages (above) and bytes (below) after which the relative error stays below {LEVEL:g}, "
        "against the rows per site: the more rows, the longer rows take to travel one by one. The "
        "gray line grows like k.",
        sheet,
    )


def unequal_picture(unequal: Curves, facts: Facts) -> Picture:
    """Draw the errors with unequal sites, and where whole sets go that forget the sizes."""
    sheet = Sheet(len(unequal), len(SENT), sharey=True)
    above, below = sheet.rows
    for panel, (name, by) in zip(above, unequal.items(), strict=True):
        _draw_errors(panel, by, "messages")
        fact, graph = facts[name], name.partition("-")[0]
        away = abs(fact["unweighted"] / fact["value"] - 1)
        panel.level(away, "its exact bias", COLORS[3], ":", linewidth=1)
        sizes = fact["sizes"]
        title = f"{graph}, {min(sizes)} to {max(sizes)} rows at {len(sizes)} sites"
        y = "relative error" if panel is above[0] else ""
        panel.finish(SENT["messages"], y, title, y_log=True, legend=False)
    for panel, by in zip(below, unequal.values(), strict=True):
        # Sites that forget sizes would send as many bytes as those that do not.
        weighted = {key: curve for key, curve in by.items() if key != "unweighted"}
        _draw_errors(panel, weighted, "bytes")
        y = "relative error" if panel is below[0] else ""
        panel.finish(SENT["bytes"], y, y_log=True, legend=False)
    sheet.add_legend(columns=5)
    return Picture(
        "unequal",
        "Sites of unequal sizes: the relative error of the three constructions against messages "
        "(above) and bytes (below), and of sites that swap whole sets as if these were all of one "
        "size.",
        sheet,
    )


def _largest(equal: Curves, graph: str) -> str:
    return max(_equal_places(graph, equal), key=lambda name: int(name.rpartition("-")[2]))


def _equal_places(graph: str, curves: Curves) -> list[str]:
    """The places of a graph whose sites hold equally many rows."""
    return [n for n in curves if n.startswith(f"{graph}-") and n.rpartition("-")[2].isdecimal()]


def _draw_errors(panel: Panel, by: Mapping[str, Curve], against: str) -> None:
    for construction, curve in by.items():
        color, line, _, label = STYLES[construction]
        x, band = getattr(curve, against), percentile_band(curve.trial_error)
        panel.plot(x, curve.error, label, color, line, band=band, linewidth=1.4)
    bytes_each = by["lexicographic"].bytes_per_message
    panel.axes.set_xlim(left=FIRST * (bytes_each if against == "bytes" else 1.0))


def _draw_prices(
    panel: Panel, sizes: list[int], places: list[Mapping[str, Curve]], against: str
) -> None:
    for construction in CONSTRUCTIONS:
        color, line, marker, label = STYLES[construction]
        # With one row per site, all constructions are the same.
        curves = [by.get(construction, by["lexicographic"]) for by in places]
        prices = [curve.needed(LEVEL, against) for curve in curves]
        known = [(k, price) for k, price in zip(sizes, prices, strict=True) if price is not None]
        x, y = zip(*known, strict=True)
        panel.plot(x, y, label, color, f"{marker}{line}")
    alone = places[0]["lexicographic"].needed(LEVEL, against)
    if alone is not None:
        k = np.array([1.0, max(sizes)])
        panel.plot(k, alone * k, "grows like k", "#999999", linewidth=0.9)


KERNEL = "gini"
NETWORK_EXCHANGES = (100_000, 20_000)
"""Exchanges between sites that every run makes, about, in full and quick."""
REPEATS, LEAST_TRIALS = 3, 50
"""Errors of few trials, and so their ratios, are noisy."""
CHECKPOINTS = (30, 14)
"""In full and quick; on such small networks they take longer than the exchanges between them."""
UNWEIGHTED = "unweighted"


def _cases(plan: Plan) -> Sequence[Case]:
    trials = plan.repeat(REPEATS, LEAST_TRIALS)
    exchanges = plan.choose(*NETWORK_EXCHANGES)
    found: list[Case] = [Computation("facts", partial(_facts, plan))]
    for place in _places(plan):
        for construction in _constructions(place):
            last = _iterations(place, construction, exchanges)
            run = partial(_run, place, construction, last, plan)
            found.append(Simulation(f"{place.name}-{construction}", last, trials, run))
    return found


def _places(plan: Plan) -> list[Place]:
    numbers = QUICK_ROWS if plan.quick else ROWS_PER_SITE
    return [Place(graph, rows, plan.seed) for graph in SITES for rows in (*numbers, UNEQUAL)]


def _constructions(place: Place) -> tuple[str, ...]:
    if place.rows == 1:
        return CONSTRUCTIONS[:1]  # with one row per site they are all the same
    return (*CONSTRUCTIONS, UNWEIGHTED) if place.rows == UNEQUAL else CONSTRUCTIONS


def _iterations(place: Place, construction: str, exchanges: int) -> int:
    """Return how many iterations make this many exchanges between sites, on average."""
    if construction not in VIRTUAL:
        return exchanges
    return ceil(exchanges / place.virtual(construction).network_fraction())


def _run(place: Place, construction: str, last: int, plan: Plan, **how: Any) -> Run:
    grid = geometric_grid(1, last, plan.choose(*CHECKPOINTS))
    how |= {"iterations": last, "checkpoints": grid, "record": "summary", "seed": plan.seed}
    if construction == UNWEIGHTED:
        # The nodes are sites that take one another's sets for equally large.
        kernel, sites = SitesAlike(place.pair_means()), np.arange(float(place.network.n))
        exact = _value(place)
        return estimate(sites, kernel, place.network, reference=exact, **how)
    how |= {"groups": place.site_of, "construction": construction}
    return estimate(place.incomes, KERNEL, place.network, **how)


def _value(place: Place) -> float:
    return float(np.abs(place.incomes[:, None] - place.incomes[None, :]).mean())


def _facts(plan: Plan) -> Mapping[str, Any]:
    """Compute statistics and gaps: from the sites alone, and from all virtual edges."""
    return {
        place.name: {
            "value": _value(place),
            "unweighted": float(place.pair_means().mean()),
            "sizes": place.sizes,
            "graphs": {name: _graph_facts(place, name) for name in VIRTUAL},
        }
        for place in _places(plan)
    }


def _graph_facts(place: Place, construction: str) -> Mapping[str, Any]:
    graph = place.virtual(construction)
    listed = graph.materialized()
    gaps = {
        law: (
            graph.normalized_gap(law),
            float(np.linalg.eigvalsh(listed.laplacian_dense(law))[1]),
        )
        for law in LAWS
    }
    return {
        "edges": graph.edge_count,
        "share": graph.network_fraction(),
        "gaps": gaps,
        "sites_gap": place.network.normalized_gap(),
    }


def _report(results: Mapping[str, Any]) -> Section:
    facts = results["facts"]
    curves = {
        name: {
            construction: Curve(results[f"{name}-{construction}"], fact["value"])
            for construction in (*CONSTRUCTIONS, UNWEIGHTED)
            if f"{name}-{construction}" in results
        }
        for name, fact in facts.items()
    }
    equal = {name: by for name, by in curves.items() if len(by) == len(CONSTRUCTIONS)}
    unequal = {name: by for name, by in curves.items() if UNWEIGHTED in by}
    return Section(
        [
            about(curves),
            about_modes(equal, unequal),
            about_prices(equal, facts),
            about_unequal(unequal),
        ],
        [sent_picture(equal), price_picture(curves, facts), unequal_picture(unequal, facts)],
        [graph_table(facts), error_table(curves)],
        [
            agreement_claim(equal, facts),
            complete_claim(equal, facts),
            messages_claim(equal, facts),
            bytes_claim(equal, facts),
            unequal_claim(unequal),
            unweighted_claim(unequal, facts),
            gap_claim(facts),
        ],
    )


SEVERAL_POINTS = Experiment(
    "several-points",
    "Several points per node",
    "Where sites hold many rows, which way to exchange them is best for what is sent: one row at "
    "a time with the rows of one site joined (lexicographic) or not (blow-up), or all rows of a "
    "site at once (whole sets)?",
    _cases,
    _report,
)
