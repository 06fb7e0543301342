from __future__ import annotations

import numpy as np
import pytest

import pairgossip as pg
from pairgossip import InputError
from pairgossip.algorithms import find_method
from pairgossip.engine.engines import build_engine
from pairgossip.engine.fused import FusedEngine
from pairgossip.engine.tokens import TokenEngine
from pairgossip.kernels import Pairs, metric_learning_risk
from tests.problems import labeled_rows, rows, skewed

GOSTA = find_method("gosta")


def test_auto_takes_the_fastest_that_can_run_the_problem() -> None:
    def engine(pairs: Pairs) -> object:
        return build_engine("auto", pairs, GOSTA, "sync", "update-first")

    assert isinstance(engine(Pairs(rows(5), "gini")), FusedEngine)
    assert isinstance(engine(Pairs(rows(5), "gini", "u")), FusedEngine)
    assert isinstance(engine(Pairs(rows(5), skewed)), TokenEngine)
    # The own pair must count as 0 for the U-statistic, which the compiled loop does not know.
    off_diagonal = Pairs(labeled_rows(6, 2), metric_learning_risk(threshold=0.5), "u")
    assert isinstance(engine(off_diagonal), TokenEngine)


def test_a_kernel_that_is_not_compiled_is_refused_by_the_fused_engine() -> None:
    with pytest.raises(InputError, match="Kernel 'skewed' is not compiled into the engine"):
        build_engine("fused", Pairs(rows(5), skewed), GOSTA, "sync", "update-first")


def test_unknown_engine() -> None:
    with pytest.raises(InputError, match=r"^Unknown engine 'token': did you mean 'tokens'\?$"):
        build_engine("token", Pairs(rows(5), "gini"), GOSTA, "sync", "update-first")


@pytest.mark.parametrize("engine", ["auto", "tokens", "plain"])
@pytest.mark.parametrize("clock", ["sync", "async"])
def test_a_lone_node_answers_with_its_own_pair(engine: str, clock: str) -> None:
    run = pg.estimate([2.0], skewed, iterations=5, seed=0, clock=clock, engine=engine)
    np.testing.assert_allclose(run.estimates, [[np.exp(-2) + 8]])
    assert run.error[-1] == pytest.approx(0)
    mean = pg.estimate([2.0], method="averaging", iterations=5, seed=0, engine=engine)
    assert mean.estimates[0, 0] == 2.0
