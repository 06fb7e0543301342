"""Results on disk: one .npz file of arrays with a JSON header; no pickle, nothing executable."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pairgossip.errors import InputError
from pairgossip.files import interrupts_later, read_bytes, replacing
from pairgossip.graphs import Graph, GroupedGraph, restored
from pairgossip.results.provenance import machine, versions
from pairgossip.results.traffic import WHOLE_SETS

FORMAT = 3
"""Since files have fingerprints; those without are not read."""


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
    """Read the texts and numbers of a result alone."""
    with interrupts_later(), np.load(path, allow_pickle=False) as stored:
        header: dict[str, Any] = json.loads(stored["header"].tobytes())
    return header


def read_archive(path: str | Path) -> Archive:
    """Read what `write_archive` wrote; a damaged file may raise anything but `InputError`."""
    content = io.BytesIO(read_bytes(Path(path)))
    with interrupts_later(), np.load(content, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    header = json.loads(arrays.pop("header").tobytes())
    if header["format"] != FORMAT:
        newer = header["format"] > FORMAT
        remedy = "upgrade pairgossip to read it" if newer else "run it again"
        raise InputError(
            f"{path} was written by pairgossip {header['versions']['pairgossip']} in "
            f"{'a newer' if newer else 'an older'} format: {remedy}."
        )
    return Archive(header, arrays)


def graph_of(archive: Archive) -> Graph:
    """Restore the graph of a result: of its rows where it has groups, unless sets are swapped."""
    about = archive.header["graph"]
    construction = archive.header.get("construction")
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
