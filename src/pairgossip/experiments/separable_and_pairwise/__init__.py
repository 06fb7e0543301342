"""Averaging one value per node beside estimating a pairwise statistic, on the same networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.estimation import estimate
from pairgossip.experiments.error_parts import ErrorParts, error_parts
from pairgossip.experiments.framework.experiment import (
    Case,
    Computation,
    Experiment,
    Plan,
    Simulation,
)
from pairgossip.experiments.framework.fitting import Line, power_law, straight_line
from pairgossip.experiments.framework.section import Section
from pairgossip.experiments.networks import incomes, network
from pairgossip.experiments.separable_and_pairwise.figures import rates_picture
from pairgossip.experiments.separable_and_pairwise.findings import (
    Rates,
    about,
    averaging_table,
    geometric_claim,
    gosta_table,
    slower_claim,
)
from pairgossip.experiments.setting import GRAPHS
from pairgossip.kernels import Pairs
from pairgossip.results import Run
from pairgossip.theory import averaging_bound, expected_estimates

NODES = 36
KERNEL = "gini"
LENGTHS = (100_000, 20_000)
"""Iterations of GoSta, in full and quick."""
AVERAGING_LAST, AVERAGING_POINTS = 6_000, 61
CHECKPOINTS = 33
TRIALS_PER_TRIAL, LEAST_TRIALS = 10, 60
WINDOW = (1e-10, 1e-2)
"""The geometric rate is fitted where the error is between these shares of its start."""
SETTLED = 5.0
"""Exponents are fitted from this many time scales |E|/lambda on."""


def _cases(plan: Plan) -> Sequence[Case]:
    last = plan.choose(*LENGTHS)
    trials = max(LEAST_TRIALS, TRIALS_PER_TRIAL * plan.trials)
    found: list[Case] = []
    for name in GRAPHS:
        averaging = partial(_average, name, plan)
        gosta = partial(_gosta, name, last, plan)
        found.append(Simulation(f"averaging-{name}", AVERAGING_LAST, trials, averaging))
        found.append(Simulation(f"gosta-{name}", last, trials, gosta))
        found.append(Computation(f"exact-{name}", partial(_exact, name, last, plan)))
    return found


def _averaging_grid() -> IntArray:
    return np.rint(np.linspace(1, AVERAGING_LAST, AVERAGING_POINTS)).astype(int)


def _gosta_grid(last: int) -> IntArray:
    return np.unique(np.rint(np.geomspace(1, last, CHECKPOINTS)).astype(int))


def _average(name: str, plan: Plan, **how: Any) -> Run:
    return estimate(
        incomes(NODES, plan.seed),
        graph=network(name, NODES, plan.seed),
        method="averaging",
        iterations=AVERAGING_LAST,
        checkpoints=_averaging_grid(),
        record="summary",
        seed=plan.seed,
        **how,
    )


def _gosta(name: str, last: int, plan: Plan, **how: Any) -> Run:
    return estimate(
        incomes(NODES, plan.seed),
        KERNEL,
        network(name, NODES, plan.seed),
        iterations=last,
        checkpoints=_gosta_grid(last),
        record="summary",
        seed=plan.seed,
        **how,
    )


def _exact(name: str, last: int, plan: Plan) -> Mapping[str, Any]:
    """Return exact biases, root mean squares over nodes, and the bound on averaging."""
    graph, values, root = network(name, NODES, plan.seed), incomes(NODES, plan.seed), np.sqrt(NODES)
    H = Pairs(values, KERNEL).matrix()
    # Estimates are linear and exact for constants: the bias comes without cancellation.
    pairwise = expected_estimates(H - H.mean(), graph, _gosta_grid(last))
    separable = expected_estimates(
        values - values.mean(), graph, _averaging_grid(), method="averaging"
    )
    gap = graph.normalized_gap()
    return {
        "gap": gap,
        "start": float(np.std(values)),
        "averaging_bias": np.linalg.norm(separable, axis=1) / root,
        "averaging_bound": averaging_bound(values, gap, _averaging_grid()) / root,
        "gosta_bias": np.linalg.norm(pairwise, axis=1) / root,
        "gosta_mean_bias": pairwise.mean(axis=1),
    }


def _parts(run: Run, exact: Mapping[str, Any]) -> ErrorParts:
    return error_parts(run, exact["gosta_bias"], exact["gosta_mean_bias"])


def _rates(averaging: Run, gosta: Run, parts: ErrorParts, exact: Mapping[str, Any]) -> Rates:
    late = gosta.iterations >= SETTLED / exact["gap"]
    t = gosta.iterations[late]
    rate = float(np.log1p(-exact["gap"] / 2))
    return Rates(
        _geometric(averaging.iterations, np.array(exact["averaging_bias"]), exact["start"]),
        _geometric(averaging.iterations, averaging.error, exact["start"]),
        rate,
        rate / 2,
        power_law(t, gosta.error[late]),
        power_law(t, parts.bias[late]),
        power_law(t, parts.disagreement[late]),
        power_law(t, parts.mean_fluctuation[late]),
    )


def _geometric(t: IntArray, errors: FloatArray, start: float) -> Line:
    """Fit the logarithm of an error linearly in t, between first decay and rounding."""
    inside = (errors > WINDOW[0] * start) & (errors < WINDOW[1] * start)
    return straight_line(t[inside], np.log(errors[inside]))


def _report(results: Mapping[str, Any]) -> Section:
    averaging = {name: results[f"averaging-{name}"] for name in GRAPHS}
    gosta = {name: results[f"gosta-{name}"] for name in GRAPHS}
    exact = {name: results[f"exact-{name}"] for name in GRAPHS}
    parts = {name: _parts(gosta[name], exact[name]) for name in GRAPHS}
    rates = {
        name: _rates(averaging[name], gosta[name], parts[name], exact[name]) for name in GRAPHS
    }
    return Section(
        about(gosta[GRAPHS[0]], rates),
        [rates_picture(averaging, gosta, exact, parts)],
        [averaging_table(rates), gosta_table(rates, SETTLED)],
        [geometric_claim(averaging, exact, rates, WINDOW[0]), slower_claim(rates)],
    )


SEPARABLE = Experiment(
    "separable",
    "Separable and pairwise estimation",
    "How much slower is a pairwise statistic to estimate by gossip than a mean, on the same "
    "networks and data?",
    _cases,
    _report,
)
