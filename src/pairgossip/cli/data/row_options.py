"""Options that choose the rows of a file, and give the order of their labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cyclopts import Parameter

from pairgossip.checks import REFUSE
from pairgossip.cli.data.site_tables import locate_rows, read_entries, read_order
from pairgossip.cli.options import STATISTIC, Classes, Positive
from pairgossip.errors import InputError

if TYPE_CHECKING:
    from pairgossip.tables import Table


@Parameter(name="*", group=STATISTIC)
@dataclass(frozen=True)
class RowOptions:
    """The choice of rows, and the order of their labels."""

    missing: str = REFUSE
    """Rows without an entry in a column that is used (empty, NA, nan, ...): refuse names their
    lines and stops; drop leaves them out and says how many."""
    classes: Classes = None
    positive: Positive = None

    @property
    def factors(self) -> dict[str, str]:
        """The columns of weights, strata and groups, by the arguments of `estimate`."""
        options = {"weights": "weight", "within": "within", "between": "between", "by": "by"}
        asked = {name: getattr(self, option, None) for name, option in options.items()}
        if asked["within"] is not None and asked["between"] is not None:
            raise InputError("Pairs are within strata or between them: leave --between out.")
        return {name: column for name, column in asked.items() if column is not None}

    @property
    def names(self) -> list[str] | None:
        """The declared classes as given on the command line; None if there are none."""
        return None if self.classes is None else [name.strip() for name in self.classes.split(",")]

    def read_labels(
        self, tables: Sequence[Table], label: str | None
    ) -> tuple[Any, tuple[Any, ...] | None]:
        """Return the labels of all rows, and the declared classes or None.

        Labels are codes of declared classes; else numbers if all entries are, or text.
        """
        from pairgossip.kernels.rows import code_labels

        if label is None:
            for option in ("classes", "positive"):
                if getattr(self, option) is not None:
                    raise InputError(
                        f"--{option} is about labels, but no label is used: give --label, or "
                        f"leave --{option} out."
                    )
            return None, None
        names: list[Any] | None = self.names
        texts = read_entries(tables, label)
        if self.positive is not None:
            names = self._order_classes([text for table in tables for text in table.text(label)])
        names = names or read_order(tables, label)
        if names is None:
            return texts, None
        if not isinstance(texts, list) and not all(map(_is_numeral, names)):
            texts = [text for table in tables for text in table.text(label)]
        elif not isinstance(texts, list):  # 2 and 2.0 are the same
            names = [float(name) for name in names]
        owner = f"Column '{label}'{f' of {tables[0].path}' if len(tables) == 1 else ''} holds"
        codes = code_labels(texts, names, owner, locate_rows(tables).describe)
        return codes, tuple(names)

    def _order_classes(self, texts: Sequence[str]) -> list[Any]:
        """Return the two labels, the positive one last; 1 and 1.0 are the same number."""
        from pairgossip.kernels.data import format_label
        from pairgossip.kernels.rows import order_classes

        positive: Any = self.positive
        if all(map(_is_numeral, {*texts, positive})):
            texts = [format_label(float(text)) for text in texts]
            positive = format_label(float(positive))
        return order_classes(positive, texts, self.classes)


@Parameter(name="*", group=STATISTIC)
@dataclass(frozen=True)
class WeightedRows(RowOptions):
    """The choice of rows to learn from, the order of their labels, and their weights."""

    weight: str | None = None
    """With --method sketch, the column that says how often each row counts, a number > 0."""


@Parameter(name="*", group=STATISTIC)
@dataclass(frozen=True)
class PairOptions(RowOptions):
    """The choice of rows, the order of their labels, and the weights of their pairs."""

    weight: str | None = None
    """Column that says how often each row counts, a number > 0: the weight of a pair is the product
    of its rows' weights."""
    within: str | None = None
    """Column of strata, such as a ward or a year: only pairs of rows within one stratum count."""
    between: str | None = None
    """Column of strata: only pairs of rows from two different strata count."""


@Parameter(name="*", group=STATISTIC)
@dataclass(frozen=True)
class ComparedRows(PairOptions):
    """The choice of rows and pairs, and the groups to compare."""

    by: str | None = None
    """Column of groups to compare, such as sex: print the statistic of every group and of all rows,
    the differences between groups, and a test of whether all are equal. These are not the sites of
    --group-by."""


@Parameter(name="*", group=STATISTIC)
@dataclass(frozen=True)
class ValidatedRows(RowOptions):
    """The choice of rows, the order of their labels, and their groups, strata and weights."""

    by: str | None = None
    """Column of groups to compare, such as sex."""
    within: str | None = None
    """Column of strata, such as a ward: also print the AUC over pairs within one stratum."""
    weight: str | None = None
    """Column that says how often each row counts, a whole number."""


def _is_numeral(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
