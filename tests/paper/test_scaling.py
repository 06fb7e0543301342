from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pairgossip_paper.experiments import scaling
from pairgossip_paper.experiments.scaling import SCALING, _Point
from pairgossip_paper.paper_setup import dealt_quantiles
from tests.paper.running import PLAN, changes, small_results

pytestmark = pytest.mark.usefixtures("undrawn")


results = small_results(SCALING, scaling, _LENGTHS=(20_000, 20_000))


def test_the_late_bias_of_the_complete_graph_has_a_closed_form(results: dict[str, Any]) -> None:
    # All other eigenvalues agree there: W_1 = J + mu (I - J), W_2 = J + nu (I - J).
    n = 49
    data = dealt_quantiles(n, PLAN.seed)
    H = np.abs(data[:, None] - data[None, :])
    H -= H.mean()
    x = 2 / (n - 1)
    rows, diagonal = H.mean(axis=1), np.diag(H)
    # t x bias: W_2 sum over nu^k of the rows, J sum over mu^s of the rest.
    first = (1 - x / 2) / (x / 2) * rows
    second = (diagonal - rows).mean() / x
    expected = np.linalg.norm(first + second) / np.sqrt(n)
    assert results["exact-complete-49"]["late"] == pytest.approx(expected, rel=1e-6)


def test_the_parts_add_up_to_the_error(results: dict[str, Any]) -> None:
    for name, nodes in (("complete", 49), ("watts-strogatz", 100), ("cycle", 25)):
        run, exact = results[f"{name}-{nodes}"], results[f"exact-{name}-{nodes}"]
        parts = _Point(run, exact).parts
        sizes = (parts.bias, parts.disagreement, parts.mean_fluctuation)
        total = sum(size**2 for size in sizes)
        # Only the bias of the mean times its average chance remains, twice.
        chance = run.trial_mean.mean(axis=0) - run.target - np.array(exact["mean_bias"])
        left = 2 * np.array(exact["mean_bias"]) * chance
        unclipped = parts.disagreement > 0
        np.testing.assert_allclose((total + left)[unclipped], run.error[unclipped] ** 2, rtol=1e-9)
        np.testing.assert_allclose(total + parts.remainder, run.error**2, rtol=1e-9)
        np.testing.assert_allclose(parts.fluctuation**2, total - parts.bias**2, rtol=1e-9)
        own = np.sqrt(run.estimates.var(axis=0, ddof=1).mean())
        assert parts.fluctuation[-1] == pytest.approx(own, rel=0.15)


def test_slower_and_larger_errors_are_noticed(results: dict[str, Any]) -> None:
    doctored = dict(results)
    for case, run in results.items():
        if case.startswith("exact-"):
            continue
        slower = 10.0 * run.iterations
        doctored[case] = replace(run, trial_error=slower * run.trial_error)
    assert changes(SCALING, results, doctored) == {
        "error-in-time": "does not hold",
        "below-bounds": "holds in part",
    }
