"""A validation by groups of rows: the results of each group, and the differences between them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pairgossip.curves.roc import Roc
from pairgossip.curves.thresholds import OperatingPoint
from pairgossip.errors import Notice, unknown_name
from pairgossip.inference.answer import answer_without_error
from pairgossip.inference.group_table import GroupTable
from pairgossip.kernels.data import format_label
from pairgossip.text import format_count
from pairgossip.validation.calibration import Calibration


@dataclass(frozen=True, eq=False, repr=False)
class Group:
    """The validation of one group of rows.

    Attributes
    ----------
    name
        The name of the group.
    rows
        The number of its rows.
    roc, calibration
        As for all rows; None where there is none.
    reason
        Why the group has no ROC curve; empty if it has one.
    """

    name: str
    rows: int
    roc: Roc | None
    calibration: Calibration | None
    reason: str | Notice = ""

    @property
    def thresholds(self) -> tuple[OperatingPoint, ...]:
        """The statistics at each agreed threshold, such as sensitivity and specificity."""
        return () if self.roc is None else tuple(map(self.roc.at, self.roc.thresholds))

    def to_dict(self) -> dict[str, Any]:
        """Return every number by name."""
        return {
            "rows": self.rows,
            "positives": None if self.roc is None else self.roc.positives,
            "reason": str(self.reason),
            "calibration": None if self.calibration is None else self.calibration.to_dict(),
            "thresholds": [one.to_dict() for one in self.thresholds],
        }

    def __repr__(self) -> str:
        curve = self.reason if self.roc is None else repr(self.roc)
        return f"<Group '{self.name}' of {format_count(self.rows, 'row')}: {curve}>"


@dataclass(frozen=True, eq=False, repr=False)
class Groups(Mapping[str, Group]):
    """The groups by their names.

    Attributes
    ----------
    by
        The name of the column of groups.
    auc
        The AUC of each group, with the differences between them.
    observed_expected
        The same for the ratio of observed to expected outcomes; None if scores are not
        probabilities.
    """

    parts: Mapping[str, Group]
    by: str
    auc: GroupTable
    observed_expected: GroupTable | None

    def __getitem__(self, group: Any) -> Group:
        name = format_label(group)
        if name not in self.parts:
            raise unknown_name("group", name, self.parts)
        return self.parts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)

    @property
    def worst(self) -> str:
        """The group with the lowest AUC; it was selected, so its interval is too optimistic."""
        return self.auc.worst

    @cached_property
    def tables(self) -> tuple[GroupTable, ...]:
        """The tables of all numbers by which groups are compared."""
        return tuple(one for one in (self.auc, self.observed_expected) if one is not None)

    def to_dict(self) -> dict[str, Any]:
        """Return every number by name."""
        tables = {"auc": self.auc, "observed_expected": self.observed_expected}
        return {
            "by": self.by,
            "worst": self.worst,
            **{name: None if one is None else one.to_dict() for name, one in tables.items()},
            "groups": {name: one.to_dict() for name, one in self.parts.items()},
        }

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.tables))

    __repr__ = __str__


def compare_calibration(
    parts: Mapping[str, Group], whole: Calibration | None, by: str
) -> GroupTable | None:
    """Return the ratios of observed to expected outcomes by group, with their differences."""
    if whole is None:
        return None
    calibrations = {name: one.calibration for name, one in parts.items()}
    answers = {
        name: answer_without_error(math.nan) if one is None else one.observed_expected
        for name, one in calibrations.items()
    }
    rows = {name: one.rows for name, one in parts.items()}
    return GroupTable(answers, whole.observed_expected, "observed / expected", by, rows=rows)
