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
        "messages": (2 * run.network_exchanges).ravel(),
    }
    if run.construction is not None:
        columns["network_exchanges"] = run.network_exchanges.ravel()
        columns["local_exchanges"] = run.local_exchanges.ravel()
        columns["bytes"] = run.trial_bytes.ravel()
    if run.times is not None:
        columns["time"] = run.times.ravel()
    columns |= {
        "mean": run.trial_mean.ravel(),
        "spread": run.trial_spread.ravel(),
        "error": run.trial_error.ravel(),
    }
    if run.private_values is not None:
        columns["private_value"] = np.repeat(run.private_values, count)
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
    if run.construction is not None:
        variables |= {
            "bytes": (curves, run.trial_bytes),
            "network_exchanges": (curves, run.network_exchanges),
            "local_exchanges": (curves, run.local_exchanges),
        }
    if run.groups is not None and run.groups.size == run.nodes:
        variables["site"] = (("node",), run.groups)
    if run.times is not None:
        variables["time"] = (curves, run.times)
    if run.history is not None:
        variables["history"] = (("trial", "iteration", "node"), run.history)
    privacy: dict[str, Any] = {}
    if run.privacy is not None and run.privacy_error is not None:
        variables["private_values"] = (("trial",), run.private_values)
        privacy = {"epsilon": run.privacy.epsilon} | run.privacy_error._asdict()
    names = ["kernel", "method", "clock", "order", "law", "target_kind", "status"]
    names += [] if run.construction is None else ["construction"]
    return xarray.Dataset(
        variables,
        coords={
            "trial": np.arange(run.trials),
            "iteration": run.iterations,
            "node": np.arange(run.nodes),
        },
        attrs={name: getattr(run, name) for name in names} | {"seed": str(run.seed)} | privacy,
    )
