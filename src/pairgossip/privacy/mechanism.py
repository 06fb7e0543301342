"""Local differential privacy: every observation is randomized once, before it is used at all."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator

from pairgossip.arrays import FloatArray, PairFunction
from pairgossip.errors import InputError
from pairgossip.kernels.data import check_data
from pairgossip.privacy.columns import Cells, Column
from pairgossip.privacy.declaration import LARGEST_RESPONSE, check_columns, is_text
from pairgossip.privacy.draws import byte_source
from pairgossip.privacy.encoding import check_declared, check_reports, label_numbers
from pairgossip.privacy.odds import check_epsilon, odds_below
from pairgossip.privacy.response import Probabilities, Response

if TYPE_CHECKING:
    from pairgossip.kernels import Kernel, Ratio
    from pairgossip.privacy.debiased import DebiasedKernel


@dataclass(frozen=True, init=False)
class RandomizedResponse:
    """k-ary randomized response: the true cell with odds e^epsilon to 1 against any other.

    Whoever sees the report learns little: whatever it is, no two observations differ in its
    likelihood by more than a factor e^epsilon. Randomize each observation once and reuse the
    report, as the guarantees of further reports add up.

    Parameters
    ----------
    epsilon
        The guarantee, from 1e-9 for each report of an observation to 40; about 1 is usual,
        smaller is more private.
    bins, range
        Into how many equal cells values are put, and the interval (lowest, highest) of possible
        values; one for all columns or one per column. The range is public: declare what is
        possible, never what the data show. With neither, the data are one column of labels.
    classes
        The possible labels, if the last column is a label: reported among its classes, without
        bins. Text stands for 0, 1, ... in the order given.
    rounding
        ``"bins"`` reports the bin, which its midpoint represents. ``"stochastic"`` rounds at
        random to one of the two nearest of k points from lowest to highest, which is unbiased
        for kernels that are affine in each argument.
    together
        Whether the columns of an observation form one value, reported with all of epsilon, out
        of as many cells as there are combinations; otherwise every column is reported on its
        own with an equal part of epsilon. The default is together with ``classes`` and apart
        without: together is better while combinations are few.

    Attributes
    ----------
    epsilon, together
        As given, or the default.
    columns
        What each column of the data becomes.
    names
        The classes if they are text, in the order of their cells; else None.
    responses
        The randomized responses a report is made of: one for all columns, or one per column.

    Examples
    --------
    >>> mechanism = RandomizedResponse(1.0, bins=4, range=(0, 1))
    >>> mechanism.encode([0.1, 0.6, 1.0]).tolist()
    [[0], [2], [3]]
    >>> reports = mechanism.randomize([0.1, 0.6, 1.0], np.random.default_rng(0))
    >>> reports.shape
    (3, 1)
    """

    epsilon: float
    columns: tuple[Column, ...]
    together: bool
    names: tuple[str, ...] | None
    responses: tuple[Response, ...] = field(repr=False, compare=False)

    def __init__(
        self,
        epsilon: float,
        bins: Any = None,
        range: Any = None,
        *,
        classes: Any = None,
        rounding: str = "bins",
        together: bool | None = None,
    ) -> None:
        settled = check_epsilon(epsilon)
        columns = check_columns(bins, range, classes, rounding)
        if together is None:
            together = classes is not None
        if not isinstance(together, bool):
            raise InputError(f"together must be True, False or None, not {together!r}.")
        named = classes is not None and is_text(list(classes))
        object.__setattr__(self, "epsilon", settled)
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "together", together or len(columns) == 1)
        object.__setattr__(self, "names", tuple(classes) if named else None)
        object.__setattr__(self, "responses", self._responses())

    @property
    def bins(self) -> tuple[int, ...]:
        """How many cells each column has."""
        return tuple(column.cells for column in self.columns)

    @property
    def cells(self) -> int:
        """How many different reports there are."""
        return math.prod(self.bins)

    @property
    def report_limits(self) -> tuple[tuple[int, int], ...]:
        """The smallest and largest number of every column of a report, 0 and k - 1."""
        return tuple((0, count - 1) for count in self.bins)

    @property
    def probabilities(self) -> tuple[Probabilities, ...]:
        """The exact probabilities of every response: of the true cell, of one given other."""
        return tuple(response.probabilities for response in self.responses)

    @property
    def odds(self) -> Fraction:
        """The largest likelihood ratio of any report between any two observations, exactly."""
        return math.prod((response.odds for response in self.responses), start=Fraction(1))

    @property
    def representatives(self) -> FloatArray:
        """What each report stands for, shape (K,) for one column and (K, d) for more."""
        axes = np.meshgrid(*(column.values for column in self.columns), indexing="ij")
        table = np.stack([axis.ravel() for axis in axes], axis=1)
        return table[:, 0] if table.shape[1] == 1 else table

    def numbers(self, data: Any, labels: Any = None) -> FloatArray:
        """Return the observations as checked numbers, refusing what was not declared."""
        if labels is not None:
            labels = label_numbers(self, labels)
        table = check_data(data, labels)
        check_declared(self, table)
        return table

    def encode(self, data: Any, source: Generator | None = None, labels: Any = None) -> Cells:
        """Return the true cells, shape (n, columns); never send them.

        Stochastic rounding draws from the source; bins and classes are not random.
        """
        table = self.numbers(data, labels)
        rows, draw = table.reshape(len(table), -1), byte_source(source)
        encoded = [column.encode(rows[:, at], draw) for at, column in enumerate(self.columns)]
        return np.stack(encoded, axis=1)

    def randomize(self, data: Any, source: Generator | None = None, labels: Any = None) -> Cells:
        """Draw the reports of observations: whole numbers, shape (n, columns).

        Parameters
        ----------
        data, labels
            The observations; the label is the last column or given apart.
        source
            None for the operating system's secure source. A numpy Generator makes reports
            repeatable, which is for simulation only: whoever knows its seed undoes them.
        """
        cells = self.encode(data, source, labels)
        draw = byte_source(source)
        if self.together:
            reported = self.responses[0].report(self.flat(cells), draw)
            return np.stack(np.unravel_index(reported, self.bins), axis=1).astype(np.int64)
        answers = [
            response.report(cells[:, at], draw) for at, response in enumerate(self.responses)
        ]
        return np.stack(answers, axis=1)

    def flat(self, reports: Any) -> Cells:
        """Number reports 0, 1, ..., K - 1, in the order of `representatives`."""
        checked = check_reports(self, reports)
        strides = [math.prod(self.bins[at + 1 :]) for at in range(len(self.bins))]
        return checked @ np.array(strides, dtype=np.int64)

    def debiased(self, kernel: Kernel | Ratio | PairFunction | str) -> DebiasedKernel:
        """Return the kernel on reports whose expectation is the kernel on true cells."""
        from pairgossip.privacy.debiased import DebiasedKernel

        return DebiasedKernel(self, kernel)

    def guarantee(self) -> str:
        """Say in one sentence what is promised."""
        how = f"by {self.responses[0].cells}-ary randomized response"
        if len(self.columns) > 1:
            how += f" on its {len(self.columns)} columns as one value"
        if not self.together:
            sizes = ", ".join(f"{response.cells}-ary" for response in self.responses)
            how = (
                f"by randomized response column by column ({sizes}), with epsilon = "
                f"{self.epsilon / len(self.responses):g} each"
            )
        return (
            f"Each observation is reported once, {how}: epsilon = {self.epsilon:g}, so no two "
            f"observations differ in the likelihood of any report by more than a factor of "
            f"{float(self.odds):.4g}."
        )

    def _responses(self) -> tuple[Response, ...]:
        sizes = (self.cells,) if self.together else self.bins
        odds = odds_below(Fraction(check_epsilon(self.epsilon, len(sizes))) / len(sizes))
        if max(sizes) > LARGEST_RESPONSE:
            raise InputError(
                f"The columns together have {self.cells:,} cells, and a report among so many is "
                f"noise alone: give fewer bins, or together=False."
            )
        return tuple(Response(size, odds) for size in sizes)
