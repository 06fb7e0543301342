"""The answers read from a summary, and the statistics that it can give."""

from __future__ import annotations

import math
from typing import Any, Self

from pairgossip.counts.bounds import Ends
from pairgossip.counts.layouts import OrderQuestion, check_name, find_kind, find_order_question
from pairgossip.errors import InputError, canonical
from pairgossip.inference.answer import Answer
from pairgossip.kernels import CATALOG, Combination, Kernel, as_kernel
from pairgossip.text import format_alike, join_names

Measure = Kernel | Combination | OrderQuestion
OF_CLASSES = ("label", "cluster")
"""Names of the column that gives the class of a row."""
EVENT = "event?"
"""Name of the column that says whether an event was seen."""

_LEAST_P = 1e-300
"""The least p that is shown; a smaller one is not distinguished from 0."""
_OPEN = 0.25
"""Half-width of the bracket, in standard errors, above which an answer mentions it."""
_TOO_OPEN = 4.0
"""Half-width of the bracket, in standard errors, above which an estimate from blocks may mislead:
up to here it is off by about one standard error at most (benchmarks/block_estimates.py)."""


class SummaryAnswer(Answer):
    """An `Answer` from counts per cell, with certain bounds.

    Attributes
    ----------
    bracket
        The statistic of the rows that were counted lies between these two for certain, wherever in
        their cells the rows are; NaN if the bounds are not known.
    p, p_bracket
        For a test by ranks, which has no interval, its p and the bounds of p; otherwise NaN.
    least_cell
        The least number of rows in a count; above 1, counts are in blocks of cells.
    """

    bracket: Ends
    p: float
    p_bracket: Ends
    least_cell: int

    def __new__(cls, *parts: Any) -> Self:
        """Make a number that knows its errors: those of an `Answer`, and four more."""
        answer: Self = super().__new__(cls, *parts[:-4])  # type: ignore[assignment]
        answer.bracket, answer.p, answer.p_bracket, answer.least_cell = parts[-4:]
        return answer

    def to_dict(self) -> dict[str, Any]:
        """Return the number and all that is known about it, by name."""
        more = {"bracket": self.bracket, "p": self.p, "p_bracket": self.p_bracket}
        return super().to_dict() | more

    def __str__(self) -> str:
        certain = self.describe_bracket()
        certain = f"; {certain}" if certain else ""
        if not math.isnan(self.low):
            return super().__str__() + certain
        p = self.describe_p()
        value = format_alike((self.value, *self.bracket), self.error)[0]
        return f"{value}{f', {p}' if p else ''}{certain}"

    def describe(self) -> str:
        """Describe the number's uncertainty, and its certain bounds."""
        words = (super().describe(), self.describe_p(), self.describe_bracket())
        return "; ".join(filter(None, words))

    def describe_bracket(self) -> str:
        """Describe the certain bounds of the statistic, and their cause; "" if not known."""
        half = (self.bracket[1] - self.bracket[0]) / 2
        _, least, most, part = format_alike((self.value, *self.bracket, half), self.error)
        if math.isnan(half) or half == 0:
            return ""
        certain = f"certain: {least} to {most}"
        if half > _OPEN * self.error:
            certain += (
                f", because cells leave {part} open on either side: finer ones leave less"
                if self.least_cell == 1
                else f", because blocks of {self.least_cell} rows or more leave {part} open on "
                "either side: more rows leave less"
            )
        if half > _TOO_OPEN * self.error and self.least_cell > 1:
            certain += ", and the estimate may be far off: read these two ends"
        return certain

    def describe_p(self) -> str:
        """Describe p, with its certain bounds; "" if there is no p."""
        if math.isnan(self.p):
            return ""
        ends = self.p_bracket
        p = f"p {_spell(self.p)}" if self.p < _LEAST_P else f"p = {self.p:.3g}"
        return p + ("" if math.isnan(ends[0]) else f" ({_spell(ends[0])} to {_spell(ends[1])})")

    __repr__ = __str__


def _spell(p: float) -> str:
    """Write a p; one that is only known to be small is written as a bound."""
    return f"< {_LEAST_P:g}" if p < _LEAST_P else f"{p:.3g}"


def find_measure(name: Any) -> Measure:
    """Return the kernel or statistic of order of this name, if it is read from counts."""
    if isinstance(name, Kernel | Combination) and name == as_kernel(name.name):
        name = name.name
    if not isinstance(name, str):
        raise InputError(
            "A summary is read by name, so that others can read it too: give the name of a kernel "
            "or statistic, such as 'auc' or 'median'."
        )
    question = find_order_question(name)
    if question is not None:
        return question
    check_name(name)
    kernel = as_kernel(canonical(name))
    kind = find_kind(kernel)
    if kind is None or kind == "distance":
        known = (one for one in sorted(CATALOG) if one != "distance")
        others = [one for one in known if find_kind(as_kernel(one)) is not None]
        raise InputError(
            f"'{kernel.name}' cannot be read from counts: use exact, or one of "
            f"{join_names(others)}."
        )
    return kernel


def name_columns(measure: Measure) -> tuple[str, ...]:
    """Return the names of the columns that a statistic takes."""
    columns = measure.columns
    assert columns is not None
    return columns
