"""Reading saved runs and fits, and checking the shapes of their arrays."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pairgossip.errors import InputError
from pairgossip.files import read_bytes
from pairgossip.graphs import GivenLaw
from pairgossip.losses.steps import AdaptiveStep
from pairgossip.results.fields import ITERATION, NODE, REST, ROW, TRIAL, saved_fields
from pairgossip.results.fit import Fit
from pairgossip.results.run import Run
from pairgossip.results.storage import LARGEST_RESULT, Archive, graph_of, law_of, read_archive
from pairgossip.summaries.summary_file import SummaryFile


def load(path: str | Path, largest: int = LARGEST_RESULT) -> Any:
    """Read a `Run` or a `Fit` that its ``save`` wrote, or a `SummaryFile` (``.summary``).

    Raises `InputError` if the file is missing, is not a saved result, is damaged, comes from
    another version, or holds arrays of more than ``largest`` bytes together.
    """
    if str(path).endswith(".summary"):
        return load_summary(Path(path), largest)
    try:
        archive = read_archive(path, largest)
        result = _build(Fit if archive.header["kind"] == Fit.kind else Run, archive)
        _check_shapes(result)
        return result
    except (InputError, MemoryError):
        raise
    except Exception:  # a damaged archive can fail in many ways
        raise InputError(f"{path} is not a run saved by pairgossip, or is damaged.") from None


def load_summary(path: Path, largest: int = LARGEST_RESULT) -> SummaryFile:
    """Read a file of counts; raise `InputError` if that is not possible."""
    content = read_bytes(path, largest)
    try:
        return SummaryFile.from_bytes(content)
    except InputError as problem:
        raise problem.at(path) from None


def _build(kind: type[Run] | type[Fit], archive: Archive) -> Run | Fit:
    """Make a result from the contents of a file; raise if a field without a default is missing."""
    header, arrays = archive
    values: dict[str, Any] = {"graph": graph_of(archive)}
    for name, about in saved_fields(kind).items():
        if about.parts is not None:
            make, names = about.parts
            parts = {part: arrays[stored] for part, stored in names.items() if stored in arrays}
            if parts:
                values[name] = make(**parts)
        elif (value := (header if about.dims is None else arrays).get(name)) is not None:
            values[name] = about.decode(value)
    return kind(**values | {"law": law_of(archive)})


def _check_shapes(result: Run | Fit) -> None:
    """Raise if arrays of the same dimensions have different lengths."""
    sizes = {
        TRIAL: result.trials,
        ITERATION: len(result.iterations),
        NODE: result.nodes,
        ROW: result.rows,
        "column": None if result.privacy is None else len(result.privacy.columns),
    }
    for name, about in saved_fields(result).items():
        value = getattr(result, name)
        parts = () if about.parts is None or value is None else about.parts.names
        for array in [getattr(value, part) for part in parts] or [value]:
            if isinstance(array, np.ndarray) and about.dims is not None:
                _check_shape(
                    name,
                    array,
                    [sizes.get(one) for one in about.dims if one != REST],
                    REST in about.dims,
                )
    if result.groups is not None and not np.array_equal(
        np.unique(result.groups), np.arange(result.sites.n)
    ):
        raise ValueError("groups are not the sites of the graph")
    law, edge_count = result.law, result.sites.edge_count
    if isinstance(law, GivenLaw) and len(law.probabilities) != edge_count:
        raise ValueError("there is not one probability per edge")
    if isinstance(result, Fit):
        _check_state(result)
    elif (result.privacy is None) != (result.privacy_error is None):
        raise ValueError("intervals of private runs need the error of the reports")


def _check_state(fit: Fit) -> None:
    """Raise if the state does not have a model for every node."""
    p = fit.models.shape[2]
    lengths = dict.fromkeys(("z", "theta", "mean"), p)
    lengths["metric"] = 2 * p + 1 if fit.step == AdaptiveStep.name else 0
    for name, array in fit.state._asdict().items():
        more = [lengths[name]] if name in lengths else []
        _check_shape(name, array, [fit.trials, fit.nodes, *more])


def _check_shape(
    name: str, array: Any, lengths: Sequence[int | None], has_more: bool = False
) -> None:
    """Raise if an array does not have these lengths, where they are known."""
    shape = np.shape(array)[: len(lengths)] if has_more else np.shape(array)
    is_right = len(shape) == len(lengths) and all(
        length in (None, actual) for length, actual in zip(lengths, shape, strict=True)
    )
    if not is_right:
        raise ValueError(f"{name} has shape {np.shape(array)}, not {tuple(lengths)}")
