"""The options that say how observations are randomized."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from pairgossip.checks import choice
from pairgossip.cli.console import tell
from pairgossip.cli.options import PRIVACY, given_options, read_limits
from pairgossip.errors import InputError, canonical
from pairgossip.text import format_count

if TYPE_CHECKING:
    from pairgossip.cli.data.observations import Observations
    from pairgossip.cli.data.specified import Specified
    from pairgossip.privacy import RandomizedResponse


@Parameter(name="*", group=PRIVACY)
@dataclass(frozen=True)
class PrivacyOptions:
    """How every observation is randomized before it is used."""

    epsilon: float | None = None
    """Local differential privacy: for any report, the likelihoods under two observations differ by
    at most a factor e^epsilon; about 1 is usual, smaller is more private."""
    bins: str | None = None
    """The number of equal bins of a column: 16, or 16,8 for two columns. By default the number with
    the smallest predicted error, if there is no label and the kernel is not about the relation of
    two columns."""
    range: Annotated[list[str] | None, Parameter(allow_leading_hyphen=True)] = None
    """The lowest and highest possible value of a column, such as 0,5000, known beforehand and not
    taken from the data; one for all columns, or repeat it for each."""
    rounding: str | None = None
    """bins (default): report the bin; stochastic: round at random to one of two grid points."""
    columns: str | None = None
    """together (default with labels): report the columns of a row as one value with all of epsilon;
    apart (default without): report each with its part of epsilon."""

    def mechanism(
        self,
        observations: Observations,
        specified: Specified | None,
        statistic: tuple[str | None, str] | None,
    ) -> RandomizedResponse | None:
        """Return the mechanism the options or the specification ask for; None without one.

        Bins may be chosen for ``statistic``: a kernel, or None for the mean, and a target. It is
        None where a model is learned.
        """
        first = next(iter(given_options(self)), None)
        if specified is not None:
            if first is not None:
                raise InputError(
                    f"{specified.path} says how observations are reported: leave --{first} out, "
                    "or change its table [privacy]."
                )
            return specified.privacy
        if first is None:
            return None
        if self.epsilon is None:
            raise InputError(
                f"--{first} is about private reports, but --epsilon is missing: give it too, such "
                f"as --epsilon 1, or leave --{first} out."
            )
        from pairgossip.privacy import RandomizedResponse
        from pairgossip.privacy.response import check_epsilon

        check_epsilon(self.epsilon)
        ranges, classes = self._ranges(len(observations.columns)), self._classes(observations)
        options: dict[str, Any] = {
            "classes": classes,
            "together": self._together(),
            "rounding": "bins" if self.rounding is None else canonical(self.rounding),
        }
        bins = self._bins(len(observations.columns))
        # Wrong values are refused by column and line, before any advice on bins.
        _check_values(RandomizedResponse(1.0, 2, ranges, together=False), observations)
        if bins is None:
            bins = self._advise(observations, ranges, options, statistic)
        return RandomizedResponse(self.epsilon, bins, ranges, **options)

    def _together(self) -> bool | None:
        if self.columns is None:
            return None
        return choice("way to report columns", self.columns, ("together", "apart")) == "together"

    def _ranges(self, columns: int) -> list[tuple[float, float]]:
        if not self.range:
            raise InputError(
                "Give --range lowest,highest: the values that are possible, as known before the "
                "data were; computed from private data it would reveal them."
            )
        if len(self.range) not in (1, columns):
            raise InputError(
                f"There are {len(self.range)} ranges for {format_count(columns, 'column')}: give "
                "--range once for all, or once for each."
            )
        ranges = [read_limits(text) for text in self.range]
        return ranges * columns if len(ranges) == 1 else ranges

    def _classes(self, observations: Observations) -> list[int] | None:
        if observations.labels is None:
            return None
        if observations.classes is None:
            raise InputError(
                "Give --classes, all labels that are possible, such as --classes 0,1: read from "
                "private data they would reveal them."
            )
        return list(range(len(observations.classes)))

    def _bins(self, columns: int) -> list[Any] | None:
        if self.bins is None:
            return None
        counts = [_read_number(part) for part in self.bins.split(",")]
        if len(counts) not in (1, columns):
            raise InputError(
                f"There are {len(counts)} numbers of bins for "
                f"{format_count(columns, 'column')}: give one for all, or one for each."
            )
        return counts * columns if len(counts) == 1 else counts

    def _advise(
        self,
        observations: Observations,
        ranges: list[tuple[float, float]],
        options: dict[str, Any],
        statistic: tuple[str | None, str] | None,
    ) -> list[int]:
        if statistic is None or options["classes"] is not None:
            why = "a model is learned" if statistic is None else "there are labels"
            raise InputError(
                f"Give --bins, few of them, such as 8: they are not chosen where {why}."
            )
        from pairgossip.kernels import as_kernel
        from pairgossip.privacy import advise_bins
        from pairgossip.privacy.estimation import middle

        name, target = statistic
        kernel = as_kernel(middle if name is None else name)
        if kernel.association:
            raise InputError(
                f"Give --bins, such as 6: they are not chosen for kernel "
                f"'{kernel.name}', about which values spread evenly say nothing."
            )
        advice = advise_bins(
            len(observations.values), float(self.epsilon or 0), kernel, ranges,
            rounding=options["rounding"], together=options["together"], target=target,
        )  # fmt: skip
        tell(f"bins chosen for values spread evenly over the range: {advice}")
        return [advice.bins] * len(ranges)


def _check_values(declared: RandomizedResponse, observations: Observations) -> None:
    """Raise `InputError` for values outside the ranges; labels were checked with the classes."""
    table = observations.values.reshape(-1, len(observations.columns))
    complaints = []
    for name, values, column in zip(observations.columns, table.T, declared.columns, strict=True):
        outside = [row for row, fits in enumerate(column.contains(values)) if not fits]
        if outside:
            complaints.append(
                f"{format_count(len(outside), 'value')} of column '{name}' outside {column.domain} "
                f"({observations.places.describe(outside)})"
            )
    if complaints:
        raise InputError(
            f"The data have {' and '.join(complaints)}: correct them or declare more, as nothing "
            "is clipped."
        )


def _read_number(text: str) -> float | str:
    """Read a number; other text is returned, and refused where the number is used."""
    try:
        return float(text)
    except ValueError:
        return text
