from __future__ import annotations

import numpy as np

import pairgossip as pg
from tests.problems import rows

RUN = pg.estimate(rows(6), "gini", "cycle", clock="async", iterations=100, trials=3, seed=0)


def test_pandas_has_one_row_per_trial_and_checkpoint() -> None:
    frame = RUN.to_pandas()
    assert len(frame) == 3 * len(RUN.iterations)
    assert list(frame.columns) == [
        "trial",
        "iteration",
        "exchanges",
        "messages",
        "time",
        "mean",
        "spread",
        "error",
    ]
    np.testing.assert_allclose(frame.groupby("iteration")["mean"].mean(), RUN.mean)
    second = frame[frame["trial"] == 1]
    np.testing.assert_array_equal(second["error"], RUN.trial_error[1])


def test_xarray_names_its_dimensions() -> None:
    dataset = RUN.to_xarray()
    assert dict(dataset.sizes) == {"trial": 3, "iteration": len(RUN.iterations), "node": 6}
    np.testing.assert_array_equal(dataset["history"].isel(iteration=-1), RUN.estimates)
    assert dataset.attrs["kernel"] == "gini"
    assert float(dataset["target"]) == RUN.target
