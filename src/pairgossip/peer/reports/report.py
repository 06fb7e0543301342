"""A kind of report: which counts it asks members for, and what it reads from them."""

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
    """What a report says of one table of counts."""

    def parts(self) -> Iterable[Part]:
        """Return what stands on the page."""

    def to_dict(self) -> dict[str, Any]:
        """Return every figure that stands on the page, by name."""


class RefusedReading(NamedTuple):
    """The sentence that says why counts tell no report."""

    reason: str

    def parts(self) -> Iterable[Part]:
        """Return the sentence as a paragraph."""
        from pairgossip.pages.parts import Paragraph

        return [Paragraph(f"There is no report: {self.reason}")]

    def to_dict(self) -> dict[str, Any]:
        """Return the sentence, in place of figures."""
        return {"refused": self.reason}


class Report(ABC):
    """What a specification asks for by ``report``, beside the statistic of its kernel.

    A later one is a class like this and an entry of `REPORTS`.
    """

    name: ClassVar[str]
    kernels: ClassVar[tuple[str, ...]]
    """Those whose counts it is read from; the first is taken if a specification names none."""
    keys: ClassVar[tuple[str, ...]] = ()
    """Keys of a specification that mean something to it, among those that are for reports alone."""
    has_statistic: ClassVar[bool] = True
    """Whether the statistic of the kernel means something for these columns; else members state
    none, and the kernel says only what is counted."""

    @abstractmethod
    def title(self, spec: Spec) -> str:
        """Return what stands above the page."""

    @abstractmethod
    def check(self, spec: Spec) -> None:
        """Raise `InputError` for a specification that it cannot be read by."""

    def choose_cells(self, spec: Spec, cells: Sequence[Cells]) -> tuple[Cells, ...]:
        """Return the cells that it wants of all columns, instead of those of the kernel."""
        return tuple(cells)

    @abstractmethod
    def read(self, summary: Summary, spec: Spec, sites: int) -> ReportReading:
        """Return what the counts of so many sites say; raise `InputError` if that is too little."""


def check_thresholds(spec: Spec) -> None:
    """Raise `InputError` for thresholds that the first column cannot have."""
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
    """Return as many cells that end at the thresholds."""
    try:
        return cells.at(*spec.thresholds or ())
    except InputError as problem:
        raise problem.at("thresholds") from None
