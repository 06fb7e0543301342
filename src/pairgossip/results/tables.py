"""Runs as tables of pandas and datasets of xarray."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pairgossip.errors import needed_for
from pairgossip.results.fields import CURVE, ITERATION, NODE, TRIAL, saved_fields

if TYPE_CHECKING:
    import pandas
    import xarray

    from pairgossip.results.run import Run

_PLAIN = (str, int, float, tuple)
"""Types of the attributes of a dataset; records, such as fingerprints, are left out."""


def curves_table(run: Run) -> pandas.DataFrame:
    """Return the curves, one row per trial and checkpoint; see `Run.to_pandas`."""
    with needed_for("Run.to_pandas"):
        import pandas
    rows, count = run.trials, len(run.iterations)
    columns: dict[str, Any] = {
        "trial": np.repeat(np.arange(rows), count),
        "iteration": np.tile(run.iterations, rows),
        "exchanges": (run.network_exchanges + run.local_exchanges).ravel(),
        "messages": run.traffic.messages.ravel(),
        "bytes": run.trial_bytes.ravel(),
    }
    if run.construction is not None:
        columns["network_exchanges"] = run.network_exchanges.ravel()
        columns["local_exchanges"] = run.local_exchanges.ravel()
    for name, about in saved_fields(run).items():
        if about.column and (values := getattr(run, name)) is not None:
            is_curve = about.dims == CURVE
            columns[about.column] = values.ravel() if is_curve else np.repeat(values, count)
    return pandas.DataFrame(columns)


def as_dataset(run: Run) -> xarray.Dataset:
    """Return all arrays with named dimensions; see `Run.to_xarray`."""
    with needed_for("Run.to_xarray"):
        import xarray
    variables: dict[str, Any] = {}
    attributes: dict[str, Any] = {}
    for name, about in saved_fields(run).items():
        if (value := getattr(run, name)) is None or about.parts is not None:
            continue
        if about.source or about.column:
            # The sampling errors of nodes and their curve differ in the prefix alone.
            is_taken = about.column in type(run).__dataclass_fields__
            is_renamed = about.dims == CURVE and not is_taken
            variables[about.column if is_renamed else name] = (about.dims, value)
        elif about.dims is None and isinstance(plain := about.encode(value), _PLAIN):
            attributes[name] = plain
    variables |= {
        "exchanges": ((ITERATION,), run.exchanges),
        "messages": ((ITERATION,), run.messages),
        "bytes": (CURVE, run.trial_bytes),
        "target": ((NODE,) if np.ndim(run.target) else (), run.target),
    }
    if run.construction is not None:
        variables["network_exchanges"] = (CURVE, run.network_exchanges)
        variables["local_exchanges"] = (CURVE, run.local_exchanges)
    if run.groups is not None and run.groups.size == run.nodes:
        variables["site"] = ((NODE,), run.groups)
    if run.honest is not None:
        variables["is_honest"] = ((NODE,), np.isin(np.arange(run.nodes), run.honest))
    if run.privacy is not None and run.privacy_error is not None:
        attributes |= {"epsilon": run.privacy.epsilon} | run.privacy_error._asdict()
    axes = {TRIAL: np.arange(run.trials), ITERATION: run.iterations, NODE: np.arange(run.nodes)}
    return xarray.Dataset(variables, coords=axes, attrs=attributes)
