"""Runs and fits as files."""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.engine.descent.state import Snapshot
from pairgossip.errors import InputError
from pairgossip.files import interrupts_later, replacing
from pairgossip.graphs import Graph, GroupedGraph, restored
from pairgossip.privacy import PrivacyError, RandomizedResponse
from pairgossip.privacy.estimation import as_record, from_record
from pairgossip.results.fit import Bias, Fit
from pairgossip.results.provenance import as_fingerprint, machine, versions
from pairgossip.results.run import Run
from pairgossip.results.traffic import WHOLE_SETS, Traffic
from pairgossip.theory import TheoryCurves

# Results on disk: one .npz file of arrays with a JSON header; no pickle, nothing executable.


FORMAT = 3
"""Since files have fingerprints; those without are not read."""
LARGEST_RESULT = 2 << 30
"""Bytes of all arrays of a file, unless more is asked for: a small file may unfold to anything."""
LARGEST_HEADER = 32 << 20
"""Bytes: the names of a million nodes. JSON takes many times its length in memory."""
_HEADER = "header"
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class Archive(NamedTuple):
    """What a file holds: texts and numbers in the header, everything else in arrays."""

    header: dict[str, Any]
    arrays: dict[str, Any]


def write_archive(path: Path, archive: Archive, graph: Graph) -> None:
    """Write a result and its graph; an existing file is replaced only by a complete one."""
    graph = graph.sites if isinstance(graph, GroupedGraph) else graph
    header = archive.header | {
        "format": FORMAT,
        "graph": {
            "n": graph.n,
            "complete": graph.is_complete,
            "family": graph.family,
            "parameters": graph.parameters,
            "names": graph.names,
        },
        "versions": versions(),
        "machine": machine(),
    }
    arrays = archive.arrays | {
        "graph_edges": None if graph.is_complete else graph.edges,
        "graph_positions": graph.positions,
    }
    present = {name: array for name, array in arrays.items() if array is not None}
    text = json.dumps(header, default=_plain_number).encode()
    with replacing(path) as file:
        np.savez_compressed(file, header=np.frombuffer(text, dtype=np.uint8), **present)


def read_header(path: Path) -> dict[str, Any]:
    """Read the texts and numbers of a result alone; a damaged file may raise anything."""
    with _opened(path, LARGEST_RESULT) as stored:
        return _header(stored)


def read_archive(path: str | Path, largest: int = LARGEST_RESULT) -> Archive:
    """Read what `write_archive` wrote; a damaged file may raise anything but `InputError`.

    Nothing is unpacked before the sizes of all arrays are known: together at most ``largest``.
    """
    with _opened(Path(path), largest) as stored:
        names = [name.removesuffix(".npy") for name in stored.namelist()]
        header = _header(stored)
        arrays = {name: _array(stored, name) for name in names if name != _HEADER}
    if header["format"] != FORMAT:
        newer = header["format"] > FORMAT
        remedy = "upgrade pairgossip to read it" if newer else "run it again"
        raise InputError(
            f"{path} was written by pairgossip {header['versions']['pairgossip']} in "
            f"{'a newer' if newer else 'an older'} format: {remedy}."
        )
    return Archive(header, arrays)


@contextmanager
def _opened(path: Path, largest: int) -> Iterator[zipfile.ZipFile]:
    """Open a file whose arrays are together not too large."""
    try:
        file = open(path, "rb")  # noqa: SIM115 - closed below
    except OSError as problem:
        raise InputError(f"Cannot read {path}: {problem.strerror}.") from None
    with file, interrupts_later(), zipfile.ZipFile(file) as stored:
        size = sum(member.file_size for member in stored.infolist())
        if size > largest:
            raise InputError(
                f"{path} unfolds to {size / 2**30:.1f} GiB, and at most {largest / 2**30:.1f} are "
                f"read: if you trust it, pass largest={size} to pairgossip.load in Python."
            )
        yield stored


def _header(stored: zipfile.ZipFile) -> dict[str, Any]:
    if stored.getinfo(f"{_HEADER}.npy").file_size > LARGEST_HEADER:
        raise ValueError("the header is too long")
    header: dict[str, Any] = json.loads(_array(stored, _HEADER).tobytes())
    return header


def _array(stored: zipfile.ZipFile, name: str) -> Any:
    """Read one array, whose own header must not promise more than the file holds."""
    member = stored.getinfo(f"{name}.npy")
    if member.compress_type not in _PACKINGS:
        raise ValueError("unpacking may take any amount of memory")
    with stored.open(member) as file:
        read = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[np.lib.format.read_magic(file)]
        shape, _, dtype = read(file)
        if math.prod(shape) * dtype.itemsize != member.file_size - file.tell():
            raise ValueError(f"{name} is not as long as it says")
    with stored.open(member) as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def graph_of(archive: Archive) -> Graph:
    """Restore the graph of a result: of its rows where it has groups, unless sets are swapped."""
    about = archive.header["graph"]
    construction = archive.header.get("construction")
    # In bytes: entries of no width, or of one byte, would promise nodes that cost far more.
    if about["n"] > max(array.nbytes for array in archive.arrays.values()) // 8:
        raise ValueError("no array has a number for every node")
    sites = restored(
        about["n"],
        None if about["complete"] else archive.arrays["graph_edges"],
        about["family"],
        about["parameters"],
        about["names"],
        archive.arrays.get("graph_positions"),
    )
    if construction is None or construction == WHOLE_SETS:
        return sites
    return GroupedGraph(sites, archive.arrays["groups"], construction)


def _plain_number(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} does not belong in a header")


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
