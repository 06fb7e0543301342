"""Runs as tables of other libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pairgossip.extras import needed_for

if TYPE_CHECKING:
    import pandas
    import xarray

    from pairgossip.results.run import Run


def to_pandas(run: Run) -> pandas.DataFrame:
    """Return the curves, one row per trial and checkpoint."""
    with needed_for("Run.to_pandas"):
        import pandas
    rows, count = run.trials, len(run.iterations)
    columns: dict[str, Any] = {
        "trial": np.repeat(np.arange(rows), count),
        "iteration": np.tile(run.iterations, rows),
        "exchanges": np.tile(run.exchanges, rows),
        "messages": np.tile(run.messages, rows),
    }
    if run.times is not None:
        columns["time"] = run.times.ravel()
    columns |= {
        "mean": run.trial_mean.ravel(),
        "spread": run.trial_spread.ravel(),
        "error": run.trial_error.ravel(),
    }
    return pandas.DataFrame(columns)


def to_xarray(run: Run) -> xarray.Dataset:
    """Return all arrays with named dimensions; the checkpoints are labeled by iteration."""
    with needed_for("Run.to_xarray"):
        import xarray
    curves = ("trial", "iteration")
    variables: dict[str, Any] = {
        "mean": (curves, run.trial_mean),
        "spread": (curves, run.trial_spread),
        "error": (curves, run.trial_error),
        "estimates": (("trial", "node"), run.estimates),
        "exchanges": (("iteration",), run.exchanges),
        "messages": (("iteration",), run.messages),
        "target": (("node",) if np.ndim(run.target) else (), run.target),
    }
    if run.times is not None:
        variables["time"] = (curves, run.times)
    if run.history is not None:
        variables["history"] = (("trial", "iteration", "node"), run.history)
    names = ("kernel", "method", "clock", "order", "law", "target_kind", "status")
    return xarray.Dataset(
        variables,
        coords={
            "trial": np.arange(run.trials),
            "iteration": run.iterations,
            "node": np.arange(run.nodes),
        },
        attrs={name: getattr(run, name) for name in names} | {"seed": str(run.seed)},
    )
