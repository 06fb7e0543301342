"""Results on disk: one .npz file of arrays with a JSON header; no pickle, nothing executable.

Results are written here and read back by `loading`, which imports their classes.
"""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pairgossip.checks import WHOLE_SETS
from pairgossip.errors import InputError
from pairgossip.files import interrupts_later, replacing, unreadable
from pairgossip.graphs import Changing, GivenLaw, Graph, GroupedGraph, restore_graph
from pairgossip.graphs.laws import NamedOrGiven
from pairgossip.results.fields import saved_fields
from pairgossip.results.provenance import machine, versions
from pairgossip.text import plain_value, printable

if TYPE_CHECKING:
    from pairgossip.results.result import Result

_FORMAT = 7
"""Version of the format; other formats are refused."""
LARGEST_RESULT = 2 << 30
"""Largest size of all arrays of a file by default, in bytes: a small file may unfold to any
size."""
_LARGEST_HEADER = 32 << 20
"""Largest size of a header, in bytes, for names of a million nodes. JSON takes many times its
length in memory."""
_HEADER, _LAW = "header", "law_probabilities"
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class Archive(NamedTuple):
    """The contents of a file: texts and numbers in the header, everything else in arrays."""

    header: dict[str, Any]
    arrays: dict[str, Any]


def read_header(path: Path) -> dict[str, Any]:
    """Read only the texts and numbers of a result; a damaged file may raise anything."""
    with _open_archive(path, LARGEST_RESULT) as stored:
        return _header(stored)


def read_archive(path: str | Path, largest: int = LARGEST_RESULT) -> Archive:
    """Read a file of `save_result`; a damaged one may raise anything, also besides `InputError`.

    Nothing is unpacked before the sizes of all arrays are known: together at most ``largest``.
    """
    with _open_archive(Path(path), largest) as stored:
        names = [name.removesuffix(".npy") for name in stored.namelist()]
        header = _header(stored)
        arrays = {name: _array(stored, name) for name in names if name != _HEADER}
    if header["format"] != _FORMAT:
        newer = header["format"] > _FORMAT
        remedy = "upgrade pairgossip to read it" if newer else "run it again"
        raise InputError(
            f"{path} was written by pairgossip {header['versions']['pairgossip']} in "
            f"{'a newer' if newer else 'an older'} format: {remedy}."
        )
    return Archive(header, arrays)


@contextmanager
def _open_archive(path: Path, largest: int) -> Iterator[zipfile.ZipFile]:
    """Open a file whose arrays are together not too large."""
    try:
        file = open(path, "rb")  # noqa: SIM115 - closed below
    except OSError as problem:
        raise unreadable(path, problem) from None
    with file, interrupts_later(), zipfile.ZipFile(file) as stored:
        size = sum(member.file_size for member in stored.infolist())
        if size > largest:
            raise InputError(
                f"{path} unfolds to {size / 2**30:.1f} GiB, and at most {largest / 2**30:.1f} are "
                f"read: if you trust it, pass largest={size} to pairgossip.load in Python."
            )
        yield stored


def _header(stored: zipfile.ZipFile) -> dict[str, Any]:
    if stored.getinfo(f"{_HEADER}.npy").file_size > _LARGEST_HEADER:
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
            raise ValueError(f"{name} is not as long as it claims")
    with stored.open(member) as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def graph_of(archive: Archive) -> Graph:
    """Restore the graph of a result: that of its rows if it has groups, or of swapped sets'
    sites."""
    about = archive.header["graph"]
    construction = archive.header.get("construction")
    # In bytes: entries of no width, or of one byte, would promise nodes that cost far more.
    if about["n"] > max(array.nbytes for array in archive.arrays.values()) // 8:
        raise ValueError("no array has a number for every node")
    sites: Graph
    if "every" in about:
        parts = [_restore(about | part, archive, k) for k, part in enumerate(about["graphs"])]
        sites = Changing(parts, about["every"])
    else:
        sites = _restore(about, archive)
    if construction is None or construction == WHOLE_SETS:
        return sites
    return GroupedGraph(sites, archive.arrays["groups"], construction)


def _restore(about: dict[str, Any], archive: Archive, number: int | None = None) -> Graph:
    """Restore one graph: the only one, or the one with this number among those that take turns."""
    return restore_graph(
        about["n"],
        None if about["complete"] else archive.arrays[_edges_name(number)],
        about["family"],
        about["parameters"],
        about["names"],
        archive.arrays.get("graph_positions"),
    )


def _edges_name(number: int | None = None) -> str:
    """Return the name of a graph's edges in files."""
    return "graph_edges" if number is None else f"graph_{number}_edges"


def _describe(graph: Graph) -> dict[str, Any]:
    """Return the header's entries about a graph, besides its nodes."""
    return {
        "complete": graph.is_complete,
        "family": graph.family,
        "parameters": graph.parameters,
    }


def law_of(archive: Archive) -> NamedOrGiven:
    """Restore the law of a result."""
    name, probabilities = archive.header["law"], archive.arrays.get(_LAW)
    return str(name) if probabilities is None else GivenLaw(probabilities, printable(str(name)))


def save_result(result: Result, path: Path) -> None:
    """Write a run, or a fit with all that a later run needs to go on from it, and its graph.

    An existing file is replaced only by a complete one.
    """
    header: dict[str, Any] = {"kind": result.kind}
    arrays: dict[str, Any] = {}
    for name, about in saved_fields(result).items():
        value = getattr(result, name)
        if about.parts is not None:
            parts = {} if value is None else about.parts.names
            arrays |= {stored: getattr(value, part) for part, stored in parts.items()}
        elif about.dims is not None:
            arrays[name] = value
        elif value is not None or not about.omitted:
            header[name] = None if value is None else about.encode(value)
    graph = result.sites
    header |= {
        "format": _FORMAT,
        "graph": {"n": graph.n, **_describe(graph), "names": graph.names},
        "versions": versions(),
        "machine": machine(),
    }
    arrays |= {
        _edges_name(): None if graph.is_complete else graph.edges,
        "graph_positions": graph.positions,
        _LAW: result.law.probabilities if isinstance(result.law, GivenLaw) else None,
    }
    if isinstance(graph, Changing):
        turns = [_describe(each) for each in graph.graphs]
        header["graph"] |= {"every": graph.every, "graphs": turns}
        arrays |= {
            _edges_name(number): None if each.is_complete else each.edges
            for number, each in enumerate(graph.graphs)
        }
    present = {name: array for name, array in arrays.items() if array is not None}
    text = json.dumps(header, default=plain_value).encode()
    with replacing(path) as file:
        np.savez_compressed(file, header=np.frombuffer(text, dtype=np.uint8), **present)
