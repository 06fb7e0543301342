"""What a table asks of a file, whether its entries have types or are text."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any, Protocol, Self

from pairgossip.arrays import FloatArray, IntArray
from pairgossip.errors import InputError
from pairgossip.rows.columns import Ordered
from pairgossip.rows.names import Names
from pairgossip.rows.places import Numbering


class TableFile(Protocol):
    """A file whose columns have names."""

    file: Path
    """What messages call it."""
    numbering: Numbering
    """How they name its rows."""

    @property
    def delimiter(self) -> str | None:
        """What separates its fields; None where nothing does."""

    @property
    def header(self) -> tuple[str, ...]:
        """The names of all columns, in their order."""

    def read(self, columns: Collection[str] | None = None) -> Self:
        """Read the rows, and those of these columns that hold numbers; None for all."""

    def __len__(self) -> int: ...

    def has_more(self, rows: int) -> bool:
        """Tell whether there are more rows than this number, before they are all read."""

    def floats(self, name: str) -> FloatArray | None:
        """Return a column of numbers, NaN for what is missing; None for other columns."""

    def load(self, names: Collection[str]) -> None:
        """Read columns together that will be asked for one by one."""

    def has_text(self, name: str) -> bool:
        """Tell whether a column was read as text already."""

    def texts(self, names: Collection[str]) -> dict[str, Names]:
        """Return columns as text, whatever they hold."""

    def lines(self) -> IntArray:
        """Return the number by which messages name each row."""

    def is_gap(self, entry: Any) -> bool:
        """Tell whether an entry of a column of text stands for a missing one."""

    def parse_number(self, entry: Any) -> float | None:
        """Return the number that an entry of a column of text stands for, if any."""

    def explain(self, name: str) -> InputError | None:
        """Return why a column holds no numbers; None where its entries say it one by one."""

    def refuse_rounded(self, name: str) -> None:
        """Raise `InputError` for a column whose whole numbers floating point would round."""

    def refuse_unnamed(self, name: str) -> None:
        """Raise `InputError` for a column whose entries name no class, site or stratum."""

    def ordered(self, name: str) -> Ordered | None:
        """Return a column of classes that have an order; None for others."""
