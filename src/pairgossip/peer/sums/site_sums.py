"""Sums over sites, of which each counts alike, as members sign them, and what they tell."""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec
import numpy as np

from pairgossip.agreement.scales import go_back
from pairgossip.agreement.sums import CHOSEN, FEWEST_SITES, read
from pairgossip.text import format_count, format_ends

ROWS_PER_LEAST = 100
"""A site takes part with so many times algorithm.least_cell rows of every class, group and stratum:
its blocks then leave at most a few sampling errors of its statistic open."""
MEASURED = "meant for 95 %; measured to hold 75 to 99 % of new sites"
"""How often intervals for a new site held its true value, of 6 to 30 sites with steps of .25
(benchmarks/heterogeneity.py)."""
_DIGITS, _TOLERANCE = 6, 1e-5
_MOST_SITES = 1 << 20
"""Sites of a result; one of more is refused."""


class Line(NamedTuple):
    """The statistic of a site that shows it."""

    value: float
    error: float


class SiteSums(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Three sums over sites; nothing else of them becomes known, unless a site shows its line."""

    sites: int
    """How many take part, or would."""
    logits: int = 0
    """The sum of their logits in steps of .25, each a whole number."""
    squares: int = 0
    """That of the squares of these whole numbers."""
    errors: int = 0
    """That of the squares of standard errors, on the logit, in steps of .05."""
    shown: dict[str, Line] | None = None
    """The lines of those that show theirs, by the members' ids; None if none are published."""
    without: Literal["few", "large"] | None = None
    """Why nothing was added up: few sites, or one with more than half of their rows."""


class Agreement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the sums over sites tell."""

    mean: float
    """The mean over sites, each of which counts alike."""
    interval: tuple[float, float]
    """For the mean over all sites that there could be, at 95 %."""
    prediction_interval: tuple[float, float]
    """Where the value of a new site may be; meant for 95 %, and measured to hold fewer."""
    tau: float
    """The standard deviation of the sites' true values, on the logit."""
    i_squared: float
    """The part of the variance between sites, 0 to 1, that their own errors do not explain."""


def are_possible(sums: SiteSums) -> bool:
    """Return whether sites can have these sums, and those that are shown their lines."""
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
    """Return what sums tell; None if there are none."""
    if sums is None or sums.without is not None:
        return None
    found = read(sums.sites, np.array([sums.logits, sums.squares, sums.errors], np.float64))
    on_scale = np.array([found.mean, *found.interval, *found.new])
    mean, *ends = map(_round, go_back("logit", on_scale).tolist())
    return Agreement(
        mean=mean,
        interval=(ends[0], ends[1]),
        prediction_interval=(ends[2], ends[3]),
        tau=_round(found.tau),
        i_squared=_round(found.i_squared),
    )


def _round(number: float) -> float:
    return float(f"{number:.{_DIGITS}g}")


def are_alike(stated: Agreement | None, told: Agreement | None) -> bool:
    """Return whether figures are those that sums tell, but for their last digit."""
    if stated is None or told is None:
        return stated is told
    return bool(np.allclose(_figures(stated), _figures(told), rtol=_TOLERANCE, atol=_TOLERANCE))


def _figures(found: Agreement) -> tuple[float, ...]:
    ends = *found.interval, *found.prediction_interval
    return (found.mean, *ends, found.tau, found.i_squared)


def least_of_class(least_cell: int) -> int:
    """Return how many rows of every class a site takes part with."""
    return ROWS_PER_LEAST * least_cell


def describe_sites(
    sums: SiteSums, least_cell: int, *, is_of_first: bool = False
) -> list[tuple[str, str]]:
    """Say whether sites agree, each figure with its name; ``is_of_first``, if others came later."""
    enough = f"{least_of_class(least_cell):,} or more rows of every class"
    found = find_agreement(sums)
    if found is None:
        why = f"{format_count(sums.sites, 'site')} with {enough}, and it takes {FEWEST_SITES}"
        if sums.without == "large":
            why = f"one site has more than half of the rows of the {sums.sites} that would be"
        return [("between sites", f"not compared: {why}")]
    mean, low, high = format_ends(found.mean, found.interval)
    _, *new = format_ends(found.mean, found.prediction_interval)
    facts = [
        ("mean over sites", f"{mean} (95 %: {low} to {high}), each of {sums.sites} alike"),
        (
            "between sites",
            f"tau = {found.tau:.2g} on the logit, I2 = {100 * found.i_squared:.0f} %",
        ),
        ("a new site", f"{' to '.join(new)} ({MEASURED})"),
        ("compared", f"sites with {enough}"),
    ]
    if is_of_first:
        facts[-1] = ("compared", f"{facts[-1][1]}, by the first table: rows added later are not in")
    return facts
