from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pairgossip_paper.experiments.private_estimation import PRIVATE, _size_claim
from pairgossip_paper.experiments.private_estimation.draws import EPSILONS
from pairgossip_paper.framework import Section
from tests.paper.running import changes, results_of, texts

pytestmark = pytest.mark.usefixtures("undrawn")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return results_of(PRIVATE, tmp_path_factory.mktemp("private"))


@pytest.fixture(scope="module")
def section(results: dict[str, Any]) -> Section:
    return PRIVATE.report(results)


def test_nothing_is_written_as_nan(section: Section) -> None:
    assert "nan" not in texts(section)


def test_errors_fall_with_epsilon(section: Section) -> None:
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
