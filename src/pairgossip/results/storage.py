"""Runs on disk: one .npz file with a JSON header; no pickle, nothing executable."""

from __future__ import annotations

import io
import json
import platform
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

import pairgossip
from pairgossip.arrays import FloatArray
from pairgossip.errors import InputError
from pairgossip.files import read_bytes, replacing
from pairgossip.graphs import Graph, complete
from pairgossip.results.run import Run
from pairgossip.theory import TheoryCurves

FORMAT = 1
_TEXTS = ("kernel", "method", "clock", "order", "law", "target_kind", "status")
_ARRAYS = ("iterations", "trial_mean", "trial_spread", "trial_error", "estimates", "target")
_OPTIONAL_ARRAYS = ("times", "history")


def save(run: Run, path: Path) -> None:
    """Write a run; an existing file is replaced only once the new one is complete."""
    header: dict[str, Any] = {name: getattr(run, name) for name in _TEXTS}
    header |= {
        "format": FORMAT,
        "seed": str(run.seed),  # entropy from the operating system exceeds 64 bits
        "graph": {
            "n": run.graph.n,
            "family": run.graph.family,
            "parameters": run.graph.parameters,
            "names": run.graph.names,
        },
        "versions": {
            "pairgossip": pairgossip.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
        "machine": {"system": platform.system(), "processor": platform.machine()},
    }
    arrays: dict[str, Any] = {name: getattr(run, name) for name in _ARRAYS}
    arrays |= {name: getattr(run, name) for name in _OPTIONAL_ARRAYS}
    if not run.graph.is_complete:
        arrays["graph_edges"] = run.graph.edges
    arrays["graph_positions"] = run.graph.positions
    if run.known_theory is not None:
        arrays |= {f"theory_{name}": c for name, c in run.known_theory._asdict().items()}
    present = {name: array for name, array in arrays.items() if array is not None}
    text = json.dumps(header, default=_plain_number).encode()
    with replacing(path) as file:
        np.savez_compressed(file, header=np.frombuffer(text, dtype=np.uint8), **present)


def load(path: str | Path) -> Run:
    """Read a run that `Run.save` wrote.

    Raises `InputError` if the file is missing, is not a saved run, or comes from a newer version.
    """
    content = read_bytes(Path(path))
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        header = json.loads(arrays.pop("header").tobytes())
        if header["format"] > FORMAT:
            raise InputError(
                f"{path} was written by pairgossip {header['versions']['pairgossip']} in a newer "
                "format: upgrade pairgossip to read it."
            )
        return _rebuild(header, arrays)
    except (BadZipFile, KeyError, ValueError, TypeError, EOFError, OSError) as problem:
        if isinstance(problem, InputError):
            raise
        raise InputError(f"{path} is not a run saved by pairgossip.") from None


def _rebuild(header: dict[str, Any], arrays: dict[str, Any]) -> Run:
    target = arrays.pop("target")
    named: dict[str, Any] = {name: arrays.get(name) for name in _OPTIONAL_ARRAYS}
    named |= {name: arrays[name] for name in _ARRAYS if name != "target"}
    theory: dict[str, FloatArray] = {
        name: arrays[f"theory_{name}"]
        for name in TheoryCurves._fields
        if f"theory_{name}" in arrays
    }
    return Run(
        **{name: header[name] for name in _TEXTS},
        **named,
        target=target if target.ndim else float(target),
        seed=int(header["seed"]),
        graph=_graph(header["graph"], arrays),
        _theory=TheoryCurves(**theory) if theory else None,
    )


def _graph(about: dict[str, Any], arrays: dict[str, Any]) -> Graph:
    listed = "graph_edges" in arrays
    if not listed and about["names"] is None and about["family"] == "complete":
        return complete(about["n"])  # stores no edges, so it may be huge
    return Graph(
        about["n"],
        arrays["graph_edges"] if listed else complete(about["n"]).edges,
        family=about["family"],
        parameters=about["parameters"],
        names=about["names"],
        positions=arrays.get("graph_positions"),
    )


def _plain_number(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} does not belong in a header")
