"""Reading saved runs and fits, whose arrays must have the shapes that they say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.engine.descent.engines import Snapshot
from pairgossip.errors import InputError
from pairgossip.inference.answer import Law
from pairgossip.losses.steps import AdaptiveStep
from pairgossip.privacy import PrivacyError
from pairgossip.privacy.mechanism import RandomizedResponse
from pairgossip.results.fit import Bias, Fit
from pairgossip.results.provenance import as_fingerprint
from pairgossip.results.result import Traffic
from pairgossip.results.run import Run
from pairgossip.results.storage import (
    FIT_CURVES,
    FIT_TEXTS,
    LARGEST_RESULT,
    RUN_CURVES,
    RUN_ERROR_CURVES,
    RUN_ERRORS,
    RUN_FACTS,
    RUN_TEXTS,
    Archive,
    graph_of,
    read_archive,
)
from pairgossip.text import printable
from pairgossip.theory import TheoryCurves


def load(path: str | Path, largest: int = LARGEST_RESULT) -> Any:
    """Read a `Run` or a `Fit` that its ``save`` wrote.

    Raises `InputError` if the file is missing, is no saved result, is damaged, comes from another
    version, or holds arrays of more than ``largest`` bytes together.
    """
    try:
        archive = read_archive(path, largest)
        build = _build_fit if archive.header["kind"] == Fit.kind else _build_run
        return build(archive)
    except (InputError, MemoryError):
        raise
    except Exception:  # a damaged archive fails in as many ways as there are bytes
        raise InputError(f"{path} is not a run saved by pairgossip, or is damaged.") from None


def _build_run(archive: Archive) -> Run:
    header, arrays = archive
    target = arrays["target"]
    theory: dict[str, FloatArray] = {
        name: arrays[f"theory_{name}"]
        for name in TheoryCurves._fields
        if f"theory_{name}" in arrays
    }
    run = Run(
        **{name: header[name] for name in RUN_TEXTS},
        **_facts(header),
        **{name: arrays[name] for name in ("estimates", *RUN_CURVES)},
        history=arrays.get("history"),
        target=target if target.ndim else float(target),
        **_shared_fields(archive),
        private_values=arrays.get("private_values"),
        **_errors(arrays),
        privacy_error=PrivacyError(*header["privacy_error"]) if "privacy" in header else None,
        _theory=TheoryCurves(**theory) if theory else None,
    )
    trials, checkpoints = run.trials, len(run.iterations)
    _check_shapes(run, (*RUN_CURVES, *RUN_ERROR_CURVES, "times"), (trials, checkpoints))
    _check_shapes(run, ("trial_numbers", "private_values", "enough"), (trials,))
    _check_traffic_and_groups(run, (trials, checkpoints))
    _check_shapes(run, ("estimates", *RUN_ERRORS), (trials, run.nodes))
    _check_shapes(run, ("history",), (trials, checkpoints, run.nodes))
    return run


def _errors(arrays: dict[str, Any]) -> dict[str, Any]:
    """Return what nodes learned of their errors, where they did."""
    return {name: arrays.get(name) for name in (*RUN_ERRORS, *RUN_ERROR_CURVES, "enough")}


def _facts(header: dict[str, Any]) -> dict[str, Any]:
    """Return what a run knows of its exchanges and its sketch, where there is anything."""
    facts = {name: header[name] for name in RUN_FACTS if header.get(name) is not None}
    for name in ("relaxation", "sketch_value", "level", *Law._fields):
        if name in facts:
            facts[name] = float(facts[name])
    if "bracket" in facts:
        low, high = facts["bracket"]
        facts["bracket"] = (float(low), float(high))
    return facts


def _build_fit(archive: Archive) -> Fit:
    header, arrays = archive
    bias = None
    if "bias_gradient" in arrays:
        bias = Bias(arrays["bias_gradient"], arrays["bias_model"])
    fit = Fit(
        **{name: header[name] for name in FIT_TEXTS},
        **{name: arrays[name] for name in ("judged", *FIT_CURVES)},
        **_shared_fields(archive),
        reports=arrays.get("reports"),
        gradient_error=arrays.get("gradient_error"),
        state=Snapshot(*(arrays[f"state_{name}"] for name in Snapshot._fields)),
        bias=bias,
    )
    shape = (fit.trials, len(fit.iterations))
    _check_shapes(fit, (*FIT_CURVES, "times", "gradient_error"), shape)
    _check_shapes(fit, ("trial_numbers",), (fit.trials,))
    _check_traffic_and_groups(fit, shape)
    _check_shapes(fit.state, ("held", "picks"), (fit.trials, fit.nodes))
    p = fit.models.shape[2]
    _check_shapes(fit.state, ("z", "theta", "mean"), (fit.trials, fit.nodes, p))
    metric = 2 * p + 1 if fit.step == AdaptiveStep.name else 0
    _check_shapes(fit.state, ("metric",), (fit.trials, fit.nodes, metric))
    if fit.privacy is not None:
        _check_shapes(fit, ("reports",), (fit.trials, fit.rows, len(fit.privacy.columns)))
    return fit


def _shared_fields(archive: Archive) -> dict[str, Any]:
    header, arrays = archive
    return {
        "iterations": arrays["iterations"],
        "trial_numbers": arrays["trial_numbers"],
        "times": arrays.get("times"),
        "seed": int(header["seed"]),
        "rows_dropped": int(header["rows_dropped"]),
        "positive": _positive(header),
        "fingerprint": as_fingerprint(header["fingerprint"]),
        "graph": graph_of(archive),
        "groups": arrays.get("groups"),
        "construction": header.get("construction"),
        "traffic": Traffic(*(arrays[f"traffic_{name}"] for name in Traffic._fields)),
        "privacy": RandomizedResponse(**header["privacy"]) if "privacy" in header else None,
    }


def _positive(header: dict[str, Any]) -> str | None:
    """Return the positive class, which files of 0.2 do not have."""
    positive = header.get("positive")
    return None if positive is None else printable(str(positive))


def _check_traffic_and_groups(result: Run | Fit, shape: tuple[int, ...]) -> None:
    _check_shapes(result.traffic, Traffic._fields, shape)
    if result.groups is not None and not np.array_equal(
        np.unique(result.groups), np.arange(result.sites.n)
    ):
        raise ValueError("groups are not the sites of the graph")


def _check_shapes(result: object, names: tuple[str, ...], shape: tuple[int, ...]) -> None:
    for name in names:
        array = getattr(result, name)
        if array is not None and np.shape(array) != shape:
            raise ValueError(f"{name} has shape {np.shape(array)}, not {shape}")
