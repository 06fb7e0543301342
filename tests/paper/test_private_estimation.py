from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pairgossip_paper.experiments.private_estimation import PRIVATE, _size_claim
from pairgossip_paper.experiments.private_estimation.draws import EPSILONS
from tests.paper.running import changes, small_results

pytestmark = pytest.mark.usefixtures("undrawn")


results = small_results(PRIVATE)


def test_errors_fall_with_epsilon(results: dict[str, Any]) -> None:
    section = PRIVATE.report(results)
    rows = section.tables[0].rows
    assert [row[1] for row in rows] == 2 * list(EPSILONS)
    predicted = np.array([row[5] for row in rows], dtype=float).reshape(2, -1)
    assert (np.diff(predicted, axis=1) < 0).all()
    for name, _, _, bias, noise, total, *_ in rows:
        assert name in ("Gini", "AUC")
        assert float(total or 0) == pytest.approx(np.hypot(float(bias or 0), float(noise or 0)))


def test_wrong_predictions_are_noticed(results: dict[str, Any]) -> None:
    changed = dict(results)
    for epsilon in EPSILONS:
        case = results[f"gini-{epsilon:g}"]
        changed[f"gini-{epsilon:g}"] = case | {"standard_error": 3 * case["standard_error"]}
    own = results["own-pairs"]
    changed["own-pairs"] = own | {"aware": own["naive"]}
    found = changes(PRIVATE, results, changed)
    assert found["error-predicted"] == "holds in part"
    assert found["own-report"] == "holds in part"


@pytest.mark.parametrize(("exponent", "verdict"), [(-0.5, "holds"), (-0.3, "does not hold")])
def test_noise_that_falls_otherwise_is_noticed(exponent: float, verdict: str) -> None:
    spread = np.linspace(-1, 1, 50)
    by_size = {
        1.0: {size: {"values": spread * size**exponent} for size in (100, 1600, 4000, 10_000)}
    }
    assert _size_claim(by_size).verdict == verdict
