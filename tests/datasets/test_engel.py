"""Engel's household budgets against another copy of them."""

from __future__ import annotations

import numpy as np
import pytest

from pairgossip.datasets import engel


def test_the_shipped_values() -> None:
    data = engel()
    assert data.columns == ("income", "foodexp")
    assert len(data) == 235
    assert data["income"][0] == 420.157650843928
    assert data["foodexp"].max() == pytest.approx(2032.679190)


def test_the_values_are_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        engel().values[0, 0] = 0.0


def test_the_values_are_those_of_statsmodels() -> None:
    module = pytest.importorskip("statsmodels.datasets.engel")
    frame = module.load_pandas().data
    np.testing.assert_array_equal(engel().values, frame[["income", "foodexp"]].to_numpy())
