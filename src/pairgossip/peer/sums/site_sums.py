"""Sums over sites with equal weights, as members sign them, and the agreement of sites in them."""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec
import numpy as np

from pairgossip.agreement.scales import go_back
from pairgossip.agreement.sums import CHOSEN, FEWEST_SITES, read
from pairgossip.text import format_count, format_ends

ROWS_PER_LEAST = 100
"""Least number of rows of every class, group and stratum with which a site takes part, in units of
algorithm.least_cell: its blocks then leave its statistic open by a few sampling errors at most."""
MEASURED = "meant for 95 %; measured to hold 75 to 99 % of new sites"
"""Coverage of intervals for a new site's true value, with 6 to 30 sites and steps of .25
(benchmarks/heterogeneity.py)."""
_DIGITS, _TOLERANCE = 6, 1e-5
_MOST_SITES = 1 << 20
"""Largest number of sites of a result; a result with more is refused."""


class Line(NamedTuple):
    """The statistic of a site that shows it."""

    value: float
    error: float


class SiteSums(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Three sums over sites; nothing else becomes known of sites, but for lines that they show."""

    sites: int
    """The number of sites that take part, or would."""
    logits: int = 0
    """The sum of their logits in steps of .25, each a whole number."""
    squares: int = 0
    """The sum of the squares of these whole numbers."""
    errors: int = 0
    """The sum of the squares of standard errors, on the logit, in steps of .05."""
    shown: dict[str, Line] | None = None
    """The lines of sites that show theirs, by the members' ids; None if none are published."""
    without: Literal["few", "large"] | None = None
    """The reason why nothing was added up: few sites, or one with more than half of their rows."""


class Agreement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The agreement of sites, by the sums over them."""

    mean: float
    """The mean over sites, with equal weights."""
    interval: tuple[float, float]
    """The 95 % interval for the mean over all possible sites."""
    prediction_interval: tuple[float, float]
    """The interval for the value of a new site; meant for 95 %, and measured to cover fewer."""
    tau: float
    """The standard deviation of the sites' true values, on the logit."""
    i_squared: float
    """The share of the variance between sites, 0 to 1, that their own errors do not explain."""


def are_possible(sums: SiteSums) -> bool:
    """Return whether sites can have these sums and lines."""
    if not 0 <= sums.sites <= _MOST_SITES:
        return False
    if sums.without is not None:
        return True
    figures = [part for line in (sums.shown or {}).values() for part in line]
    return (
        sums.sites >= FEWEST_SITES
        and len(sums.shown or {}) <= sums.sites
        and all(0 <= one <= 1 for one in figures)
        and CHOSEN.are_possible(sums.sites, (sums.logits, sums.squares, sums.errors))
    )


def find_agreement(sums: SiteSums | None) -> Agreement | None:
    """Return the agreement of sites by their sums; None without sums."""
    if sums is None or sums.without is not None:
        return None
    reading = read(sums.sites, np.array([sums.logits, sums.squares, sums.errors], np.float64))
    on_scale = np.array([reading.mean, *reading.interval, *reading.new])
    mean, *ends = map(_round, go_back("logit", on_scale).tolist())
    return Agreement(
        mean=mean,
        interval=(ends[0], ends[1]),
        prediction_interval=(ends[2], ends[3]),
        tau=_round(reading.tau),
        i_squared=_round(reading.i_squared),
    )


def _round(number: float) -> float:
    return float(f"{number:.{_DIGITS}g}")


def are_alike(one: Agreement | None, other: Agreement | None) -> bool:
    """Return whether two agreements have the same figures, except for the last digits."""
    if one is None or other is None:
        return one is other
    return bool(np.allclose(_figures(one), _figures(other), rtol=_TOLERANCE, atol=_TOLERANCE))


def _figures(one: Agreement) -> tuple[float, ...]:
    ends = *one.interval, *one.prediction_interval
    return (one.mean, *ends, one.tau, one.i_squared)


def least_of_class(least_cell: int) -> int:
    """Return the least number of rows of every class with which a site takes part."""
    return ROWS_PER_LEAST * least_cell


def describe_sites(
    sums: SiteSums, least_cell: int, *, is_of_first: bool = False
) -> list[tuple[str, str]]:
    """Describe the agreement of sites as facts; ``is_of_first`` if there are later tables."""
    enough = f"{least_of_class(least_cell):,} or more rows of every class"
    agreement = find_agreement(sums)
    if agreement is None:
        why = f"{format_count(sums.sites, 'site')} with {enough}, and it takes {FEWEST_SITES}"
        if sums.without == "large":
            why = f"one site has more than half of the rows of the {sums.sites} that would be"
        return [("between sites", f"not compared: {why}")]
    mean, low, high = format_ends(agreement.mean, agreement.interval)
    _, *new = format_ends(agreement.mean, agreement.prediction_interval)
    facts = [
        ("mean over sites", f"{mean} (95 %: {low} to {high}), each of {sums.sites} alike"),
        (
            "between sites",
            f"tau = {agreement.tau:.2g} on the logit, I2 = {100 * agreement.i_squared:.0f} %",
        ),
        ("a new site", f"{' to '.join(new)} ({MEASURED})"),
        ("compared", f"sites with {enough}"),
    ]
    if is_of_first:
        facts[-1] = ("compared", f"{facts[-1][1]}, by the first table: rows added later are not in")
    return facts
