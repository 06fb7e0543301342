from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from pairgossip.kernels import Pairs
from pairgossip_paper.experiments.theory_and_measurement import THEORY, _agreement_claim
from pairgossip_paper.experiments.theory_and_measurement import simulations as theory_cases
from pairgossip_paper.paper_setup import incomes, network
from tests.paper.running import PLAN, changes, small_results

pytestmark = pytest.mark.usefixtures("undrawn")


results = small_results(THEORY, theory_cases, _LENGTHS=(2_000, 2_000))


def test_hard_cases_have_the_known_numbers(results: dict[str, Any]) -> None:
    section = THEORY.report(results)
    gosta, u1 = section.tables[1].rows
    assert gosta[2] is None  # the paper's bound is for symmetric kernels
    assert (gosta[1], gosta[3]) == pytest.approx((182.886, 183.886), abs=1e-3)
    assert u1[1:4] == pytest.approx((26.19, 14.50, 26.40), abs=1e-2)


def test_printed_bounds_are_judged_within_their_hypotheses(results: dict[str, Any]) -> None:
    data, kernel, graph = theory_cases._hard_problem("u1").values()
    H = Pairs(data, kernel).matrix()
    assert np.array_equal(H, H.T) and not graph.is_bipartite()
    data = incomes(theory_cases._NODES, PLAN.seed)
    H = Pairs(data, theory_cases._KERNEL).matrix()
    assert np.array_equal(H, H.T)


def test_a_larger_bias_would_change_the_verdict(results: dict[str, Any]) -> None:
    cycle = copy.deepcopy(results["exact-cycle"])
    cycle["algorithms"]["gosta"]["ratio_printed"][3] = 1.1
    changed = changes(THEORY, results, results | {"exact-cycle": cycle})
    assert changed["printed-gosta"] == "does not hold"


def test_saved_expectations_are_those_of_matrix_powers(results: dict[str, Any]) -> None:
    graph = network("cycle", theory_cases._NODES, PLAN.seed)
    data = incomes(graph.n, PLAN.seed)
    H = np.abs(data[:, None] - data[None, :])
    walk = np.eye(graph.n) - graph.laplacian_dense("uniform-edges")
    total, power = np.zeros(graph.n), np.eye(graph.n)
    t = int(results["u1-cycle"].iterations[0])
    for _ in range(t):
        power = power @ walk
        total += (H * power).sum(axis=1)
    saved = results["exact-cycle"]["algorithms"]["u1"]["expected"][0]
    np.testing.assert_allclose(saved, total / t, rtol=1e-10)


def test_a_wrong_expectation_is_noticed(results: dict[str, Any]) -> None:
    run = results["gosta-complete"]
    expected = np.array(results["exact-complete"]["algorithms"]["gosta"]["expected"])
    found = theory_cases.agree(run, 1.2 * expected)
    assert found.beyond > 0.1 * found.scores.size
    assert _agreement_claim({("gosta", "complete"): found}).verdict == "does not hold"
