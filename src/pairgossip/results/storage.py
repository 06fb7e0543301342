"""Runs and fits as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.engine.descent import Snapshot
from pairgossip.errors import InputError
from pairgossip.privacy import PrivacyError, RandomizedResponse
from pairgossip.privacy.recording import as_record, from_record
from pairgossip.results.archive import (
    LARGEST_RESULT,
    Archive,
    graph_of,
    read_archive,
    write_archive,
)
from pairgossip.results.fingerprints import as_fingerprint
from pairgossip.results.fit import Bias, Fit
from pairgossip.results.run import Run
from pairgossip.results.traffic import Traffic
from pairgossip.theory import TheoryCurves

_RUN_TEXTS = ("kernel", "method", "clock", "order", "law", "target_kind", "status")
_RUN_CURVES = ("trial_mean", "trial_spread", "trial_error")
_FIT_TEXTS = ("loss", "clock", "law", "step", "step_scale", "status")
_FIT_CURVES = ("trial_objective", "trial_spread", "trial_disagreement")


def save(run: Run, path: Path) -> None:
    """Write a run."""
    header: dict[str, Any] = {name: getattr(run, name) for name in _RUN_TEXTS}
    header |= {"kind": "run", "seed": str(run.seed)}  # a seed may exceed 64 bits
    header |= {"fingerprint": run.fingerprint} | _grouping(run)
    names = ("iterations", "target", "estimates", "history", "times", "trial_numbers", *_RUN_CURVES)
    arrays: dict[str, Any] = {name: getattr(run, name) for name in names} | _counts(run)
    header |= _privacy(run)
    arrays["private_values"] = run.private_values
    if run.privacy_error is not None:
        header["privacy_error"] = list(run.privacy_error)
    if run.known_theory is not None:
        arrays |= {f"theory_{name}": c for name, c in run.known_theory._asdict().items()}
    write_archive(path, Archive(header, arrays), run.graph)


def save_fit(fit: Fit, path: Path) -> None:
    """Write a fit, with what it takes to go on from it."""
    header: dict[str, Any] = {name: getattr(fit, name) for name in _FIT_TEXTS}
    header |= {"kind": "fit", "seed": str(fit.seed), "fingerprint": fit.fingerprint}
    header |= _grouping(fit) | _privacy(fit)
    names = ("iterations", "times", "trial_numbers", *_FIT_CURVES)
    arrays: dict[str, Any] = {name: getattr(fit, name) for name in names} | _counts(fit)
    arrays |= {f"state_{name}": array for name, array in fit.state._asdict().items()}
    arrays["reports"] = fit.reports
    if fit.bias is not None:
        arrays |= {"bias_gradient": fit.bias.gradient, "bias_model": fit.bias.network_model}
    write_archive(path, Archive(header, arrays), fit.graph)


def load(path: str | Path, largest: int = LARGEST_RESULT) -> Any:
    """Read a `Run` or a `Fit` that its ``save`` wrote.

    Raises `InputError` if the file is missing, is no saved result, is damaged, comes from another
    version, or holds arrays of more than ``largest`` bytes together.
    """
    try:
        archive = read_archive(path, largest)
        rebuild = _fit if archive.header.get("kind") == "fit" else _run
        return rebuild(archive)
    except (InputError, MemoryError):
        raise
    except Exception:  # a damaged archive fails in as many ways as there are bytes
        raise InputError(f"{path} is not a run saved by pairgossip, or is damaged.") from None


def _run(archive: Archive) -> Run:
    header, arrays = archive
    target = arrays["target"]
    theory: dict[str, FloatArray] = {
        name: arrays[f"theory_{name}"]
        for name in TheoryCurves._fields
        if f"theory_{name}" in arrays
    }
    run = Run(
        **{name: header[name] for name in _RUN_TEXTS},
        **{name: arrays[name] for name in ("iterations", "estimates", *_RUN_CURVES)},
        times=arrays.get("times"),
        history=arrays.get("history"),
        trial_numbers=arrays.get("trial_numbers", np.arange(len(arrays["estimates"]))),
        target=target if target.ndim else float(target),
        seed=int(header["seed"]),
        fingerprint=as_fingerprint(header["fingerprint"]),
        graph=graph_of(archive),
        **_counted(archive),
        privacy=_mechanism(header),
        private_values=arrays.get("private_values"),
        privacy_error=PrivacyError(*header["privacy_error"]) if "privacy" in header else None,
        _theory=TheoryCurves(**theory) if theory else None,
    )
    trials, checkpoints = run.trials, len(run.iterations)
    _check_shapes(run, (*_RUN_CURVES, "times"), (trials, checkpoints))
    _check_shapes(run, ("trial_numbers", "private_values"), (trials,))
    _check_counts(run, (trials, checkpoints))
    _check_shapes(run, ("estimates",), (trials, run.nodes))
    _check_shapes(run, ("history",), (trials, checkpoints, run.nodes))
    return run


def _fit(archive: Archive) -> Fit:
    header, arrays = archive
    bias = None
    if "bias_gradient" in arrays:
        bias = Bias(arrays["bias_gradient"], arrays["bias_model"])
    fit = Fit(
        **{name: header[name] for name in _FIT_TEXTS},
        **{name: arrays[name] for name in ("iterations", "trial_numbers", *_FIT_CURVES)},
        times=arrays.get("times"),
        seed=int(header["seed"]),
        fingerprint=as_fingerprint(header["fingerprint"]),
        graph=graph_of(archive),
        **_counted(archive),
        privacy=_mechanism(header),
        reports=arrays.get("reports"),
        state=Snapshot(*(arrays[f"state_{name}"] for name in Snapshot._fields)),
        bias=bias,
    )
    shape = (fit.trials, len(fit.iterations))
    _check_shapes(fit, (*_FIT_CURVES, "times"), shape)
    _check_shapes(fit, ("trial_numbers",), (fit.trials,))
    _check_counts(fit, shape)
    _check_shapes(fit.state, ("held", "picks"), (fit.trials, fit.nodes))
    _check_shapes(fit.state, ("z", "theta"), fit.models.shape)
    if fit.privacy is not None:
        _check_shapes(fit, ("reports",), (fit.trials, fit.rows, len(fit.privacy.columns)))
    return fit


def _privacy(result: Run | Fit) -> dict[str, Any]:
    return {} if result.privacy is None else {"privacy": as_record(result.privacy)}


def _mechanism(header: dict[str, Any]) -> RandomizedResponse | None:
    return from_record(header["privacy"]) if "privacy" in header else None


def _grouping(result: Run | Fit) -> dict[str, Any]:
    return {} if result.construction is None else {"construction": result.construction}


def _counts(result: Run | Fit) -> dict[str, Any]:
    """Return the arrays about groups and what was sent."""
    counts = {} if result.traffic is None else result.traffic._asdict()
    arrays: dict[str, Any] = {f"traffic_{name}": array for name, array in counts.items()}
    return arrays if result.groups is None else arrays | {"groups": result.groups}


def _counted(archive: Archive) -> dict[str, Any]:
    header, arrays = archive
    found = [arrays.get(f"traffic_{name}") for name in Traffic._fields]
    known = all(array is not None for array in found)
    return {
        "groups": arrays.get("groups"),
        "construction": header.get("construction"),
        "traffic": Traffic(*found) if known else None,  # type: ignore[arg-type]
    }


def _check_counts(result: Run | Fit, shape: tuple[int, ...]) -> None:
    if result.traffic is not None:
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
