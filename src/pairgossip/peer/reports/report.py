"""Kinds of reports: the counts that they take, and their readings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from pairgossip.errors import InputError

if TYPE_CHECKING:
    from pairgossip.counts.cells import Cells
    from pairgossip.pages.parts import Part
    from pairgossip.peer.specification.spec import Spec
    from pairgossip.summaries.summary import Summary


class ReportReading(Protocol):
    """The reading of a report from one table of counts."""

    def parts(self) -> Iterable[Part]:
        """Return the parts of the page."""

    def to_dict(self) -> dict[str, Any]:
        """Return all figures on the page, by name."""


class RefusedReading(NamedTuple):
    """The reason why there is no report of these counts."""

    reason: str

    def parts(self) -> Iterable[Part]:
        """Return the reason as a paragraph."""
        from pairgossip.pages.parts import Paragraph

        return [Paragraph(f"There is no report: {self.reason}")]

    def to_dict(self) -> dict[str, Any]:
        """Return the reason instead of figures."""
        return {"refused": self.reason}


class Report(ABC):
    """A kind of report, which a specification names in ``report``.

    A further kind is a subclass of this and an entry of `REPORTS`.
    """

    name: ClassVar[str]
    kernels: ClassVar[tuple[str, ...]]
    """The kernels whose counts it is read from; the first is the default."""
    keys: ClassVar[tuple[str, ...]] = ()
    """The keys of a specification that it takes, among those for reports only."""
    has_statistic: ClassVar[bool] = True
    """Whether the statistic of the kernel has a meaning for these columns. If not, members state
    none, and the kernel determines only the counts."""

    @abstractmethod
    def title(self, spec: Spec) -> str:
        """Return the title of the page."""

    @abstractmethod
    def check(self, spec: Spec) -> None:
        """Raise `InputError` for a specification that does not fit the report."""

    def choose_cells(self, spec: Spec, cells: Sequence[Cells]) -> tuple[Cells, ...]:
        """Return the cells of all columns for the report, instead of those of the kernel."""
        return tuple(cells)

    @abstractmethod
    def read(self, summary: Summary, spec: Spec, sites: int) -> ReportReading:
        """Return the reading of a number of sites' counts; raise `InputError` if impossible."""


def check_thresholds(spec: Spec) -> None:
    """Raise `InputError` for thresholds beyond the range of the first column."""
    column = spec.columns[0]
    low, high = spec.ranges[column]
    is_whole = column in (spec.whole or ())
    for one in spec.thresholds or ():
        if not (low < one < high or (is_whole and one == high)):
            raise InputError(
                f"thresholds holds {one:g}, but ranges.{column} is [{low:g}, {high:g}]: give "
                "numbers between its ends."
            )


def end_cells(cells: Cells, spec: Spec) -> Cells:
    """Return the same number of cells, with edges at the thresholds."""
    try:
        return cells.at(*spec.thresholds or ())
    except InputError as problem:
        raise problem.at("thresholds") from None
