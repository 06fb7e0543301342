"""The result of `pg.validate`: discrimination, calibration, thresholds and groups, on one page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairgossip.curves.pictures import picture_decisions
from pairgossip.curves.roc import Roc
from pairgossip.curves.thresholds import OperatingPoint
from pairgossip.errors import needed_for
from pairgossip.inference.answer import Answer
from pairgossip.inference.group_text import ALL_ROWS
from pairgossip.inference.number_text import describe_answer
from pairgossip.pages.page import Page, Part, show
from pairgossip.text import json_value
from pairgossip.validation.calibration import NAMES, Calibration
from pairgossip.validation.groups import Groups
from pairgossip.validation.parts import list_parts, write_text
from pairgossip.validation.pictures import picture_calibration, picture_groups

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from pairgossip.pictures.picture import Picture

TITLE = "Validation"
_PANEL = (5.6, 5.0)
"""Width and height of a panel of the figure, in inches."""


@dataclass(frozen=True, eq=False, repr=False)
class Validation:
    """The validation of scores against an outcome: all numbers that a validation publishes.

    Numbers have two errors: an interval for the population, and a ``bracket`` that holds the value
    of the counted rows, wherever in their cells these are.

    Attributes
    ----------
    roc
        The ROC curve, with the AUC.
    calibration
        The agreement of probabilities with the outcome; None where scores are not probabilities.
    no_calibration
        Why there is no calibration; empty if there is one.
    within
        The AUC of pairs within strata; None without strata.
    groups
        The same by groups of rows, with the differences between groups; None without groups.
    """

    roc: Roc
    calibration: Calibration | None
    no_calibration: str = ""
    within: Answer | None = None
    groups: Groups | None = None

    @property
    def level(self) -> float:
        """The level of all intervals."""
        return self.roc.level

    @cached_property
    def thresholds(self) -> tuple[OperatingPoint, ...]:
        """The statistics at each agreed threshold, such as sensitivity and specificity."""
        return tuple(map(self.roc.at, self.roc.thresholds))

    def parts(self) -> Iterator[Part]:
        """Return the parts of the page, to build other pages from them."""
        return list_parts(self)

    def to_html(self, path: str | Path, title: str = TITLE) -> None:
        """Write the page: one file without script that needs nothing else."""
        Page(title, tuple(self.parts())).write(Path(path))

    def to_dict(self) -> dict[str, Any]:
        """Return every number of the page by name, ready for JSON: None where not known."""
        within = None if self.within is None else describe_answer(self.within)
        facts: dict[str, Any] = json_value(
            {
                "rows": self.roc.positives + self.roc.negatives,
                "positives": self.roc.positives,
                "positive": self.roc.positive,
                "level": self.level,
                "least_cell": self.roc.least_cell,
                "discrimination": {
                    "auc": describe_answer(self.roc.auc),
                    "within": within,
                    "average_precision": describe_answer(self.roc.average_precision),
                },
                "calibration": None if self.calibration is None else self.calibration.to_dict(),
                "no_calibration": self.no_calibration,
                "thresholds": [one.to_dict() for one in self.thresholds],
                "groups": None if self.groups is None else self.groups.to_dict(),
            }
        )
        return facts

    def to_pandas(self) -> pd.DataFrame:
        """Return every number of all rows and of groups as a frame, one number per line."""
        with needed_for("Validation.to_pandas"):
            import pandas as pd
        return pd.DataFrame(list(self._list_records()))

    def _list_records(self) -> Iterator[dict[str, Any]]:
        named: list[tuple[str, Roc | None, Calibration | None]] = [
            (ALL_ROWS, self.roc, self.calibration)
        ]
        if self.groups is not None:
            named += [(name, one.roc, one.calibration) for name, one in self.groups.items()]
        for name, roc, calibration in named:
            if roc is None:
                continue
            numbers: dict[tuple[str, float | None], Answer] = {("auc", None): roc.auc}
            numbers["average_precision", None] = roc.average_precision
            if calibration is not None:
                numbers |= {(key, None): getattr(calibration, key) for key in NAMES}
            for point in map(roc.at, roc.thresholds):
                numbers |= {(key, point.threshold): one for key, one in point.numbers().items()}
            for (key, threshold), one in numbers.items():
                facts = describe_answer(one)
                low, high = facts.pop("bracket")
                yield {
                    "rows": name,
                    "number": key,
                    "threshold": threshold,
                    **facts,
                    "least": low,
                    "most": high,
                }

    def pictures(self) -> Iterator[Picture]:
        """Return the pictures of the page."""
        yield self.roc.picture()
        if self.calibration is not None:
            yield picture_calibration(self.calibration, self.level)
            if self.thresholds:
                yield picture_decisions(self.roc)
        if self.groups is not None:
            yield picture_groups(self.groups.auc, self.roc.auc.value)

    def plot(self) -> Figure:
        """Draw the pictures with matplotlib, side by side, and return the figure."""
        with needed_for("Validation.plot"):
            from matplotlib.figure import Figure
        pictures = list(self.pictures())
        columns = min(2, len(pictures))
        rows = -(-len(pictures) // columns)
        figure = Figure(figsize=(columns * _PANEL[0], rows * _PANEL[1]), layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False).ravel()
        for panel, picture in zip(panels, pictures, strict=False):
            picture.draw(panel)
        for panel in panels[len(pictures) :]:
            panel.remove()
        return figure

    def _repr_html_(self) -> str:
        return show(self.parts())

    def __str__(self) -> str:
        return write_text(self)

    __repr__ = __str__
