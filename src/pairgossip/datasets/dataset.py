"""A small real data set that ships with the package."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from importlib import resources

import numpy as np

from pairgossip.arrays import FloatArray
from pairgossip.errors import PairgossipError, unknown_name


@dataclass(frozen=True, eq=False)
class Dataset:
    """Named columns of numbers, one row per observation.

    Attributes
    ----------
    name, columns
        What it is called, and the names of its columns.
    values
        The numbers, shape (rows, columns), read-only.
    description, source, license
        What it holds, where it comes from, and under which terms.
    """

    name: str
    columns: tuple[str, ...]
    values: FloatArray
    description: str
    source: str
    license: str

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, column: str) -> FloatArray:
        if column not in self.columns:
            raise unknown_name(f"column of {self.name}", column, self.columns)
        return self.values[:, self.columns.index(column)]

    def __repr__(self) -> str:
        return f"Dataset({self.name}: {len(self)} rows, columns {', '.join(self.columns)})"


def read_shipped(file: str, sha256: str) -> tuple[tuple[str, ...], FloatArray]:
    """Read a CSV file of this package: its column names and its numbers.

    Raises `PairgossipError` if the file is not the one that was shipped.
    """
    # Line ends may have been rewritten on the way; the numbers are what is vouched for.
    raw = resources.files("pairgossip.datasets").joinpath(file).read_bytes()
    content = raw.replace(b"\r\n", b"\n")
    if hashlib.sha256(content).hexdigest() != sha256:
        raise PairgossipError(
            f"The data file {file} differs from the one shipped: reinstall pairgossip."
        )
    header, _, body = content.decode("ascii").partition("\n")
    values = np.loadtxt(io.StringIO(body), delimiter=",", ndmin=2)
    values.setflags(write=False)
    return tuple(header.split(",")), values
