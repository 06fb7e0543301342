from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pairgossip.experiments import scaling
from pairgossip.experiments.framework.experiment import Plan
from pairgossip.experiments.framework.fitting import power_law, straight_line
from pairgossip.experiments.framework.running import run_experiment
from pairgossip.experiments.framework.section import Section
from pairgossip.experiments.framework.store import Store
from pairgossip.experiments.scaling import SCALING

PLAN = Plan(quick=True, trials=2, seed=0)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scaling, "LENGTHS", (20_000, 20_000))
        return _results(tmp_path_factory.mktemp("scaling"))


def _results(folder: Path) -> dict[str, Any]:
    store = Store(folder)
    store.open(PLAN, resume=False)
    run_experiment(SCALING, PLAN, store, resume=False, n_jobs=2, progress=False)
    results = store.results_of(SCALING, PLAN)
    assert results is not None
    return results


@pytest.fixture(scope="module")
def section(results: dict[str, Any]) -> Section:
    return SCALING.report(results)


def test_the_verdicts(section: Section) -> None:
    assert {claim.name: claim.verdict for claim in section.claims} == {
        "bias-in-time": "holds",
        "error-in-time": "holds in part",
        "growth-below-bounds": "holds",
        "network-as-in-bounds": "does not hold",
    }


def test_time_scales_grow_as_known(section: Section) -> None:
    known = {"complete": 1.0, "torus": 2.0, "cycle": 3.0}
    for name, *_, scale in section.tables[0].rows:
        if name in known:
            assert scale == pytest.approx(known[str(name)], abs=0.1)


def test_the_late_bias_of_the_complete_graph_has_a_closed_form(results: dict[str, Any]) -> None:
    # All other eigenvalues agree there: W_1 = J + mu (I - J), W_2 = J + nu (I - J).
    n = 49
    data = scaling._data(n, PLAN.seed)
    H = np.abs(data[:, None] - data[None, :])
    H -= H.mean()
    x = 2 / (n - 1)
    rows, diagonal = H.mean(axis=1), np.diag(H)
    # t x bias: W_2 sum over nu^k of the rows, J sum over mu^s of the rest.
    first = (1 - x / 2) / (x / 2) * rows
    second = (diagonal - rows).mean() / x
    expected = np.linalg.norm(first + second) / np.sqrt(n)
    assert results["exact-complete-49"]["late"] == pytest.approx(expected, rel=1e-6)


def test_lines_are_those_of_numpy() -> None:
    rng = np.random.default_rng(0)
    x, y = np.arange(9.0), rng.normal(size=9)
    coefficients, covariance = np.polyfit(x, y, 1, cov=True)
    line = straight_line(x, y)
    assert line.slope == pytest.approx(coefficients[0])
    assert line.error == pytest.approx(np.sqrt(covariance[0, 0]))
    assert line.explained == pytest.approx(np.corrcoef(x, y)[0, 1] ** 2)
    assert power_law([1, 10, 100], [5, 0.5, 0.05]).slope == pytest.approx(-1)
