"""The agreement of sites: three whole numbers of each site, with its counts in the first table.

A site's statistic and its error are read from the very counts that it contributes, in blocks if
there are any. So the three numbers are a function of these counts, and reveal nothing more to
anybody who has worked out a site's counts. Numbers from exact rows would reveal more: that cells
hold between one and k - 1 rows, for example, which blocks never show.

Blocks determine the statistic of few rows badly, so a site takes part if it has many rows of every
class. Cards announce this beforehand; if too few sites take part, or one has more than half of
their rows, nothing is added up. Later tables have no such sums: two sums would reveal how the sites
that added rows differ.

A site may show its own line. It writes the line into a word of its own, to which all others add 0.
Lines are published only if no site is hidden, or enough are to hide among each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from pairgossip.agreement.scales import place_evenly
from pairgossip.agreement.sums import CHOSEN, FEWEST_SITES
from pairgossip.arrays import IntArray
from pairgossip.peer.protocol.program import Disagreement
from pairgossip.peer.sums.site_sums import Line, SiteSums, least_of_class
from pairgossip.peer.sums.statistics import cells_of, summary_of

if TYPE_CHECKING:
    from pairgossip.counts.readings import Estimate
    from pairgossip.peer.specification.spec import Spec

FEWEST_HIDDEN = 4
"""Least number of hidden sites, unless all are shown: sums less shown lines would reveal fewer."""
_SUMS = 3
_JOINS, _SHOWS = 1, 2
"""Flags of a card: a site has enough rows to take part, and it shows its line."""
_STEPS = 10_000
"""Number of steps per unit of the value and the error of a line."""


class Plan(NamedTuple):
    """The sites that add numbers to the first table, by the cards of all."""

    sites: tuple[str, ...]
    shown: tuple[str, ...] = ()
    """The sites whose lines are published, in the order of their words."""
    without: Literal["few", "large"] | None = None

    @property
    def words(self) -> int:
        """The number of words of a contribution for them."""
        return 0 if self.without is not None else _SUMS + len(self.shown)


def plan_sites(rows: Mapping[str, int], flags: Mapping[str, int]) -> Plan:
    """Return the plan by the flags of cards, 0 if missing; ``rows`` are those that members add."""
    sites = tuple(
        sorted(one for one, count in rows.items() if count and flags.get(one, 0) & _JOINS)
    )
    if len(sites) < FEWEST_SITES:
        return Plan(sites, without="few")
    if 2 * max(rows[one] for one in sites) > sum(rows[one] for one in sites):
        return Plan(sites, without="large")
    shown = tuple(one for one in sites if flags[one] & _SHOWS)
    hidden = len(sites) - len(shown)
    return Plan(sites, shown if hidden == 0 or hidden >= FEWEST_HIDDEN else ())


def flag_site(spec: Spec, cells: IntArray, *, is_shown: bool) -> int:
    """Return the flags of the card of a site whose rows have these cells in all tables."""
    layout = cells_of(spec)
    counts = layout.tables[0].count_factors(layout.split_cells(cells)[0])
    is_enough = counts.min() >= least_of_class(layout.columns.least)
    return _JOINS + _SHOWS * is_shown if is_enough else 0


def write_site(spec: Spec, counts: IntArray, plan: Plan, shown_as: str | None) -> IntArray:
    """Return the words of a site that contributes these counts."""
    summary = summary_of(spec, counts)
    estimate, classes = summary.find(), summary.layout.split(counts)[0]
    smaller = int(classes.reshape(len(classes), -1).sum(axis=1).min())
    y, v = place_evenly(estimate.value, estimate.error, smaller)
    sums = CHOSEN.contribute(np.array([y]), np.array([v]))[0].astype(np.int64)
    lines = [_pack_line(estimate) if one == shown_as else 0 for one in plan.shown]
    return np.append(sums, np.array(lines, dtype=np.int64))


def _pack_line(site: Estimate) -> int:
    """Return a line as a number that is not 0; an unknown error counts as 0."""
    value, error = np.rint(_STEPS * np.nan_to_num([site.value, site.error])).astype(int).tolist()
    return int(1 + value + (_STEPS + 1) * min(error, _STEPS))


def read_sites(plan: Plan, words: IntArray) -> SiteSums:
    """Return the sums of all sites' words; raise `Disagreement` if no sites have them."""
    if plan.without is not None:
        return SiteSums(sites=len(plan.sites), without=plan.without)
    logits, squares, errors, *lines = words.tolist()
    if not CHOSEN.are_possible(len(plan.sites), (logits, squares, errors)):
        raise Disagreement("no sites have such logits and errors together")
    shown = {one: _read_line(line) for one, line in zip(plan.shown, lines, strict=True)}
    return SiteSums(
        sites=len(plan.sites), logits=logits, squares=squares, errors=errors, shown=shown or None
    )


def _read_line(word: int) -> Line:
    error, value = divmod(word - 1, _STEPS + 1)
    if not 0 <= error <= _STEPS:
        raise Disagreement("the line of a site that shows it is none that a site has")
    return Line(value / _STEPS, error / _STEPS)
