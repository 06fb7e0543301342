"""Do the sites agree: three whole numbers of every site, beside its counts in the first table.

A site's statistic and its error are read from the very counts that it contributes, in blocks where
there are any. So the three numbers are a function of these counts, and whoever has worked out a
site's counts learns nothing more from them, not a bit. Those of exact rows would say more: they can
tell that cells hold between one and k - 1 rows, which blocks never do.

Blocks tell the statistic of few rows badly, so a site takes part if it has many rows of every
class. Cards say so beforehand; where too few take part, or one has more than half of their rows,
nothing is added up. Later tables have no such sums: two of them would tell by how much those differ
that have added rows.

A site may show its own line. It writes it into a word of its own, where all others add 0. Lines
are published only if the sites that are not shown are none, or enough to hide among.
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
"""Sites that are not shown, unless all are: fewer could be told from sums less what is shown."""
_SUMS = 3
_TELLS, _SHOWS = 1, 2
"""Flags of a card: that a site has enough rows to take part, and that it shows its line."""
_PARTS = 10_000
"""Of which a line has a value and an error in whole numbers."""


class Plan(NamedTuple):
    """Who adds numbers to the first table, by the cards of all."""

    sites: tuple[str, ...]
    shown: tuple[str, ...] = ()
    """Those whose lines are published, in the order of their words."""
    without: Literal["few", "large"] | None = None

    @property
    def words(self) -> int:
        """How many words a contribution has for them."""
        return 0 if self.without is not None else _SUMS + len(self.shown)


def plan_sites(rows: Mapping[str, int], flags: Mapping[str, int]) -> Plan:
    """Decide by cards what is added up; ``rows`` are those that members add.

    A member whose card says nothing tells nothing.
    """
    sites = tuple(
        sorted(one for one, count in rows.items() if count and flags.get(one, 0) & _TELLS)
    )
    if len(sites) < FEWEST_SITES:
        return Plan(sites, without="few")
    if 2 * max(rows[one] for one in sites) > sum(rows[one] for one in sites):
        return Plan(sites, without="large")
    shown = tuple(one for one in sites if flags[one] & _SHOWS)
    hidden = len(sites) - len(shown)
    return Plan(sites, shown if hidden == 0 or hidden >= FEWEST_HIDDEN else ())


def flag_site(spec: Spec, cells: IntArray, *, is_shown: bool) -> int:
    """Return what a site's card says, whose rows lie so in the cells of all tables."""
    layout = cells_of(spec)
    counts = layout.tables[0].count_factors(layout.split_cells(cells)[0])
    is_enough = counts.min() >= least_of_class(layout.columns.least)
    return _TELLS + _SHOWS * is_shown if is_enough else 0


def tell_site(spec: Spec, counts: IntArray, plan: Plan, shown_as: str | None) -> IntArray:
    """Return the words of a site that contributes these counts."""
    summary = summary_of(spec, counts)
    found, classes = summary.find(), summary.layout.split(counts)[0]
    smaller = int(classes.reshape(len(classes), -1).sum(axis=1).min())
    y, v = place_evenly(found.value, found.error, smaller)
    sums = CHOSEN.contribute(np.array([y]), np.array([v]))[0].astype(np.int64)
    lines = [_pack_line(found) if one == shown_as else 0 for one in plan.shown]
    return np.append(sums, np.array(lines, dtype=np.int64))


def _pack_line(found: Estimate) -> int:
    """Return a line as a number that is not 0; an error that is not known counts as 0."""
    value, error = np.rint(_PARTS * np.nan_to_num([found.value, found.error])).astype(int).tolist()
    return int(1 + value + (_PARTS + 1) * min(error, _PARTS))


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
    error, value = divmod(word - 1, _PARTS + 1)
    if not 0 <= error <= _PARTS:
        raise Disagreement("the line of a site that shows it is none that a site has")
    return Line(value / _PARTS, error / _PARTS)
