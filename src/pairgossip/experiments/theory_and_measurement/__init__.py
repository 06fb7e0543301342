"""Every closed form and bound on estimation beside what is simulated, algorithm by algorithm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pairgossip.experiments.framework.experiment import Experiment
from pairgossip.experiments.framework.section import Section, list_values
from pairgossip.experiments.theory_and_measurement.findings import (
    Measured,
    about_deviations,
    agreement,
    agreement_claim,
    agreement_picture,
    bias_picture,
    bias_table,
    corrected_claim,
    deviation_claims,
    deviation_picture,
    deviation_ratios,
    deviation_table,
    examples_picture,
    examples_table,
    printed_gosta_claim,
    printed_u1_claim,
    printed_u2_claim,
)
from pairgossip.experiments.theory_and_measurement.simulations import (
    ASYNC,
    EXAMPLES,
    GRAPHS,
    SYNC,
    cases,
)
from pairgossip.results import Run


def _report(results: Mapping[str, Any]) -> Section:
    exact = {graph: results[f"exact-{graph}"] for graph in GRAPHS}
    runs = {(a, g): results[f"{a}-{g}"] for a in (*SYNC, *ASYNC) for g in GRAPHS}
    agreements = {
        (a, g): agreement(runs[a, g], np.array(exact[g]["algorithms"][a]["expected"]))
        for a in SYNC
        for g in GRAPHS
    }
    examples = results["examples"]
    example_runs = {name: results[f"example-{name}"] for name in EXAMPLES}
    measured = {name: _measure_example(run, name) for name, run in example_runs.items()}
    ratios = deviation_ratios(runs, exact)
    return Section(
        [_about(runs), *_about_async(runs), about_deviations(ratios)],
        [
            bias_picture(runs, exact),
            agreement_picture({name: item.scores for name, item in agreements.items()}),
            examples_picture(examples, example_runs, measured),
            deviation_picture(runs, exact),
        ],
        [
            bias_table(agreements, exact),
            examples_table(examples, example_runs, measured),
            deviation_table(ratios),
        ],
        [
            agreement_claim(agreements),
            printed_gosta_claim(exact),
            printed_u1_claim(examples["u1"]),
            printed_u2_claim(exact),
            corrected_claim(exact, examples),
            *deviation_claims(ratios),
        ],
    )


def _about(runs: Mapping[tuple[str, str], Run]) -> str:
    run = runs["gosta", GRAPHS[0]]
    gaps = list_values({g: runs["gosta", g].graph.normalized_gap() for g in GRAPHS}, ".2e")
    return (
        f"Gini mean difference of {run.nodes} of Engel's incomes (in Belgian francs), one per "
        f"node, {run.trials} trials of {run.iterations[-1]:,} iterations of every algorithm. "
        f"Normalized gaps lambda/|E|: {gaps}."
    )


def _about_async(runs: Mapping[tuple[str, str], Run]) -> list[str]:
    """GoSta-async has no closed form: say what its mean does by simulation alone."""
    parts = []
    for graph in GRAPHS:
        run = runs["gosta-async", graph]
        noise = run.error[-1] / np.sqrt(run.trials)
        parts.append(f"{run.bias[0]:.3g} to {run.bias[-1]:.2g} ({graph}; noise {noise:.2g})")
    first = runs["gosta-async", GRAPHS[0]].iterations[0]
    return [
        "GoSta-async has no closed form; by simulation, the root mean square bias over nodes "
        f"falls between iteration {first} and the last from {', '.join(parts)}. The mean over "
        "trials cannot show less than its noise, error/sqrt(trials)."
    ]


def _measure_example(run: Run, name: str) -> Measured:
    """Return t x the size of the mean over trials minus the target, at every checkpoint."""
    assert run.history is not None
    nodes = slice(-1, None) if name == "u1" else slice(None)
    bias = (run.history.mean(axis=0) - run.target)[:, nodes]
    errors = run.history.std(axis=0, ddof=1)[:, nodes] / np.sqrt(run.trials)
    return Measured(
        run.iterations * np.linalg.norm(bias, axis=1),
        run.iterations * np.linalg.norm(errors, axis=1),
    )


THEORY = Experiment(
    "theory",
    "Theory and measurement",
    "Do simulated estimates have the expectation that theory computes exactly, and do bias and "
    "error respect the bounds, as printed, as corrected and as extended?",
    cases,
    _report,
)
