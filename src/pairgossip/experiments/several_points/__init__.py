"""Several points per node: three ways for sites to exchange, by what they send."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import ceil
from typing import Any

import numpy as np

from pairgossip.estimation import estimate
from pairgossip.experiments.framework.experiment import (
    Case,
    Computation,
    Experiment,
    Plan,
    Simulation,
)
from pairgossip.experiments.framework.section import Section
from pairgossip.experiments.several_points.claims import (
    agreement_claim,
    bytes_claim,
    complete_claim,
    gap_claim,
    messages_claim,
    unequal_claim,
    unweighted_claim,
)
from pairgossip.experiments.several_points.figures import (
    price_picture,
    sent_picture,
    unequal_picture,
)
from pairgossip.experiments.several_points.findings import (
    about,
    about_modes,
    about_prices,
    about_unequal,
    error_table,
    graph_table,
)
from pairgossip.experiments.several_points.measures import Curve
from pairgossip.experiments.several_points.places import (
    CONSTRUCTIONS,
    QUICK_ROWS,
    ROWS_PER_SITE,
    SITES,
    UNEQUAL,
    VIRTUAL,
    Place,
    SitesAlike,
)
from pairgossip.graphs import LAWS
from pairgossip.results import Run

KERNEL = "gini"
NETWORK_EXCHANGES = (100_000, 20_000)
"""Exchanges between sites that every run makes, about, in full and quick."""
TRIALS_PER_TRIAL, LEAST_TRIALS = 3, 50
"""Errors of few trials, and so their ratios, are noisy."""
CHECKPOINTS = (30, 14)
"""In full and quick; on such small networks they take longer than the exchanges between them."""
UNWEIGHTED = "unweighted"


def _cases(plan: Plan) -> Sequence[Case]:
    trials = max(LEAST_TRIALS, TRIALS_PER_TRIAL * plan.trials)
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
    """Return how many iterations make so many exchanges between sites, on average."""
    if construction not in VIRTUAL:
        return exchanges
    return ceil(exchanges / place.virtual(construction).network_fraction())


def _run(place: Place, construction: str, last: int, plan: Plan, **how: Any) -> Run:
    grid = np.unique(np.rint(np.geomspace(1, last, plan.choose(*CHECKPOINTS))).astype(int))
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
