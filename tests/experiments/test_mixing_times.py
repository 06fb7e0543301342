from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pairgossip.experiments import mixing_times
from pairgossip.experiments.framework.experiment import Plan
from pairgossip.experiments.framework.running import run_experiment
from pairgossip.experiments.framework.section import Section
from pairgossip.experiments.framework.store import Store
from pairgossip.experiments.mixing_times import MIXING
from pairgossip.experiments.networks import network

NODES, OTHERS = 25, 16
PLAN = Plan(quick=True, trials=2, seed=0)


@pytest.fixture(scope="module")
def section(tmp_path_factory: pytest.TempPathFactory) -> Section:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mixing_times, "QUICK_NODES", NODES)
        patch.setattr(mixing_times, "OTHER_NODES", (OTHERS, OTHERS))
        return _section(tmp_path_factory.mktemp("mixing"))


def _section(folder: Path) -> Section:
    store = Store(folder)
    store.open(PLAN, resume=False)
    run_experiment(MIXING, PLAN, store, resume=False, n_jobs=1, progress=False)
    results = store.results_of(MIXING, PLAN)
    assert results is not None
    return MIXING.report(results)


def test_the_verdicts(section: Section) -> None:
    assert {claim.name: claim.verdict for claim in section.claims} == {
        "printed-mixing-time": "does not hold",
        "corrected-mixing-time": "holds",
        "bipartite": "does not hold",
    }


def test_exact_times_are_those_of_matrix_powers(section: Section) -> None:
    for name, nodes, _, exact, *_ in section.tables[0].rows:
        graph = network(str(name), int(str(nodes)), PLAN.seed)
        walk = np.eye(graph.n) - graph.laplacian_dense("uniform-edges")
        assert isinstance(exact, int)
        before, at = (
            0.5 * np.abs(np.linalg.matrix_power(walk, t) - 1 / graph.n).sum(axis=1).max()
            for t in (exact - 1, exact)
        )
        assert at <= mixing_times.EPSILON < before


def test_printed_times_are_negative_and_corrected_ones_enough(section: Section) -> None:
    for *_, exact, printed, corrected, ratio in section.tables[0].rows:
        assert isinstance(exact, int) and isinstance(corrected, int)
        assert isinstance(printed, float) and printed < 0 < exact <= corrected
        assert ratio == corrected / exact


def test_the_picture_has_a_panel_per_graph(section: Section) -> None:
    (picture,) = section.pictures
    assert len(picture.figure.axes) == len(mixing_times.GRAPHS)
