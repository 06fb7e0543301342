"""Curves and the test of their groups together, as a page and a report show them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pairgossip.checks import REFUSE
from pairgossip.errors import InputError
from pairgossip.pages.page import Heading, Page, Paragraph, show
from pairgossip.survival.kaplan_meier import KaplanMeier, kaplan_meier
from pairgossip.survival.log_rank import LOG_RANK, LogRank, log_rank

if TYPE_CHECKING:
    from pairgossip.pages.parts import Part

_QUESTION = "Do the groups fail alike?"


@dataclass(frozen=True, repr=False)
class SurvivalReading:
    """Survival curves, and the test of whether their groups fail alike.

    Attributes
    ----------
    curves
        The curves of all rows, or of groups.
    test
        The log-rank test; None without groups.
    no_test
        The reason for having no test of the groups; empty if there is a test, or no groups.
    times
        The times of the shares; None for round times.
    time_label
        The name of the time.
    """

    curves: KaplanMeier
    test: LogRank | None
    no_test: str = ""
    times: tuple[float, ...] | None = None
    time_label: str = "time"

    def parts(self) -> Iterator[Part]:
        """Return the parts of a page."""
        yield from self.curves.parts(self.times, time_label=self.time_label)
        if not self.curves.groups:
            return
        yield Heading(_QUESTION)
        if self.test is None:
            yield Paragraph(f"There is no test: {self.no_test}")
        else:
            yield from self.test.parts()

    def to_dict(self) -> dict[str, Any]:
        """Return every number of the page by name, as JSON can hold it: None where not known."""
        test = None if self.test is None else self.test.to_dict()
        return {**self.curves.to_dict(self.times), "test": test, "no_test": self.no_test}

    def to_html(self, path: str | Path, title: str = "Survival") -> None:
        """Write the page: one file without scripts that needs no other file."""
        Page(title, tuple(self.parts())).write(Path(path))

    def _repr_html_(self) -> str:
        return show(self.parts())

    def __str__(self) -> str:
        test = str(self.test or self.no_test)
        return f"{self.curves}\n\n{test}" if test else str(self.curves)

    __repr__ = __str__


def read_survival(
    time: Any,
    event: Any = None,
    *,
    by: Any = None,
    within: Any = None,
    columns: Sequence[Any] | str | None = None,
    interval: float = 0.95,
    missing: str = REFUSE,
    sites: int = 1,
    weights: str = LOG_RANK,
    times: Sequence[float] | None = None,
    time_label: str = "time",
) -> SurvivalReading:
    """Return the curves of rows or of a summary, and the test of their groups.

    The arguments are those of `kaplan_meier` and `log_rank`. If the groups cannot be compared, the
    reading has the reason.
    """
    rows: dict[str, Any] = {"by": by, "columns": columns, "missing": missing}
    curves = kaplan_meier(time, event, interval=interval, sites=sites, **rows)
    test, reason = None, ""
    if curves.groups:
        try:
            test = log_rank(time, event, within=within, weights=weights, **rows)
        except InputError as problem:
            reason = str(problem)
    return SurvivalReading(
        curves, test, reason, None if times is None else tuple(times), time_label
    )
